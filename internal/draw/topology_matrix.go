package draw

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// longMatrix is the number of rows above which a matrix that has to be folded is written for the GPUs only:
// from NIC to NIC nothing goes.
const longMatrix = 32

// matrix writes the distances in the form of nvidia-smi topo -m. Columns that do not fit follow below, GPUs
// and NICs apart.
func (t *topologyText) matrix(x topology.Matrix) {
	if len(x.Devices) == 0 {
		t.hang("", "Distances: none is known.")
		t.b.WriteString("\n")
		return
	}
	rows, columns := make([]int, len(x.Devices)), make([]int, len(x.Devices))
	for i := range rows {
		rows[i], columns[i] = i, i
	}
	g := matrixGrid{x: x}
	g.measure(columns)
	blocks := g.fold(columns, t.width)
	if len(blocks) > 1 && len(rows) > longMatrix {
		if gpus := ofKind(x, topology.KindGPU); len(gpus) > 0 {
			rows = gpus
		}
	}
	for i, block := range blocks {
		if i > 0 {
			t.b.WriteString("\n")
		}
		g.write(&t.b, rows, block, i == len(blocks)-1)
	}
	if len(rows) < len(columns) {
		t.hang("", "From NIC to NIC is left out.")
	}
	t.legend(x)
	t.b.WriteString("\n")
}

func ofKind(x topology.Matrix, kind topology.Kind) []int {
	var found []int
	for i, d := range x.Devices {
		if d.Kind == kind {
			found = append(found, i)
		}
	}
	return found
}

// matrixGrid knows the widths of a matrix in columns of the terminal.
type matrixGrid struct {
	x     topology.Matrix
	label int   // of the row labels
	cell  []int // of each column
}

func (g *matrixGrid) measure(columns []int) {
	for _, i := range columns {
		n := g.title(i)
		g.label = max(g.label, n)
		for j := range g.x.Devices {
			n = max(n, len(g.x.Hop(j, i).String()))
		}
		g.cell = append(g.cell, n)
	}
}

func (g *matrixGrid) title(i int) int {
	return utf8.RuneCountInString(fabric.Printable(g.x.Devices[i].Label))
}

// numaTitle is the last column.
const numaTitle = "NUMA"

// fold cuts the columns into blocks that fit: one block if they all do, else GPUs and NICs apart.
func (g *matrixGrid) fold(columns []int, width int) [][]int {
	if g.room(columns) <= width {
		return [][]int{columns}
	}
	var blocks [][]int
	for k, i := range columns {
		last := len(blocks) - 1
		apart := k == 0 || g.x.Devices[i].Kind != g.x.Devices[columns[k-1]].Kind
		if apart || g.room(append(slices.Clip(blocks[last]), i)) > width {
			blocks = append(blocks, []int{i})
			continue
		}
		blocks[last] = append(blocks[last], i)
	}
	return blocks
}

// room is how wide columns are with labels and the NUMA node.
func (g *matrixGrid) room(columns []int) int {
	n := g.label + 1 + len(numaTitle)
	for _, i := range columns {
		n += 1 + g.cell[i]
	}
	return n
}

func (g *matrixGrid) write(b *strings.Builder, rows, columns []int, numa bool) {
	line := strings.Repeat(" ", g.label)
	for _, i := range columns {
		line += fmt.Sprintf(" %-*s", g.cell[i], fabric.Printable(g.x.Devices[i].Label))
	}
	if numa {
		line += " " + numaTitle
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	for _, j := range rows {
		line := fmt.Sprintf("%-*s", g.label, fabric.Printable(g.x.Devices[j].Label))
		for _, i := range columns {
			line += fmt.Sprintf(" %-*s", g.cell[i], g.x.Hop(j, i))
		}
		if numa {
			line += " " + numaWord(g.x.Devices[j].NUMA)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func numaWord(numa int) string {
	if numa < 0 {
		return "?"
	}
	return strconv.Itoa(numa)
}

// legend explains the words that occur, and names the NICs where the matrix numbers them.
func (t *topologyText) legend(x topology.Matrix) {
	used := map[string]bool{}
	for i := range x.Devices {
		for j := range x.Devices {
			if h := x.Hop(i, j); h.Distance == topology.NVLink && !h.XGMI {
				used["NV#"] = true
			} else {
				used[h.String()] = true
			}
		}
	}
	var items []string
	for _, word := range [...][2]string{
		{"NV#", "that many NVLinks"}, {"XGMI", "XGMI links"}, {"PIX", "one PCIe switch at most"},
		{"PXB", "several PCIe switches"}, {"PHB", "a host bridge"}, {"NODE", "several host bridges of a NUMA node"},
		{"SYS", "from NUMA node to NUMA node"}, {"?", "unknown"},
	} {
		if used[word[0]] {
			items = append(items, glue(word[0]+" = "+word[1]))
		}
	}
	if len(items) > 0 {
		t.hang("", strings.Join(items, ", "))
	}
	if names := nicNames(x); len(names) > 0 {
		t.hang("", strings.Join(names, ", "))
	}
}

// nicNames returns which device a NIC's label is, in one term where their numbers are the same.
func nicNames(x topology.Matrix) []string {
	var terms, labels, names []string
	alike, first := true, ""
	for _, d := range x.Devices {
		if d.Kind != topology.KindNIC || d.Name == "" || d.Name == d.Label {
			continue
		}
		_, number := splitNumber(d.Label)
		prefix, of := splitNumber(d.Name)
		if len(names) == 0 {
			first = prefix
		}
		alike = alike && prefix == first && number == of && number >= 0
		labels, names = append(labels, d.Label), append(names, d.Name)
		terms = append(terms, glue(fabric.Printable(d.Label+" = "+d.Name)))
	}
	if alike && len(names) > 1 {
		return []string{glue(fabric.Printable(Names(labels, 0) + " = " + Names(names, 0)))}
	}
	return terms
}
