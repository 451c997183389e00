package results

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// faultLine is a line as a program prints it, and the least that it must be.
type faultLine struct {
	program, text string
	level         fabric.LineLevel
}

// faultLines reads testdata/faults/lines.tsv.
func faultLines(t *testing.T) (all []faultLine) {
	t.Helper()
	content, err := os.ReadFile("testdata/faults/lines.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(content)) {
		if strings.HasPrefix(row, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(row), "\t")
		text, err := strconv.Unquote(fields[2])
		if err != nil {
			t.Fatalf("%q: %v", row, err)
		}
		all = append(all, faultLine{fields[1], text, fabric.LineLevel(fields[0])})
	}
	return all
}

// Wherever a fault line stands beside a table, also in the middle of its rows, it is kept with its level.
func TestFaultLinesAreKept(t *testing.T) {
	table := string(text(t, "nccl_tag_output.txt")) + "\n"
	rows := strings.SplitAfter(table, "\n")
	middle := len(rows) - 4
	places := map[string]func(string) string{
		"after":  func(fault string) string { return table + fault + "\n" },
		"before": func(fault string) string { return fault + "\n" + table },
		"inside": func(fault string) string {
			return strings.Join(rows[:middle], "") + fault + "\n" + strings.Join(rows[middle:], "")
		},
		"alone":            func(fault string) string { return fault },
		"launcher":         func(fault string) string { return table + "[1,3]<stderr>:" + fault + "\n" },
		"kubectl":          func(fault string) string { return table + "[pod/nccl-worker-0/nccl] " + fault + "\n" },
		"after a brace":    func(fault string) string { return table + "{\n" + fault + "\n" },
		"inside an object": func(fault string) string { return table + "{\n\"event\": 1,\n" + fault + "\n" },
		"windows":          func(fault string) string { return strings.ReplaceAll(table+fault+"\n", "\n", "\r\n") },
	}
	for _, fault := range faultLines(t) {
		for place, with := range places {
			t.Run(fault.program+", "+place, func(t *testing.T) {
				found, err := Read("x", strings.NewReader(with(fault.text)))
				if err != nil {
					t.Fatal(err)
				}
				worst := fabric.LineLevel("")
				for _, r := range found {
					if log := logOf(r); log != nil {
						for _, l := range log.Lines {
							worst = worse(worst, l.Level)
						}
					}
					if p := perftestOf(r); p != nil && len(p.Errors) > 0 {
						worst = fabric.LineError
					}
				}
				if worse(worst, fault.level) != worst {
					t.Errorf("%q is %q, want at least %q", fault.text, worst, fault.level)
				}
			})
		}
	}
}

func worse(a, b fabric.LineLevel) fabric.LineLevel {
	order := map[fabric.LineLevel]int{"": 0, fabric.LineSuspect: 1, fabric.LineWarning: 2, fabric.LineError: 3}
	if order[b] > order[a] {
		return b
	}
	return a
}

// What everyday output says is no fault: counters at zero, legends, headers, settings that name a timeout.
func TestEverydayLines(t *testing.T) {
	for _, line := range []string{
		"rx_crc_errors_phy: 0",
		"     rx_out_of_buffer: 0",
		"port_rcv_errors 0",
		"symbol_error: 0x0",
		"errors: none",
		"finished without errors",
		"no errors found",
		"0 errors, 0 warnings",
		"zero RX/TX errors on either interface",
		"rate limits: 512 requests, 0 failed",
		"# Errors with asterisks indicate errors that have exceeded the maximum threshold.",
		"+ timeout 600 mpirun -np 16 -x NCCL_IB_TIMEOUT=22 --mca orte_abort_on_non_zero_status 1 ./all_reduce_perf -b 8 -e 8G",
		"Warning: Permanently added 'node1' (ED25519) to the list of known hosts.",
		"WARNING: There was an error initializing an OpenFabrics device.",
		"[node1:01234] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all help / error messages",
		"[1700000000.1] [node1:1234 :0] parser.c:2036 UCX  WARN  unused environment variable: UCX_FOO",
		"[ 9.3] nvidia: module verification failed: signature and/or required key missing - tainting kernel",
		"libibverbs: Warning: couldn't load driver 'libsiw-rdmav34.so': libsiw-rdmav34.so: cannot open shared object file: No such file or directory",
		"ERROR: ld.so: object '/x.so' from LD_PRELOAD cannot be preloaded (cannot open shared object file): ignored.",
		"PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168",
		"perl: warning: Setting locale failed.",
		"Kernel command line: BOOT_IMAGE=/vmlinuz ro panic=10",
		"EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
		"[    1.2] mlx5_core 0000:3b:00.0: firmware version: 28.39.1002",
		"[    1.2] mlx5_core 0000:3b:00.0: 252.048 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
		"[    1.2] mlx5_core 0000:3b:00.0 eth2: Link up",
		"[    1.2] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15",
		"[    1.2] bnxt_en 0000:19:00.0 eth0: Broadcom BCM57608 NetXtreme-E found at mem 0, node addr 00:00:00:00:00:00",
		"iteration 100/500000 | lm loss: 2.34E+00 | grad norm: 0.234 | number of skipped iterations: 0",
		"#       size         count      type   redop    root     time   algbw   busbw  error     time   algbw   busbw  error",
	} {
		t.Run(line, func(t *testing.T) {
			if level := faultLevel(line); level != "" && !strings.HasPrefix(line, "#  ") {
				t.Errorf("%q", level)
			}
		})
	}
}

