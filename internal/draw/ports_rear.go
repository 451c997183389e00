package draw

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// Columns of a machine on a terminal: its RJ-45 port, its QSFP ports by number, and the gap to the next machine.
const (
	textEthernet = 5
	textJack     = 5
	textGap      = 3
	textShift    = 2 // of the lower row: two cables never run in one column
)

// textSpot is a character of the picture.
type textSpot struct {
	char  rune
	color string
}

// rearText is a portView laid out in columns and lines.
type rearText struct {
	portView
	o           CurveOptions
	width, cols int
	top, bottom []int
	x           []int // of each box
	up          []bool
	lines       [][]textSpot
}

func newRearText(v portView, width int, o CurveOptions) *rearText {
	t := &rearText{portView: v, o: o, width: width, x: make([]int, len(v.boxes)), up: make([]bool, len(v.boxes))}
	pitch := 0
	for i := range v.boxes {
		pitch = max(pitch, t.boxColumns(i)+textGap)
	}
	most := rowMost
	if v.plan.Wiring() == fabric.WiredSwitch {
		most = switchRowMost
	}
	most = min(most, max((width+textGap)/pitch, 1))
	t.top, t.bottom = v.rows(most)
	shift := 0
	if len(t.top) > 0 && len(t.bottom) > 0 && v.plan.Wiring() != fabric.WiredSwitch {
		shift = textShift
	}
	for i, box := range t.top {
		t.x[box] = i * pitch
	}
	for i, column := range columns(len(t.top), len(t.bottom)) {
		box := t.bottom[i]
		t.x[box], t.up[box] = column*pitch+shift, true
	}
	t.cols = max(len(t.top), len(t.bottom))*pitch - textGap + shift
	return t
}

func (t *rearText) boxColumns(box int) int {
	return 1 + textEthernet + textJack*len(t.boxes[box].jacks)
}

// column is where a port's cable leaves its machine.
func (t *rearText) column(j jackAt) int {
	return t.x[j.box] + textEthernet + textJack*j.number + textJack/2
}

func (t *rearText) draw() {
	if t.needsEthernet() {
		t.network(t.top, false)
	}
	t.machines(t.top)
	if t.plan.Wiring() == fabric.WiredSwitch {
		t.toSwitch()
	} else {
		t.cabling()
	}
	t.machines(t.bottom)
	if t.needsEthernet() && len(t.bottom) > 0 {
		t.network(t.bottom, true)
	}
}

// put writes a text at a column of a line; lines that are not there yet are made.
func (t *rearText) put(line, column int, text, color string) {
	for len(t.lines) <= line {
		t.lines = append(t.lines, nil)
	}
	for _, r := range text {
		for len(t.lines[line]) <= column {
			t.lines[line] = append(t.lines[line], textSpot{char: ' '})
		}
		if column >= 0 {
			t.lines[line][column] = textSpot{r, color}
		}
		column++
	}
}

// machines draws a row of them: the ports stand at the side of the cables, the name at the other.
func (t *rearText) machines(row []int) {
	if len(row) == 0 {
		return
	}
	y := len(t.lines)
	for _, box := range row {
		b, x := t.boxes[box], t.x[box]
		name := fitMiddle(fabric.Printable(b.Name), t.boxColumns(box)+textGap-3)
		outer, inner, names := y+1, y+3, y
		if t.up[box] {
			outer, inner, names = y+2, y, y+3
		}
		line := strings.Repeat("─", textEthernet-1)
		jacks := strings.Repeat("┬"+line, len(b.jacks))
		upper, lower := "┌"+line+jacks+"┐", "└"+line+strings.ReplaceAll(jacks, "┬", "┴")+"┘"
		at := x
		if t.needsEthernet() {
			t.put(names, x+2, "│", "")
			at += 4
		}
		t.put(names, at, name, bold)
		body := "│10G │"
		for n := range b.jacks {
			body += fmt.Sprintf(" %-3d│", n)
		}
		if t.up[box] {
			t.put(inner, x, upper, "")
			t.put(inner+1, x, body, "")
			t.put(outer, x, lower, "")
		} else {
			t.put(outer, x, upper, "")
			t.put(outer+1, x, body, "")
			t.put(inner, x, lower, "")
		}
		t.plugs(box, inner, outer)
	}
}

// plugs draws where cables leave a machine.
func (t *rearText) plugs(box, inner, outer int) {
	down, up := "┬", "┴"
	if t.up[box] {
		down, up = up, down
	}
	for n, j := range t.boxes[box].jacks {
		if j.cable >= 0 {
			t.put(inner, t.column(jackAt{box, n}), down, t.color(j.cable))
		}
	}
	if t.needsEthernet() {
		t.put(outer, t.x[box]+2, up, "")
	}
}

// network is the ordinary network along a row.
func (t *rearText) network(row []int, below bool) {
	y := len(t.lines)
	words, tee := "one network of all RJ-45 ports:", "┬"
	if below {
		words, tee = "the same network", "┴"
	} else {
		t.put(y, 0, words, "")
		y++
	}
	t.put(y, 0, strings.Repeat("─", t.cols), "")
	for _, box := range row {
		t.put(y, t.x[box]+2, tee, "")
	}
	if below {
		t.put(y+1, 0, words, "")
	}
}

func (t *rearText) color(cable int) string {
	if cable < 0 {
		return ""
	}
	return seriesColor(cable)
}

const bold = "\x1b[1m" // ECMA-48, 8.3.117

// text writes the lines with their colours.
func (t *rearText) text() string {
	var b strings.Builder
	for _, line := range t.lines {
		last := len(line) - 1
		for last >= 0 && line[last].char == ' ' {
			last--
		}
		color := ""
		for _, s := range line[:last+1] {
			if t.o.Color && s.color != color {
				if color != "" {
					b.WriteString(plain)
				}
				b.WriteString(s.color)
				color = s.color
			}
			b.WriteRune(t.char(s.char))
		}
		if color != "" {
			b.WriteString(plain)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// char is a character of the frame for terminals without UTF-8: corners and crossings are plus signs.
func (t *rearText) char(r rune) rune {
	switch {
	case !t.o.ASCII || r < utf8.RuneSelf:
		return r
	case r == '─':
		return '-'
	case r == '│':
		return '|'
	case slices.Contains([]rune("┌┐└┘┬┴╭╮╰╯"), r):
		return '+'
	}
	return r
}

// fitMiddle cuts a name in its middle: machines' names often differ at their end.
func fitMiddle(name string, most int) string {
	runes := []rune(name)
	if most < 3 || len(runes) <= most {
		return fit(name, float64(most), 1)
	}
	tail := (most - 1) / 2
	return string(runes[:most-1-tail]) + "…" + string(runes[len(runes)-tail:])
}
