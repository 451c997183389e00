package draw

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// level is what one row or column of a grid represents.
type level uint8

const (
	perNIC level = iota
	perHost
	perGroup // several hosts
)

// line is a row, and the column of the same number.
type line struct {
	host  string // empty per group
	label string
	nics  int
	own   int // pairs of NICs within one host, which no mesh looks at
}

// cell is what is known of the pairs from one line to another.
type cell struct {
	expected, pairs, failed, unknown int
	worst                            outcome
	sample                           int     // index of a worst pair in Mesh.Pairs; -1: none
	rtt                              float64 // microseconds: the slowest answered small echo
}

// shade says how a cell is drawn.
type shade uint8

const (
	blank   shade = iota // within one host: not part of a mesh
	hatched              // nothing is known
	partial              // some pairs passed, of the others nothing is known
	full                 // all pairs passed
	marked               // a pair failed
)

func (c cell) shade() shade {
	known := c.pairs - c.unknown
	switch {
	case c.failed > 0:
		return marked
	case c.expected == 0 && c.pairs == 0:
		return blank
	case known <= 0:
		return hatched
	case c.unknown > 0 || c.pairs < c.expected:
		return partial
	default:
		return full
	}
}

// grid is a mesh laid out in at most a given number of lines.
type grid struct {
	level level
	lines []line
	cells []cell // row by row
	edges []float64
	apart bool // pairs that the plan keeps apart are blank, too
	hosts int
	nics  int
	size  int // hosts a line, per group
}

// newGrid lays a mesh out per NIC if it fits, else per host, else per group of hosts.
func newGrid(m *fabric.Mesh, limit int) grid {
	limit = max(limit, 1)
	hosts, nics := members(m)
	g := grid{hosts: len(hosts), size: 1}
	for _, h := range hosts {
		g.nics += len(nics[h])
	}
	lineOf := make(map[fabric.Endpoint]int, g.nics)
	switch {
	case g.nics <= limit:
		g.linesPerNIC(hosts, nics, lineOf)
	default:
		g.level = perHost
		if len(hosts) > limit {
			g.level, g.size = perGroup, (len(hosts)+limit-1)/limit
		}
		g.linesPerHosts(hosts, nics, lineOf)
	}
	g.fill(m, lineOf)
	g.edges = scale(g.cells)
	return g
}

// members lists the hosts, and the NICs of each, in the order in which they send; those that only answer
// come last.
func members(m *fabric.Mesh) (hosts []string, nics map[string][]string) {
	nics = map[string][]string{}
	seen := map[fabric.Endpoint]bool{}
	add := func(e fabric.Endpoint) {
		if seen[e] {
			return
		}
		seen[e] = true
		if nics[e.Node] == nil {
			hosts = append(hosts, e.Node)
		}
		nics[e.Node] = append(nics[e.Node], e.NIC)
	}
	for _, p := range m.Pairs {
		add(p.From)
	}
	for _, p := range m.Pairs {
		add(p.To)
	}
	return hosts, nics
}

func (g *grid) linesPerNIC(hosts []string, nics map[string][]string, lineOf map[fabric.Endpoint]int) {
	for _, h := range hosts {
		for _, n := range nics[h] {
			lineOf[fabric.Endpoint{Node: h, NIC: n}] = len(g.lines)
			g.lines = append(g.lines, line{host: h, label: n, nics: 1, own: 1})
		}
	}
}

func (g *grid) linesPerHosts(hosts []string, nics map[string][]string, lineOf map[fabric.Endpoint]int) {
	for group := range slices.Chunk(hosts, g.size) {
		l := line{label: Names(group, 1)}
		if g.level == perHost {
			l.host = group[0]
		}
		for _, h := range group {
			l.nics += len(nics[h])
			l.own += len(nics[h]) * len(nics[h])
			for _, n := range nics[h] {
				lineOf[fabric.Endpoint{Node: h, NIC: n}] = len(g.lines)
			}
		}
		g.lines = append(g.lines, l)
	}
}

func (g *grid) fill(m *fabric.Mesh, lineOf map[fabric.Endpoint]int) {
	n := len(g.lines)
	g.cells = make([]cell, n*n)
	for i := range g.cells {
		a, b := g.lines[i/n], g.lines[i%n]
		g.cells[i].sample = -1
		switch {
		case i/n == i%n:
			g.cells[i].expected = a.nics*a.nics - a.own
		case g.level != perNIC || a.host != b.host:
			g.cells[i].expected = a.nics * b.nics
		}
	}
	for i, p := range m.Pairs {
		g.cells[lineOf[p.From]*n+lineOf[p.To]].add(i, p)
	}
	if g.apart = m.Apart > 0; g.apart {
		for i := range g.cells {
			g.cells[i].expected = g.cells[i].pairs // the plan keeps the others apart
		}
	}
}

