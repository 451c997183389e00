package topology

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// PairDevices assigns each GPU its NIC, so that the distances are minimal: as many near pairs as possible, then as
// few as possible across NUMA nodes. Of equal choices it takes the one that keeps the order of the numbers; where
// no distance is known, the one with the nearest bus numbers, as neighbours behind a switch have neighbouring ones.
// Where there are twice as many near NICs as GPUs, or more, each GPU gets two or more; where there are fewer,
// GPUs near one NIC share it, and the rest have none. The pairs are in the order of their GPU. What an unpaired or
// far GPU loses is computed where the line rates of the NICs are known.
func PairDevices(m Matrix) Pairing {
	return newMatcher(m, 0).pairing()
}

// Pairing is PairDevices of the machine's own matrix, with the link between its sockets taken into account.
func (m *Machine) Pairing() Pairing {
	share := 0.0
	if len(m.CPUs) > 0 {
		share = socketRate(m.CPUs[0])
	}
	p := newMatcher(m.Matrix(), share).pairing()
	for i := range p.Pairs {
		p.Pairs[i].Limit = m.pcieLimit(p.Pairs[i])
	}
	return p
}

// pcieLimit is the slowest PCIe link between a GPU and its NIC, nil where it carries the NIC's line rate or is unknown.
func (m *Machine) pcieLimit(p Pair) *PCIeHop {
	if p.NIC == nil {
		return nil
	}
	path, err := m.Path(p.GPU.Bus, p.NIC.Bus)
	if err != nil {
		return nil // one of them is not in the tree
	}
	hop, _ := Slowest(path)
	if hop.GBs == 0 || hop.GBs >= lineRate(*p.NIC) {
		return nil
	}
	return &hop
}

// socketRate is what one stream reaches over the link between two sockets in NCCL's own numbers, GB/s one way
// (NVIDIA/nccl 2.30, src/graph/topo.h and topo.cc, ncclTopoGetInterCpuBw); 0 where the CPU is unknown.
func socketRate(c CPU) float64 {
	switch {
	case c.Arch == "arm64":
		return 6
	case c.Arch == "ppc64":
		return 32
	case c.Vendor == vendorIntel && c.Family == 6:
		switch {
		case c.Model >= 0xCF || c.Model >= 0xAD && c.Model <= 0xAF: // Emerald Rapids and later
			return 40
		case c.Model >= 0x8F: // Sapphire Rapids
			return 22
		case c.Model >= 0x55: // Skylake
			return 10
		default:
			return 6
		}
	case c.Vendor == vendorAMD:
		switch c.Family { // 0x8F and above: as NCCL counted them before 2.30
		case 26, 0xBF: // Zen 5
			return 32
		case 25, 0xAF: // Zen 3 and 4
			return 24
		default:
			return 16
		}
	default:
		return 0
	}
}

// matcher is the state of pairing the GPUs and NICs of a matrix.
type matcher struct {
	x      Matrix
	gpus   []int // indexes in the matrix
	nics   []int
	paired map[int][]int // NICs by GPU, both by place
	users  map[int]int   // GPUs by NIC
	share  float64       // GB/s between sockets; 0: unknown
}

func newMatcher(x Matrix, share float64) *matcher {
	return &matcher{x: x, gpus: x.of(KindGPU), nics: x.of(KindNIC), share: share,
		paired: make(map[int][]int), users: make(map[int]int)}
}

func (k *matcher) pairing() Pairing {
	if len(k.nics) >= len(k.gpus) {
		k.one(k.gpus, k.nics, false)
		for left := k.left(); len(left) >= len(k.gpus) && len(k.gpus) > 0; left = k.left() {
			if !k.another(left) {
				break
			}
		}
	} else {
		for open := k.gpus; len(open) > 0 && len(k.nics) > 0; {
			before := len(open)
			k.one(open, k.nics, len(open) < len(k.gpus))
			open = slices.DeleteFunc(slices.Clone(open), func(g int) bool { return len(k.paired[g]) > 0 })
			if len(open) == before {
				break
			}
		}
	}
	return k.result()
}

// left returns the NICs without a GPU.
func (k *matcher) left() []int {
	return slices.DeleteFunc(slices.Clone(k.nics), func(n int) bool { return k.users[n] > 0 })
}

