package lossless_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/lossless"
)

// mesh is a network of switches that have a host each, with cables between those that are named in pairs.
func mesh(r *rand.Rand, switches int, pairs [][2]int) *world {
	w := newWorld(r)
	w.want.RoCE.ECN = &fabric.ECN{}
	w.net = lossless.Network{Switches: map[string]*fabric.SwitchConfig{}, NICs: map[fabric.Endpoint]lossless.NICConfig{}}
	w.ports, w.nics = nil, nil
	for i := range switches {
		name := fmt.Sprintf("s%d", i)
		w.addSwitch(r, name, switches+1, false)
		nic := fabric.Endpoint{Node: fmt.Sprintf("host%d", i), NIC: "eth1"}
		w.nics, w.net.NICs[nic] = append(w.nics, nic), w.newNIC(r)
		w.net.Cables = append(w.net.Cables, lossless.Cable{A: nic, B: fabric.Endpoint{Node: name, NIC: fmt.Sprintf("p%d", i+1)}})
	}
	for _, p := range pairs { // port n of switch m goes to switch n-1
		w.net.Cables = append(w.net.Cables, lossless.Cable{A: meshPort(p[0], p[1]), B: meshPort(p[1], p[0])})
	}
	w.plug(r)
	return w
}

func meshPort(at, to int) fabric.Endpoint {
	return fabric.Endpoint{Node: fmt.Sprintf("s%d", at), NIC: fmt.Sprintf("p%d", to+1)}
}

func ring(n int) (pairs [][2]int) {
	for i := range n {
		pairs = append(pairs, [2]int{i, (i + 1) % n})
	}
	return pairs
}

// clockwise are the turns of a ring in which all packets go one way round.
func clockwise(n int) (turns []lossless.Turn) {
	for i := range n {
		at, host, next, before := fmt.Sprintf("s%d", i), fmt.Sprintf("p%d", i+1), fmt.Sprintf("p%d", (i+1)%n+1), fmt.Sprintf("p%d", (i+n-1)%n+1)
		turns = append(turns, lossless.Turn{Switch: at, In: host, Out: next}, lossless.Turn{Switch: at, In: before, Out: next}, lossless.Turn{Switch: at, In: before, Out: host})
	}
	return turns
}

func TestCirclesOfPauses(t *testing.T) {
	cases := []struct {
		name     string
		switches int
		pairs    [][2]int
		turns    []lossless.Turn
		change   func(w *world)
		want     int // cables of the circle; 0: none
	}{
		{"ring of 3, shortest paths", 3, ring(3), nil, nil, 0},
		{"ring of 4, shortest paths", 4, ring(4), nil, nil, 4},
		{"ring of 5, shortest paths", 5, ring(5), nil, nil, 5},
		{"line of 5", 5, ring(5)[:4], nil, nil, 0},
		{"star", 5, [][2]int{{0, 1}, {0, 2}, {0, 3}, {0, 4}}, nil, nil, 0},
		{"ring of 3, one way round", 3, ring(3), clockwise(3), nil, 3},
		{"ring of 6, one way round", 6, ring(6), clockwise(6), nil, 6},
		{"ring of 3, one way round, one turn missing", 3, ring(3), slices.DeleteFunc(clockwise(3), func(x lossless.Turn) bool { return x.Switch == "s1" && x.In == "p1" && x.Out == "p3" }), nil, 0},
		{"ring of 5, one port without PFC each way", 5, ring(5), nil, func(w *world) {
			for _, p := range w.ports {
				if w.of[p] == "s2" && p.Name != "p3" {
					p.PFC = say(w, "s2", "pfc", []int{})
				}
			}
		}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := mesh(rand.New(rand.NewPCG(1, 2)), c.switches, c.pairs)
			w.net.Turns = c.turns
			if c.change != nil {
				c.change(w)
			}
			r := lossless.Prove(w.net, w.want)
			got := 0
			for _, x := range r.Counterexamples {
				if x.Kind == lossless.CyclicPauses {
					got = len(x.Hops)
					if x.Packet.From == x.Packet.To || x.Packet.From.Node == "" || x.Packet.To.Node == "" || x.Hops[0].Line.Text == "" {
						t.Errorf("circle without a packet or its lines: %+v", x)
					}
				} else if c.change == nil {
					t.Errorf("another fault: %+v", x)
				}
			}
			if got != c.want {
				t.Errorf("circle of %d, want %d: %+v", got, c.want, r)
			}
			if want := map[bool]fabric.Status{true: fabric.Pass, false: fabric.Fail}[c.want == 0 && c.change == nil]; r.Verdict != want {
				t.Errorf("verdict %v, want %v", r.Verdict, want)
			}
		})
	}
}

// waiting is the graph of waits, from sending every packet along every path: "in priority" to "in priority".
func (b *brute) waiting() map[string]map[string]bool {
	graph := map[string]map[string]bool{}
	for _, from := range b.all {
		for _, to := range b.all {
			if from == to {
				continue
			}
			for _, path := range b.paths(from, to) {
				for dscp := range 64 {
					stops := b.pausedAlong(path, dscp)
					for i := 1; i+1 < len(stops); i++ { // a NIC waits for nothing
						if stops[i] == "" || stops[i+1] == "" {
							continue
						}
						if graph[stops[i]] == nil {
							graph[stops[i]] = map[string]bool{}
						}
						graph[stops[i]][stops[i+1]] = true
					}
				}
			}
		}
	}
	return graph
}

