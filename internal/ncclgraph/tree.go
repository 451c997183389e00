package ncclgraph

import "railwright.dev/railwright/internal/ncclxml"

// headFromNet makes the GPU that a NET belongs to the head of a channel of NVLS or CollNet direct; a GPU is head
// once.
func (c *search) headFromNet(net *node, nets int, w walk, left *int) bool {
	t, gpus := &c.try, len(c.s.nodes[nodeGPU])
	if t.channels >= nets || net.localGPU < 0 {
		return false
	}
	for channel := range t.channels {
		if t.gpus[channel*gpus] == net.localGPU {
			return false
		}
	}
	c.tryGPU(net, net.localGPU, 0, w, left)
	return true
}

// headNVLS checks whether the NVSwitch and all GPUs have the bandwidth for a head: each GPU once in both directions, the
// head twice (ncclTopoSearchTryNvls).
func (c *search) headNVLS(head *node, left *int) {
	nvs := c.s.nodes[nodeNVS][0]
	legs := make([]leg, 0, 2*len(c.s.nodes[nodeGPU]))
	for _, gpu := range c.s.nodes[nodeGPU] {
		legs = append(legs, leg{nvs, gpu, headShare(gpu, head)})
	}
	for _, gpu := range c.s.nodes[nodeGPU] {
		legs = append(legs, leg{gpu, nvs, headShare(gpu, head)})
	}
	c.withAll(legs, left)
}

func headShare(gpu, head *node) float32 {
	if gpu == head {
		return 2
	}
	return 1
}

// headCollNet checks whether a head has the bandwidth to and from all GPUs, each with its part
// (ncclTopoSearchTryCollnetDirect).
func (c *search) headCollNet(head *node, left *int) {
	gpus := c.s.nodes[nodeGPU]
	share := float32(1) / float32(max(len(gpus)-1, 1))
	legs := make([]leg, 0, 2*len(gpus))
	for _, gpu := range gpus {
		legs = append(legs, leg{head, gpu, share})
	}
	for _, gpu := range gpus {
		legs = append(legs, leg{gpu, head, share})
	}
	at := c.try.channels*len(gpus) + 1
	for _, gpu := range gpus {
		if gpu != head {
			c.try.gpus[at] = gpu.index
			at++
		}
	}
	c.withAll(legs, left)
}

// leg is a path and a multiple of the draft's bandwidth that it has to carry.
type leg struct {
	from, to *node
	times    float32
}

// withAll reserves all legs at once, continues if there is room for them, and releases them.
func (c *search) withAll(legs []leg, left *int) {
	taken := 0
	for taken < len(legs) && c.follow(legs[taken].from, legs[taken].to, legs[taken].times) {
		taken++
	}
	if taken == len(legs) {
		c.step(nil, len(c.s.nodes[nodeGPU]), walk{-1, -1, anyOrder}, left)
	}
	for taken--; taken >= 0; taken-- {
		c.follow(legs[taken].from, legs[taken].to, -legs[taken].times)
	}
}

// follow takes the draft's bandwidth times a number from every link of a path, or returns it where that is
// negative. It returns false, and changes nothing, where the path is too far or has too little left
// (ncclTopoFollowPath). From a nil node every GPU is reached.
func (c *search) follow(from, to *node, times float32) bool {
	if from == nil {
		return true
	}
	routes, back := from.routes[to.typ], to.routes[from.typ]
	if routes == nil {
		return false
	}
	t, r := &c.try, &routes[to.index]
	bw, furthest := t.bwInter, t.typeInter
	if (from.typ == nodeGPU || from.typ == nodeNVS) && (to.typ == nodeGPU || to.typ == nodeNVS) {
		bw, furthest = t.bwIntra, t.typeIntra
	}
	if r.typ >= PathDIS || times == 1 && r.typ > furthest {
		return false
	}
	tree := t.pattern == PatternBalancedTree || t.pattern == PatternTree || t.pattern == PatternSplitTree
	if times == 1 && tree && (back == nil || back[from.index].typ > furthest) {
		return false
	}
	bw *= times
	if taken := c.take(from, r, len(r.list), bw); taken < len(r.list) {
		c.take(from, r, taken, -bw)
		return false
	}
	t.hops = int(float32(t.hops) + times*float32(r.count))
	return true
}

// take takes bandwidth from the first links of a path until one has too little, and returns how many had enough.
func (c *search) take(from *node, r *route, most int, bw float32) int {
	c.work -= len(r.list) + 1
	pci := bw
	if r.intel {
		pci = bw * 6 / 5 // it splits peer traffic into small packets (INTEL_P2P_OVERHEAD)
	}
	at := from
	for i, l := range r.list[:most] {
		forward := bw
		if l.typ == linkPCI {
			forward = pci
		}
		back, backward := c.backward(at, l, from, forward)
		has := &c.bw[l.index]
		if *has < forward || backward != 0 && c.bw[back] < backward {
			return i
		}
		*has = thousandth(*has - forward)
		if backward != 0 {
			c.bw[back] = thousandth(c.bw[back] - backward)
		}
		at = l.to
	}
	return most
}

// backward is the cost of a link in its other direction: reads into a GPU before Ampere, and NVLink to an IBM Power CPU.
func (c *search) backward(at *node, l *link, from *node, forward float32) (index int, bw float32) {
	if l.to.typ == nodeGPU && l.to.sm < 80 && from.typ != nodeGPU {
		bw += forward / 8
	}
	if l.to.typ == nodeCPU && l.to.cpu.Arch == ncclxml.ArchPower && l.typ == linkNVL {
		bw += forward
	}
	if bw == 0 {
		return 0, 0
	}
	for _, back := range l.to.links {
		if back.to == at && back.typ == l.typ {
			return back.index, bw
		}
	}
	return 0, 0
}

// thousandth rounds to three digits, as NCCL does against the drift of its sums.
func thousandth(bw float32) float32 {
	x := float64(bw * 1000)
	if x < 0 {
		return float32(int64(x-0.5)) / 1000
	}
	return float32(int64(x+0.5)) / 1000
}
