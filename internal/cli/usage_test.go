package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// tree is the whole command tree; no command of it does anything.
func tree(t *testing.T) *cobra.Command {
	t.Helper()
	a := &app{version: "test", stdin: strings.NewReader(""), stdout: &screen{to: &strings.Builder{}}, stderr: &screen{to: &strings.Builder{}}}
	root := a.root()
	every(root, func(c *cobra.Command) {
		if c.RunE != nil && !c.HasSubCommands() && c.Name() != "help" {
			c.RunE = func(*cobra.Command, []string) error { return nil }
		}
	})
	return root
}

func every(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		every(sub, visit)
	}
}

// tried runs a command line on a fresh tree.
func tried(t *testing.T, args ...string) error {
	t.Helper()
	root := tree(t)
	root.SetArgs(args)
	root.SetOut(&strings.Builder{})
	root.SetErr(&strings.Builder{})
	return root.ExecuteContext(t.Context())
}

// libraryText are texts that libraries write, and that say nothing to a person who typed a command.
var libraryText = regexp.MustCompile(`arg\(s\)|strconv\.|invalid syntax|value out of range|unknown shorthand|invalid argument|unknown flag|unknown command|flag needs an argument|` +
	`any flags in the group|Did you mean this|bad flag syntax|pflag|cobra|%!|<nil>|[^.]json: |[^.]yaml: |unmarshal|parsing "`)

// wrongArguments are what people and scripts give by mistake.
func wrongArguments() [][]string {
	return [][]string{{}, {"x"}, {"x", "y"}, {"x", "y", "z"}, {""}, {"--", "-x"}, {"--bogus"}, {"-Z"}, {"-ZQ=3"}, {"--=x"}, {"---"}, {"--help=x"}, {"-o", "xml"}, {"bogus", "--bogus"}}
}

// Every command with every wrong number of arguments, unknown flags and flags without or with a wrong value: the message
// is this program's, and names the flag, or the command and its usage.
func TestUsageMessagesAreOurs(t *testing.T) {
	var paths [][]string
	values := []string{"", "x", "-1", "1e999", "99999999999999999999"}
	flags := map[string][]*pflag.Flag{}
	every(tree(t), func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		paths = append(paths, path)
		c.InheritedFlags()
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[strings.Join(path, " ")] = append(flags[strings.Join(path, " ")], f) })
	})
	count, failed := 0, 0
	check := func(t *testing.T, args []string) {
		t.Helper()
		count++
		err := tried(t, args...)
		if err == nil {
			return
		}
		failed++
		if libraryText.MatchString(err.Error()) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, path := range paths {
		t.Run(strings.Join(append([]string{"railwright"}, path...), " "), func(t *testing.T) {
			for _, wrong := range wrongArguments() {
				check(t, append(slices.Clone(path), wrong...))
			}
			for _, f := range flags[strings.Join(path, " ")] {
				check(t, append(slices.Clone(path), "--"+f.Name))
				for _, v := range values {
					check(t, append(slices.Clone(path), "--"+f.Name+"="+v))
				}
			}
		})
	}
	if count < 1500 || failed < count/3 {
		t.Errorf("%d command lines, %d errors", count, failed)
	}
	t.Logf("%d command lines, %d errors", count, failed)
}

