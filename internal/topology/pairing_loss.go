package topology

import (
	"fmt"
	"math"
)

// loss is what a GPU loses with a NIC against a near one of its own, GB/s one way, and why; nil with the reason
// where it cannot be known.
//
// A near NIC loses nothing but what others that share it take. A far one is not for GPUDirect RDMA by default.
// Where GPUs are joined by NVLink or XGMI and some have near NICs, all traffic leaves through those (PXN), and
// the far NIC carries none: published runs of four workers on two machines fit that (59.4 GB/s aligned, 22.2
// with two near GPUs in the worst worker, 11.2 with one). Otherwise its data goes through host memory: two
// crossings of PCIe, about half the line rate, and between sockets what one stream gets of the link there.
func (k *market) loss(g, n int) (*float64, string) {
	nic := k.x.Devices[n]
	line, hop := lineRate(nic), k.x.Hop(g, n)
	if hop.Distance == DistanceUnknown {
		return nil, "how far " + nameOf(nic) + " is from it is not known, so what that costs is not either"
	}
	if line == 0 && (!k.near(g, n) || k.users[n] > 1) {
		return nil, k.reason(g, n, hop) + "; what that costs is not known, as the line rate of " + nameOf(nic) + " is not"
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
func (k *market) bounced(line float64, d Distance) float64 {
	const crossings = 2 // of PCIe: GPU to memory, memory to NIC
	rate := line / crossings
	if d == SYS && k.share > 0 {
		rate = math.Min(rate, k.share)
	}
	return rate
}

// hasPXN holds where a GPU reaches another one over NVLink or XGMI that has a near NIC.
func (k *market) hasPXN(g int) bool {
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

// reason says in words what sets a loss.
func (k *market) reason(g, n int, hop Hop) string {
	nic := nameOf(k.x.Devices[n])
	switch {
	case k.near(g, n):
		return fmt.Sprintf("%d GPUs share %s", k.users[n], nic)
	case k.hasPXN(g):
		return fmt.Sprintf("%s is at %s: GPUDirect RDMA does not cross a host bridge, so its traffic leaves through the near NICs of other GPUs (PXN) and %s carries none", nic, hop, nic)
	case hop.Distance == SYS && k.share > 0:
		return fmt.Sprintf("%s is at SYS: data goes through host memory and the link between sockets, of which NCCL reckons %g GB/s", nic, k.share)
	case hop.Distance == SYS:
		return fmt.Sprintf("%s is at SYS: data goes through host memory, about half the line rate, and the link between sockets, which is not known", nic)
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
