package draw

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// leaf is a GPU or NIC in the picture.
type leaf struct {
	kind  topology.Kind
	label string // GPU0
	bus   string
	lines []string // below the label
	tip   string
	at    *topology.Device // nil: no place in the tree
	bad   bool             // a link above it, up to the next switch drawn, is downgraded
	links bool             // a GPU with NVLink or XGMI
}

// slot is a row of a column: a GPU and a NIC beside it, either may be missing.
type slot struct{ gpu, nic *leaf }

// subtree is a switch in the picture with what hangs on it; without a device, the flat part of a NUMA node.
type subtree struct {
	device  *topology.Device
	leaves  []*leaf
	columns [][]slot
	below   []*subtree
}

// socket is a NUMA node in the picture, or the place of devices that have none.
type socket struct {
	title, tip string
	tree       bool // its PCI tree is known
	subtrees   []*subtree
}

// columnRows is the most rows of a column: one of twice that height would not fit a screen.
const columnRows = 8

// forest returns the NUMA nodes of a machine, or of its pairs alone where the PCI tree is unknown.
func forest(m *topology.Machine, p topology.Pairing) []*socket {
	var all []*socket
	if len(m.CPUs) == 0 {
		all = pairSockets(p)
	} else {
		all = treeSockets(m)
	}
	partners := map[string][]string{}
	for _, x := range p.Pairs {
		if x.NIC != nil {
			partners[x.GPU.Label] = append(partners[x.GPU.Label], x.NIC.Label)
		}
	}
	for _, s := range all {
		for _, l := range s.subtrees {
			l.arrange(partners)
		}
	}
	return all
}

func treeSockets(m *topology.Machine) []*socket {
	known := newDevices(m)
	var all []*socket
	for _, c := range m.CPUs {
		s := &socket{title: cpuWords(c), tip: cpuWords(c), tree: true}
		flat := &subtree{}
		for i := range c.Devices {
			if d := &c.Devices[i]; d.IsSwitch() {
				if l := known.subtree(d); l.size() > 0 {
					s.subtrees = append(s.subtrees, l)
				}
			} else {
				flat.leaves = append(flat.leaves, known.leaves(d)...)
			}
		}
		for _, n := range m.NICs { // as NCCL writes a NIC that is not a PCI function
			if !known.seen[n.Bus] && n.NUMA == c.NUMA {
				known.seen[nicLabel(n)] = true
				flat.leaves = append(flat.leaves, nicLeaf(n, nil))
			}
		}
		if len(flat.leaves) > 0 {
			s.subtrees = append(s.subtrees, flat)
		}
		if len(s.subtrees) > 0 {
			all = append(all, s)
		}
	}
	lost := &subtree{}
	for _, g := range m.GPUs {
		if !known.seen[g.Bus] {
			lost.leaves = append(lost.leaves, gpuLeaf(g, nil))
		}
	}
	for _, n := range m.NICs {
		if !known.seen[n.Bus] && !known.seen[nicLabel(n)] {
			lost.leaves = append(lost.leaves, nicLeaf(n, nil))
		}
	}
	if len(lost.leaves) > 0 {
		all = append(all, &socket{title: "unknown place", tip: "These are not in the PCI tree.", subtrees: []*subtree{lost}})
	}
	return all
}

// subtree gathers what hangs on a switch. A switch with one GPU or NIC behind another switch is not drawn: AMD's
// GPUs have one in their package.
func (d devices) subtree(x *topology.Device) *subtree {
	l := &subtree{device: x}
	for i := range x.Children {
		child := &x.Children[i]
		if !child.IsSwitch() {
			l.leaves = append(l.leaves, d.leaves(child)...)
			continue
		}
		switch sub := d.subtree(child); {
		case sub.size() == 0:
		case sub.size() == 1:
			only := sub.only()
			only.bad = only.bad || trainingOf(*child) == downgraded
			only.tip += fmt.Sprintf("; behind switch %s, %s", child.Bus, trainedWords(*child))
			l.leaves = append(l.leaves, only)
		default:
			l.below = append(l.below, sub)
		}
	}
	return l
}

func (l *subtree) size() int {
	n := len(l.leaves)
	for _, b := range l.below {
		n += b.size()
	}
	return n
}

// only returns the one leaf of a subtree of size 1.
func (l *subtree) only() *leaf {
	for len(l.leaves) == 0 {
		l = l.below[0]
	}
	return l.leaves[0]
}

func (d devices) leaves(x *topology.Device) []*leaf {
	var all []*leaf
	for _, g := range d.gpus[x.Bus] {
		all = append(all, gpuLeaf(g, x))
	}
	for _, n := range d.nics[x.Bus] {
		all = append(all, nicLeaf(n, x))
	}
	return all
}