// Commands that touch nothing but their input, with wrong values that only they can refuse.
func TestCommandMessagesAreOurs(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	junk := filepath.Join(t.TempDir(), "junk")
	for name, text := range map[string]string{empty: "", junk: "\x00\x01{[<junk"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	for _, file := range []string{empty, junk, "/no/such/file", "/", "-"} {
		for _, c := range []string{"plan -f", "render -d x -f", "check -f", "check --snapshot", "explain", "topo show", "topo lint", "topo lint --fix", "topo show --nccl", "topo show --snapshot", "topo nccl --snapshot", "size", "predict --like", "predict --topo", "predict --snapshot", "predict -f", "report", "diff " + file, "lab up --hardware", "collect --root", "collect --text"} {
			if file == "-" && strings.HasPrefix(c, "collect") || file == "/" && c == "explain" { // which would read the whole machine
				continue
			}
			lines = append(lines, c+" "+file)
		}
	}
	for _, v := range []string{"x", "-1", "9999999999999999999"} {
		lines = append(lines, "predict --machine hgx-h100 --sizes "+v, "predict --machine hgx-h100 --procs "+v, "predict --machine hgx-h100 --rate "+v, "predict --machine hgx-h100 --nodes "+v,
			"predict --machine hgx-h100 --worker "+v, "predict --machine hgx-h100 --env "+v, "predict --machine "+v, "predict --gpu "+v, "predict --machine hgx-h100 --nodes 2 --net "+v, "predict --machine hgx-h100 --cpu "+v,
			"predict --machine hgx-h100 --collective "+v, "predict --machine hgx-h100 --dtype "+v, "predict --machine hgx-h100 --oversubscription "+v,
			"size "+v, "size llama-3.1-8b --context "+v, "size llama-3.1-8b --engine-version "+v, "size llama-3.1-8b --engine "+v, "size llama-3.1-8b --kv-dtype "+v, "size llama-3.1-8b --mem-fraction "+v, "size llama-3.1-8b --tp "+v, "size llama-3.1-8b --gpus "+v,
			"catalog "+v, "catalog gpus "+v, "catalog "+v+" x", "cause "+v, "schema "+v, "init --example "+v, "init --example roce-mi300x --nodes "+v, "topo show --machine "+v, "topo show --machine hgx-h100 --nccl --nodes "+v, "topo nccl --machine hgx-h100 --guest "+v, "topo nccl --machine hgx-h100 --label "+v,
			"collect --hosts "+v+"[", "lab up --fault "+v, "lab up --fault mtu="+v, "up --fault "+v, "man "+v, "help "+v, "help size "+v, "apply -f "+v, "bench -f "+v)
	}
	lines = append(lines, "predict --machine hgx-h100 --sizes 1:2:x", "predict --machine hgx-h100 --sizes 1:2:3:4")
	for i := 0; i < len(lines); i += everyNth() {
		line := lines[i]
		t.Run(line, func(t *testing.T) {
			t.Setenv("RAILWRIGHT_LAB", filepath.Join(t.TempDir(), "lab"))
			if r := call("", strings.Fields(line)...); r.status != 0 && libraryText.MatchString(r.stderr) {
				t.Error(r)
			}
		})
	}
}

// Every help has examples, which are lines that the command takes, and its commands are in groups.
func TestHelpHasExamples(t *testing.T) {
	visible(tree(t), func(c *cobra.Command) {
		t.Run(c.CommandPath(), func(t *testing.T) {
			if strings.TrimSpace(c.Example) == "" {
				t.Fatal("no example")
			}
			var help strings.Builder
			c.SetOut(&help)
			if err := c.Help(); err != nil || !strings.Contains(help.String(), c.Example) {
				t.Errorf("%v\n%s", err, help.String())
			}
			for line := range strings.Lines(c.Example) {
				line, _, _ = strings.Cut(line, " # ")
				for _, command := range regexp.MustCompile(`\||&&`).Split(line, -1) {
					words := strings.Fields(strings.NewReplacer("'", "").Replace(command))
					if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, ">") || w == "<" }); i >= 0 {
						words = words[:i]
					}
					if len(words) == 0 || words[0] != "railwright" {
						continue
					}
					if err := tried(t, words[1:]...); err != nil {
						t.Errorf("%s: %v", command, err)
					}
				}
			}
		})
	})
	help := call("", "--help").stdout
	if strings.Contains(help, "Additional Commands") || strings.Count(help, ":\n") < 7 {
		t.Errorf("not all commands are in groups:\n%s", help)
	}
}

