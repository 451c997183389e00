package junos

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// scheduling is what a port without a scheduler map has (Understanding Default CoS Scheduling and Classification).
const scheduling = "Junos, Understanding Default CoS Scheduling: by default no queue is strict, and none marks packets"

// readMarking finds the drop profiles with which a scheduler marks packets, and lists all of them.
func (r *reader) readMarking() {
	for _, m := range r.cos.all("scheduler-maps") {
		for _, c := range m.all("forwarding-class") {
			if name := c.value("scheduler"); name != nil {
				r.definition(name, "schedulers")
			}
		}
	}
	for _, s := range r.cos.all("schedulers") {
		ecn := s.kid("explicit-congestion-notification")
		maps := s.kid("drop-profile-map")
		if ecn != nil && maps == nil {
			r.problem(fabric.TextInert, ecn.at, "scheduler "+s.word+" has explicit-congestion-notification and no drop profile", "nothing says when to mark")
		}
		for _, name := range r.dropProfiles(s, nil) {
			if r.definition(name, "drop-profiles") != nil && ecn != nil {
				r.marking[name.Is] = &ecn.at
			}
		}
	}
	for _, n := range r.cos.all("drop-profiles") {
		if !strings.HasPrefix(n.word, "apply-") {
			r.out.Profiles = append(r.out.Profiles, r.dropProfile(n, r.marking[n.word]))
		}
	}
}

// dropProfiles returns the drop profiles of a scheduler: those of packets with one of some loss priorities, low first; nil: of all.
func (r *reader) dropProfiles(scheduler *junosNode, colours map[string]bool) []*fabric.Said[string] {
	var out, rest []*fabric.Said[string]
	for _, loss := range scheduler.all("drop-profile-map", "loss-priority") {
		if !r.lossPriority(loss) || colours != nil && loss.word != "any" && !colours[loss.word] {
			continue
		}
		names := []*fabric.Said[string]{loss.value("drop-profile")}
		for _, protocol := range loss.all("protocol") {
			names = append(names, protocol.value("drop-profile"))
		}
		for _, name := range names {
			switch {
			case name == nil:
			case loss.word == "low" || loss.word == "any":
				out = append(out, name)
			default:
				rest = append(rest, name)
			}
		}
	}
	return append(out, rest...)
}

// colours are the loss priorities that classifiers give to packets of a class: low where none gives any.
func (r *reader) colours(class string) map[string]bool {
	if r.lossOf == nil {
		r.lossOf = map[string]map[string]bool{}
		for _, kind := range []string{"dscp", "dscp-ipv6", "ieee-802.1"} {
			for _, c := range r.cos.all("classifiers", kind) {
				for _, f := range c.all("forwarding-class") {
					for _, loss := range f.all("loss-priority") {
						if r.lossOf[f.word] == nil {
							r.lossOf[f.word] = map[string]bool{}
						}
						r.lossOf[f.word][loss.word] = true
					}
				}
			}
		}
	}
	if of := r.lossOf[class]; len(of) > 0 {
		return of
	}
	return map[string]bool{"low": true}
}

// dropProfile reads a drop profile: with marks it marks what it else would drop.
func (r *reader) dropProfile(n *junosNode, marks *fabric.Line) fabric.QueueProfile {
	p := fabric.QueueProfile{Name: n.word, ECN: fabric.Said[bool]{Is: false, At: n.at}, Drops: true}
	if marks != nil {
		p.ECN, p.Drops = fabric.Said[bool]{Is: true, At: *marks}, false
	}
	levels, odds := r.curve(n)
	if len(levels) == 0 {
		return p
	}
	least, most := levels[0], levels[0]
	top := odds[0]
	for i := range levels {
		if i > 0 && levels[i].Is < levels[i-1].Is {
			r.once(fabric.TextRange, levels[i].At, fmt.Sprintf("drop profile %s: fill level %d follows %d", n.word, levels[i].Is, levels[i-1].Is), "Junos refuses it: fill levels ascend")
		}
		if odds[i].Is == 0 && top.Is == 0 {
			least = levels[i]
		}
		if odds[i].Is > top.Is || i == 0 {
			top, most = odds[i], levels[i]
		}
	}
	p.Min = &fabric.Threshold{Value: float64(least.Is), Unit: "percent", At: least.At}
	p.Max = &fabric.Threshold{Value: float64(most.Is), Unit: "percent", At: most.At}
	p.Percent = &top
	if odds[0].Is > 0 {
		p.Start = &odds[0]
		if in := n.kid("interpolate"); in != nil && len(odds) > 1 {
			r.once(fabric.TextConflict, odds[0].At, fmt.Sprintf("drop profile %s begins with %d %% at a fill level of %d %%", n.word, odds[0].Is, levels[0].Is),
				"a QFX takes 0 % there (Configuring WRED Drop Profiles), or marks from an empty queue on")
		}
	}
	return p
}

