package draw

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// boxes draws GPUs, NICs, switches and root ports.
func (t *topologyPicture) boxes(s *svg, b *band) {
	for i, trunks := range b.trunks {
		for _, x := range trunks {
			for _, rows := range x.columns {
				for _, r := range rows {
					t.leafBox(s, r.gpu)
					t.leafBox(s, r.nic)
				}
			}
			if b.sockets[i].tree {
				t.switchAndPort(s, b, x)
			}
		}
	}
}

func (t *topologyPicture) leafBox(s *svg, f *leaf) {
	if f == nil {
		return
	}
	at := t.seats[f.label]
	class := "gpu"
	if f.kind == topology.KindNIC {
		class = "nic"
	}
	if t.spare[f.label] {
		class += " spare"
	}
	s.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="4"><title>%s</title></rect>`, class, at.x, at.y, t.leaf, leafHeight, f.tip)
	s.add(`<text class="name mid" x="%s" y="%s">%s</text>`, at.x+t.leaf/2, at.y+13, fit(f.label, t.leaf-2, 6.4))
	y := at.y + 25
	for j, line := range f.lines {
		if line == "" {
			continue
		}
		class := "lab mid"
		if f.bad && j == len(f.lines)-1 {
			class = "lab mid bad"
		}
		s.add(`<text class="%s" x="%s" y="%s">%s</text>`, class, at.x+t.leaf/2, y, fit(line, t.leaf-3, leafChar))
		y += 11.5
	}
	switch {
	case t.alone[f.label]:
		cross(s, at.x+t.leaf+1, at.y+1)
	case f.bad && f.kind == topology.KindNIC:
		fallen(s, at.x+t.leaf+5, at.y+leafHeight*0.7)
	case f.bad:
		fallen(s, at.x-6, at.y+leafHeight*0.7)
	}
}

// fallen marks a link that trained below what it can: an arrow that points down.
func fallen(s *svg, x, y float64) {
	s.add(`<rect class="fail" x="%s" y="%s" width="12" height="12" rx="2"/><path class="m" d="M%s %sv6m-2.5 -2.5l2.5 2.5l2.5 -2.5"/>`, x-6, y-6, x, y-3)
}

func (t *topologyPicture) switchAndPort(s *svg, b *band, x *trunk) {
	mid := x.x + x.width/2
	if d := x.device; d != nil {
		y := b.switchTop(x.depth)
		left, width := x.x+5, x.width-6
		s.add(`<rect class="box" x="%s" y="%s" width="%s" height="%s" rx="3"><title>%s</title></rect>`, left, y, width, switchBox, "switch "+d.Bus+"  "+trainedWords(*d))
		s.add(`<text class="lab mid" x="%s" y="%s">%s</text>`, mid, y+13.5, fit("switch "+shortBus(d.Bus), width-4, leafChar))
		down := trainingOf(*d) == downgraded
		class := "lab"
		if down {
			class = "lab bad"
			fallen(s, mid-13, y+switchBox+uplink/2)
		}
		s.add(`<text class="%s" x="%s" y="%s">%s</text>`, class, mid+6, y+switchBox+13, shortLink(d))
		if rate := topology.RawRate(d.Speed, d.Width); rate > 0 {
			s.add(`<text class="%s" x="%s" y="%s">%s</text>`, class, mid+6, y+switchBox+24, fmt.Sprintf("%.1f GB/s", rate))
		}
	}
	if name := portName(x.subtree); x.up == nil && name != "" {
		left, width := x.x+5, x.width-6
		s.add(`<rect class="box" x="%s" y="%s" width="%s" height="%s" rx="3"><title>%s</title></rect>`, left, b.portTop, width, portBox, name)
		s.add(`<text class="lab mid" x="%s" y="%s">%s</text>`, mid, b.portTop+11.5, fit(name, width-4, leafChar))
		s.add(`<path class="pci" stroke-width="1.5" d="M%s %sV%s"/>`, mid, b.portTop+portBox, b.socketTop)
	}
}

// portName names the root port of a switch, or of what hangs on none; empty where it is unknown.
func portName(l *subtree) string {
	if l.device != nil {
		if l.device.Port == "" {
			return ""
		}
		return "root port " + shortBus(l.device.Port)
	}
	var ports []string
	for _, f := range l.leaves {
		if f.at != nil && f.at.Port != "" && !slices.Contains(ports, f.at.Port) {
			ports = append(ports, f.at.Port)
		}
	}
	switch len(ports) {
	case 0:
		return ""
	case 1:
		return "root port " + shortBus(ports[0])
	default:
		return fabric.Count(len(ports), "root port")
	}
}

// foot draws the sockets and what joins them.
func (t *topologyPicture) foot(s *svg, b *band) {
	for i, x := range b.sockets {
		width := float64(x.columns())*t.column() + 2*socketPad
		class := "box"
		if !x.tree {
			class = "box spare"
		}
		s.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="4"><title>%s</title></rect>`, class, b.at[i], b.socketTop, width, socketBox, x.tip)
		title := x.title
		if short, _, ok := strings.Cut(title, ":"); ok && 6.4*float64(len(title)) > width {
			title = short
		}
		s.add(`<text class="name mid" x="%s" y="%s">%s</text>`, b.at[i]+width/2, b.socketTop+16, fit(title, width-6, 6.4))
	}
	t.interconnect(s, b)
}

