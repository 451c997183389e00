package junos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// What a port of a QFX does where nobody says anything (Juniper, Traffic Management User Guide for QFX: Understanding Default
// CoS Settings; CLI reference, code-point (Output Congestion Notification), pfc-priority).
const (
	classDefault = "Junos, Understanding Default CoS Settings: "
	junosUnnamed = "Junos: a code point that the classifier does not name is best-effort"
	noProfile    = "Junos: no PFC on a port without a congestion-notification-profile"
	stopDefault  = "Junos CLI reference, code-point (Output Congestion Notification): without an output block, pauses of 3 and 4 are obeyed, and no others"
)

// junosClass is a forwarding class. Its name is the class of the traffic.
type junosClass struct {
	name   string
	at     fabric.Line
	queue  *fabric.Said[int]
	noLoss *fabric.Line      // it may be lossless; nil: its packets are dropped when buffers are full
	pfc    *fabric.Said[int] // priority of the pauses that are sent for it
	own    bool              // the text defines it
}

// readClasses reads the forwarding classes. Those of Junos itself are there too: a class of the same name replaces them.
func (r *reader) readClasses() {
	r.classes = map[string]*junosClass{}
	for _, d := range []struct {
		name   string
		queue  int
		noLoss bool
	}{{"best-effort", 0, false}, {"fcoe", 3, true}, {"no-loss", 4, true}, {"network-control", 7, false}, {"mcast", 8, false}} {
		line := fabric.Line{Text: fmt.Sprintf("%sclass %s, queue %d", classDefault, d.name, d.queue)}
		c := &junosClass{name: d.name, at: line, queue: &fabric.Said[int]{Is: d.queue, At: line}}
		if d.noLoss {
			c.noLoss = &line
		}
		r.classes[d.name] = c
	}
	for _, n := range r.cos.all("forwarding-classes", "class") {
		c := &junosClass{name: n.word, at: n.at, own: true}
		c.queue = r.number(n.value("queue-num"), "queue-num of "+n.word, 0, 11)
		c.pfc = r.number(n.value("pfc-priority"), "pfc-priority of "+n.word, 0, 7)
		if k := n.kid("no-loss"); k != nil {
			c.noLoss = &k.at
		}
		r.classes[n.word] = c
	}
	for _, q := range r.cos.all("forwarding-classes", "queue") {
		for _, n := range q.kids {
			queue := r.number(&fabric.Said[string]{Is: q.word, At: q.at}, "queue of "+n.word, 0, 11)
			r.classes[n.word] = &junosClass{name: n.word, at: n.at, own: true, queue: queue}
		}
	}
	r.mixedQueues()
}

// mixedQueues notes queues with lossless and lossy classes: a pause stops both, and drops are of both.
func (r *reader) mixedQueues() {
	byQueue := map[int]*junosClass{}
	for _, n := range r.cos.all("forwarding-classes", "class") {
		c := r.classes[n.word]
		if c.queue == nil {
			continue
		}
		other := byQueue[c.queue.Is]
		byQueue[c.queue.Is] = c
		if other != nil && (other.noLoss == nil) != (c.noLoss == nil) {
			r.problem(fabric.TextConflict, c.queue.At, fmt.Sprintf("classes %s and %s share queue %d, and one of them alone is no-loss", other.name, c.name, c.queue.Is),
				"Junos demands that all classes of a queue drop alike")
		}
	}
}

// class returns the class of a name; nil: nothing defines it.
func (r *reader) class(name *fabric.Said[string]) *junosClass {
	c := r.classes[name.Is]
	if c == nil && (r.whole || len(r.cos.all("forwarding-classes")) > 0) {
		r.once(fabric.TextUndefined, name.At, "forwarding class "+name.Is+" is defined nowhere", "Junos refuses the text")
	}
	return c
}

// aliases of code points (Junos CLI, show class-of-service code-point-aliases; RFC 2474, 2597, 3246). A text may define more.
var (
	dscpAliases = map[string]int{
		"be": 0, "ef": 46, "cs1": 8, "cs2": 16, "cs3": 24, "cs4": 32, "cs5": 40, "cs6": 48, "cs7": 56, "nc1": 48, "nc2": 56,
		"af11": 10, "af12": 12, "af13": 14, "af21": 18, "af22": 20, "af23": 22, "af31": 26, "af32": 28, "af33": 30, "af41": 34, "af42": 36, "af43": 38,
	}
	pcpAliases = map[string]int{"be": 0, "be1": 1, "ef": 2, "ef1": 3, "af11": 4, "af12": 5, "nc1": 6, "nc2": 7}
)

