package check

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchcheck"
)

// Checker takes the facts of one node after another and emits findings as they are reached. Of each node it keeps
// a Digest for the cluster rules. It is for one goroutine, but for Judge.
type Checker struct {
	plan    *planIndex
	rules   []Rule
	emit    func(fabric.Finding)
	waivers []waiverUse
	now     time.Time

	pods    *podPlan
	desks   sync.Pool // of *Judged whose verdicts are settled
	summary fabric.Summary
	digests []Digest
	byNode  map[string]int            // name to place in digests
	blamed  blames                    // on the node at hand
	carried blames                    // what cluster rules depend on, of all nodes
	lost    map[string]fabric.Missing // why there are no facts of some nodes
	needed  map[string]bool           // ids of the rules that cluster rules depend on
	readers readers                   // node rules by the facts that they read

	switches []*fabric.SwitchConfig
	rendered map[string]*fabric.SwitchConfig        // of the plan, by name
	esx      []*fabric.Facts                        // of ESX hosts
	ends     map[fabric.Endpoint]switchcheck.NICEnd // of the cables to switches; nil where no switch is part of the check
	qos      map[string]*fabric.QoS                 // by its text
}

// blame is why a rule does not pass on a subject: its own failure, or the failure that it depends on.
type blame struct {
	rule    string
	subject fabric.Subject
	waiver  *Waiver // that covers the failure
}

// Judged is what the node rules say of a node, before its place among the others is known.
type Judged struct {
	in       NodeInput
	digest   Digest
	verdicts [][]Verdict // of each rule
	out      []bool      // rules that do not apply
	room     []Verdict
	texts    texts
}

// mostVerdicts is for how many verdicts on a node there is room; for those of a larger node it is allocated.
const mostVerdicts = 2048

type verdictOf struct {
	rule    string
	subject fabric.Subject
}

type blames map[verdictOf]blame

// New starts a check. Without a cluster file plan is nil. emit receives each finding once, in the order of nodes
// and rules; now is the day against which waivers are read.
func New(plan *fabric.Plan, waivers []Waiver, now time.Time, emit func(fabric.Finding)) *Checker {
	c := &Checker{
		plan:    newPlanIndex(plan),
		rules:   Rules(),
		emit:    emit,
		now:     now,
		byNode:  map[string]int{},
		blamed:  blames{},
		carried: blames{},
		needed:  map[string]bool{},
		lost:    map[string]fabric.Missing{},
	}
	for _, w := range waivers {
		c.waivers = append(c.waivers, waiverUse{Waiver: w})
	}
	c.readers = readersOf(c.rules, func(r *Rule) bool { return r.Node != nil })
	c.pods = c.plan.pods()
	for _, r := range c.rules {
		if r.Cluster == nil {
			continue
		}
		for _, id := range r.DependsOn {
			c.needed[id] = true
		}
	}
	return c
}

// Judge holds the rules of nodes against the facts of one. Any number of goroutines may do so at once; what each returns is
// taken once, in the order of the nodes.
func (c *Checker) Judge(f *fabric.Facts) *Judged {
	j, ok := c.desks.Get().(*Judged)
	if !ok {
		j = &Judged{verdicts: make([][]Verdict, len(c.rules)), out: make([]bool, len(c.rules)), room: make([]Verdict, mostVerdicts), texts: texts{}}
	}
	in := newNodeInput(f, c.plan.node(f.Node))
	in.Pods = c.pods
	if plan := c.plan.intent(); plan != nil {
		in.Site = plan.VSphere
	}
	j.in, j.digest = in, digest(in, j.texts)
	here := scene{plan: c.plan.intent(), planned: in.Plan != nil, machine: in.Plan != nil && in.Plan.Machine != nil, nodes: []Digest{j.digest}}
	in.view.used = nil                       // a digest looks up more than the rules of this node need
	in.missing(fabric.FactMachineHypervisor) // of which the rules that depend on it are unknown
	in.view.reads = func(path string) bool { return c.readers.inScope(path, j.out) }
	in.view.verdicts = j.room
	for i := range c.rules {
		if r := &c.rules[i]; r.Node != nil {
			j.verdicts[i], j.out[i] = judgeNode(r, in, here)
		}
	}
	return j
}

// Take settles what was judged of a node, and emits it. Further facts of the same node do not count: facts-collected reports them.
func (c *Checker) Take(j *Judged) {
	f := j.in.Facts
	if i, ok := c.byNode[f.Node]; ok {
		c.digests[i].Repeats++
		return
	}
	if c.keepESX(f) {
		return
	}
	c.keepEnds(j.in)
	for i := range c.rules {
		for _, v := range j.verdicts[i] {
			c.settle(&c.rules[i], v, c.blamed)
		}
	}
	c.byNode[f.Node] = len(c.digests)
	c.digests = append(c.digests, j.digest)
	for k, b := range c.blamed {
		if c.needed[k.rule] {
			c.carried[k] = b
		}
	}
	clear(c.blamed) // subjects name their node: this frees memory, it does not change a verdict
	j.in = NodeInput{}
	c.desks.Put(j)
}

// Lost records why there are no facts of a node: m.What names it.
func (c *Checker) Lost(m fabric.Missing) { c.lost[m.What] = m }

// betweenChecks is the number of findings between two checks for cancellation.
const betweenChecks = 1024

