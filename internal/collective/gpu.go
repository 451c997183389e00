package collective

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
)

// wiring is what connects the GPUs of a machine.
type wiring uint8

const (
	overPCIe   wiring = iota
	overSwitch        // NVSwitch: any pair at the full rate
	overMesh          // XGMI: each pair has its own link
)

// gpu is a GPU in the numbers that the model needs.
type gpu struct {
	known  bool
	amd    bool
	sm     int    // compute capability times ten: 90; 0 for AMD
	gfx    string // gfx942; empty for NVIDIA
	wiring wiring
	links  int
	model  float64 // GB/s of all links as NCCL or RCCL counts them
	ring   float64 // GB/s that a ring reaches with the GPUs of this machine
	limit  float64 // GB/s of data that the links can carry
	nvls   float64 // GB/s that a GPU reaches where the switch reduces; 0: it cannot
	pcie   float64 // GB/s of a x16 link of its generation, as NCCL counts them

	unified  bool // it shares the memory of its CPU: there is no other that data could be staged in
	hostOnly bool // its driver does not support peer-to-peer over PCIe
}

// linkRate is what NCCL and RCCL count for one link, GB/s (nccl, src/graph/topo.h: SM60 to SM100_NVLINK_BW;
// rccl, src/graph/topo.h: MI200_XGMI_WIDTH, GFX94X_XGMI_WIDTH).
func linkRate(sm int, gfx string) float64 {
	switch {
	case sm >= 100:
		return 40.1
	case sm >= 90:
		return 20.6
	case sm == 86:
		return 12
	case sm >= 70:
		return 20
	case sm >= 60:
		return 18
	case gfx == "gfx90a":
		return 36
	case strings.HasPrefix(gfx, "gfx94"):
		return 48
	case strings.HasPrefix(gfx, "gfx95"):
		return 60 // 76.8 GB/s of its links at the ratio of 48 to 64 on gfx942, and at least what was measured
	default:
		return 0
	}
}

// reachedShare is what rings are expected to reach over PCIe of what NCCL counts for it: what they reach over NVLink and XGMI,
// 0.94 to 0.98.
const reachedShare = 0.96

// pcieGen is what NCCL counts for 16 lanes, GB/s (nccl, src/graph/topo.cc, kvDictPciGen: 80 units per GB/s).
func pcieGen(speed float64) float64 {
	switch {
	case speed >= 64:
		return 96
	case speed >= 32:
		return 48
	case speed >= 16:
		return 24
	case speed >= 8:
		return 12
	default:
		return 48
	}
}

func (c *Cluster) resolveGPU(cat *catalog.Catalog) error {
	pcieOnly := c.hw.NVLink != nil && !*c.hw.NVLink
	id, m, err := cat.GPU(c.hw.GPU)
	if err != nil {
		if !pcieOnly && c.local() > 1 {
			return fmt.Errorf("hardware: gpu: %w; its links are needed unless nvlink is false", err)
		}
		c.gpu = gpu{sm: 90, pcie: 48}
		c.unmeasured = true
		c.gpu.ring, c.gpu.limit, c.gpu.model = c.pcieRates()
		if c.local() == 1 {
			c.gpu.ring = c.gpu.limit
		}
		c.assume("not in the catalog", "GPU %q has PCIe 5.0 x16 and the protocols of compute capability 9.0", c.hw.GPU)
		return nil
	}
	c.hw.GPU = id
	g := gpu{known: true, unified: m.Unified, amd: m.Vendor == "amd", pcie: pcieGen(m.PCIeLink.Speed), hostOnly: m.PeerToPeer != nil && !*m.PeerToPeer}
	if g.sm, g.gfx, err = architecture(m); err != nil {
		return fmt.Errorf("GPU %q: %w", id, err)
	}
	c.gpu = g
	switch {
	case c.local() == 1: // only its own link to the NICs
		c.gpu.limit = c.gpu.pcie * pciePayload
		c.gpu.ring, c.gpu.model = c.gpu.limit, c.gpu.limit
		return nil
	case pcieOnly || m.ScaleUp.Value == 0:
		c.gpu.ring, c.gpu.limit, c.gpu.model = c.pcieRates()
		return nil
	}
	c.scaleUp(cat, m)
	return nil
}

// architecture is the compute capability of a GPU times ten, or for AMD its name.
func architecture(m catalog.GPUModel) (sm int, gfx string, err error) {
	if m.Vendor == "amd" {
		return 0, m.Arch, nil
	}
	if sm, err = strconv.Atoi(strings.TrimPrefix(m.Arch, "sm_")); err != nil {
		return 0, "", fmt.Errorf("invalid architecture %q in the catalog: not sm_ and a number", m.Arch)
	}
	return sm, "", nil
}

