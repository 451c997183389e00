package diagnose

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// twoH100 are two nodes of 8 H100 with 8 NICs of 400 Gb/s.
func twoH100() fabric.Hardware {
	return fabric.Hardware{GPU: "h100-sxm", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib", CPU: "intel"}
}

// askedOnce is the real model, asked once for the same machines, job and sizes.
func askedOnce(t *testing.T) Predictor {
	t.Helper()
	predict, known := predictor(t), map[string]*fabric.Prediction{}
	return func(hw fabric.Hardware, job Job, sizes []int64) (*fabric.Prediction, error) {
		key := fmt.Sprint(hw, job, sizes)
		if p, ok := known[key]; ok {
			return p, nil
		}
		p, err := predict(hw, job, sizes)
		if err == nil {
			known[key] = p
		}
		return p, err
	}
}

// shortfall is what a set of faults leaves of the ring of two nodes, measured as predicted; nil: a healthy ring.
func shortfall(t *testing.T, predict Predictor, planted []Fault, suspects ...Fault) Shortfall {
	t.Helper()
	env := map[string]string{"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
	for _, f := range append(slices.Clone(planted), suspects...) {
		for _, name := range f.Settings {
			env[name] = "Socket" // the only setting that these tests plant
		}
	}
	s := Shortfall{Hardware: twoH100(), Job: Job{Collective: fabric.AllReduce, Env: env}, Predict: predict, Faults: planted}
	s.Rows = []SizeRate{{1 << 30, 1}, {8 << 30, 1}}
	w, err := newWorlds(s)
	if err != nil {
		t.Fatal(err)
	}
	p := w.world(set(1<<len(planted)) - 1)
	if p.err != nil {
		t.Fatal(p.err)
	}
	for i := range s.Rows {
		s.Rows[i].BusBW = p.rates[i].busbw
	}
	s.Faults = suspects
	if len(suspects) == 0 {
		s.Faults = planted
	}
	return s
}

func counterfactuals(t *testing.T, s Shortfall) Outcome {
	t.Helper()
	out, err := Counterfactuals(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// known faults of two H100, each with its figures.
func knownFaults() []Fault {
	return []Fault{
		{ID: fabric.CauseHCASubset, NICs: 3, OfNICs: 8},
		{ID: fabric.CausePortRateLow, Gbps: 100},
		{ID: fabric.CausePCIeDowngraded, PCIe: Lanes{8, 16}, OfPCIe: Lanes{32, 16}},
		{ID: fabric.CauseACSRedirect},
		{ID: fabric.CauseSocketFallback, Settings: []string{"NCCL_NET"}},
		{ID: fabric.CauseOversubscription, Oversubscription: 3},
		{ID: fabric.CauseNVLinkDegraded, NVLinks: 6, OfLinks: 18},
	}
}

// A fault that alone explains what was measured is all of the repair, and fixing it leads to the healthy prediction.
func TestCounterfactualOfOneFault(t *testing.T) {
	predict := askedOnce(t)
	healthy := shortfall(t, predict, nil).Rows[1].BusBW
	for _, f := range knownFaults() {
		s := shortfall(t, predict, []Fault{f})
		out := counterfactuals(t, s)
		from := s.Rows[1].BusBW
		if from > 0.8*healthy {
			t.Errorf("%s leaves %.1f of %.1f GB/s: it is not on the path", f.ID, from, healthy)
		}
		g := out.Gains[0]
		if g.From != from || math.Abs(g.To/healthy-1) > 0.01 || g.Low > g.To || g.High < g.To {
			t.Errorf("%s: %.1f to %.1f GB/s (%.1f to %.1f), want %.1f to %.1f", f.ID, g.From, g.To, g.Low, g.High, from, healthy)
		}
		if !slices.Equal(out.Repair.Causes, []fabric.CauseID{f.ID}) || out.Repair.Undecidable != "" || out.Repair.Gain == nil {
			t.Errorf("%s: the repair is %+v", f.ID, out.Repair)
		}
	}
}

// Each pair of faults: what either gains is what the other leaves, both lead to the healthy prediction, and the repair is
// the tighter one alone only where that is enough.
func TestCounterfactualOfTwoFaults(t *testing.T) {
	predict := askedOnce(t)
	healthy := shortfall(t, predict, nil).Rows[1].BusBW
	all := knownFaults()
	for i, a := range all {
		for _, b := range all[i+1:] {
			a.Seen, b.Seen = true, true
			s := shortfall(t, predict, []Fault{a, b})
			out := counterfactuals(t, s)
			for k, other := range []Fault{b, a} {
				want := shortfall(t, predict, []Fault{other}).Rows[1].BusBW
				if other.ID == fabric.CauseSocketFallback || out.Gains[k].To == 0 {
					want = out.Gains[k].To // its environment is not that of the other
				}
				if math.Abs(out.Gains[k].To/want-1) > 0.01 {
					t.Errorf("%s with %s: fixing the first gives %.1f GB/s, want %.1f", a.ID, b.ID, out.Gains[k].To, want)
				}
			}
			if g := out.Pairs[0].Gain; math.Abs(g.To/healthy-1) > 0.01 || !strings.Contains(g.Why, "multiply") && !strings.Contains(g.Why, "one after the other") {
				t.Errorf("%s with %s: both give %.1f GB/s, want %.1f: %s", a.ID, b.ID, g.To, healthy, g.Why)
			}
			if len(out.Repair.Causes) != 2 {
				t.Errorf("%s with %s: the repair is %+v, want both", a.ID, b.ID, out.Repair)
			}
		}
	}
}

func TestRelationOfFaults(t *testing.T) {
	predict := askedOnce(t)
	subset, port := Fault{ID: fabric.CauseHCASubset, NICs: 4, OfNICs: 8, Seen: true}, Fault{ID: fabric.CausePortRateLow, Gbps: 200, Seen: true}
	acs, links := Fault{ID: fabric.CauseACSRedirect, Seen: true}, Fault{ID: fabric.CausePCIeDowngraded, PCIe: Lanes{8, 16}, Seen: true}
	for _, c := range []struct {
		faults []Fault
		want   string
	}{
		{[]Fault{subset, port}, "their costs multiply"},
		{[]Fault{acs, links}, "both limit one after the other, and pcie-downgraded is the tighter limit"},
	} {
		out := counterfactuals(t, shortfall(t, predict, c.faults))
		if !strings.Contains(out.Pairs[0].Gain.Why, c.want) {
			t.Errorf("%q does not say %q", out.Pairs[0].Gain.Why, c.want)
		}
	}
}

// Where two suspects alone explain the same number, no number decides between them.
func TestRepairUndecidable(t *testing.T) {
	predict := askedOnce(t)
	subset, port := Fault{ID: fabric.CauseHCASubset, NICs: 4, OfNICs: 8}, Fault{ID: fabric.CausePortRateLow, Gbps: 200}
	out := counterfactuals(t, shortfall(t, predict, []Fault{port}, subset, port))
	if len(out.Repair.Causes) != 0 || !strings.HasPrefix(out.Repair.Undecidable, "each of these alone explains") ||
		!strings.Contains(out.Repair.Undecidable, "hca-subset; port-rate-low") {
		t.Errorf("the repair is %+v", out.Repair)
	}
	subset.Seen = true // what is in force beyond doubt decides
	out = counterfactuals(t, shortfall(t, predict, []Fault{subset}, subset, port))
	if !slices.Equal(out.Repair.Causes, []fabric.CauseID{fabric.CauseHCASubset}) {
		t.Errorf("the repair is %+v, want what was seen", out.Repair)
	}
}

// What no suspect explains is said, and no gain is promised beyond what the suspect may have cost.
func TestUnexplainedLoss(t *testing.T) {
	predict := askedOnce(t)
	s := shortfall(t, predict, []Fault{{ID: fabric.CausePortRateLow, Gbps: 50}}, Fault{ID: fabric.CauseHCASubset, NICs: 4, OfNICs: 8, Seen: true})
	out := counterfactuals(t, s)
	from := s.Rows[1].BusBW
	if g := out.Gains[0]; g.Low != from || g.High > 2.2*from || !strings.Contains(g.Why, "something else takes the rest") {
		t.Errorf("the gain is %+v", g)
	}
	if !strings.Contains(out.Repair.Undecidable, "hca-subset explains 195 of the 342 GB/s lost, and what takes the rest has no name") || out.Repair.Gain != nil {
		t.Errorf("the repair is %+v", out.Repair)
	}
}

// A suspect that would leave less than was measured is not in force as described: no number.
func TestContradictedSuspect(t *testing.T) {
	predict := askedOnce(t)
	out := counterfactuals(t, shortfall(t, predict, []Fault{{ID: fabric.CausePortRateLow, Gbps: 200}}, Fault{ID: fabric.CauseHCASubset, NICs: 1, OfNICs: 8}))
	if g := out.Gains[0]; g.To != 0 || !strings.Contains(g.Why, "not in force as described") {
		t.Errorf("the gain is %+v", g)
	}
}

// Settings and costs that the model does not have are said, and never guessed.
func TestUnmodelled(t *testing.T) {
	predict := askedOnce(t)
	s := shortfall(t, predict, []Fault{{ID: fabric.CausePortRateLow, Gbps: 100}}, Fault{ID: fabric.CauseNCCLSettings, Seen: true, Settings: []string{"NCCL_NCHANNELS_PER_NET_PEER"}})
	s.Job.Env["NCCL_NCHANNELS_PER_NET_PEER"] = "1"
	out := counterfactuals(t, s)
	if g := out.Gains[0]; g.To != 0 || g.High != 0 || g.Why != "the model has no NCCL_NCHANNELS_PER_NET_PEER=1" {
		t.Errorf("the gain is %+v", g)
	}
	if out.Repair.Undecidable != "the model has no NCCL_NCHANNELS_PER_NET_PEER=1" {
		t.Errorf("the repair is %+v", out.Repair)
	}
	s.Faults = []Fault{{ID: fabric.CauseHCASubset}, {ID: fabric.CauseLibraryBuild}}
	delete(s.Job.Env, "NCCL_NCHANNELS_PER_NET_PEER")
	out = counterfactuals(t, s)
	for i, want := range []string{"number of NICs that hca-subset leaves", "cost of library-build"} {
		if g := out.Gains[i]; g.To < 380 || !strings.HasPrefix(g.Why, "the model has no "+want) {
			t.Errorf("the gain is %+v", g)
		}
	}
	if out.Repair.Undecidable == "" || out.Repair.Gain != nil {
		t.Errorf("the repair is %+v", out.Repair)
	}
}

// A setting that the model reads and that changes nothing costs nothing.
func TestIdleSetting(t *testing.T) {
	predict := askedOnce(t)
	s := shortfall(t, predict, []Fault{{ID: fabric.CausePortRateLow, Gbps: 100}}, Fault{ID: fabric.CauseNCCLSettings, Seen: true, Settings: []string{"NCCL_NVLS_ENABLE"}},
		Fault{ID: fabric.CausePortRateLow, Gbps: 100})
	s.Job.Env["NCCL_NVLS_ENABLE"] = "0"
	out := counterfactuals(t, s)
	if g := out.Gains[0]; math.Abs(g.To/g.From-1) > 0.01 {
		t.Errorf("the gain is %+v", g)
	}
	if !slices.Equal(out.Repair.Causes, []fabric.CauseID{fabric.CausePortRateLow}) {
		t.Errorf("the repair is %+v", out.Repair)
	}
}

// A fault of two settings is the one of them that costs something.
func TestIdleSettingIsDropped(t *testing.T) {
	predict := askedOnce(t)
	s := shortfall(t, predict, nil)
	s.Job.Env = map[string]string{"NCCL_NVLS_ENABLE": "0", "NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}
	for i := range s.Rows {
		s.Rows[i].BusBW = 100
	}
	s.Faults = []Fault{{ID: fabric.CauseNCCLSettings, Seen: true, Settings: []string{"NCCL_NVLS_ENABLE", "NCCL_PROTO"}}}
	if g := counterfactuals(t, s).Gains[0]; strings.Contains(g.Why, "NCCL_NVLS_ENABLE") || !strings.Contains(g.Why, "NCCL_PROTO=LL") {
		t.Errorf("the gain is %+v", g)
	}
}

// What is just below the healthy band is not explained by a setting that costs nothing.
func TestIdleSettingExplainsNothing(t *testing.T) {
	predict := askedOnce(t)
	s := shortfall(t, predict, nil)
	for i := range s.Rows {
		s.Rows[i].BusBW *= 0.88
	}
	s.Job.Env["NCCL_NVLS_ENABLE"] = "0"
	s.Faults = []Fault{{ID: fabric.CauseNCCLSettings, Seen: true, Settings: []string{"NCCL_NVLS_ENABLE"}}}
	if out := counterfactuals(t, s); len(out.Repair.Causes) != 0 || out.Repair.Undecidable == "" {
		t.Errorf("the repair is %+v", out.Repair)
	}
}

// A suspect whose cost is unknown may explain the loss as well as one whose cost fits: nothing decides between them.
func TestRepairBesideUnknownCost(t *testing.T) {
	predict := askedOnce(t)
	port, library := Fault{ID: fabric.CausePortRateLow, Gbps: 100}, Fault{ID: fabric.CauseLibraryBuild}
	out := counterfactuals(t, shortfall(t, predict, []Fault{port}, port, library))
	if want := "port-rate-low explains"; len(out.Repair.Causes) != 0 || !strings.HasPrefix(out.Repair.Undecidable, want) || !strings.HasSuffix(out.Repair.Undecidable, "the model has no cost of library-build") {
		t.Errorf("the repair is %+v", out.Repair)
	}
	port.Seen = true // it is in force beyond doubt, and nothing is left to explain
	out = counterfactuals(t, shortfall(t, predict, []Fault{port}, port, library))
	if !slices.Equal(out.Repair.Causes, []fabric.CauseID{fabric.CausePortRateLow}) {
		t.Errorf("the repair is %+v", out.Repair)
	}
}

// A slow node is worth what was measured without it.
func TestSlowNode(t *testing.T) {
	predict := askedOnce(t)
	s := shortfall(t, predict, nil)
	s.Rows = []SizeRate{{0, 250}}
	s.Faults = []Fault{{ID: fabric.CauseSlowNode, Without: 372, Hosts: []string{"h7"}}}
	out := counterfactuals(t, s)
	if g := out.Gains[0]; g.From != 250 || g.To != 372 || g.Low >= 372 || g.High <= 372 || g.Why != "372 GB/s were measured without it on h7" {
		t.Errorf("the gain is %+v", g)
	}
	if !slices.Equal(out.Repair.Causes, []fabric.CauseID{fabric.CauseSlowNode}) {
		t.Errorf("the repair is %+v", out.Repair)
	}
}

func TestNothingLost(t *testing.T) {
	predict := askedOnce(t)
	s := shortfall(t, predict, nil)
	s.Faults = []Fault{{ID: fabric.CauseHCASubset, NICs: 4, OfNICs: 8}}
	if out := counterfactuals(t, s); len(out.Repair.Causes) != 0 || out.Repair.Undecidable != "" || out.Gains[0].To != 0 {
		t.Errorf("a healthy ring has a repair: %+v", out)
	}
}

func TestCounterfactualsRefused(t *testing.T) {
	predict := askedOnce(t)
	good := shortfall(t, predict, nil)
	for want, change := range map[string]func(*Shortfall){
		"no model": func(s *Shortfall) { s.Predict = nil },
		"no row":   func(s *Shortfall) { s.Rows = nil },
		"NaN GB/s": func(s *Shortfall) { s.Rows = []SizeRate{{8, math.NaN()}} },
		"0 GB/s":   func(s *Shortfall) { s.Rows = []SizeRate{{8, 0}} },
		"is not installed": func(s *Shortfall) {
			s.Predict = func(fabric.Hardware, Job, []int64) (*fabric.Prediction, error) {
				return nil, errors.New("the model is not installed")
			}
		},
		"no numbers": func(s *Shortfall) {
			s.Predict = func(fabric.Hardware, Job, []int64) (*fabric.Prediction, error) { return nil, nil }
		},
	} {
		s := good
		change(&s)
		if _, err := Counterfactuals(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// Rates of PCIe links: 54 GB/s of data over 16 lanes of 32 GT/s, where the wire carries 63 (PCI Express Base
// Whatever is measured and suspected, a gain is a number within its band or none with a reason, and a repair is a set of
// suspects or a sentence.
func TestCounterfactualsHold(t *testing.T) {
	predict := askedOnce(t)
	suspects := append(knownFaults(), Fault{ID: fabric.CauseMTUMismatch}, Fault{ID: fabric.CauseGDRDisabled}, Fault{ID: fabric.CauseHalfPortTwin},
		Fault{ID: fabric.CauseLibraryBuild}, Fault{ID: fabric.CauseNCCLSettings, Settings: []string{"NCCL_PROTO"}})
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		s := Shortfall{Hardware: twoH100(), Predict: predict, Job: Job{Collective: fabric.AllReduce, Env: map[string]string{"NCCL_PROTO": "LL", "NCCL_NET": "Socket"}}}
		for range 1 + random.IntN(3) {
			f := suspects[random.IntN(len(suspects))]
			f.Seen = random.IntN(2) == 0
			s.Faults = append(s.Faults, f)
		}
		s.Rows = []SizeRate{{1 << 28, 500 * random.Float64()}, {4 << 30, 1 + 500*random.Float64()}}
		out, err := Counterfactuals(s)
		if err != nil {
			t.Fatal(err)
		}
		gains := slices.Clone(out.Gains)
		for _, p := range out.Pairs {
			gains = append(gains, p.Gain)
		}
		if out.Repair.Gain != nil {
			gains = append(gains, *out.Repair.Gain)
		}
		for _, g := range gains {
			if known := g.To > 0 && g.Low > 0 && g.Low <= g.To*1.0001 && g.To <= g.High*1.0001; g.Why == "" || g.From != s.Rows[1].BusBW || !known && (g.To != 0 || g.Low != 0 || g.High != 0) {
				t.Errorf("%+v at %.1f GB/s: %+v", s.Faults, s.Rows[1].BusBW, g)
			}
		}
		if r := out.Repair; (len(r.Causes) > 0) != (r.Gain != nil) || len(r.Causes) > 0 && r.Undecidable != "" {
			t.Errorf("%+v: the repair is %+v", s.Faults, r)
		}
	}
}
