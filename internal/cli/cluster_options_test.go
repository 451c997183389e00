package cli

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
)

// wantOptions parses arguments and compares the resulting options.
func wantOptions[O any](t *testing.T, command func(func(context.Context, O) error) *cobra.Command, want O, args ...string) {
	t.Helper()
	if o, err := parsed(t, command, args...); err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%q: %+v, %v, want %+v", args, o, err, want)
	}
}

// refused checks that arguments are an error.
func refused[O any](t *testing.T, command func(func(context.Context, O) error) *cobra.Command, args ...string) {
	t.Helper()
	if o, err := parsed(t, command, args...); err == nil {
		t.Errorf("%q was accepted as %+v", args, o)
	}
}

func TestUpOptions(t *testing.T) {
	a := &app{}
	wantOptions(t, a.upCommand, upOptions{folder: "railwright-runs"})
	wantOptions(t, a.upCommand, upOptions{file: "c.yaml", lab: true, keep: true, folder: "runs", faults: []string{"mtu=a:b", "down=c"}},
		"-f", "c.yaml", "--lab", "--keep", "-d", "runs", "--fault", "mtu=a:b", "--fault", "down=c")
	refused(t, a.upCommand, "c.yaml")
}

func TestApplyOptions(t *testing.T) {
	a := &app{}
	const within = 90 * time.Second
	wantOptions(t, a.applyCommand, applyOptions{within: within})
	wantOptions(t, a.applyCommand, applyOptions{fleetOptions: fleetOptions{file: "c.yaml"}, dryRun: true, within: within}, "-f", "c.yaml", "--dry-run")
	for word, dry := range map[string]dryRun{"server": true, "none": false, "true": true, "false": false} {
		wantOptions(t, a.applyCommand, applyOptions{fleetOptions: fleetOptions{file: "c.yaml"}, dryRun: dry, within: within}, "-f", "c.yaml", "--dry-run="+word)
	}
	refused(t, a.applyCommand, "-f", "c.yaml", "--dry-run=client")
	refused(t, a.applyCommand, "-f", "c.yaml", "--dry-run=")
	refused(t, a.applyCommand, "-f", "c.yaml", "--dry-run", "server")
	wantOptions(t, a.applyCommand, applyOptions{fleetOptions: fleetOptions{lab: true}, within: within}, "--lab")
	wantOptions(t, a.applyCommand, applyOptions{fleetOptions: fleetOptions{file: "c.yaml"}, activate: true, within: time.Minute}, "-f", "c.yaml", "--activate", "--within", "1m")
	refused(t, a.applyCommand, "--lab", "--activate")
	refused(t, a.applyCommand, "-f", "c.yaml", "--activate", "--dry-run")
	refused(t, a.applyCommand, "-f", "c.yaml", "--activate", "--within", "soon")
	for name, ok := range map[string]bool{"PersistentVolumeClaim/llm/weights": true, "Secret/llm/hub": true, "ConfigMap/llm/a": false, "weights": false, "PersistentVolumeClaim/weights": false,
		"PersistentVolumeClaim//weights": false, "": false, "PersistentVolumeClaim/a/b/c": false} {
		if err := (applyOptions{within: within, prune: true, deleteData: []string{name}}).validate(); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (applyOptions{within: within, deleteData: []string{"Secret/llm/hub"}}).validate(); err == nil {
		t.Error("nothing is deleted")
	}
	for _, test := range []struct {
		o  applyOptions
		ok bool
	}{
		{applyOptions{within: within}, true}, {applyOptions{within: time.Minute}, false}, {applyOptions{within: time.Minute, activate: true}, true},
		{applyOptions{within: time.Second, activate: true}, false}, {applyOptions{within: time.Hour, activate: true}, false},
	} {
		if err := test.o.validate(); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test.o, err)
		}
	}
	refused(t, a.applyCommand, "--lab", "-f", "c.yaml")
	refused(t, a.applyCommand, "c.yaml")
}

func TestLoginsOptions(t *testing.T) {
	a := &app{}
	wantOptions(t, a.loginsCommand, loginsOptions{file: "c.yaml"}, "-f", "c.yaml")
	wantOptions(t, a.loginsCommand, loginsOptions{file: "c.yaml", accept: true}, "-f", "c.yaml", "--accept-new")
	refused(t, a.loginsCommand, "c.yaml")
}

func TestRenderOptions(t *testing.T) {
	a := &app{}
	wantOptions(t, a.renderCommand, renderOptions{file: "c.yaml", folder: "out"}, "-f", "c.yaml", "-d", "out")
	refused(t, a.renderCommand, "out")
}

func TestBenchOptions(t *testing.T) {
	a := &app{}
	wantOptions(t, a.benchCommand, benchOptions{folder: "railwright-runs"})
	wantOptions(t, a.benchCommand, benchOptions{fleetOptions: fleetOptions{lab: true}, suite: "nccl", folder: "railwright-runs"}, "--lab", "--suite", "nccl")
	refused(t, a.benchCommand, "--lab", "-f", "c.yaml")
	refused(t, a.benchCommand, "--lab", "--print")
}

