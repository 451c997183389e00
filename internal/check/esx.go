package check

import (
	"railwright.dev/railwright/internal/esxcheck"
	"railwright.dev/railwright/internal/fabric"
)

// esxRules are the rules of package esxcheck, as those of this one.
func esxRules() []Rule {
	var out []Rule
	for _, r := range esxcheck.Rules() {
		out = append(out, Rule{ID: r.ID, Title: r.Title, Doc: r.Doc, Severity: r.Severity, Cause: r.Cause, Reference: r.Reference, Facts: r.Facts, DependsOn: r.DependsOn, esx: r.Judge})
	}
	return out
}

// keepESX keeps the facts of an ESX host until all came. only reports that they are of nothing else: then the rules of nodes,
// which are about Linux, say nothing of it. A text may have both, of a host and of a virtual machine on it.
func (c *Checker) keepESX(f *fabric.Facts) (only bool) {
	if f.ESX == nil {
		return false
	}
	c.esx = append(c.esx, f)
	return onlyESX(f)
}

// onlyESX reports whether the facts of an ESX host have nothing of a machine that runs Linux.
func onlyESX(f *fabric.Facts) bool {
	return len(f.NICs)+len(f.HCAs)+len(f.GPUs) == 0 && f.FabricManager == nil && f.KernelLog == nil
}

// lostESX are the planned ESX hosts of which there are no facts.
func (c *Checker) lostESX() map[string]fabric.Missing {
	out := map[string]fabric.Missing{}
	if plan := c.plan.intent(); plan != nil && plan.VSphere != nil {
		for _, h := range plan.VSphere.Hosts {
			if m, ok := c.lost[h.Name]; ok {
				out[h.Name] = m
				delete(c.lost, h.Name) // esx-collected says so
			}
		}
	}
	return out
}

// judgeESX runs the rules of ESX hosts, where one came or was to come.
func (c *Checker) judgeESX(lost map[string]fabric.Missing) {
	if len(c.esx)+len(lost) == 0 {
		return
	}
	in := &esxcheck.Input{Plan: c.plan.intent(), Hosts: c.esx, Lost: lost}
	for i := range c.rules {
		r := &c.rules[i]
		if r.esx == nil {
			continue
		}
		for _, f := range r.esx(in) {
			c.settle(r, Verdict{Status: f.Status, Subject: f.Subject, With: f.With, Evidence: f.Evidence, Expected: f.Expected, Why: f.Why, Cost: f.Cost, Fix: f.Fix, Cause: f.Cause}, c.carried)
		}
	}
}
