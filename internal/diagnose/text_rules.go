package diagnose

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// textRule is what a text that names all of the terms points to: the cause, and how strongly, from 0 to 1.
// A weight below zero contradicts the cause. Terms are those of statement.all.
type textRule struct {
	cause  fabric.CauseID
	weight float64
	terms  string
}

// Weights of texts. A person or a log that names the thing itself is believed, and still less than certain.
const (
	plain  = 0.75 // the text says that this is wrong
	likely = 0.55 // the text says something that this cause alone explains well
	hint   = 0.35 // one of several causes that fit
	faint  = 0.2
)

// textRules is every rule on texts, by topic.
func textRules() []textRule {
	var all []textRule
	for _, part := range [][]textRule{pathRules(), pcieRules(), linkRules(), networkRules(), hostRules(), libraryRules(), settingTextRules(), shapeRules(), proseRules()} {
		all = append(all, part...)
	}
	return all
}

// textVotes returns the votes of the texts. A text counts once for a cause, by its strongest rule.
func textVotes(s *observed) []vote {
	var votes []vote
	rules := textRules()
	for _, st := range s.statements {
		if s.virtual() {
			st.mentions = append(slices.Clone(st.mentions), mention{concept: "vm"}) // known for every sentence
		}
		if st.experiment && s.outcomeKnown(st) {
			continue // what was tried is no state of the job: what came of it is read with the changes
		}
		weights, order := weightsOf(st, rules)
		weights, order = onSpark(s, weights, order)
		for _, c := range order {
			if c == fabric.CauseGDRDisabled && spark(s.hw) {
				continue // GB10 has one memory and no GPUDirect RDMA: that it is off is how it is
			}
			if s.textWeight(st) == 0 {
				continue
			}
			votes = append(votes, vote{cause: c, weight: weights[c] * s.textWeight(st), own: st.own, explicit: true,
				seen: fabric.Evidence{Source: st.source, Value: st.text}})
		}
	}
	return inMachine(s, votes)
}

// weightsOf returns the weight of one text for each cause, in the order of the rules. A message that a program
// prints halves what its single words would say; what no rule understands counts by its topic.
func weightsOf(st statement, rules []textRule) (map[fabric.CauseID]float64, []fabric.CauseID) {
	weights := map[fabric.CauseID]float64{}
	var order []fabric.CauseID
	put := func(c fabric.CauseID, w float64) {
		old, seen := weights[c]
		if !seen {
			order = append(order, c)
		}
		if !seen || magnitude(w) > magnitude(old) {
			weights[c] = w
		}
	}
	messages := st.lines
	for _, r := range rules {
		if st.all(r.terms) {
			put(r.cause, r.weight)
		}
	}
	if len(messages) > 0 {
		for c := range weights {
			weights[c] /= 2
		}
	}
	for _, m := range messages {
		if old, seen := weights[m.cause]; seen && old > 0 {
			delete(weights, m.cause) // the message knows better
			order = slices.DeleteFunc(order, func(c fabric.CauseID) bool { return c == m.cause })
		}
		put(m.cause, m.weight)
	}
	if weights[fabric.CauseLinkDown] >= likely && weights[fabric.CauseSubnetManager] > 0 {
		weights[fabric.CauseSubnetManager] /= 2 // a port that is down has no LID
	}
	for _, t := range topicWeights(st) {
		if _, seen := weights[t.cause]; !seen {
			put(t.cause, t.weight)
		}
	}
	return weights, order
}

// onSpark takes fewer NICs than there are for one of the two twins of a port where the machine is a DGX Spark: it
// has no others.
func onSpark(s *observed, weights map[fabric.CauseID]float64, order []fabric.CauseID) (map[fabric.CauseID]float64, []fabric.CauseID) {
	w, seen := weights[fabric.CauseHCASubset]
	if !seen || w <= 0 || !spark(s.hw) {
		return weights, order
	}
	delete(weights, fabric.CauseHCASubset)
	order = slices.DeleteFunc(order, func(c fabric.CauseID) bool { return c == fabric.CauseHCASubset })
	if _, seen := weights[fabric.CauseHalfPortTwin]; !seen {
		order = append(order, fabric.CauseHalfPortTwin)
	}
	weights[fabric.CauseHalfPortTwin] = max(w, weights[fabric.CauseHalfPortTwin])
	return weights, order
}

// textWeight is how much a text of another result says of this one: all, where it is of the same fault; nothing
// where it tells of a run that broke off and this one did not; less where this result tells of its own.
func (s *observed) textWeight(st statement) float64 {
	switch {
	case st.own:
		return 1
	case st.names("trouble+") && len(s.failed) == 0:
		return 0
	case len(s.failed) > 0:
		return 0.4
	default:
		return 1
	}
}

func magnitude(w float64) float64 { return max(w, -w) }

// inMachine turns what points to ACS of a bare machine into ACS and ATS of a hypervisor where the GPUs are
// passed through: the fault is the same and its place is another.
func inMachine(s *observed, votes []vote) []vote {
	if !s.virtual() {
		return votes
	}
	var out []vote
	for _, v := range votes {
		out = append(out, v)
		if v.cause == fabric.CauseACSRedirect && v.weight > 0 {
			out[len(out)-1].weight = v.weight / 2
			v.cause = fabric.CauseATSDisabled
			out = append(out, v)
		}
	}
	return out
}

// virtual reports whether the GPUs are in a virtual machine.
func (s *observed) virtual() bool {
	if s.hw.VM {
		return true
	}
	for _, st := range s.statements {
		if st.names("vm+") {
			return true
		}
	}
	return false
}
