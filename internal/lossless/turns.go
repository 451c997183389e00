package lossless

import "railwright.dev/railwright/internal/fabric"

// turns is the flow of packets where all ways through switches are given.
type turns struct {
	w        *wiring
	ins      map[int32][]int32 // by the end by which packets leave
	outs     map[int32][]int32
	fruitful map[int32]bool // ends by which packets come in that come to a NIC
}

func newTurns(w *wiring, list []Turn) *turns {
	t := &turns{w: w, ins: map[int32][]int32{}, outs: map[int32][]int32{}, fruitful: map[int32]bool{}}
	number := make(map[fabric.Endpoint]int32, len(w.ends))
	for i, e := range w.ends {
		if e.node != none {
			number[e.at] = int32(i)
		}
	}
	ins := map[int32][]int32{}
	var queue []int32 // ends by which packets leave to where they come to a NIC
	for _, x := range list {
		in, ok := number[endpointOf(x.Switch, x.In)]
		out, ok2 := number[endpointOf(x.Switch, x.Out)]
		if ok && ok2 {
			ins[out] = append(ins[out], in)
			if w.far(out).node == none && len(ins[out]) == 1 {
				queue = append(queue, out)
			}
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		out := queue[0]
		for _, in := range ins[out] {
			t.ins[out], t.outs[in] = append(t.ins[out], in), append(t.outs[in], out)
			if t.fruitful[in] {
				continue
			}
			t.fruitful[in] = true
			if far := w.far(in); far.node != none {
				queue = append(queue, w.ends[in].peer)
			}
		}
	}
	return t
}

// walk follows packets from all NICs until no new ones come anywhere.
func (t *turns) walk(k *walker) {
	k.forget()
	k.flow = t
	var queue []int32
	for i, e := range t.w.ends {
		if e.node != none && t.w.far(int32(i)).node == none && len(t.outs[int32(i)]) > 0 {
			queue = append(queue, int32(i))
		}
	}
	for k.depth = 1; len(queue) > 0; k.depth++ {
		var next []int32
		for _, in := range queue {
			for _, out := range t.outs[in] {
				to := t.w.ends[out].peer
				before := k.sets[to]
				k.visit([]int32{in}, []int32{out}, true)
				if k.sets[to] != before && t.w.ends[to].node != none {
					next = append(next, to)
				}
			}
		}
		queue = next
	}
}

func (t *turns) before(out int32) []int32 { return t.ins[out] }
func (t *turns) after(in int32) []int32   { return t.outs[in] }
