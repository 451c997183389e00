package results

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Numbers of notes. Gb are bits and GB are bytes, in whatever way the second is written.
var (
	noteValue  = pattern.New(`(\d+(?:[.,]\d+)?)\s*((?:[GM]i?[Bb]|[gm]b)(?:/s(?:ec)?|ps)\b|[GM]bits?(?:/s(?:ec)?|ps)\b)`)
	notePlain  = pattern.New(`^[\s*` + "`" + `~≈]*(\d+(?:\.\d+)?)[\s*` + "`" + `]*$`)
	noteUnit   = pattern.New(`((?:[GM]i?[Bb]|[gm]b)(?:/s(?:ec)?|ps)\b|[GM]bits?(?:/s(?:ec)?|ps)\b)`)
	noteSum    = pattern.New(`(\d+(?:\.\d+)?)(?: ?[A-Za-z/]{3,7})?\s*\+\s*(\d+(?:\.\d+)?)(?:(?: ?[A-Za-z/]{3,7})?\s*\+\s*(\d+(?:\.\d+)?))?`)
	noteArrow  = pattern.New(`(\d+(?:\.\d+)?)\s*(?:[GM]i?[Bb]\w*/?\w*)?\s*(?:-+>|→|=>)\s*(\d+(?:\.\d+)?)\s*([GM]i?[Bb](?:/s(?:ec)?|ps)\b)`)
	noteClause = pattern.New(`[,;]\s|\s(?:but|and|while|vs\.?|versus|then)\s`)
	noteSize   = pattern.New(`\b(\d+(?:\.\d+)?) ?([KMG])(?:i?B)?\b(?:[^/\w]|$)`)
)

// Words by which people tell what a number is of.
var (
	noteRDMA       = pattern.New(`(?i)\bib_(?:write|read|send)_bw\b|\brdma\b|\bperftest\b|\broce[pP]\w+|\bmlx5_\d+\b`)
	noteTCP        = pattern.New(`(?i)\biperf\d?\b|\btcp\b|\bnetperf\b|\bnuttcp\b`)
	noteCollective = pattern.New(`(?i)\ball[-_ ]?(?:reduce|gather|to[-_ ]?all)\w*|\breduce[-_ ]?scatter\w*|\bbroadcast_perf\b|\bbus ?bw\b|\bbus bandwidth\b|\balg ?bw\b|\bnccl(?:-tests)?\b`)
	noteProgram    = pattern.New(`(?i)\biperf\d?\b|\bnetperf\b|\bib_(?:write|read|send)_bw\b|\ball_(?:reduce|gather)_perf\b`)
	noteTogether   = pattern.New(`(?i)\bboth\b|\bdual\b|\bsimultaneous\w*|\bat once\b|\bin parallel\b|\bconcurrent\w*|\btogether\b|\bcombined\b|\btotal\b|\baggregate\w*|\bsum\b`)
	noteBefore     = pattern.New(`(?i)\b(?:before|initially|originally|at first|used to)\b`)
	noteAfter      = pattern.New(`(?i)\b(?:after|afterwards|now|fixed|nothing else changed|since then)\b`)
	// noteOther are numbers of something else: what was expected, what a link could do, memory and disks, tables of options.
	noteOther  = pattern.New(`(?i)\b(?:available PCIe bandwidth|capable of|theoretical|expect(?:ed|s)?|should|up to|line rate|raw link|nominal|advertised|spec(?:ification)?s?|memory bandwidth|lpddr\w*|nvme|ssd|disk|memcpy|hbm\w*|speed:|link_?speed|supported|nfs|rsync|scp|tokens?)\b`)
	noteDevice = pattern.New(`\b(?:roce[pP]\w+|mlx5_\d+)\b`)
	noteIperf  = pattern.New(`^\[(?:SUM|\s*\d+)\]`)
)

// roundRates are those by which ports and links are called, Gb/s: their name is no measurement.
var roundRates = []float64{10, 25, 40, 50, 56, 100, 200, 400, 800}

// numbers keeps the bandwidths of a line: of the cells of a table, or of a sentence.
func (r *notes) numbers(l line, text string) bool {
	cells := tableCells(text)
	if cells == nil {
		r.header = nil
		if !strings.Contains(text, "/s") && !strings.Contains(text, "ps") {
			return false
		}
		return r.sentence(l, text)
	}
	if r.header == nil || strings.Trim(text, "|-: ") == "" {
		if r.header == nil {
			r.header = cells
		}
		return false
	}
	kept, row := false, strings.Join(cells, " | ")
	for i, cell := range cells {
		head := ""
		if i < len(r.header) {
			head = r.header[i]
		}
		if m := notePlain().FindStringSubmatch(cell); m != nil {
			if unit := noteUnit().FindString(head); unit != "" {
				cell = m[1] + " " + unit
			}
		}
		label := head + " " + strings.Join(withoutNumbers(cells), " ") + " " + cell
		kept = r.measured(l, cell, label, row, i+1) || kept
	}
	return kept
}

// tableCells are the cells of a row of a Markdown table; nil: it is none.
func tableCells(text string) []string {
	text = strings.Trim(text, "> ")
	if !strings.HasPrefix(text, "|") || strings.Count(text, "|") < 3 {
		return nil
	}
	cells := strings.Split(strings.Trim(text, "|"), "|")
	for i := range cells {
		cells[i] = strings.Clone(strings.Trim(cells[i], " *`"))
	}
	return cells
}

// withoutNumbers are the cells that tell what a row is of.
func withoutNumbers(cells []string) []string {
	return slices.DeleteFunc(slices.Clone(cells), func(c string) bool {
		return noteValue().MatchString(c) || notePlain().MatchString(c)
	})
}

