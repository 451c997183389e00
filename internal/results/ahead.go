package results

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// ahead reads lines before they are wanted, and finds in them what does not depend on the lines before: a second processor does
// it while the first asks the readers. Lines come in their order, in batches of which there are few.
type ahead struct {
	full  chan *batch
	empty chan *batch
}

// batch is lines with what they refer to, which is valid until the next batch.
type batch struct {
	lines   [batchLines]line
	entries [batchLines]logEntry
	seen    [batchLines]seen
	count   int
	end     error // what came behind the last line; nil: more lines
	fault   error // a panic, with its stack
}

const (
	batchLines = 128 // some 20 KB of text: few enough to stay in a cache, many enough that handing them over is no cost
	batches    = 3   // one that is filled, one that is read, one between them
)

func readAhead(src *lineSource, signs *Signs) *ahead {
	a := &ahead{full: make(chan *batch, batches), empty: make(chan *batch, batches)}
	for range batches {
		a.empty <- &batch{}
	}
	go a.fill(src, signs)
	return a
}

// fill fills batches up to the end of the lines. A panic is handed on to who reads them.
func (a *ahead) fill(src *lineSource, signs *Signs) {
	for b := range a.empty {
		b.fill(src, signs)
		a.full <- b
		if b.end != nil || b.fault != nil {
			return
		}
	}
}

func (b *batch) fill(src *lineSource, signs *Signs) {
	defer func() {
		if what := recover(); what != nil {
			b.fault = fmt.Errorf("%v\n%s", what, debug.Stack())
		}
	}()
	b.count = 0
	for size := 0; b.count < batchLines && size < blockSize; b.count++ { // lines may be long, and no more than a few are kept
		src.entry = &b.entries[b.count]
		l, err := src.next()
		if err != nil {
			b.end = err
			return
		}
		if l.log == nil {
			b.seen[b.count] = look(l, signs)
			l.seen = &b.seen[b.count]
		}
		b.lines[b.count] = l
		size += len(l.raw)
	}
}

// look finds in a line what the readers ask for.
func look(l line, signs *Signs) seen {
	text := strings.TrimSpace(l.text)
	return seen{signs: signs, members: signs.set.In(l.raw), text: text, message: knownIn(text)}
}

// each calls a function with each line, and returns what came behind the last.
func (a *ahead) each(take func(line)) error {
	for b := range a.full {
		if b.fault != nil {
			panic(b.fault)
		}
		for i := range b.count {
			take(b.lines[i])
		}
		if b.end != nil {
			return b.end
		}
		a.empty <- b
	}
	return nil
}
