package sonic

import (
	"fmt"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// queueRefs is what the rows of QUEUE attach to a queue.
type queueRefs struct {
	at              *sonicRow
	scheduler, wred *sonicField
}

// queueKey is what decides what a queue does.
type queueKey struct {
	scheduler, wred *sonicRow
	row             *sonicRow // where something is missing in it
}

// queueRows returns what is attached to each queue of each port. A range and a single queue may both name a queue: what
// they set differently depends on which SONiC reads last.
func (r *reader) queueRows() map[string]*[8]queueRefs {
	all := make(map[string]*[8]queueRefs)
	for _, row := range r.db.rowsOf("QUEUE") {
		ports, own := r.keyPorts("QUEUE", row.key)
		cut := strings.LastIndexByte(row.key, '|')
		if cut < 0 {
			r.problem(fabric.TextRange, "", row.at, fmt.Sprintf("%q names no queue", short(row.key)), "orchagent skips the row")
		}
		if !own || cut < 0 {
			continue
		}
		least, most, ok := r.span(row.key[cut+1:], row, 7)
		if !ok {
			continue
		}
		for _, port := range ports {
			refs := all[port]
			if refs == nil {
				refs = new([8]queueRefs)
				all[port] = refs
			}
			for i := least; i <= most; i++ {
				r.attach(&refs[i], row, port, i)
			}
		}
	}
	return all
}

func (r *reader) attach(q *queueRefs, row *sonicRow, port string, number int) {
	for _, f := range []struct {
		name string
		to   **sonicField
	}{{"scheduler", &q.scheduler}, {"wred_profile", &q.wred}} {
		v := row.get(f.name)
		if v == nil {
			continue
		}
		if old := *f.to; old != nil && old.value != v.value {
			r.problem(fabric.TextConflict, port, v.at, fmt.Sprintf("queue %d of %s has %s %q here and %q in line %d", number, port, f.name, v.value, old.value, old.at.Number),
				"the row that SONiC reads last counts")
		}
		*f.to = v
	}
	q.at = row
}

// bindQueues gives a port its queues.
func (r *reader) bindQueues(p *fabric.PortConfig, refs *[8]queueRefs) {
	if refs == nil {
		if !r.db.complete("QUEUE") {
			return
		}
		refs = new([8]queueRefs)
	}
	for i := range refs {
		q := refs[i]
		key := queueKey{
			scheduler: r.named("SCHEDULER", q.scheduler, p.Name), wred: r.named("WRED_PROFILE", q.wred, p.Name),
		}
		if key.wred == nil {
			key.row = q.at
		}
		c := r.queues[key]
		if c == nil {
			c = r.queue(key, q.wred)
			r.queues[key] = c
		}
		p.Queues[i] = c
	}
}

// named returns the row that a field names.
func (r *reader) named(table string, f *sonicField, port string) *sonicRow {
	if f == nil {
		return nil
	}
	r.used[mapKey{table, f.value}] = true
	return r.defined(table, f.value, f, port, "orchagent waits for it and applies nothing of the row, neither scheduler nor WRED")
}

// queue reads what a queue does. Without a scheduler a chip's own way counts, which is in no public document.
func (r *reader) queue(key queueKey, wred *sonicField) *fabric.QueueConfig {
	c := &fabric.QueueConfig{}
	if s := key.scheduler; s != nil {
		r.schedule(c, s)
	}
	switch {
	case key.wred != nil:
		c.Marks = r.wredProfile(key.wred)
	case wred != nil && r.db.complete("WRED_PROFILE"):
		c.Marks = &fabric.QueueProfile{Name: wred.value, ECN: fabric.Said[bool]{At: wred.at}}
	case wred != nil:
	case key.row != nil:
		c.Marks = &fabric.QueueProfile{ECN: fabric.Said[bool]{At: key.row.at}}
	default:
		c.Marks = &fabric.QueueProfile{ECN: byDefaultValue(false, "a queue without a row in QUEUE has no WRED profile (sonic-swss, orchagent/qosorch.cpp)")}
	}
	return c
}

func byDefaultValue[T any](is T, why string) fabric.Said[T] { return *byDefault(is, why) }

func (r *reader) schedule(c *fabric.QueueConfig, s *sonicRow) {
	f := s.get("type")
	switch {
	case f == nil:
		if !s.closed {
			return
		}
		c.Algorithm = byDefault("weighted", "WRR (SAI, inc/saischeduler.h; sonic-scheduler.yang)")
	case strings.EqualFold(f.value, "STRICT"):
		c.Algorithm = said("strict", f.at)
		return
	case f.value == "DWRR" || f.value == "WRR":
		c.Algorithm = said("weighted", f.at)
	default:
		if !r.told(f) {
			r.problem(fabric.TextForeign, "", f.at, fmt.Sprintf("the type of the scheduler %s is %q, neither DWRR, WRR nor STRICT", s.key, f.value), "orchagent refuses it")
		}
		return
	}
	if w := s.get("weight"); w != nil {
		c.Weight = r.small(w, "", 1, 100)
	} else if s.closed {
		c.Weight = byDefault(1, "weight 1 (SAI, inc/saischeduler.h; sonic-scheduler.yang)")
	}
}

// ecnModes are the values of ecn, and whether green packets are marked: all packets are green unless the switch colours
// them, for which SONiC has no table (orchagent/qosorch.cpp, ecn_map; SAI, inc/saiwred.h).
var ecnModes = map[string]bool{
	"ecn_none": false, "ecn_yellow": false, "ecn_red": false, "ecn_yellow_red": false,
	"ecn_green": true, "ecn_green_yellow": true, "ecn_green_red": true, "ecn_all": true,
}

// wredProfile reads a profile once. Thresholds are bytes (sonic-wred-profile.yang).
func (r *reader) wredProfile(row *sonicRow) *fabric.QueueProfile {
	if p := r.wred[row]; p != nil {
		return p
	}
	p := &fabric.QueueProfile{Name: row.key, ECN: byDefaultValue(false, "ecn_none (SAI, inc/saiwred.h, SAI_WRED_ATTR_ECN_MARK_MODE)")}
	r.wred[row] = p
	if f := row.get("ecn"); f != nil {
		marks, known := ecnModes[f.value]
		p.ECN = *said(marks, f.at)
		if !known {
			r.problem(fabric.TextForeign, "", f.at, fmt.Sprintf("ecn of %s is %q, which SONiC has not", row.key, short(f.value)), "orchagent fails at it, and nothing is marked")
		}
	}
	green := sonicIs(row.get("wred_green_enable"), "true")
	p.Drops = green && !p.ECN.Is
	if p.ECN.Is && !green {
		r.problem(fabric.TextConflict, "", p.ECN.At, fmt.Sprintf("%s marks green packets, and wred_green_enable is not true", row.key),
			"whether it marks depends on the chip")
	}
	for _, colour := range []string{"green", "yellow", "red"} {
		least, most := r.number(row.get(colour+"_min_threshold"), "", 0, math.MaxInt64), r.number(row.get(colour+"_max_threshold"), "", 0, math.MaxInt64)
		percent := r.small(row.get(colour+"_drop_probability"), "", 0, 100)
		if least != nil && most != nil && least.Is > most.Is {
			r.problem(fabric.TextRange, "", most.At, fmt.Sprintf("%s of %s has its minimum of %d bytes above its maximum of %d", colour, row.key, least.Is, most.Is),
				"SONiC refuses the profile")
		}
		if colour == "green" {
			p.Min, p.Max, p.Percent = threshold(least), threshold(most), percent
		}
	}
	if row.get("green_drop_probability") == nil && row.closed {
		p.Percent = byDefault(100, "100 percent (sonic-swss, orchagent/qosorch.cpp, WredMapHandler::addQosItem)")
	}
	return p
}

func threshold(v *fabric.Said[int64]) *fabric.Threshold {
	if v == nil {
		return nil
	}
	return &fabric.Threshold{Value: float64(v.Is), Unit: "bytes", At: v.At}
}
