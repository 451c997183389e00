package results

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestLauncherPrefix(t *testing.T) {
	for _, c := range []struct{ text, source, rest string }{
		{"[1,0]<stdout>:# nThread 1", "1,0", "# nThread 1"},
		{"[prterun-host-12@1,3]<stderr>: text", "prterun-host-12@1,3", " text"},
		{"Mon Aug  4 10:11:12 2025[1,2]<stdout>:text", "1,2", "text"},
		{"[rank3]: text", "rank3", "text"},
		{"[pod/nccl-worker-0/nccl] text", "pod/nccl-worker-0/nccl", "text"},
		{"[2026-07-20 04:24:08] text", "", "text"},
		{"2026-07-20T04:24:08.123456789Z text", "", "text"},
		{" 3: text", "3", "text"},
		{"worker-0: text", "worker-0", "text"},
		{"2026-07-20T04:24:08.123456789Z worker-0: [1,0]<stdout>:text", "1,0", "text"},
		{"rccl-tests: Version develop:990f88c", "", "rccl-tests: Version develop:990f88c"},
		{"     1048576  262144  float", "", "     1048576  262144  float"},
		{"[0] NCCL INFO Bootstrap", "", "[0] NCCL INFO Bootstrap"},
		{" Mtu             : 4096[B]", "", " Mtu             : 4096[B]"},
		{"worker-0: ", "", "worker-0: "},
	} {
		t.Run(c.text, func(t *testing.T) {
			l := line{raw: c.text}
			newLineSource(nil).prefixes(&l)
			if l.source != c.source || l.text != c.rest {
				t.Errorf("%q is %q of %q, want %q of %q", c.text, l.text, l.source, c.rest, c.source)
			}
		})
	}
}

func TestParseLogEntry(t *testing.T) {
	hosts := map[string]bool{}
	for _, c := range []struct{ text, before, host, level, message string }{
		{"2e3f-node:1:2 [0] NCCL INFO one", "", "2e3f-node", "INFO", "one"},
		{"    16.34    0.00    0.00       02e3f-node:1:2 [0] NCCL INFO two", "    16.34    0.00    0.00       0", "2e3f-node", "INFO", "two"},
		{"    sum      -1gpu7:1:2 [0] NCCL INFO three", "    sum      -1", "gpu7", "INFO", "three"},
		{"a:1:2 [0] transport/net_ib.cc:1295 NCCL WARN four", "", "a", "WARN", "four"},
		{"NCCL INFO five", "", "", "INFO", "five"},
		{"node [0] NCCL INFO six", "", "", "INFO", "six"},
		{"NCCL version is no level NCCL INFO seven", "", "", "INFO", "seven"},
	} {
		t.Run(c.text, func(t *testing.T) {
			before, e, ok := parseLogEntry(c.text, hosts)
			if !ok || before != c.before || e.host != c.host || e.level != c.level || e.message != c.message {
				t.Errorf("%q: %q, %+v, want %+v", c.text, before, e, c)
			}
		})
	}
	if _, _, ok := parseLogEntry("NCCL version 2.28.9+cuda13.0", hosts); ok {
		t.Error("the version alone is taken for a log line")
	}
}

func TestFetchIsBounded(t *testing.T) {
	s := newLineSource(strings.NewReader(strings.Repeat("x", 3*maxLine) + "\nnext\n"))
	first, err := s.next()
	if err != nil || len(first.text) != maxLine || !first.cut {
		t.Errorf("%d bytes, cut %v, %v; want %d, cut", len(first.text), first.cut, err, maxLine)
	}
	if second, err := s.next(); err != nil || second.text != "next" || second.number != 2 || second.cut {
		t.Errorf("the next line is %+v, %v", second, err)
	}
}

// TestNoJSON: what begins like an object and is none does not swallow what follows.
func TestNoJSON(t *testing.T) {
	found, err := Read("x", strings.NewReader("{\n\"a\": [\n# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n"+string(text(t, "nccl_paste.txt"))))
	if err != nil || len(found) != 1 || len(tableOf(found[0]).Rows) != 2 {
		t.Errorf("%v, %+v", err, found)
	}
}

func readLog(t *testing.T, b *budget, text string) *fabric.NCCLLog {
	t.Helper()
	r := newNCCLLog(b)
	s := newLineSource(strings.NewReader(text))
	for l, err := s.next(); err == nil; l, err = s.next() {
		r.read(l)
	}
	found := r.results()
	if len(found) != 1 {
		t.Fatalf("%d logs, want 1", len(found))
	}
	return logOf(found[0])
}

// TestSmallerCommunicator: of the log of one host, the ranks of a part of the job are not those of the job.
func TestSmallerCommunicator(t *testing.T) {
	log := readLog(t, newBudget(), `b:1:1 [0] NCCL INFO comm 0x1 rank 2 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x9a - Init COMPLETE
b:1:1 [0] NCCL INFO comm 0x2 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x9b - Init COMPLETE
`)
	if log.Ranks != 4 || len(log.GPUs) != 1 || log.GPUs[0].Rank != 2 {
		t.Errorf("%d ranks, GPUs %+v; want 4, and rank 2", log.Ranks, log.GPUs)
	}
}

// TestLogBudget: when what is kept of logs is spent the log says that it is cut.
func TestLogBudget(t *testing.T) {
	b := newBudget()
	b.faults = 5
	log := readLog(t, b, strings.Repeat("a:1:1 [0] NCCL WARN the same\n", 50)+warnings(50))
	if n := len(log.Lines); !log.Cut || n < 2 || n > 5 {
		t.Errorf("%d lines are kept, cut %v; want up to 5, and cut", n, log.Cut)
	}
	if log := readLog(t, newBudget(), warnings(2*maxLogFaults)); !log.Cut || len(log.Lines) != maxLogFaults {
		t.Errorf("%d lines are kept, cut %v; want %d, and cut", len(log.Lines), log.Cut, maxLogFaults)
	}
}

func warnings(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a:1:1 [0] NCCL WARN quux %d\n", i)
	}
	return b.String()
}