// one pairs GPUs with NICs, one to one, until one side is used up.
func (k *matcher) one(gpus, nics []int, nearOnly bool) {
	for _, p := range k.best(gpus, nics) {
		if !nearOnly || k.near(p[0], p[1]) {
			k.paired[p[0]] = append(k.paired[p[0]], p[1])
			k.users[p[1]]++
		}
	}
}

// another gives every GPU one more NIC, where all of them can have a near one.
func (k *matcher) another(left []int) bool {
	pairs := k.best(k.gpus, left)
	for _, p := range pairs {
		if !k.near(p[0], p[1]) {
			return false
		}
	}
	for _, p := range pairs {
		k.paired[p[0]] = append(k.paired[p[0]], p[1])
		k.users[p[1]]++
	}
	return true
}

// best is the assignment of minimal cost, as pairs of GPU and NIC.
func (k *matcher) best(gpus, nics []int) [][2]int {
	var pairs [][2]int
	scale := int64(len(gpus) + len(nics) + 1)
	if len(gpus) <= len(nics) {
		for i, j := range assign(len(gpus), len(nics), func(i, j int) cost { return k.cost(gpus[i], nics[j], i, j, scale) }) {
			pairs = append(pairs, [2]int{gpus[i], nics[j]})
		}
		return pairs
	}
	for j, i := range assign(len(nics), len(gpus), func(j, i int) cost { return k.cost(gpus[i], nics[j], i, j, scale) }) {
		pairs = append(pairs, [2]int{gpus[i], nics[j]})
	}
	return pairs
}

// cost ranks a pair. A worse class of distance outweighs any number of better ones; within a distance the
// squares of the differences keep the order of the numbers.
func (k *matcher) cost(gpu, nic, i, j int, scale int64) cost {
	var c cost
	switch k.x.Hop(gpu, nic).Distance {
	case Self, NVLink, PIX:
	case PXB:
		c[0] = 1
	case PHB:
		c[0] = scale
	case NODE:
		c[0] = scale * scale
	case SYS:
		c[0] = scale * scale * scale
	case DistanceUnknown:
		c[0] = scale * scale * scale * scale
		c[1] = busGap(k.x.Devices[gpu].Bus, k.x.Devices[nic].Bus)
	}
	c[2] = int64(i-j) * int64(i-j)
	return c
}

// busGap is how far two addresses are apart in bus numbers, squared; those in different domains further than
// any in one domain. 0 where one of them is unknown.
func busGap(a, b string) int64 {
	domainA, busA, okA := domainAndBus(a)
	domainB, busB, okB := domainAndBus(b)
	if !okA || !okB {
		return 0
	}
	gap := busA - busB
	if domainA != domainB {
		gap = 0x200
	}
	return gap * gap
}

func domainAndBus(address string) (domain string, bus int64, ok bool) {
	domain, rest, _ := strings.Cut(address, ":")
	digits, _, _ := strings.Cut(rest, ":")
	bus, err := strconv.ParseInt(digits, 16, 64)
	return domain, bus, err == nil
}

// near reports whether NCCL uses GPUDirect RDMA by default: where data goes between GPU and NIC without passing a
// host bridge (NCCL_NET_GDR_LEVEL PXB), or over C2C to the CPU of the NIC (P2C).
func (k *matcher) near(gpu, nic int) bool {
	switch k.x.Hop(gpu, nic).Distance {
	case PIX, PXB:
		return true
	case PHB, NODE:
		return k.x.Devices[gpu].Coherent
	default:
		return false
	}
}

func (k *matcher) result() Pairing {
	out := Pairing{Pairs: []Pair{}}
	for _, g := range k.gpus {
		nics := k.paired[g]
		slices.Sort(nics)
		if len(nics) == 0 {
			out.Pairs = append(out.Pairs, k.unpaired(g))
		}
		for _, n := range nics {
			out.Pairs = append(out.Pairs, k.pair(g, n))
		}
	}
	for _, n := range k.left() {
		out.Spare = append(out.Spare, k.x.Devices[n])
	}
	return out
}

func (k *matcher) pair(g, n int) Pair {
	nic := k.x.Devices[n]
	p := Pair{GPU: k.x.Devices[g], NIC: &nic, Hop: k.x.Hop(g, n), Near: k.near(g, n)}
	p.LossGBs, p.Why = k.loss(g, n)
	return p
}

