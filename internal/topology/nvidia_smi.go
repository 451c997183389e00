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

// maxTopoText bounds the output of nvidia-smi or rocm-smi: a matrix of 1024 devices has 8 MB.
const maxTopoText = 16 << 20

// ReadNvidiaTopo reads the matrix of nvidia-smi topo -m from a text, of any version: with or without the
// columns of affinities, NICs as NIC0 with a legend or under their own names, tabs or blanks, the escapes of
// an underlined header. Other output around it is skipped, including the matrix of topo -p2p. Errors: no matrix or
// two, a truncated one, a cell that is not one of nvidia-smi's words, a matrix that is not symmetric, more than
// 1024 devices, a text of more than 16 MiB.
func ReadNvidiaTopo(text string) (Matrix, error) {
	const what = "nvidia-smi topo -m"
	if len(text) > maxTopoText {
		return Matrix{}, fmt.Errorf("%s: text of %d bytes is longer than %d", what, len(text), maxTopoText)
	}
	lines := plainLines(text)
	var found *Matrix
	for i := 0; i < len(lines); i++ {
		labels, ok := topoHead(lines[i])
		if !ok || i+1 < len(lines) && isPeerMatrix(lines[i+1], len(labels)) {
			continue
		}
		x, rows, err := readTopo(labels, lines[i+1:], strings.Contains(lines[i], "NUMA Affinity"))
		switch {
		case err != nil:
			return Matrix{}, fmt.Errorf("%s: line %d: %w", what, i+1+rows, err)
		case found != nil:
			return Matrix{}, fmt.Errorf("%s: line %d: a second matrix begins: want the text of one host", what, i+1)
		}
		found = &x
		i += rows
	}
	if found == nil {
		return Matrix{}, errors.New(what + ": no matrix found: want a header such as GPU0 GPU1 NIC0 CPU Affinity")
	}
	found.legend(lines)
	return *found, nil
}

// escape is a terminal's control sequence (ECMA-48, 5.4).
var escape = pattern.Plain("\x1b\\[[0-?]*[ -/]*[@-~]")

// plainLines returns the lines without terminal escapes and line ends.
func plainLines(text string) []string {
	if strings.Contains(text, "\x1b") {
		text = escape().ReplaceAllString(text, "")
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], "\r")
	}
	return lines
}

var (
	gpuLabel = pattern.Plain(`^GPU[0-9]{1,4}$`)
	nicLabel = pattern.Plain(`^NIC[0-9]{1,4}$`)
	// deviceLabel matches the label of a column: GPU0, NIC0, mlx5_0, mlx5_bond_0, hfi1_0, rocep1s0f0
	deviceLabel = pattern.Plain(`^[A-Za-z][A-Za-z0-9_.-]*[0-9][A-Za-z0-9_.-]*$`)
)

// topoHead returns the labels of the device columns, where a line is the header of a matrix.
func topoHead(line string) (labels []string, ok bool) {
	for _, field := range strings.Fields(line) {
		if field == "CPU" || field == "NUMA" { // Affinity
			break
		}
		if _, isCell := topoCell(field); isCell || !deviceLabel().MatchString(field) {
			return nil, false
		}
		labels = append(labels, field)
	}
	return labels, len(labels) > 0 && gpuLabel().MatchString(labels[0])
}

// isPeerMatrix recognises the first row of topo -p2p, whose cells are OK, CNS and so on: none is a distance except
// X.
func isPeerMatrix(line string, n int) bool {
	fields := strings.Fields(line)
	if len(fields) < 2 || !gpuLabel().MatchString(fields[0]) {
		return false
	}
	cells := fields[1:min(len(fields), n+1)]
	peer := []string{"OK", "CNS", "GNS", "TNS", "NS", "U", "DR"}
	return slices.ContainsFunc(cells, func(c string) bool { return slices.Contains(peer, c) })
}

// topoCell reads a cell. SOC and PHB are the names of SYS and PHB in drivers before 2017.
func topoCell(word string) (Hop, bool) {
	for d := Self; d <= SYS; d++ {
		if d != NVLink && word == d.String() {
			return Hop{Distance: d}, true
		}
	}
	switch word {
	case "SOC":
		return Hop{Distance: SYS}, true
	case "N/A":
		return Hop{}, true
	}
	digits, ok := strings.CutPrefix(word, "NV")
	links, err := strconv.Atoi(digits)
	if !ok || err != nil || links < 1 || links > maxLinks || digits[0] == '+' {
		return Hop{}, false
	}
	return Hop{Distance: NVLink, Links: links}, true
}

// maxLinks bounds the NVLinks between two GPUs; Rubin has 36.
const maxLinks = 1024

