package draw

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// pod is a part of a fabric that hangs together: hosts and the leaves they are cabled to.
type pod struct {
	hosts, switches []string
	nics            int
	cables          map[int]int // by rail
	failing         []string
}

// podLimit is the most pods drawn: six rows of four still fit a page.
const podLimit = 24

// Pixels of a pod's picture, and how many stand in a row.
const (
	podsInRow = 4
	podWidth  = 280.0
	podHeight = 226.0
	podGap    = 13.0
)

// drawPods draws each pod as two boxes with a line a rail.
func drawPods(s *svg, p *fabric.Plan, marks map[fabric.Endpoint]fabric.Status) {
	all := pods(p, marks)
	// A failing pod is never among those left out before a sound one.
	slices.SortStableFunc(all, func(a, b pod) int { return b2i(len(b.failing) > 0) - b2i(len(a.failing) > 0) })
	shown := all[:min(len(all), podLimit)]
	rows := (len(shown) + podsInRow - 1) / podsInRow
	height := 34 + float64(rows)*(podHeight+podGap) + 44
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" class="rw-cabling" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`,
		"Cabling of "+p.Name+", grouped", pageWidth, height, pageWidth, height)
	s.b.WriteString(cablingStyle)
	s.add(`<text x="0" y="14">%s</text>`, fmt.Sprintf("%s, %s, %s: too many to draw each. A block is the hosts attached to the same switches; a line is a rail with its number of cables.",
		fabric.Count(len(p.Nodes), "host"), fabric.Count(len(p.Switches), "switch"), fabric.Count(p.Cables()-len(p.Cabling.Uplinks), "cable")))
	for i, x := range shown {
		drawPod(s, x, float64(i%podsInRow)*(podWidth+podGap), 34+float64(i/podsInRow)*(podHeight+podGap))
	}
	y := height - 24
	if rest := all[len(shown):]; len(rest) > 0 {
		s.add(`<text x="0" y="%s">%s</text>`, y, restText(rest))
		y += 18
	}
	if names := failing(marks); len(names) > 0 {
		s.add(`<text class="bad" x="0" y="%s">%s</text>`, y, "Failing: "+Names(names, 6)+".")
	}
	s.add(`</svg>`)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func restText(rest []pod) string {
	hosts, switches, failed := 0, 0, 0
	for _, x := range rest {
		hosts += len(x.hosts)
		switches += len(x.switches)
		failed += len(x.failing)
	}
	return fmt.Sprintf("Not drawn: %s more with %s on %s, %d failing.", fabric.Count(len(rest), "block"), fabric.Count(hosts, "host"), fabric.Count(switches, "switch"), failed)
}

func drawPod(s *svg, x pod, left, top float64) {
	class := "box"
	if len(x.failing) > 0 {
		class = "box broken"
	}
	mid := left + podWidth/2
	s.add(`<rect class="box" x="%s" y="%s" width="%s" height="44" rx="5"/>`, left, top, podWidth)
	s.add(`<text class="name mid" x="%s" y="%s">%s</text>`, mid, top+19, fit(Names(x.switches, 1), podWidth-16, 7))
	s.add(`<text class="lab mid" x="%s" y="%s">%s</text>`, mid, top+35, fabric.Count(len(x.switches), "switch"))
	low := top + podHeight - 70
	rails := railsOf(x)
	step := (podWidth - 40) / float64(max(len(rails), 1))
	for i, r := range rails {
		at := left + 20 + step*(float64(i)+0.5)
		s.add(`<path class="w %s" d="M%s %sV%s"/>`, railClass("s", r), at, top+44, low)
		if step >= 16 || i == 0 {
			s.add(`<text class="lab" transform="translate(%s %s) rotate(-90)">%s</text>`, at-4, low-8, fmt.Sprintf("rail %d: %d", r, x.cables[r]))
		}
	}
	s.add(`<rect class="%s" x="%s" y="%s" width="%s" height="62" rx="5"/>`, class, left, low, podWidth)
	s.add(`<text class="name mid" x="%s" y="%s">%s</text>`, mid, low+20, fit(Names(x.hosts, 1), podWidth-16, 7))
	s.add(`<text class="lab mid" x="%s" y="%s">%s</text>`, mid, low+36, fmt.Sprintf("%s, %s", fabric.Count(len(x.hosts), "host"), fabric.Count(x.nics, "NIC")))
	if len(x.failing) > 0 {
		cross(s, left+14, low+49)
		s.add(`<text class="bad lab" x="%s" y="%s">%s</text>`, left+26, low+53, fit(fmt.Sprintf("%d failing: %s", len(x.failing), Names(x.failing, 3)), podWidth-40, labelChar))
	}
}

func railsOf(x pod) []int {
	var rails []int
	for r := range x.cables {
		rails = append(rails, r)
	}
	slices.Sort(rails)
	return rails
}

// pods splits a plan into the parts that no cable joins, in the order of their first hosts.
func pods(p *fabric.Plan, marks map[fabric.Endpoint]fabric.Status) []pod {
	find := joined(p.Cabling.Links)
	var all []pod
	index := map[string]int{}
	of := func(name string) *pod {
		r := find(name)
		if _, ok := index[r]; !ok {
			index[r] = len(all)
			all = append(all, pod{cables: map[int]int{}})
		}
		return &all[index[r]]
	}
	isNode := map[string]bool{}
	for _, n := range p.Nodes {
		isNode[n.Name] = true
		x := of(n.Name)
		x.hosts = append(x.hosts, n.Name)
		x.nics += len(n.NICs)
	}
	for _, sw := range switchesOf(p, isNode) {
		x := of(sw.Name)
		x.switches = append(x.switches, sw.Name)
	}
	for _, l := range p.Cabling.Links {
		of(l.A.Node).cables[l.Rail]++
	}
	for e, status := range marks {
		if status == fabric.Fail {
			x := of(e.Node)
			x.failing = append(x.failing, endpointName(e))
		}
	}
	return all
}

// joined finds for each machine the one that represents everything it is cabled to, directly or not
// (union-find).
func joined(links []fabric.Link) func(string) string {
	root := map[string]string{}
	find := func(x string) string {
		for root[x] != "" {
			if next := root[root[x]]; next != "" {
				root[x] = next
			}
			x = root[x]
		}
		return x
	}
	for _, l := range links {
		if a, b := find(l.A.Node), find(l.B.Node); a != b {
			root[b] = a
		}
	}
	return find
}
