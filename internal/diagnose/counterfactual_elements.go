package diagnose

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Costs of faults of which no figure of the machine is known: the share of a healthy NIC's rate that is left, from one
// end of what was reported to the other.
const (
	// GPU traffic that turns around in the root complex: 0.45 to 0.6 of the bound (cause-ids.md, acs-redirect, ats-disabled).
	throughRootLow, throughRootHigh = 0.45, 0.6

	// An MTU of 1500 leaves 0.8 of healthy (cause-ids.md, mtu-mismatch): more packets, beside their headers.
	smallPackets = 0.8

	// Copies through host memory: flat at 0.03 to 0.13 at worst (collectives.md, section 7), the model's own figure at best.
	stagedLow = 0.05
)

// apply puts a fault in force.
func (s *state) apply(f Fault, worst bool) {
	line := s.hw.NICGbps / 8
	if f.NICs > 0 && f.NICs < s.hw.NICsPerNode {
		s.hw.NICsPerNode = f.NICs
	}
	if f.Gbps > 0 {
		s.port = least(s.port, f.Gbps/8)
	}
	if r := f.PCIe.payload(); r > 0 {
		s.pcie = least(s.pcie, r)
		if whole := f.OfPCIe.payload(); whole > r {
			s.lanes = min(s.lanes, r/whole)
		}
	}
	if f.Oversubscription > 1 {
		s.hw.Oversubscription = max(s.hw.Oversubscription, f.Oversubscription)
	}
	if f.NVLinks > 0 && f.NVLinks < f.OfLinks {
		s.links = min(s.links, float64(f.NVLinks)/float64(f.OfLinks))
	}
	if f.MTU > 0 {
		s.port = least(s.port, line*packetShare(f.MTU, worst))
	}
	switch f.ID {
	case fabric.CauseSocketFallback:
		s.sockets()
	case fabric.CauseGDRDisabled, fabric.CauseVMTopologyMissing:
		s.staged(f, line, worst)
	case fabric.CauseACSRedirect, fabric.CauseATSDisabled:
		if s.hw.Nodes > 1 { // between GPUs of a node no cost was reported
			s.path = least(s.path, line*end(worst, throughRootLow, throughRootHigh))
		}
	case fabric.CauseHalfPortTwin:
		if f.NICs == 0 && s.hw.NICsPerNode > 1 { // one of two PCIe functions of each port
			s.hw.NICsPerNode = (s.hw.NICsPerNode + 1) / 2
		}
	case fabric.CauseMTUMismatch:
		if f.MTU == 0 {
			s.port = least(s.port, line*packetShare(ethernetPath, worst))
		}
	}
}

// staged takes GPUDirect RDMA away. With a setting the model alone says what that costs.
func (s *state) staged(f Fault, line float64, worst bool) {
	if s.env == nil {
		s.env = map[string]string{}
	}
	if len(f.Settings) == 0 {
		s.env["NCCL_NET_GDR_LEVEL"] = "LOC"
		if worst {
			s.path = least(s.path, line*stagedLow)
		}
	}
}

func end(worst bool, low, high float64) float64 {
	if worst {
		return low
	}
	return high
}

// least is the lower of two limits, of which 0 is none.
func least(a, b float64) float64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// ethernetPath is the path MTU of RDMA over interfaces of 1500 bytes, and wholePath the largest there is (InfiniBand
// Architecture: path MTUs are powers of two from 256 to 4096).
const ethernetPath, wholePath = 1024, 4096

// packetShare is what smaller packets leave of a NIC's healthy rate. Headers of RoCE take 82 bytes each (catalog, fabric
// roce); beyond that the NIC handles more packets, down to smallPackets at 1024.
func packetShare(mtu int, worst bool) float64 {
	const header = 82
	room := func(n float64) float64 { return n / (n + header) }
	if mtu >= wholePath {
		return 1
	}
	share := room(float64(mtu)) / room(wholePath)
	if worst {
		return min(share, smallPackets*float64(mtu)/max(ethernetPath, float64(mtu)))
	}
	return share
}

