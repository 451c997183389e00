package eos

import (
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

// table returns what a port does with packets that come in.
func (b *build) table(p *portSaid, sc *eosScope, trust *fabric.Said[string], pfc *fabric.Said[[]int], noDrop [8]*fabric.Said[bool]) *eosTables {
	k := tableKey{noDrop: noDrop, known: pfc != nil}
	if trust != nil {
		k.trust = trust.Is
	}
	if pfc != nil {
		k.pfc = pfc.At
	}
	if sc.cos != nil {
		k.cos = sc.cos.Is
	}
	if sc.policy != nil {
		k.policy = sc.policy.Is
	}
	if t := b.tables[k]; t != nil {
		return t
	}
	t := &eosTables{dscp: &[64]fabric.Treatment{}, pcp: &[8]fabric.Treatment{}}
	var of [8]fabric.Treatment // by traffic class
	for i := range of {
		of[i] = b.treatment(i, pfc, noDrop)
	}
	for d := range t.dscp {
		t.dscp[d] = treat(of, b.dscpTC[d])
	}
	for i := range t.pcp {
		t.pcp[i] = treat(of, b.cosTC[i])
		if k.trust == "none" { // as packets without a tag: those of the port's own CoS
			t.pcp[i] = treat(of, b.cosTC[k.cos])
		}
	}
	if b.rewrite != nil && b.rewrite.Is && k.trust != "dscp" { // packets of a port that trusts DSCP keep theirs
		for i, m := range b.tcDSCP {
			if m != nil {
				t.rewriteOf(strconv.Itoa(i), *m)
			}
		}
	}
	if sc.policy != nil {
		b.policyOn(p, sc, k, of, t)
	}
	b.tables[k] = t
	return t
}

func (t *eosTables) rewriteOf(class string, to fabric.Said[int]) {
	if t.rewrite == nil {
		t.rewrite = map[string]fabric.Said[int]{}
	}
	t.rewrite[class] = to
}

// treatment is what happens to packets of a traffic class; the pause for them has its number.
func (b *build) treatment(class int, pfc *fabric.Said[[]int], noDrop [8]*fabric.Said[bool]) fabric.Treatment {
	t := fabric.Treatment{Queue: b.queueOf[class]}
	if pfc == nil {
		return t
	}
	t.Pause = &fabric.Said[int]{Is: -1, At: pfc.At}
	if noDrop[class] != nil {
		t.Pause.At = noDrop[class].At
	}
	for _, p := range pfc.Is {
		if p == class {
			t.Pause.Is = p
		}
	}
	return t
}

func treat(of [8]fabric.Treatment, class *fabric.Said[int]) fabric.Treatment {
	if class == nil {
		return fabric.Treatment{}
	}
	t := of[class.Is]
	t.Class = &fabric.Said[string]{Is: strconv.Itoa(class.Is), At: class.At}
	return t
}

// policyOn lays a policy over the tables: its classes count in their order, before what the port trusts. What an access list
// takes is unknown, and with it all packets that no class before it took.
func (b *build) policyOn(p *portSaid, sc *eosScope, k tableKey, of [8]fabric.Treatment, t *eosTables) {
	pol := b.policies[sc.policy.Is]
	if pol == nil {
		b.tell(fabric.TextUndefined, p.name, sc.policy.At, "policy "+sc.policy.Is+" is defined nowhere in the text", "")
		*t.dscp, *t.pcp = [64]fabric.Treatment{}, [8]fabric.Treatment{}
		return
	}
	if k.trust != "dscp" { // the policy may look at DSCP all the same; what it leaves is as a packet without a tag
		base := treat(of, b.cosTC[k.cos])
		for d := range t.dscp {
			if k.trust == "" {
				base = fabric.Treatment{}
			}
			t.dscp[d] = base
		}
	}
	var doneD [64]bool
	var doneP [8]bool
	for _, c := range pol.classes {
		b.policyClass(c, of, t, &doneD, &doneP)
	}
}

func (b *build) policyClass(c *eosPolicyClass, of [8]fabric.Treatment, t *eosTables, doneD *[64]bool, doneP *[8]bool) {
	cm := b.classes[c.name]
	all := c.name == "class-default"
	if cm == nil && !all {
		b.tell(fabric.TextUndefined, "", c.at, "class "+c.name+" is defined nowhere in the text", "EOS refuses it.")
	}
	unknown := !all && (cm == nil || cm.other)
	t.byDSCP = t.byDSCP || unknown || cm != nil && len(cm.dscp) > 0
	act := func(old *fabric.Treatment) {
		if c.tc != nil {
			*old = treat(of, c.tc)
		}
		if c.dscp != nil && old.Class != nil {
			t.rewriteOf(old.Class.Is, *c.dscp)
		}
	}
	dark := unknown && (c.tc != nil || c.dscp != nil)
	each := func(table []fabric.Treatment, done []bool, matches func(int) bool) {
		for i := range table {
			switch {
			case done[i]:
			case all || matches(i):
				done[i] = true
				act(&table[i])
			case dark:
				done[i] = true
				table[i] = fabric.Treatment{}
			}
		}
	}
	each(t.dscp[:], doneD[:], func(d int) bool { return cm != nil && cm.dscp[d] })
	each(t.pcp[:], doneP[:], func(i int) bool { return cm != nil && cm.cos[i] })
}

// queueConfigs fills the egress queues of a port.
func (b *build) queueConfigs(p *portSaid, of, sc *eosScope, known bool, c *fabric.PortConfig) {
	if !p.configured {
		c.Queues = p.shown.queues
		return
	}
	if !known {
		for i := range c.Queues {
			c.Queues[i] = ownQueue(sc.queues[i])
		}
		return
	}
	if p.shown.queues != [8]*fabric.QueueConfig{} {
		c.Queues = b.queuesOf(p, sc)
		shownQueues(c.Queues[:], p.shown.queues[:])
		return
	}
	if of == nil && sc.queues == [8]*queueSaid{} {
		of = &b.none
	}
	if have := b.queues[of]; of != nil && have != nil {
		c.Queues = *have
		return
	}
	c.Queues = b.queuesOf(p, sc)
	if of != nil {
		b.queues[of] = &c.Queues
	}
}

// shownQueues fills in what a show command printed where the configuration leaves a queue to EOS: its default may be another on
// this platform, or a line of the configuration may be missing.
func shownQueues(queues, shown []*fabric.QueueConfig) {
	for i, s := range shown {
		q := queues[i]
		if s == nil {
			continue
		}
		if s.Algorithm != nil && q.Algorithm.At.Number == 0 {
			q.Algorithm = s.Algorithm
		}
		if s.Marks != nil && q.Marks.ECN.At.Number == 0 {
			q.Marks = s.Marks
		}
		first(&q.Weight, s.Weight)
	}
}

// ownQueue is a queue of which the port itself says something, and the rest is unknown.
func ownQueue(q *queueSaid) *fabric.QueueConfig {
	if q == nil {
		return nil
	}
	c := &fabric.QueueConfig{Weight: q.percent, Marks: q.ecn}
	first(&c.Marks, q.drop)
	if q.strict != nil {
		c.Algorithm = algorithm(q.strict)
	}
	return c
}

func algorithm(strict *fabric.Said[bool]) *fabric.Said[string] {
	if strict.Is {
		return &fabric.Said[string]{Is: "strict", At: strict.At}
	}
	return &fabric.Said[string]{Is: "weighted", At: strict.At}
}

// queuesOf: a queue is strict unless it, or one above it, has `no priority` (User Manual, Quality of Service, priority: queues
// below a round robin queue are round robin too, whatever they are configured to be).
func (b *build) queuesOf(p *portSaid, sc *eosScope) (out [8]*fabric.QueueConfig) {
	var robin *fabric.Said[bool] // lowest one so far, from above
	sum := 0
	for i := 7; i >= 0; i-- {
		q := sc.queues[i]
		if q == nil {
			q = &queueSaid{}
		}
		c := ownQueue(q)
		if q.strict != nil && !q.strict.Is {
			robin = q.strict
		}
		if robin != nil {
			c.Algorithm = algorithm(robin)
			if q.strict != nil && q.strict.Is {
				b.tell(fabric.TextInert, p.name, q.strict.At, "queue "+strconv.Itoa(i)+" is strict below a queue that is not", "EOS serves it round robin with the queues above it.")
			}
		}
		first(&c.Algorithm, &fabric.Said[string]{Is: "strict", At: says(eosStrict)})
		first(&c.Marks, &fabric.QueueProfile{ECN: fabric.Said[bool]{At: says(noECN)}})
		if q.percent != nil {
			if sum += q.percent.Is; sum > 100 {
				b.tell(fabric.TextRange, p.name, q.percent.At, "shares of queues of "+sc.name+" add to more than 100 percent", "EOS refuses the last one.")
				sum = -1000
			}
		}
		out[i] = c
	}
	return out
}
