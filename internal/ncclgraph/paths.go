package ncclgraph

import (
	"fmt"
	"slices"
)

// hop is a step of a path that is being computed, and the rest of the path.
type hop struct {
	link *link
	rest *hop
}

// computePaths finds the path between every two nodes as NCCL does (ncclTopoComputePaths): breadth first by
// bandwidth, then paths that the settings forbid go through the CPU, and those that another GPU improves through it.
func (s *System) computePaths() error {
	for _, nodes := range s.nodes {
		for _, n := range nodes {
			n.routes = [nodeTypes][]route{}
		}
	}
	for _, t := range []nodeType{nodeCPU, nodeGPU, nodeNET, nodeNVS} {
		for _, base := range s.nodes[t] {
			if err := s.setPaths(base); err != nil {
				return err
			}
		}
	}
	s.CPU = s.nodes[nodeCPU][0].cpu
	if err := s.divertPeers(); err != nil {
		return err
	}
	if err := s.markC2C(); err != nil {
		return err
	}
	if err := s.divertNets(); err != nil {
		return err
	}
	for _, net := range s.nodes[nodeNET] {
		net.localGPU = s.localGPUOf(net)
	}
	return nil
}

// setPaths finds the paths from every node to base (ncclTopoSetPaths).
func (s *System) setPaths(base *node) error {
	for _, nodes := range s.nodes {
		for _, n := range nodes {
			n.tail = nil
		}
	}
	s.touch(base, base.typ)
	base.routes[base.typ][base.index] = route{typ: PathLOC, bw: locBW}
	for level := []*node{base}; len(level) > 0; {
		var next []*node
		for _, n := range level {
			for _, l := range n.links {
				if s.advance(base, n, l) && !slices.Contains(next, l.to) {
					next = append(next, l.to)
				}
			}
		}
		level = next
	}
	for _, t := range []nodeType{nodeGPU, nodeNVS, nodeCPU, nodeNET} {
		for _, n := range s.nodes[t] {
			if n.routes[base.typ] != nil {
				n.routes[base.typ][base.index].list = n.tail.list()
			}
		}
	}
	return nil
}

// list is the path as a slice, nearest link first.
func (h *hop) list() []*link {
	var links []*link
	for ; h != nil; h = h.rest {
		links = append(links, h.link)
	}
	return links
}

// touch allocates a node's paths to a type: NCCL does so, and prints them, once it has computed any.
func (s *System) touch(n *node, t nodeType) {
	if n.routes[t] != nil {
		return
	}
	n.routes[t] = make([]route, len(s.nodes[t]))
	for i := range n.routes[t] {
		n.routes[t][i].typ = PathDIS
	}
}

// advance tries to reach base from the far end of l through n, and reports whether that is better than the path of
// the far end.
func (s *System) advance(base, n *node, l *link) bool {
	far, t := l.to, base.typ
	s.touch(far, t)
	path, far0 := n.routes[t][base.index], &far.routes[t][base.index]
	bw := min(path.bw, l.bw)
	// A GPU forwards only between NVLinks, and only one of them.
	if n != base && n.typ == nodeGPU &&
		(s.options.Integer("NCCL_NVB_DISABLE", 0) != 0 || l.typ != linkNVL || far.typ != nodeGPU || path.count > 1) {
		return false
	}
	if far0.bw != 0 && far0.count <= path.count || far0.bw >= bw {
		return false
	}
	back := slices.IndexFunc(far.links, func(r *link) bool { return r.to == n && r.typ == l.typ })
	if back < 0 {
		return false // not after check
	}
	far.tail = &hop{link: far.links[back], rest: n.tail}
	far0.bw, far0.count = bw, path.count+1
	far0.typ = max(path.typ, stepType(n, l, path, far0.count))
	return true
}

// stepType is what the link from n adds to a path.
func stepType(n *node, l *link, path route, count int) PathType {
	t := PathType(l.typ)
	switch {
	case l.typ == linkNET:
		t = PathLOC // what counts is the path from the NIC on
	case n.typ == nodePCI && l.to.typ == nodePCI:
		t = PathPXB
	case l.typ == linkPCI && (n.typ == nodeCPU || l.to.typ == nodeCPU):
		t = PathPHB
	}
	if n.typ == nodeGPU && path.typ == PathNVL && t == PathNVL && count > 1 {
		t = PathNVB
	}
	return t
}

// via sets the path from a to c to that of a to b and b to c (addInterStep).
func via(a, b, c *node) {
	first, second := a.routes[b.typ][b.index], b.routes[c.typ][c.index]
	r := &a.routes[c.typ][c.index]
	r.list = slices.Concat(first.list, second.list)
	r.count = len(r.list)
	r.typ = mergeTypes(first.typ, second.typ)
	if b.typ == nodeGPU {
		r.typ = PathPXN
	}
	r.bw = min(first.bw, second.bw)
}

// mergeTypes is the type of a path of two parts; C2C and then a host bridge has a type of its own.
func mergeTypes(a, b PathType) PathType {
	if max(a, b) == PathPHB && min(a, b) == PathC2C {
		return PathP2C
	}
	return max(a, b)
}

// nearestCPU is the NUMA node with the fewest hops (ncclGetLocalCpu).
func (s *System) nearestCPU(gpu *node) (*node, error) {
	var nearest *node
	hops := 0
	for i, r := range gpu.routes[nodeCPU] {
		if r.count > 0 && (nearest == nil || r.count < hops) {
			nearest, hops = s.nodes[nodeCPU][i], r.count
		}
	}
	if nearest == nil {
		return nil, fmt.Errorf("%s has no path to a CPU", gpu.label())
	}
	return nearest, nil
}

