package diagnose

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// healthyCauses are the causes of a healthy result: what looks odd in it and is not, then that it is healthy.
func (s *observed) healthyCauses(ballots []ballot, why string) []fabric.Cause {
	var odd []ballot
	for _, b := range ballots {
		if b.own && (harmless(b.cause.ID) || b.cause.ID == fabric.CauseMTUMismatch && s.kind == fabric.PerftestOutput) {
			odd = append(odd, b)
		}
	}
	confidence := 0.9
	if len(odd) > 0 {
		confidence = 0.5
	}
	causes := ranked(odd)
	for i := range causes {
		if !harmless(causes[i].ID) {
			causes[i].Confidence = min(causes[i].Confidence, faint)
		}
	}
	causes = append(causes, healthyCause(confidence, fabric.Evidence{Source: "measured", Value: why}))
	slices.SortStableFunc(causes, func(a, b fabric.Cause) int {
		switch {
		case a.Confidence > b.Confidence:
			return -1
		case a.Confidence < b.Confidence:
			return 1
		}
		return 0
	})
	return causes
}

// openCauses are the candidates of a result that cannot be decided. None is a guess: where nothing points to a fault
// there is none, and that nothing is wrong is not one either.
func (s *observed) openCauses(ballots []ballot) []fabric.Cause {
	causes := ranked(slices.DeleteFunc(slices.Clone(ballots), func(b ballot) bool { return b.cause.ID == fabric.CauseHealthy }))
	if len(causes) > 0 && causes[0].Confidence > surely {
		share := surely / causes[0].Confidence
		for i := range causes { // undecided is undecided
			causes[i].Confidence *= share
		}
	}
	return causes
}

// nextTest is the next thing to do where there is no verdict.
func (s *observed) nextTest() string {
	if len(s.needs) > 0 {
		return "railwright explain FILE again with " + strings.Join(s.needs, "; ")
	}
	switch {
	case s.kind == fabric.NCCLDebugLog:
		return "run all_reduce_perf -b 8 -e 8G -f 2 with NCCL_DEBUG=INFO and explain its whole output"
	case s.unusable != "":
		return "measure again and keep the whole output: all_reduce_perf -b 8 -e 8G -f 2, or ib_write_bw -a --report_gbits"
	case s.hw.Nodes > 1 || s.hw.Nodes == 0:
		return "all_reduce_perf -b 8 -e 8G -f 2 on one node, on two with NCCL_ALGO=RING, and ib_write_bw --report_gbits with and without --use_cuda"
	default:
		return "all_reduce_perf -b 8 -e 8G -f 2 -g 8 on the node"
	}
}

// faultsOnly drops what is no fault from the causes of one.
func (s *observed) faultsOnly(ballots []ballot) []ballot {
	real := slices.DeleteFunc(slices.Clone(ballots), func(b ballot) bool {
		return harmless(b.cause.ID) && b.explicit < surely
	})
	if len(real) == 0 {
		return ballots
	}
	return real
}
