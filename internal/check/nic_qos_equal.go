package check

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/nic"
)

func nicQoSEqual() Rule {
	return Rule{
		ID:    "nic-qos-equal",
		Title: "All NICs of one kind do the same with traffic classes",
		Doc: "compares trust, priorities of DSCP values, PFC, queues, schedulers, markings, DCQCN and pause of all NICs of the fabric that have the same driver and speed, on all hosts: " +
			"where two ends of a flow differ, one drops or pauses what the other does not. A part that no NIC reports is left out, but for trust and PFC",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "mori, QoS identical on all NICs; Broadcom RoCE guide 2.5: the settings of NICs and switches match",
		Facts:     []string{fabric.FactNICQoS},
		Scope:     []Condition{onRoCE(), withOwnHardware(), withRDMA(), onHost()},
		DependsOn: []string{"nic-dcbx", "nic-classes", "nic-pfc", "nic-queues", "nic-marking", "nic-ecn", "nic-pause"},
		Cluster:   judgeNICQoSEqual,
	}
}

// qosText is what a NIC does with traffic classes, a part a line, "name: value"; a part that was not read is absent.
func qosText(q *fabric.QoS) string { return string(appendQoS(nil, q)) }

// appendQoS appends that text to nothing. Most NICs of a cluster have the same, which is kept once.
func appendQoS(b []byte, q *fabric.QoS) []byte {
	if q == nil {
		return b
	}
	name := func(b []byte, of string) []byte {
		if len(b) > 0 {
			b = append(b, '\n')
		}
		return append(append(b, of...), ": "...)
	}
	if q.Trust != "" {
		b = append(name(b, "trust"), q.Trust...)
	}
	if len(q.DSCP) > 0 {
		b = appendDSCP(name(b, "priorities of DSCP values"), q.DSCP)
	}
	if q.PFC != nil {
		b = appendPriorities(name(b, "PFC"), *q.PFC)
	}
	if len(q.Queues) > 0 {
		b = appendNumbers(name(b, "queues"), q.Queues, " ")
	}
	if len(q.Schedulers) > 0 {
		b = appendSchedulers(name(b, "schedulers"), q.Schedulers)
	}
	if q.RoCE != nil {
		b = append(name(b, "marking of RoCE"), markWords(q.RoCE)...)
	}
	if q.CNP != nil {
		b = append(name(b, "marking of CNPs"), markWords(q.CNP)...)
	}
	if q.ECN != nil {
		b = appendPriorities(name(b, "DCQCN"), *q.ECN)
	}
	if q.DCBX != "" {
		b = append(name(b, "DCBX"), q.DCBX...)
	}
	if q.Pause != nil {
		b = strconv.AppendBool(name(b, "global pause"), *q.Pause)
	}
	return b
}

func appendDSCP(b []byte, priorities map[int]int) []byte {
	for i, dscp := range slices.Sorted(maps.Keys(priorities)) {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(strconv.AppendInt(b, int64(dscp), 10), ':')
		b = strconv.AppendInt(b, int64(priorities[dscp]), 10)
	}
	return b
}

func appendSchedulers(b []byte, list []fabric.Scheduler) []byte {
	for i, s := range list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, orWord(s.Algorithm, "-")...)
		if s.Percent != nil && s.Algorithm == "ets" {
			b = strconv.AppendInt(append(b, ' '), int64(*s.Percent), 10)
		}
	}
	return b
}

