package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"railwright.dev/railwright/internal/fabric"
)

// Request says which pods get their claims.
type Request struct {
	Pods       int    // 0: as many as the objects say, else one of each template
	Template   string // ResourceClaimTemplate of the pods; empty: as the objects say
	PluginGPUs int    // GPUs that a device plugin gives each pod beside its claims; 0: as its containers say
	Kubernetes string // version of the cluster: 1.34; empty: the newest that is known

	// NodeGPUs are the GPUs of a node among which a device plugin chooses; nil or none: those of its slices.
	NodeGPUs func(node string) []Place
	// NICGbps is the rate of a NIC in Gb/s, 0 where it is unknown; nil: none is known.
	NICGbps func(node string, nic fabric.AllocatedDevice) float64

	Budget time.Duration // of one attempt to allocate a pod's claims on a node; 0: 5 s
	Total  time.Duration // of all attempts; 0: 60 s
}

// The budgets where none are given. kube-scheduler gives one attempt 10 s (DynamicResourcesArgs.filterTimeout).
const (
	defaultBudget = 5 * time.Second
	defaultTotal  = time.Minute
	mostPods      = 200_000                // more than Kubernetes supports in one cluster (150,000)
	shortBudget   = 100 * time.Millisecond // before the conditions that every allocation meets are looked at
)

// Allocate places pods one after another, each on the first node, in natural order of names, on which the scheduler's
// allocator finds devices for all of its claims. kube-scheduler filters the same way and then takes one of the nodes
// that fit by their scores, of which DRA is no part by default: on which node a pod comes may differ, what it gets on
// a node with nothing in use does not.
//
// The error is for a request that cannot be worked on; claims that cannot be met are in the result.
func Allocate(ctx context.Context, o *Objects, req Request) (*fabric.Allocation, error) {
	minor, err := minorOf(req.Kubernetes)
	if err != nil {
		return nil, err
	}
	if req.Pods < 0 || req.PluginGPUs < 0 || req.Budget < 0 || req.Total < 0 {
		return nil, errors.New("the number of pods, of their GPUs, and the budgets are not below 0")
	}
	if n := max(o.replicas(), req.Pods); n > mostPods {
		return nil, fmt.Errorf("%d pods: at most %d are placed", n, mostPods)
	}
	o = o.withGroupClaims()
	pods, notes, err := o.podsOf(req)
	if err != nil {
		return nil, err
	}
	gates, more := choose(o, minor)
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(req.Total, defaultTotal))
	defer cancel()
	r := newRun(ctx, o, req, newScheduler(o, gates))
	r.result.Notes = slices.Concat(notes, more, o.extendedNotes())
	r.overlaps()
	if len(pods) == 0 {
		r.existing()
	}
	for i := range pods {
		r.place(&pods[i])
	}
	if len(o.workloads) == 0 && req.Pods == 0 {
		r.alone(pods, gates)
	}
	r.judge()
	return r.result, nil
}

// alone marks what only pods that nobody asked for take from each other: templates of one file are often alternatives,
// so that a pod of one of them which has no devices beside the others, but has them alone, is undecided.
func (r *run) alone(pods []pod, gates gates) {
	if len(pods) < 2 {
		return
	}
	at := map[string]*pod{}
	for i := range pods {
		at[pods[i].name] = &pods[i]
	}
	for i := range r.result.Unsatisfied {
		u := &r.result.Unsatisfied[i]
		p := at[u.Pod]
		if u.Unsure || p == nil || r.ctx.Err() != nil {
			continue
		}
		single := newRun(r.ctx, r.objects, r.req, newScheduler(r.objects, gates))
		if single.place(p); len(single.result.Unsatisfied) == 0 {
			u.Unsure = true
			u.Reason += "; alone it gets its devices: that all these pods run at one time was not said"
		}
	}
}

// run is an allocation under way.
type run struct {
	ctx       context.Context
	objects   *Objects
	req       Request
	scheduler *scheduler
	nodes     []*corev1.Node
	result    *fabric.Allocation
	next      map[string]int    // by key of pods: the first node that may still have room for one
	late      map[string]bool   // by key: a node was not decided
	failed    map[string]miss   // by key: why no node is left
	settled   map[string]string // node of a claim that several pods share, by namespace and name
	plugin    map[string]int    // GPUs that the device plugin has given, by node
	gpus      map[string][][]string
	ranges    map[string]fabric.CountRange // of choices of a device plugin, by what is chosen from
	unknown   map[string]int               // notes that are counted, each beginning with its noun
	several   map[string]bool              // by slice and device: more than one node reaches it
	looked    map[string]bool              // by key: nodes behind the first that fits were looked at
	abort     string                       // an error on one node for which the scheduler gives pods up
	doubtful  bool                         // what is allocated does not fit what was read
}

