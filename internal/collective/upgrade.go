package collective

import (
	"errors"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Compare sets predictions of the same sizes on the same machines for several versions of NCCL beside one another. What differs is
// what they choose: kernels of all of them are as fast as the measured ones.
func Compare(all []*fabric.Prediction) (*fabric.Upgrade, error) {
	if len(all) < 2 {
		return nil, errors.New("versions of NCCL: at least two are needed for a comparison")
	}
	first := all[0]
	u := &fabric.Upgrade{
		Meta:       fabric.NewMeta("Upgrade"),
		Collective: first.Collective, Ranks: first.Ranks, Nodes: first.Nodes, Hardware: first.Hardware,
		Rows: make([]fabric.UpgradeRow, len(first.Rows)), Moves: []fabric.UpgradeMove{}, Assumptions: []fabric.Assumption{},
	}
	for _, p := range all {
		if p.NCCL == "" {
			return nil, nothingToCompare(first.Collective)
		}
		if len(p.Rows) != len(first.Rows) {
			return nil, errors.New("versions of NCCL: predictions of different sizes")
		}
		u.NCCL = append(u.NCCL, p.NCCL)
		u.Remarks = addEach(u.Remarks, p.Remarks)
		u.Assumptions = addEach(u.Assumptions, p.Assumptions)
	}
	u.Assumptions = append(u.Assumptions, fabric.Assumption{
		What:   "kernels of all versions are as fast as the measured ones: what differs is what is chosen",
		Source: "tables of several versions agree with one set of rates",
	})
	for i := range u.Rows {
		u.Rows[i] = compareRow(all, i)
	}
	u.Moves = moves(u.Moves, u.Rows)
	return u, nil
}

// nothingToCompare says why no version of NCCL chooses.
func nothingToCompare(c fabric.Collective) error {
	if _, tuned := functionOf(c); !tuned {
		return fmt.Errorf("versions of NCCL: nothing to compare: %s is sends and receives, for which no version chooses an algorithm by size", c)
	}
	return errors.New("versions of NCCL: nothing to compare: GPUs of AMD have RCCL, of which one version is predicted at a time")
}

// addEach appends what is not there yet.
func addEach[T comparable](to, more []T) []T {
	for _, m := range more {
		if !slices.Contains(to, m) {
			to = append(to, m)
		}
	}
	return to
}

func compareRow(all []*fabric.Prediction, i int) fabric.UpgradeRow {
	out := fabric.UpgradeRow{Size: all[0].Rows[i].Size}
	for _, p := range all {
		r := p.Rows[i]
		out.Choices = append(out.Choices, fabric.UpgradeChoice{Algorithm: r.Algorithm, Protocol: r.Protocol, TimeUS: r.TimeUS, BusBW: r.BusBW})
	}
	first, last := out.Choices[0], out.Choices[len(out.Choices)-1]
	for _, c := range out.Choices {
		out.Moved = out.Moved || c.Algorithm != first.Algorithm || c.Protocol != first.Protocol
	}
	out.Gain = 100 * (last.BusBW/first.BusBW - 1)
	return out
}

// moves joins neighbouring sizes at which each version chooses the same.
func moves(out []fabric.UpgradeMove, rows []fabric.UpgradeRow) []fabric.UpgradeMove {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b fabric.UpgradeRow) int { return int(max(min(a.Size-b.Size, 1), -1)) })
	open := false
	for _, r := range rows {
		if !r.Moved {
			open = false
			continue
		}
		var names []string
		for _, c := range r.Choices {
			names = append(names, c.Algorithm+" "+c.Protocol)
		}
		if n := len(out); open && slices.Equal(out[n-1].Choices, names) {
			m := &out[n-1]
			m.To, m.Gain = r.Size, [2]float64{min(m.Gain[0], r.Gain), max(m.Gain[1], r.Gain)}
			continue
		}
		out, open = append(out, fabric.UpgradeMove{From: r.Size, To: r.Size, Choices: names, Gain: [2]float64{r.Gain, r.Gain}}), true
	}
	return out
}
