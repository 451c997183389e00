package messages

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Lines of the collective libraries and of perftest in the wording of several versions. Each is found alone, as in a
// traceback of a framework, and behind the prefix of a log; of several entries that match the one with the reason wins.
func TestCollectiveLines(t *testing.T) {
	text, err := os.ReadFile("testdata/collective_lines.tsv")
	if err != nil {
		t.Fatal(err)
	}
	c := catalogue(t)
	tested := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		id, said, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("%q has no tab", line)
		}
		tested++
		for _, prefix := range logPrefixes(said) {
			m, known := c.Find(prefix + said)
			switch {
			case !known:
				t.Errorf("%q is unknown, want %s", prefix+said, id)
			case m.ID != id:
				t.Errorf("%q is %s, want %s", prefix+said, m.ID, id)
			}
		}
	}
	if tested == 0 {
		t.Fatal("no lines")
	}
}

// logPrefixes are what may stand before a line.
func logPrefixes(said string) []string {
	if strings.HasPrefix(said, "NCCL INFO ") {
		return []string{"", "node1:1234:1250 [3] ", "[1,3]<stdout>:node1:1234:1250 [3] "}
	}
	return []string{"", "node1:1234:1250 [3] transport/file.cc:1 NCCL WARN ", "(Worker pid=1, ip=10.0.0.1) node1:1:2 [0] NCCL WARN "}
}

// What a program prints is its own message, whatever other programs say in part of the same words. RCCL is built on NCCL.
func TestFormatsAreOfTheirProgram(t *testing.T) {
	c := catalogue(t)
	own := map[string][]string{"nccl": {"nccl"}, "rccl": {"rccl", "nccl"}, "aws-ofi-nccl": {"aws-ofi-nccl"}, "perftest": {"perftest"}}
	for _, f := range allFormats(t) {
		if m, known := c.Find(f.Printed()); known && !slices.Contains(own[f.Source], m.Program) {
			t.Errorf("%q of %s is %s", f.Text, f.Source, m.ID)
		}
	}
}
