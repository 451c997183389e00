package topology

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// ReadROCmSMI reads the output of rocm-smi on the GPUs of a host, of --showbus, --showtopotype, --showtopo and
// --showhw, one or all of them in one text: PCI addresses, NUMA nodes, and whether a pair is connected by XGMI or
// by PCIe. rocm-smi counts no links and sees no switches: a pair on PCIe is at PHB where it reports both
// on one CPU socket (2 hops), and at SYS across sockets (3 hops). Errors: none of these, a matrix that is
// truncated or not symmetric, parts about different GPUs, more than 1024 GPUs, a text of more than 16 MiB.
func ReadROCmSMI(text string) (Matrix, error) {
	const what = "rocm-smi"
	if len(text) > maxTopoText {
		return Matrix{}, fmt.Errorf("%s: text of %d bytes is longer than %d", what, len(text), maxTopoText)
	}
	r := rocmText{gpus: make(map[int]*MatrixDevice), tables: make(map[string][][]string)}
	lines := plainLines(text)
	for i := 0; i < len(lines); i++ {
		used, err := r.line(lines[i], lines[i+1:])
		if err != nil {
			return Matrix{}, fmt.Errorf("%s: line %d: %w", what, i+1, err)
		}
		i += used
	}
	x, err := r.matrix()
	if err != nil {
		return Matrix{}, fmt.Errorf("%s: %w", what, err)
	}
	return x, nil
}

// Titles of rocm-smi's matrices.
const (
	rocmTypes = "Link Type between two GPUs"
	rocmHops  = "Hops between two GPUs"
)

// rocmText is what was read so far.
type rocmText struct {
	gpus   map[int]*MatrixDevice // by number
	tables map[string][][]string // cells by title
	inHW   bool                  // inside the table of --showhw
}

var (
	// rocmValueLine is "GPU[0]          : PCI Bus: 0000:1C:00.0" or "GPU[0] : (Topology) Numa Node: 0".
	rocmValueLine = pattern.Plain(`^\s*GPU\[([0-9]{1,4})\]\s*:\s*(PCI Bus|\(Topology\) Numa Node)\s*:\s*(\S+)\s*$`)
	// rocmTitle is "==== Link Type between two GPUs ====".
	rocmTitle = pattern.Plain(`^=+ (.*?) =+$`)
)

// line reads a line, and where a matrix begins its lines; used is how many of the next lines it read.
func (r *rocmText) line(line string, next []string) (used int, err error) {
	if m := rocmValueLine().FindStringSubmatch(line); m != nil {
		return 0, r.value(m[1], m[2], m[3])
	}
	trimmed := strings.TrimSpace(line)
	if m := rocmTitle().FindStringSubmatch(trimmed); m != nil {
		r.inHW = false
		if title := m[1]; title == rocmTypes || title == rocmHops {
			if r.tables[title] != nil {
				return 0, fmt.Errorf("a second %q: want the text of one host", title)
			}
			r.tables[title], used, err = rocmTable(next)
			return used, err
		}
		return 0, nil
	}
	fields := strings.Fields(trimmed)
	if len(fields) > 1 && fields[0] == "GPU" && slices.Contains(fields, "BUS") {
		r.inHW = true
		return 0, nil
	}
	if r.inHW && len(fields) > 1 {
		return 0, r.hardware(fields)
	}
	return 0, nil
}

func (r *rocmText) gpu(number string) (*MatrixDevice, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= maxMatrixDevices {
		return nil, fmt.Errorf("GPU %s is not between 0 and %d", fabric.Quote(number), maxMatrixDevices-1)
	}
	g, ok := r.gpus[n]
	if !ok {
		g = &MatrixDevice{Label: fmt.Sprintf("GPU%d", n), Kind: KindGPU, NUMA: -1}
		r.gpus[n] = g
	}
	return g, nil
}

func (r *rocmText) value(number, name, text string) error {
	g, err := r.gpu(number)
	if err != nil {
		return err
	}
	if name == "PCI Bus" {
		return g.at(text)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < -1 {
		return fmt.Errorf("%s: invalid NUMA node %s", g.Label, fabric.Quote(text))
	}
	g.NUMA = n
	return nil
}

// at records an address, which must not contradict an earlier one.
func (d *MatrixDevice) at(text string) error {
	bus, err := ParseBus(text)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Label, err)
	}
	if d.Bus != "" && d.Bus != bus {
		return fmt.Errorf("%s: is at %s and at %s: want the text of one host", d.Label, d.Bus, bus)
	}
	d.Bus = bus
	return nil
}

// hardware reads a row of --showhw, whose columns differ by version; the bus is the field that is an address.
func (r *rocmText) hardware(fields []string) error {
	if _, err := strconv.Atoi(fields[0]); err != nil {
		return nil
	}
	for _, f := range fields[1:] {
		if strings.Count(f, ":") != 2 {
			continue
		}
		g, err := r.gpu(fields[0])
		if err != nil {
			return err
		}
		return g.at(f)
	}
	return nil
}

