package ncclgraph

import (
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/ncclxml"
)

// trim drops the GPUs that the first one reaches only over the network (ncclTopoTrimSystem): NCCL treats them as
// another host. It reports whether there were any.
func (s *System) trim() bool {
	gpus := s.nodes[nodeGPU]
	domain := make([]int, len(gpus))
	for i, gpu := range gpus {
		domain[i] = i
		for j := range i {
			if gpu.routes[nodeGPU][j].typ < PathNET {
				domain[i] = min(domain[i], domain[j])
			}
		}
	}
	var kept []*node
	for i, gpu := range gpus {
		if domain[i] == domain[0] {
			kept = append(kept, gpu)
		} else {
			s.Trimmed = append(s.Trimmed, gpu.label())
		}
	}
	if len(kept) == len(gpus) {
		return false
	}
	s.nodes[nodeGPU] = kept
	for i, gpu := range kept {
		gpu.index = i
	}
	for _, nodes := range s.nodes {
		for _, n := range nodes {
			n.links = slices.DeleteFunc(n.links, func(l *link) bool {
				return l.to.typ == nodeGPU && !slices.Contains(kept, l.to)
			})
		}
	}
	return true
}

// measure fills in the derived fields of the System: the limits of a channel (ncclTopoSearchInit), its GPUs and
// NETs.
func (s *System) measure() {
	s.noteTypes()
	s.noteRoots()
	peer := nodeGPU
	if s.Inter {
		peer = nodeNET
	}
	for _, gpu := range s.nodes[nodeGPU] {
		for _, r := range gpu.routes[peer] {
			if r.count > 0 {
				s.MaxBW = max(s.MaxBW, gbs(r.bw))
			}
		}
		s.TotalBW = max(s.TotalBW, gbs(linksRate(gpu)))
		s.GPUs = append(s.GPUs, GPUNode{gpu.label(), gpu.name, gpu.dev, gpu.rank, gpu.sm, gpu.gdr})
		if s.SM == 0 || gpu.sm < s.SM {
			s.SM, s.GCN = gpu.sm, gpu.gcn
		}
	}
	if !s.Inter && len(s.nodes[nodeGPU]) == 1 {
		s.MaxBW, s.TotalBW = locBW, locBW
	}
	for _, net := range s.nodes[nodeNET] {
		s.NETs = append(s.NETs, NETNode{net.label(), net.name, net.dev, gbs(net.bw), net.gdr, net.coll != 0, net.vendor})
	}
}

// noteRoots marks the paths of GPUs over an Intel root port, where peer traffic costs more.
func (s *System) noteRoots() {
	for _, gpu := range s.nodes[nodeGPU] {
		for _, routes := range gpu.routes {
			for i, r := range routes {
				routes[i].intel = r.typ == PathPHB && slices.ContainsFunc(r.list, func(l *link) bool {
					return l.to.typ == nodeCPU && l.to.cpu.Arch == ncclxml.ArchX86 && l.to.cpu.Vendor == ncclxml.VendorIntel
				})
			}
		}
	}
}

// gbs rounds a bandwidth to the six digits that single precision guarantees: 370.8, not 370.8000183.
func gbs(bw float32) float64 {
	text := strconv.FormatFloat(float64(bw), 'g', 6, 32)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return float64(bw)
	}
	return value
}

// noteTypes records which path types exist, for the search.
func (s *System) noteTypes() {
	for _, from := range []nodeType{nodeGPU, nodeNVS, nodeNET} {
		for _, n := range s.nodes[from] {
			for _, to := range []nodeType{nodeGPU, nodeNVS, nodeNET} {
				set := &s.intraTypes
				if from == nodeNET || to == nodeNET {
					set = &s.interTypes
				}
				for _, r := range n.routes[to] {
					*set |= 1 << r.typ
				}
			}
		}
	}
}

// linksRate is what a GPU's links carry together: all NVLinks, or its PCIe link.
func linksRate(gpu *node) float32 {
	var nvlink, pci float32
	for _, l := range gpu.links {
		switch l.typ {
		case linkNVL:
			nvlink += l.bw
		case linkPCI:
			pci = l.bw
		}
	}
	return max(nvlink, pci)
}

// minPath is the nearest, and maxPath the furthest type of path of the GPUs to a type of node.
func (s *System) minPath(t nodeType) PathType {
	nearest := PathSYS
	s.eachPath(t, func(r route) { nearest = min(nearest, r.typ) })
	return nearest
}

func (s *System) maxPath(t nodeType) PathType {
	furthest := PathLOC
	s.eachPath(t, func(r route) { furthest = max(furthest, r.typ) })
	return furthest
}

func (s *System) eachPath(t nodeType, f func(route)) {
	for i, gpu := range s.nodes[nodeGPU] {
		for j, r := range gpu.routes[t] {
			if t != nodeGPU || i != j {
				f(r)
			}
		}
	}
}

// splitNVLink reports whether there are exactly two groups of GPUs with NVLink, and no links between them.
func (s *System) splitNVLink() bool {
	gpus := s.nodes[nodeGPU]
	domain, size := make([]int, len(gpus)), make([]int, len(gpus))
	for i := range gpus {
		domain[i] = i
	}
	for i, gpu := range gpus {
		for j := i + 1; j < len(gpus); j++ {
			if gpu.routes[nodeGPU][j].typ == PathNVL {
				domain[j] = domain[i]
			}
		}
	}
	groups := 0
	for _, d := range domain {
		if size[d]++; size[d] == 2 {
			groups++
		}
	}
	return groups == 2
}

// FullyConnected reports whether each GPU has its own link to each other, as in eight MI300X. RCCL has built-in
// channels for such machines and does not search; what Search finds for them is not what RCCL runs.
func (s *System) FullyConnected() bool {
	gpus := s.nodes[nodeGPU]
	for _, a := range gpus {
		for _, b := range gpus {
			if a != b && !slices.ContainsFunc(a.links, func(l *link) bool { return l.to == b && l.typ == linkNVL }) {
				return false
			}
		}
	}
	return len(gpus) > 1
}

// FewestLinks is the GPU whose NVLink or XGMI to the others and to switches is slowest, and that rate as NCCL counts it, GB/s.
func (s *System) FewestLinks() (gpu GPUNode, gbs float64) {
	for i, n := range s.nodes[nodeGPU] {
		sum := 0.0
		for _, l := range n.links {
			if l.typ == linkNVL {
				sum += float64(l.bw)
			}
		}
		if i == 0 || sum < gbs {
			gpu, gbs = s.GPUs[i], sum
		}
	}
	return gpu, gbs
}
