package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

func ledgerTextOf(t *testing.T, l Ledger, width int, o CurveOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := LedgerText(&b, l, width, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func ledgerSVGOf(t *testing.T, l Ledger) string {
	t.Helper()
	var b bytes.Buffer
	if err := LedgerSVG(&b, l); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	return b.String()
}

func TestLedgerGolden(t *testing.T) {
	golden(t, "ledger.svg", ledgerSVGOf(t, r1Ledger()))
	golden(t, "ledger-two.svg", ledgerSVGOf(t, twoPlans()))
	golden(t, "ledger.80.txt", ledgerTextOf(t, r1Ledger(), 80, CurveOptions{}))
	golden(t, "ledger.120.txt", ledgerTextOf(t, r1Ledger(), 120, CurveOptions{Color: true}))
	golden(t, "ledger-two.txt", ledgerTextOf(t, twoPlans(), 80, CurveOptions{}))
	golden(t, "ledger-ascii.txt", ledgerTextOf(t, twoPlans(), 60, CurveOptions{ASCII: true}))
}

// Each part has as many columns as its bytes say, at least one, and all of them make the bar.
func TestLedgerCells(t *testing.T) {
	for _, c := range []struct {
		bytes []float64
		cols  int
		want  []int
	}{
		{[]float64{50, 25, 25}, 80, []int{40, 20, 20}},
		{[]float64{998, 1, 0, 1}, 40, []int{38, 1, 0, 1}},
		{[]float64{1, 1, 1}, 10, []int{4, 3, 3}},
		{[]float64{7}, 3, []int{3}},
	} {
		t.Run(fmt.Sprintf("%v in %d columns", c.bytes, c.cols), func(t *testing.T) {
			total := 0.0
			for _, v := range c.bytes {
				total += v
			}
			if got := cells(c.bytes, total, c.cols); !slices.Equal(got, c.want) {
				t.Errorf("%v in %d columns: %v, want %v", c.bytes, c.cols, got, c.want)
			}
		})
	}
}

// What the GPU does not have is written and drawn, and nothing of it looks like slack.
func TestLedgerMissing(t *testing.T) {
	over := Ledger{Bars: []LedgerBar{{"8 GPUs, tp 8", 80 << 30, []fabric.LedgerEntry{
		{Name: "weights", Class: "expert", Bytes: 90 << 30}, {Name: "runtime", Bytes: 10 << 30}, {Name: "slack", Bytes: -(20 << 30)},
	}}}}
	text := ledgerTextOf(t, over, 103, CurveOptions{})
	if strings.Count(text, "!") != 21 || !strings.Contains(text, "! 20.00 GiB more than the GPU has") { // 20 of 100 columns, and the note
		t.Errorf("a fifth too much is drawn as:\n%s", text)
	}
	if strings.Contains(text, "slack") || strings.Contains(text, "·") {
		t.Error("what is missing is drawn as slack")
	}
	svg := ledgerSVGOf(t, over)
	if !strings.Contains(svg, `class="over"`) || !strings.Contains(svg, "20.00 GiB more than the GPU has") {
		t.Error("the picture does not show what is missing")
	}
	over.Bars[0].Entries = over.Bars[0].Entries[:2] // slack does not say so, the sum does
	if text := ledgerTextOf(t, over, 103, CurveOptions{}); !strings.Contains(text, "! 20.00 GiB more") {
		t.Errorf("parts beyond the memory are drawn as if they fit:\n%s", text)
	}
	small := Ledger{Bars: []LedgerBar{{"1 GPU, tp 1", 10 << 30, []fabric.LedgerEntry{{Name: "weights", Class: "expert", Bytes: 90 << 30}}}}}
	if svg := ledgerSVGOf(t, small); strings.Contains(svg, `class="in"`) {
		t.Error("a name lies under the hatching")
	}
	if text := ledgerTextOf(t, r1Ledger(), 80, CurveOptions{}); strings.Contains(text, "!") {
		t.Error("a plan that fits has something missing")
	}
}

func TestLedgerOfNothing(t *testing.T) {
	for _, l := range []Ledger{{}, {Bars: []LedgerBar{{}}}, SizingLedger(nil, 3), SizingLedger(&fabric.Sizing{Plans: []fabric.SizingPlan{{}}}, 3)} {
		if text := ledgerTextOf(t, l, 80, CurveOptions{}); text != "ledger: nothing to draw, there is no entry\n" {
			t.Errorf("nothing is drawn as %q", text)
		}
		if svg := ledgerSVGOf(t, l); !strings.Contains(svg, "not evaluated") {
			t.Error("the picture of nothing does not state it")
		}
	}
	s := &fabric.Sizing{GPU: fabric.SizingGPU{MemoryBytes: h100Memory}}
	for tp := 1; tp <= 16; tp *= 2 {
		s.Plans = append(s.Plans, fabric.SizingPlan{GPUs: tp, TP: tp, EP: 1, PP: 2, Ledger: r1Entries()})
	}
	l := SizingLedger(s, 3)
	if len(l.Bars) != 3 || l.Bars[0].Name != "1 GPU, tp 1 pp 2" || l.Bars[2].Memory != h100Memory {
		t.Errorf("the ledger of a sizing is %+v", l)
	}
}

func TestLedgerHostile(t *testing.T) {
	evil := "x\x1b[2J\x07\r\n\u202e<script>" + strings.Repeat("long", 500)
	var l Ledger
	l.Title = evil
	for b := range 200 {
		bar := LedgerBar{Name: fmt.Sprint(b, evil), Memory: math.MaxInt64}
		for i := range 300 {
			bar.Entries = append(bar.Entries, fabric.LedgerEntry{Name: fmt.Sprint(i, evil), Class: evil, Formula: evil, Certainty: evil, Bytes: math.MaxInt64 / 7})
		}
		bar.Entries = append(bar.Entries, fabric.LedgerEntry{Name: "kv", Bytes: math.MinInt64}, fabric.LedgerEntry{Name: "slack", Bytes: math.MinInt64})
		l.Bars = append(l.Bars, bar)
	}
	for _, width := range []int{0, 80, 120, 200} {
		t.Run(fmt.Sprintf("%d columns", width), func(t *testing.T) {
			text := ledgerTextOf(t, l, width, CurveOptions{})
			if strings.ContainsAny(text, "\x1b\x07\r\u202e") || strings.Contains(text, "NaN") {
				t.Errorf("at %d columns a control character or no number is written", width)
			}
			if n := strings.Count(text, "\n"); n > 45 {
				t.Errorf("at %d columns it takes %d lines", width, n)
			}
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(line) - 1; n > max(width, narrowest) {
					t.Errorf("at %d columns a line has %d: %q", width, n, line)
				}
			}
		})
	}
	svg := ledgerSVGOf(t, l)
	if len(svg) > 300<<10 || strings.Contains(svg, "<script>") || strings.Contains(svg, "NaN") || !strings.Contains(svg, "Not drawn: 192 more plans") {
		t.Errorf("the picture has %d bytes, or says too much", len(svg))
	}
}

// Letters stay apart, and inside the picture, however narrow the parts are.
func TestLedgerApart(t *testing.T) {
	for _, points := range [][]float64{{5, 5, 5, 6, 7}, {858, 859, 859.5, 859.9}, {100, 101, 300, 301, 859}, {400}} {
		got := apart(points, letterRoom, letterRoom/2, ledgerWidth-letterRoom/2)
		for i, x := range got {
			if x < letterRoom/2 || x > ledgerWidth-letterRoom/2 || i > 0 && x-got[i-1] < letterRoom-1e-9 {
				t.Errorf("%v is moved to %v", points, got)
			}
		}
	}
	if got := apart([]float64{100, 300}, letterRoom, 0, ledgerWidth); got[0] != 100 || got[1] != 300 {
		t.Errorf("letters with room are moved: %v", got)
	}
}

// No text of a picture lies on another: each takes a box by its anchor, as wide as its letters at most are.
func TestLedgerOverlap(t *testing.T) {
	narrow := Ledger{Bars: []LedgerBar{{Name: "plan", Memory: h100Memory}}}
	for i := range 30 {
		narrow.Bars[0].Entries = append(narrow.Bars[0].Entries, fabric.LedgerEntry{Name: fmt.Sprintf("part_%d", i), Bytes: gib(0.01 + float64(i%3)*5)})
	}
	eight := Ledger{Title: "eight"}
	for range 8 {
		eight.Bars = append(eight.Bars, twoPlans().Bars[1])
	}
	for _, l := range []Ledger{r1Ledger(), twoPlans(), narrow, eight} {
		boxes := textBoxes(t, ledgerSVGOf(t, l))
		for i, a := range boxes {
			if a.left < -1 || a.right > ledgerWidth+1 {
				t.Errorf("%q lies outside the picture", a.text)
			}
			for _, b := range boxes[:i] {
				if a.left < b.right && b.left < a.right && math.Abs(a.y-b.y) < 10 {
					t.Errorf("%q and %q overlap", a.text, b.text)
				}
			}
		}
	}
}

type textBox struct {
	left, right, y float64
	text           string
}

func textBoxes(t *testing.T, svg string) (all []textBox) {
	t.Helper()
	const char = 6.0 // pixels of a character of 11 to 13 pixels, on average
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "text" {
			continue
		}
		at := map[string]string{}
		for _, a := range start.Attr {
			at[a.Name.Local] = a.Value
		}
		inner, _ := d.Token()
		text := string(inner.(xml.CharData))
		x, _ := strconv.ParseFloat(at["x"], 64)
		y, _ := strconv.ParseFloat(at["y"], 64)
		width := char * float64(utf8.RuneCountInString(text))
		class := " " + at["class"] + " "
		switch {
		case strings.Contains(class, " end "):
			x -= width
		case strings.Contains(class, " mid ") || strings.Contains(class, " let "):
			x -= width / 2
		}
		all = append(all, textBox{x, x + width, y, text})
	}
}

func TestGiB(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 1 << 30: "1.00", 40.33 * (1 << 30): "40.33", -1: "0.00", math.NaN(): "?", math.Inf(1): "?"} {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			if got := GiB(v); got != want {
				t.Errorf("%v bytes is %q, want %q", v, got, want)
			}
		})
	}
}
