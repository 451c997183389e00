package check

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/nic"
	"railwright.dev/railwright/internal/switchcheck"
)

// switchRules are the rules of package switchcheck, as those of this one.
func switchRules() []Rule {
	var out []Rule
	for _, r := range switchcheck.Rules() {
		out = append(out, Rule{ID: r.ID, Title: r.Title, Doc: r.Doc, Severity: r.Severity, Cause: r.Cause, Reference: r.Reference, switches: r.Judge})
	}
	return out
}

// Switches makes switches a part of the check: what was read of them, and by name what is rendered for them. It comes before
// the first node, as of each NIC more is kept then.
func (c *Checker) Switches(configs []*fabric.SwitchConfig, rendered map[string]*fabric.SwitchConfig) {
	c.rendered = rendered
	if c.switches = configs; len(configs) > 0 {
		c.ends = map[fabric.Endpoint]switchcheck.NICEnd{}
		c.qos = map[string]*fabric.QoS{}
	}
}

// keepEnds keeps what the NICs of a node do with classes of traffic. NICs that do the same share one copy.
func (c *Checker) keepEnds(in NodeInput) {
	if len(c.switches) == 0 || in.Facts.Source == nominal {
		return
	}
	for _, name := range in.ethernet() {
		n, ok := in.nic(name)
		if !ok {
			continue
		}
		end := switchcheck.NICEnd{MTU: n.MTU}
		if n.SpeedMbps != nil && *n.SpeedMbps > 0 {
			end.RateGbps = float64(*n.SpeedMbps) / 1000
		}
		if n.QoS != nil {
			text := qosText(n.QoS)
			if c.qos[text] == nil {
				c.qos[text] = n.QoS
			}
			end.QoS, end.FullMap = c.qos[text], slices.ContainsFunc(n.QoS.Sources, nic.FullMap)
		}
		c.ends[fabric.Endpoint{Node: in.Facts.Node, NIC: name}] = end
	}
}

// judgeSwitches runs the rules of switches. Hosts are part of the check where facts of one came, or were to come.
func (c *Checker) judgeSwitches() {
	if len(c.switches) == 0 {
		return
	}
	in := &switchcheck.Input{Plan: c.plan.intent(), Configs: c.switches, Rendered: c.rendered}
	if c.hosts() {
		in.NICs = c.ends
	}
	for i := range c.rules {
		r := &c.rules[i]
		if r.switches == nil {
			continue
		}
		for _, f := range r.switches(in) {
			c.settle(r, Verdict{Status: f.Status, Subject: f.Subject, Evidence: f.Evidence, Expected: f.Expected, Why: f.Why, Cost: f.Cost, Fix: f.Fix}, c.carried)
		}
	}
}

func (c *Checker) hosts() bool { return len(c.digests) > 0 || len(c.lost) > 0 }
