package messages

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var unknown = flag.Bool("unknown", false, "list every format that the catalogue does not know")

// formatsFolder has the formats that were read from the sources of programs.
const formatsFolder = "../../../shared/data/messages"

func allFormats(t *testing.T) (all []Format) {
	t.Helper()
	files, err := filepath.Glob(formatsFolder + "/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip(formatsFolder + " is not there: the formats of programs are kept beside the checkout")
	}
	for _, name := range files {
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		formats, err := ReadFormats(in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		all = append(all, formats...)
	}
	return all
}

// leastCoverage is which share of the formats of a source and level must be known. Of NCCL and RCCL the requirement; of the
// others what is reached: an entry that is lost fails.
var leastCoverage = map[string]float64{
	"nccl WARN": 0.98,
	"rccl WARN": 0.98,
}

func TestCoverage(t *testing.T) {
	formats := allFormats(t)
	c := catalogue(t)
	t.Logf("%-14s %-14s %6s %6s", "source", "level", "known", "of")
	for _, one := range c.Coverage(formats) {
		share := float64(one.Known) / float64(one.Total)
		t.Logf("%-14s %-14s %6d %6d  %5.1f %%", one.Source, one.Level, one.Known, one.Total, 100*share)
		if *unknown {
			for _, f := range one.Unknown {
				t.Logf("    %s:%d %s %q", f.File, f.Line, f.Level, f.Text)
			}
		}
		written := slices.ContainsFunc(c.All(), func(m Message) bool { return m.Program == one.Source })
		if least := leastCoverage[one.Source+" "+one.Level]; written && share < least {
			t.Errorf("%s %s: %.1f %% are known, want %.1f %%; -unknown lists the others", one.Source, one.Level, 100*share, 100*least)
		}
	}
}

// wide are messages that many calls print by design, with the reason.
var wide = map[string]string{}

// A message that claims the formats of many calls says too little of each.
func TestNoMessageIsWide(t *testing.T) {
	const most = 40 // calls of one source
	c := catalogue(t)
	calls := map[string]int{}
	for _, f := range allFormats(t) {
		if m, known := c.Find(f.Printed()); known {
			calls[m.ID+" of "+f.Source]++
		}
	}
	for _, m := range c.All() {
		for _, source := range []string{"nccl", "rccl", "aws-ofi-nccl", "perftest"} {
			if n := calls[m.ID+" of "+source]; n > most && wide[m.ID] == "" {
				t.Errorf("%s claims the formats of %d calls of %s", m.ID, n, source)
			}
		}
	}
}

// Lines in which several messages share words are the most specific one.
func TestLinesAreTheirMessages(t *testing.T) {
	c := catalogue(t)
	text, err := os.ReadFile("testdata/lines.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		id, printed, ok := strings.Cut(strings.TrimSpace(line), "\t")
		program, _, _ := strings.Cut(id, "/")
		if !ok || !slices.ContainsFunc(c.All(), func(m Message) bool { return m.Program == program }) {
			continue
		}
		if m, known := c.Find(printed); !known || m.ID != id {
			t.Errorf("%q is %+v, want %s", printed, m, id)
		}
	}
}
