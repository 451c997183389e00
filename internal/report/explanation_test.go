package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

func predictionText(t *testing.T, x *fabric.Prediction, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Prediction(&b, x, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func explanationText(t *testing.T, o TextOptions, results ...fabric.Explained) string {
	t.Helper()
	var b bytes.Buffer
	if err := Explanation(&b, &fabric.Explanation{Results: results}, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func explanationPage(t *testing.T, results ...fabric.Explained) string {
	t.Helper()
	var b bytes.Buffer
	if err := ExplanationHTML(&b, &fabric.Explanation{Results: results}, samplePage()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func predictionPage(t *testing.T, x *fabric.Prediction) string {
	t.Helper()
	var b bytes.Buffer
	if err := PredictionHTML(&b, x, samplePage()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func samplePage() PageInfo {
	return PageInfo{Written: time.Date(2026, 11, 22, 9, 30, 0, 0, time.UTC), Version: "1.2.3", Command: "railwright explain sick.json --html page.html"}
}

func TestExplanationGolden(t *testing.T) {
	for _, width := range []int{80, 120} {
		o := TextOptions{Width: width}
		golden(t, fmt.Sprintf("prediction.%d.txt", width), []byte(predictionText(t, samplePrediction(), o)))
		golden(t, fmt.Sprintf("sick.%d.txt", width), []byte(explanationText(t, o, sickResult())))
		golden(t, fmt.Sprintf("healthy.%d.txt", width), []byte(explanationText(t, o, healthyResult())))
		golden(t, fmt.Sprintf("several.%d.txt", width), []byte(explanationText(t, o, healthyResult(), unknownResult(), observedResult(), perftestResult(), healthyResult())))
	}
	golden(t, "sick.html", []byte(explanationPage(t, sickResult())))
	golden(t, "several.html", []byte(explanationPage(t, healthyResult(), unknownResult(), observedResult(), perftestResult(), healthyResult())))
	golden(t, "prediction.html", []byte(predictionPage(t, samplePrediction())))
	golden(t, "prediction.verbose.txt", []byte(predictionText(t, samplePrediction(), TextOptions{Width: 120, Color: true, Verbose: true})))
	golden(t, "sick.verbose.txt", []byte(explanationText(t, TextOptions{Width: 100, Color: true, Verbose: true}, sickResult())))
	golden(t, "sick.ascii.txt", []byte(explanationText(t, TextOptions{Width: 60, ASCII: true}, sickResult())))
}

// Nothing to explain, or to predict, is stated as such, and is not a pass.
func TestExplanationOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := Explanation(&b, nil, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{b.String(), explanationText(t, TextOptions{})} {
		if !strings.Contains(text, "there is no result to explain") || !strings.HasPrefix(text, "UNKNOWN: ") || !strings.Contains(text, "exit status 2: nothing failed") {
			t.Errorf("no result is written as %q", text)
		}
	}
	for _, x := range []*fabric.Prediction{nil, {Collective: fabric.AllReduce}} {
		if text := predictionText(t, x, TextOptions{}); !strings.Contains(text, "there is no size to predict") {
			t.Errorf("no prediction is written as %q", text)
		}
	}
	for name, page := range map[string]string{"explanation": explanationPage(t), "prediction": predictionPage(t, nil)} {
		if !strings.Contains(page, "There is no ") || strings.Contains(page, "<svg") || strings.Contains(page, `class="banner pass"`) {
			t.Errorf("the page of no %s is %s", name, page)
		}
	}
	bare := explanationText(t, TextOptions{Verbose: true}, fabric.Explained{})
	if !strings.Contains(bare, "\nUNKNOWN  standard input") || !strings.HasPrefix(bare, "UNKNOWN: no reason was recorded\n") || !strings.Contains(bare, "--machine ID --nodes N") {
		t.Errorf("a result of which nothing is known is written as %q", bare)
	}
}

// The first and the last line are the answer, with the worst verdict, and a verdict outside the closed set is unknown.
func TestExplanationVerdict(t *testing.T) {
	of := func(v ...fabric.Verdict) (all []fabric.Explained) {
		for i, one := range v {
			all = append(all, fabric.Explained{File: fmt.Sprintf("f%d", i), Verdict: one, Why: "reason."})
		}
		return all
	}
	for _, c := range []struct {
		verdicts []fabric.Verdict
		last     string
		order    string
	}{
		{[]fabric.Verdict{"healthy"}, "HEALTHY: reason", "HEALTHY"},
		{[]fabric.Verdict{"healthy", "unknown", "healthy"}, "UNKNOWN: f1 reason", "UNKNOWN HEALTHY HEALTHY"},
		{[]fabric.Verdict{"healthy", "degraded", "", "failed"}, "FAILED: f3 reason; f1 reason; f2 unknown", "FAILED DEGRADED UNKNOWN HEALTHY"},
		{[]fabric.Verdict{"healthy", "splendid"}, "UNKNOWN: f1 reason", "UNKNOWN HEALTHY"},
	} {
		for _, verbose := range []bool{false, true} {
			text := explanationText(t, TextOptions{Verbose: verbose}, of(c.verdicts...)...)
			lines := strings.Split(strings.TrimSpace(text), "\n")
			if first, last := lines[0], lines[len(lines)-1]; first != c.last || last != c.last {
				t.Errorf("%v: the first line is %q and the last %q", c.verdicts, first, last)
			}
			var order []string
			for _, l := range lines[:len(lines)-1] {
				if word, _, ok := strings.Cut(l, "  f"); ok && word != "" && word == strings.ToUpper(word) {
					order = append(order, word)
				}
			}
			if got := strings.Join(order, " "); got != c.order {
				t.Errorf("%v: the order is %q, want %q:\n%s", c.verdicts, got, c.order, text)
			}
		}
	}
}

// Among several, a healthy result takes a line; alone, or with Verbose, it is written in full.
func TestExplanationFolds(t *testing.T) {
	healthy := healthyResult()
	if text := explanationText(t, TextOptions{}, healthy); !strings.Contains(text, "predicted") || !strings.Contains(text, "first use") {
		t.Error("a single healthy result is not written in full")
	}
	folded := explanationText(t, TextOptions{}, healthy, sickResult())
	if strings.Contains(folded, "first use") || !strings.Contains(folded, "HEALTHY  P11_hgx_h100_2n_ar.json  469 GB/s at 16 GiB; healthy is 455 to 480\n") {
		t.Errorf("a healthy result among others is not one line:\n%s", folded)
	}
	if text := explanationText(t, TextOptions{Verbose: true}, healthy, sickResult()); !strings.Contains(text, "first use") || !strings.Contains(text, "socket-fallback") || !strings.Contains(text, "one process a GPU (default of nccl-tests with MPI)") {
		t.Error("with Verbose something is left out")
	}
}

func TestExplanationBounded(t *testing.T) {
	var all []fabric.Explained
	for i := range 10000 {
		e := sickResult()
		switch i % 3 {
		case 1:
			e = healthyResult()
		case 2:
			e = unknownResult()
		}
		e.File = fmt.Sprintf("table%05d.txt", i)
		all = append(all, e)
	}
	text := explanationText(t, TextOptions{}, all...)
	if n := strings.Count(text, "\n"); n > 404 { // lines: some eight screens
		t.Errorf("10,000 results take %d lines", n)
	}
	for _, want := range []string{"10000 results: 3334 degraded, 3333 unknown, 3333 healthy", "... and 9970 more results; -v shows them", "exit status 1", "\nDEGRADED: table00000.txt gdr-disabled; "} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	if page := explanationPage(t, all...); len(page) > 5<<20 || !strings.Contains(page, "more results are in the JSON") {
		t.Errorf("the page of 10,000 results has %d bytes", len(page))
	}
	if text := explanationText(t, TextOptions{Verbose: true}, all...); len(text) > 4<<20 || strings.Count(text, "\nDEGRADED  table0")+strings.Count(text, "\nUNKNOWN  table0")+strings.Count(text, "\nHEALTHY  table0") != 10000 { // bytes: what a pager takes at once
		t.Errorf("with Verbose 10,000 results take %d bytes and name %d", len(text), strings.Count(text, "table0"))
	}
	e := sickResult()
	for i := range 5000 {
		e.Causes = append(e.Causes, e.Causes[0])
		e.Causes[0].Evidence = append(e.Causes[0].Evidence, fabric.Evidence{Value: fmt.Sprint(i)})
		e.Notes = append(e.Notes, fabric.Evidence{Value: fmt.Sprint(i)})
		e.Rows = append(e.Rows, fabric.RowVerdict{Size: int64(i + 1), BusBW: 1})
		e.Assumed = append(e.Assumed, fabric.Assumption{What: fmt.Sprint(i)})
	}
	if text := explanationText(t, TextOptions{}, e); strings.Count(text, "\n") > 70 {
		t.Errorf("one result of many causes takes %d lines", strings.Count(text, "\n"))
	}
	if text := explanationText(t, TextOptions{Verbose: true}, e); strings.Count(text, "\n") > 10000 || !strings.Contains(text, "-o json has them all") {
		t.Errorf("one result of many causes takes %d lines with Verbose", strings.Count(text, "\n"))
	}
	x := samplePrediction()
	for len(x.Rows) < 10000 {
		x.Rows = append(x.Rows, x.Rows...)
	}
	if text := predictionText(t, x, TextOptions{}); strings.Count(text, "\n") > 110 || !strings.Contains(text, "more sizes; -v shows them") {
		t.Errorf("a prediction of %d sizes takes %d lines", len(x.Rows), strings.Count(text, "\n"))
	}
}

// A text from a file writes nothing but itself on the terminal, and fills no screen.
func TestExplanationHostileText(t *testing.T) {
	evil := "x\x1b[2J\x1b]0;owned\x07\r\n\u202e<script>" + strings.Repeat("long", 5000)
	e := sickResult()
	e.File, e.Why, e.Kind, e.Bound.Element = evil, evil, fabric.ResultKind(evil), evil
	e.Notes = []fabric.Evidence{{Source: evil, Value: evil}}
	c := fabric.Cause{ID: fabric.CauseID(evil), Subject: fabric.NICSubject(evil, evil), Confidence: 0.5, Evidence: e.Notes, Against: e.Notes, Confirm: "run " + evil[:40], Fix: "run " + evil[:40]}
	e.Causes = []fabric.Cause{c}
	e.Assumed = []fabric.Assumption{{What: evil, Source: evil}}
	x := samplePrediction()
	x.Collective, x.Hardware, x.Assumptions = fabric.Collective(evil), fabric.Hardware{Machine: evil, GPU: evil, NIC: evil, Net: evil, CPU: evil, GPUsPerNode: 8, NICsPerNode: 8}, e.Assumed
	for i := range x.Rows {
		x.Rows[i].Algorithm, x.Rows[i].Protocol, x.Rows[i].Bound.Element = evil, evil, fmt.Sprint(i%7, evil)
	}
	for _, page := range []string{explanationPage(t, e), explanationPage(t, e, e, healthyResult()), predictionPage(t, x)} {
		if strings.Contains(page, "<script") || strings.ContainsAny(page, "\x1b\x07\r\u202e") {
			at := max(strings.Index(page, "<script"), strings.IndexAny(page, "\x1b\x07\r\u202e"))
			t.Errorf("the page has a tag or a control character of a file: %.100q", page[at-min(at, 50):])
		}
	}
	for _, o := range []TextOptions{{}, {Verbose: true}, {Width: 120}, {Width: 1}} {
		for _, text := range []string{explanationText(t, o, e), explanationText(t, o, e, e, healthyResult()), predictionText(t, x, o)} {
			if strings.ContainsAny(text, "\x1b\x07\r\u202e") {
				t.Errorf("a control character is written: %.300q", text)
			}
			for l := range strings.Lines(text) {
				if len([]rune(l)) > 700 {
					t.Errorf("a line has %d characters: %.100q", len([]rune(l)), l)
				}
			}
		}
	}
}

// What is not a number is a question mark or left out, never NaN, and never reads as healthy.
func TestExplanationBadNumbers(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		e := sickResult()
		e.Measured = &fabric.Measured{BusBW: bad, Size: -1, NICGBs: bad, NICLine: bad}
		e.Expected = &fabric.Expected{BusBW: bad, Low: bad, High: bad}
		e.Bound.BusBW, e.Causes[0].Confidence = bad, bad
		second := e
		second.Measured = &fabric.Measured{Gbps: 12, Size: 8}
		third := e
		third.Measured = &fabric.Measured{US: 3}
		for i := range e.Rows {
			e.Rows[i] = fabric.RowVerdict{Size: int64(i), BusBW: bad, Expected: bad, Low: bad, High: bad, Bound: bad}
		}
		x := samplePrediction()
		for i := range x.Rows {
			x.Rows[i] = fabric.PredictionRow{Size: int64(i), TimeUS: bad, AlgBW: bad, BusBW: bad, Band: [2]float64{bad, bad}, NICGBs: bad, Bound: fabric.Bound{BusBW: bad}}
		}
		x.Hardware.NICGbps = bad
		if page := explanationPage(t, e) + explanationPage(t, e, second, third) + predictionPage(t, x); strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%v is on a page", bad)
		}
		for _, o := range []TextOptions{{Width: 200}, {Verbose: true}} {
			text := explanationText(t, o, e, second, third) + predictionText(t, x, o)
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("%v is written:\n%s", bad, text)
			}
			if !strings.Contains(text, "12.0 Gb/s at 8 B; the healthy range is unknown") || !strings.Contains(text, "confidence unknown") {
				t.Errorf("with %v the text does not say that it is unknown:\n%s", bad, text)
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	bound := &fabric.Bound{BusBW: 49.2, Element: "1 NIC of 400 Gb/s"}
	for _, c := range []struct {
		e    fabric.Explained
		want string
	}{
		{fabric.Explained{}, ""},
		{sickResult(), "156 GB/s at 8 GiB; healthy is 455 to 480; this is 33 % of what is expected; the bound is 735, set by 8 NICs of 400 Gb/s; each NIC carries 10.4 of 50 GB/s"},
		{fabric.Explained{Measured: &fabric.Measured{Gbps: 395}, Expected: &fabric.Expected{Gbps: 392, Low: 380, High: 394}, Bound: bound}, "395 Gb/s; above the expected 380 to 394; the bound is 394, set by 1 NIC of 400 Gb/s"},
		{fabric.Explained{Measured: &fabric.Measured{US: 1250, Size: 8}, Expected: &fabric.Expected{US: 2, Low: 1.6, High: 2.5}, Bound: bound}, "1.25 ms at 8 B; healthy is 1.60 us to 2.50 us"},
		{fabric.Explained{Measured: &fabric.Measured{Size: 8 << 30}, Expected: &fabric.Expected{BusBW: 100}}, "0 GB/s at 8 GiB; expected is 100 GB/s; this is 0 % of what is expected"},
		{fabric.Explained{Measured: &fabric.Measured{BusBW: 50}}, "50.0 GB/s; the healthy range is unknown"},
	} {
		if got := numbers(c.e); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	for us, want := range map[float64]string{0: "0 us", 12.34: "12.3 us", 999.6: "1.00 ms", 1250: "1.25 ms", 2.5e6: "2.50 s", math.NaN(): "?", -1: "?"} {
		if got := microseconds(us); got != want {
			t.Errorf("%v us is %q, want %q", us, got, want)
		}
	}
	for _, bad := range [][2]float64{{math.NaN(), 5}, {1, math.Inf(1)}, {5, 1}, {0, 0}, {-2, -1}} {
		if got := span(bad[0], bad[1], "-"); got != "?" {
			t.Errorf("the range %v is %q", bad, got)
		}
	}
	for v, want := range map[float64]string{0: "unlikely (0 %)", 0.09: "unlikely (9 %)", 0.1: "possible (10 %)", 0.5: "likely (50 %)", 0.996: "very likely (99 %)", 1: "very likely (100 %)", 1.01: "confidence unknown", math.NaN(): "confidence unknown"} {
		if got := confidence(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

// A command is written as it is to be copied, a sentence is wrapped.
func TestAdvice(t *testing.T) {
	command := "NCCL_DEBUG=INFO all_reduce_perf -b 1G -e 1G 2>&1 | grep 'NET/IB : Using'; lspci -vvv | grep -e LnkSta -e ACSCtl"
	p := newPrinter(TextOptions{Width: 60})
	p.advice("confirm", command)
	if !strings.Contains(p.b.String(), command+"\n") {
		t.Errorf("a command is broken:\n%s", p.b.String())
	}
	for _, words := range []string{"bytes of each port before and after a run: idle NICs mean a subset", "NCCL_IB_HCA with every NIC and no blanks and no more than that, or unset"} {
		p := newPrinter(TextOptions{Width: 60})
		p.advice("fix", words)
		if strings.Count(p.b.String(), "\n") != 2 {
			t.Errorf("a sentence is not wrapped:\n%s", p.b.String())
		}
	}
}

// On a narrow terminal columns go, and the text says which.
func TestPredictionFolds(t *testing.T) {
	x := samplePrediction()
	for i := range x.Rows[:20] {
		x.Rows[i].Bound = fabric.Bound{BusBW: 900, Element: "NVLink of one GPU"}
	}
	for width, want := range map[int]string{
		160: "NVLink of one GPU\n", 80: "8 B to 4 MiB: 900 GB/s, set by NVLink of one GPU", 60: "a wider terminal also has: algbw, per NIC", 40: "a wider terminal also has: algbw, per NIC, algorithm, bound",
	} {
		text := predictionText(t, x, TextOptions{Width: width})
		if !strings.Contains(text, want) {
			t.Errorf("at %d columns the text lacks %q:\n%s", width, want, text)
		}
		for l := range strings.Lines(text) {
			if n := len([]rune(l)) - 1; n > width && !strings.Contains(l, "also has") {
				t.Errorf("at %d columns a line has %d: %q", width, n, l)
			}
		}
	}
	for i := range x.Rows {
		x.Rows[i].NICGBs = 0
	}
	if text := predictionText(t, x, TextOptions{Width: 160}); strings.Contains(text, "per NIC") {
		t.Error("machines without a network have a column of their NICs")
	}
}
