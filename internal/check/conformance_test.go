package check

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestCases(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			w := newWorld()
			c.change(w)
			findings, _ := run(w.plan, nil, w.nodes...)
			i := slices.IndexFunc(findings, func(f fabric.Finding) bool { return f.ID == c.rule && f.Subject.String() == c.subject })
			if i < 0 {
				t.Fatalf("no finding on %s", c.subject)
			}
			f := findings[i]
			if f.Status != c.want {
				t.Fatalf("%s on %s, want %s: %+v", f.Status, c.subject, c.want, f)
			}
			if said := f.Why + " " + f.Cost; !strings.Contains(said, c.says) {
				t.Errorf("says %q, want %q in it", said, c.says)
			}
			checkWhole(t, f)
		})
	}
}

// checkWhole requires everything that a finding of its status must have.
func checkWhole(t *testing.T, f fabric.Finding) {
	t.Helper()
	switch f.Status {
	case fabric.Pass:
		if len(f.Evidence) == 0 || f.Expected == "" {
			t.Errorf("passes without evidence or expectation: %+v", f)
		}
	case fabric.Fail:
		if len(f.Evidence) == 0 || f.Expected == "" || f.Why == "" || f.Fix == "" || f.Cause == "" {
			t.Errorf("fails without evidence, expectation, reason, fix or cause: %+v", f)
		}
	default:
		if f.Why == "" {
			t.Errorf("%s without a reason: %+v", f.Status, f)
		}
	}
	if f.Status != fabric.Fail && f.Cause != "" {
		t.Errorf("%s with cause %s", f.Status, f.Cause)
	}
}

// TestRules checks the form of every rule, and requires a case for each verdict that its declaration allows.
func TestRules(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	var earlier []string
	cluster := false
	for _, r := range Rules() {
		if !name.MatchString(r.ID) || slices.Contains(earlier, r.ID) || r.ID == waiverRule {
			t.Errorf("%q: id is not in kebab case, or not unique", r.ID)
		}
		if r.Title == "" || r.Doc == "" || r.Reference == "" || strings.Contains(r.Doc, "\n") {
			t.Errorf("%s: wants a title, a line of doc and a reference", r.ID)
		}
		kinds := 0
		for _, is := range []bool{r.Node != nil, r.Cluster != nil, r.switches != nil, r.esx != nil} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%s: wants exactly one of Node, Cluster, switches and esx", r.ID)
		}
		if cluster && r.Node != nil {
			t.Errorf("%s: a node rule after cluster rules", r.ID)
		}
		cluster = cluster || r.Cluster != nil
		for _, d := range r.DependsOn {
			if !slices.Contains(earlier, d) {
				t.Errorf("%s: depends on %s, which does not stand before it", r.ID, d)
			}
		}
		if r.Cause != "" && !slices.Contains(knownCauses(), r.Cause) {
			t.Errorf("%s: cause %s is unknown", r.ID, r.Cause)
		}
		if r.Severity.String() == "" {
			t.Errorf("%s: no severity", r.ID)
		}
		earlier = append(earlier, r.ID)
		for _, s := range owed(r) {
			if !slices.ContainsFunc(cases(), func(c oneCase) bool { return c.rule == r.ID && c.want == s }) {
				t.Errorf("%s: no case in which it is %s", r.ID, s)
			}
		}
	}
}

// owed returns the verdicts that a rule's declaration allows: without a cause it never fails, without a scope it
// always applies.
func owed(r Rule) []fabric.Status {
	if r.switches != nil || r.esx != nil {
		return nil // packages switchcheck and esxcheck have their cases
	}
	out := []fabric.Status{fabric.Pass, fabric.Unknown}
	if r.Cause != "" {
		out = append(out, fabric.Fail)
	}
	if len(r.Scope) > 0 {
		out = append(out, fabric.NotApplicable)
	}
	return out
}

func knownCauses() []fabric.CauseID {
	return []fabric.CauseID{
		fabric.CauseACSRedirect, fabric.CauseAddressConflict, fabric.CauseAddressMissing, fabric.CauseARPFlux, fabric.CauseATSDisabled,
		fabric.CauseCPUAffinity, fabric.CauseDeviceFault, fabric.CauseDriverABI, fabric.CauseDriverConflict, fabric.CauseFabricManager, fabric.CauseFirewall, fabric.CauseFirmwareDCBX,
		fabric.CauseGDRDisabled, fabric.CauseGIDIndex, fabric.CauseGPUDriver, fabric.CauseGPUNICMisaligned, fabric.CauseGPUThrottled, fabric.CauseIOMMUTranslated,
		fabric.CauseLinkDown, fabric.CauseMemlock, fabric.CauseMiscabled, fabric.CauseMTUMismatch, fabric.CauseNeighbourOverflow, fabric.CauseHalfPortTwin, fabric.CauseNICDegradedInit, fabric.CauseNCCLSettings,
		fabric.CauseNICProfile, fabric.CauseNumaBalancing, fabric.CauseNVLinkDegraded, fabric.CausePCIeDowngraded,
		fabric.CausePCIeDowngradedUpstream, fabric.CausePKeyMismatch, fabric.CausePortRateLow, fabric.CauseProcessKilled, fabric.CauseHCASubset, fabric.CauseQoSClassMismatch, fabric.CauseRDMADriver, fabric.CauseRoCELossy,
		fabric.CauseLauncherSetup, fabric.CauseNetPlugin, fabric.CauseSocketFallback, fabric.CauseRouteMissing, fabric.CauseSlowLink, fabric.CauseSlowNode, fabric.CauseSRIOVLeftOn, fabric.CauseESXiDriverUnloaded, fabric.CauseSubnetManager, fabric.CauseTopoXMLWrong, fabric.CauseVersionSkew, fabric.CauseVMHostSetup,
		fabric.CauseMMIOSpace, fabric.CausePassthroughMissing, fabric.CausePassthroughReset, fabric.CausePCIeHotplug, fabric.CauseInterruptVectors, fabric.CauseVFMissing, fabric.CauseVMMemoryReservation, fabric.CauseVMIOMMU, fabric.CauseFirmwareTools,
	}
}

