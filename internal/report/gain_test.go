package report

import (
	"math"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// gainedResult is the sick result with what fixing each cause would bring.
func gainedResult() fabric.Explained {
	e := sickResult()
	subset := fabric.Gain{From: 155.57, To: 468, Low: 455, High: 470, Why: "141 GB/s are predicted with NCCL_IB_HCA=mlx5_0,mlx5_1 and 468 GB/s without"}
	e.Causes[0].Gain = &fabric.Gain{From: 155.57, To: 320, Low: 300, High: 350, Why: "470 GB/s are predicted without it: hca-subset stays"}
	e.Causes[1].Gain = &subset
	e.Causes[2].Gain = &fabric.Gain{From: 155.57, Why: "the model has no NCCL_BUFFSIZE=65536"}
	e.Repair = &fabric.Repair{Causes: []fabric.CauseID{fabric.CauseGDRDisabled, fabric.CauseHCASubset}, Gain: &subset}
	return e
}

func TestGainGolden(t *testing.T) {
	golden(t, "gain.80.txt", []byte(explanationText(t, TextOptions{Width: 80}, gainedResult())))
	golden(t, "gain.html", []byte(explanationPage(t, gainedResult())))
}

func TestGainText(t *testing.T) {
	for _, c := range []struct {
		gain *fabric.Gain
		want string
	}{
		{nil, ""},
		{&fabric.Gain{From: 231, To: 462, Low: 455, High: 470}, "231 -> 455 to 470 GB/s"},
		{&fabric.Gain{From: 231, To: 410, Low: 370, High: 470, Why: "of a prediction."}, "231 -> 370 to 470 GB/s, most likely 410: of a prediction"},
		{&fabric.Gain{From: 231, To: 410}, "231 -> 410 GB/s"},
		{&fabric.Gain{From: 231, To: 231, Low: 231, High: 231, Why: "it costs nothing here"}, "none: it costs nothing here"},
		{&fabric.Gain{From: 231, Why: "the model has no NCCL_BUFFSIZE=65536"}, "unknown: the model has no NCCL_BUFFSIZE=65536"},
		{&fabric.Gain{From: math.NaN(), To: 3}, "unknown"},
		{&fabric.Gain{From: 3, To: math.Inf(1)}, "unknown"},
	} {
		if got := gainText(c.gain); got != c.want {
			t.Errorf("%+v is %q, want %q", c.gain, got, c.want)
		}
	}
}

func TestRepairText(t *testing.T) {
	gain := &fabric.Gain{From: 231, To: 462, Low: 455, High: 470}
	for _, c := range []struct {
		repair *fabric.Repair
		want   string
	}{
		{nil, ""},
		{&fabric.Repair{}, ""},
		{&fabric.Repair{Undecidable: "two causes fit"}, "undecidable: two causes fit"},
		{&fabric.Repair{Causes: []fabric.CauseID{"memlock"}}, "memlock explains all of the loss"},
		{&fabric.Repair{Causes: []fabric.CauseID{"a", "b", "c"}, Gain: gain}, "a, b and c together explain all of the loss; fixed, 231 -> 455 to 470 GB/s"},
	} {
		if got := repairText(c.repair); got != c.want {
			t.Errorf("%+v is %q, want %q", c.repair, got, c.want)
		}
	}
	e := sickResult()
	e.Repair = &fabric.Repair{Undecidable: strings.Repeat("<script>\x1b[2J", 1000)}
	if page := explanationPage(t, e); strings.Contains(page, "<script") || strings.Contains(page, "\x1b") {
		t.Error("the page has a tag or a control character of a file")
	}
}