// miss is why pods of one key have no node.
type miss struct {
	reason, works string
	steps         []string
	unsure        bool
}

func newRun(ctx context.Context, o *Objects, req Request, s *scheduler) *run {
	counts := o.Counts()
	nodes := nodeList(o)
	return &run{
		ctx: ctx, objects: o, req: req, scheduler: s, nodes: nodes,
		result: &fabric.Allocation{
			Meta:     fabric.NewMeta("Allocation"),
			Slices:   fabric.SliceCount{Nodes: len(nodes), Slices: counts.Slices, Devices: counts.Devices},
			Problems: o.Problems(),
			Claims:   []fabric.AllocatedClaim{}, Pods: []fabric.PodAlignment{}, NICGBs: []fabric.RateRange{}, Unsatisfied: []fabric.Unsatisfied{},
		},
		next: map[string]int{}, late: map[string]bool{}, failed: map[string]miss{}, settled: map[string]string{},
		plugin: map[string]int{}, gpus: map[string][][]string{}, ranges: map[string]fabric.CountRange{}, unknown: map[string]int{}, looked: map[string]bool{},
		several: map[string]bool{},
	}
}

// place finds a node for a pod.
func (r *run) place(p *pod) {
	claims, only, why := r.needed(p)
	if why != "" {
		r.miss(p, miss{reason: why, unsure: true})
		return
	}
	if m, known := r.failed[p.key]; known && only == "" {
		m.steps = nil // said once, of the first
		r.miss(p, m)
		return
	}
	if class := r.missingClass(claims); class != "" {
		r.fail(p, only, miss{reason: "its DeviceClass " + class + " was not given, or not understood: which devices it selects is unknown", unsure: true})
		return
	}
	begin := r.next[p.key]
	if only != "" {
		begin = 0
	}
	for i := begin; i < len(r.nodes); i++ {
		node := r.nodes[i]
		if only != "" && node.Name != only {
			continue
		}
		if !r.room(node.Name, p.plugin) {
			r.pass(p, only, i)
			continue
		}
		out := r.attempt(node, claims)
		r.mayAbort(node, out)
		switch {
		case out.err != nil:
			r.fail(p, only, r.gaveUp(node, claims, out.err))
			return
		case out.late:
			r.late[p.key] = true
		case out.results != nil || len(claims) == 0:
			r.lookOn(p, claims, i+1)
			r.commit(p, node.Name, claims, out.results)
			return
		}
		r.pass(p, only, i)
	}
	r.fail(p, only, r.explain(p, claims, only))
}

// lookOn tries the nodes behind the one that the first pod of its key gets. kube-scheduler looks at them as well, and
// an error on any of them, such as an attribute that a device there does not have, makes it give the pod up.
func (r *run) lookOn(p *pod, claims []*resourceapi.ResourceClaim, from int) {
	if r.looked[p.key] || len(claims) == 0 {
		return
	}
	r.looked[p.key] = true
	ctx, cancel := context.WithTimeout(r.ctx, explainBudget)
	defer cancel()
	for _, node := range r.nodes[from:] {
		if ctx.Err() != nil || r.abort != "" {
			return
		}
		r.mayAbort(node, r.scheduler.recall(ctx, node, claims, shortBudget))
	}
}

// mayAbort keeps the first error for which kube-scheduler gives a pod up although another node may have devices.
func (r *run) mayAbort(node *corev1.Node, out outcome) {
	text := out.aborted
	if out.err != nil {
		text = out.err.Error()
	}
	if text != "" && r.abort == "" {
		r.abort = fmt.Sprintf("on node %s: %s: kube-scheduler gives a pod up for such an error if it looks at the node, whatever other nodes have", node.Name, text)
	}
}

// missingClass is a class that claims name and that is unknown, empty where all are. A request that has alternatives
// needs all of their classes.
func (r *run) missingClass(claims []*resourceapi.ResourceClaim) string {
	for _, c := range claims {
		for i := range c.Spec.Devices.Requests {
			for _, a := range alternatives(&c.Spec.Devices.Requests[i]) {
				if _, err := r.scheduler.classes.Get(a.class); err != nil {
					return a.class
				}
			}
		}
	}
	return ""
}

// pass remembers that a node has no room for pods like this one. It never will: placed pods only take devices.
func (r *run) pass(p *pod, only string, node int) {
	if only == "" && r.next[p.key] == node {
		r.next[p.key] = node + 1
	}
}

