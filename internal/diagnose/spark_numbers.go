package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// largeNote is the size of a message from which a collective of two machines is near its plateau, bytes.
const largeNote = 64 << 20

// noteNumbers makes points of the numbers of notes. Of the repeats of a test the best counts; what was before a change is
// history, and says what the change did.
func (o *observer) noteNumbers(n *fabric.Notes) {
	now, before := current(n.Numbers)
	o.noteTwins(n, now)
	o.noteCollectives(n, now)
	o.noteTCP(n, now)
	o.noteChanges(now, before)
}

// current divides numbers into those that hold and those of a state before a change: marked so beside one of the same test
// that is not, or followed by one after a change.
func current(all []fabric.NotedNumber) (now, before []fabric.NotedNumber) {
	for i, n := range all {
		same := func(m fabric.NotedNumber) bool { return m.Test == n.Test && m.Together == n.Together }
		history := n.State == fabric.NotedBefore && slices.ContainsFunc(all, func(m fabric.NotedNumber) bool { return same(m) && m.State != fabric.NotedBefore }) ||
			n.State == "" && n.Column == 0 && slices.ContainsFunc(all[i+1:], func(m fabric.NotedNumber) bool { return same(m) && m.State == fabric.NotedAfter })
		if history {
			before = append(before, n)
		} else {
			now = append(now, n)
		}
	}
	return now, before
}

// noteTwins judges bandwidths of RDMA: of a twin alone, of both at once, of all four.
func (o *observer) noteTwins(n *fabric.Notes, now []fabric.NotedNumber) {
	alone := map[string]fabric.NotedNumber{}
	paths := map[int][]fabric.NotedNumber{} // of one column, each a path while all run
	best, all := fabric.NotedNumber{}, false
	for _, v := range now {
		switch {
		case v.Test != fabric.NotedRDMA || v.Size > 0 && v.Size < perftestLarge:
		case v.Together && v.Device != "" && v.Parts == nil:
			if !slices.ContainsFunc(paths[v.Column], func(p fabric.NotedNumber) bool { return p.Device == v.Device && p.Gbps == v.Gbps }) { // else its row was pasted twice
				paths[v.Column] = append(paths[v.Column], v)
			}
		case v.Together, v.Gbps > artefact*twinRate():
			if v.Gbps > best.Gbps {
				best, all = v, true
			}
		case v.Gbps > alone[v.Device].Gbps:
			alone[v.Device] = v
		}
	}
	for _, device := range sortedNames(alone) {
		o.twinAlone(alone[device], o.noteMTU(n))
	}
	for _, together := range paths {
		if sum, ok := summed(together); ok && sum.Gbps > best.Gbps {
			best, all = sum, true
			o.twoCables(together, sum)
		}
	}
	if all {
		o.twinsTogether(best, o.noteMTU(n))
	}
}

// summed adds the paths that ran at once: one number a device.
func summed(paths []fabric.NotedNumber) (sum fabric.NotedNumber, ok bool) {
	for _, p := range paths {
		if len(paths) < 2 || slices.ContainsFunc(paths, func(q fabric.NotedNumber) bool { return q.Device == p.Device && q.Line != p.Line }) {
			return sum, false
		}
		sum.Parts, sum.Gbps = append(sum.Parts, p.Gbps), sum.Gbps+p.Gbps
		sum.Line, sum.Text = p.Line, p.Text
	}
	return sum, true
}

// noteMTU is the path MTU of a text, as far as it tells; 0: unknown.
func (o *observer) noteMTU(n *fabric.Notes) int {
	for _, f := range factsOf(n, "mtu") {
		if strings.HasPrefix(f.Value, "1") {
			return 1024
		}
	}
	return 0
}

// twinAlone judges a bandwidth of one twin by its PCIe link.
func (o *observer) twinAlone(v fabric.NotedNumber, mtu int) {
	limit := twinRate()
	p := point{own: true, test: "perftest", scope: scopeNet, source: strings.TrimSpace("RDMA " + v.Device), gbps: v.Gbps, large: true, mtu: mtu}
	p.expected = fabric.Expected{Gbps: limit, Low: twinLow(), High: limit}
	p.bound = &fabric.Bound{BusBW: limit / 8, Element: "PCIe 5 x4 of one twin"}
	p.ratio, p.quality = v.Gbps/limit, good
	if p.gbps < twinLow() {
		p.quality = bad
	}
	o.s.points = append(o.s.points, p)
}

