package results

import (
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// looks is what the columns of a table show of its collective.
type looks struct {
	root             bool // there are roots
	rooted           bool // a root is a rank
	outChecked       bool // results out of place were compared
	checked, refused bool // results in place were compared; or were not: N/A
}

func (k *looks) see(second bool, c column, text string) {
	switch c {
	case colRoot:
		number := isDigits(strings.TrimPrefix(text, "-"))
		k.root = k.root || number
		k.rooted = k.rooted || number && text[0] != '-'
	case colWrong:
		count := !isAbsent(text)
		k.outChecked = k.outChecked || count && !second
		k.checked = k.checked || count && second
		k.refused = k.refused || text == "N/A" && second
	}
}

// appearance is how the table of a collective looks: each program of nccl-tests hands TimeTest an operation and a root or
// none, and those that cannot run in place do not compare the results of that half (reportErrors in their InitData).
type appearance struct {
	collective fabric.Collective
	reduces    bool
	rooted     bool
	whole      bool // count is of all bytes, else of the part of a rank (paramcount in their GetCollByteCount)
	inPlace    bool
}

var appearances = []appearance{
	{fabric.AllReduce, true, false, true, true},
	{fabric.AllGather, false, false, false, true},
	{fabric.ReduceScatter, true, false, false, true},
	{fabric.AllToAll, false, false, false, false},
	{fabric.Broadcast, false, true, true, true},
	{fabric.Reduce, true, true, true, true},
	{fabric.SendRecv, true, false, true, false},
	{fabric.SendRecv, false, false, true, false}, // of versions that print no operation
	{fabric.Gather, false, true, false, true},
	{fabric.Scatter, false, true, false, true},
}

// setCollective takes the collective from the program, else from the columns where only one fits. Where several do, the
// configuration says which.
func (t *ncclTable) setCollective(out *fabric.Table) {
	if t.program != "" {
		c, err := fabric.ParseCollective(programCollective(t.program))
		if err != nil {
			t.config("program", t.program)
			out.Config = t.table.Config
		}
		out.Collective = c
		return
	}
	switch found := t.looks.fitting(out.Rows, out.Ranks); len(found) {
	case 0:
		return
	case 1:
		out.Collective = fabric.Collective(found[0])
		t.config("collective", "taken from the columns: the program is not named")
	default:
		t.config("possible_collectives", strings.Join(found, " or "))
	}
	out.Config = t.table.Config
}

// fitting are the collectives whose tables look like these rows, judged by the row with the most bandwidth, whose cells have
// the most digits.
func (k *looks) fitting(rows []fabric.Row, ranks int) (found []string) {
	var best fabric.Row
	for _, r := range rows {
		if r.AlgBW != nil && r.BusBW != nil && *r.AlgBW >= 1 && (best.AlgBW == nil || *r.AlgBW > *best.AlgBW) {
			best = r
		}
	}
	if best.AlgBW == nil || *best.BusBW == 0 {
		return nil
	}
	factor := *best.BusBW / *best.AlgBW
	rounding := min(0.02, 0.2 / *best.AlgBW) // of two cells with two decimals, or with one where somebody rounded
	for _, a := range appearances {
		same := len(found) > 0 && found[len(found)-1] == string(a.collective)
		if !same && k.fits(a, best) && factorFits(a.collective, factor, ranks, rounding) {
			found = append(found, string(a.collective))
		}
	}
	if len(found) > 3 {
		return nil // which says nothing
	}
	return found
}

// fits reports whether a table may be one of a collective by its operation, its root, its count and what was compared in place.
func (k *looks) fits(a appearance, row fabric.Row) bool {
	none := strings.EqualFold(row.RedOp, "none")
	width := typeWidths[strings.ToLower(row.Type)]
	switch {
	case row.RedOp != "" && none == a.reduces:
		return false
	case row.Count != nil && width > 0 && a.whole != (*row.Count*width == row.Size):
		return false
	case k.root && k.rooted && !a.rooted:
		return false
	case k.root && !k.rooted && a.rooted:
		return false
	case k.checked && !a.inPlace, k.outChecked && k.refused && !k.checked && a.inPlace:
		return false
	}
	return true
}

// factorFits compares bus over algorithm bandwidth (doc/PERFORMANCE.md of nccl-tests) with that of the ranks, or of any number
// of ranks where it is unknown.
func factorFits(c fabric.Collective, factor float64, ranks int, rounding float64) bool {
	if ranks > 1 {
		return math.Abs(factor-c.BusFactor(ranks)) <= rounding
	}
	two, many := c.BusFactor(2), c.BusFactor(1<<20)
	return factor >= two-rounding && factor <= many+rounding
}
