package facts

import (
	"fmt"
	"maps"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// mergeQoS adds what a tool says of traffic classes to what an earlier one said. Where two differ, the first is kept and the
// disagreement noted.
func (m *merger) mergeQoS(n *fabric.NIC, reported *fabric.QoS) {
	if reported == nil {
		return
	}
	if n.QoS == nil {
		n.QoS = &fabric.QoS{}
	}
	q, r := n.QoS, reported
	at := func(part string) string { return fabric.FactNICQoS + "." + part + " " + n.Name }
	keep(m, at("trust"), &q.Trust, r.Trust)
	keep(m, at("dcbx"), &q.DCBX, r.DCBX)
	keepPointer(m, at("global_pause"), &q.Pause, r.Pause)
	keepList(m, at("pfc"), &q.PFC, r.PFC)
	keepList(m, at("ecn"), &q.ECN, r.ECN)
	m.keepMarking(at("roce"), &q.RoCE, r.RoCE)
	m.keepMarking(at("cnp"), &q.CNP, r.CNP)
	m.keepDSCP(at("dscp"), q, r.DSCP)
	if len(r.Queues) > 0 && len(q.Queues) > 0 && !slices.Equal(q.Queues, r.Queues) {
		m.disagree(at("queues"), numbersText(q.Queues), numbersText(r.Queues))
	}
	if len(q.Queues) == 0 {
		q.Queues = slices.Clone(r.Queues)
	}
	m.keepSchedulers(at("schedulers"), q, r.Schedulers)
	for _, source := range r.Sources {
		if !slices.Contains(q.Sources, source) {
			q.Sources = append(q.Sources, source)
		}
	}
}

func keepList(m *merger, what string, have **[]int, reported *[]int) {
	switch {
	case reported == nil || *have != nil && slices.Equal(**have, *reported):
	case *have == nil:
		list := slices.Clone(*reported)
		if list == nil {
			list = []int{}
		}
		*have = &list
		m.givenBy[what] = m.tool
	default:
		m.disagree(what, pfcText(*have), pfcText(reported))
	}
}

func (m *merger) keepMarking(what string, have **fabric.Marking, reported *fabric.Marking) {
	if reported == nil {
		return
	}
	if *have == nil {
		*have = &fabric.Marking{}
	}
	keepPointer(m, what, &(*have).DSCP, reported.DSCP)
	keepPointer(m, what, &(*have).Priority, reported.Priority)
}

// keepDSCP compares what both sources say of a value; a source may list those only that were set.
func (m *merger) keepDSCP(what string, q *fabric.QoS, reported map[int]int) {
	if len(q.DSCP) == 0 {
		q.DSCP = maps.Clone(reported)
		if len(reported) > 0 {
			m.givenBy[what] = m.tool
		}
		return
	}
	for _, dscp := range slices.Sorted(maps.Keys(reported)) {
		if have, ok := q.DSCP[dscp]; ok && have != reported[dscp] {
			m.disagree(what, fmt.Sprintf("DSCP %d: priority %d", dscp, have), fmt.Sprintf("DSCP %d: priority %d", dscp, reported[dscp]))
		}
	}
}

// keepSchedulers compares class by class what both say.
func (m *merger) keepSchedulers(what string, q *fabric.QoS, reported []fabric.Scheduler) {
	if len(q.Schedulers) == 0 {
		q.Schedulers = slices.Clone(reported)
		if len(reported) > 0 {
			m.givenBy[what] = m.tool
		}
		return
	}
	for class := range min(len(q.Schedulers), len(reported)) {
		have, r := q.Schedulers[class], reported[class]
		if have.Algorithm != "" && r.Algorithm != "" && have.Algorithm != r.Algorithm || have.Percent != nil && r.Percent != nil && have.Algorithm == "ets" && *have.Percent != *r.Percent {
			m.disagree(what, fmt.Sprintf("class %d: %s", class, schedulersText(q.Schedulers[class:class+1])), fmt.Sprintf("class %d: %s", class, schedulersText(reported[class:class+1])))
		}
	}
}

// mergeOptions adds stored options.
func (m *merger) mergeOptions(n *fabric.NIC, reported map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(reported)) {
		if n.Options == nil {
			n.Options = map[string]string{}
		}
		value := n.Options[name]
		keep(m, fabric.FactNICOptions+"."+name+" "+n.Name, &value, reported[name])
		n.Options[name] = value
	}
}