// payload is the data rate of a PCIe link, GB/s one way: 8b/10b below 8 GT/s and 128b/130b above (PCI Express Base
// Specification 5.0, 4.2), then packets of 256 bytes with 24 bytes around them and flow control (2.2): 54 of 63 GB/s.
func (l Lanes) payload() float64 {
	const packets = 54.0 / 63
	if l.Speed <= 0 || l.Width <= 0 {
		return 0
	}
	code := 128.0 / 130
	if l.Speed < 8 {
		code = 0.8
	}
	return l.Speed * float64(l.Width) / 8 * code * packets
}

// unmodelled says what the model lacks to tell what a fault costs; empty: nothing.
func (w *worlds) unmodelled(i int) string {
	f := w.faults[i]
	if f.ID == fabric.CauseSlowNode || f.ID == fabric.CauseSlowLink {
		if f.Without > 0 {
			return ""
		}
		return "rate of a slow part: a measurement without it gives one"
	}
	alone, healthy := w.state(set(0).with(i), true), w.state(0, true)
	if alone.otherMachines(healthy) {
		return ""
	}
	if w.Hardware.Net == socketNet && len(f.Settings) > 0 {
		return w.settings(f) + " over sockets"
	}
	with, without := w.world(set(0).with(i)), w.world(0)
	if with.err == nil && without.err == nil && !sameRates(with, without) {
		return ""
	}
	if with.err != nil {
		return "prediction with it: " + with.err.Error()
	}
	if len(f.Settings) == 0 {
		return missingNumber(f)
	}
	if !slices.ContainsFunc(f.Settings, func(name string) bool { return !plainSetting(name) }) {
		return ""
	}
	return w.settings(f)
}

// dropIdleSettings leaves out of faults of several settings those that the model reads and that change nothing.
func (w *worlds) dropIdleSettings() {
	for i := range w.faults {
		f := &w.faults[i]
		if len(f.Settings) < 2 {
			continue
		}
		with := w.predict(w.state(set(0).with(i), false))
		costly := slices.DeleteFunc(slices.Clone(f.Settings), func(name string) bool {
			less := w.state(set(0).with(i), false)
			delete(less.env, name)
			without := w.predict(less)
			return plainSetting(name) && with.err == nil && without.err == nil && sameRates(with, without)
		})
		if len(costly) > 0 {
			f.Settings = costly
		}
	}
}

// plainSetting are the settings whose every value the model reads: a prediction that does not change with one says that
// it costs nothing here.
func plainSetting(name string) bool {
	switch name {
	case "NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_P2P_DISABLE", "NCCL_NET",
		"NCCL_NTHREADS", "NCCL_LL128_NTHREADS", "NCCL_BUFFSIZE":
		return true
	}
	return false
}

// missingNumber is what is unknown of a fault of the machines.
func missingNumber(f Fault) string {
	switch f.ID {
	case fabric.CauseHCASubset, fabric.CauseLinkDown, fabric.CauseTopoXMLWrong, fabric.CauseGPUNICMisaligned:
		return fmt.Sprintf("number of NICs that %s leaves", f.ID)
	case fabric.CausePortRateLow, fabric.CauseNICDegradedInit:
		return "rate of the slow port"
	case fabric.CausePCIeDowngraded, fabric.CausePCIeDowngradedUpstream:
		return "trained speed and width of the PCIe link"
	case fabric.CauseNVLinkDegraded:
		return "number of NVLinks that are left"
	case fabric.CauseOversubscription:
		return "ratio of downlinks to uplinks"
	default:
		return "cost of " + string(f.ID)
	}
}

func sameRates(a, b world) bool {
	for i := range a.rates {
		if a.rates[i] != b.rates[i] {
			return false
		}
	}
	return true
}
