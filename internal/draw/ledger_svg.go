package draw

import (
	"fmt"
	"io"
	"math"

	"railwright.dev/railwright/internal/fabric"
)

// Pixels: the picture, one bar with its name and letters, a line of the table, a letter with its room.
const (
	ledgerWidth      = 860.0
	ledgerBarName    = 20.0
	ledgerBarHeight  = 34.0
	ledgerBarLetters = 26.0
	ledgerBarGap     = 14.0
	ledgerRow        = 20.0
	letterRoom       = 12.0
	ledgerName       = 300.0 // of the table's first column
)

// svgBars is the bars of one picture.
const svgBars = 8

// LedgerSVG draws a ledger: a bar a plan with all plans on one scale, a letter at each part, the memory of the
// GPU as a line, what it does not have hatched beyond it, and a table of the parts in GiB. Each part has its
// figures as a tooltip. A ledger without an entry is drawn as not evaluated.
func LedgerSVG(w io.Writer, l Ledger) error {
	var s svg
	t := ledgerPicture{newStack(l, svgBars)}
	if len(t.bars) == 0 {
		notDrawn(&s, "Ledger: not evaluated. There is no entry to draw.")
		return s.writeTo(w)
	}
	t.draw(&s)
	return s.writeTo(w)
}

type ledgerPicture struct{ stack }

func (t ledgerPicture) draw(s *svg) {
	top := 0.0
	if t.title != "" {
		top = 26
	}
	axis := top + float64(len(t.bars))*(ledgerBarName+ledgerBarHeight+ledgerBarLetters+ledgerBarGap)
	table := axis + 44
	rows := len(t.parts) + 1
	if t.more > 0 {
		rows++
	}
	height := table + ledgerRow*float64(rows)
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" class="rw-ledger" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`,
		t.spoken(), ledgerWidth, height, ledgerWidth, height)
	s.b.WriteString(ledgerStyle)
	if t.title != "" {
		s.add(`<text class="name" x="0" y="14">%s</text>`, fit(t.title, ledgerWidth, 7.4))
	}
	t.scale(s, top, axis)
	y := top
	for i, b := range t.bars {
		if len(t.bars) > 1 {
			b.name = fmt.Sprintf("Plan %d: %s", i+1, b.name)
		}
		t.bar(s, b, y)
		y += ledgerBarName + ledgerBarHeight + ledgerBarLetters + ledgerBarGap
	}
	t.table(s, table)
	s.add(`</svg>`)
}

// spoken is the picture in a sentence, for those who hear it.
func (t ledgerPicture) spoken() string {
	text := "Memory of one GPU. " + t.title
	for i, b := range t.bars {
		text += fmt.Sprintf(" Plan %d, %s:", i+1, b.name)
		for k, v := range b.bytes {
			if v > 0 {
				text += fmt.Sprintf(" %s %s GiB;", t.parts[k].name, GiB(v))
			}
		}
		if b.missing > 0 {
			text += " " + GiB(b.missing) + " GiB more than the GPU has."
		}
	}
	return text
}

func (t ledgerPicture) x(bytes float64) float64 { return bytes / t.full * (ledgerWidth - 2) }

// scale draws the lines of the scale and writes their GiB.
func (t ledgerPicture) scale(s *svg, top, bottom float64) {
	full := t.full / (1 << 30)
	step := niceStep(full / 8)
	for v := 0.0; v <= full*(1+1e-9); v += step {
		x := 1 + t.x(v*(1<<30))
		s.add(`<path class="grid" d="M%s %sV%s"/>`, x, top+ledgerBarName, bottom)
		class, text := "lab mid", tickText(v)
		switch {
		case v == 0:
			class, text = "lab", "0 GiB"
		case x > ledgerWidth-16:
			class = "lab end"
		}
		s.add(`<text class="%s" x="%s" y="%s">%s</text>`, class, min(x, ledgerWidth), bottom+16, text)
	}
}