// codePoint reads the bits of a DSCP (6) or of an 802.1p priority (3), or an alias of them.
func (r *reader) codePoint(v fabric.Said[string], kind string) (int, bool) {
	bits, aliases := 6, dscpAliases
	if kind == "ieee-802.1" {
		bits, aliases = 3, pcpAliases
	}
	word := v.Is
	if own := r.cos.value("code-point-aliases", kind, word); own != nil {
		word = own.Is
	} else if n, ok := aliases[strings.ToLower(word)]; ok {
		return n, true
	}
	if n, err := strconv.ParseUint(word, 2, 8); err == nil && len(word) == bits {
		return int(n), true
	}
	what, problem := fmt.Sprintf("code point %s is neither a known alias nor %d bits", v.Is, bits), fabric.TextUndefined
	if strings.Trim(word, "0123456789") == "" {
		problem = fabric.TextRange
	}
	r.once(problem, v.At, what, "Junos refuses it")
	return 0, false
}

// classified is the class of a code point, and the line that says it.
type classified struct {
	class *fabric.Said[string]
}

// classifier reads what a classifier says of each code point. What it does not name is nil.
func (r *reader) classifier(n *junosNode, kind string, depth int) []classified {
	size := map[string]int{"dscp": 64, "ieee-802.1": 8}[kind]
	out := make([]classified, size)
	if from := n.value("import"); from != nil && depth < 8 {
		if from.Is == "default" {
			out = defaultClassifier(kind)
		} else if other := r.definition(from, "classifiers", kind); other != nil {
			out = r.classifier(other, kind, depth+1)
		}
	}
	seen := make([]*fabric.Line, size)
	for _, class := range n.all("forwarding-class") {
		for _, loss := range class.all("loss-priority") {
			points := loss.kid("code-points")
			if points == nil || !r.lossPriority(loss) {
				continue
			}
			for _, v := range points.values {
				p, ok := r.codePoint(v, kind)
				if !ok {
					continue
				}
				if seen[p] != nil && out[p].class.Is != class.word {
					r.once(fabric.TextDuplicate, v.At, fmt.Sprintf("classifier %s: code point %s is in class %s and, on line %d, in class %s", n.word, v.Is, class.word, seen[p].Number, out[p].class.Is), "Junos refuses it, or the last one counts")
				}
				seen[p] = &v.At
				out[p] = classified{&fabric.Said[string]{Is: class.word, At: v.At}}
			}
		}
	}
	return out
}

// lossPriority reports whether the name of an entry is one of a loss priority.
func (r *reader) lossPriority(n *junosNode) bool {
	switch n.word {
	case "low", "medium-low", "medium-high", "high", "any":
		return true
	}
	r.once(fabric.TextRange, n.at, "loss-priority is "+n.word, "Junos takes low, medium-low, medium-high, high")
	return false
}

// defaultClassifier returns dscp-default or ieee8021p-default of a QFX.
func defaultClassifier(kind string) []classified {
	special := map[int]string{48: "network-control", 56: "network-control"}
	size := 64
	if kind == "ieee-802.1" {
		special, size = map[int]string{3: "fcoe", 4: "no-loss", 6: "network-control", 7: "network-control"}, 8
	}
	line := classDefault + "default classifier " + map[string]string{"dscp": "dscp-default", "ieee-802.1": "ieee8021p-default"}[kind]
	out := make([]classified, size)
	for p := range out {
		name := special[p]
		if name == "" {
			name = "best-effort"
		}
		out[p] = classified{junosDefault(name, line)}
	}
	return out
}