func TestLabUpOptions(t *testing.T) {
	a := &app{}
	wantOptions(t, a.labUpCommand, labUpOptions{})
	wantOptions(t, a.labUpCommand, labUpOptions{file: "c.yaml", ssh: true, bare: true, hardware: "r.txtar"}, "-f", "c.yaml", "--ssh", "--bare", "--hardware", "r.txtar")
	wantOptions(t, a.labUpCommand, labUpOptions{faults: []string{"mtu=a:b,c:d"}}, "--fault", "mtu=a:b,c:d")
	refused(t, a.labUpCommand, "--bare", "--fault", "mtu=a:b")
	refused(t, a.labUpCommand, "c.yaml")
}

func TestLabExecOptions(t *testing.T) {
	a := &app{}
	want := labExecOptions{host: "host1", argv: []string{"ip", "-d", "link"}}
	wantOptions(t, a.labExecCommand, want, "host1", "--", "ip", "-d", "link")
	wantOptions(t, a.labExecCommand, want, "host1", "ip", "-d", "link")
	refused(t, a.labExecCommand, "host1")
}

// An unknown step is an error, and so is an argument of a known one.
func TestNodeSteps(t *testing.T) {
	ran := ""
	step := func(name string) func(context.Context) error {
		return func(context.Context) error { ran = name; return nil }
	}
	a := &app{}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"collect"}, "collect"}, {[]string{"mesh"}, "mesh"}, {[]string{"apply"}, "apply"},
		{[]string{"lab-keep"}, "lab-keep"}, {[]string{"lab-hold"}, "lab-hold"}, {[]string{"lab-fault"}, "lab-fault"},
		{[]string{"collect", "x"}, ""}, {[]string{"bogus"}, ""},
	} {
		t.Run(c.args[len(c.args)-1], func(t *testing.T) {
			ran = ""
			cmd := a.nodeCommand(nodeSteps{
				collect: step("collect"), mesh: step("mesh"), apply: step("apply"),
				labKeep: step("lab-keep"), labHold: step("lab-hold"), labFault: step("lab-fault"),
			})
			cmd.SetArgs(c.args)
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			if err := cmd.Execute(); ran != c.want || (err == nil) != (c.want != "") {
				t.Errorf("ran %q, %v, want %q", ran, err, c.want)
			}
		})
	}
}

// The words of an apply and its exit status are decided together.
func TestApplyVerdict(t *testing.T) {
	pass, fail, unknown := apply.Applied{Status: fabric.Pass}, apply.Applied{Status: fabric.Fail}, apply.Applied{}
	leaf := apply.Applied{Status: fabric.NotApplicable}
	for _, c := range []struct {
		name    string
		results []apply.Applied
		dryRun  bool
		status  fabric.Status
		words   string
	}{
		{"written", []apply.Applied{pass, pass, leaf}, false, fabric.Pass, "PASS: files as planned on 2 targets"},
		{"not in effect", []apply.Applied{pass, fail, unknown}, false, fabric.Fail, "FAIL: not in effect on 1 target, unknown on 1 target, files as planned on 1 target"},
		{"a switch", []apply.Applied{pass, unknown}, false, fabric.Unknown, "UNKNOWN: unknown on 1 target, files as planned on 1 target"},
		{"nothing to do", []apply.Applied{pass, leaf}, true, fabric.Pass, "PASS: nothing to do on 1 target"},
		{"pending", []apply.Applied{pass, fail}, true, fabric.Fail, "FAIL: changes pending, or not in effect on 1 target, nothing to do on 1 target"},
		{"no target", nil, true, fabric.Unknown, "UNKNOWN: no target"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, words := applyVerdict(c.results, c.dryRun); status != c.status || words != c.words {
				t.Errorf("%v, %q, want %v, %q", status, words, c.status, c.words)
			}
		})
	}
}

// What a target answers reaches the terminal, but no control character of it.
func TestChangesText(t *testing.T) {
	r := apply.Applied{
		Node: "gpu1", Status: fabric.Fail, Interrupted: true, Drift: []string{"eth2: is down"},
		Changes:    []apply.Change{{Path: "/etc/\x1b[31ma", Kind: apply.Update, Reason: "content differs"}},
		Activation: &apply.Activation{Network: "netlink", Reason: "no netplan", Pending: []string{"eth1: is down"}, Skipped: []string{"kernel.x: of the machine"}},
	}
	const note = "  note     an apply or rollback was interrupted: the files from before it were restored first\n"
	const want = note + "  update   /etc/\\x1b[31ma (content differs)\n  drift    eth2: is down\n  pending  eth1: is down\n" +
		"  skipped  kernel.x: of the machine\n  note     configured by netlink: no netplan\n"
	if got := changesText(r, false); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	r = apply.Applied{Changes: []apply.Change{{Path: "/etc/a", Kind: apply.Create}}}
	if got := changesText(r, false); got != "  create   /etc/a\n  note     the files "+apply.TakesEffect(r.Changes)+"\n" {
		t.Errorf("on a real host: %s", got)
	}
	if got := changesText(r, true); got != "  create   /etc/a\n" {
		t.Errorf("a dry run: %s", got)
	}
}
