package report

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

// tellsLength bounds what the outcomes of a measurement would mean, characters; all of it is in the JSON.
const tellsLength = 320

// steps are the measurements that tell the causes apart best; the first, or all with verbose.
func (p *printer) steps(e fabric.Explained) {
	for i, s := range e.Steps {
		if i > 0 && !p.o.Verbose {
			return
		}
		p.blank()
		p.advice("next", s.Command)
		tells := stepCost(s) + ": " + s.Tells
		if !p.o.Verbose {
			tells = short(tells, tellsLength)
		}
		p.field("", tells)
	}
}

// stepCost is what a measurement costs and gives.
func stepCost(s fabric.Step) string {
	return fmt.Sprintf("%s of work, %.1f bits", minutesText(s.Minutes), s.Bits)
}

func minutesText(minutes float64) string {
	if minutes < 1 {
		return fmt.Sprintf("%.0f s", 60*minutes)
	}
	return fmt.Sprintf("%.0f min", minutes)
}

// decidedByStep reports whether the first measurement is all that a verdict takes.
func decidedByStep(e fabric.Explained) bool { return len(e.Steps) > 0 && e.Steps[0].Command == e.Next }
