package collective

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// span is how much faster and slower than predicted healthy machines are, as factors of the time.
type span struct{ fast, slow float64 }

// anchor is a span at a size; between two sizes it is interpolated.
type anchor struct {
	size float64
	span
}

// anchors are derived from the healthy tables of test/accuracy, of all clusters together: 95 % of the rows are
// inside, also for machines whose rates were not measured. Small sizes jitter with the host, medium ones depend
// on versions and on the algorithm chosen, large ones on the wire alone. A fault takes more than a sixth of the
// expectation in most reports: the band of large sizes is narrower than that where the hardware is well known.
func anchors() [8]anchor {
	return [8]anchor{
		{1 << 10, span{0.75, 1.50}},
		{1 << 16, span{0.78, 1.65}},
		{1 << 20, span{0.75, 1.70}},
		{1 << 24, span{0.78, 1.55}},
		{1 << 26, span{0.85, 1.35}},
		{1 << 28, span{0.92, 1.22}},
		{1 << 30, span{0.95, 1.10}},
		{1 << 32, span{0.95, 1.06}},
	}
}

// crowded is the span of many senders to one receiver, which settle only at very large sizes: alltoall on four
// nodes took up to 1.8 times as long between 16 MiB and 1 GiB (Broadcom 957608-AN209, 8.7.2.1).
func crowded(size float64) span {
	switch {
	case size < 1<<20:
		return span{0.72, 1.55}
	case size < 4<<30:
		return span{0.80, 1.95}
	default:
		return span{0.90, 1.15}
	}
}

// spanOf returns the span of an option at a size. What depends on rates that were not measured is less certain, and
// so is what differs between machines with the same description. Each factor has its own reason.
func (c *Cluster) spanOf(job Job, o *option, size int64) span {
	s := float64(size)
	out := between(anchors(), s)
	if o.algorithm == algorithms && o.named == "" && c.nodes() > 2 {
		out = crowded(s)
	}
	for _, d := range c.doubts(job, o, size) {
		out.fast, out.slow = out.fast*d.span.fast, out.slow*d.span.slow
	}
	return out
}

// doubt widens a span, and says why in words of a prediction.
type doubt struct {
	span span
	why  string
}

// BandHolds is the share of rows of healthy tables that lie in the bands of predictions which know nothing that was measured of
// the table's fabric (test/accuracy counts them again, docs/accuracy.md).
const BandHolds = 0.93

// bandNote says what the bands of a prediction hold, and what makes those of its smallest and of its largest size wider than those
// of machines with the same links and NICs that were measured.
func (c *Cluster) bandNote(job Job, options []option, sizes []int64) fabric.Assumption {
	from := []string{"clocks of GPUs and hosts, versions of the library"}
	if c.nodes() > 1 {
		from = append(from, "placement of ranks and routes")
	}
	for _, size := range []int64{slices.Min(sizes), slices.Max(sizes)} {
		for _, d := range c.doubts(job, pick(options, size), size) {
			if !slices.Contains(from, d.why) {
				from = append(from, d.why)
			}
		}
	}
	return fabric.Assumption{
		What:   fmt.Sprintf("a band holds %.0f %% of what healthy clusters measure; it covers: %s", 100*BandHolds, strings.Join(from, "; ")),
		Source: "docs/accuracy.md, rows of healthy tables whose fabric was left out",
	}
}

