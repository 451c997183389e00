package report

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// gainText returns what would be measured once a cause is fixed, and from what that follows: "231 -> 455 to 470 GB/s".
// It is empty where nothing was predicted.
func gainText(g *fabric.Gain) string {
	if g == nil {
		return ""
	}
	return gainNumbers(*g) + because(g.Why)
}

func gainNumbers(g fabric.Gain) string {
	band := span(g.Low, g.High, " to ")
	switch {
	case !finite(g.From) || g.From <= 0 || !finite(g.To) || g.To <= 0:
		return "unknown"
	case g.To == g.From && g.Low == g.From && g.High == g.From:
		return "none"
	case band == "?":
		return draw.Rate(g.From) + " -> " + draw.Rate(g.To) + " GB/s"
	}
	text := draw.Rate(g.From) + " -> " + band + " GB/s"
	if g.High > wideBand*g.Low { // else any number of it will do
		text += ", most likely " + draw.Rate(g.To)
	}
	return text
}

// wideBand is the ratio of the ends of a band from which its likeliest number is written too: a tenth is what a reader
// takes for the same bandwidth.
const wideBand = 1.1

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + cut(strings.TrimSuffix(why, "."))
}

// repairText returns the smallest set of causes that explains all of a loss, and what fixing it brings, or why there is
// none. It is empty where nothing is lost or nothing was predicted.
func repairText(r *fabric.Repair) string {
	switch {
	case r == nil:
		return ""
	case r.Undecidable != "":
		return "undecidable: " + cut(r.Undecidable)
	case len(r.Causes) == 0:
		return ""
	}
	var names []string
	for _, c := range r.Causes {
		names = append(names, short(string(c), longName))
	}
	verb := "explains"
	if len(names) > 1 {
		verb = "together explain"
	}
	text := fmt.Sprintf("%s %s all of the loss", joined(names), verb)
	if r.Gain == nil {
		return text
	}
	return text + "; fixed, " + gainText(r.Gain)
}

// joined lists names: a, b and c.
func joined(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