// pausedAlong is where on a path, and in which priority, a packet makes switches pause.
func (b *brute) pausedAlong(path []string, dscp int) []string {
	var out []string
	nic := b.card(path[0])
	has, known := b.tagOnFirst(path[1])
	prio, prioKnown := cardPriority(nic, dscp, has, known)
	for i := 1; i+1 < len(path); i += 2 {
		cell := b.cell(b.port(path[i]), dscp, i == 1, prio, prioKnown)
		stop := ""
		if p, ok, _ := pausing(b.port(path[i]), cell); ok && p >= 0 {
			stop = fmt.Sprint(path[i], " ", p)
		}
		out = append(out, stop)
		var ok bool
		if dscp, ok = leavesWith(b.port(path[i+1]), cell, dscp); !ok {
			break
		}
	}
	return out
}

// circular reports whether a graph has a circle: what is left when all that waits for nothing is taken away.
func circular(graph map[string]map[string]bool) bool {
	for gone := true; gone; {
		gone = false
		for a := range graph {
			waits := false
			for c := range graph[a] {
				_, there := graph[c]
				waits = waits || there
			}
			if !waits {
				delete(graph, a)
				gone = true
			}
		}
	}
	return len(graph) > 0
}

// TestRandomMeshes holds networks of any form against brute force, circles of pauses among their faults.
func TestRandomMeshes(t *testing.T) {
	const each = 400
	circles, refuted := 0, 0
	for i := range each {
		r := rand.New(rand.NewPCG(uint64(i), 15))
		n, dense := 4+r.IntN(3), r.IntN(5)
		var pairs [][2]int
		for a := range n {
			for b := range a {
				if around := a-b == 1 || a-b == n-1; around && dense == 0 || r.IntN(6) < dense {
					pairs = append(pairs, [2]int{b, a})
				}
			}
		}
		w := mesh(r, n, pairs)
		w.net.Cables = w.net.Cables[r.IntN(n-1):] // some switches have no host
		e := edit{"none", func(*world, *rand.Rand) {}}
		if len(w.net.Cables) > 0 && i%2 == 0 {
			e = edits[i%len(edits)]
		}
		e.do(w, r)
		got := lossless.Prove(w.net, w.want)
		b := newBrute(w.net, w.want)
		all, sent, reached := b.everything()
		graph := b.waiting()
		edges := map[string]map[string]bool{}
		for a, to := range graph {
			edges[a] = map[string]bool{}
			for c := range to {
				edges[a][c] = true
			}
		}
		circle := circular(graph)
		want := fabric.Pass
		switch {
		case len(all.bad) > 0 || circle:
			want = fabric.Fail
			refuted++
		case len(all.blank) > 0 || sent == 0:
			want = fabric.Unknown
		}
		if got.Verdict != want {
			t.Errorf("seed %d, %s: %v, brute force %v: circle %v, %v %v; proof %+v", i, e.name, got.Verdict, want, circle, all.bad, all.blank, got)
		}
		if got.Walked != 64*reached {
			t.Errorf("seed %d, %s: walked %d, brute force %d pairs", i, e.name, got.Walked, reached)
		}
		kinds := kindsIn(all)
		if circle {
			circles++
			kinds = append(kinds, string(lossless.CyclicPauses))
			slices.Sort(kinds)
		}
		if !slices.Equal(kindsOf(got), kinds) {
			t.Errorf("seed %d, %s: kinds %v, brute force %v", i, e.name, kindsOf(got), kinds)
		}
		if a, b := wheresOf(got), wheresIn(all); !slices.Equal(a, b) {
			t.Errorf("seed %d, %s: places %v, brute force %v", i, e.name, a, b)
		}
		for _, c := range got.Counterexamples {
			if c.Kind != lossless.CyclicPauses {
				if why := confirm(w, c); why != "" {
					t.Errorf("seed %d, %s: %s: %+v", i, e.name, why, c)
				}
				continue
			}
			for j, h := range c.Hops {
				next := c.Hops[(j+1)%len(c.Hops)]
				if !edgeBetween(edges, h.At, next.At) {
					t.Errorf("seed %d: no packet makes %s wait for %s", i, h.At, next.At)
				}
			}
		}
	}
	t.Logf("%d networks: %d refuted, %d with a circle", each, refuted, circles)
	if circles < each/20 || circles > each*19/20 {
		t.Errorf("%d of %d networks have a circle: too few or too many to tell anything", circles, each)
	}
}

func edgeBetween(edges map[string]map[string]bool, a, b fabric.Endpoint) bool {
	for p := range 8 {
		for q := range 8 {
			if edges[fmt.Sprintf("%s %s %d", a.Node, a.NIC, p)][fmt.Sprintf("%s %s %d", b.Node, b.NIC, q)] {
				return true
			}
		}
	}
	return false
}