func (r *run) fail(p *pod, only string, m miss) {
	if only == "" {
		r.failed[p.key] = m
	}
	r.miss(p, m)
}

func (r *run) miss(p *pod, m miss) {
	name := ""
	for _, c := range p.claims {
		if c.claim != nil {
			name = c.claim.Name
			break
		}
	}
	r.result.Unsatisfied = append(r.result.Unsatisfied, fabric.Unsatisfied{Name: name, Pod: p.name, Unsure: m.unsure, Reason: m.reason, Steps: m.steps, Works: m.works})
}

// needed are the claims of a pod that are to be allocated, and the node that those which have devices bind it to.
func (r *run) needed(p *pod) (claims []*resourceapi.ResourceClaim, only, why string) {
	only = p.node
	for _, c := range p.claims {
		if c.claim == nil {
			return nil, "", c.why
		}
		node := r.settled[inNamespace(c.claim.Namespace, c.claim.Name)]
		if c.fresh {
			node = ""
		} else if node == "" && c.claim.Status.Allocation != nil {
			node = r.nodeOf(c.claim.Status.Allocation)
		}
		switch {
		case node == "" && (c.fresh || c.claim.Status.Allocation == nil):
			claims = append(claims, c.claim)
		case only != "" && node != "" && node != only:
			return nil, "", fmt.Sprintf("its claim %s has devices of node %s, and the pod is bound to %s", c.claim.Name, node, only)
		case node != "":
			only = node
		}
	}
	return claims, only, ""
}

// nodesOf are the nodes whose slices have devices of an allocation.
func (r *run) nodesOf(a *resourceapi.AllocationResult) map[string]bool {
	nodes := map[string]bool{}
	for _, res := range a.Devices.Results {
		one := resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{res}}}
		if node := r.nodeOf(&one); node != "" {
			nodes[node] = true
		}
	}
	return nodes
}

// nodeOf is the node whose slices an allocation names, empty where several reach them.
func (r *run) nodeOf(a *resourceapi.AllocationResult) string {
	for _, res := range a.Devices.Results {
		for _, s := range r.scheduler.index.pools[poolName{res.Driver, res.Pool}] {
			if s.Spec.NodeName != nil && hasDevice(s, res.Device) {
				return *s.Spec.NodeName
			}
		}
	}
	return ""
}

func hasDevice(s *resourceapi.ResourceSlice, name string) bool {
	for i := range s.Spec.Devices {
		if s.Spec.Devices[i].Name == name {
			return true
		}
	}
	return false
}

// attempt allocates on one node: first shortly, then, if no condition that every allocation meets is broken, for as
// long as the budget allows.
func (r *run) attempt(node *corev1.Node, claims []*resourceapi.ResourceClaim) outcome {
	if len(claims) == 0 {
		return outcome{}
	}
	budget := cmp.Or(r.req.Budget, defaultBudget)
	out := r.scheduler.recall(r.ctx, node, claims, min(budget, shortBudget))
	if !out.late || r.ctx.Err() != nil {
		return out
	}
	if r.impossible(node, claims) {
		return outcome{}
	}
	if budget <= shortBudget {
		return out
	}
	return r.scheduler.try(r.ctx, node, claims, budget)
}

// gaveUp says why the allocator gave a pod up, and which attribute it is that a device does not have.
func (r *run) gaveUp(node *corev1.Node, claims []*resourceapi.ResourceClaim, err error) miss {
	m := miss{reason: err.Error()}
	_, m.steps = r.conditions(node, claims)
	_, key, found := strings.Cut(m.reason, "CEL runtime error: no such key: ")
	if !found {
		return m
	}
	name := key
	for _, c := range claims {
		for i := range c.Spec.Devices.Requests {
			for _, a := range alternatives(&c.Spec.Devices.Requests[i]) {
				class, _ := r.scheduler.classes.Get(a.class)
				if class != nil {
					name = attributeWithID(class.Spec.Selectors, key, name)
				}
				name = attributeWithID(a.selectors, key, name)
			}
		}
	}
	m.reason += fmt.Sprintf(": the attribute %s does not exist on a device of node %s that the expression is evaluated on, and the scheduler then gives the pod up, whatever other nodes have", name, node.Name)
	m.works = "an attribute that the driver publishes, or has(...) before this one"
	return m
}

// attributeWithID is the attribute of this id that expressions name, or what was found before.
func attributeWithID(selectors []resourceapi.DeviceSelector, id, before string) string {
	for _, s := range selectors {
		for _, name := range referenced(s.CEL.Expression) {
			if strings.HasSuffix(name, "/"+id) {
				return name
			}
		}
	}
	return before
}
