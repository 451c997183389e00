package junos

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// junosPFC is a congestion-notification-profile.
type junosPFC struct {
	node     *junosNode // nil: the text names it and does not show it
	dscp     map[int]fabric.Line
	ieee     map[int]fabric.Line
	input    bool
	inputAt  fabric.Line
	output   bool
	stops    [8]*fabric.Said[int]
	sent     []int // priorities of the output block
	watchdog *fabric.WatchdogConfig
	cable    *fabric.Said[int]
	mru      *fabric.Said[int] // the least of its code points
	small    bool              // it is less than the frames of a port
}

// pauses reports whether a profile has PFC for a code point.
func (p *junosPFC) pauses(kind string, point int) bool {
	if p == nil {
		return false
	}
	points := p.dscp
	if kind == "ieee-802.1" {
		points = p.ieee
	}
	_, ok := points[point]
	return ok
}

// pfc reads a profile, once for all ports that have it.
func (r *reader) pfc(name *fabric.Said[string]) *junosPFC {
	if p := r.profiles[name.Is]; p != nil {
		return p
	}
	p := &junosPFC{dscp: map[int]fabric.Line{}, ieee: map[int]fabric.Line{}}
	r.profiles[name.Is] = p
	p.node = r.definition(name, "congestion-notification-profile")
	if p.node == nil {
		return p
	}
	if in := p.node.kid("input"); in != nil {
		p.inputAt = in.at
		r.pausedPoints(p, in, "dscp", p.dscp)
		r.pausedPoints(p, in, "ieee-802.1", p.ieee)
		p.input = len(p.dscp)+len(p.ieee) > 0
		p.cable = r.number(trim(in.value("cable-length"), "m"), "cable-length of "+p.node.word, 1, 100000)
		if len(p.dscp) > 0 && len(p.ieee) > 0 {
			r.problem(fabric.TextConflict, in.at, "profile "+p.node.word+" has PFC by DSCP and by 802.1p priority", "Junos takes one of them for a profile")
		}
	}
	if _, four := p.ieee[4]; p.mru == nil && p.input && (!four || len(p.ieee) != 1) {
		p.mru = junosDefault(2500, "Junos CLI reference, mru: 2500 bytes by default, 9216 of priority 4")
	}
	r.readStops(p)
	p.watchdog = r.readWatchdog(p.node)
	return p
}

func trim(v *fabric.Said[string], unit string) *fabric.Said[string] {
	if v == nil {
		return nil
	}
	return &fabric.Said[string]{Is: strings.TrimSuffix(v.Is, unit), At: v.At}
}

func (r *reader) pausedPoints(p *junosPFC, in *junosNode, kind string, into map[int]fabric.Line) {
	for _, n := range in.all(kind, "code-point") {
		point, ok := r.codePoint(fabric.Said[string]{Is: n.word, At: n.at}, kind)
		if !ok {
			continue
		}
		p.takeMRU(r.number(n.value("mru"), "mru of "+n.word, 64, 16000))
		if on := n.kid("pfc"); on != nil {
			p.takeMRU(r.number(on.value("mru"), "mru of "+n.word, 64, 16000))
			into[point] = on.at
		} else {
			r.problem(fabric.TextInert, n.at, "input code-point "+n.word+" has no pfc", "it does nothing")
		}
	}
}

func (p *junosPFC) takeMRU(mru *fabric.Said[int]) {
	if mru != nil && (p.mru == nil || mru.Is < p.mru.Is) {
		p.mru = mru
	}
}

// headroomCovers notes a port whose frames are larger than those for which its profile sizes headroom (CLI reference, mru).
func (r *reader) headroomCovers(p *fabric.PortConfig, pfc *junosPFC) {
	p.CableM, p.FrameB = pfc.cable, pfc.mru
	if pfc.mru == nil || p.MTU == nil || p.MTU.At.Number == 0 || pfc.mru.Is >= p.MTU.Is+junosHeader {
		return
	}
	if pfc.small {
		return // said of another port
	}
	pfc.small = true
	at := pfc.mru.At
	if at.Number == 0 {
		at = pfc.inputAt
	}
	r.once(fabric.TextConflict, at, fmt.Sprintf("profile %s sizes headroom for frames of %d bytes, and frames of %s may have %d", pfc.node.word, pfc.mru.Is, p.Name, p.MTU.Is+junosHeader),
		"larger frames overflow the headroom and are dropped in a lossless class")
}

