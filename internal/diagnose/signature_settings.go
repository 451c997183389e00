package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// settingRule is what a setting points to when its value is one that costs something.
type settingRule struct {
	name   string
	cause  fabric.CauseID
	weight float64
	costly func(value string) bool
	why    string
}

func is1(v string) bool { return v == "1" || strings.EqualFold(v, "true") || strings.EqualFold(v, "y") }
func is0(v string) bool {
	return v == "0" || strings.EqualFold(v, "false") || strings.EqualFold(v, "n") || strings.EqualFold(v, "off")
}
func anyValue(v string) bool { return v != "" }
func among(words ...string) func(string) bool {
	return func(v string) bool {
		for _, w := range words {
			if strings.EqualFold(v, w) {
				return true
			}
		}
		return false
	}
}
func atMost(n int) func(string) bool {
	return func(v string) bool {
		k, err := strconv.Atoi(v)
		return err == nil && k <= n
	}
}

// rules are the settings of NCCL and RCCL that make something slow or fail by design (NCCL user guide,
// environment variables).
func settingRules() []settingRule {
	return []settingRule{
		{"NCCL_IB_DISABLE", fabric.CauseSocketFallback, 0.85, is1, "RDMA is switched off"},
		{"NCCL_NET", fabric.CauseSocketFallback, 0.85, among("socket"), "TCP is requested"},
		{"NCCL_NET_GDR_LEVEL", fabric.CauseGDRDisabled, plain, among("0", "LOC"), "GPUDirect RDMA is switched off"},
		{"NCCL_NET_GDR_LEVEL", fabric.CauseGDRDisabled, hint, among("1", "PIX"), "GPUDirect RDMA only where GPU and NIC share one PCIe switch"},
		{"NCCL_DMABUF_ENABLE", fabric.CauseGDRDisabled, 0.25, is0, "registration by dma-buf is switched off"},
		{"NCCL_NET_GDR_READ", fabric.CauseGDRDisabled, 0.15, is0, "data is sent from host memory"},
		{"NCCL_PROTO", fabric.CauseNCCLSettings, likely, among("LL"), "LL carries at most half of a link"},
		{"NCCL_ALGO", fabric.CauseNCCLSettings, 0.15, anyValue, "an algorithm is forced"},
		{"NCCL_MAX_NCHANNELS", fabric.CauseNCCLSettings, likely, atMost(4), "few channels"},
		{"NCCL_MAX_CTAS", fabric.CauseNCCLSettings, likely, atMost(4), "few channels"},
		{"NCCL_MAX_NRINGS", fabric.CauseNCCLSettings, likely, atMost(4), "few channels"},
		{"NCCL_P2P_DISABLE", fabric.CauseNCCLSettings, likely, is1, "GPUs do not reach each other directly"},
		{"NCCL_P2P_LEVEL", fabric.CauseNCCLSettings, likely, among("LOC", "0"), "GPUs do not reach each other directly"},
		{"NCCL_SHM_DISABLE", fabric.CauseNCCLSettings, 0.3, is1, "no shared memory within a node"},
		{"NCCL_NVLS_ENABLE", fabric.CauseNCCLSettings, 0.3, is0, "no NVLink multicast"},
		{"NCCL_BUFFSIZE", fabric.CauseNCCLSettings, 0.4, atMost(1 << 20), "small buffers"},
		{"NCCL_NTHREADS", fabric.CauseNCCLSettings, 0.3, atMost(128), "few threads"},
		{"NCCL_PXN_DISABLE", fabric.CauseNCCLSettings, 0.2, is1, "no path through the NIC of another GPU"},
		{"NCCL_MAX_P2P_NCHANNELS", fabric.CauseP2PChannels, likely, atMost(2), "few point-to-point channels"},
		{"NCCL_NCHANNELS_PER_NET_PEER", fabric.CauseP2PChannels, hint, atMost(1), "one channel to a peer"},
		{"NCCL_NET_PLUGIN", fabric.CauseNetPlugin, likely, among("none", ""), "the network plugin is switched off"},
		{"NCCL_TUNER_PLUGIN", fabric.CauseNetPlugin, 0.2, among("none"), "the tuner is switched off"},
		{"NCCL_IB_ECE_ENABLE", fabric.CauseNetPlugin, 0.2, is1, "enhanced connections are on"},
		{"NCCL_IB_GID_INDEX", fabric.CauseGIDIndex, 0.2, anyValue, "a GID index is fixed, and tables differ between machines"},
		{"NCCL_TOPO_FILE", fabric.CauseTopoXMLWrong, 0.15, anyValue, "a topology file is given"},
		{"NCCL_IGNORE_CPU_AFFINITY", fabric.CauseCPUAffinity, 0.2, is1, "the affinity of processes is ignored"},
	}
}