func (k *matcher) unpaired(g int) Pair {
	p := Pair{GPU: k.x.Devices[g]}
	switch line, known := k.commonRate(); {
	case len(k.nics) == 0:
		p.Why = "there is no NIC of the fabric: what a GPU loses without one is unknown"
	case known:
		p.LossGBs = &line
		p.Why = fmt.Sprintf("%d NICs for %d GPUs, none near and free: its traffic shares the NICs of others", len(k.nics), len(k.gpus))
	default:
		p.Why = fmt.Sprintf("%d NICs for %d GPUs, none near and free; the cost is unknown because their line rates are unknown", len(k.nics), len(k.gpus))
	}
	return p
}

// commonRate is the line rate of the slowest NIC, GB/s.
func (k *matcher) commonRate() (float64, bool) {
	line := 0.0
	for _, n := range k.nics {
		rate := lineRate(k.x.Devices[n])
		if rate == 0 {
			return 0, false
		}
		if line == 0 || rate < line {
			line = rate
		}
	}
	return line, line > 0
}

// lineRate is that of a NIC, GB/s one way; 0 where unknown.
func lineRate(d MatrixDevice) float64 { return float64(d.Mbps) / 8000 }

// loss is what a GPU loses with a NIC compared with a near one of its own, GB/s one way, and why; nil with the reason
// where it is unknown.
//
// A near NIC loses only the share of other GPUs that use it. A far one is not used for GPUDirect RDMA by default.
// Where GPUs are connected by NVLink or XGMI and some have near NICs, all traffic leaves through those (PXN), and
// the far NIC carries none, which agrees with published runs of four workers on two machines (59.4 GB/s aligned, 22.2
// with two near GPUs in the worst worker, 11.2 with one). Otherwise its data goes through host memory: two
// crossings of PCIe, about half the line rate, and between sockets what one stream reaches over the link there.
func (k *matcher) loss(g, n int) (*float64, string) {
	nic := k.x.Devices[n]
	line, hop := lineRate(nic), k.x.Hop(g, n)
	if hop.Distance == DistanceUnknown {
		return nil, "the distance to " + nameOf(nic) + " is unknown, and so is the cost"
	}
	if line == 0 && (!k.near(g, n) || k.users[n] > 1) {
		return nil, k.reason(g, n, hop) + "; the cost is unknown because the line rate of " + nameOf(nic) + " is unknown"
	}
	rate := line
	switch {
	case k.near(g, n):
	case k.hasPXN(g):
		rate = 0
	default:
		rate = k.bounced(line, hop.Distance)
	}
	lost := line - rate/float64(max(k.users[n], 1))
	if lost == 0 {
		return &lost, ""
	}
	return &lost, k.reason(g, n, hop)
}

// bounced is the rate through host memory.
func (k *matcher) bounced(line float64, d Distance) float64 {
	const crossings = 2 // of PCIe: GPU to memory, memory to NIC
	rate := line / crossings
	if d == SYS && k.share > 0 {
		rate = math.Min(rate, k.share)
	}
	return rate
}

// hasPXN reports whether a GPU reaches another one with a near NIC over NVLink or XGMI.
func (k *matcher) hasPXN(g int) bool {
	for _, other := range k.gpus {
		if other == g || k.x.Hop(g, other).Distance != NVLink {
			continue
		}
		for _, n := range k.paired[other] {
			if k.near(other, n) {
				return true
			}
		}
	}
	return false
}

// reason returns what determines a loss.
func (k *matcher) reason(g, n int, hop Hop) string {
	nic := nameOf(k.x.Devices[n])
	switch {
	case k.near(g, n):
		return fmt.Sprintf("%d GPUs share %s", k.users[n], nic)
	case k.hasPXN(g):
		return fmt.Sprintf("%s is at %s: GPUDirect RDMA does not cross a host bridge, so its traffic leaves through the near NICs of other GPUs (PXN) and %s carries none", nic, hop, nic)
	case hop.Distance == SYS && k.share > 0:
		return fmt.Sprintf("%s is at SYS: data goes through host memory and the link between sockets, for which NCCL assumes %g GB/s", nic, k.share)
	case hop.Distance == SYS:
		return fmt.Sprintf("%s is at SYS: data goes through host memory, about half the line rate, and the link between sockets, whose rate is unknown", nic)
	default:
		return fmt.Sprintf("%s is at %s: data goes through host memory, two crossings of PCIe, about half the line rate", nic, hop)
	}
}

func nameOf(d MatrixDevice) string {
	if d.Name != "" {
		return d.Name
	}
	return d.Label
}
