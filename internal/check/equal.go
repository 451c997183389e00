package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// member is a node, or a port or NIC of a node, that should be equal to others of its kind.
type member struct {
	subject fabric.Subject
	nic     string // interface of a port
	kind    string // members of different kinds are not compared
	trait
}

func (m member) on() []fabric.Subject { return interfaceOf(m.subject.Node, m.nic) }

// equality is what a cluster rule compares.
type equality struct {
	what    string // in the singular: "firmware"
	of      string // of what, in the plural: "ports"
	source  string // of the evidence
	cost    string
	members []member
	fix     func(s fabric.Subject, want string) string
}

// group counts the values of the members of one kind.
type group struct {
	kind   string
	counts map[string]int
	total  int
	common string // the most frequent value
	tied   bool   // equally frequent values: which is right is unknown
}

// judge fails the minority of each kind; a tie is one verdict. Where all are equal the cluster has one verdict.
func (q equality) judge() []Verdict {
	groups, order := q.groups()
	compared := 0
	for _, g := range groups {
		if g.total > 1 {
			compared += g.total
		}
	}
	var out []Verdict
	for _, m := range q.members {
		g := groups[m.kind]
		switch {
		case m.why != "":
			out = append(out, Verdict{Subject: m.subject, On: m.on(), Why: m.subject.String() + ": " + m.why})
		case m.value != g.common && !g.tied:
			out = append(out, q.odd(m, g))
		}
	}
	for _, kind := range order {
		if g := groups[kind]; g.tied {
			out = append(out, q.tie(g))
		}
	}
	switch {
	case len(out) > 0:
		return out
	case compared == 0:
		return []Verdict{unknown(fabric.ClusterSubject(), "nothing to compare: "+q.what+" of "+strconv.Itoa(len(q.members))+" "+q.of+" requested")}
	}
	v := pass("one "+q.what, saw(q.source, q.summary(groups, order)))
	v.Subject = fabric.ClusterSubject()
	return []Verdict{v}
}

func (q equality) groups() (groups map[string]*group, order []string) {
	groups = map[string]*group{}
	for _, m := range q.members {
		g := groups[m.kind]
		if g == nil {
			g = &group{kind: m.kind, counts: map[string]int{}}
			groups[m.kind] = g
			order = append(order, m.kind)
		}
		if m.why == "" {
			g.counts[m.value]++
			g.total++
		}
	}
	for _, g := range groups {
		for value, n := range g.counts {
			best := g.counts[g.common]
			switch {
			case n > best:
				g.common, g.tied = value, false
			case n == best && value != g.common:
				g.tied = true
			}
		}
	}
	return groups, order
}

// odd returns the verdict of a member whose value is not the common one.
func (q equality) odd(m member, g *group) Verdict {
	return Verdict{
		Status: fabric.Fail, Subject: m.subject, On: m.on(), Cost: q.cost,
		Expected: inLine(g.common) + ", as most",
		Evidence: []fabric.Evidence{saw(q.source, inLine(m.value))},
		Why: fmt.Sprintf("%s has %s %s, %d of %d %s%s have %s.", m.subject, q.what, inLine(m.value), g.counts[g.common], g.total, q.of,
			ofKind(g.kind), inLine(g.common)),
		Fix: q.fix(m.subject, g.common),
	}
}

// tie returns the verdict of a kind without a most frequent value.
func (q equality) tie(g *group) Verdict {
	v := Verdict{
		Status: fabric.Fail, Subject: fabric.ClusterSubject(), Expected: "one " + q.what + ofKind(g.kind), Cost: q.cost,
		Fix: "decide which is right; then " + q.fix(fabric.Subject{Node: "the others"}, "the right one"),
	}
	for _, m := range q.members { // none of them is checked while a rule that it depends on fails
		if m.kind == g.kind {
			v.On = append(v.On, m.subject)
		}
	}
	values := slices.Sorted(maps.Keys(g.counts))
	named := values[:min(len(values), mostNamed)]
	counted := make([]string, len(named))
	for i, value := range named {
		v.Evidence = append(v.Evidence, saw(q.source, inLine(value)+" on "+q.holders(g, value)))
		counted[i] = strconv.Itoa(g.counts[value]) + " have " + inLine(value)
	}
	v.Why = "The " + q.of + ofKind(g.kind) + " have different " + q.what + ": " + andMore(counted, len(values)) + "; none is the most common, so the right one is unknown."
	return v
}

// holders names the first members with a value.
func (q equality) holders(g *group, value string) string {
	names := make([]string, 0, mostNamed)
	for _, m := range q.members {
		if len(names) == mostNamed {
			break
		}
		if m.kind == g.kind && m.why == "" && m.value == value {
			names = append(names, m.subject.String())
		}
	}
	return andMore(names, g.counts[value])
}

func (q equality) summary(groups map[string]*group, order []string) string {
	words := make([]string, 0, len(order))
	for _, kind := range order {
		if g := groups[kind]; g.total > 0 {
			words = append(words, strconv.Itoa(g.total)+" "+q.of+ofKind(kind)+": "+inLine(g.common))
		}
	}
	return strings.Join(words, "; ")
}

func ofKind(kind string) string {
	if kind == "" {
		return ""
	}
	return " of kind " + kind
}

func inLine(value string) string { return strings.ReplaceAll(value, "\n", ", ") }

// nodeMembers returns a trait of every node that was checked. Machines of different kinds are compared only
// where byMachine is false.
func (in ClusterInput) nodeMembers(byMachine bool, of func(*Digest) trait) []member {
	out := make([]member, 0, len(in.Nodes))
	in.eachNode(func(d *Digest) {
		m := member{subject: fabric.NodeSubject(d.Node), trait: of(d)}
		if byMachine {
			m.kind = d.Machine
		}
		out = append(out, m)
	})
	return out
}

// eachNode visits every machine that was checked; lab hosts are not machines.
func (in ClusterInput) eachNode(visit func(*Digest)) {
	for i := range in.Nodes {
		if !in.Nodes[i].Nominal && !in.Nodes[i].Lab {
			visit(&in.Nodes[i])
		}
	}
}

// portMembers returns a trait of every RDMA port of the fabric.
func (in ClusterInput) portMembers(of func(*PortDigest) (kind string, t trait, ok bool)) []member {
	ports := 0
	in.eachNode(func(d *Digest) { ports += len(d.Ports) })
	out := make([]member, 0, ports)
	in.eachNode(func(d *Digest) {
		for i := range d.Ports {
			p := &d.Ports[i]
			kind, t, ok := of(p)
			if !ok {
				continue
			}
			out = append(out, member{subject: portSubject(d.Node, p.Name), nic: p.NIC, kind: kind, trait: t})
		}
	})
	return out
}