func gpuLeaf(g topology.GPU, at *topology.Device) *leaf {
	name := g.Model
	if name == "" {
		name = shortName(gpuName(g))
	}
	l := &leaf{kind: topology.KindGPU, label: gpuLabel(g), bus: g.Bus, lines: []string{fabric.Printable(name), shortBus(g.Bus), shortLink(at)},
		tip: further(further(gpuLabel(g), gpuName(g)), g.Bus), at: at, links: len(g.Links) > 0}
	l.place()
	return l
}

func nicLeaf(n topology.NIC, at *topology.Device) *leaf {
	l := &leaf{kind: topology.KindNIC, label: nicLabel(n), bus: n.Bus, lines: []string{fabric.Printable(n.Name), rateWords(n.Mbps), shortLink(at)},
		tip: further(nicLabel(n)+nicWords(n), n.Bus), at: at}
	if n.Mbps <= 0 {
		l.lines[1] = ""
	}
	l.place()
	return l
}

// place adds what the link says to a leaf in the tree.
func (l *leaf) place() {
	if l.at == nil {
		l.tip += "; its place in the PCI tree is unknown"
		return
	}
	l.bad = trainingOf(*l.at) == downgraded
	l.tip += "  " + trainedWords(*l.at)
}

// shortName leaves the maker out.
func shortName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "NVIDIA "), "AMD Instinct ")
}

// shortBus leaves the domain 0000 out.
func shortBus(bus string) string { return strings.TrimPrefix(bus, "0000:") }

// shortLink writes Gen5 x16 with question marks for what is unknown; empty without a place.
func shortLink(d *topology.Device) string {
	if d == nil {
		return ""
	}
	gen, width := generation(d.Speed), "x?"
	if gen == "" {
		gen = "Gen?"
	}
	if d.Width > 0 {
		width = "x" + strconv.Itoa(d.Width)
	}
	return gen + " " + width
}

// pairSockets puts the devices of pairs by NUMA node, as nvidia-smi topo -m alone knows them.
func pairSockets(p topology.Pairing) []*socket {
	byNUMA := map[int]*subtree{}
	seen := map[string]bool{}
	add := func(d topology.MatrixDevice) {
		if seen[d.Label] {
			return
		}
		seen[d.Label] = true
		if byNUMA[d.NUMA] == nil {
			byNUMA[d.NUMA] = &subtree{}
		}
		l := &leaf{kind: d.Kind, label: fabric.Printable(d.Label), bus: d.Bus, lines: []string{shortName(fabric.Printable(d.Name)), shortBus(fabric.Printable(d.Bus))}, tip: further(further(d.Label, d.Name), d.Bus)}
		if d.Mbps > 0 {
			l.lines = append(l.lines, rateWords(d.Mbps))
		}
		byNUMA[d.NUMA].leaves = append(byNUMA[d.NUMA].leaves, l)
	}
	for _, x := range p.Pairs {
		add(x.GPU)
		if x.NIC != nil {
			add(*x.NIC)
		}
	}
	for _, d := range p.Spare {
		add(d)
	}
	var all []*socket
	for numa, l := range byNUMA {
		title := "NUMA node unknown"
		if numa >= 0 {
			title = fmt.Sprintf("NUMA %d", numa)
		}
		all = append(all, &socket{title: title, tip: title + ": its PCI tree is unknown", subtrees: []*subtree{l}})
	}
	slices.SortFunc(all, func(a, b *socket) int { return Natural(a.title, b.title) })
	return all
}

// arrange puts leaves into rows: a GPU with its NIC beside it, further NICs of it below, then the others.
func (l *subtree) arrange(partners map[string][]string) {
	for _, b := range l.below {
		b.arrange(partners)
	}
	nics := map[string]*leaf{}
	for _, x := range l.leaves {
		if x.kind == topology.KindNIC {
			nics[x.label] = x
		}
	}
	var rows []slot
	taken := map[string]bool{}
	for _, x := range l.leaves {
		if x.kind != topology.KindGPU {
			continue
		}
		row := slot{gpu: x}
		for _, label := range partners[x.label] {
			nic := nics[label]
			if nic == nil || taken[label] {
				continue
			}
			taken[label] = true
			if row.nic != nil {
				rows = append(rows, row)
				row = slot{}
			}
			row.nic = nic
		}
		rows = append(rows, row)
	}
	for _, x := range l.leaves {
		if x.kind == topology.KindNIC && !taken[x.label] {
			i := slices.IndexFunc(rows, func(r slot) bool { return r.nic == nil })
			if i < 0 {
				rows, i = append(rows, slot{}), len(rows)
			}
			rows[i].nic = x
		}
	}
	l.columns = slices.Collect(slices.Chunk(rows, columnRows))
}
