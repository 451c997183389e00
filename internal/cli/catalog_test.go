package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestCatalogOptions(t *testing.T) {
	a := &app{}
	for name, args := range map[string][]string{"nothing": {}, "a kind": {"gpus"}, "a name": {"hgx-h100"}, "both": {"machine", "hgx-h100"}} {
		t.Run(name, func(t *testing.T) {
			o, err := parsed(t, a.catalogCommand, args...)
			if err != nil || !slices.Equal(o.words, args) {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	if _, err := parsed(t, a.catalogCommand, "gpus", "h100", "h200"); err == nil {
		t.Error("three arguments were accepted")
	}
}

func TestInitOptions(t *testing.T) {
	a := &app{}
	for name, test := range map[string]struct {
		args []string
		want initOptions
		err  string
	}{
		"this host":                 {[]string{}, initOptions{}, ""},
		"an example":                {[]string{"--example", "spark-pair"}, initOptions{example: "spark-pair"}, ""},
		"its size":                  {[]string{"--example", "roce-mi300x", "--nodes", "16"}, initOptions{example: "roce-mi300x", nodes: 16}, ""},
		"a size without an example": {[]string{"--nodes", "4"}, initOptions{}, "flag --nodes: needs --example"},
		"no nodes":                  {[]string{"--example", "roce-mi300x", "--nodes", "0"}, initOptions{}, "flag --nodes: 0: must be 1 or more"},
		"not a number":              {[]string{"--example", "roce-mi300x", "--nodes", "many"}, initOptions{}, "many"},
		"with an argument":          {[]string{"spark-pair"}, initOptions{}, "takes no arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parsed(t, a.initCommand, test.args...)
			if test.err == "" && (err != nil || o != test.want) {
				t.Errorf("%+v, %v", o, err)
			}
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("%v, want %s", err, test.err)
			}
		})
	}
}

func TestSchemaOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.schemaCommand, "Plan")
	if err != nil || o != (schemaOptions{kind: "Plan"}) {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := parsed(t, a.schemaCommand); err == nil {
		t.Error("no kind was accepted")
	}
}

// Commands that act on this host need Linux; those that work on files and names run anywhere.
func TestNeedsLinux(t *testing.T) {
	for line, want := range map[string]string{
		"collect":                       "collect: reads this host's sysfs and netlink, which needs Linux; on this system use --root or --hosts, or run it on the machine",
		"collect --root tree":           "",
		"collect --hosts gpu[1-8]":      "",
		"check":                         "check: reads this host's sysfs and netlink, which needs Linux; on this system use --snapshot",
		"check --lab":                   "check: ",
		"check --snapshot facts.json":   "",
		"check -f cluster.yaml":         "",
		"topo show":                     "topo show: reads this host's sysfs, which needs Linux",
		"topo show topo.xml":            "",
		"topo show --machine hgx-h100":  "",
		"topo nccl":                     "topo nccl: ",
		"topo nccl --snapshot facts":    "",
		"topo lint topo.xml":            "",
		"init":                          "init: ",
		"init --example roce-mi300x":    "",
		"up --lab":                      "up: ",
		"lab status":                    "lab status: ",
		"apply -f cluster.yaml":         "apply: ",
		"rollback":                      "rollback: ",
		"bench --lab":                   "bench: ",
		"node collect":                  "node collect: ",
		"explain table.txt":             "",
		"predict --machine hgx-h100":    "",
		"size deepseek-r1":              "",
		"plan -f cluster.yaml":          "",
		"render -f cluster.yaml -d out": "",
		"diff a b":                      "",
		"report run":                    "",
		"catalog gpus":                  "",
		"cause gdr-disabled":            "",
		"schema Plan":                   "",
		"version":                       "",
	} {
		t.Run(line, func(t *testing.T) {
			for _, system := range []string{"darwin", "windows", "linux"} {
				got := ""
				if err := needsLinux(system, command(t, strings.Fields(line)), arguments(line)); err != nil {
					got = err.Error()
				}
				if system == "linux" && got != "" || system != "linux" && (want == "") != (got == "") || system != "linux" && !strings.HasPrefix(got, want) {
					t.Errorf("%s: %q, want %q", system, got, want)
				}
			}
		})
	}
}

// command returns a command with its flags parsed.
func command(t *testing.T, args []string) *cobra.Command {
	t.Helper()
	c, rest, err := (&app{}).root().Find(args)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// arguments returns the arguments after "topo show" that are not flags.
func arguments(line string) []string {
	rest, _ := strings.CutPrefix(line, "topo show")
	return slices.DeleteFunc(strings.Fields(rest), func(s string) bool { return strings.HasPrefix(rest, " --") })
}
