package ncclgraph

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/ncclxml"
)

// number assigns GPUs and NETs the numbers that a process gives them when it loads the file. A file that has them all,
// each once, is used as it is.
func (b *builder) number() error {
	gpus := b.s.nodes[nodeGPU]
	byBus := slices.Clone(gpus)
	slices.SortStableFunc(byBus, func(a, c *node) int { return int(max(min(a.id-c.id, 1), -1)) })
	if !distinct(gpus, func(n *node) int { return n.dev }) {
		b.note("dev of the GPUs is missing or not unique: numbered by address")
		for i, n := range byBus {
			n.dev = i
		}
	}
	if !distinct(gpus, func(n *node) int { return n.rank }) {
		b.note("rank of the GPUs is missing or not unique: numbered by address")
		for i, n := range byBus {
			n.rank = i
		}
	}
	if !distinct(b.nets, func(n *node) int { return n.dev }) {
		b.note("dev of the NETs is missing or not unique: numbered in the order of the file")
		for i, n := range b.nets {
			n.dev = i
		}
	}
	for _, n := range b.nets {
		n.id = int64(n.dev)
	}
	b.s.AMD = slices.ContainsFunc(gpus, func(n *node) bool { return n.gcn != "" })
	return nil
}

func distinct(nodes []*node, number func(*node) int) bool {
	seen := map[int]bool{}
	for _, n := range nodes {
		if number(n) < 0 || seen[number(n)] {
			return false
		}
		seen[number(n)] = true
	}
	return true
}

