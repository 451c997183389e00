package diagnose

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// findingVotes is what railwright check says: a failing finding raises its cause, one that passed lowers it.
func findingVotes(s *observed) []vote {
	passed := map[fabric.CauseID]fabric.Finding{}
	failed := map[fabric.CauseID]bool{}
	var votes []vote
	for _, f := range s.findings {
		switch {
		case f.Cause == "" || f.Waived:
		case f.Status == fabric.Fail:
			failed[f.Cause] = true
			weight := 0.6
			if f.Severity != fabric.SeverityError {
				weight = 0.4
			}
			votes = append(votes, vote{cause: f.Cause, weight: weight, about: f.Subject, explicit: true, seen: fabric.Evidence{Source: "check " + f.ID, Value: strings.TrimSpace(f.Subject.String() + ": " + f.Title + ". " + f.Why)}})
		case f.Status == fabric.Pass:
			passed[f.Cause] = f
		}
	}
	for _, f := range s.findings { // in their order, so that the answer is the same each time
		if p, ok := passed[f.Cause]; ok && !failed[f.Cause] {
			votes = append(votes, vote{cause: f.Cause, weight: -0.4, seen: fabric.Evidence{Source: "check " + p.ID, Value: p.Title + ": passed"}})
			delete(passed, f.Cause)
		}
	}
	return votes
}

// logVotes reads what a debug log says of the way that NCCL took.
func logVotes(s *observed) []vote {
	if s.kind == fabric.PerftestOutput {
		return nil // what NCCL did says nothing of perftest
	}
	var votes []vote
	for i, l := range s.logs {
		own := i == 0 && s.kind == fabric.NCCLDebugLog || s.kind == fabric.ObservationFile
		add := func(c fabric.CauseID, w float64, why string) {
			if !own && len(s.failed) > 0 {
				w *= 0.4 // this result tells of a failure of its own
			}
			votes = append(votes, vote{cause: c, weight: w, own: own, explicit: true, seen: fabric.Evidence{Source: "log", Value: why}})
		}
		if !networked(l, s.hw) && l.Net != "Socket" && len(l.HCAs) == 0 {
			continue
		}
		transport(s, l, add)
		subsetOf(s, l, add)
		distances(s, l, add)
	}
	return votes
}

// transport asks what the connections between machines run on.
func transport(s *observed, l *fabric.NCCLLog, add func(fabric.CauseID, float64, string)) {
	socket, direct, bounced := strings.EqualFold(l.Net, "Socket"), 0, 0
	for _, c := range l.Connections {
		switch via := strings.ToUpper(c.Via); {
		case via == "NET/SOCKET":
			socket = true
		case strings.HasPrefix(via, "NET") && c.GDR:
			direct += max(1, c.Count)
		case strings.HasPrefix(via, "NET"):
			bounced += max(1, c.Count)
		}
	}
	if socket && l.Nodes != 1 && (s.hw.Nodes != 1) {
		switch {
		case strings.EqualFold(s.hw.Net, "tcp"):
		default:
			add(fabric.CauseSocketFallback, 0.9, "NET/Socket: NCCL runs on TCP")
		}
		return
	}
	if strings.HasPrefix(strings.ToUpper(l.Net), "IB") || direct+bounced > 0 {
		add(fabric.CauseSocketFallback, -0.8, "NCCL runs on RDMA")
	}
	switch {
	case spark(s.hw): // GB10 has one memory and no GPUDirect RDMA: NCCL always says that it is off
	case bounced > 0 && direct == 0:
		add(fabric.CauseGDRDisabled, 0.85, fmt.Sprintf("none of %d connections over the network has GDRDMA", bounced))
	case bounced > 0:
		add(fabric.CauseGDRDisabled, 0.5, fmt.Sprintf("%d of %d connections over the network have no GDRDMA", bounced, bounced+direct))
		add(fabric.CauseGPUNICMisaligned, 0.4, fmt.Sprintf("%d of %d connections over the network have no GDRDMA: their GPUs may have no near NIC", bounced, bounced+direct))
	case direct > 0:
		add(fabric.CauseGDRDisabled, -0.85, fmt.Sprintf("all %d connections over the network have GDRDMA", direct))
	}
}

// subsetOf compares the NICs that NCCL lists with those of a machine.
func subsetOf(s *observed, l *fabric.NCCLLog, add func(fabric.CauseID, float64, string)) {
	n, all := len(l.HCAs), s.hw.NICsPerNode
	switch {
	case n == 0 || all == 0:
	case n < all && spark(s.hw) && n == 1:
		add(fabric.CauseHalfPortTwin, plain, fmt.Sprintf("NET/IB uses %s alone, one twin of a port", l.HCAs[0]))
	case n < all:
		add(fabric.CauseHCASubset, plain, fmt.Sprintf("NET/IB uses %d of %d NICs: %s", n, all, strings.Join(l.HCAs[:min(n, 16)], " ")))
	default:
		add(fabric.CauseHCASubset, -0.7, fmt.Sprintf("NET/IB uses %d NICs, all of them", n))
	}
}

// distances reads the System dump: with every NIC behind the CPU there is no switch that NCCL knows of.
func distances(s *observed, l *fabric.NCCLLog, add func(fabric.CauseID, float64, string)) {
	far, near := 0, 0
	for _, line := range l.Paths {
		if !strings.HasPrefix(strings.TrimSpace(line.Text), "GPU/") {
			continue
		}
		for _, f := range strings.Fields(line.Text) {
			net, to, ok := strings.Cut(f, "(")
			_ = net
			if ok && strings.HasSuffix(to, "/PHB)") || strings.HasSuffix(to, "/SYS)") {
				far++
			} else if strings.HasSuffix(to, "/PIX)") || strings.HasSuffix(to, "/PXB)") || strings.HasSuffix(to, "/P2C)") {
				near++
			}
		}
	}
	if far == 0 || near > 0 || len(l.HCAs) == 0 {
		return
	}
	if s.virtual() {
		add(fabric.CauseVMTopologyMissing, 0.6, "every NIC is PHB or SYS away from every GPU, in a virtual machine")
	} else {
		add(fabric.CauseGDRDisabled, 0.3, "every NIC is PHB or SYS away from every GPU")
		add(fabric.CauseGPUNICMisaligned, 0.3, "every NIC is PHB or SYS away from every GPU")
	}
}