// The shell completes the names that a person cannot know by heart.
func TestCompletion(t *testing.T) {
	t.Setenv("RAILWRIGHT_LAB", filepath.Join(t.TempDir(), "lab"))
	for line, want := range map[string]string{
		"predict --machine hgx-h1":        "hgx-h100\tNVIDIA HGX H100",
		"size llama-3.1-8b --machine hgx": "hgx-h200\t",
		"topo show --machine dgx":         "dgx-spark\t",
		"explain --gpu mi3":               "mi300x\t",
		"size deepseek":                   "deepseek-r1\t",
		"size x --engine ":                "sglang\n",
		"size x --kv-dtype fp8":           "fp8",
		"predict --net i":                 "ib\n",
		"predict --collective all":        "all_reduce\n",
		"predict --cpu a":                 "amd\n",
		"lab up --fault sw":               "swap-cable=\t",
		"up --fault m":                    "mtu=\t",
		"init --example ro":               "roce-mi300x\n",
		"bench --suite ":                  "ping\n",
		"catalog gp":                      "gpus\t",
		"catalog gpus h10":                "h100-sxm\t",
		"catalog mi3":                     "mi300x\t",
		"cause gdr":                       "gdr-disabled\t",
		"schema Fa":                       "Facts\n",
		"plan -o j":                       "json\n",
		"topo ":                           "lint\t",
		"lab ":                            "exec\t",
		"help to":                         "topo\t",
		"lab exec ":                       ":4", // no lab: nothing, and no files
		"topo lint ":                      ":0", // files
		"plan ":                           ":4",
	} {
		t.Run(line, func(t *testing.T) {
			words := strings.Split(line, " ")
			r := call("", append([]string{"__complete"}, words...)...)
			if r.status != 0 || !strings.Contains(r.stdout, want) {
				t.Errorf("want %q: %s", want, r)
			}
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := call("", "completion", shell); r.status != 0 || !strings.Contains(r.stdout, "__complete") {
			t.Errorf("%s: %s", shell, r)
		}
	}
}

// A misspelled word of a closed set is answered with the nearest one.
func TestMisspelledNames(t *testing.T) {
	for line, want := range map[string]string{
		"chek":                      `command "chek": unknown; did you mean "check"?`,
		"lab upp":                   `lab: command "upp": unknown; did you mean "up"?`,
		"topo lnt":                  `did you mean "lint"?`,
		"help siz":                  `did you mean "size"?`,
		"chek -f x":                 `command "chek": unknown`,
		"size --engin vllm":         `flag --engin: unknown; did you mean "--engine"?`,
		"lab up --fault mtuu=host1": `did you mean "mtu"?`,
		"predict --machine hgx-h100 --collective alreduce": `did you mean "all_reduce"`,
		"size llama-3.1-8b --engine sgl":                   `did you mean "sglang"?`,
		"size llama-3.1-8b --kv-dtype pf8":                 `did you mean "fp8`,
		"schema Fact":                                      `did you mean "Facts"?`,
		"predict --machine hgx-h10":                        `did you mean "hgx-h100"`,
		"predict --gpu mi30x":                              `did you mean "mi300x"`,
		"predict --machine hgx-h100 --nodes 2 --net rocee": `did you mean "roce"?`,
		"catalog gpu h100-sx":                              `did you mean "h100-sxm"`,
		"init --example roce-mi300":                        `did you mean "roce-mi300x"?`,
		"plan -o jsn":                                      `did you mean "json"?`,
		"man siz":                                          `did you mean "railwright size"?`,
		"bench --suite pin -f x":                           `did you mean "ping"?`,
	} {
		t.Run(line, func(t *testing.T) {
			if r := call("", strings.Fields(line)...); r.status != 64 || !strings.Contains(r.stderr, want) {
				t.Errorf("want %q: %s", want, r)
			}
		})
	}
}

// InfiniBand is taken by both of its names wherever a network is named.
func TestInfiniBandByBothNames(t *testing.T) {
	predicted := call("", "predict", "--machine", "hgx-h100", "--nodes", "2", "--net", "ib", "--sizes", "1G")
	sized := call("", "size", "llama-3.1-8b", "--net", "ib")
	for _, name := range []string{"infiniband", "InfiniBand", "IB"} {
		t.Run(name, func(t *testing.T) {
			if got := call("", "predict", "--machine", "hgx-h100", "--nodes", "2", "--net", name, "--sizes", "1G"); got.status != 0 || got.stdout != predicted.stdout {
				t.Error(got)
			}
			if got := call("", "size", "llama-3.1-8b", "--net", name); got.status != 0 || got.stdout != sized.stdout {
				t.Error(got)
			}
			file := example(t, "hgx-h100-ib")
			if name != "infiniband" {
				file = example(t, "hgx-h100-ib", "kind: infiniband", "kind: "+name)
			}
			if got := call("", "predict", "-f", file, "--sizes", "1G"); got.status != 0 || !strings.Contains(got.stdout, "net ib") {
				t.Error(got)
			}
		})
	}
	for _, line := range []string{"catalog infiniband", "catalog fabrics infiniband", "catalog ib"} {
		if r := call("", strings.Fields(line)...); r.status != 0 || !strings.Contains(r.stdout, "InfiniBand") {
			t.Errorf("%s: %s", line, r)
		}
	}
}

func TestTokenCount(t *testing.T) {
	for text, want := range map[string]int64{"131072": 131072, "128k": 131072, "128K": 131072, "1M": 1 << 20, " 32k ": 32768, "0": 0, "-1": -1} {
		t.Run(text, func(t *testing.T) {
			var n tokenCount
			if err := n.Set(text); err != nil || int64(n) != want {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	for _, text := range []string{"", "k", "x", "1.5k", "128kk", "99999999999999", "9999999999999999999", "128 k b"} {
		t.Run("refused "+text, func(t *testing.T) {
			var n tokenCount
			if err := n.Set(text); err == nil || !strings.Contains(err.Error(), "128k") {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	a := call("", "size", "llama-3.1-8b", "--context", "128k", "-o", "json")
	if b := call("", "size", "llama-3.1-8b", "--context", "131072", "-o", "json"); a.status != 0 || a.stdout != b.stdout {
		t.Error(a)
	}
	for _, wrong := range []string{"0", "-1", "0k"} {
		if r := call("", "size", "llama-3.1-8b", "--context", wrong); r.status != 64 || !strings.Contains(r.stderr, "must be above 0") {
			t.Errorf("%s: %s", wrong, r)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	if a, b := call("", "--version"), call("", "version"); a.status != 0 || a.stdout != b.stdout || a.stdout != "test\n" {
		t.Errorf("%s%s", a, b)
	}
}

func ExampleMain_exclusive() {
	r := call("", "predict", "--like", "a", "--topo", "b")
	fmt.Println(r.status, strings.TrimSpace(r.stderr))
	// Output: 64 railwright: flags --like and --topo: use only one
}
