package messages

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

var unknown = flag.Bool("unknown", false, "list every format that the catalogue does not know")

// formatsFolder has the formats that were read from the sources of programs.
const formatsFolder = "../../../shared/data/messages"

func allFormats(t *testing.T) []Format {
	t.Helper()
	all, err := ReadFormats(formatsFolder)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the formats of programs are kept beside the checkout: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCoverage(t *testing.T) {
	formats := allFormats(t)
	c := catalogue(t)
	t.Logf("%-14s %-14s %6s %6s", "source", "level", "known", "of")
	for _, one := range c.Coverage(formats) {
		t.Logf("%-14s %-14s %6d %6d  %5.1f %%", one.Source, one.Level, one.Known, one.Total, 100*one.Share())
		if *unknown {
			for _, f := range one.Unknown {
				t.Logf("    %s:%d %s %q", f.File, f.Line, f.Level, f.Text)
			}
		}
		written := slices.ContainsFunc(c.All(), func(m Message) bool { return m.Program == one.Source })
		if share, least := one.Share(), one.Least(); written && share < least {
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