// readTopo reads the rows below a header. rows is how many lines it read, up to the one with the error.
func readTopo(labels, lines []string, hasNUMA bool) (x Matrix, rows int, err error) {
	n := len(labels)
	if n > maxMatrixDevices {
		return Matrix{}, 0, fmt.Errorf("%d devices: a matrix holds at most %d", n, maxMatrixDevices)
	}
	if twice := firstTwice(labels); twice != "" {
		return Matrix{}, 0, fmt.Errorf("column %q: duplicate", twice)
	}
	for i, label := range labels {
		d := MatrixDevice{Label: label, Kind: kindOf(label), NUMA: -1}
		for rows < len(lines) && strings.TrimSpace(lines[rows]) == "" {
			rows++
		}
		if rows >= len(lines) {
			return Matrix{}, rows, fmt.Errorf("the text ends after %d of %d rows", i, n)
		}
		fields := strings.Fields(lines[rows])
		rows++
		if fields[0] != label {
			return Matrix{}, rows, fmt.Errorf("row %s: want that of %s: the matrix is truncated or out of order", fabric.Quote(fields[0]), label)
		}
		row, err := topoRow(fields[1:], n)
		if err != nil {
			return Matrix{}, rows, fmt.Errorf("row %s: %w", label, err)
		}
		if hasNUMA && d.Kind == KindGPU {
			d.NUMA, d.Coherent = numaColumns(fields[1+n:])
		}
		if d.Kind == KindNIC && !nicLabel().MatchString(label) {
			d.Name = label
		}
		x.Devices, x.Hops = append(x.Devices, d), append(x.Hops, row)
	}
	return x, rows, x.check()
}

func firstTwice(labels []string) string {
	seen := make(map[string]bool, len(labels))
	for _, l := range labels {
		if seen[l] {
			return l
		}
		seen[l] = true
	}
	return ""
}

func kindOf(label string) Kind {
	if gpuLabel().MatchString(label) {
		return KindGPU
	}
	return KindNIC
}

func topoRow(cells []string, n int) ([]Hop, error) {
	if len(cells) < n {
		return nil, fmt.Errorf("has %d of %d cells: the line is truncated", len(cells), n)
	}
	row := make([]Hop, n)
	for j, word := range cells[:n] {
		h, ok := topoCell(word)
		if !ok {
			return nil, fmt.Errorf("cell %d: %s: unknown; known: X, NV#, PIX, PXB, PHB, NODE, SYS, SOC, N/A", j+1, fabric.Quote(word))
		}
		row[j] = h
	}
	return row, nil
}

// numaColumns reads the second and third column after the cells: the NUMA affinity, and the NUMA node of the
// GPU's own memory. Only memory behind NVLink-C2C is one, and the affinity is then a list that begins with
// the node of the CPU.
func numaColumns(rest []string) (numa int, coherent bool) {
	if len(rest) < 2 {
		return -1, false
	}
	if len(rest) > 2 {
		_, err := strconv.Atoi(rest[2])
		coherent = err == nil
	}
	first, _, _ := strings.Cut(rest[1], ",")
	first, _, _ = strings.Cut(first, "-")
	n, err := strconv.Atoi(first)
	if err != nil || n < 0 {
		return -1, coherent
	}
	return n, coherent
}

// check tests a matrix that was read: X on the diagonal and nowhere else, and
// the same from both sides.
func (x *Matrix) check() error {
	for i := range x.Hops {
		if x.Hops[i][i].Distance != Self {
			return fmt.Errorf("row %s: is at %s from itself, want X", x.Devices[i].Label, x.Hops[i][i])
		}
		for j := range i {
			a, b := x.Hops[i][j], x.Hops[j][i]
			switch {
			case a != b:
				return fmt.Errorf("%s to %s is %s and back it is %s: the matrix is not symmetric", x.Devices[j].Label, x.Devices[i].Label, b, a)
			case a.Distance == Self:
				return fmt.Errorf("%s to %s is X, which is for itself only", x.Devices[j].Label, x.Devices[i].Label)
			case a.Distance == DistanceUnknown && len(x.Gaps) == 0:
				x.Gaps = append(x.Gaps, "some distances are unknown: N/A")
			}
		}
	}
	return nil
}

// legendLine is "  NIC0: mlx5_0".
var legendLine = pattern.Plain(`^\s*(NIC[0-9]{1,4}):\s+(\S+)\s*$`)

// legend names the NICs.
func (x *Matrix) legend(lines []string) {
	names := make(map[string]string)
	for _, line := range lines {
		if m := legendLine().FindStringSubmatch(line); m != nil {
			names[m[1]] = m[2]
		}
	}
	for i, d := range x.Devices {
		if d.Kind != KindNIC || d.Name != "" {
			continue
		}
		if x.Devices[i].Name = names[d.Label]; names[d.Label] == "" {
			x.Gaps = append(x.Gaps, d.Label+": unknown name: it is in the NIC legend at the end of the text")
		}
	}
}
