package results

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines that are read ahead are those that are read one by one, with what they refer to, however they lie in the batches.
func TestAhead(t *testing.T) {
	for _, count := range []int{0, 1, batchLines - 1, batchLines, batchLines + 1, batches*batchLines + 7} {
		var text strings.Builder
		for i := range count {
			fmt.Fprintf(&text, "node%d:%d:%d [%d] NCCL INFO Channel %d\nnode%d: step %d failed\n", i%7, i, i, i%8, i, i%5, i)
		}
		var want []string
		say := func(l line) string {
			if l.log != nil {
				return fmt.Sprint(l.number, l.text, *l.log)
			}
			return fmt.Sprint(l.number, l.text, l.host, l.depth)
		}
		src := newLineSource(strings.NewReader(text.String()))
		for {
			l, err := src.next()
			if err != nil {
				break
			}
			want = append(want, say(l))
		}
		at := 0
		err := readAhead(newLineSource(strings.NewReader(text.String())), ownSigns()).each(func(l line) {
			if at >= len(want) || say(l) != want[at] {
				t.Errorf("line %d of %d is %s", at, len(want), say(l))
			}
			at++
		})
		if at != len(want) || !errors.Is(err, io.EOF) {
			t.Errorf("%d lines of %d, then %v", at, len(want), err)
		}
	}
}

// Of long lines few are in memory at once.
func TestAheadOfLongLines(t *testing.T) {
	b := &batch{}
	b.fill(newLineSource(strings.NewReader(strings.Repeat(strings.Repeat("x", maxLine)+"\n", 9))), ownSigns())
	if b.count != 1 || len(b.lines[0].raw) != maxLine {
		t.Errorf("a batch has %d lines of %d bytes", b.count, len(b.lines[0].raw))
	}
}

// An error of the file comes behind its lines, and a panic where the lines are wanted.
func TestAheadEnds(t *testing.T) {
	fault, lines := errors.New("the disk is gone"), 0
	err := readAhead(newLineSource(io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(fault))), ownSigns()).each(func(line) { lines++ })
	if lines != 2 || !errors.Is(err, fault) {
		t.Errorf("%d lines, then %v", lines, err)
	}
	defer func() {
		if what := recover(); what == nil || !strings.Contains(fmt.Sprint(what), "nil pointer") {
			t.Errorf("the panic is %v", what)
		}
	}()
	_ = readAhead(newLineSource(nil), ownSigns()).each(func(line) {})
}

// What readers ask for is found by its texts: no sign stands for every line.
func TestSigns(t *testing.T) {
	in := ownSigns().set.In("")
	for s := range signs {
		if l := (line{seen: &seen{signs: ownSigns(), members: in}}); l.may(s) {
			t.Errorf("sign %d is in every line", s)
		}
	}
}