// twinsTogether judges what the twins of a port carry at once, or of both ports: the port limits the one, the PCIe links the
// other.
func (o *observer) twinsTogether(v fabric.NotedNumber, mtu int) {
	limit, element := portRate(0), "a port of 200 Gb/s, which both twins share"
	low := portLow(mtu)
	if v.Gbps > sparkPort || len(v.Parts) > 2 {
		all := sparkRates(4, largestPath).Total
		limit, low, element = all.Bound, all.Low, "two links of PCIe 5 x4, which both ports share"
	}
	p := point{own: true, test: "perftest", scope: scopeNet, source: "RDMA of all twins at once", gbps: v.Gbps, large: true, mtu: mtu, together: true, parts: v.Parts}
	p.expected = fabric.Expected{Gbps: limit, Low: low, High: limit}
	p.bound = &fabric.Bound{BusBW: limit / 8, Element: element}
	p.ratio, p.quality = v.Gbps/limit, good
	switch {
	case v.Gbps > artefact*limit:
		p.quality = above
	case v.Gbps < low:
		p.quality = bad
	}
	o.s.points = append(o.s.points, p)
}

// twoCables finds four paths of which each falls to half while all run: two cables to the same machine.
func (o *observer) twoCables(paths []fabric.NotedNumber, sum fabric.NotedNumber) {
	ports := map[int]bool{}
	for _, p := range paths {
		if port, _, ok := twinOf(p.Device); ok {
			ports[port] = true
		}
	}
	if len(ports) < 2 || sum.Gbps < portLow(0) {
		return
	}
	more := 100 * (sum.Gbps/portRate(0) - 1)
	why := fmt.Sprintf("%d paths over both ports carry %s Gb/s at once, where one cable carries %s: both ports share two links of PCIe 5 x4, so that a second cable to the same machine adds no more than %.0f %%, and each path falls while all run; nothing is broken",
		len(paths), number(sum.Gbps), number(portRate(0)), more)
	o.s.showText("two cables to one machine", noteSource(sum.Line), why, fabric.Subject{})
	o.misset(why)
}

// noteCollectives judges bandwidths of collectives by what the model expects of one cable.
func (o *observer) noteCollectives(n *fabric.Notes, now []fabric.NotedNumber) {
	mesh := o.mesh(n)
	for _, v := range judgedOf(now) {
		text := strings.ToLower(v.Text)
		collective := fabric.AllReduce
		if strings.Contains(text, "gather") {
			collective = fabric.AllGather
		}
		p := point{own: true, test: "nccl", scope: scopeNet, collective: collective, source: string(collective), nodes: 2, busbw: v.Gbps / 8, size: v.Size}
		o.collectivePoint(&p, mesh)
		if !v.Bytes && p.quality == bad {
			o.note("unit", fmt.Sprintf("%s Gb/s are %s GB/s: nccl-tests prints GB/s, and a healthy cable gives about 23 GB/s", number(v.Gbps), number(v.Gbps/8)))
		}
		if v.Socket && p.quality == bad {
			o.s.showText("sockets between nodes", noteSource(v.Line), "NCCL runs on TCP: "+v.Text, fabric.Subject{})
		}
		o.s.points = append(o.s.points, p)
	}
}

// judgedOf are the collectives that are judged: large messages, bus bandwidth where both are written, of sizes that still rise
// the largest, and of a text that repeats a test its best and its worst, which may be of two states.
func judgedOf(now []fabric.NotedNumber) []fabric.NotedNumber {
	var high, low *fabric.NotedNumber
	for i, v := range now {
		text := strings.ToLower(v.Text)
		alg := strings.Contains(text, "algbw") && !strings.Contains(text, "busbw")
		if v.Test != fabric.NotedCollective || alg || v.Size > 0 && v.Size < largeNote || rises(v, now) {
			continue
		}
		if high == nil || v.Gbps > high.Gbps {
			high = &now[i]
		}
		if low == nil || v.Gbps < low.Gbps {
			low = &now[i]
		}
	}
	switch high {
	case nil:
		return nil
	case low:
		return []fabric.NotedNumber{*high}
	}
	return []fabric.NotedNumber{*low, *high}
}