// rocmTable reads the header GPU0 GPU1 ... and its rows.
func rocmTable(lines []string) (cells [][]string, used int, err error) {
	for used < len(lines) && strings.TrimSpace(lines[used]) == "" {
		used++
	}
	if used == len(lines) {
		return nil, used, errors.New("the text ends before the matrix")
	}
	head := strings.Fields(lines[used])
	used++
	if len(head) > maxMatrixDevices {
		return nil, used, fmt.Errorf("%d GPUs: a matrix holds at most %d", len(head), maxMatrixDevices)
	}
	for i, label := range head {
		if label != fmt.Sprintf("GPU%d", i) {
			return nil, used, fmt.Errorf("column %s: want GPU%d", fabric.Quote(label), i)
		}
	}
	for i := range head {
		if used == len(lines) || strings.TrimSpace(lines[used]) == "" {
			return nil, used, fmt.Errorf("the matrix ends after %d of %d rows", i, len(head))
		}
		fields := strings.Fields(lines[used])
		used++
		if len(fields) != len(head)+1 || fields[0] != head[i] {
			return nil, used, fmt.Errorf("row of %s: want its name and %d cells: the matrix is truncated", head[i], len(head))
		}
		cells = append(cells, fields[1:])
	}
	return cells, used, nil
}

func (r *rocmText) matrix() (Matrix, error) {
	types, hops := r.tables[rocmTypes], r.tables[rocmHops]
	n := max(len(types), len(hops), len(r.gpus))
	if n == 0 {
		return Matrix{}, errors.New("no output of --showbus, --showtopotype, --showtopo or --showhw found")
	}
	var x Matrix
	for i := range n {
		g := r.gpus[i]
		if g == nil && len(r.gpus) > 0 {
			return Matrix{}, fmt.Errorf("GPU%d of %d is in only one part of the text", i, n)
		}
		if g == nil {
			g = &MatrixDevice{Label: fmt.Sprintf("GPU%d", i), Kind: KindGPU, NUMA: -1}
		}
		x.Devices, x.Hops = append(x.Devices, *g), append(x.Hops, make([]Hop, n))
	}
	for _, t := range [][][]string{types, hops} {
		if t != nil && len(t) != n {
			return Matrix{}, fmt.Errorf("a matrix of %d GPUs, and %d elsewhere in the text", len(t), n)
		}
	}
	if types == nil {
		x.Gaps = append(x.Gaps, "the text does not have the links between the GPUs: --showtopotype shows them")
	}
	for i := range n {
		for j := range n {
			h, err := rocmHop(i == j, cell(types, i, j), cell(hops, i, j))
			if err != nil {
				return Matrix{}, fmt.Errorf("GPU%d to GPU%d: %w", i, j, err)
			}
			x.Hops[i][j] = h
		}
	}
	x.rocmGaps(types, hops)
	return x, x.check()
}

// rocmGaps returns what is unknown about a pair on PCIe.
func (x *Matrix) rocmGaps(types, hops [][]string) {
	onPCIe := slices.ContainsFunc(types, func(row []string) bool { return slices.Contains(row, "PCIE") })
	switch {
	case onPCIe && hops == nil:
		x.Gaps = append(x.Gaps, "the text does not have the distance of GPUs on PCIe: --showtopo shows it")
	case onPCIe:
		x.Gaps = append(x.Gaps, "rocm-smi does not see PCIe switches: PHB may be PIX, PXB or NODE")
	}
}

func cell(table [][]string, i, j int) string {
	if table == nil {
		return ""
	}
	return table[i][j]
}

// rocmHop reads what connects two GPUs; hops as in the guide to MI200 optimisation: 1 XGMI, 2 PCIe within a
// CPU socket, 3 across sockets.
func rocmHop(same bool, kind, hops string) (Hop, error) {
	switch {
	case same && (kind == "0" || kind == "" || kind == "X"):
		return Hop{Distance: Self}, nil
	case same:
		return Hop{}, fmt.Errorf("has link %s to itself, want 0", fabric.Quote(kind))
	case kind == "XGMI":
		return Hop{Distance: NVLink, XGMI: true}, nil
	case kind == "PCIE" && hops == "2":
		return Hop{Distance: PHB}, nil
	case kind == "PCIE" && hops == "3":
		return Hop{Distance: SYS}, nil
	case kind == "PCIE", kind == "", kind == "N/A":
		return Hop{}, nil
	default:
		return Hop{}, fmt.Errorf("link type %s: unknown; known: XGMI, PCIE, N/A", fabric.Quote(kind))
	}
}
