package lossless

import (
	"maps"
	"slices"
)

// channel is a cable in one direction, by the end at which it comes in, and a priority that is paused on it.
type channel int64

func channelOf(in int32, priority int8) channel { return channel(in)<<3 | channel(priority) }
func (c channel) in() int32                     { return int32(c >> 3) }
func (c channel) priority() int8                { return int8(c & 7) }

// wait is that the buffers behind one channel do not empty while another one is paused, by a packet.
type wait struct {
	flow int // number of the flow in which the packet goes
	p    packet
}

// waits are all dependencies of pauses between cables of switches.
type waits struct {
	flow  int
	edges map[channel]map[channel]wait
}

func newWaits() *waits { return &waits{edges: map[channel]map[channel]wait{}} }

// add adds what follows from packets that come in by a crowd's ends and leave by another.
func (x *waits) add(k *walker, c *crowd, d *departure, out int32, given bool) {
	to := k.w.ends[out].peer
	if k.w.ends[to].node == none || k.w.far(c.ends[0]).node == none {
		return
	}
	done := map[[2]int8]bool{}
	for i, p := range d.next {
		m := &k.ports[k.w.ends[to].class]
		from, next := c.arrival.paused[i], int8(none)
		if !d.lost[i] {
			next = pausedIn(m, k.treatment(m, false, p).pause)
		}
		if from < 0 || next < 0 || done[[2]int8{from, next}] {
			continue
		}
		done[[2]int8{from, next}] = true
		for _, in := range c.ends {
			if given || k.w.neighbour(in) != k.w.neighbour(out) {
				x.edge(channelOf(in, from), channelOf(to, next), wait{x.flow, c.arrival.packets[i]})
			}
		}
	}
}

func (x *waits) edge(a, b channel, w wait) {
	if x.edges[a] == nil {
		x.edges[a] = map[channel]wait{}
	}
	if _, ok := x.edges[a][b]; !ok {
		x.edges[a][b] = w
	}
}

// circles finds one shortest circle in each part of the graph that has any.
func (x *waits) circles() [][]channel {
	var out [][]channel
	for _, part := range x.parts() {
		in := map[channel]bool{}
		for _, c := range part {
			in[c] = true
		}
		var best []channel
		const starts = 64 // of the channels of a part: a part in one piece has a circle through each
		for _, c := range part[:min(starts, len(part))] {
			if circle := x.circleBy(c, in); circle != nil && (best == nil || len(circle) < len(best)) {
				best = circle
			}
		}
		if best != nil {
			out = append(out, best)
		}
	}
	slices.SortStableFunc(out, func(a, b []channel) int { return len(a) - len(b) })
	return out
}

// circleBy is a shortest circle by a channel.
func (x *waits) circleBy(start channel, in map[channel]bool) []channel {
	from := map[channel]channel{}
	for queue := []channel{start}; len(queue) > 0; queue = queue[1:] {
		c := queue[0]
		for _, next := range slices.Sorted(maps.Keys(x.edges[c])) {
			if next == start {
				circle := []channel{c}
				for ; c != start; circle = append(circle, c) {
					c = from[c]
				}
				slices.Reverse(circle)
				return circle
			}
			if _, seen := from[next]; !seen && in[next] {
				from[next] = c
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// parts are the strongly connected parts with an edge inside (Tarjan 1972), without recursion: a chain of waits may be long.
func (x *waits) parts() [][]channel {
	type frame struct {
		c    channel
		next []channel
	}
	index, low, onStack := map[channel]int{}, map[channel]int{}, map[channel]bool{}
	var stack []channel
	var out [][]channel
	for _, root := range slices.Sorted(maps.Keys(x.edges)) {
		if _, seen := index[root]; seen {
			continue
		}
		var frames []frame
		enter := func(c channel) {
			index[c], low[c], onStack[c] = len(index), len(index), true
			stack = append(stack, c)
			frames = append(frames, frame{c, slices.Sorted(maps.Keys(x.edges[c]))})
		}
		for enter(root); len(frames) > 0; {
			f := &frames[len(frames)-1]
			if len(f.next) > 0 {
				n := f.next[0]
				f.next = f.next[1:]
				if _, seen := index[n]; !seen {
					enter(n)
				} else if onStack[n] {
					low[f.c] = min(low[f.c], index[n])
				}
				continue
			}
			c := f.c
			if frames = frames[:len(frames)-1]; len(frames) > 0 {
				up := frames[len(frames)-1].c
				low[up] = min(low[up], low[c])
			}
			if low[c] != index[c] {
				continue
			}
			at := slices.Index(stack, c)
			part := slices.Clone(stack[at:])
			for _, e := range part {
				onStack[e] = false
			}
			stack = stack[:at]
			_, self := x.edges[c][c]
			if len(part) > 1 || self {
				slices.Sort(part)
				out = append(out, part)
			}
		}
	}
	return out
}
