package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// measuredTable is a slow all_reduce of two nodes, as nccl-tests prints it.
const measuredTable = `#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   268435456      67108864     float     sum      -1   3230.0   83.11  155.82      0   3228.1   83.16  155.92      0
  1073741824     268435456     float     sum      -1  12930.0   83.04  155.71      0  12935.0   83.01  155.64      0
# Avg bus bandwidth    : 155.73
`

const testRecording = "../check/testdata/recordings/roce.txtar"

// writers are commands with a flag that names a file to write.
func writers() map[string]struct{ args, flag string } {
	return map[string]struct{ args, flag string }{
		"predict":   {"predict --machine hgx-h100 --nodes 2 --sizes 1G", "html"},
		"explain":   {"explain - --machine hgx-h100 --nodes 2", "html"},
		"size":      {"size qwen3-0-6b --nodes 1", "html"},
		"check":     {"check --snapshot " + testRecording, "html"},
		"topo show": {"topo show --machine hgx-h100", "svg"},
		"collect":   {"collect", "raw"},
	}
}

// slow finds the lines that say what a command waits for on a loaded machine.
var slow = regexp.MustCompile(`(?m)^railwright .*\(\d+ s so far\)\n`)

// A file that cannot be written does not cost the answer, and is named with its flag. A recording is the answer itself.
func TestOutputFileThatCannotBeWritten(t *testing.T) {
	folder := t.TempDir()
	for name, c := range writers() {
		for _, format := range []string{"text", "json"} {
			for target, want := range map[string]string{
				folder:                              "is a directory",
				filepath.Join(folder, "no", "page"): `folder "` + filepath.Join(folder, "no") + `" does not exist`,
			} {
				t.Run(name+" "+format+" "+filepath.Base(target), func(t *testing.T) {
					r := call(measuredTable, append(strings.Fields(c.args), "--"+c.flag, target, "-o", format)...)
					if r.status != 64 || (r.stdout == "") != (c.flag == "raw") || slow.ReplaceAllString(r.stderr, "") != "railwright: flag --"+c.flag+`: "`+target+`": `+want+"\n" {
						t.Error(r)
					}
				})
			}
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestTopologyFileThatCannotBeWritten(t *testing.T) {
	folder := t.TempDir()
	for name, args := range map[string][]string{
		"topo nccl": {"topo", "nccl", "--machine", "hgx-h100", "--out", folder},
		"topo lint": {"topo", "lint", "../ncclxml/testdata/host.xml", "--fix", "--out", folder},
	} {
		t.Run(name, func(t *testing.T) {
			if r := call("", args...); r.status != 64 || !strings.HasSuffix(r.stderr, `flag --out: "`+folder+"\": is a directory\n") {
				t.Error(r)
			}
		})
	}
}

func TestEmptyNameOfAnOutputFile(t *testing.T) {
	tests := writers()
	tests["topo nccl"] = struct{ args, flag string }{"topo nccl --machine hgx-h100", "out"}
	tests["topo lint"] = struct{ args, flag string }{"topo lint - --fix", "out"}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			r := call(measuredTable, append(strings.Fields(c.args), "--"+c.flag, "")...)
			if r.status != 64 || r.stdout != "" || !strings.Contains(r.stderr, `flag --`+c.flag+`: "": the name of a file is needed`) {
				t.Error(r)
			}
		})
	}
}

// A command that has no JSON refuses to print any.
func TestTextOnly(t *testing.T) {
	for _, args := range []string{
		"", "lab", "topo", "init", "init --example spark-pair", "topo nccl --machine hgx-h100", "topo show --nccl --machine hgx-h100",
		"topo show --svg - --machine hgx-h100", "topo lint ../ncclxml/testdata/host.xml --fix",
	} {
		t.Run(args, func(t *testing.T) {
			if r := call("", append(strings.Fields(args), "-o", "json")...); r.status != 64 || r.stdout != "" || !strings.HasPrefix(r.stderr, "railwright: flag --") {
				t.Error(r)
			}
		})
	}
}

// An interrupt ends a command that writes to a FIFO which nobody reads.
func TestInterruptWhileNobodyReads(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Skipf("no FIFO can be made here: %v, %s", err, out)
	}
	machines := "predict --machine hgx-h100 --nodes 2"
	for _, c := range []struct{ name, args string }{
		{"a page", machines + " --html " + fifo},
		{"a drawing", "topo show --machine hgx-h100 --svg " + fifo},
		{"a recording", "collect --raw " + fifo},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, err := program.path()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(path, strings.Fields(c.args)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				t.Fatalf("ended although nobody reads: %v, %s", err, stderr.String())
			case <-time.After(1500 * time.Millisecond):
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != exitUnknown || !strings.Contains(stderr.String(), "railwright: interrupted") {
					t.Errorf("%v, %s", err, stderr.String())
				}
			case <-time.After(5 * time.Second):
				t.Error("does not end")
				if err := cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A page never replaces what is not one, such as the table that it explains.
func TestPageReplacesPagesOnly(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table.txt")
	if err := os.WriteFile(table, []byte(measuredTable), 0o644); err != nil {
		t.Fatal(err)
	}
	r := call("", "explain", table, "--machine", "hgx-h100", "--nodes", "2", "--html", table)
	if left, err := os.ReadFile(table); r.status != 64 || !strings.Contains(r.stderr, "is not a page") || err != nil || string(left) != measuredTable {
		t.Errorf("%s\n%v, %s", r, err, left)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	for range 2 {
		if r := call("", "explain", table, "--machine", "hgx-h100", "--nodes", "2", "--html", page); r.status != 1 {
			t.Error(r)
		}
	}
}