// curve returns the points of a drop profile: pairs of an interpolated one in their order, or the steps of another.
func (r *reader) curve(n *junosNode) (levels, odds []fabric.Said[int]) {
	if in := n.kid("interpolate"); in != nil {
		levels = r.percents(in.kid("fill-level"), n.word)
		odds = r.percents(in.kid("drop-probability"), n.word)
		if half := len(levels) / 2; half > 0 && len(odds) == len(levels) && sameJunosValues(levels[:half], levels[half:]) && sameJunosValues(odds[:half], odds[half:]) {
			levels, odds = levels[half:], odds[half:] // said twice
		}
		if len(levels) != len(odds) { // a command that was given again adds nothing
			levels, odds = distinct(levels, len(odds)), distinct(odds, len(levels))
		}
		if len(levels) != len(odds) {
			r.once(fabric.TextConflict, in.at, fmt.Sprintf("drop profile %s has %d fill levels and %d probabilities", n.word, len(levels), len(odds)), "Junos refuses it: they are pairs")
			return nil, nil
		}
		return levels, odds
	}
	for _, step := range n.all("fill-level") {
		level := r.number(&fabric.Said[string]{Is: step.word, At: step.at}, "fill-level of "+n.word, 0, 100)
		odd := r.number(step.value("drop-probability"), "drop-probability of "+n.word, 0, 100)
		if level != nil && odd != nil {
			levels, odds = append(levels, *level), append(odds, *odd)
		}
	}
	return levels, odds
}

// distinct returns values without those that stand there already, where there are more than wanted.
func distinct(list []fabric.Said[int], wanted int) []fabric.Said[int] {
	if len(list) <= wanted {
		return list
	}
	var out []fabric.Said[int]
	for _, v := range list {
		if !slices.ContainsFunc(out, func(o fabric.Said[int]) bool { return o.Is == v.Is }) {
			out = append(out, v)
		}
	}
	return out
}

func sameJunosValues(a, b []fabric.Said[int]) bool {
	return slices.EqualFunc(a, b, func(x, y fabric.Said[int]) bool { return x.Is == y.Is })
}