// rises reports whether the same line or table has a size several times as large that is faster: the smaller one is on the way
// to the plateau, where the time of a message still counts.
func rises(v fabric.NotedNumber, all []fabric.NotedNumber) bool {
	const near, several = 16, 4 // lines of one table; sizes double from row to row
	return v.Size > 0 && slices.ContainsFunc(all, func(w fabric.NotedNumber) bool {
		return w.Test == v.Test && w.Size >= several*v.Size && w.Gbps > v.Gbps && w.Column == v.Column && max(w.Line-v.Line, v.Line-w.Line) < near
	})
}

// collectivePoint holds a collective against the model; in a ring without a switch each hop is a cable of its own.
func (o *observer) collectivePoint(p *point, mesh bool) {
	hw := o.s.hw
	hw.Nodes = max(2, hw.Nodes)
	size := p.size
	if size == 0 {
		size = 1 << 30
	}
	pred := o.predict(hw, Job{Collective: p.collective, Processes: 1}, []int64{size})
	if pred == nil {
		o.need("the model's expectation of a DGX Spark")
		return
	}
	p.judge(pred.Rows[0], pred.Rows[0].BusBW, hw)
	p.large = true
	if mesh && p.quality == bad && p.busbw >= 0.5*p.expected.Low {
		p.quality = unjudged // four machines in a ring reach 13.7 GB/s of the 21 of a switch, and the text does not count them
	}
}

// noteTCP says what numbers of TCP are worth: nothing about RDMA, except where both are as slow.
func (o *observer) noteTCP(n *fabric.Notes, now []fabric.NotedNumber) {
	best, at := 0.0, 0
	for _, v := range now {
		if v.Test == fabric.NotedTCP && v.Gbps > best {
			best, at = v.Gbps, v.Line
		}
	}
	if best == 0 {
		return
	}
	o.s.points = append(o.s.points, point{own: true, test: "tcp", scope: scopeNet, source: "TCP", gbps: best})
	o.note("tcp", fmt.Sprintf("%s Gb/s of TCP says what the CPUs move through the kernel; the port is judged by RDMA: ib_write_bw", number(best)))
	slowPort := slices.ContainsFunc(factsOf(n, "link"), func(f fabric.NotedFact) bool { return len(f.Value) < len("100000") })
	rdma := o.s.badHost()
	switch {
	case slowPort:
	case rdma != nil && rdma.gbps <= sparkTCP && rdma.gbps < 1.3*best:
		o.s.showText("RDMA no faster than TCP", noteSource(at), fmt.Sprintf("RDMA %s and TCP %s Gb/s: what limits both is below the software", number(rdma.gbps), number(best)), fabric.Subject{})
	case best <= sparkTCP && !o.s.goodHost():
		o.s.showText("TCP as slow as a degraded adapter", noteSource(at), fmt.Sprintf("TCP %s Gb/s", number(best)), fabric.Subject{})
		o.need("an RDMA bandwidth of each twin: ib_write_bw -d DEV --report_gbits PEER")
	}
}

// noteChanges asks what a change did to a number.
func (o *observer) noteChanges(now, before []fabric.NotedNumber) {
	for _, was := range before {
		for _, is := range now {
			if is.State != fabric.NotedAfter || is.Test != was.Test || is.Together != was.Together || is.Gbps < 2*was.Gbps {
				continue
			}
			text := fmt.Sprintf("%s Gb/s before, %s Gb/s after", number(was.Gbps), number(is.Gbps))
			o.note("history", text+": "+is.Text)
			line := strings.ToLower(is.Label)
			switch {
			case strings.Contains(line, "reboot"), strings.Contains(line, "power cycle"), strings.Contains(line, "cold start"):
				o.s.seen = append(o.s.seen, evidence.Changed("reboot", text, evidence.Better, evidence.Seen{Source: noteSource(is.Line), Own: true})...)
				if degradedFrom <= was.Gbps && was.Gbps <= degradedTo {
					o.note("history", "so slow until a reset is an adapter that came up degraded (nic-degraded-init): it may come back after a cable is moved while the machine runs")
				}
			case strings.Contains(line, "nccl v"), strings.Contains(line, "nccl 2."), strings.Contains(line, "nccl version"):
				o.s.showText("another release of NCCL was fast", noteSource(is.Line), text+": "+is.Text, fabric.Subject{})
			}
			return
		}
	}
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
