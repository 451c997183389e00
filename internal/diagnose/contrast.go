package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

// quantity is a bandwidth in a text, in Gb/s, and what it is of: the concepts of its clause and, where
// the clause is silent, of its sentence.
type quantity struct {
	own       bool
	gbps      float64
	statement statement // of the clause
	whole     string    // the clause
	text      string    // the whole text
	where     string
}

// contrast is two states that are compared, and what it points to when the second is slower than the first.
type contrast struct {
	fast, slow string
	why        string
	causes     []causeWeight
}

func contrasts() []contrast {
	return []contrast{
		{"oneleaf !twoleaf", "twoleaf", "within a leaf it is faster than across leaves", []causeWeight{{fabric.CauseOversubscription, plain}, {fabric.CauseRoCELossy, 0.15}, {fabric.CauseBondHashing, 0.1}}},
		{"gpumemory", "hostmemory !gpumemory", "GPU memory is faster than host memory on the same NIC", []causeWeight{{fabric.CauseHostMemoryInterleaving, plain}}},
		{"hostmemory !gpumemory", "gpumemory", "host memory is faster than GPU memory on the same NIC", []causeWeight{{fabric.CauseACSRedirect, 0.6}, {fabric.CauseGDRDisabled, 0.25}, {fabric.CauseGPUNICMisaligned, 0.2}}},
		{"baremetal !vm", "vm !baremetal", "bare metal is faster than the virtual machine", []causeWeight{{fabric.CauseATSDisabled, 0.6}, {fabric.CauseVMTopologyMissing, 0.3}}},
		{"rest", "onerail !rest", "one NIC is slower than the others", []causeWeight{{fabric.CauseSlowLink, 0.65}, {fabric.CausePCIeDowngraded, 0.3}}},
		{"rest", "onenode !rest", "one node is slower than the others", []causeWeight{{fabric.CauseSlowNode, 0.65}}},
		{"rest", "onegpu !rest", "one GPU is slower than the others", []causeWeight{{fabric.CauseGPUThrottled, 0.35}, {fabric.CauseNVLinkDegraded, 0.35}, {fabric.CausePCIeDowngraded, 0.2}}},
		{"ring !tree", "tree !ring", "the tree is slower than the ring", []causeWeight{{fabric.CauseNCCLSettings, 0.2}}},
	}
}

// contrastShare is the share of one number in the other under which they differ: repeats agree within a tenth.
const contrastShare = 0.85

// nominal are the line rates by which ports are called, Gb/s.
var nominal = []float64{10, 25, 40, 50, 100, 200, 400, 800}

// readQuantities keeps the bandwidths that a sentence holds, each with the words of its clause.
func (o *observer) readQuantities(text, where string) {
	if len(text) > maxText {
		text = text[:maxText]
	}
	for _, clause := range sentence.Split(text, 64) {
		value, bits := numberIn(clause)
		if m := bare.FindStringSubmatch(clause); value == 0 && m != nil {
			value, _ = strconv.ParseFloat(m[1], 64) // "360 GB/s, with node 19 it is 150"
			bits = unitOf(text)
		}
		if bits && slices.Contains(nominal, value) {
			continue // the name of a port, not a measurement
		}
		if !valid(value) || len(o.s.quantities) >= 256 {
			continue
		}
		if !bits {
			value *= 8
		}
		st := o.words.read(clause, where)
		if within.MatchString(clause) && o.words.read(text, "").names("baremetal") {
			st.mentions = append(st.mentions, mention{concept: "vm"}) // outside of the VM so much, inside so much
		}
		o.s.quantities = append(o.s.quantities, quantity{own: true, gbps: value, statement: st, whole: clause, text: text, where: where})
	}
}

// bare finds a number at the end of a clause, without a unit: that of the text stands for it.
var bare = regexp.MustCompile(`(?i)\b(?:is|only|gives?|gets?|reach(?:es)?|at|to|with|just) (\d+(?:\.\d+)?)\s*$`)

// unitOf reports whether the bandwidths of a text are in bits.
func unitOf(text string) (bits bool) {
	_, bits = numberIn(text)
	return bits
}

