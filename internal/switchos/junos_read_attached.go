package switchos

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
func (r *junosReader) pfc(name *fabric.Said[string]) *junosPFC {
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
		r.pausedPoints(in, "dscp", p.dscp)
		r.pausedPoints(in, "ieee-802.1", p.ieee)
		p.input = len(p.dscp)+len(p.ieee) > 0
		p.cable = r.number(junosTrim(in.value("cable-length"), "m"), "cable-length of "+p.node.word, 1, 100000)
		if len(p.dscp) > 0 && len(p.ieee) > 0 {
			r.problem(fabric.TextConflict, in.at, "profile "+p.node.word+" has PFC by DSCP and by 802.1p priority", "Junos takes one of them for a profile")
		}
	}
	r.readStops(p)
	p.watchdog = r.readWatchdog(p.node)
	return p
}

func junosTrim(v *fabric.Said[string], unit string) *fabric.Said[string] {
	if v == nil {
		return nil
	}
	return &fabric.Said[string]{Is: strings.TrimSuffix(v.Is, unit), At: v.At}
}

func (r *junosReader) pausedPoints(in *junosNode, kind string, into map[int]fabric.Line) {
	for _, n := range in.all(kind, "code-point") {
		p, ok := r.codePoint(fabric.Said[string]{Is: n.word, At: n.at}, kind)
		if !ok {
			continue
		}
		if on := n.kid("pfc"); on != nil {
			into[p] = on.at
		} else {
			r.problem(fabric.TextInert, n.at, "input code-point "+n.word+" has no pfc", "it does nothing")
		}
	}
}

// junosDefaultStops are the queues that pauses stop on a port without an output block.
func junosDefaultStops() (stops [8]*fabric.Said[int]) {
	for i := range stops {
		queue := -1
		if i == 3 || i == 4 {
			queue = i
		}
		stops[i] = junosDefault(queue, junosStopDefault)
	}
	return stops
}

