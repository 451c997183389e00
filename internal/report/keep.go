package report

import (
	"io"

	"railwright.dev/railwright/internal/fabric"
)

// Keeper keeps of a stream of findings what Text shows of them: of each group of those that failed or are
// unknown all subjects, and the first members whole; so that the findings of 16,384 nodes never stand in
// memory together.
type Keeper struct {
	o                               TextOptions
	failed, unknown, passed, scoped grouping
	waived                          []fabric.Finding
}

// keptWhole is how many members of a group are kept: more than Text shows evidence of.
const keptWhole = 64

// NewKeeper begins a collection for a text with these options.
func NewKeeper(o TextOptions) *Keeper {
	k := &Keeper{o: o}
	for _, g := range []*grouping{&k.failed, &k.unknown, &k.passed, &k.scoped} {
		g.limit = keptWhole
	}
	return k
}

// Add takes a finding in.
func (k *Keeper) Add(f fabric.Finding) {
	switch {
	case f.Waived:
		k.waived = append(k.waived, f)
	case f.Status == fabric.Fail:
		k.failed.add(f)
	case f.Status == fabric.Pass:
		if k.o.Verbose {
			k.passed.add(f)
		}
	case f.Status == fabric.NotApplicable:
		if k.o.Verbose {
			k.scoped.add(f)
		}
	default:
		k.unknown.add(f)
	}
}

// Text writes what was kept, under the summary of all that came.
func (k *Keeper) Text(w io.Writer, s fabric.Summary) error {
	p := newPrinter(k.o)
	p.failed(k.failed.worstFirst(), s)
	p.unknown(k.unknown.worstFirst(), s)
	if waived := waivedGaps(k.waived); len(waived) > 0 {
		p.heading("Waived")
		p.gapList(waived)
	}
	p.verboseGroups(k.passed.worstFirst(), k.scoped.worstFirst())
	p.blank()
	p.line(counts(s))
	p.verdict(s.Status())
	return p.writeTo(w)
}