// defaultStops are the queues that pauses stop on a port without an output block.
func defaultStops() (stops [8]*fabric.Said[int]) {
	for i := range stops {
		queue := -1
		if i == 3 || i == 4 {
			queue = i
		}
		stops[i] = junosDefault(queue, stopDefault)
	}
	return stops
}

// readStops reads which queue a received pause stops. An output block replaces the default as a whole.
func (r *reader) readStops(p *junosPFC) {
	p.stops = defaultStops()
	points := p.node.kid("output", "ieee-802.1", "code-point")
	if points == nil {
		return
	}
	p.output = true
	for i := range p.stops {
		p.stops[i] = &fabric.Said[int]{Is: -1, At: points.at}
	}
	for _, n := range points.kids {
		i, ok := r.codePoint(fabric.Said[string]{Is: n.word, At: n.at}, "ieee-802.1")
		queues := n.kid("flow-control-queue")
		if !ok || queues == nil {
			continue
		}
		if len(queues.values) > 1 {
			r.unread = append(r.unread, queues.at) // several queues: the model has one
		}
		if q := r.number(&queues.values[0], "flow-control-queue of "+n.word, 0, 7); q != nil {
			p.stops[i] = q
			p.sent = append(p.sent, i)
		}
	}
	slices.Sort(p.sent)
}

// readWatchdog reads the PFC watchdog. Its defaults are those of Juniper's PFC Watchdog: polls every 100 ms, two of them to
// detect, 200 ms to recover, drop.
func (r *reader) readWatchdog(profile *junosNode) *fabric.WatchdogConfig {
	n := profile.kid("pfc-watchdog")
	if n == nil {
		return &fabric.WatchdogConfig{On: &fabric.Said[bool]{Is: false, At: profile.at}}
	}
	const source = "Juniper, PFC Watchdog: by default "
	w := &fabric.WatchdogConfig{On: &fabric.Said[bool]{Is: true, At: n.at}, Action: n.value("watchdog-action")}
	if w.Action == nil {
		w.Action = junosDefault("drop", source+"packets are dropped")
	}
	poll := r.number(n.value("poll-interval"), "poll-interval of "+profile.word, 100, 1000)
	polls := r.number(n.value("detection"), "detection of "+profile.word, 2, 10)
	w.DetectMs = junosDefault(200, source+"two polls of 100 ms")
	if poll != nil || polls != nil {
		d := fabric.Said[int]{Is: 2 * 100}
		if poll != nil {
			d = fabric.Said[int]{Is: 2 * poll.Is, At: poll.At}
		}
		if polls != nil {
			d = fabric.Said[int]{Is: d.Is / 2 * polls.Is, At: polls.At}
		}
		w.DetectMs = &d
	}
	w.RestoreMs = r.number(n.value("recovery"), "recovery of "+profile.word, 200, 1000)
	if n.value("recovery") == nil {
		w.RestoreMs = junosDefault(200, source+"200 ms")
	}
	return w
}

func (r *reader) readPFC(p *fabric.PortConfig, pfc *junosPFC) {
	switch {
	case pfc == nil && !r.wired, pfc != nil && pfc.node == nil:
		return
	case pfc == nil:
		p.PFC = junosDefault([]int{}, noProfile)
		p.Watchdog = &fabric.WatchdogConfig{On: junosDefault(false, noProfile)}
		p.Stops = defaultStops()
		return
	}
	p.Stops, p.Watchdog = pfc.stops, pfc.watchdog
	if !pfc.input {
		p.PFC = &fabric.Said[[]int]{Is: append([]int{}, pfc.sent...), At: pfc.node.at}
		if pfc.output {
			p.Pauses = &fabric.PFCDirections{Sends: &fabric.Said[bool]{Is: false, At: pfc.node.at}}
		}
		return
	}
	on := [8]bool{}
	for i := range pfc.ieee {
		on[i] = true
	}
	for d := range pfc.dscp {
		if p.DSCP != nil && p.DSCP[d].Pause != nil && p.DSCP[d].Pause.Is >= 0 {
			on[p.DSCP[d].Pause.Is] = true
		}
	}
	list := []int{}
	for i, yes := range on {
		if yes {
			list = append(list, i)
		}
	}
	p.PFC = &fabric.Said[[]int]{Is: list, At: pfc.inputAt}
}