// settingVotes reads the settings. A setting is a cause only of something that is slow or fails: it is counted then.
func settingVotes(s *observed) []vote {
	if s.kind == fabric.PerftestOutput {
		return nil // perftest does not read them
	}
	var votes []vote
	hca, ucx := false, setting{}
	for _, v := range s.settings {
		source := fabric.Evidence{Source: v.source, Value: v.name + "=" + v.value}
		for _, r := range settingRules() {
			if r.name == strings.Replace(v.name, "RCCL_", "NCCL_", 1) && r.costly(strings.TrimSpace(v.value)) {
				e := source
				e.Value += ": " + r.why
				votes = append(votes, vote{cause: r.cause, weight: r.weight, explicit: r.weight >= likely, seen: e})
			}
		}
		switch v.name {
		case "NCCL_IB_HCA":
			hca = true
			votes = append(votes, s.hcas(v)...)
		case "UCX_NET_DEVICES":
			ucx = v
		}
	}
	if len(s.failed) > 0 && s.slowAcross() == nil && s.slowInside() == nil {
		for i := range votes {
			votes[i].weight *= 0.4 // what makes slow does not make fail
		}
	}
	if s.limitedBy != "" {
		votes = append(votes, vote{cause: fabric.CauseNCCLSettings, weight: 0.85, own: true, explicit: true, seen: fabric.Evidence{Source: "prediction", Value: s.limitedBy}})
	}
	if ucx.name != "" && !hca {
		votes = append(votes, vote{cause: fabric.CauseHCASubset, weight: 0.25, seen: fabric.Evidence{Source: ucx.source, Value: "UCX_NET_DEVICES=" + ucx.value + " does not steer NCCL: NCCL_IB_HCA does"}})
	}
	return votes
}

// hcas counts the NICs that NCCL_IB_HCA leaves. Names are prefixes unless = stands in front, ^ leaves out, and
// NCCL does not trim blanks.
func (s *observed) hcas(v setting) []vote {
	value := strings.TrimSpace(v.value)
	add := func(c fabric.CauseID, w float64, why string) []vote {
		return []vote{{cause: c, weight: w, explicit: true, seen: fabric.Evidence{Source: v.source, Value: "NCCL_IB_HCA=" + v.value + ": " + why}}}
	}
	if strings.Contains(value, ", ") || strings.Contains(value, " ,") {
		return add(fabric.CauseHCASubset, plain, "NCCL does not trim blanks, so only the first name matches")
	}
	if strings.HasPrefix(value, "^") || value == "" {
		return nil
	}
	names := namedHCAs(value)
	nics := s.hw.NICsPerNode
	weight, rest := plain, ""
	if p := s.slowAcross(); p != nil && s.rest(p) > 0 && s.rest(p) < restFine {
		weight, rest = 0.45, fmt.Sprintf(", and what was measured is only %.0f %% of what those would carry", 100*s.rest(p))
	}
	switch {
	case names == 0: // a bare prefix such as mlx5 takes them all
	case spark(s.hw) && names == 1:
		return add(fabric.CauseHalfPortTwin, plain, "one twin of a port")
	case nics > 0 && names < nics:
		return add(fabric.CauseHCASubset, weight, fmt.Sprintf("%d of %d NICs%s", names, nics, rest))
	case nics == 0 && names == 1:
		return add(fabric.CauseHCASubset, 0.3, "one NIC")
	}
	return nil
}

// restFine is the share of what the chosen NICs carry from which their number explains the rest.
const restFine = 0.75

// namedHCAs counts the NICs that NCCL_IB_HCA names; 0: it names none, leaves some out, or takes all by a prefix.
func namedHCAs(value string) int {
	value = strings.TrimSpace(value)
	if value == "" || strings.HasPrefix(value, "^") || strings.Contains(value, " ") {
		return 0
	}
	names := strings.Split(strings.TrimPrefix(value, "="), ",")
	for _, n := range names {
		if !strings.HasPrefix(value, "=") && strings.TrimRight(n, "0123456789:") == n {
			return 0
		}
	}
	return len(names)
}
