//go:build linux

package facts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
)

// wholeHost is a fake machine with files, links, RDMA devices and a kernel that answers.
func wholeHost(t testing.TB) kernelHost {
	t.Helper()
	h := rdmaHost()
	for name, text := range machineFiles() {
		h.files[name] = text
	}
	h.files[networkdLLDP+"/3"] = string(readHexFile(t, "lldp/networkd.hex"))
	h.files["/etc/hostname"] = "fake\n"
	h.fail["/sys/class/dmi/id/product_name"] = os.ErrPermission
	h.dumps = capturedDumps(t)
	return kernelHost{h}
}

func (kernelHost) Output(_ context.Context, c host.Command) ([]byte, error) {
	return []byte("said by " + c.Argv[0] + "\n"), &host.ExitError{Command: strings.Join(c.Argv, " "), Status: 3, Stderr: "not today"}
}

func asJSON(t testing.TB, f *fabric.Facts) []byte {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// recorded collects through a Recorder and gives the facts and the archive.
func recorded(t testing.TB, h host.Host) (*fabric.Facts, []byte) {
	t.Helper()
	r := host.NewRecorder(h, "test", testTime())
	f := Collect(context.Background(), r, testTime())
	return f, r.Archive()
}

func TestReplayGivesTheSameFacts(t *testing.T) {
	_, tree := capturedTree(t)
	for name, h := range map[string]host.Host{"fake": wholeHost(t), "nothing": fakeHost{}, "tree": tree, "here": host.Local{}} {
		t.Run(name, func(t *testing.T) {
			f, archive := recorded(t, h)
			replay, err := host.LoadRecording(bytes.NewReader(archive))
			if err != nil {
				t.Fatal(err)
			}
			again := Collect(context.Background(), replay, replay.Time())
			if diff := cmp.Diff(string(asJSON(t, f)), string(asJSON(t, again))); diff != "" {
				t.Errorf("facts (-through the recorder +replayed):\n%s", diff)
			}
			if f.Source != "recorded" {
				t.Errorf("source %q", f.Source)
			}
			for _, m := range again.Missing {
				if strings.Contains(m.Reason, host.ErrNotRecorded.Error()) {
					t.Errorf("not recorded: %+v", m)
				}
			}
		})
	}
}

// replayProcess names the recording that this test binary is to replay when it is run as another process.
const replayProcess = "RAILWRIGHT_TEST_REPLAY"

func TestReplayInAnotherProcess(t *testing.T) {
	if path := os.Getenv(replayProcess); path != "" {
		for f, err := range LoadFrom(context.Background(), files.Disk{}, path) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stdout.Write(asJSON(t, f)); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	f, archive := recorded(t, host.Local{})
	path := filepath.Join(t.TempDir(), "here.txtar")
	if err := os.WriteFile(path, archive, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestReplayInAnotherProcess$")
	cmd.Env = append(cmd.Environ(), replayProcess+"="+path)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if diff := cmp.Diff(string(asJSON(t, f)), line+"\n"); diff != "" {
		t.Errorf("facts (-here +in another process):\n%s", diff)
	}
}

// outcomes are what Load gives, a line each.
func outcomes(paths ...string) []string {
	var out []string
	for f, err := range LoadFrom(context.Background(), files.Disk{}, paths...) {
		if err != nil {
			out = append(out, "error: "+err.Error())
			continue
		}
		out = append(out, f.Node+" "+f.Source)
	}
	return out
}

// snapshots lays down one of each form.
func snapshots(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	_, archive := recorded(t, wholeHost(t))
	put := func(name string, content []byte) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a.json", asJSON(t, wholeNode("host1", 1)))
	put("b.txtar", archive)
	put("broken.json", []byte(`{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts","node":"host9","nics":[{"na`))
	put("cut.txtar", archive[:len(archive)/2])
	put("d/sys/class/net/lo", []byte("x"))
	put("notes.md", []byte("# not asked for\n"))
	put("plan.json", []byte(`{"apiVersion":"railwright.dev/v1alpha1","kind":"Plan","mtu":9000}`))
	put("run1/facts/host2.json", asJSON(t, wholeNode("host2", 2)))
	put("run1/facts/host3.json", asJSON(t, wholeNode("host1", 1)))
	put("run1/plan.json", []byte("not read"))
	put("unknown.json", []byte(`{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts","node":"host8","flux":1}`))
	return root
}

// TestLoadFolder: one broken file hides no other.
func TestLoadFolder(t *testing.T) {
	root := snapshots(t)
	want := []string{
		"host1 recorded",
		"fake recorded",
		`error: snapshot "ROOT/broken.json": facts: cut after 82 bytes: unexpected EOF`,
		`error: snapshot "ROOT/cut.txtar": recording is cut: its end entry is missing or incomplete`,
		"d tree",
		`error: snapshot "ROOT/plan.json": is "Plan" in version "railwright.dev/v1alpha1", want Facts in "railwright.dev/v1alpha1"`,
		"host2 recorded",
		`error: snapshot "ROOT/run1/facts/host3.json": node "host1": duplicate, first in "ROOT/a.json"`,
		`error: snapshot "ROOT/unknown.json": facts: json: unknown field "flux"`,
	}
	got := outcomes(root)
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], root, "ROOT")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLoadTimes: a recording knows when it was made, and nobody knows when a tree was captured.
func TestLoadTimes(t *testing.T) {
	root := snapshots(t)
	for path, want := range map[string]string{"b.txtar": "2025-01-02T02:04:05Z", "d": "", "a.json": "2026-03-01T10:00:00Z"} {
		t.Run(path, func(t *testing.T) {
			for f, err := range LoadFrom(context.Background(), files.Disk{}, root+"/"+path) {
				if err != nil || f.Collected != want {
					t.Errorf("%s: collected %q, want %q; %v", path, f.Collected, want, err)
				}
			}
		})
	}
}

func TestLoadOne(t *testing.T) {
	root := snapshots(t)
	t.Chdir(filepath.Join(root, "d"))
	for path, want := range map[string]string{
		"a.json": "host1 recorded", "b.txtar": "fake recorded", "d": "d tree", "d/.": "d tree", "run1": "host2 recorded|host1 recorded", "run1/facts": "host2 recorded|host1 recorded",
		"notes.md": `error: snapshot "ROOT/notes.md": is neither facts (JSON), nor a recording (txtar), nor a captured tree (a folder with sys/), nor a support bundle (tar.gz), nor a run folder (with facts/), nor a text with the output of tools`,
		"none":     `error: snapshot "ROOT/none": no such file or directory`,
		"d/sys":    `error: snapshot "ROOT/d/sys/class/net": no facts in this folder: no *.json, no *.txtar, no folder with sys/ or facts/`,
	} {
		t.Run(path, func(t *testing.T) {
			got := strings.ReplaceAll(strings.Join(outcomes(root+"/"+path), "|"), root, "ROOT")
			if got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		})
	}
	if got := outcomes("."); len(got) != 1 || got[0] != "d tree" {
		t.Errorf("the folder in which we are: %v", got)
	}
	if got := outcomes(root+"/a.json", root+"/b.txtar"); len(got) != 2 {
		t.Errorf("two paths: %v", got)
	}
}

func TestLoadBadFolders(t *testing.T) {
	root := t.TempDir()
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	deep := filepath.Join(root, "deep", strings.Repeat("x/", 12))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "tree", "sys"), 0o755); err != nil {
		t.Fatal(err)
	}
	link("class", "tree/sys/class") // leads to itself
	link("..", "up")
	link("loop.json", "loop.json")
	link("gone.txtar", "gone.json")
	if err := unix.Mkfifo(filepath.Join(root, "pipe.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "void.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"more than 8 folders deep", "no such file", "too many levels of symbolic links", "neither a file nor a folder", "tree tree", "is a link to a folder, which is not followed", "the file is empty; a snapshot is facts (JSON)"}
	done := make(chan []string)
	go func() { done <- outcomes(root) }()
	select {
	case got := <-done:
		if len(got) != len(want) {
			t.Fatalf("%d outcomes: %q", len(got), got)
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("%q, want %q", got[i], want[i])
			}
		}
	case <-time.After(30 * time.Second):
		t.Fatal("not done in 30 s")
	}
}

