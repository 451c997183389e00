package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

func TestExitStatus(t *testing.T) {
	t.Setenv("RAILWRIGHT_LAB", filepath.Join(t.TempDir(), "lab"))
	file := example(t, "roce-mi300x")
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {nam: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args   string
		status int
		stdout string // in it; with an empty one, nothing is printed
		stderr string
	}{
		{"", 0, "From bare nodes to a verified cluster:", ""},
		{"--help", 0, "From bare nodes to a verified cluster:", ""},
		{"plan --help", 0, "railwright plan -f FILE", ""},
		{"lab", 0, "Available Commands:", ""},
		{"version", 0, "test\n", ""},
		{"version -o json", 0, `"apiVersion": "railwright.dev/v1alpha1"`, ""},
		{"plan -f " + file, 0, "16 cables, p2p31, MTU 9000", ""},
		{"plan -o json -f " + file, 0, `"kind": "Plan"`, ""},
		{"schema Plan", 0, `"$schema"`, ""},
		{"init --example spark-pair", 0, "platform: spark", ""},
		{"lab down", 0, "", "no lab was up"},
		{"lab down -q", 0, "", ""},

		{"bogus", 64, "", `command "bogus": unknown`},
		{"lab bogus", 64, "", "bogus"},
		{"node bogus", 64, "", "bogus"},
		{"--bogus", 64, "", "flag --bogus: unknown"},
		{"plan --bogus", 64, "", "flag --bogus: unknown"},
		{"plan extra", 64, "", "extra"},
		{"plan -o xml -f " + file, 64, "", `flag --output: "xml": unknown; known: text, json`},
		{"version -o JSON", 64, "", `flag --output: "JSON": unknown`},
		{"plan -f", 64, "", "flag -f, --file: needs a value"},
		{"plan", 64, "", "a cluster file is needed: -f FILE (make one with: railwright init)"},
		{"render -d x", 64, "", "a cluster file is needed"},
		{"apply --dry-run", 64, "", "-f FILE"},
		{"render -f " + file, 64, "", "flag -d: a folder to write to is needed"},
		{"plan -f /no/such/file.yaml", 64, "", "/no/such/file.yaml: no such file"},
		{"plan -f /", 64, "", "is a directory"},
		{"plan -f " + bad, 64, "", bad + ":3:"},
		{"plan -o json -f " + bad, 64, "", bad + ":3:"},
		{"check -f " + bad, 64, "", bad + ":3:"},
		{"up --lab -f " + bad, 64, "", bad + ":3:"},
		{"lab up -f " + bad, 64, "", bad + ":3:"},
		{"check --snapshot /no/such/facts", 64, "", "/no/such/facts"},
		{"check --lab", 64, "", "no lab is up: start one with: railwright lab up"},
		{"check --lab -f " + file, 64, "", "flags --file and --lab: use only one"},
		{"bench --lab", 64, "", "no lab is up"},
		{"bench", 64, "", "--lab"},
		{"bench --lab --suite nccltest", 64, "", `flag --suite: "nccltest": unknown; did you mean`},
		{"bench --lab --suite ping,pong", 64, "", `flag --suite: "pong": unknown; did you mean "ping"? known: ping, perftest, nccl`},
		{"lab status", 64, "", "no lab is up"},
		{"lab exec host1 -- true", 64, "", "no lab is up"},
		{"lab exec host1", 64, "", "COMMAND: missing; usage: railwright lab exec HOST"},
		{"lab up --fault bogus=host1", 64, "", "known: swap-cable, swap-port, same-peer, "},
		{"up --lab --fault mtu=host9 -d /no/such/folder", 64, "", "known: host1, host2"},
		{"collect --root /no/such/tree", 64, "", "/no/such/tree"},
		{"report /no/such/run", 64, "", "/no/such/run"},
		{"init --nodes 4", 64, "", "flag --nodes: needs --example"},
		{"init --example roce-mi300x --nodes 0", 64, "", "flag --nodes: 0: must be 1 or more"},
		{"init --example bogus", 64, "", "roce-mi300x"},
		{"schema", 64, "", "KIND: missing; usage: railwright schema KIND"},
		{"schema Bogus", 64, "", `kind "Bogus": unknown; known: Cluster, Facts, Plan, Index, Findings, Mesh, Causes`},
		{"node apply", 64, "", "bundle: line 1: unexpected end of JSON input"},
		{"node mesh", 64, "", "mesh orders: EOF"},
		{"node lab-fault", 64, "", "faults: EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			r := call("", strings.Fields(tt.args)...)
			r.stderr = slow.ReplaceAllString(r.stderr, "") // a busy machine
			if r.status != tt.status || !strings.Contains(r.stdout, tt.stdout) || !strings.Contains(r.stderr, tt.stderr) ||
				tt.stdout == "" && r.stdout != "" || tt.stderr == "" && r.stderr != "" {
				t.Errorf("want status %d, %q and %q\n%s", tt.status, tt.stdout, tt.stderr, r)
			}
			if tt.status != 0 && (!strings.HasPrefix(r.stderr, "railwright: ") || strings.Count(r.stderr, "railwright: "+strings.Fields(tt.args + " -")[0]) > 1) {
				t.Errorf("stderr %q", r.stderr)
			}
		})
	}
}

