package draw

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func curveText(t *testing.T, c Curve, width int, o CurveOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := CurveText(&b, c, width, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func curveSVG(t *testing.T, c Curve) string {
	t.Helper()
	var b bytes.Buffer
	if err := CurveSVG(&b, c); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	return b.String()
}

// healthyRun is a healthy table, with one row under its band.
func healthyRun() Curve {
	return Curve{Title: "all_reduce, 16 ranks on 2 nodes", Series: []CurveSeries{{Name: "all_reduce", Measured: healthyPoints(), Expected: healthyCurve(3, 34)}}}
}

// twoCurves are two collectives of which one was measured.
func twoCurves() Curve {
	gather := healthyCurve(3, 34)
	for i := range gather {
		r := &gather[i]
		r.BusBW, r.Low, r.High, r.Bound, r.Element = r.BusBW*0.75, r.Low*0.75, r.High*0.75, 392, "8 NICs of 400 Gb/s, once around"
	}
	return Curve{Title: "2 nodes of 8 H100", Series: []CurveSeries{
		{Name: "all_reduce", Expected: healthyCurve(3, 34)}, {Name: "all_gather", Measured: sickPoints(), Expected: gather},
	}}
}

func TestCurveGolden(t *testing.T) {
	for name, c := range map[string]Curve{"curve-sick": sickCurve(), "curve-healthy": healthyRun(), "curve-two": twoCurves()} {
		golden(t, name+".svg", curveSVG(t, c))
		text := ""
		for _, width := range []int{40, 80, 120} {
			text += curveText(t, c, width, CurveOptions{})
		}
		golden(t, name+".txt", text)
	}
	small := Curve{Series: []CurveSeries{{Expected: healthyCurve(3, 20)}}} // far under its bound
	log := healthyRun()
	log.LogY = true
	golden(t, "curve-more.txt", curveText(t, sickCurve(), 80, CurveOptions{ASCII: true})+curveText(t, sickCurve(), 80, CurveOptions{Color: true})+
		curveText(t, small, 80, CurveOptions{})+curveText(t, log, 80, CurveOptions{}))
	golden(t, "curve-log.svg", curveSVG(t, log))
}

// A plot is never wider than the terminal nor higher than 16 lines, whatever is in it.
func TestCurveTextFits(t *testing.T) {
	colors := regexp.MustCompile("\x1b\\[[0-9;]*m")
	long := sickCurve()
	long.Title = strings.Repeat("title ", 100)
	for i := range long.Series[0].Expected {
		long.Series[0].Expected[i].Element = strings.Repeat("element ", 40)
	}
	many := Curve{}
	for i := range 30 {
		many.Series = append(many.Series, CurveSeries{Name: fmt.Sprintf("a rather long name of a series %d", i), Expected: healthyCurve(3, 34)})
	}
	for name, c := range map[string]Curve{"sick": sickCurve(), "two": twoCurves(), "long": long, "many": many, "none": {}} {
		for _, width := range []int{40, 61, 80, 120, 300} {
			for _, o := range []CurveOptions{{}, {ASCII: true}, {Color: true}} {
				text := curveText(t, c, width, o)
				if n := strings.Count(text, "\n"); n > 16 {
					t.Errorf("%s at %d columns has %d lines", name, width, n)
				}
				for l := range strings.Lines(text) {
					if n := len([]rune(colors.ReplaceAllString(strings.TrimSuffix(l, "\n"), ""))); n > width && name != "none" {
						t.Errorf("%s at %d columns has a line of %d: %q", name, width, n, l)
					}
				}
				if o.ASCII && strings.ContainsFunc(text, func(r rune) bool { return r > 126 }) {
					t.Errorf("%s without UTF-8 has a character above 126:\n%s", name, text)
				}
				if o.Color == (strings.Count(text, "\x1b") == 0) && name != "none" {
					t.Errorf("%s has colours: want %v", name, o.Color)
				}
			}
		}
	}
	if text := curveText(t, many, 80, CurveOptions{}); !strings.Contains(text, "  a a rather long name") || !strings.Contains(text, " ...\n") {
		t.Errorf("of many series the first is not named, or the text does not say that some are not:\n%s", text)
	}
}

// What is measured stands where its number says, and under the band it has another mark.
func TestCurveTextMarks(t *testing.T) {
	c := Curve{Series: []CurveSeries{{
		Measured: []CurvePoint{{1 << 20, 100}, {1 << 21, 50}, {1 << 22, 0}},
		Expected: []CurveRow{{1 << 20, 90, 80, 110, 120, "x"}, {1 << 21, 90, 80, 110, 120, "x"}},
	}}}
	marks := ""
	for l := range strings.Lines(curveText(t, c, 60, CurveOptions{ASCII: true})) {
		if label, row, ok := strings.Cut(l, "|"); ok && strings.ContainsAny(row, "ox") {
			marks += strings.TrimSpace(label) + strings.Trim(row, "-:= \n") + " "
		}
	}
	if want := "100o 50x 0o "; marks != want { // in the band, under it, without one
		t.Errorf("the points stand at %q, want %q", marks, want)
	}
}

func TestCurveSVG(t *testing.T) {
	svg := curveSVG(t, sickCurve())
	if n := strings.Count(svg, `<path class="lowx"`); n != 11+1 { // 11 rows, and the legend's
		t.Errorf("%d crosses, want one a row that is too low", n-1)
	}
	if strings.Contains(svg, `class="dot`) {
		t.Error("a row that is too low is drawn as a healthy one")
	}
	for _, want := range []string{"8 GiB: measured 156 GB/s, healthy 420 to 494", "bound 735 GB/s: 8 NICs of 400 Gb/s<", ">8 GiB</text>", ">healthy band<", `class="band f0"`, "prefers-color-scheme:dark"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	small := curveSVG(t, Curve{Series: []CurveSeries{{Expected: healthyCurve(3, 20)}}})
	if !strings.Contains(small, "Above the chart: bound 735 GB/s") || strings.Contains(small, `<path class="bound"`) {
		t.Error("a bound far above the curve is drawn, or not mentioned")
	}
	if none := curveSVG(t, Curve{}); !strings.Contains(none, "no data") {
		t.Error("a curve without a number is not drawn as no data")
	}
}

// Where the bound changes, its line steps, and each stretch has its label.
func TestCurveBoundChanges(t *testing.T) {
	c := sickCurve()
	rows := c.Series[0].Expected
	for i := range rows[:5] {
		rows[i].Bound, rows[i].Element = 600, "NVLink of one GPU"
	}
	svg := curveSVG(t, c)
	if !strings.Contains(svg, ">bound 600 GB/s: NVLink of one GPU<") || !strings.Contains(svg, ">bound 735 GB/s: 8 NICs of 400 Gb/s<") || strings.Count(svg[strings.Index(svg, `class="bound" d="`):][:400], "V") < 2 {
		t.Error("a bound that changes is drawn as one that does not")
	}
}

// Numbers that are none are not drawn, and never written.
func TestCurveBadNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	bad := []CurveRow{{8, nan, nan, nan, nan, "e"}, {16, inf, -inf, inf, inf, "e"}, {0, 5, 4, 6, 7, "e"}, {-8, 5, 4, 6, 7, "e"}, {32, -1, -2, -3, -4, "e"}, {64, 1e300, 1e300, 1e300, 1e300, "e"}}
	points := []CurvePoint{{8, nan}, {16, inf}, {0, 3}, {-1, 3}, {32, -5}, {math.MaxInt64, 1e308}}
	only := Curve{Series: []CurveSeries{{Measured: points, Expected: bad}}}
	if text := curveText(t, only, 80, CurveOptions{}); text != "curve: no data, there are no values to draw\n" {
		t.Errorf("a curve of no numbers is drawn as:\n%s", text)
	}
	mixed := sickCurve()
	mixed.Series[0].Measured = append(mixed.Series[0].Measured, points...)
	mixed.Series[0].Expected = append(mixed.Series[0].Expected, bad...)
	want := sickCurve()
	if a, b := curveText(t, mixed, 80, CurveOptions{}), curveText(t, want, 80, CurveOptions{}); a != b {
		t.Errorf("numbers that are none change the plot:\n%s%s", a, b)
	}
	for _, log := range []bool{false, true} {
		mixed.LogY = log
		for _, c := range []Curve{mixed, {LogY: log, Series: []CurveSeries{{Measured: []CurvePoint{{1, 0}}}}}, {LogY: log, Series: []CurveSeries{{Measured: []CurvePoint{{math.MaxInt64, 5}, {1, 1e-300}}}}}} {
			if text := curveSVG(t, c) + curveText(t, c, 80, CurveOptions{}); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("a number that is none is written:\n%s", text)
			}
		}
	}
}

func TestCurveBounded(t *testing.T) {
	var s CurveSeries
	for i := range 200000 {
		s.Measured = append(s.Measured, CurvePoint{int64(i + 1), 100})
		s.Expected = append(s.Expected, CurveRow{int64(i + 1), 110, 90, 130, 200, "wire"})
	}
	s.Measured[150000].BusBW = 3
	svg := curveSVG(t, Curve{Series: []CurveSeries{s}})
	if len(svg) > 500<<10 { // bytes: what a page can spare for it
		t.Errorf("the picture has %d bytes", len(svg))
	}
	if !strings.Contains(svg, "measured 3.00 GB/s") || !strings.Contains(svg, "of neighboring sizes the lowest is drawn") {
		t.Error("the one fall of many sizes is lost, or the picture does not say that it leaves some out")
	}
}

// A name from a file must never become markup, nor write on the terminal.
func TestCurveEscaping(t *testing.T) {
	evil := "\x1b[2J\x00\u202e" + `e"></title><script>alert(1)</script>`
	for _, c := range []Curve{sickCurve(), twoCurves()} {
		c.Title = evil
		for i := range c.Series {
			c.Series[i].Name = evil
			for j := range c.Series[i].Expected {
				c.Series[i].Expected[j].Element = evil
			}
		}
		if svg := curveSVG(t, c); strings.Contains(svg, "<script") || strings.ContainsAny(svg, "\x1b\x00") || !strings.Contains(svg, "&lt;script&gt;") {
			t.Error("a name is not escaped in a picture")
		}
		if text := curveText(t, c, 200, CurveOptions{}); strings.ContainsAny(text, "\x1b\x00\u202e") {
			t.Errorf("a name wrote a control character on the terminal: %q", text)
		}
	}
}

// The nouns of the program become the same curve as its numbers by hand.
func TestCurveOfNouns(t *testing.T) {
	x := &fabric.Prediction{Collective: fabric.AllGather, Rows: []fabric.PredictionRow{{Size: 8, BusBW: 1, Band: [2]float64{0.5, 2}, Bound: fabric.Bound{BusBW: 3, Element: "wire"}}}}
	if got, want := fmt.Sprint(PredictionCurve(x)), fmt.Sprint(Curve{Series: []CurveSeries{{Name: "all_gather", Expected: []CurveRow{{8, 1, 0.5, 2, 3, "wire"}}}}}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	e := fabric.Explained{File: "f", Bound: &fabric.Bound{BusBW: 3, Element: "wire"}, Rows: []fabric.RowVerdict{{Size: 8, BusBW: 0.2, Expected: 1, Low: 0.5, High: 2, Bound: 3}, {Size: 16, BusBW: 0.2, Bound: 4}}}
	want := Curve{Series: []CurveSeries{{Name: "f", Measured: []CurvePoint{{8, 0.2}, {16, 0.2}}, Expected: []CurveRow{{8, 1, 0.5, 2, 3, "wire"}, {16, 0, 0, 0, 4, ""}}}}}
	if got := fmt.Sprint(ExplainedCurve(e)); got != fmt.Sprint(want) {
		t.Errorf("got %s, want %v", got, want)
	}
	if c := PredictionCurve(nil); len(c.Series) != 0 {
		t.Error("no prediction has a curve")
	}
}

func TestBytesAndRate(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 8: "8 B", 1000: "1000 B", 1024: "1 KiB", 1536: "1.5 KiB", 65536: "64 KiB", 1 << 30: "1 GiB", 16 << 30: "16 GiB", 1000000: "977 KiB", 1000000000: "954 MiB", 1 << 62: "4 EiB", -5: "-5 B", math.MaxInt64: "8 EiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.0001: "<0.001", 0.0126: "0.013", 0.99949: "0.999", 0.9996: "1.00", 9.996: "10.0", 24.94: "24.9", 99.96: "100", 469.2: "469", 12345: "12345", math.NaN(): "?", math.Inf(1): "?", 1e300: "1e+300"} {
		if got := Rate(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

// A number never has an exponent, whatever its unit: no 1.1e+03 µs, no 1e+03 MiB.
func TestThreeDigits(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0"}, {0.0123456, "0.0123"}, {4, "4"}, {6.25, "6.25"}, {9.999, "10"}, {45.02, "45"}, {999.6, "1000"}, {1124.4, "1124"}, {123456, "123456"},
		{math.NaN(), "?"}, {math.Inf(1), "?"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := ThreeDigits(c.v); got != c.want {
				t.Errorf("%v is written %q, want %q", c.v, got, c.want)
			}
		})
	}
	if got := Bytes(1048471142); got != "1000 MiB" { // 999.9 MiB
		t.Errorf("999.9 MiB are written %q", got)
	}
	if got := micros(fabric.Echo{Bytes: 84, Answered: true, RTTMicros: 1124}); got != "1124 µs" {
		t.Errorf("1124 µs are written %q", got)
	}
	if got := (grid{edges: []float64{1100, 2500}}).stepText(0); got != "1100 to 2500" {
		t.Errorf("a step is written %q", got)
	}
}
