package diagnose

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Causes that only some machines can have.
var (
	ofRoCE   = []fabric.CauseID{fabric.CauseGIDIndex, fabric.CauseRoCELossy, fabric.CauseQoSClassMismatch, fabric.CauseARPFlux, fabric.CauseFirmwareDCBX, fabric.CauseAddressConflict}
	ofNVIDIA = []fabric.CauseID{fabric.CauseFabricManager}
	ofAMD    = []fabric.CauseID{fabric.CauseXGMIModelUnmatched}
	ofSpark  = []fabric.CauseID{fabric.CauseHalfPortTwin, fabric.CauseNICDegradedInit}
)

// elsewhere is what is left of the prior of a cause on machines that do not have what it needs, as far as is known of them:
// what is said of machines may be wrong.
const elsewhere = 0.03

// atHome is by how much a cause that only one family of machines has is likelier on it than on any machine: it is one of
// about ten families in the threads from which the priors are.
const atHome = 10

// fits returns the share of a cause's prior that is left on the machines of this result.
func (s *observed) fits(cause fabric.CauseID) float64 {
	gpu := strings.ToLower(s.hw.GPU)
	rccl := slices.ContainsFunc(s.logs, func(l *fabric.NCCLLog) bool { return l.Library == "RCCL" })
	nccl := slices.ContainsFunc(s.logs, func(l *fabric.NCCLLog) bool { return l.Library == "NCCL" })
	switch {
	case slices.Contains(ofRoCE, cause) && s.infiniBand(),
		slices.Contains(ofNVIDIA, cause) && (amd(s.hw) || rccl && !nccl),
		slices.Contains(ofAMD, cause) && (gpu != "" && !amd(s.hw) || nccl && !rccl),
		cause == fabric.CauseGDRDisabled && spark(s.hw), // GPU and CPU share one memory
		slices.Contains(ofSpark, cause) && gpu != "" && !spark(s.hw):
		return elsewhere
	case slices.Contains(ofSpark, cause) && spark(s.hw):
		return atHome
	}
	return 1
}

// infiniBand reports whether the network is known to be InfiniBand: by what is stated, or by what NCCL lists.
func (s *observed) infiniBand() bool {
	if s.hw.Net != "" {
		return strings.EqualFold(s.hw.Net, "ib")
	}
	ports := 0
	for _, l := range s.logs {
		for _, h := range l.HCAs {
			if !strings.HasSuffix(h, "/IB") {
				return false
			}
			ports++
		}
	}
	return ports > 0
}
