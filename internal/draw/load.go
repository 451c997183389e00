package draw

import (
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// LoadChart is throughput over the time to the first token, one line per workload with the load at each point.
type LoadChart struct {
	Title    string
	Stat     string // of the time: avg, p99
	Lines    []fabric.LoadLine
	TargetMs float64 // most that the time may be; 0: none
}

// loadPlot is a chart with its scales.
type loadPlot struct {
	lines        []fabric.LoadLine
	more         int // lines that are not drawn
	xTicks       []float64
	yTicks       []float64
	logX         bool
	target       float64
	fromX, uptoX float64
}

// newLoadPlot takes at most so many lines; points without finite numbers above zero are left out.
func newLoadPlot(c LoadChart, limit int) loadPlot {
	p := loadPlot{target: c.TargetMs, fromX: math.Inf(1)}
	most := 0.0
	for _, l := range c.Lines {
		l.Name = fit(fabric.Printable(l.Name), longestName, 1)
		l.Points = slices.DeleteFunc(slices.Clone(l.Points), func(x fabric.LoadPoint) bool {
			return !(x.TTFTms > 0 && x.TTFTms < 1e12 && x.OutputTokensS > 0 && x.OutputTokensS < 1e12)
		})
		if len(l.Points) == 0 {
			continue
		}
		if len(p.lines) == limit {
			p.more++
			continue
		}
		p.lines = append(p.lines, l)
		for _, x := range l.Points {
			p.fromX, p.uptoX = min(p.fromX, x.TTFTms), max(p.uptoX, x.TTFTms)
			most = max(most, x.OutputTokensS)
		}
	}
	if len(p.lines) == 0 {
		return p
	}
	step := niceStep(most / scaleSteps)
	for i := range scaleSteps + 1 {
		p.yTicks = append(p.yTicks, float64(i)*step)
	}
	p.scaleX()
	return p
}

// scaleX is linear from zero, or logarithmic where the slowest first token takes more than twenty times the fastest.
func (p *loadPlot) scaleX() {
	const wide = 20
	if p.target > 0 && p.target < 10*p.uptoX {
		p.uptoX = max(p.uptoX, p.target)
	}
	if p.logX = p.uptoX > wide*p.fromX; !p.logX {
		step := niceStep(p.uptoX / scaleSteps)
		for i := range scaleSteps + 1 {
			p.xTicks = append(p.xTicks, float64(i)*step)
		}
		return
	}
	low, high := math.Floor(math.Log10(p.fromX)), math.Ceil(math.Log10(p.uptoX))
	for e := low; e <= high; e++ {
		p.xTicks = append(p.xTicks, math.Pow(10, e))
	}
}

// x and y are where a point lies between the ends of its scale, 0 to 1.
func (p loadPlot) x(ms float64) float64 {
	low, high := p.xTicks[0], p.xTicks[len(p.xTicks)-1]
	if p.logX {
		low, high, ms = math.Log10(low), math.Log10(high), math.Log10(max(ms, low))
	}
	return min(max((ms-low)/(high-low), 0), 1)
}

func (p loadPlot) y(tokens float64) float64 {
	return min(max(tokens/p.yTicks[len(p.yTicks)-1], 0), 1)
}

// Milliseconds writes a time to the first token: 39.1 ms, 1.28 s.
func Milliseconds(ms float64) string {
	if ms >= 1000 {
		return ThreeDigits(ms/1000) + " s"
	}
	return ThreeDigits(ms) + " ms"
}

// loadTitle is what the axes show.
func (c LoadChart) loadTitle() string {
	stat := c.Stat
	if stat == "" || stat == "avg" {
		stat = "mean"
	}
	return "Output tokens/s over the time to the first token (" + stat + ")"
}

// description is the picture in sentences, for screen readers.
func (p loadPlot) description(c LoadChart) string {
	text := c.loadTitle() + "."
	for _, l := range p.lines {
		last := l.Points[len(l.Points)-1]
		text += " " + l.Name + ": " + Rate(last.OutputTokensS) + " tokens/s and " + Milliseconds(last.TTFTms) + " at load " + last.Load + "."
	}
	return strings.TrimSpace(text)
}