// A message of everyday hides nothing that stands on the line beside it.
func TestFaultBesideAnEverydayMessage(t *testing.T) {
	for _, line := range []string{
		`Setting locale failed: the job was killed by signal 9`,
		`EXT4-fs (sda1): errors=remount-ro; NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.`,
		`WARNING: There was an error initializing an OpenFabrics device. Segmentation fault (core dumped)`,
		`libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': libmlx5-rdmav34.so: cannot open shared object file: No such file or directory`,
		`failed to get network addresses of node2: timed out`,
		`unused environment variable, then fatal error`,
	} {
		t.Run(line, func(t *testing.T) {
			if faultLevel(line) == "" {
				t.Error("it is no fault")
			}
		})
	}
}

// A table of an old version, whose header has a column of errors, has no log beside it.
func TestColumnOfErrors(t *testing.T) {
	for _, r := range readFile(t, "testdata/nccl_error_column.txt") {
		if logOf(r) != nil {
			t.Errorf("%+v", logOf(r).Lines)
		}
	}
}

// Faults have room of their own: no number of other lines pushes them out, and no number of warnings an error.
func TestFaultsAreNotPushedOut(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "n%d:1:2 [0] NCCL INFO Using network IB\n", i)
		fmt.Fprintf(&b, "n%d:1:2 [0] a.cc:1 NCCL WARN quux %d\n", i, i)
	}
	b.WriteString("n0:1:2 [0] NCCL INFO enqueue.cc:123 -> 3\n")
	found, err := Read("x", strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	log := logOf(found[0])
	if last := log.Lines[len(log.Lines)-1]; last.Level != fabric.LineError || !log.Cut {
		t.Errorf("%+v, cut %v", last, log.Cut)
	}
	if len(log.Lines) > maxLogSaid+2*maxLogFaults {
		t.Errorf("%d lines are kept", len(log.Lines))
	}
}

// A line of a shape that was judged before has the level that the forms give it.
func TestJudgedForms(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	judged := judgedForms{}
	for _, fault := range faultLines(t) {
		for range 20 {
			text := []byte(fault.text)
			for i, c := range text {
				if isDigit(c) && c != '0' && (i == 0 || !isLetter(text[i-1])) && (i == 0 || text[i-1] != '0') {
					text[i] = byte('1' + random.IntN(9))
				}
			}
			if got, want := judged.level(string(text)), formLevel(string(text), false); got != want {
				t.Errorf("%q is %q, want %q", text, got, want)
			}
		}
	}
	for _, tt := range []struct{ a, b string }{{"exit code 1", "exit code 0"}, {"mlx5_core error", "mlx9_core error"}, {"errors: 10", "errors: 00"}} {
		if string(shape(tt.a)) == string(shape(tt.b)) {
			t.Errorf("%q and %q have one shape", tt.a, tt.b)
		}
	}
	if len(judged) > mostShapes {
		t.Errorf("%d shapes are kept", len(judged))
	}
}