// doubts are the factors that widen the span of an option.
func (c *Cluster) doubts(job Job, o *option, size int64) (all []doubt) {
	// CPUs launch a kernel in 5.2 us (eight H100 of one process, P01) to 10.4 (two H100 of one process, 20.8 us at 1 KiB).
	if c.eachLaunches(job) > 1 && c.launchFloor(job, size) > o.time(size) {
		all = append(all, doubt{span{1, 1.25}, "how fast a CPU launches kernels one after the other, 5 to 9 us for each GPU of a process"})
	}
	if c.unmeasured { // a rate by analogy: those of measured parts are within a fifth of one another
		all = append(all, doubt{span{0.85, 1.20}, "rates that were not measured on these parts"})
	}
	if c.mixed { // a board of four GPUs without a switch, or half of one of eight with it
		all = append(all, doubt{span{0.84, 1.04}, "boards of four GPUs with and without a switch"})
	}
	if c.gpu.wiring == overPCIe && c.local() > 1 { // the switches in between are unspecified: more often better than worse
		all = append(all, doubt{span{0.72, 1.10}, "PCIe switches between the GPUs, which are unspecified"})
	}
	if c.local() > 8 && c.gpu.wiring == overSwitch { // 0.90 to 1.02 of what is expected on 64 and 72 GPUs of a rack
		all = append(all, doubt{span{0.97, 1.06}, "racks of 64 and 72 GPUs"})
	}
	if o.algorithm == algorithms && o.named == "" && c.local() > 1 && c.gpu.wiring != overPCIe { // out-of-place and in-place differ by a tenth
		all = append(all, doubt{span{0.97, 1.08}, "results in place and out of place"})
	}
	if c.nodes() == 1 {
		return append(all, c.typeDoubt(job, o)...)
	}
	if c.local() > 8 { // of 20 racks of GB200 406 GB/s are known, half of what is expected: which NICs, and whether over PCIe or C2C, is not
		all = append(all, doubt{span{1, 1.9}, "which NICs of a rack carry data, and how they reach GPUs: 20 racks of GB200 measured half of what is expected"})
	}
	if job.is("NCCL_COLLNET_ENABLE", 1) { // four nodes of A100 with SHARP reach 160 GB/s, 0.86 of what rings would: how well switches reduce was measured nowhere else
		all = append(all, doubt{span{0.9, 1.25}, "how well the network's switches reduce"})
	}
	// Healthy fabrics keep 0.89 (NVIDIA/nccl-tests issue 152) to 0.985 of a line (wutz, notes on the MPI operator):
	// routes, PCIe credits, firmware.
	if o.wire > 0 {
		all = append(all, doubt{span{0.97, 1.05}, "payload of healthy fabrics, 0.89 to 0.985 of the line"})
	}
	// 16 connections of 4 threads each carry 4.0, 8.5 and 18.4 GB/s between two hosts on three machines of the project, where one
	// each carries 2.8, 2.9 and 3.9.
	if c.net.sockets && number(job, "NCCL_SOCKET_NTHREADS") > 1 {
		all = append(all, doubt{span{0.7, 2}, "how many cores are free to copy for sockets"})
	}
	if d, ok := c.interrupts(job, o, size); ok {
		all = append(all, d)
	}
	if c.net.band != (span{}) {
		all = append(all, doubt{c.net.band, "the spread of measurements on " + c.net.kind})
	}
	if !c.gpu.amd && c.net.nics < c.local() && c.gpu.wiring == overSwitch { // GPUs share NICs (NVIDIA/nccl-tests issue 380)
		all = append(all, doubt{span{1, 1.08}, "GPUs that share NICs"})
	}
	return append(all, c.typeDoubt(job, o)...)
}

// interruptWait is how long a NIC of Ethernet may keep a message before it interrupts, us: drivers hold it to 20,000 interrupts
// a second where messages are small (docs.kernel.org/networking/device_drivers/ethernet/intel/e1000e.html, InterruptThrottleRate,
// "low latency").
const interruptWait = 50

// interrupts is by how much longer each step over sockets may take: their bytes come through the kernel, which learns of them
// by an interrupt. How NICs hold theirs differs, from not at all to this.
func (c *Cluster) interrupts(job Job, o *option, size int64) (doubt, bool) {
	f, ok := functionOf(job.Collective)
	if !c.net.sockets || !ok || o.time(size) <= 0 {
		return doubt{}, false
	}
	wait := c.networkSteps(o.algorithm, f) * interruptWait
	return doubt{span{1, 1 + wait/o.time(size)}, "how long NICs hold back their interrupts, up to 50 us at each step over sockets"}, true
}

// typeDoubt: switches reduce integers and double slower than float and half, 0.90 to 0.96 of it on two nodes of H200
// with BlueField-3 (notes on RDMA for OpenShift, all data types).
func (c *Cluster) typeDoubt(job Job, o *option) []doubt {
	switch strings.ToLower(job.DType) {
	case "", "float", "float32", "half", "float16", "bfloat16":
		return nil
	}
	if o.algorithm == NVLS || o.algorithm == NVLSTree {
		return []doubt{{span{1, 1.12}, "types that switches reduce slower than float"}}
	}
	return nil
}

func between(all [8]anchor, s float64) span {
	if s <= all[0].size {
		return all[0].span
	}
	for i := range all[:len(all)-1] {
		low, high := all[i], all[i+1]
		if s < high.size {
			at := math.Log2(s/low.size) / math.Log2(high.size/low.size)
			return span{low.fast + (high.fast-low.fast)*at, low.slow + (high.slow-low.slow)*at}
		}
	}
	return all[len(all)-1].span
}
