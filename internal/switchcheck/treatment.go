package switchcheck

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// treatment is what a port does with packets of a DSCP value that come without a VLAN tag; ok is false where no text tells
// by what the port classifies, or its table.
func (p port) treatment(dscp int) (t fabric.Treatment, ok bool) {
	switch {
	case p.Trust == nil:
		return t, false
	case p.Trust.Is == "dscp":
		if p.DSCP == nil {
			return t, false
		}
		return p.DSCP[dscp], true
	}
	if p.PCP == nil {
		return t, false
	}
	return p.PCP[0], true
}

// lossless reports whether packets of a treatment are never dropped: the port sends pauses for them. known is false where
// that was not read.
func (p port) lossless(t fabric.Treatment) (lossless, known bool) {
	switch {
	case t.Pause == nil:
		return false, false
	case t.Pause.Is < 0:
		return false, true
	case p.PFC == nil:
		return false, false
	}
	if p.Pauses != nil && p.Pauses.Sends != nil && !p.Pauses.Sends.Is {
		return false, true
	}
	return slices.Contains(p.PFC.Is, t.Pause.Is), true
}

// lines are where the parts of a treatment stand.
func lines(t fabric.Treatment) []fabric.Line {
	var out []fabric.Line
	if t.Class != nil {
		out = append(out, t.Class.At)
	}
	if t.Queue != nil {
		out = append(out, t.Queue.At)
	}
	if t.Pause != nil {
		out = append(out, t.Pause.At)
	}
	return out
}

// numbers writes numbers with ranges: 0-25, 27-47.
func numbers(list []int) string { return fabric.Ranges(list, "none") }