// interconnect joins the NUMA nodes of a band.
func (t *topologyPicture) interconnect(s *svg, b *band) {
	var mids []float64
	for i, x := range b.sockets {
		if x.tree {
			mids = append(mids, b.at[i]+float64(x.columns())*t.column()/2+socketPad)
		}
	}
	if len(mids) < 2 {
		return
	}
	y := b.socketTop + socketBox
	for _, x := range mids {
		s.add(`<path class="numa" d="M%s %sv9"/>`, x, y)
	}
	left, right := mids[0], mids[len(mids)-1]
	s.add(`<path class="numa" d="M%s %sH%s"/>`, left-1, y+9, right+1)
	s.add(`<text class="lab mid" x="%s" y="%s">between NUMA nodes</text>`, (left+right)/2, y+21)
}

// keyItem is a line or a mark with its meaning.
type keyItem struct {
	class string
	mark  func(*svg, float64, float64)
	text  string
}

// keyItems are the lines and marks in use.
func (t *topologyPicture) keyItems() []keyItem {
	var items []keyItem
	add := func(used bool, item keyItem) {
		if used {
			items = append(items, item)
		}
	}
	near, far, dim := false, false, false
	for _, p := range t.pairing.Pairs {
		near, far = near || p.NIC != nil && p.Near, far || p.NIC != nil && !p.Near
	}
	down := len(downgradedNames(t.machine)) > 0
	for _, b := range t.bands {
		for _, s := range b.sockets {
			dim = dim || s.tree && s.rateUnknown()
		}
	}
	add(len(t.machine.CPUs) > 0, keyItem{class: "pci", text: "PCIe"})
	add(dim, keyItem{class: "pci dim", text: "PCIe, rate unknown"})
	add(slices.ContainsFunc(t.bands, func(b *band) bool { return b.hasLinks }), keyItem{class: "nv", text: "NVLink or XGMI"})
	add(near, keyItem{class: "near", text: "GPU and its NIC"})
	add(far, keyItem{class: "far", text: "GPU and its NIC, not near"})
	add(len(t.alone) > 0, keyItem{mark: cross, text: "GPU without a NIC"})
	add(down, keyItem{mark: fallen, text: "link downgraded"})
	return items
}