// below calls f for each child of that name of each GPU, in file order.
func (b *builder) below(names []string, f func(gpu *node, e *ncclxml.Element) error) error {
	var walk func(e *ncclxml.Element) error
	walk = func(e *ncclxml.Element) error {
		for _, child := range e.Children {
			var err error
			if gpu := b.gpus[e]; gpu != nil && slices.Contains(names, child.Name) {
				err = f(gpu, child)
			} else {
				err = walk(child)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return walk(b.document)
}

func (b *builder) addNVLinks() error { return b.below([]string{"nvlink", "xgmi"}, b.addNVLink) }

func (b *builder) addNVLink(gpu *node, e *ncclxml.Element) error {
	count, err := e.Integer("count")
	if err != nil {
		return err
	}
	if count < 0 || count > maxEndpoints {
		return fmt.Errorf("%s: count %d: want 0 to %d", e.Title(), count, maxEndpoints)
	}
	bw := float32(count) * ncclxml.NVLinkRate(gpu.sm)
	if e.Name == "xgmi" {
		bw = float32(count) * ncclxml.XGMIRate(gpu.gcn)
	}
	target, _ := e.Get("target")
	peer := b.find(nodeGPU, ncclxml.BusNumber(target))
	switch b.farEnd(e, peer) {
	case nodeGPU:
		if peer == nil || peer == gpu {
			return nil // a GPU of another job
		}
		return b.connect(gpu, peer, linkNVL, bw) // the peer's own element has the reverse direction
	case nodeCPU:
		if cpu := localCPU(gpu, map[*node]bool{}); cpu != nil {
			return b.join(gpu, cpu, linkNVL, bw)
		}
		return nil
	default:
		if len(b.s.nodes[nodeNVS]) == 0 {
			if _, err := b.create(nodeNVS, 0, ""); err != nil {
				return err
			}
		}
		return b.join(gpu, b.s.nodes[nodeNVS][0], linkNVL, bw)
	}
}

// farEnd is the node at the other end of a link. NCCL completes a file that does not state it: from the target where
// that is a GPU, else as an NVSwitch.
func (b *builder) farEnd(e *ncclxml.Element, peer *node) nodeType {
	class, ok := e.Get("tclass")
	switch {
	case e.Name == "xgmi" && strings.HasPrefix(class, "0x12"):
		return nodeGPU // a processing accelerator: the class of AMD's from the MI200 on
	case ok:
		return nodeTypeOf(class)
	case peer != nil:
		return nodeGPU
	}
	b.note("%s: no tclass: NCCL assumes an NVSwitch at the far end", e.Title())
	return nodeNVS
}

// localCPU climbs the PCI tree to the NUMA node.
func localCPU(n *node, seen map[*node]bool) *node {
	if n.typ == nodeCPU {
		return n
	}
	seen[n] = true
	for _, l := range n.links {
		if l.typ != linkPCI || seen[l.to] || l.to.typ != nodePCI && l.to.typ != nodeCPU {
			continue
		}
		if cpu := localCPU(l.to, seen); cpu != nil {
			return cpu
		}
	}
	return nil
}

func (b *builder) addC2C() error {
	return b.below([]string{"c2c"}, func(gpu *node, e *ncclxml.Element) error {
		count, err := e.Integer("count")
		if err != nil {
			return err
		}
		mbps, err := e.Integer("bw")
		if err != nil {
			return err
		}
		cpu := localCPU(gpu, map[*node]bool{})
		if cpu == nil {
			return nil
		}
		return b.join(gpu, cpu, linkC2C, float32(float64(mbps)*float64(count)/1000))
	})
}

// addPCILinks joins the parts of one switch (ncclTopoAddPciLinks): each side lists its own direction.
func (b *builder) addPCILinks() error {
	var walk func(e *ncclxml.Element) error
	walk = func(e *ncclxml.Element) error {
		for _, child := range e.Children {
			if child.Name != "pcilink" {
				if err := walk(child); err != nil {
					return err
				}
				continue
			}
			bus, _ := e.Get("busid")
			from := b.find(nodePCI, ncclxml.BusNumber(bus))
			if from == nil {
				return fmt.Errorf("%s: has a pcilink but is not a PCIe switch", e.Title())
			}
			target, err := child.Required("target")
			if err != nil {
				return err
			}
			to := b.find(nodePCI, ncclxml.BusNumber(target))
			if to == nil || to == from {
				continue
			}
			if err := b.connect(from, to, linkLOC, locBW); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(b.document)
}

// broadcomGeneration recognises the two levels of a Broadcom PEX switch: 4 and 5 are its PCIe
// generation, 0 is another switch (getBcmGen).
func broadcomGeneration(device uint64, level int) int {
	const upTo = ^uint64(0xfff)
	switch {
	case device&upTo == 0x1000c0101000a000:
		return 4
	case device&upTo == 0x1000c03010000000|uint64(level)*0x1000:
		return 5
	}
	return 0
}

// flattenBroadcom merges a Broadcom switch and its second level (ncclTopoFlattenBcmSwitches).
func (b *builder) flattenBroadcom() error {
	switches := &b.s.nodes[nodePCI]
	for i := 0; i < len(*switches); i++ {
		top := (*switches)[i]
		generation := broadcomGeneration(top.device, 0)
		if generation == 0 {
			continue
		}
		var below []*node
		top.links = slices.DeleteFunc(top.links, func(l *link) bool {
			second := l.to.typ == nodePCI && broadcomGeneration(l.to.device, 1) == generation
			if second {
				below = append(below, l.to)
			}
			return second
		})
		for _, sub := range below {
			b.lift(sub, top)
		}
		top.device |= 0xffff // done; NCCL's own mark, and it prints it
		i = -1
	}
	return nil
}

// lift moves what is below sub to top and removes sub.
func (b *builder) lift(sub, top *node) {
	for _, l := range sub.links {
		if l.to == top || l.to == sub {
			continue
		}
		top.links = append(top.links, &link{typ: l.typ, bw: l.bw, to: l.to})
		if i := slices.IndexFunc(l.to.links, func(back *link) bool { return back.to == sub }); i >= 0 {
			l.to.links[i].to = top
		}
	}
	for t, nodes := range b.s.nodes {
		for _, n := range nodes {
			n.links = slices.DeleteFunc(n.links, func(l *link) bool { return l.to == sub })
		}
		b.s.nodes[t] = slices.DeleteFunc(nodes, func(n *node) bool { return n == sub })
		for i, n := range b.s.nodes[t] {
			n.index = i
		}
	}
}

// connectCPUs joins every NUMA node with every other.
func (b *builder) connectCPUs() error {
	for _, from := range b.s.nodes[nodeCPU] {
		for _, to := range b.s.nodes[nodeCPU] {
			if from == to {
				continue
			}
			if err := b.connect(from, to, linkSYS, interCPURate(from.cpu)); err != nil {
				return err
			}
		}
	}
	return nil
}

// interCPURate is what NCCL assumes for the link between sockets, GB/s (src/graph/topo.h, 2.28 to 2.30).
func interCPURate(cpu ncclxml.HostCPU) float32 {
	switch {
	case cpu.Arch == ncclxml.ArchPower:
		return 32
	case cpu.Arch == ncclxml.ArchARM:
		return 6
	case cpu.Arch != ncclxml.ArchX86:
		return locBW
	case cpu.Vendor == ncclxml.VendorIntel:
		return map[int]float32{ncclxml.ModelEmeraldRapids: 40, ncclxml.ModelSapphireRapids: 22, ncclxml.ModelSkylake: 10, ncclxml.ModelBroadwell: 6}[cpu.Model]
	case cpu.Vendor == ncclxml.VendorAMD:
		return 16
	case cpu.Vendor == ncclxml.VendorZhaoxin && cpu.Model == ncclxml.ModelYongfeng:
		return 9
	case cpu.Vendor == ncclxml.VendorZhaoxin:
		return 6
	}
	return locBW
}

// sort puts each node's upward links after its downward ones (ncclTopoSortSystem).
func (b *builder) sort() error {
	seen := map[*node]bool{}
	var order func(n, up *node)
	order = func(n, up *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		if i := slices.IndexFunc(n.links, func(l *link) bool { return l.to == up }); i >= 0 {
			n.links = append(slices.Delete(slices.Clone(n.links), i, i+1), n.links[i])
		}
		for _, l := range n.links {
			if l.typ == linkPCI && l.to != up {
				order(l.to, n)
			}
		}
	}
	for _, cpu := range b.s.nodes[nodeCPU] {
		order(cpu, nil)
	}
	return nil
}

// check numbers the links and checks that each has a reverse direction, without which NCCL gives up.
func (b *builder) check() error {
	s := b.s
	for _, nodes := range s.nodes {
		for _, n := range nodes {
			for _, l := range n.links {
				if !slices.ContainsFunc(l.to.links, func(back *link) bool { return back.to == n && back.typ == l.typ }) {
					return fmt.Errorf("%s has a link %s to %s, which has no link back", n.label(), l.typ, l.to.label())
				}
				l.index = len(s.links)
				s.links = append(s.links, l)
			}
		}
	}
	if len(s.links) > maxGraphLinks {
		return fmt.Errorf("more than %d links", maxGraphLinks)
	}
	return nil
}