// Finish runs the cluster rules, checks the waivers, and counts. The Checker cannot be used again. The error is
// that of ctx, which is checked between rules and findings.
func (c *Checker) Finish(ctx context.Context) (fabric.Summary, error) {
	lostESX := c.lostESX()
	onlyESX := len(c.esx)+len(lostESX) > 0 && !c.hosts() && len(c.switches) == 0
	aboveESX := len(c.esx)+len(lostESX) > 0 && len(c.digests) == 0 // of each node it is said that there are no facts: nothing is compared
	in := ClusterInput{Plan: c.plan.intent(), Nodes: c.digests, Lost: c.lost, index: c.plan}
	for i := range c.rules {
		r := &c.rules[i]
		if r.Cluster == nil || onlyESX || len(c.switches) > 0 && !c.hosts() {
			continue // a check of switches or ESX hosts alone says nothing of hosts
		}
		if aboveESX && r.ID != factsCollected().ID {
			continue
		}
		for n, v := range judgeCluster(r, in) {
			if n%betweenChecks == 0 && ctx.Err() != nil {
				return fabric.Summary{}, ctx.Err()
			}
			c.settle(r, v, c.carried)
		}
	}
	c.judgeESX(lostESX)
	c.judgeSwitches()
	for i := range c.waivers {
		if f, unused := c.waivers[i].unused(c.rules, c.now); unused {
			c.count(f)
		}
	}
	return c.summary, ctx.Err()
}

// judgeNode returns the verdicts of a rule on a node; out is true where the rule does not apply.
func judgeNode(r *Rule, in NodeInput, here scene) (verdicts []Verdict, out bool) {
	if v, ok := excluded(r.Scope, here); ok {
		return append(in.room(1), v), v.Status == fabric.NotApplicable
	}
	if out := r.Node(in); len(out) > 0 {
		if in.Facts.Hardware != "" && listed(r.Scope, withHardware().ID) {
			markHardware(out, in.Facts.Hardware)
		}
		return out, false
	}
	why := in.why("nothing to check on "+in.Facts.Node, fabric.FactNICs, fabric.FactHCAs, fabric.FactPCI)
	return append(in.room(1), unknown(fabric.NodeSubject(in.Facts.Node), why)), false
}

// markHardware marks each verdict as one about hardware that is not the node's own.
func markHardware(verdicts []Verdict, whose string) {
	for i := range verdicts {
		if v := &verdicts[i]; v.Status != fabric.NotApplicable {
			v.Evidence = append(slices.Clone(v.Evidence), saw("hardware under the lab host", whose))
		}
	}
}

func judgeCluster(r *Rule, in ClusterInput) []Verdict {
	everywhere := scene{plan: in.Plan, planned: in.Plan != nil, cluster: true, nodes: in.Nodes, lost: len(in.Lost)}
	if v, ok := excluded(r.Scope, everywhere); ok {
		return []Verdict{v}
	}
	if out := r.Cluster(in); len(out) > 0 {
		return out
	}
	why := "nothing to check: facts of " + strconv.Itoa(len(in.Nodes)) + " nodes"
	return []Verdict{unknown(fabric.ClusterSubject(), why)}
}

// settle turns a verdict into a finding: unknown because of the failure that it depends on, waived, or unchanged.
func (c *Checker) settle(r *Rule, v Verdict, marks blames) {
	if b, ok := maskedBy(r, v, marks); ok && v.Status != fabric.NotApplicable {
		marks[verdictOf{r.ID, v.Subject}] = b // what depends on this rule is silent behind the same failure
		why := "not evaluated while " + b.rule + " fails on " + b.subject.String()
		c.countUnder(b.waiver, r.finding(unknown(v.Subject, why)))
		return
	}
	f := r.finding(v)
	if v.Status != fabric.Fail {
		c.count(f)
		return
	}
	f.Cause = r.Cause
	if v.Cause != "" {
		f.Cause = v.Cause
	}
	w := c.waiver(r.ID, v.Subject)
	marks[verdictOf{r.ID, v.Subject}] = blame{r.ID, v.Subject, w}
	c.countUnder(w, f)
}

// countUnder counts a finding that a waiver may cover.
func (c *Checker) countUnder(w *Waiver, f fabric.Finding) {
	if w == nil {
		c.count(f)
		return
	}
	f.Why = "waived: " + w.Reason + "; " + f.Why
	f.Evidence = append(slices.Clone(f.Evidence), saw(waiverSource, w.text()))
	f.Waived = true
	c.summary.Waived++
	c.emit(f)
}

func (c *Checker) count(f fabric.Finding) {
	c.summary.Count(f.Status)
	c.emit(f)
}

// maskedBy finds the failure that keeps a rule from being evaluated on a subject.
func maskedBy(r *Rule, v Verdict, marks blames) (blame, bool) {
	if len(marks) == 0 {
		return blame{}, false
	}
	for _, id := range r.DependsOn {
		if b, ok := marks[verdictOf{id, v.Subject}]; ok {
			return b, true
		}
		for _, s := range v.On {
			if b, ok := marks[verdictOf{id, s}]; ok {
				return b, true
			}
		}
		if b, ok := marks[verdictOf{id, fabric.NodeSubject(v.Subject.Node)}]; ok {
			return b, true
		}
	}
	return blame{}, false
}

func (r *Rule) finding(v Verdict) fabric.Finding {
	return fabric.Finding{
		ID: r.ID, Title: r.Title, Severity: r.Severity, Reference: r.Reference,
		Status: v.Status, Subject: v.Subject, With: v.With, Evidence: v.Evidence,
		Expected: v.Expected, Why: v.Why, Cost: v.Cost, Fix: v.Fix,
	}
}
