package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

func loadSample() LoadChart {
	return LoadChart{Stat: "p99", TargetMs: 500, Lines: []fabric.LoadLine{
		{Name: "short (200/200)", Model: "m", Points: []fabric.LoadPoint{
			{Load: "1", TTFTms: 40, OutputTokensS: 60, Status: fabric.Pass}, {Load: "25", TTFTms: 120, OutputTokensS: 1100, Status: fabric.Pass},
			{Load: "125", TTFTms: 2900, OutputTokensS: 3500, Status: fabric.Fail},
		}},
		{Name: "<b>&\x1b[31m", Points: []fabric.LoadPoint{{Load: "<2>", TTFTms: 90, OutputTokensS: 500}, {Load: "4", TTFTms: math.NaN(), OutputTokensS: 1}, {Load: "5", TTFTms: 1, OutputTokensS: math.Inf(1)}}},
	}}
}

func TestLoadSVG(t *testing.T) {
	var b bytes.Buffer
	if err := LoadSVG(&b, loadSample()); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{">125</text>", "target 500 ms", "(p99)", "3500 tokens/s, 2.9 s to the first token, failed"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("without %s", want)
		}
	}
	if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "<b>") {
		t.Error("a name or number is not made safe")
	}
}

func TestLoadText(t *testing.T) {
	for _, width := range []int{20, 80, 200} {
		var b strings.Builder
		if err := LoadText(&b, loadSample(), width, CurveOptions{ASCII: width == 80}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width >= 80 && n > width {
				t.Errorf("%d columns in a line of %d: %s", n, width, line)
			}
		}
		if strings.Contains(b.String(), "\x1b") || width > 20 && !strings.Contains(b.String(), "x125") && !strings.Contains(b.String(), "125x") {
			t.Errorf("width %d:\n%s", width, b.String())
		}
	}
	var none strings.Builder
	if err := LoadText(&none, LoadChart{}, 80, CurveOptions{}); err != nil || !strings.Contains(none.String(), "no data") {
		t.Errorf("%v %s", err, none.String())
	}
}