// emptyWorlds returns clusters with empty facts, of every kind that a scope distinguishes.
func emptyWorlds() map[string]*world {
	empty := func(virtual bool) *world {
		w := &world{plan: testPlan(2)}
		for _, n := range w.plan.Nodes {
			w.nodes = append(w.nodes, &fabric.Facts{Node: n.Name, Source: "live", Machine: fabric.Machine{Hypervisor: ref(virtual)}})
		}
		return w
	}
	worlds := map[string]*world{
		"RoCE on bare metal": empty(false), "InfiniBand on bare metal": empty(false), "guests": empty(true),
		"hosts of guests": empty(false), "no plan": empty(false), "rails on bare metal": empty(false),
	}
	worlds["rails on bare metal"].plan.Addressing.Scheme = fabric.Rail24
	worlds["InfiniBand on bare metal"].plan.Transport = fabric.InfiniBand
	for _, f := range worlds["hosts of guests"].nodes {
		f.Kernel.OS = ref("VMware ESXi")
	}
	worlds["no plan"].plan = nil
	worlds["ports with twins"] = &world{plan: twinPlan(3), nodes: []*fabric.Facts{{Node: "spark1", Source: "live"}}}
	pods := empty(false)
	pods.plan.Claims = &fabric.Claims{Pods: 2, GPUs: 8, NICs: 8, NICDriver: "dra.net"}
	pods.plan.Cloud = &fabric.Cloud{Provider: "gke"}
	pods.nodes = []*fabric.Facts{{Node: "trainer-0", Source: "live", Pod: &fabric.Pod{}, Kube: &fabric.KubeState{}, Missing: []fabric.Missing{{What: fabric.FactPod, Source: "/usr/local/gib", Reason: "permission denied"}}}}
	worlds["pods"] = pods
	esx := empty(true)
	esx.plan.Transport = fabric.InfiniBand
	esx.plan.VSphere = &fabric.VSphere{
		Mode: fabric.SRIOVToGuests, Hosts: []fabric.ESXHost{{Name: "esx1", Nodes: []string{esx.nodes[0].Node, esx.nodes[1].Node}}},
		Classes: []fabric.VMClass{{Nodes: []string{esx.nodes[1].Node}, Modules: []int{1, 3}}}, Service: &fabric.ServiceVM{Guests: []fabric.ServiceVMOf{{Host: "esx1", Name: esx.nodes[0].Node}}},
	}
	worlds["guests of ESX"] = esx
	worlds["Sparks"] = empty(false)
	worlds["Sparks"].plan = nil
	for _, f := range worlds["Sparks"].nodes {
		f.Machine.Product = ref("NVIDIA_DGX_Spark")
	}
	return worlds
}

// TestNoRuleIsSilent feeds facts that show nothing: no rule may know anything of them, each must say so, and
// in at least one of the worlds it applies.
func TestNoRuleIsSilent(t *testing.T) {
	said := map[string]bool{}
	for name, w := range emptyWorlds() {
		findings, summary := run(w.plan, nil, w.nodes...)
		if summary.Status() != fabric.Unknown && w.plan != nil {
			t.Errorf("%s: empty facts are %s in all", name, summary.Status())
		}
		seen := map[string]bool{"facts-collected": true} // facts did come in, empty as they are
		for _, f := range findings {
			seen[f.ID] = true
			if f.Status != fabric.Unknown && f.Status != fabric.NotApplicable && f.ID != "facts-collected" {
				t.Errorf("%s: %s is %s on empty facts: %+v", name, f.ID, f.Status, f)
			}
			said[f.ID] = said[f.ID] || f.Status == fabric.Unknown
		}
		for _, r := range Rules() {
			if !seen[r.ID] && r.switches == nil && r.esx == nil { // no switch and no ESX host is part of this check
				t.Errorf("%s: %s is silent on empty facts", name, r.ID)
			}
		}
	}
	for _, r := range Rules() {
		if !said[r.ID] && r.ID != "facts-collected" && r.switches == nil && r.esx == nil {
			t.Errorf("%s: it is unknown in no world of empty facts", r.ID)
		}
	}
}

// TestConditions holds every condition to its form, and all scopes to one order.
func TestConditions(t *testing.T) {
	docs := map[string]string{}
	before := map[[2]string]string{} // two conditions in the order of a rule
	for _, r := range Rules() {
		for i, c := range r.Scope {
			if doc, known := docs[c.ID]; c.ID == "" || c.Doc == "" || c.judge == nil || known && doc != c.Doc {
				t.Errorf("%s: condition %q needs an id of its own, a line of doc and a judge", r.ID, c.ID)
			}
			docs[c.ID] = c.Doc
			for _, later := range r.Scope[i+1:] {
				before[[2]string{c.ID, later.ID}] = r.ID
				if other, twisted := before[[2]string{later.ID, c.ID}]; twisted {
					t.Errorf("%s lists %s before %s, and %s the other way round", r.ID, c.ID, later.ID, other)
				}
			}
		}
		if r.Node != nil && (listed(r.Scope, "peers") || listed(r.Scope, "own-hardware")) {
			t.Errorf("%s: a node rule with a condition of cluster rules", r.ID)
		}
	}
}