// readStops reads which queue a received pause stops. An output block replaces the default as a whole.
func (r *junosReader) readStops(p *junosPFC) {
	p.stops = junosDefaultStops()
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
func (r *junosReader) readWatchdog(profile *junosNode) *fabric.WatchdogConfig {
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

// junosAttachments finds what class-of-service attaches to a port: by its name, by a range or an aggregate that it is in, by a
// pattern; what is said most precisely counts.
type junosAttachments struct {
	cos      *junosNode
	ranges   map[string][]*junosNode
	patterns []*junosNode
	flat     []string // the patterns without slashes, which a star of path.Match does not take
}

func newJunosAttachments(r *junosReader) junosAttachments {
	a := junosAttachments{cos: r.cos.kid("interfaces"), ranges: r.ranges()}
	if a.cos == nil {
		return a
	}
	for _, n := range a.cos.kids {
		if n.word == "all" || strings.ContainsAny(n.word, "*?[") {
			a.patterns = append(a.patterns, n)
		}
	}
	slices.SortStableFunc(a.patterns, func(x, y *junosNode) int { return junosPrecision(y.word) - junosPrecision(x.word) })
	for _, p := range a.patterns {
		a.flat = append(a.flat, junosFlatten(p.word))
	}
	return a
}

func junosPrecision(pattern string) int {
	if pattern == "all" {
		return 0
	}
	return 1 + len(pattern) - strings.Count(pattern, "*")
}

// of returns what is attached to a port, the most precise first.
func (a junosAttachments) of(n *junosNode) []*junosNode {
	var out []*junosNode
	if own := a.cos.kid(n.word); own != nil {
		out = append(out, own)
	}
	for _, in := range a.ranges[n.word] {
		if own := a.cos.kid(in.word); own != nil {
			out = append(out, own)
		}
	}
	for _, options := range []string{"gigether-options", "ether-options"} {
		for _, ae := range n.all(options, "802.3ad") {
			if own := a.cos.kid(ae.word); own != nil {
				out = append(out, own)
			}
		}
	}
	flat := junosFlatten(n.word)
	for i, p := range a.patterns {
		if p.word != n.word && junosMatchFlat(a.flat[i], flat) {
			out = append(out, p)
		}
	}
	return out
}

// attached returns the first value of a path, at a port or at one of its units.
func junosAttached(at []*junosNode, port *junosNode, path ...string) *fabric.Said[string] {
	for _, n := range at {
		var units []*junosNode
		for _, u := range port.all("unit") {
			if own := n.kid("unit", u.word); own != nil && n != port {
				units = append(units, own)
			}
		}
		if every := n.kid("unit", "*"); every != nil {
			units = append(units, every)
		}
		if port.kid("unit") == nil || n == port {
			units = append(units, n.all("unit")...)
		}
		for _, u := range append(units, n) {
			if v := u.value(path...); v != nil {
				return v
			}
		}
	}
	return nil
}

// readAttached reads what the port does with packets.
func (r *junosReader) readAttached(p *fabric.PortConfig, n *junosNode, a junosAttachments) {
	at := a.of(n)
	var pfc *junosPFC
	name := junosAttached(at, n, "congestion-notification-profile")
	if name != nil {
		pfc = r.pfc(name)
		p.CableM = pfc.cable
	}
	r.readClassifiers(p, n, at, name, pfc)
	r.readPFC(p, pfc)
	r.readScheduling(p, n, at)
	if rw := junosAttached(at, n, "rewrite-rules", "dscp"); rw != nil && rw.Is != "default" {
		p.Rewrite = r.rewrite(rw)
	}
}

func (r *junosReader) readPFC(p *fabric.PortConfig, pfc *junosPFC) {
	switch {
	case pfc == nil && !r.wired, pfc != nil && pfc.node == nil:
		return
	case pfc == nil:
		p.PFC = junosDefault([]int{}, junosNoProfile)
		p.Watchdog = &fabric.WatchdogConfig{On: junosDefault(false, junosNoProfile)}
		p.Stops = junosDefaultStops()
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

// readClassifiers reads by what the port classifies, and how. A fixed class leaves nothing to a packet.
func (r *junosReader) readClassifiers(p *fabric.PortConfig, n *junosNode, at []*junosNode, profile *fabric.Said[string], pfc *junosPFC) {
	key := ""
	if profile != nil {
		key = profile.Is
	}
	if fixed := junosAttached(at, n, "forwarding-class"); fixed != nil {
		p.Trust = &fabric.Said[string]{Is: "none", At: fixed.At}
		p.PCP = r.pcpTable("class "+fixed.Is+"|"+key, junosFixed(fixed, 8), pfc)
		return
	}
	dscp, pcp := junosAttached(at, n, "classifiers", "dscp"), junosAttached(at, n, "classifiers", "ieee-802.1")
	if dscp == nil && pcp == nil {
		if r.wired {
			r.defaultTrust(p, n, key, pfc)
		}
		return
	}
	if pcp != nil {
		p.Trust = &fabric.Said[string]{Is: "pcp", At: pcp.At}
		if points := r.points(pcp, "ieee-802.1"); points != nil {
			p.PCP = r.pcpTable(pcp.Is+"|"+key, points, pfc)
		}
	}
	if dscp != nil {
		p.Trust = &fabric.Said[string]{Is: "dscp", At: dscp.At}
		if points := r.points(dscp, "dscp"); points != nil {
			p.DSCP = r.dscpTable(dscp.Is, key, points, pfc)
		}
	}
}

func junosFixed(class *fabric.Said[string], n int) []junosClassified {
	out := make([]junosClassified, n)
	for i := range out {
		out[i] = junosClassified{class}
	}
	return out
}

// points returns what a named classifier says; nil: the text does not show it.
func (r *junosReader) points(name *fabric.Said[string], kind string) []junosClassified {
	if name.Is == "default" {
		return junosDefaultClassifier(kind)
	}
	if known := r.named[kind+" "+name.Is]; known != nil {
		return known
	}
	n := r.definition(name, "classifiers", kind)
	if n == nil {
		return nil
	}
	out := r.classifier(n, kind, 0)
	r.named[kind+" "+name.Is] = out
	return out
}

// defaultTrust is what a port without a classifier does: a routed one has dscp-default, a trunk ieee8021p-default, an access
// port trusts nothing.
func (r *junosReader) defaultTrust(p *fabric.PortConfig, n *junosNode, key string, pfc *junosPFC) {
	trunk, switched := false, false
	for _, u := range n.all("unit") {
		if l2 := u.kid("family", "ethernet-switching"); l2 != nil {
			mode := l2.value("interface-mode")
			switched, trunk = true, mode != nil && mode.Is == "trunk"
		}
	}
	switch {
	case trunk:
		p.Trust = junosDefault("pcp", junosClassDefault+"a trunk has ieee8021p-default")
		p.PCP = r.pcpTable("default|"+key, junosDefaultClassifier("ieee-802.1"), pfc)
	case switched:
		p.Trust = junosDefault("none", junosClassDefault+"an access port trusts no code point")
		p.PCP = r.pcpTable("untrusted|"+key, junosFixed(junosDefault("best-effort", junosClassDefault+"an access port is best-effort"), 8), pfc)
	default:
		p.Trust = junosDefault("dscp", junosClassDefault+"a routed port has dscp-default")
		p.DSCP = r.dscpTable("default", key, junosDefaultClassifier("dscp"), pfc)
	}
}

func (r *junosReader) dscpTable(classifier, profile string, points []junosClassified, pfc *junosPFC) *[64]fabric.Treatment {
	key := classifier + "|" + profile
	if t := r.tables[key]; t != nil {
		return t
	}
	list := r.treatments(points, "dscp", pfc)
	r.disagreements(classifier, points, list, pfc)
	t := (*[64]fabric.Treatment)(list)
	r.tables[key] = t
	return t
}

func (r *junosReader) pcpTable(key string, points []junosClassified, pfc *junosPFC) *[8]fabric.Treatment {
	if t := r.priority[key]; t != nil {
		return t
	}
	t := (*[8]fabric.Treatment)(r.treatments(points, "ieee-802.1", pfc))
	r.priority[key] = t
	return t
}

// rewrite reads the DSCP that packets of each class leave with. Packets have loss priority low unless somebody colours them.
func (r *junosReader) rewrite(name *fabric.Said[string]) map[string]fabric.Said[int] {
	if m := r.rewrites[name.Is]; m != nil {
		return m
	}
	n := r.definition(name, "rewrite-rules", "dscp")
	if n == nil {
		return nil
	}
	m := map[string]fabric.Said[int]{}
	for _, class := range n.all("forwarding-class") {
		r.class(&fabric.Said[string]{Is: class.word, At: class.at})
		for _, loss := range class.all("loss-priority") {
			if v := loss.value("code-point"); v != nil {
				if d, ok := r.codePoint(*v, "dscp"); ok && (loss.word == "low" || m[class.word].At.Text == "") {
					m[class.word] = fabric.Said[int]{Is: d, At: v.At}
				}
			}
		}
	}
	r.rewrites[name.Is] = m
	return m
}

// readBuffers reads the partitions of the shared buffer.
func (r *junosReader) readBuffers() {
	for _, direction := range []string{"ingress", "egress"} {
		sum, whole := 0, true
		parts := r.cos.all("shared-buffer", direction, "buffer-partition")
		for _, n := range parts {
			v := n.value("percent")
			if v == nil {
				whole = false
				continue
			}
			percent := r.number(v, direction+" buffer-partition "+n.word, 0, 100)
			if percent == nil {
				whole = false
				continue
			}
			sum += percent.Is
			r.out.Buffers = append(r.out.Buffers, fabric.BufferShare{Direction: direction, Name: n.word, Percent: float64(percent.Is), At: percent.At})
		}
		if len(parts) > 0 && whole && sum != 100 {
			r.problem(fabric.TextConflict, parts[0].at, fmt.Sprintf("the partitions of the %s buffer total %d %%", direction, sum),
				"Junos refuses it: they must total 100 (CLI reference, buffer-partition)")
		}
	}
}