func TestClusterFileFromStandardInput(t *testing.T) {
	text, err := os.ReadFile(example(t, "roce-mi300x"))
	if err != nil {
		t.Fatal(err)
	}
	if r := call(string(text), "plan", "-f", "-"); r.status != 0 || !strings.Contains(r.stdout, "host2  eth8") {
		t.Error(r)
	}
	if r := call(string(text[:len(text)/2]), "plan", "-f", "-"); r.status != 64 || r.stdout != "" {
		t.Errorf("cut in the middle: %s", r)
	}
	if r := call("# "+strings.Repeat("x", maxClusterFile), "plan", "-f", "-"); r.status != 64 || !strings.Contains(r.stderr, "at most 1048576 (1 MiB)") {
		t.Errorf("too large: %s", r)
	}
}

// A panic must not end the program with 2, which would read as "unknown".
func TestPanicEndsWith70(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), panicVariable+"=yes")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 70 || !strings.Contains(string(out), "internal error, please report it: on purpose") {
		t.Errorf("%v: %s", err, out)
	}
}

// Output that cannot be written is not a pass.
func TestOutputThatIsLost(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	file := example(t, "roce-mi300x")
	for _, args := range []string{"version", "version -o json", "plan -f " + file, "plan -o json -f " + file, "schema Plan", "schema Cluster", "init --example roce-mi300x", "collect", "check", "check -o json"} {
		var stderr strings.Builder
		status := Main("test", strings.Fields(args), nil, full, &stderr)
		if status != 64 || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%s: exit status %d, %s", args, status, stderr.String())
		}
	}
}

func TestEveryExamplePlansOrSaysWhyNot(t *testing.T) {
	for _, name := range intent.Examples() {
		for _, nodes := range []string{"2", "64"} {
			init := call("", "init", "--example", name, "--nodes", nodes)
			if init.status != 0 {
				if init.status != 64 || init.stdout != "" {
					t.Errorf("%s of %s: %s", name, nodes, init)
				}
				continue // an example of a fixed size is an error that names the field
			}
			r := call(init.stdout, "plan", "-f", "-", "-o", "json")
			if r.status == 64 && r.stdout == "" && strings.Contains(r.stderr, "fabric.leaf: is not set") {
				continue // direct cabling and a cloud's network are an error that says so
			}
			if r.status != 0 {
				t.Errorf("%s of %s: %s", name, nodes, r)
			} else if p := decode[fabric.Plan](t, r.stdout); len(p.Nodes) == 0 || len(p.Nodes) > 64 {
				t.Errorf("%s of %s: %d nodes", name, nodes, len(p.Nodes))
			}
		}
	}
}

func TestRenderWritesWhatItsIndexSays(t *testing.T) {
	file := example(t, "roce-mi300x")
	var sums []string
	for range 2 {
		folder := filepath.Join(t.TempDir(), "out")
		r := call("", "render", "-f", file, "-d", folder)
		if r.status != 0 {
			t.Fatal(r)
		}
		sums = append(sums, r.stdout[strings.Index(r.stdout, "index sha256"):])
		index := decode[fabric.Index](t, call("", "render", "-f", file, "-d", folder, "-o", "json").stdout)
		if len(index.Artifacts) == 0 {
			t.Error("nothing was rendered")
		}
		written := digests(t, folder)
		for _, a := range index.Artifacts {
			if written[a.SHA256] == "" {
				t.Errorf("%s of %s, sha256 %s, is not in the folder", a.Path, a.Target, a.SHA256)
			}
		}
	}
	if sums[0] != sums[1] {
		t.Errorf("%q, then %q: the same input gives the same bytes", sums[0], sums[1])
	}
}