// within finds the other side of "outside".
var within = regexp.MustCompile(`(?i)\b(inside|within)\b`)

// contrastVotes compares what texts say of two states of the same thing.
func contrastVotes(s *observed) []vote {
	var votes []vote
	for _, c := range contrasts() {
		var fast, slow []quantity
		for _, q := range s.quantities {
			switch {
			case !q.own:
			case q.statement.all(c.slow):
				slow = append(slow, q)
			case q.statement.all(c.fast):
				fast = append(fast, q)
			}
		}
		if len(fast) == 0 || len(slow) == 0 {
			continue
		}
		a := slices.MaxFunc(fast, byRate)
		b := slices.MinFunc(slow, byRate)
		if b.gbps >= contrastShare*a.gbps { // the two do not differ: that is not it
			votes = append(votes, vote{cause: c.causes[0].cause, weight: -0.6, own: true, explicit: true, seen: fabric.Evidence{Source: b.where, Value: fmt.Sprintf("%s Gb/s and %s Gb/s", number(b.gbps), number(a.gbps))}})
			continue
		}
		if b.gbps < a.gbps/100 { // a hundredth is another unit
			continue
		}
		e := fabric.Evidence{Source: b.where, Value: fmt.Sprintf("%s: %s Gb/s beside %s Gb/s", c.why, number(b.gbps), number(a.gbps))}
		for _, l := range c.causes {
			votes = append(votes, vote{cause: l.cause, weight: l.weight, own: true, explicit: true, seen: e})
		}
	}
	return inMachine(s, append(append(votes, oneOfSeveral(s)...), oneMachine(s)...))
}

// device finds the name of one NIC.
var device = regexp.MustCompile(`(?i)\b(mlx5_\w*\d+|bnxt_re\d+|irdma\d+|rdma\d+|roce\w+|ib\d+|rail ?\d+|nic ?\d+|hca ?\d+)\b`)

// machine finds one machine by its number.
var machine = regexp.MustCompile(`(?i)\b(?:node|host|server|worker)[ -]?#?\d+\b`)

// oneMachine is of a text in which work is slower with one machine, named, than without.
func oneMachine(s *observed) []vote {
	for _, q := range s.quantities {
		name := machine.FindString(q.whole)
		if !q.own || name == "" {
			continue
		}
		for _, other := range s.quantities {
			if other.own && other.text == q.text && q.text != "" && !machine.MatchString(other.whole) && q.gbps < contrastShare*other.gbps {
				return []vote{{cause: fabric.CauseSlowNode, weight: 0.65, own: true, explicit: true, seen: fabric.Evidence{Source: q.where,
					Value: fmt.Sprintf("%s Gb/s with %s, %s Gb/s without", number(q.gbps), name, number(other.gbps))}}}
			}
		}
	}
	return nil
}

// oneOfSeveral is of a text that gives one NIC by its name a much lower rate than the others.
func oneOfSeveral(s *observed) []vote {
	for _, q := range s.quantities {
		if !q.own || !device.MatchString(q.whole) {
			continue
		}
		for _, other := range s.quantities {
			if other.own && other.text == q.text && q.text != "" && q.gbps < contrastShare*other.gbps && q.gbps >= other.gbps/100 && device.FindString(other.whole) != device.FindString(q.whole) {
				e := fabric.Evidence{Source: q.where, Value: fmt.Sprintf("%s: %s Gb/s beside %s Gb/s of others", device.FindString(q.whole), number(q.gbps), number(other.gbps))}
				return []vote{{cause: fabric.CauseSlowLink, weight: 0.65, own: true, explicit: true, seen: e}, {cause: fabric.CausePCIeDowngraded, weight: 0.25, own: true, seen: e}, {cause: fabric.CausePortRateLow, weight: 0.15, own: true, seen: e}}
			}
		}
	}
	return nil
}

func byRate(a, b quantity) int {
	switch {
	case a.gbps < b.gbps:
		return -1
	case a.gbps > b.gbps:
		return 1
	}
	return 0
}
