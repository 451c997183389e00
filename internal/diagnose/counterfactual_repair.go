package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// repair is the smallest set of faults whose repair brings the measurement into the healthy band. It is undecidable
// where several sets do, and where none explains what was measured.
func (w *worlds) repair() fabric.Repair {
	healthy := w.world(0).last()
	if w.from >= healthy.low {
		return fabric.Repair{}
	}
	found := w.smallest(0)
	if len(found) == 0 {
		return fabric.Repair{Undecidable: w.unexplained()}
	}
	var repairs []set
	for _, s := range found {
		for _, r := range w.enough(s, healthy) {
			if !slices.Contains(repairs, r) {
				repairs = append(repairs, r)
			}
		}
	}
	if len(repairs) > 1 {
		var names []string
		for _, r := range repairs {
			names = append(names, w.names(r))
		}
		return fabric.Repair{Undecidable: fmt.Sprintf("each of these alone explains %s GB/s: %s", number(w.from), strings.Join(names, "; "))}
	}
	if len(repairs) == 0 {
		return fabric.Repair{Undecidable: fmt.Sprintf("%s explains %s GB/s, but the model does not say what fixing it brings", w.names(found[0]), number(w.from))}
	}
	if lacks := w.lacks(); len(lacks) > 0 && !found[0].within(w.seen) {
		return fabric.Repair{Undecidable: fmt.Sprintf("%s explains %s GB/s, and others may: the model has no %s", w.names(repairs[0]), number(w.from), strings.Join(lacks, ", no "))}
	}
	g := w.after(found[0], repairs[0])
	out := fabric.Repair{Gain: &g}
	for i, f := range w.faults {
		if repairs[0].has(i) {
			out.Causes = append(out.Causes, f.ID)
		}
	}
	return out
}

// enough returns the smallest parts of a set whose repair is predicted to lead into the healthy band.
func (w *worlds) enough(of set, healthy rate) []set {
	for size := 1; size <= of.size(); size++ {
		var found []set
		for s := range set(1 << len(w.faults)) {
			if s.within(of) && s.size() == size {
				if p := w.world(of.without(s)); p.err == nil && p.last().busbw >= healthy.low {
					found = append(found, s)
				}
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// unexplained says why no set of faults explains the measurement.
func (w *worlds) unexplained() string {
	lacks, all := w.lacks(), w.modelled()
	switch {
	case len(w.faults) == 0:
		return "no cause is known that would explain the loss"
	case len(lacks) > 0:
		return "the model has no " + strings.Join(lacks, ", no ")
	}
	r := w.world(all)
	if r.err == nil && w.from < r.last().low {
		return fmt.Sprintf("with %s still %s GB/s or more are predicted, and %s were measured; %s, and what takes the rest has no name", w.names(all), number(r.last().low), number(w.from), w.sharesText(all))
	}
	return fmt.Sprintf("no set of %s is predicted to leave the %s GB/s that were measured", w.names(all), number(w.from))
}

// sharesText says what part of the loss each fault of a set takes that is in force.
func (w *worlds) sharesText(of set) string {
	var parts []string
	for i := range w.faults {
		if of.has(i) && w.matters(of, i) {
			parts = append(parts, w.shareText(of, i))
		}
	}
	if len(parts) == 0 {
		return w.names(of) + " costs nothing here"
	}
	return strings.Join(parts, ", ")
}

// lacks are what the model has no number of.
func (w *worlds) lacks() (all []string) {
	for _, d := range w.deaf {
		if d != "" && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}
