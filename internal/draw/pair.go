package draw

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// outcome is how a pair of a mesh went, as finely as a picture can show it. Higher is worse.
type outcome uint8

const (
	notMeasured outcome = iota
	passed
	wrongInterface // answered, but by way of another interface than planned
	fullLost       // the small echo was answered, the full-size one was not
	noAnswer
)

func outcomeOf(m fabric.Measurement) outcome {
	switch m.Status() {
	case fabric.Pass:
		return passed
	case fabric.Unknown, fabric.NotApplicable:
		return notMeasured
	}
	switch {
	case m.Small.Answered && m.Full.Bytes > 0 && !m.Full.Answered:
		return fullLost
	case m.Small.Bytes > 0 && !m.Small.Answered, m.Full.Bytes > 0 && !m.Full.Answered:
		return noAnswer
	default:
		return wrongInterface
	}
}

// Reason returns why a pair of a mesh failed or is unknown. It is empty for a pair that passed.
func Reason(m fabric.Measurement) string {
	if m.Status() == fabric.Pass {
		return ""
	}
	parts := append(echoReasons("small", m.Small, m), echoReasons("full", m.Full, m)...)
	return strings.Join(parts, "; ")
}

func echoReasons(size string, e fabric.Echo, m fabric.Measurement) (reasons []string) {
	name := fmt.Sprintf("%s echo of %d bytes", size, e.Bytes)
	switch {
	case e.Bytes == 0 && e.Error != "":
		return []string{size + " echo not sent: " + e.Error}
	case e.Bytes == 0:
		return []string{size + " echo not sent"}
	case !e.Answered && e.Error != "":
		return []string{name + " not answered: " + e.Error}
	case !e.Answered:
		return []string{name + " not answered"}
	}
	if e.ArrivedOn == "" {
		reasons = append(reasons, name+": the receiving interface is unknown")
	} else if e.ArrivedOn != m.To.NIC {
		reasons = append(reasons, fmt.Sprintf("%s arrived on %s, not on %s", name, e.ArrivedOn, m.To.NIC))
	}
	if e.ReturnedOn != m.From.NIC {
		reasons = append(reasons, fmt.Sprintf("answer to the %s came back on %s, not on %s", name, word(e.ReturnedOn), m.From.NIC))
	}
	return reasons
}

func word(nic string) string {
	if nic == "" {
		return "an unknown interface"
	}
	return nic
}

// micros writes a round trip with its unit; an echo that was not answered has none.
func micros(e fabric.Echo) string {
	switch {
	case e.Bytes == 0:
		return "not sent"
	case !e.Answered:
		return "no answer"
	default:
		return ThreeDigits(e.RTTMicros) + " µs"
	}
}