// rateUnknown reports whether the rate of a link of the picture is unknown.
func (s *socket) rateUnknown() bool {
	var any func(*subtree) bool
	any = func(l *subtree) bool {
		return l.device != nil && topology.RawRate(l.device.Speed, l.device.Width) == 0 || slices.ContainsFunc(l.below, any) ||
			slices.ContainsFunc(l.leaves, func(f *leaf) bool { return f.at == nil || topology.RawRate(f.at.Speed, f.at.Width) == 0 })
	}
	return slices.ContainsFunc(s.subtrees, any)
}

// key explains lines and marks, in as many rows as it takes; it returns the y of the last one. With s nil it
// only measures.
func (t *topologyPicture) key(s *svg, y float64) float64 {
	x := 0.0
	for _, item := range t.keyItems() {
		width := 40 + leafChar*float64(len(item.text))
		if x+width > t.width+14 {
			x, y = 0, y+noteRow
		}
		switch {
		case s == nil:
		case item.mark != nil:
			item.mark(s, x+9, y-3)
		default:
			s.add(`<path class="%s" stroke-width="3" d="M%s %sh18"/>`, item.class, x, y-3)
		}
		if s != nil {
			s.add(`<text class="lab" x="%s" y="%s">%s</text>`, x+23, y, item.text)
		}
		x += width
	}
	return y
}

// noteTexts are the sentences under the picture: what is wrong, by name, and what is left out.
func (t *topologyPicture) noteTexts() []string {
	const most = 6 // of one kind
	var notes []string
	costly := 0
	for _, b := range bondsOf(t.pairing.Pairs) {
		cost := costWords(b.Pair)
		if cost == "" {
			continue
		}
		if costly++; costly <= most {
			notes = append(notes, fabric.Printable(fmt.Sprintf("%s %s: %s.", b.GPU.Label, b.withWords(), cost)))
		}
	}
	if costly > most {
		notes = append(notes, fmt.Sprintf("%s more with a loss.", fabric.Count(costly-most, "GPU")))
	}
	if down := downgradedNames(t.machine); len(down) > 0 {
		notes = append(notes, "Downgraded: "+strings.Join(down[:min(len(down), most)], "; ")+more(len(down)-most)+".")
	}
	if len(t.pairing.Spare) > 0 {
		notes = append(notes, "Not used: "+deviceNames(t.pairing.Spare)+".")
	}
	if hidden := t.hidden(); hidden > 0 {
		notes = append(notes, fmt.Sprintf("%s not drawn: too far apart in the picture.", fabric.Count(hidden, "pair")))
	}
	if len(t.bands) > 1 {
		notes = append(notes, "All rows are one host, though what joins their NUMA nodes is not drawn.")
	}
	for i, gap := range t.machine.Gaps {
		if i < most {
			notes = append(notes, "Unknown: "+fabric.Printable(gap)+".")
		}
	}
	return notes
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("; %d more", n)
}

// hidden counts the pairs that have no line.
func (t *topologyPicture) hidden() int {
	n := 0
	for _, p := range t.pairing.Pairs {
		if p.NIC != nil && t.seats[p.GPU.Label].column != t.seats[p.NIC.Label].column {
			n++
		}
	}
	for _, b := range t.bands {
		n -= len(b.lanes)
	}
	return n
}

// downgradedNames lists the devices above which a link trained below what it can.
func downgradedNames(m *topology.Machine) []string {
	known := newDevices(m)
	var names []string
	var walk func([]topology.Device)
	walk = func(all []topology.Device) {
		for _, x := range all {
			if trainingOf(x) == downgraded {
				for _, b := range known.branch(topology.Device{Bus: x.Bus, Class: x.Class}) {
					name, _, _ := strings.Cut(b.text, "  ")
					names = append(names, fmt.Sprintf("%s %s at %s of %s", name, x.Bus, linkName(x.Speed, x.Width), linkName(x.MaxSpeed, x.MaxWidth)))
				}
			}
			walk(x.Children)
		}
	}
	for _, c := range m.CPUs {
		walk(c.Devices)
	}
	return names
}
