package report

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// numbers returns in one line what was measured, what is healthy and what physics allows. It is empty where
// nothing was measured.
func numbers(e fabric.Explained) string {
	value, unit, ok := judged(e)
	if !ok {
		return ""
	}
	parts := []string{shortNumbers(e)}
	if share := shareText(value, unit, e.Expected); share != "" && !strings.Contains(e.Why, "%") { // else the verdict says it
		parts = append(parts, share)
	}
	if e.Bound != nil && finite(e.Bound.BusBW) && e.Bound.BusBW > 0 && unit != "us" {
		parts = append(parts, boundText(*e.Bound, unit))
	}
	if m := e.Measured; finite(m.NICGBs) && m.NICGBs > 0 {
		carried := "each NIC carries " + draw.Rate(m.NICGBs)
		if finite(m.NICLine) && m.NICLine > 0 {
			carried += fmt.Sprintf(" of %.4g", m.NICLine)
		}
		parts = append(parts, carried+" GB/s")
	}
	return strings.Join(parts, "; ")
}

// shortNumbers returns only what was measured and what is healthy.
func shortNumbers(e fabric.Explained) string {
	value, unit, ok := judged(e)
	if !ok {
		return ""
	}
	text := amount(value, unit)
	if e.Measured.Size > 0 {
		text += " at " + draw.Bytes(e.Measured.Size)
	}
	healthy := healthyText(unit, e.Expected)
	if x := e.Expected; x != nil && unit != "us" && finite(x.High) && x.High > 0 && value > x.High {
		healthy = "above the expected " + span(x.Low, x.High, " to ")
	}
	return text + "; " + healthy
}

// judged is the number of a result by which it is judged, with its unit.
func judged(e fabric.Explained) (value float64, unit string, ok bool) {
	m, x := e.Measured, e.Expected
	switch {
	case m == nil:
		return 0, "", false
	case m.US != 0 || x != nil && x.US > 0:
		value, unit = m.US, "us"
	case m.Gbps != 0 || x != nil && x.Gbps > 0:
		value, unit = m.Gbps, "Gb/s"
	default:
		value, unit = m.BusBW, "GB/s"
	}
	return value, unit, finite(value) && value >= 0
}

func amount(v float64, unit string) string {
	if unit == "us" {
		return microseconds(v)
	}
	return draw.Rate(v) + " " + unit
}

func healthyText(unit string, x *fabric.Expected) string {
	const none = "the healthy range is unknown"
	switch {
	case x == nil:
		return none
	case span(x.Low, x.High, "") != "?" && unit == "us":
		return "healthy is " + microseconds(x.Low) + " to " + microseconds(x.High)
	case span(x.Low, x.High, "") != "?":
		return "healthy is " + span(x.Low, x.High, " to ")
	}
	if expected := expectedOf(x); finite(expected) && expected > 0 {
		return "expected is " + amount(expected, unit)
	}
	return none
}

// expectedOf returns the one number that is set.
func expectedOf(x *fabric.Expected) float64 { return x.BusBW + x.Gbps + x.US }

// shareText returns the share of the expectation that was measured, if it is too low or no band is known.
func shareText(value float64, unit string, x *fabric.Expected) string {
	if x == nil || unit == "us" || span(x.Low, x.High, "") != "?" && value >= x.Low {
		return ""
	}
	expected := expectedOf(x)
	if !finite(expected) || expected <= 0 {
		return ""
	}
	return fmt.Sprintf("this is %.0f %% of what is expected", 100*value/expected)
}

// boundText writes the bound in the unit of the measurement.
func boundText(b fabric.Bound, unit string) string {
	v := b.BusBW
	if unit == "Gb/s" {
		v *= 8
	}
	text := "the bound is " + draw.Rate(v)
	if b.Element != "" {
		text += ", set by " + cut(b.Element)
	}
	return text
}
