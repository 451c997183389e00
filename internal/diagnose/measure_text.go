package diagnose

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// differ is the share of one number in another under which they differ: repeats agree within a tenth.
const differ = 0.85

// states are pairs of switches of which the first is faster, and what that shows.
var states = []struct{ fast, slow, shows string }{
	{"few-nodes", "many-nodes", "slower across leaves"},
	{"host-memory", "gpu-memory", "GPU memory slower than host memory"},
	{"gpu-memory", "host-memory", "host memory slower than GPU memory"},
}

// measureTexts compares bandwidths that sentences tell: of two states of one thing, of one device beside the others.
func (s *observed) measureTexts() {
	for _, pair := range states {
		fast, slow := s.saidOf(pair.fast, pair.slow), s.saidOf(pair.slow, pair.fast)
		if fast.gbps > 0 && slow.gbps > fast.gbps/100 && slow.gbps < differ*fast.gbps { // a hundredth is another unit
			s.showText(pair.shows, "observation", fmt.Sprintf("%s Gb/s beside %s Gb/s", number(slow.gbps), number(fast.gbps)), fabric.Subject{})
		}
	}
	for _, q := range s.said {
		name := device().FindString(q.text)
		others := slices.ContainsFunc(s.said, func(o quantity) bool {
			return o.text != q.text && device().FindString(o.text) != name && q.gbps < differ*o.gbps && q.gbps > o.gbps/100
		})
		if name != "" && others {
			s.seen = append(s.seen, evidence.Outcome{How: evidence.Slow, Seen: evidence.Seen{Source: "observation", Text: q.text, Own: true}})
			s.showText("one NIC slower than the others", "observation", fmt.Sprintf("%s: %s Gb/s, others more", name, number(q.gbps)), fabric.Subject{})
			return
		}
	}
}

// device finds the name of one NIC.
var device = pattern.New(`(?i)\b(?:mlx5_\w*\d+|bnxt_re\d+|irdma\d+|rocep\w+|rail ?\d+|nic ?\d+|hca ?\d+)\b`)

// saidOf is the first bandwidth of a state, without the other one.
func (s *observed) saidOf(state, without string) quantity {
	for _, q := range s.said {
		in := evidence.SwitchesIn(q.text)
		if slices.Contains(in, state) && !slices.Contains(in, without) {
			return q
		}
	}
	return quantity{}
}

// measureChanges asks what each change did to a number: the same test without the change is what it is compared with.
func (s *observed) measureChanges() {
	for _, p := range s.points {
		if p.changed == "" || !p.own {
			continue
		}
		base := s.baseOf(p)
		if base == nil {
			continue
		}
		a, b := base.busbw+base.gbps, p.busbw+p.gbps
		effect := evidence.Better
		switch {
		case min(a, b)/max(a, b) > 1-moved:
			effect = evidence.Same
		case b < a:
			effect = evidence.Worse
		}
		text := fmt.Sprintf("%s before, %s after", number(a), number(b))
		if effect == evidence.Better {
			s.seen = append(s.seen, evidence.Outcome{How: evidence.Slow, Seen: evidence.Seen{Source: ab, Text: text, Own: true}})
		}
		s.seen = append(s.seen, evidence.Changed(p.changed, text, effect, evidence.Seen{Source: ab, Own: true})...)
	}
}

// moved is how much a change must move a number to be distinguished from repeats of a run: they agree within a twentieth.
const moved = 0.07

// baseOf is the number to compare a changed one with: of the same test, unchanged.
func (s *observed) baseOf(p point) *point {
	for i, q := range s.points {
		if q.changed == "" && q.test == p.test && (p.collective == "" || q.collective == p.collective) && q.nodes == p.nodes && q.size == p.size && q.memory == p.memory && (q.busbw > 0) == (p.busbw > 0) && !q.text {
			return &s.points[i]
		}
	}
	return nil
}