// bar draws one plan: its name with what is missing, the parts, their letters, where the GPU ends.
func (t ledgerPicture) bar(s *svg, b stackBar, top float64) {
	head := b.name
	if b.missing > 0 {
		over := GiB(b.missing) + " GiB more than the GPU has"
		s.add(`<text class="bad end" x="%s" y="%s">%s</text>`, ledgerWidth, top+14, over)
		head = fit(head, ledgerWidth-textChar*float64(len(over))-30, 7.4)
	}
	s.add(`<text class="name" x="0" y="%s">%s</text>`, top+14, fit(head, ledgerWidth, 7.4))
	y := top + ledgerBarName
	var at float64
	var centres []float64
	var names []string
	for i, v := range b.bytes {
		if v <= 0 {
			continue
		}
		x, width := 1+t.x(at), t.x(v)
		at += v
		p := t.parts[i]
		tip := fmt.Sprintf("%s %s: %s GiB, %s of the GPU", letter(i), p.name, GiB(v), share(v, b.whole()))
		if p.formula != "" {
			tip += "; " + p.formula
		}
		look := svgLook(p)
		if width < 3 {
			look += " thin" // its edge would hide it
		}
		s.add(`<rect class="seg %s" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`, look, x, y, max(width, 1), ledgerBarHeight, tip)
		free := width // of what is hatched
		if b.memory > 0 {
			free = min(width, 1+t.x(b.memory)-x)
		}
		if text := p.name + " " + GiB(v); float64(len(text))*6.4 < free-8 {
			s.add(`<text class="in" x="%s" y="%s">%s</text>`, x+6, y+ledgerBarHeight/2+4, text)
		}
		centres, names = append(centres, x+width/2), append(names, letter(i))
	}
	t.letters(s, centres, names, y+ledgerBarHeight)
	if b.memory > 0 {
		end := 1 + t.x(b.memory)
		if b.missing > 0 {
			s.add(`<rect class="over" x="%s" y="%s" width="%s" height="%s"/>`, end, y, t.x(b.total)-t.x(b.memory), ledgerBarHeight)
		}
		s.add(`<path class="gpu" d="M%s %sV%s"><title>the GPU has %s GiB</title></path>`, end, y-4, y+ledgerBarHeight+4, GiB(b.memory))
	}
}

// letters writes the letters under their parts, moved apart where parts are narrow, each with a line to its part.
func (t ledgerPicture) letters(s *svg, centres []float64, names []string, top float64) {
	for i, x := range apart(centres, letterRoom, letterRoom/2, ledgerWidth-letterRoom/2) {
		s.add(`<path class="lead" d="M%s %sV%sL%s %s"/>`, centres[i], top, top+4, x, top+11)
		s.add(`<text class="let" x="%s" y="%s">%s</text>`, x, top+22, names[i])
	}
}

// apart moves points that lie in order so that neighbours are at least gap from each other and all lie between
// low and high, where there is room for that.
func apart(points []float64, gap, low, high float64) []float64 {
	out := append([]float64{}, points...)
	next := low
	for i := range out {
		out[i] = math.Max(out[i], next)
		next = out[i] + gap
	}
	next = high
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = math.Min(out[i], next)
		next = out[i] - gap
	}
	return out
}

// svgLook is the class of a part; parts of one kind that follow each other differ.
func svgLook(p part) string {
	switch p.look {
	case lookWeights:
		return fmt.Sprintf("w%d", p.nth%2)
	case lookKV:
		return "k0"
	case lookSlack:
		return "s"
	default:
		return fmt.Sprintf("o%d", p.nth%4)
	}
}

// table writes the parts with their GiB in each plan; of one plan also its share and what it is known from.
func (t ledgerPicture) table(s *svg, top float64) {
	one := len(t.bars) == 1
	column := (ledgerWidth - ledgerName) / float64(max(len(t.bars), 3))
	right := func(i int) float64 { return ledgerName + column*float64(i+1) }
	heads := []string{"GiB", "share of the GPU", "known from"}
	if !one {
		heads = nil
		for i := range t.bars {
			heads = append(heads, fmt.Sprintf("plan %d, GiB", i+1))
		}
	}
	for i, h := range heads {
		s.add(`<text class="lab end" x="%s" y="%s">%s</text>`, right(i), top, h)
	}
	y := top
	for i, p := range t.parts {
		y += ledgerRow
		s.add(`<rect class="seg %s" x="1" y="%s" width="14" height="14"/>`, svgLook(p), y-11)
		s.add(`<text class="let" x="26" y="%s">%s</text>`, y, letter(i))
		s.add(`<text class="row" x="40" y="%s">%s</text>`, y, fit(p.name, ledgerName-50, textChar))
		cells := []string{ledgerCell(t.bars[0].bytes[i]), share(t.bars[0].bytes[i], t.bars[0].whole()), fit(p.certainty, column-10, textChar)}
		if !one {
			cells = nil
			for _, b := range t.bars {
				cells = append(cells, ledgerCell(b.bytes[i]))
			}
		}
		for k, text := range cells {
			if text == "" {
				text = "unspecified"
			}
			s.add(`<text class="row end" x="%s" y="%s">%s</text>`, right(k), y, text)
		}
	}
	if t.more > 0 {
		s.add(`<text x="0" y="%s">%s</text>`, y+ledgerRow, "Not drawn: "+fabric.Count(t.more, "more plan"))
	}
}