// sentence keeps the bandwidths of a line of prose. A heading with a colon before it belongs to it.
func (r *notes) sentence(l line, text string) bool {
	if at := noteIperf().FindStringIndex(text); at != nil {
		return strings.Contains(text, "receiver") && r.measured(l, text, "iperf "+text[at[1]:], text, 0) // else an interval or what was sent
	}
	label := text
	if r.heading != "" && r.heading != text {
		label = r.heading + " " + text
	}
	kept := false
	for _, piece := range notePieces(text) {
		kept = r.measured(l, piece, label, text, 0) || kept
	}
	return kept
}

// notePieces are the parts of a sentence with a bandwidth each; the sentence itself where it adds or compares them, or has one.
func notePieces(text string) []string {
	if len(noteValue().FindAllString(text, 3)) < 2 || noteSum().MatchString(text) || noteArrow().MatchString(text) {
		return []string{text}
	}
	return noteClause().Split(text, 16)
}

// measured keeps the last bandwidth of a piece of text, with what its label says of it.
func (r *notes) measured(l line, piece, label, whole string, column int) bool {
	n := fabric.NotedNumber{Line: l.number, Text: keep(whole), Column: column}
	if noteOther().MatchString(piece) || len(r.n.Numbers) >= maxNoted {
		return false
	}
	if m := noteArrow().FindStringSubmatch(piece); m != nil {
		was, is := n, n
		was.State, is.State = fabric.NotedBefore, fabric.NotedAfter
		return r.number(was, m[1], m[3], label, piece) && r.number(is, m[2], m[3], label, piece)
	}
	found := noteValue().FindAllStringSubmatch(piece, 8)
	kept := false
	for i, m := range found {
		if len(found) > 1 && i > 0 && noteSum().MatchString(piece) {
			break // the parts of a sum
		}
		if len(found) > 1 && column == 0 && noteSum().MatchString(piece) {
			m = found[len(found)-1] // a + b = c
		}
		kept = r.number(n, m[1], m[2], label, piece) || kept
	}
	return kept
}

func (r *notes) number(n fabric.NotedNumber, value, unit, label, piece string) bool {
	v, err := strconv.ParseFloat(strings.Replace(value, ",", ".", 1), 64)
	scale, bytes := unitScale(unit)
	if err != nil || v <= 0 || math.IsInf(v, 0) || !bytes && slices.Contains(roundRates, v*scale) && !strings.ContainsAny(value, ".,") {
		return false
	}
	n.Gbps, n.Bytes = v*scale, bytes
	n.Test = cmp.Or(testOf(piece), testOf(label), r.context)
	n.Together = noteTogether().MatchString(label)
	n.Socket = strings.Contains(strings.ToLower(label), "socket") || strings.Contains(label, "/dev/infiniband")
	for _, where := range []string{piece, label} {
		if devices := noteDevice().FindAllString(where, 8); len(devices) == 1 {
			n.Device = strings.Clone(devices[0])
			break
		}
	}
	if parts := partsOf(piece, scale); parts != nil {
		n.Parts, n.Together = parts, true
		if slices.Contains(parts, n.Gbps) { // no total was written
			n.Gbps = total(parts)
		}
	}
	n.State = cmp.Or(n.State, stateOf(piece), stateOf(label))
	n.Size, n.Label = cmp.Or(sizeIn(piece), sizeIn(label)), keep(label)
	r.n.Numbers = append(r.n.Numbers, n)
	return true
}

// unitScale is what a number of a unit is in Gb/s, and whether it counts bytes.
func unitScale(unit string) (scale float64, bytes bool) {
	scale = 1
	if unit[0] == 'M' || unit[0] == 'm' {
		scale = 1e-3
	}
	if strings.Contains(unit[:min(len(unit), 3)], "B") {
		scale, bytes = 8*scale, true
	}
	if len(unit) > 1 && unit[1] == 'i' {
		const binary = 1.073741824 // of GiB
		scale *= binary
	}
	return scale, bytes
}

// testOf is what a label says that a number is of. One device or a port is of RDMA.
func testOf(label string) fabric.NotedTest {
	switch {
	case noteTCP().MatchString(label) && !noteRDMA().MatchString(label):
		return fabric.NotedTCP
	case noteCollective().MatchString(label) && !strings.Contains(label, "ib_write_bw"):
		return fabric.NotedCollective
	case noteRDMA().MatchString(label):
		return fabric.NotedRDMA
	}
	return ""
}

// partsOf are the parts of a sum, Gb/s; nil: there is none.
func partsOf(piece string, scale float64) []float64 {
	m := noteSum().FindStringSubmatch(piece)
	if m == nil {
		return nil
	}
	var parts []float64
	for _, part := range m[1:] {
		if v, err := strconv.ParseFloat(part, 64); err == nil {
			parts = append(parts, v*scale)
		}
	}
	return parts
}

func total(parts []float64) float64 {
	sum := 0.0
	for _, p := range parts {
		sum += p
	}
	return sum
}

func stateOf(label string) fabric.NotedState {
	before, after := noteBefore().MatchString(label), noteAfter().MatchString(label)
	switch {
	case before && !after:
		return fabric.NotedBefore
	case after && !before:
		return fabric.NotedAfter
	}
	return ""
}

// sizeIn is the size of a message that a label names, bytes; 0: none.
func sizeIn(label string) int64 {
	m := noteSize().FindStringSubmatch(label)
	if m == nil {
		return 0
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil || v > 1<<20 {
		return 0
	}
	return int64(v * float64(int64(1)<<map[string]int{"K": 10, "M": 20, "G": 30}[m[2]]))
}
