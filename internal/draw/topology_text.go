package draw

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// Widths of TopologyText, in columns: the least that it draws for, and that of what is no terminal, in which a
// matrix of eight GPUs and eight NICs stands whole.
const (
	narrowest  = 40
	usualWidth = 120
)

// TopologyText writes a host for a terminal of width columns, or 0 for what is none: the tree of NUMA nodes, root ports, switches,
// GPUs and NICs with their links, what joins the GPUs beside PCIe, the distances in the words of nvidia-smi
// topo -m, and which GPU uses which NIC, those that lose most first. A machine without a PCI tree, as
// nvidia-smi topo -m alone gives, or nil, has its distances and pairs only, and the text says so.
func TopologyText(w io.Writer, m *topology.Machine, x topology.Matrix, p topology.Pairing, width int) error {
	t := topologyText{width: max(cmp.Or(width, usualWidth), narrowest)}
	if m == nil {
		m = &topology.Machine{}
	}
	t.tree(m)
	t.matrix(x)
	t.pairing(p)
	for _, gap := range slices.Concat(m.Gaps, x.Gaps) {
		t.hang("Unknown: ", gap)
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

type topologyText struct {
	b     strings.Builder
	width int
}

// hang writes text behind a first word and breaks it below the text.
func (t *topologyText) hang(first, text string) {
	t.broken(first, strings.Repeat(" ", utf8.RuneCountInString(first)), text)
}

// broken writes text behind first, and behind next where it has to be broken.
func (t *topologyText) broken(first, next, text string) {
	for i, line := range wrapped(fabric.Printable(text), t.width-utf8.RuneCountInString(first)) {
		if i > 0 {
			first = next
		}
		t.b.WriteString(strings.ReplaceAll(strings.TrimRight(first+line, " "), glued, " ") + "\n")
	}
}

// glued is a blank at which text is not broken.
const glued = "\u00a0"

func glue(text string) string { return strings.ReplaceAll(text, " ", glued) }

// wrapped breaks text at its blanks; a word that is too long stays whole.
func wrapped(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Split(text, " ") {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}

// branch is a line of the tree with what hangs on it.
type branch struct {
	text  string
	below []branch
}

func (t *topologyText) tree(m *topology.Machine) {
	if len(m.CPUs) == 0 {
		source := fabric.Printable(m.Source)
		if source != "" {
			source = " (" + source + ")"
		}
		t.hang("", "The PCI tree is unknown"+source+": distances and pairs only.")
		t.b.WriteString("\n")
		return
	}
	title := strings.TrimSpace(fabric.Printable(m.Name))
	if title == "" {
		title = "Host"
	}
	t.hang("", fmt.Sprintf("%s (%s): %s, %s, %s", title, fabric.Printable(m.Source), fabric.Count(len(m.CPUs), "NUMA node"), fabric.Count(len(m.GPUs), "GPU"), fabric.Count(len(m.NICs), "NIC")))
	known := newDevices(m)
	for _, c := range m.CPUs {
		t.b.WriteString("\n")
		t.hang("", cpuWords(c))
		t.branches("", known.branches(c))
	}
	if lost := known.lost(m); len(lost) > 0 {
		t.b.WriteString("\n")
		t.hang("", "Without a place in the PCI tree:")
		t.branches("", lost)
	}
	t.b.WriteString("\n")
	t.hang("", scaleUpWords(m))
	t.b.WriteString("\n")
}

// branches draws the lines of a tree.
func (t *topologyText) branches(indent string, all []branch) {
	for i, b := range all {
		first, next, below := "├─ ", "│  ", "│  "
		if i == len(all)-1 {
			first, next, below = "└─ ", "   ", "   "
		}
		if len(b.below) > 0 {
			next += "│ "
		}
		t.broken(indent+first, indent+next+"  ", b.text)
		t.branches(indent+below, b.below)
	}
}

// devices finds the GPUs and NICs of PCI functions.
type devices struct {
	gpus map[string][]topology.GPU
	nics map[string][]topology.NIC
	seen map[string]bool // addresses in the tree
}

func newDevices(m *topology.Machine) devices {
	d := devices{gpus: map[string][]topology.GPU{}, nics: map[string][]topology.NIC{}, seen: map[string]bool{}}
	for _, g := range m.GPUs {
		d.gpus[g.Bus] = append(d.gpus[g.Bus], g)
	}
	for _, n := range m.NICs {
		d.nics[n.Bus] = append(d.nics[n.Bus], n)
	}
	var walk func([]topology.Device)
	walk = func(all []topology.Device) {
		for _, x := range all {
			d.seen[x.Bus] = true
			walk(x.Children)
		}
	}
	for _, c := range m.CPUs {
		walk(c.Devices)
	}
	return d
}

// branches returns the tree below a NUMA node: root ports where they are known, then what hangs on them.
func (d devices) branches(c topology.CPU) []branch {
	var all []branch
	at := map[string]int{}
	for _, x := range c.Devices {
		if x.Port == "" {
			all = append(all, d.branch(x)...)
			continue
		}
		if _, ok := at[x.Port]; !ok {
			at[x.Port] = len(all)
			all = append(all, branch{text: "root port " + x.Port})
		}
		port := &all[at[x.Port]]
		port.below = append(port.below, d.branch(x)...)
	}
	return all
}

// branch returns one line per GPU and one per port of a NIC; one for a switch or any other function.
func (d devices) branch(x topology.Device) []branch {
	var lines []branch
	link := x.Bus + "  " + strings.ReplaceAll(glue(trainedWords(x)), ","+glued, ", ")
	for _, g := range d.gpus[x.Bus] {
		lines = append(lines, branch{text: further(gpuLabel(g)+"  "+link, glue(gpuName(g)))})
	}
	for _, n := range d.nics[x.Bus] {
		lines = append(lines, branch{text: nicLabel(n) + "  " + link + nicWords(n)})
	}
	if len(lines) == 0 {
		lines = []branch{{text: functionWord(x) + "  " + link}}
	}
	for _, child := range x.Children {
		lines[0].below = append(lines[0].below, d.branch(child)...)
	}
	return lines
}

// lost lists GPUs and NICs whose function is not in the tree.
func (d devices) lost(m *topology.Machine) []branch {
	var lines []branch
	for _, g := range m.GPUs {
		if !d.seen[g.Bus] {
			lines = append(lines, branch{text: further(further(gpuLabel(g), g.Bus), gpuName(g))})
		}
	}
	for _, n := range m.NICs {
		if !d.seen[n.Bus] {
			lines = append(lines, branch{text: further(nicLabel(n), n.Bus) + nicWords(n)})
		}
	}
	return lines
}

func functionWord(x topology.Device) string {
	switch {
	case x.IsSwitch():
		return "switch"
	case x.Class == topology.ClassNVSwitch:
		return "NVSwitch"
	case x.IsGPU():
		return "GPU, not in use"
	case x.IsNIC():
		return "NIC, not of the fabric"
	default:
		return fmt.Sprintf("device of class %06x", x.Class)
	}
}

func gpuName(g topology.GPU) string {
	switch {
	case g.Name != "":
		return fabric.Printable(g.Name)
	case g.Model != "":
		return fabric.Printable(g.Model)
	default:
		return fabric.Printable(g.GCN)
	}
}

// nicWords returns name and rate, and that GPUDirect RDMA does not work where that is known.
func nicWords(n topology.NIC) string {
	text := further("", glue(fabric.Printable(n.Name))) + "  " + glue(rateWords(n.Mbps))
	if n.GDR != nil && !*n.GDR {
		text += ", " + glue("no GPUDirect RDMA")
	}
	return text
}

// further adds a further column, if there is anything in it.
func further(text, more string) string {
	if more == "" {
		return text
	}
	return text + "  " + more
}

func (t *topologyText) pairing(p topology.Pairing) {
	if len(p.Pairs) == 0 && len(p.Spare) == 0 {
		t.hang("", "Pairs: no GPU and no NIC of the fabric is known.")
		return
	}
	near, all := nearCount(p.Pairs)
	t.hang("", fmt.Sprintf("Pairs: %d of %s have a NIC near enough for GPUDirect RDMA.", near, fabric.Count(all, "GPU")))
	bonds := bondsOf(p.Pairs)
	gpu, nic := 3, 4
	for _, b := range bonds {
		gpu = max(gpu, utf8.RuneCountInString(fabric.Printable(b.GPU.Label)))
		nic = max(nic, utf8.RuneCountInString(b.nicCell()))
	}
	nic = min(nic, t.width/3)
	for _, b := range bonds {
		hop := ""
		if b.NIC != nil {
			hop = b.Hop.String()
		}
		first := fmt.Sprintf("  %-*s  %-*s  %-4s  ", gpu, fabric.Printable(b.GPU.Label), nic, fit(b.nicCell(), float64(nic), 1), hop)
		t.hang(first, costWords(b.Pair))
	}
	if len(p.Spare) > 0 {
		t.hang("  ", "Not used: "+deviceNames(p.Spare)+".")
	}
}