// treatments is what a port with a classifier and a profile does with each code point.
func (r *reader) treatments(points []classified, kind string, pfc *junosPFC) []fabric.Treatment {
	out := make([]fabric.Treatment, len(points))
	unnamed := junosDefault("best-effort", junosUnnamed)
	known := map[string]fabric.Treatment{} // of a class: the same pointers for all of its code points
	for p, c := range points {
		name := c.class
		if name == nil {
			name = unnamed
		}
		class := r.class(name)
		out[p].Class = name
		if class == nil {
			continue
		}
		out[p].Queue = class.queue
		on := pfc.pauses(kind, p)
		key := fmt.Sprint(class.name, on && kind == "dscp", on && kind != "dscp", p*btoi(on && kind != "dscp"))
		if t, ok := known[key]; ok {
			out[p].Pause = t.Pause
			continue
		}
		out[p].Pause = r.pause(class, kind, p, pfc)
		known[key] = out[p]
	}
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pause returns the priority of the pauses that are sent for a class. PFC by DSCP pauses the priority of the class (CLI
// reference, pfc-priority); PFC by 802.1p that of the packet.
func (r *reader) pause(class *junosClass, kind string, point int, pfc *junosPFC) *fabric.Said[int] {
	none := func(at fabric.Line) *fabric.Said[int] { return &fabric.Said[int]{Is: -1, At: at} }
	switch {
	case pfc == nil && !r.wired:
		return nil
	case pfc == nil:
		return none(fabric.Line{Text: noProfile})
	case pfc.node == nil:
		return nil // a profile that the text does not show
	case !pfc.pauses(kind, point):
		return none(pfc.node.at)
	case class.noLoss == nil:
		return none(class.at)
	case kind == "ieee-802.1":
		return &fabric.Said[int]{Is: point, At: pfc.ieee[point]}
	case class.pfc == nil:
		r.once(fabric.TextConflict, *class.noLoss, "class "+class.name+" is no-loss and has PFC by DSCP, and no pfc-priority", "no pause can be sent for it: pfc-priority says which")
		return none(*class.noLoss)
	}
	return class.pfc
}

// disagreements notes where classifier and PFC of a port do not fit together.
func (r *reader) disagreements(classifier string, points []classified, table []fabric.Treatment, pfc *junosPFC) {
	if pfc == nil || pfc.node == nil {
		return
	}
	if len(pfc.ieee) > 0 && len(pfc.dscp) == 0 {
		r.once(fabric.TextConflict, pfc.inputAt, fmt.Sprintf("profile %s has PFC by 802.1p priority, and classifier %s classifies by DSCP", pfc.node.word, classifier),
			"packets without a tag are never paused")
		return
	}
	var lossy, unpaused []string
	var lossyAt, unpausedAt fabric.Line
	for p, t := range table {
		class := r.classes[t.Class.Is]
		_, on := pfc.dscp[p]
		switch {
		case class == nil:
		case on && class.noLoss == nil:
			lossy, lossyAt = append(lossy, strconv.Itoa(p)), pfc.dscp[p]
		case !on && class.noLoss != nil && points[p].class != nil && pfc.input:
			unpaused, unpausedAt = append(unpaused, strconv.Itoa(p)), t.Class.At
		}
	}
	if len(lossy) > 0 {
		r.once(fabric.TextConflict, lossyAt, fmt.Sprintf("profile %s has PFC for DSCP %s, which classifier %s does not put into a no-loss class", pfc.node.word, strings.Join(lossy, ", "), classifier),
			"no pause is sent for it")
	}
	if len(unpaused) > 0 {
		r.once(fabric.TextConflict, unpausedAt, fmt.Sprintf("classifier %s puts DSCP %s into a no-loss class, and profile %s has no PFC for it", classifier, strings.Join(unpaused, ", "), pfc.node.word),
			"it is dropped when buffers are full")
	}
	r.stopsElsewhere(table, pfc)
}

// stopsElsewhere notes pauses that are sent for one class and, when received, stop the queue of another.
func (r *reader) stopsElsewhere(table []fabric.Treatment, pfc *junosPFC) {
	var done []string
	for _, t := range table {
		class := r.classes[t.Class.Is]
		if class == nil || class.noLoss == nil || class.pfc == nil || class.queue == nil || t.Pause == nil || t.Pause.Is < 0 || slices.Contains(done, class.name) {
			continue
		}
		done = append(done, class.name)
		if stop := pfc.stops[class.pfc.Is]; stop.Is != class.queue.Is {
			at, what := stop.At, fmt.Sprintf("a received pause of priority %d stops queue %d", class.pfc.Is, stop.Is)
			if stop.Is < 0 {
				what = fmt.Sprintf("a received pause of priority %d stops no queue", class.pfc.Is)
			}
			if at.Number == 0 {
				at = pfc.node.at
			}
			r.once(fabric.TextConflict, at, fmt.Sprintf("profile %s: %s, and class %s of that priority is in queue %d", pfc.node.word, what, class.name, class.queue.Is), "the class goes on sending into a full neighbour, which drops")
		}
	}
}
