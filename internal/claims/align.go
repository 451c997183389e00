package claims

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Place is where a GPU that a device plugin gives is in its machine.
type Place struct {
	PCI   string   // domain:bus:device.function
	Roots []string // PCIe root complexes; empty: not known
}

// pairs is the number of GPU-NIC pairs below one PCIe root, each device in one pair. A device without a root may be
// below any, or below none.
func pairs(gpus, nics [][]string) fabric.CountRange {
	return fabric.CountRange{Min: matching(gpus, nics, false), Max: matching(gpus, nics, true)}
}

// matching is the largest number of pairs: a maximum matching, by augmenting paths. With hope, a device whose roots
// are unknown pairs with any other.
func matching(gpus, nics [][]string, hope bool) int {
	nicOf := make([]int, len(nics)) // GPU of each NIC, -1 none
	for i := range nicOf {
		nicOf[i] = -1
	}
	var augment func(gpu int, seen []bool) bool
	augment = func(gpu int, seen []bool) bool {
		for nic := range nics {
			if seen[nic] || !near(gpus[gpu], nics[nic], hope) {
				continue
			}
			seen[nic] = true
			if nicOf[nic] < 0 || augment(nicOf[nic], seen) {
				nicOf[nic] = gpu
				return true
			}
		}
		return false
	}
	n := 0
	for gpu := range gpus {
		if augment(gpu, make([]bool, len(nics))) {
			n++
		}
	}
	return n
}

func near(a, b []string, hope bool) bool {
	if len(a) == 0 || len(b) == 0 {
		return hope
	}
	return slices.ContainsFunc(a, func(root string) bool { return slices.Contains(b, root) })
}

// mostSubsets is how many choices of a device plugin are tried: all choices of 8 GPUs of 16.
const mostSubsets = 12870

// pluginPairs is the number of aligned pairs over all choices of GPUs that a device plugin could make among those of
// the node, beside the GPUs that a pod has from claims. Where there are too many choices, the lower bound is 0.
func pluginPairs(own, node [][]string, count int, nics [][]string) fabric.CountRange {
	count = min(count, len(node))
	if subsets(len(node), count) > mostSubsets {
		best := pairs(slices.Concat(own, node), nics)
		return fabric.CountRange{Min: 0, Max: min(best.Max, len(own)+count)}
	}
	r := fabric.CountRange{Min: len(nics) + 1}
	chosen := slices.Clone(own)
	var choose func(from, left int)
	choose = func(from, left int) {
		if left == 0 {
			p := pairs(chosen, nics)
			r.Min, r.Max = min(r.Min, p.Min), max(r.Max, p.Max)
			return
		}
		for i := from; i+left <= len(node); i++ {
			chosen = append(chosen, node[i])
			choose(i+1, left-1)
			chosen = chosen[:len(chosen)-1]
		}
	}
	choose(0, count)
	return r
}

// subsets is the binomial coefficient, or more than mostSubsets.
func subsets(n, k int) int {
	c := 1
	for i := range min(k, n-k) {
		if c = c * (n - i) / (i + 1); c > mostSubsets*2 {
			return c
		}
	}
	return c
}