func (c *cell) add(index int, p fabric.Measurement) {
	o := outcomeOf(p)
	c.pairs++
	switch {
	case o == notMeasured:
		c.unknown++
	case o > passed:
		c.failed++
	}
	if c.sample < 0 || o > c.worst {
		c.worst, c.sample = o, index
	}
	if p.Small.Answered {
		c.rtt = max(c.rtt, p.Small.RTTMicros)
	}
}

// steps is the number of colours of the scale: as many as are easy to tell apart in one hue.
const steps = 5

// leastRatio is the least that the scale spans, slowest to fastest: round trips that differ by less than a
// factor of four between them are jitter of the hosts, and must not look like a pattern.
const leastRatio = 4

// scale cuts the round trips into equal ratios: a switch hop more is a factor, not a difference. It gives
// the edges in microseconds, two significant digits each, one more than there are steps; nil without any
// round trip.
func scale(cells []cell) []float64 {
	lo, hi := math.Inf(1), 0.0
	for _, c := range cells {
		if c.rtt > 0 {
			lo, hi = min(lo, c.rtt), max(hi, c.rtt)
		}
	}
	if hi == 0 {
		return nil
	}
	hi = max(hi, lo*leastRatio)
	edges := []float64{round2(lo, math.Floor)}
	for i := 1; i < steps; i++ {
		e := round2(lo*math.Pow(hi/lo, float64(i)/steps), math.Round)
		if e > edges[len(edges)-1] {
			edges = append(edges, e)
		}
	}
	if top := round2(hi, math.Ceil); top > edges[len(edges)-1] {
		edges = append(edges, top)
	}
	return edges
}

func round2(v float64, to func(float64) float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return to(math.Round(v/unit*1e6)/1e6) * unit
}

// step finds the colour of a round trip: 0 is the fastest.
func (g grid) step(rtt float64) int {
	i := 0
	for i+2 < len(g.edges) && rtt >= g.edges[i+1] {
		i++
	}
	return i
}

// stepText names the range of a colour in microseconds.
func (g grid) stepText(i int) string {
	if i+1 >= len(g.edges) {
		return ThreeDigits(g.edges[i])
	}
	return ThreeDigits(g.edges[i]) + " to " + ThreeDigits(g.edges[i+1])
}

// steps counts the colours in use.
func (g grid) steps() int {
	if len(g.edges) == 0 {
		return 0
	}
	return max(len(g.edges)-1, 1)
}

// untested says which pairs are no part of the mesh.
func (g grid) untested() string {
	if g.apart {
		return "same host, or another subnet"
	}
	return "same host"
}

// caption returns what a line stands for, and that it was aggregated where it was.
func (g grid) caption() string {
	total := fabric.Count(g.hosts, "host") + " with " + fabric.Count(g.nics, "NIC")
	switch g.level {
	case perNIC:
		if g.apart {
			return total + ", every pair that shares a subnet."
		}
		return total + ", every pair."
	case perHost:
		return total + ": too many to draw each pair. One cell is a pair of hosts: its colour is its slowest pair, its mark its worst."
	default:
		return fmt.Sprintf("%s: too many to draw each pair. One cell is a pair of groups of up to %s: its colour is its slowest pair, its mark its worst.",
			total, fabric.Count(g.size, "host"))
	}
}

// tip describes a cell in full.
func (g grid) tip(m *fabric.Mesh, i int) string {
	c, n := g.cells[i], len(g.lines)
	from, to := g.lines[i/n], g.lines[i%n]
	if g.level != perNIC {
		text := fmt.Sprintf("%s to %s: %d of %d pairs failed, %d unknown", from.label, to.label,
			c.failed, max(c.pairs, c.expected), c.unknown+max(c.expected-c.pairs, 0))
		if c.rtt > 0 {
			text += "; slowest " + ThreeDigits(c.rtt) + " µs"
		}
		if c.failed > 0 {
			p := m.Pairs[c.sample]
			text += fmt.Sprintf("; for one, %s to %s: %s", p.From, p.To, Reason(p))
		}
		return text
	}
	pair := fabric.Endpoint{Node: from.host, NIC: from.label}.String() + " to " + fabric.Endpoint{Node: to.host, NIC: to.label}.String()
	if c.sample < 0 {
		return pair + ": not measured"
	}
	p := m.Pairs[c.sample]
	text := fmt.Sprintf("%s: %s; small %s, full %s", pair, strings.ToUpper(p.Status().String()), micros(p.Small), micros(p.Full))
	if why := Reason(p); why != "" {
		text += "; " + why
	}
	return text
}
