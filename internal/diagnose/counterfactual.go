package diagnose

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Shortfall is a measured curve and what may be wrong with the machines that it was measured on.
type Shortfall struct {
	Hardware fabric.Hardware // as it should be: all NICs, at their full rate
	Job      Job             // as it ran, with every setting that was in force
	Rows     []SizeRate      // measured; the largest size is the figure by which a gain is stated
	Predict  Predictor
	Faults   []Fault // plausible causes, the most likely first; those after maxFaults are left out
}

// SizeRate is a measured row.
type SizeRate struct {
	Size  int64   // bytes; 0: unknown, taken as a size at which bandwidth decides
	BusBW float64 // GB/s
}

// Fault is a plausible cause with what is known of it; what is unknown is zero.
type Fault struct {
	ID       fabric.CauseID
	Seen     bool     // in force beyond doubt, such as a setting of a log: it stays where another is fixed. false: supposed
	Settings []string // names in the job's environment that make it
	Hosts    []string // where it is; empty: everywhere or unknown

	NICs, OfNICs     int     // used of present, per node
	Gbps             float64 // rate at which the slowest port trained
	PCIe, OfPCIe     Lanes   // link of the slowest NIC or GPU as it trained, and in full
	MTU              int     // path MTU of RDMA, bytes
	NVLinks, OfLinks int     // of the GPU that has the fewest, and of a whole one
	Oversubscription float64 // downlinks over uplinks of the leaf
	Without          float64 // GB/s that the same measurement gave without the part at fault; of slow nodes and links
}

// Lanes is a trained PCIe link: speed in GT/s per lane, and how many lanes.
type Lanes struct {
	Speed float64
	Width int
}

// Outcome is what fixing would bring.
type Outcome struct {
	Gains  []fabric.Gain // in the order of the faults. High 0: no number can be given, Why says for what reason
	Pairs  []PairGain    // each pair of faults, in their order
	Repair fabric.Repair // no cause and not undecidable: nothing is lost
}

// PairGain is what fixing two causes would bring.
type PairGain struct {
	Of   [2]int // indices of the faults
	Gain fabric.Gain
}

// maxFaults bounds the sets that are predicted: 6 causes have 64.
const maxFaults = 6

// Counterfactuals predicts what would be measured were faults fixed. Every set of faults is a world: the hardware
// and the settings that it leaves, given to the Predictor. A world in whose band the measurement lies explains the loss;
// a gain is the prediction of that world without a fault, calibrated by how far the measurement is from it. The error
// says why nothing can be predicted.
func Counterfactuals(s Shortfall) (Outcome, error) {
	w, err := newWorlds(s)
	if err != nil {
		return Outcome{}, err
	}
	out := w.outcome()
	for i := range w.faults {
		for j := i + 1; j < len(w.faults); j++ {
			out.Pairs = append(out.Pairs, PairGain{[2]int{i, j}, w.pairGain(i, j)})
		}
	}
	return out, nil
}

// outcome is what fixing each fault would bring, and the repair. Pairs are left out: they take worlds that nothing else needs.
func (w *worlds) outcome() (out Outcome) {
	for i := range w.faults {
		out.Gains = append(out.Gains, w.gain(i))
	}
	out.Repair = w.repair()
	return out
}

// set is a set of faults by their index.
type set uint8

func (s set) has(i int) bool     { return s&(1<<i) != 0 }
func (s set) with(i int) set     { return s | 1<<i }
func (s set) without(o set) set  { return s &^ o }
func (s set) within(of set) bool { return s&^of == 0 }

func (s set) size() (n int) {
	for ; s != 0; s &= s - 1 {
		n++
	}
	return n
}

// worlds are predictions of sets of faults, made once each.
type worlds struct {
	Shortfall
	faults []Fault
	sizes  []int64
	known  map[set]world
	seen   set      // the faults that are in force
	deaf   []string // by fault: what the model has no number of; empty: it has
	from   float64  // measured at the figure's size, GB/s
}

func newWorlds(s Shortfall) (*worlds, error) {
	w := &worlds{Shortfall: s, known: map[set]world{}, faults: slices.Clone(s.Faults[:min(len(s.Faults), maxFaults)])}
	switch {
	case s.Predict == nil:
		return nil, fmt.Errorf("counterfactual: there is no model to predict with")
	case len(s.Rows) == 0:
		return nil, fmt.Errorf("counterfactual: no row was measured")
	}
	w.Rows = slices.SortedStableFunc(slices.Values(s.Rows), func(a, b SizeRate) int { return int(max(-1, min(1, sizeOf(a)-sizeOf(b)))) })
	for _, r := range w.Rows {
		if !valid(r.BusBW) {
			return nil, fmt.Errorf("counterfactual: a bandwidth of %v GB/s is not a measurement", r.BusBW)
		}
		w.sizes = append(w.sizes, sizeOf(r))
	}
	w.from = w.Rows[len(w.Rows)-1].BusBW
	for i, f := range w.faults {
		if f.Seen {
			w.seen = w.seen.with(i)
		}
	}
	whole := w.world(0)
	if whole.err != nil {
		return nil, whole.err
	}
	w.Hardware = filled(w.Hardware, whole.hw)
	clear(w.known)
	w.dropIdleSettings()
	for i := range w.faults {
		w.deaf = append(w.deaf, w.unmodelled(i))
	}
	return w, nil
}

// sizeOf is the size of a row; an unknown one is that of a plateau, where bandwidth decides.
func sizeOf(r SizeRate) int64 {
	if r.Size <= 0 {
		return plateau / 2
	}
	return r.Size
}
