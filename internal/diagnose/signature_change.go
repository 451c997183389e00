package diagnose

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

// suspects are the causes that a change touches, by the concepts that its words name; the first that fits.
func suspects() []textRule {
	return []textRule{
		{fabric.CauseVMTopologyMissing, 1, "topofile !rate !wrong"},
		{fabric.CauseTopoXMLWrong, 1, "xml"},
		{fabric.CauseVMTopologyMissing, 1, "topofile"},
		{fabric.CauseMTUMismatch, 1, "mtu"},
		{fabric.CauseMTUMismatch, 1, "smallmtu"},
		{fabric.CauseMTUMismatch, 1, "goodmtu"},
		{fabric.CauseATSDisabled, 1, "ats"},
		{fabric.CauseACSRedirect, 1, "acs"},
		{fabric.CauseIOMMUTranslated, 1, "iommu"},
		{fabric.CauseNetPlugin, 1, "plugin"},
		{fabric.CauseNetPlugin, 1, "ece"},
		{fabric.CauseNetPlugin, 1, "chunk"},
		{fabric.CauseLibraryBuild, 1, "build"},
		{fabric.CauseLibraryBuild, 1, "version"},
		{fabric.CauseGDRDisabled, 1, "peermem"},
		{fabric.CauseACSRedirect, 1, "gdroff"},
		{fabric.CauseACSRedirect, 1, "gdr-"},
		{fabric.CauseGDRDisabled, 1, "gdr"},
		{fabric.CauseHalfPortTwin, 1, "twin"},
		{fabric.CauseHCASubset, 1, "subset"},
		{fabric.CauseHCASubset, 1, "hcavar"},
		{fabric.CauseFirmwareDCBX, 1, "dcbx"},
		{fabric.CauseQoSClassMismatch, 1, "qosclass"},
		{fabric.CauseRoCELossy, 1, "pfc"},
		{fabric.CauseRoCELossy, 1, "ecn"},
		{fabric.CauseHostMemoryInterleaving, 1, "interleaving"},
		{fabric.CauseNICProfile, 1, "relaxed"},
		{fabric.CauseNICProfile, 1, "readrequest"},
		{fabric.CauseNICProfile, 1, "profile"},
		{fabric.CauseNumaBalancing, 1, "numabalancing"},
		{fabric.CauseCPUAffinity, 1, "affinity"},
		{fabric.CauseP2PChannels, 1, "p2pchannels"},
		{fabric.CauseACSRedirect, 1, "p2p"},
		{fabric.CauseTreeArtefact, 1, "ring"},
		{fabric.CauseTreeArtefact, 1, "tree"},
		{fabric.CauseNCCLSettings, 1, "settings"},
		{fabric.CauseBondHashing, 1, "bond"},
		{fabric.CauseGIDIndex, 1, "gid"},
		{fabric.CauseFirewall, 1, "firewall"},
		{fabric.CauseMemlock, 1, "memlock"},
		{fabric.CauseEnvNotForwarded, 1, "forward"},
		{fabric.CauseNICDegradedInit, 1, "rebooted"},
		{fabric.CauseFabricManager, 1, "fabricmanager"},
		{fabric.CauseGPUThrottled, 1, "throttle"},
		{fabric.CauseSocketFallback, 1, "socket"},
		{fabric.CauseMiscabled, 1, "cabling"},
		{fabric.CauseSlowNode, 1, "without"},
		{fabric.CauseHCASubset, 1, "hca"},
	}
}

// moved is how much a change must move a number to be distinguished from repeats of a run: they agree within a twentieth.
const moved = 0.07

// ab is the source of what a change showed.
const ab = "A/B"

// changeVotes reads A/B observations: what moved the number is what is wrong in the slower of the two states, and
// what did not is not.
func changeVotes(s *observed) []vote {
	var votes []vote
	for _, p := range s.points {
		if p.changed == "" || !p.own {
			continue
		}
		base := s.baseOf(p)
		if base == nil {
			continue
		}
		a, b := base.busbw+base.gbps, p.busbw+p.gbps
		share := min(a, b) / max(a, b)
		cause := s.suspected(s.words.read(p.changed, ""))
		if cause == "" {
			continue
		}
		e := fabric.Evidence{Source: ab, Value: fmt.Sprintf("%s: %s before, %s after", p.changed, number(a), number(b))}
		switch {
		case cause == fabric.CauseACSRedirect && b < a: // without GPUDirect or P2P it is slower: they are not at fault
			votes = append(votes, vote{cause: cause, weight: -likely, own: p.own, explicit: true, seen: e})
		case share > 1-moved:
			votes = append(votes, vote{cause: cause, weight: -plain, own: p.own, explicit: true, seen: e})
		default:
			votes = append(votes, vote{cause: cause, weight: 0.9, own: p.own, explicit: true, seen: e})
		}
	}
	return append(votes, wordedChangeVotes(s)...)
}

// outcomeKnown reports whether it is known what came of a change: a number to compare, or a word.
func (s *observed) outcomeKnown(st statement) bool {
	if suspect(s.words.read(st.changed, "")) == "" {
		return false
	}
	for _, p := range s.points {
		if p.own == st.own && p.changed == st.changed && s.baseOf(p) != nil {
			return true
		}
	}
	for _, word := range []string{"fixed", "fine", "same", "trouble", "slow"} {
		if st.names(word) {
			return true
		}
	}
	return false
}

// wordedChangeVotes reads changes whose result is a word.
func wordedChangeVotes(s *observed) []vote {
	var votes []vote
	for _, st := range s.statements {
		cause := s.suspected(st)
		if cause == "" || !st.own {
			continue
		}
		e := fabric.Evidence{Source: st.source, Value: st.text}
		switch {
		case st.names("same") || st.names("fixed-"):
			votes = append(votes, vote{cause: cause, weight: -plain, own: st.own, explicit: true, seen: e})
		case st.experiment && (st.names("trouble+") || st.names("slow+")) && !st.names("fixed+"): // it made things worse
		case st.names("fixed+") || st.experiment && st.names("fine+"):
			votes = append(votes, vote{cause: cause, weight: plain, own: st.own, explicit: true, seen: e})
		}
	}
	return votes
}

// suspected is suspect on these machines: of a DGX Spark, NICs are the twins of a port.
func (s *observed) suspected(st statement) fabric.CauseID {
	c := suspect(st)
	if c == fabric.CauseHCASubset && spark(s.hw) {
		return fabric.CauseHalfPortTwin
	}
	return c
}

func suspect(st statement) fabric.CauseID {
	for _, c := range suspects() {
		if st.all(c.terms) {
			return c.cause
		}
	}
	return ""
}

// baseOf is the number to compare a changed one with: of the same test, unchanged.
func (s *observed) baseOf(p point) *point {
	for i, q := range s.points {
		if q.changed == "" && q.test == p.test && (p.collective == "" || q.collective == p.collective) && q.nodes == p.nodes && q.size == p.size && q.memory == p.memory && (q.busbw > 0) == (p.busbw > 0) && !q.text {
			return &s.points[i]
		}
	}
	return nil
}