func TestLoadStops(t *testing.T) {
	root := snapshots(t)
	n := 0
	for _, err := range LoadFrom(context.Background(), files.Disk{}, root, root) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d after the first", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var last error
	for f, err := range LoadFrom(ctx, files.Disk{}, root, root) {
		if n++; f != nil {
			t.Error("facts after the end of the context")
		}
		last = err
	}
	if n != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d outcomes, %v", n, last)
	}
}

func TestParseFacts(t *testing.T) {
	whole := asJSON(t, wholeNode("host1", 1))
	f, err := newDecoder().parse(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(whole), string(asJSON(t, f))); diff != "" {
		t.Errorf("facts (-saved +loaded):\n%s", diff)
	}
	for name, tt := range map[string]struct{ in, err string }{
		"two":          {string(whole) + string(whole), "more behind them"},
		"no node":      {`{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts"}`, "without a node"},
		"version":      {`{"apiVersion":"railwright.dev/v2","kind":"Facts","new":1}`, `in version "railwright.dev/v2", want Facts in`},
		"not JSON":     {`{kind: Facts}`, "invalid character"},
		"another type": {`{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts","node":7}`, "cannot unmarshal number"},
		"too large":    {strings.Repeat(" ", maxFactsFile+1), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := newDecoder().parse([]byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %s", name, err, tt.err)
			}
		})
	}
}

func FuzzParseFacts(f *testing.F) {
	f.Add(asJSON(f, wholeNode("host1", 1)))
	f.Add([]byte(`{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts","node":"a","routes":[{"destination":"x"}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		facts, err := newDecoder().parse(text)
		if err != nil {
			return
		}
		if facts.Node == "" || len(Diff(facts, facts, true)) > 0 {
			t.Errorf("facts that are no one's, or that differ from themselves: %+v", facts)
		}
		diffBoth(t, facts, wholeNode("host1", 1), true)
	})
}
