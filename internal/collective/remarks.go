package collective

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// plateauFrom is the size from which a healthy cluster is expected to be limited by its wires, bytes.
const plateauFrom = 1 << 30

// remarkable is how much longer than the fastest option the chosen one takes before it is remarked on: well outside of
// the healthy band of large sizes (anchors).
const remarkable = 1.25

// latencyShare is the share of the time of the largest size that is remarked on.
const latencyShare = 0.08

// remarks says what keeps large sizes below the bound: a choice of the library that a forced one would beat, and latency
// that even the largest size does not hide.
func (c *Cluster) remarks(job Job, options []option, sizes []int64) (out []string) {
	var slow []int64
	var chosen, fastest *option
	for _, size := range slices.Sorted(slices.Values(sizes)) {
		if size < plateauFrom || c.unmeasured || c.net.most > 0 { // what is faster is then too uncertain to recommend
			continue
		}
		o, best := pick(options, size), quickest(options, size)
		if o.time(size) > remarkable*best.time(size) {
			slow, chosen, fastest = append(slow, size), o, best
		}
	}
	factor := job.Collective.BusFactor(c.Ranks())
	if n := len(slow); n > 0 {
		last := slow[n-1]
		out = append(out,
			fmt.Sprintf("%s: %s chooses %s with %s, %.0f GB/s%s",
				sizeRange(slow), c.library(), chosen.name(), chosen.protocol, chosen.busAt(last, factor), c.rateSource(chosen)),
			fmt.Sprintf("NCCL_ALGO=%s NCCL_PROTO=%s is expected to reach %.0f GB/s at %s: the choice follows %s's tuning table, computed for this number of nodes, not measured on it, and is no limit of the hardware",
				fastest.name(), fastest.protocol, fastest.busAt(last, factor), sizeRange([]int64{last}), c.library()))
	}
	if c.nodes() > 1 && c.local() > 8 {
		out = append(out, "20 racks of GB200 measured 406 GB/s, half of what is expected of them: which NICs of a rack carry data, and how they reach its GPUs, is not stated; the band holds it")
	}
	if why := c.refusesCollNet(CollNetDirect, settings{collnet: true}); job.is("NCCL_COLLNET_ENABLE", 1) && c.nodes() > 1 && !c.gpu.amd && c.gpu.nvls == 0 && why != "" {
		out = append(out, "NCCL_COLLNET_ENABLE=1: "+why+": this is what the other algorithms reach; with SHARP four nodes of A100 reached 0.85 of it")
	}
	largest := slices.Max(sizes)
	if o := pick(options, largest); c.nodes() > 2 && largest >= plateauFrom {
		wires := float64(largest) / (1000 * o.bulk * o.heldAt(float64(largest)))
		if share := 1 - wires/o.time(largest); share > latencyShare {
			out = append(out, fmt.Sprintf("%s: %.0f %% of the time is latency of %d ranks on %d nodes, which larger sizes hide; the wires alone would allow %.0f GB/s",
				sizeRange([]int64{largest}), 100*share, c.Ranks(), c.nodes(), o.bulk*factor))
		}
	}
	return out
}

// quickest is the option that takes the least time at a size, whatever the library believes.
func quickest(options []option, size int64) *option {
	best := &options[0]
	for i := range options {
		if o := &options[i]; (o.most == 0 || size > o.least && size <= o.most) && o.time(size) < best.time(size) {
			best = o
		}
	}
	return best
}

// busAt is the bus bandwidth of an option at a size, GB/s.
func (o *option) busAt(size int64, factor float64) float64 {
	return float64(size) / o.time(size) / 1000 * factor
}

// rateSource says where the rate of an option comes from where that is no rate of links or NICs (rcclTiming). AMD itself
// found that its table keeps MI300 in trees for too long (ROCm/rccl pull request 1624).
func (c *Cluster) rateSource(o *option) string {
	if c.gpu.amd && o.held != nil {
		return " by the rates of its own tuning table"
	}
	return ""
}

func (c *Cluster) library() string {
	if c.gpu.amd {
		return "RCCL"
	}
	return "NCCL"
}

// sizeRange writes sizes of a GiB and more.
func sizeRange(sizes []int64) string {
	text := func(n int64) string { return strconv.FormatFloat(float64(n)/(1<<30), 'g', 4, 64) + " GiB" }
	if first, last := sizes[0], sizes[len(sizes)-1]; first != last {
		return text(first) + " to " + text(last)
	}
	return text(sizes[0])
}

// OverSockets returns the hardware with TCP sockets as the network where the environment keeps NCCL from the one between
// the nodes: NCCL_NET=Socket from every other, NCCL_IB_DISABLE from what uses verbs (nccl, src/transport/net_ib: a
// plugin such as that of EFA is no part of it). why is empty where nothing changes.
func OverSockets(cat *catalog.Catalog, hw fabric.Hardware, env map[string]string) (out fabric.Hardware, why string) {
	known, _, _ := complete(cat, hw) // an error is that of New, or of a topology file that states the rest
	if known.Nodes < 2 {
		return hw, ""
	}
	net := cmp.Or(known.Net, cat.FabricOf(fabric.InfiniBand))
	f := cat.Fabrics[net]
	switch {
	case f.Sockets:
		return hw, ""
	case strings.EqualFold(env["NCCL_NET"], "Socket"):
		why = "NCCL_NET=" + env["NCCL_NET"]
	case (Job{Env: env}).integer("NCCL_IB_DISABLE", 0) != 0 && f.Transport != "":
		why = "NCCL_IB_DISABLE=" + env["NCCL_IB_DISABLE"]
	default:
		return hw, ""
	}
	for _, id := range slices.Sorted(maps.Keys(cat.Fabrics)) {
		if cat.Fabrics[id].Sockets {
			hw.Net, hw.NIC = id, ""
			return hw, fmt.Sprintf("%s: TCP sockets over the NICs of %s", why, net)
		}
	}
	return hw, ""
}

// DTypes lists the types of elements, as nccl-tests names them (nccl-tests, src/common.cu, test_typenames), then the
// other names of those.
func DTypes() []string {
	return []string{
		"int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2",
		"char", "float16", "float32", "float64", "fp8_e4m3", "fp8_e5m2",
	}
}