// digests returns the SHA-256 of each file of a folder.
func digests(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		sum := sha256.Sum256(content)
		found[hex.EncodeToString(sum[:])] = name
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// saved writes the facts of this machine to a file.
func saved(t *testing.T) (path string, facts fabric.Facts) {
	t.Helper()
	r := call("", "collect")
	facts = decode[fabric.Facts](t, r.stdout)
	if lost := check.Unread(&facts); r.status != map[bool]int{true: 0, false: 2}[len(lost) == 0] {
		t.Errorf("%d facts that a check needs are missing, and the exit status is %d", len(lost), r.status)
	}
	path = filepath.Join(t.TempDir(), facts.Node+".json")
	if err := os.WriteFile(path, []byte(r.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, facts
}

func TestCheckOfASnapshot(t *testing.T) {
	path, facts := saved(t)
	asJSON := call("", "check", "--snapshot", path, "-o", "json")
	f := decode[fabric.Findings](t, asJSON.stdout)
	if want := map[fabric.Status]int{fabric.Pass: 0, fabric.Fail: 1, fabric.Unknown: 2}[f.Summary.Status()]; asJSON.status != want {
		t.Errorf("verdict %s, exit status %d", f.Summary.Status(), asJSON.status)
	}
	if len(facts.HCAs) == 0 && asJSON.status == 0 {
		t.Error("a host without any RDMA device passes")
	}
	var counted fabric.Summary
	for _, one := range f.Findings {
		if !one.Waived {
			counted.Count(one.Status)
		}
	}
	counted.Waived = f.Summary.Waived
	if counted != f.Summary {
		t.Errorf("summary %+v, counted %+v", f.Summary, counted)
	}
	text := call("", "check", "--snapshot", path)
	if text.status != asJSON.status || !strings.Contains(text.stdout, "exit status "+string(rune('0'+text.status))) {
		t.Errorf("as text: %s", text)
	}
	if twice := call("", "check", "--snapshot", filepath.Dir(path), "-o", "json"); twice.stdout != asJSON.stdout {
		t.Error("the folder leads to another verdict than the file")
	}
}

func TestBadSnapshots(t *testing.T) {
	path, _ := saved(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"cut": string(text[:len(text)/2]), "empty": "", "another kind": `{"apiVersion":"railwright.dev/v1alpha1","kind":"Plan"}`,
		"unknown field": `{"bogus":1,` + string(text[1:]), "a list": "[]",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "facts.json")
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if r := call("", "check", "--snapshot", file); r.status != 64 || !strings.Contains(r.stderr, file) || r.stdout != "" {
				t.Error(r)
			}
		})
	}
	if r := call("", "check", "--snapshot", t.TempDir()); r.status == 0 {
		t.Errorf("an empty folder: %s", r)
	}
}

// The names that scripts read.
func TestKeysOfFindings(t *testing.T) {
	path, _ := saved(t)
	r := call("", "check", "--snapshot", path, "-f", example(t, "roce-mi300x"), "-o", "json")
	out := decode[struct {
		Summary  map[string]json.RawMessage
		Findings []map[string]json.RawMessage
	}](t, r.stdout)
	for _, key := range []string{"pass", "fail", "unknown", "not_applicable", "waived"} {
		if out.Summary[key] == nil {
			t.Errorf("summary without %q", key)
		}
	}
	known := []string{"id", "title", "status", "severity", "cause", "subject", "evidence", "expected", "why", "cost", "fix", "reference", "waived"}
	if len(out.Findings) == 0 {
		t.Error("no findings")
	}
	for _, f := range out.Findings {
		for _, key := range []string{"id", "title", "status", "severity", "subject"} {
			if f[key] == nil {
				t.Errorf("finding %s without %q", f["id"], key)
			}
		}
		for key := range f {
			if !slices.Contains(known, key) {
				t.Errorf("finding %s has %q, which is unknown", f["id"], key)
			}
		}
		if subject := decode[map[string]string](t, string(f["subject"])); subject["kind"] == "" {
			t.Errorf("finding %s is about %v", f["id"], subject)
		}
	}
}
