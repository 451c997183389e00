package ncclgraph

import (
	"math/bits"
	"slices"
)

// local returns which of a node's paths to a type are the best: by bandwidth, then by type (ncclTopoGetLocal).
func local(routes []route) []int {
	var found []int
	best := route{typ: PathDIS}
	for i, r := range routes {
		if r.bw > best.bw || r.bw == best.bw && r.typ < best.typ {
			best, found = r, nil
		}
		if r.bw == best.bw && r.typ == best.typ {
			found = append(found, i)
		}
	}
	return found
}

// all returns every index of a node's paths to a type.
func all(routes []route) []int {
	found := make([]int, len(routes))
	for i := range found {
		found[i] = i
	}
	return found
}

// localNets returns the NICs that a GPU uses, for its first channel, its second and so on, then cyclically; empty without
// any (ncclTopoGetLocalNet). GPUs that share NICs begin at different ones.
func (s *System) localNets(gpu *node) []int {
	nets := local(gpu.routes[nodeNET])
	if len(nets) == 0 {
		return nil
	}
	gpus := max(len(local(s.nodes[nodeNET][nets[0]].routes[nodeGPU])), 1)
	each := (len(nets) + gpus - 1) / gpus
	if all, most := s.options.NetsPolicy(); all {
		each = len(nets)
	} else if most > 0 {
		each = min(most, len(nets))
	}
	at := gpu.dev
	if !s.options.before(v2307) {
		at %= gpus
	}
	if len(nets)&(len(nets)-1) == 0 {
		at = mirror(at, len(nets))
	}
	order := make([]int, min(each, maxChannels))
	for channel := range order {
		order[channel] = nets[(at+channel)%len(nets)]
	}
	return order
}

// mirror reverses the bits of a number below a power of two, so that neighbours end up far apart.
func mirror(n, power int) int {
	width := bits.Len(uint(power)) - 1
	return int(bits.Reverse64(uint64(n)&uint64(power-1)) >> (64 - width))
}

// localGPUOf returns the index of the GPU that uses a NIC first; -1 where none does (ncclTopoGetLocalGpu).
func (s *System) localGPUOf(net *node) int {
	found, first := -1, maxChannels
	for _, g := range local(net.routes[nodeGPU]) {
		if channel := slices.Index(s.localNets(s.nodes[nodeGPU][g]), net.index); channel >= 0 && channel < first {
			found, first = g, channel
		}
	}
	return found
}