// scaleUp sets the rates of NVLink or XGMI for this number of GPUs.
func (c *Cluster) scaleUp(cat *catalog.Catalog, m catalog.GPUModel) {
	g := &c.gpu
	g.links = int(m.ScaleUpLinks.Value)
	g.model = linkRate(g.sm, g.gfx) * float64(g.links)
	g.ring = m.Ring.Value
	if g.ring == 0 {
		share, source := likelyRing(cat, m)
		g.ring = g.model * share
		c.unmeasured = true
		c.assume(source, "rings reach %.0f GB/s over the links of %s", g.ring, c.hw.GPU)
	}
	g.limit = m.ScaleUp.Value // NCCL's count is no bound: gather reaches 376.6 GB/s on H200, which it counts with 370.8
	g.limit *= g.payloadOfLinks()
	if m.RingDirect.Value > 0 && c.local() == 4 && c.hw.Machine == "" {
		g.ring = m.RingDirect.Value
		c.mixed = true
		c.assume(m.RingDirect.Source, "boards of four GPUs have no switch: rings reach %.0f GB/s", g.ring)
	}
	g.limit = max(g.limit, g.ring)
	g.nvls = m.Multicast.Value
	g.wiring = overSwitch
	if g.amd {
		g.wiring = overMesh
		// A GPU has a link for each other GPU: with fewer GPUs there are fewer links to use.
		share := min(1, float64(c.local()-1)/float64(max(g.links, 1)))
		g.limit, g.ring, g.model = g.limit*share, g.ring*share, g.model*share
	} else if g.nvls == 0 && g.sm >= 90 && g.links == allLinks {
		share, source := likelyLinks(cat, m, func(o catalog.GPUModel) float64 { return o.Multicast.Value })
		if share == 0 {
			share, source = newNCCLTables().nvls[generation(g.sm)], "nccl, src/graph/tuning.cc: what reductions in the switch reach of its links"
		}
		g.nvls = share * g.model
		c.assume(source, "the switch reduces at %.0f GB/s per GPU", g.nvls)
	}
	c.wideDomain()
}

// allLinks is how many NVLinks a Hopper or Blackwell GPU has on a board whose switches reduce (nccl, src/transport/nvls.cc:
// multicast needs a switch); one with fewer is joined in pairs, or its switches are unknown.
const allLinks = 18

// payloadOfLinks is the share of its links' rate that data can take; 1 where what surrounds it is unknown.
func (g gpu) payloadOfLinks() float64 {
	switch {
	case !g.amd:
		return linkPayload
	case strings.HasPrefix(g.gfx, "gfx94"):
		return meshPayload
	default:
		return 1
	}
}

// meshPayload is what data can take of XGMI on MI300X and MI325X. CRC and protocol leave about 48 of 64 GB/s of a link (AMD, ROCm
// blogs, "Understanding RCCL Bandwidth and xGMI Performance on AMD Instinct MI300X", 2025); as machines of which RCCL uses one link only
// show 48 to 50, a fifth counts as what data cannot have.
const meshPayload = 0.8

// linkPayload is the payload of NVLink: packets of 256 bytes with a header of 16 and flow control (NVIDIA Pascal
// architecture white paper, NVLink).
const linkPayload = 0.94

// pcieRates returns what a ring reaches over PCIe, what it cannot exceed, and what NCCL counts. Between two
// GPUs below different root ports of an Intel CPU, NCCL counts 6 bytes for 5 (nccl, src/graph/search.cc,
// INTEL_P2P_OVERHEAD).
func (c *Cluster) pcieRates() (ring, limit, model float64) {
	if c.gpu.hostOnly { // each byte goes through the CPU: in over one link and out over another, one after the other
		limit = c.gpu.pcie * pciePayload
		return limit * withoutDirect, limit, c.gpu.pcie * withoutDirect
	}
	limit = c.gpu.pcie * pciePayload
	model = c.gpu.pcie
	if c.hw.CPU == "intel" || c.hw.CPU == "" {
		model = model * 5 / 6
	}
	return model * reachedShare, limit, model
}

// pciePayload is the payload of PCIe over what NCCL counts: 16 lanes of 32 GT/s are 63 GB/s on the wire and
// carry 54 GB/s of data in packets of 256 bytes with 24 bytes around them and flow control (PCI Express Base
// Specification 5.0, 2.2), where NCCL counts 48.
const pciePayload = 54.0 / 48
