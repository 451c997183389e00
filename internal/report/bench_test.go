package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func benchSample() *fabric.Bench {
	link := fabric.Link{A: fabric.Endpoint{Node: "spark1", NIC: "enp1s0f1np1"}, B: fabric.Endpoint{Node: "spark2", NIC: "enp1s0f1np1"}}
	test := func(kind fabric.BenchKind, title string, v fabric.BenchVerdict) fabric.BenchResult {
		return fabric.BenchResult{BenchTest: fabric.BenchTest{ID: string(kind), Kind: kind, Title: title, Links: []fabric.Link{link}}, Verdict: v}
	}
	return &fabric.Bench{Cluster: "spark-pair", Summary: fabric.Summary{Pass: 1, Fail: 1, Unknown: 2}, Tests: []fabric.BenchResult{
		test(fabric.TwinBandwidth, "write bandwidth of one twin alone, spark1:enp1s0f1np1 to spark2:enp1s0f1np1",
			fabric.BenchVerdict{Status: fabric.Pass, Measured: "111.71 Gb/s at path MTU 4096", Expected: "98.4 to 115.2 Gb/s", Evidence: []fabric.Evidence{{Source: "link", Value: "x4"}}}),
		test(fabric.GatherAll, "all-gather over 2 machines", fabric.BenchVerdict{Why: "mpirun is not installed on spark1\x1b[31m"}),
		test(fabric.LibraryFits, "the NCCL that is loaded", fabric.BenchVerdict{Why: "mpirun is not installed on spark1\x1b[31m"}),
		test(fabric.PortBandwidth, "write bandwidth of both twins at once, spark1:port1 to spark2:port1",
			fabric.BenchVerdict{Status: fabric.Fail, Cause: fabric.CauseNICDegradedInit, Measured: "13.34 Gb/s (6.67 + 6.67) at path MTU 4096", Expected: "184.0 to 196.1 Gb/s", Why: "it came up degraded", Fix: "restart",
				Evidence: []fabric.Evidence{{Source: "link", Value: "x4"}}}),
	}}
}

func TestBenchText(t *testing.T) {
	var b strings.Builder
	if err := BenchText(&b, benchSample(), "runs/x", TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "bench.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("have\n%s\nwant\n%s", b.String(), want)
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("a control character of an output reaches the terminal")
	}
}

// A shell reads a printed command as exactly the words that are run.
func TestBenchCommands(t *testing.T) {
	argv := []string{"show", "--mca", "plm_rsh_args", "-o BatchMode=yes", "-x", "NCCL_IB_HCA==rocep1s0f1,roceP2p1s0f1", "a=$HOME", "=x", "NCCL version [0-9.]+|x"}
	c := fabric.BenchCommand{Node: "spark1", Env: []string{"LD_LIBRARY_PATH=/opt/a b"}, Argv: argv}
	for _, shell := range []string{"sh", "bash"} {
		script := `show() { printf '%s\n' "$LD_LIBRARY_PATH" "$@"; }; ` + shellLine(c)
		out, err := exec.Command(shell, "-c", script).Output()
		if err != nil {
			t.Fatal(err)
		}
		if have, want := string(out), strings.Join(append([]string{"/opt/a b"}, argv[1:]...), "\n")+"\n"; have != want {
			t.Errorf("%s: have %q, want %q", shell, have, want)
		}
	}
	if !strings.Contains(shellLine(c), "-x NCCL_IB_HCA==rocep1s0f1,roceP2p1s0f1 ") {
		t.Errorf("hard to read: %s", shellLine(c))
	}
}
