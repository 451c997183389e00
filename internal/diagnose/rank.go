package diagnose

import (
	"cmp"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// vote is what one sign speaks: for a cause, with a weight of 0 to 1, or below zero against it.
type vote struct {
	cause    fabric.CauseID
	weight   float64
	seen     fabric.Evidence
	about    fabric.Subject // zero: the cluster
	own      bool           // the sign is of this result, not of another of the call
	explicit bool           // the sign is a text, a log, a setting or a finding that names the fault, not a number that fits it
}

// signature reads what was seen and votes. It is pure, and silent where it sees nothing.
type signature struct {
	topic string
	votes func(*observed) []vote
}

// signatures is every signature.
func signatures() []signature {
	return []signature{
		{"texts", textVotes},
		{"findings of railwright check", findingVotes},
		{"debug log", logVotes},
		{"settings", settingVotes},
		{"one change and its result", changeVotes},
		{"pair matrix", pairVotes},
		{"perftest of host and GPU memory", perftestVotes},
		{"share of the bound across nodes", shareVotes},
		{"path between GPU and NIC", pathVotes},
		{"distances of two tools", distanceVotes},
		{"one node", nodeVotes},
		{"one collective against another", collectiveVotes},
		{"more nodes against fewer", scalingVotes},
		{"two states of one thing", contrastVotes},
		{"shape of the curve", shapeVotes},
		{"latency of small sizes", latencyVotes},
		{"above the wire", artefactVotes},
		{"nothing across the network alone", hostOnlyVotes},
	}
}

// Limits of a ranking.
const (
	leastConfidence = 0.05 // a cause under it is not worth a line
	mostConfidence  = 0.95 // what was not checked may still be
	mostCauses      = 6
	tie             = 0.12 // causes this close cannot be distinguished by the evidence
)

// ballot sums the votes of one cause.
type ballot struct {
	cause    fabric.Cause
	explicit float64 // the strongest vote of a text, log, setting or finding
	own      bool
	doubt    float64 // product of 1-weight of the votes for it
	opposite float64 // product of 1-weight of those against it
}

// count puts the votes together: each that points to a cause halves the doubt in it in proportion to its
// weight, each that contradicts it takes its share away.
func count(votes []vote) []ballot {
	var order []fabric.CauseID
	byCause := map[fabric.CauseID]*ballot{}
	for _, v := range votes {
		b := byCause[v.cause]
		if b == nil {
			b = &ballot{cause: fabric.Cause{ID: v.cause, Subject: fabric.ClusterSubject()}, doubt: 1, opposite: 1}
			byCause[v.cause] = b
			order = append(order, v.cause)
		}
		b.own = b.own || v.own && v.weight > 0
		if v.about != (fabric.Subject{}) && v.weight > 0 && b.cause.Subject == fabric.ClusterSubject() {
			b.cause.Subject = v.about
		}
		if v.weight > 0 {
			b.doubt *= 1 - min(v.weight, mostConfidence)
			if !slices.Contains(b.cause.Evidence, v.seen) {
				b.cause.Evidence = append(b.cause.Evidence, v.seen)
			}
			if v.explicit {
				b.explicit = max(b.explicit, v.weight)
			}
		} else {
			b.opposite *= 1 - min(-v.weight, mostConfidence)
			if !slices.Contains(b.cause.Against, v.seen) {
				b.cause.Against = append(b.cause.Against, v.seen)
			}
		}
	}
	var out []ballot
	for _, id := range order {
		b := byCause[id]
		b.cause.Confidence = min(mostConfidence, (1-b.doubt)*b.opposite)
		if b.cause.Confidence >= leastConfidence {
			out = append(out, *b)
		}
	}
	slices.SortStableFunc(out, func(a, b ballot) int { return cmp.Compare(b.cause.Confidence, a.cause.Confidence) })
	return out
}

// ranked are the most likely causes with what confirms and fixes each. Together they are no more than certain;
// those that are too close to tell apart name the test that does.
func ranked(ballots []ballot) []fabric.Cause {
	ballots = ballots[:min(len(ballots), mostCauses)]
	sum := 0.0
	for _, b := range ballots {
		sum += b.cause.Confidence
	}
	out := make([]fabric.Cause, 0, len(ballots))
	for i, b := range ballots {
		c := b.cause
		r := remedyOf(c.ID)
		c.Confirm, c.Fix = r.confirm, r.fix
		for j, other := range ballots {
			if i != j && b.cause.Confidence-other.cause.Confidence <= tie && other.cause.Confidence-b.cause.Confidence <= tie {
				if test := tieBreakTest(c.ID, other.cause.ID); test != "" {
					c.Confirm = test
					c.Against = append(slices.Clone(c.Against), fabric.Evidence{Source: "ranking", Value: "the evidence fits " + string(other.cause.ID) + " nearly as well"})
					break
				}
			}
		}
		if sum > mostConfidence {
			c.Confidence *= mostConfidence / sum
		}
		c.Confidence = float64(int(c.Confidence*1000+0.5)) / 1000
		out = append(out, c)
	}
	return out
}

func healthyCause(confidence float64, seen ...fabric.Evidence) fabric.Cause {
	return fabric.Cause{ID: fabric.CauseHealthy, Subject: fabric.ClusterSubject(), Confidence: confidence, Evidence: seen}
}