// divertPeers routes traffic of GPUs that may not communicate directly through the CPU, and marks those that prefer
// the network.
func (s *System) divertPeers() error {
	gpus := s.nodes[nodeGPU]
	level := s.options.p2pLevel(s.CPU, len(gpus))
	for _, to := range gpus {
		for _, from := range gpus {
			r := from.routes[nodeGPU]
			if r == nil {
				return fmt.Errorf("%s has no paths to GPUs", from.label())
			}
			if r[to.index].typ <= level {
				continue
			}
			cpu, err := s.nearestCPU(to)
			if err != nil {
				return err
			}
			if from.routes[nodeCPU][cpu.index].typ == PathDIS || cpu.routes[nodeGPU] == nil {
				continue
			}
			via(from, cpu, to)
		}
		for _, from := range gpus {
			if from != to && s.netIsFaster(from, to) {
				from.routes[nodeGPU][to.index].typ = PathNET
			}
		}
	}
	return nil
}

// netIsFaster reports whether two GPUs of a host would use the network: each has a near NIC that is faster than the
// path between them (ncclTopoCheckNet). Neither P2P nor shared memory is used then.
func (s *System) netIsFaster(a, b *node) bool {
	if s.options.Integer("NCCL_NET_DISABLE_INTRA", 0) == 1 {
		return false
	}
	between := a.routes[nodeGPU][b.index].bw
	near := func(gpu *node) (best float32) {
		for _, r := range gpu.routes[nodeNET] {
			if r.typ <= PathPXB {
				best = max(best, r.bw)
			}
		}
		return best
	}
	return near(a) > between && near(b) > between
}

// markC2C gives the nearest NICs of a GPU with a chip-to-chip link to its CPU their own path type; before 2.29 all NICs.
func (s *System) markC2C() error {
	for _, gpu := range s.nodes[nodeGPU] {
		cpu, err := s.nearestCPU(gpu)
		if err != nil {
			return err
		}
		nets := local(gpu.routes[nodeNET])
		if s.options.before(v2297) {
			nets = all(gpu.routes[nodeNET])
		}
		for _, n := range nets {
			net := s.nodes[nodeNET][n]
			if net.routes[nodeCPU] == nil || net.routes[nodeGPU] == nil {
				continue
			}
			if mergeTypes(gpu.routes[nodeCPU][cpu.index].typ, net.routes[nodeCPU][cpu.index].typ) == PathP2C {
				out, in := &gpu.routes[nodeNET][n], &net.routes[nodeGPU][gpu.index]
				out.typ, in.typ = min(PathP2C, out.typ), min(PathP2C, in.typ)
			}
		}
	}
	return nil
}

// divertNets lets GPUs reach NICs through another GPU, and routes paths without GPUDirect RDMA through the CPU.
func (s *System) divertNets() error {
	for _, net := range s.nodes[nodeNET] {
		for _, gpu := range s.nodes[nodeGPU] {
			if gpu.routes[nodeNET] == nil || net.routes[nodeGPU] == nil {
				continue
			}
			if peer := s.relay(net, gpu); peer != nil {
				via(gpu, peer, net)
			}
			if gpu.routes[nodeNET][net.index].typ >= PathPHB || s.gdrWorks(gpu, net, false) {
				continue
			}
			cpu, err := s.nearestCPU(gpu)
			if err != nil {
				return err
			}
			if net.routes[nodeCPU] == nil || cpu.routes[nodeNET] == nil || cpu.routes[nodeGPU] == nil {
				continue
			}
			via(net, cpu, gpu)
			via(gpu, cpu, net)
		}
	}
	return nil
}

// relay is the GPU through which another reaches a NIC faster; nil where it uses its own path (PXN).
func (s *System) relay(net, gpu *node) *node {
	level, on := s.options.pxnLevel()
	if !on {
		return nil
	}
	at := s.localGPUOf(net)
	if at < 0 || at == gpu.index {
		return nil
	}
	peer := s.nodes[nodeGPU][at]
	near, own := peer.routes[nodeNET][net.index], gpu.routes[nodeNET][net.index]
	direct := s.options.before(v2307) || s.gdrWorks(peer, net, true) // what 2.30 demands besides
	if near.typ > level || !direct || peer.routes[nodeGPU][gpu.index].typ > PathNVL {
		return nil
	}
	if near.bw <= own.bw && own.typ <= PathPXN {
		return nil
	}
	return peer
}

// gdrWorks reports whether a NIC can read or write a GPU's memory (ncclTopoCheckGdr).
func (s *System) gdrWorks(gpu, net *node, read bool) bool {
	if !gpu.gdr || !net.gdr {
		return false
	}
	if read && !s.gdrReads(gpu) {
		return false
	}
	distance := gpu.routes[nodeNET][net.index].typ
	if distance == PathPXN {
		if peer := s.pxnPeer(gpu, net); peer != nil {
			distance = peer.routes[nodeNET][net.index].typ
		}
	}
	return distance <= s.options.gdrLevel()
}

// gdrReads: before Ampere a NIC reads a GPU's memory only where NVLink keeps PCIe free.
func (s *System) gdrReads(gpu *node) bool {
	setting := s.options.Integer("NCCL_NET_GDR_READ", -2)
	if setting == 0 {
		return false
	}
	if setting > 0 || gpu.sm >= 80 || len(s.nodes[nodeGPU]) == 1 {
		return true
	}
	return slices.ContainsFunc(gpu.routes[nodeGPU], func(r route) bool { return r.typ == PathNVL })
}

// pxnPeer is the GPU through which a PXN path goes.
func (s *System) pxnPeer(gpu, net *node) *node {
	for _, l := range gpu.routes[nodeNET][net.index].list {
		if l.to.typ != nodeNVS {
			if l.to.typ == nodeGPU {
				return l.to
			}
			return nil
		}
	}
	return nil
}