func (r *reader) percents(n *junosNode, profile string) []fabric.Said[int] {
	var out []fabric.Said[int]
	if n == nil {
		return nil
	}
	for i := range n.values {
		if v := r.number(&n.values[i], n.word+" of drop profile "+profile, 0, 100); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// readScheduling reads the queues of a port: from its scheduler map, or from those of its traffic control profiles.
func (r *reader) readScheduling(p *fabric.PortConfig, n *junosNode, at []*junosNode) {
	var maps []*fabric.Said[string]
	if m := attached(at, n, "scheduler-map"); m != nil {
		maps = append(maps, m)
	}
	for _, in := range at {
		profiles := []*fabric.Said[string]{in.value("output-traffic-control-profile")}
		for _, set := range in.all("forwarding-class-set") {
			profiles = append(profiles, set.value("output-traffic-control-profile"))
		}
		for _, name := range profiles {
			if name == nil {
				continue
			}
			if tcp := r.definition(name, "traffic-control-profiles"); tcp.value("scheduler-map") != nil {
				maps = append(maps, tcp.value("scheduler-map"))
			}
		}
	}
	if len(maps) == 0 && !r.wired {
		return
	}
	key := ""
	for _, m := range maps {
		key += m.Is + "|"
	}
	queues := r.queues[key]
	if queues == nil {
		queues = r.schedule(maps)
		r.queues[key] = queues
	}
	p.Queues = *queues
}

// schedule reads the queues of scheduler maps. A queue without a scheduler neither marks nor is strict.
func (r *reader) schedule(maps []*fabric.Said[string]) *[8]*fabric.QueueConfig {
	out := &[8]*fabric.QueueConfig{}
	for _, name := range maps {
		m := r.definition(name, "scheduler-maps")
		if m == nil {
			return out // unknown
		}
		for _, c := range m.all("forwarding-class") {
			class := r.class(&fabric.Said[string]{Is: c.word, At: c.at})
			scheduler := c.value("scheduler")
			if class == nil || class.queue == nil || class.queue.Is > 7 || scheduler == nil {
				continue
			}
			if s := r.definition(scheduler, "schedulers"); s != nil {
				r.sharedQueue(out, class, c, s)
				if shaped := s.kid("shaping-rate"); shaped != nil && class.noLoss != nil {
					r.unread = append(r.unread, shaped.at) // it makes a lossless class slow, and the model has no rates of queues
				}
				out[class.queue.Is] = r.scheduler(s, class.name)
			} else {
				out[class.queue.Is] = &fabric.QueueConfig{}
			}
		}
	}
	for q := range out {
		if out[q] == nil {
			off := fabric.Said[bool]{Is: false, At: fabric.Line{Text: scheduling}}
			out[q] = &fabric.QueueConfig{Algorithm: junosDefault("weighted", scheduling), Marks: &fabric.QueueProfile{ECN: off}}
		}
	}
	return out
}

// sharedQueue notes two classes of one queue with different schedulers.
func (r *reader) sharedQueue(out *[8]*fabric.QueueConfig, class *junosClass, c, s *junosNode) {
	if old := out[class.queue.Is]; old != nil && old.Algorithm != nil && old.Marks != nil && (old.Algorithm.At != s.at || old.Marks.Name != r.scheduler(s, class.name).Marks.Name) {
		if old.Algorithm.At.Number != r.scheduler(s, class.name).Algorithm.At.Number {
			r.once(fabric.TextConflict, c.at, fmt.Sprintf("queue %d has a second scheduler, %s for class %s", class.queue.Is, s.word, c.word), "a queue has one scheduler")
		}
	}
}

// scheduler reads one scheduler, for a class.
func (r *reader) scheduler(s *junosNode, class string) *fabric.QueueConfig {
	q := &fabric.QueueConfig{Algorithm: &fabric.Said[string]{Is: "weighted", At: s.at}}
	if v := s.value("priority"); v != nil {
		q.Algorithm.At = v.At
		if v.Is == "strict-high" {
			q.Algorithm.Is = "strict"
		}
	}
	q.Weight = r.number(s.value("transmit-rate", "percent"), "transmit-rate percent of "+s.word, 0, 100)
	q.Marks = &fabric.QueueProfile{ECN: fabric.Said[bool]{Is: false, At: s.at}}
	names := r.dropProfiles(s, r.colours(class))
	if others := s.all("drop-profile-map", "loss-priority"); len(names) == 0 && len(others) > 0 {
		r.once(fabric.TextInert, others[0].at, "scheduler "+s.word+" has drop profiles for packets of other loss priorities than those of class "+class+" have", "the queue neither marks nor drops them early")
	}
	if len(names) > 0 {
		q.Marks = nil
		if n := r.definition(names[0], "drop-profiles"); n != nil {
			var marks *fabric.Line
			if ecn := s.kid("explicit-congestion-notification"); ecn != nil {
				marks = &ecn.at
			}
			profile := r.dropProfile(n, marks)
			q.Marks = &profile
		}
	}
	return q
}