func appendNumbers(b []byte, list []int, between string) []byte {
	for i, n := range list {
		if i > 0 {
			b = append(b, between...)
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return b
}

// digestQoS is that text, or why there is none. NICs are compared with those of the same driver and speed.
func (in NodeInput) digestQoS(n *fabric.NIC, t texts) (kind string, q trait) {
	kind = n.Driver
	if n.SpeedMbps != nil {
		kind += " " + strconv.Itoa(*n.SpeedMbps) + " Mb/s"
	}
	in.missing(fabric.FactNICQoS, fabric.FactNICQoS+" "+n.Name)
	if text := appendQoS(make([]byte, 0, 512), n.QoS); len(text) > 0 {
		return t.keep(kind), trait{value: t.keepBytes(text)}
	}
	why := in.why("what it does with traffic classes was not read: `"+nic.ShowQoS(*n)+"` tells it", fabric.FactNICQoS+" "+n.Name, fabric.FactNICQoS)
	return t.keep(kind), t.trait("", why)
}

func judgeNICQoSEqual(in ClusterInput) []Verdict {
	q := equality{
		what: "traffic class settings", of: "NICs", source: "tools of the NICs", cost: "drops and pauses between those that differ: " + lossCost,
		fix: func(s fabric.Subject, want string) string {
			return onNode("set it as on the others: "+want, s.Node)
		},
	}
	nics, read, why := 0, 0, ""
	seen := map[string]map[string]bool{} // texts of each kind
	in.eachFabricNIC(func(_ fabric.Subject, n *NICDigest) {
		nics++
		if n.QoS.value == "" {
			why = n.QoS.why
			return
		}
		read++
		if seen[n.Kind] == nil {
			seen[n.Kind] = map[string]bool{}
		}
		seen[n.Kind][n.QoS.value] = true
	})
	switch {
	case nics == 1:
		return []Verdict{{Status: fabric.NotApplicable, Subject: fabric.ClusterSubject(), Why: "one NIC alone: nothing to compare it with"}}
	case read == 0 && nics > 0:
		return []Verdict{unknown(fabric.ClusterSubject(), "of none of "+fabric.Count(nics, "NIC")+" "+why)}
	}
	q.members = make([]member, 0, nics)
	parts := map[string][]string{} // of the kinds in which NICs differ, or were not read
	for kind, texts := range seen {
		names, partial := partsOf(texts)
		if len(texts) > 1 || partial {
			parts[kind] = names
		}
	}
	in.eachFabricNIC(func(s fabric.Subject, n *NICDigest) {
		q.members = append(q.members, qosMembers(s, n, parts[n.Kind])...)
	})
	return q.judge()
}

// eachFabricNIC visits the Ethernet NICs of the fabric.
func (in ClusterInput) eachFabricNIC(visit func(fabric.Subject, *NICDigest)) {
	in.eachNode(func(d *Digest) {
		for i := range d.NICs {
			if n := &d.NICs[i]; n.Fabric && !n.OverIB {
				visit(fabric.NICSubject(d.Node, n.Name), n)
			}
		}
	})
}

// partsOf names the parts that some text of a kind has, and those without which nothing is known of how packets are treated.
// partial is true where a text lacks one of these.
func partsOf(texts map[string]bool) (list []string, partial bool) {
	needed := []string{"trust", "PFC"}
	names := map[string]bool{}
	for text := range texts {
		for _, name := range needed {
			names[name] = true
			partial = partial || !strings.Contains("\n"+text, "\n"+name+": ")
		}
		for line := range strings.SplitSeq(text, "\n") {
			name, _, _ := strings.Cut(line, ": ")
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), partial
}

// qosMembers is a NIC as a whole where all of its kind are equal; else its parts, so that only the one that differs is told.
// A part that this NIC does not report is unknown.
func qosMembers(s fabric.Subject, n *NICDigest, parts []string) []member {
	if n.QoS.value == "" || len(parts) == 0 {
		return []member{{subject: s, nic: n.Name, kind: n.Kind, trait: n.QoS}}
	}
	have := map[string]string{}
	for line := range strings.SplitSeq(n.QoS.value, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		have[name] = value
	}
	var out []member
	for _, name := range parts {
		m := member{subject: s, nic: n.Name, kind: n.Kind + ": " + name, trait: trait{value: have[name]}}
		if _, ok := have[name]; !ok {
			m.trait = trait{why: name + " was not read"}
		}
		out = append(out, m)
	}
	return out
}
