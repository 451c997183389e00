// Package switchcheck judges what switches were read to do: against the plan, port against port, against the NICs at the other
// ends of their cables, and along whole paths. It is pure. What no text said is unknown, never a pass.
package switchcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rule is one check of switches.
type Rule struct {
	ID    string // kebab case, never renamed: waivers and scripts use it
	Title string // what is true when it passes
	Doc   string // one line: what it checks and why

	Severity  fabric.Severity
	Cause     fabric.CauseID
	Reference string

	// DependsOn are ids of rules that stand earlier: while one of them fails on the same port, this rule is silent there, so that
	// one fault is blamed once.
	DependsOn []string

	// Judge returns a verdict for each subject that fails or is unknown, and one for each switch that passes. Of a finding it
	// fills in what the rule does not say: status, subject, evidence, expected, why, cost, fix.
	Judge func(*Input) []fabric.Finding
}

// Rules returns all rules, in the order in which they are judged.
func Rules() []Rule {
	return []Rule{
		textRule(), unreadRule(), attachedRule(),
		portsRule(), mtuRule(), routingRule(),
		pfcRule(), classesRule(), cnpRule(), othersRule(), rewriteRule(),
		ecnRule(), queuesRule(), watchdogRule(), headroomRule(),
		equalRule(), plannedRule(),
		endsRule(), losslessRule(),
	}
}

// Input is what the rules are given.
type Input struct {
	Plan    *fabric.Plan // nil without a cluster file
	Configs []*fabric.SwitchConfig

	// Rendered are the planned configurations, in the language of each switch and read back: an OS may not be able to say
	// exactly what the plan has. A switch without one is compared with the plan alone.
	Rendered map[string]*fabric.SwitchConfig

	NICs map[fabric.Endpoint]NICEnd // of the hosts whose facts were read; nil where no hosts are part of the check
}

// NICEnd is the end of a cable at a host, as its facts have it.
type NICEnd struct {
	QoS      *fabric.QoS // nil: not read
	FullMap  bool        // a DSCP that QoS does not list was not read; else it is in priority 0
	MTU      int         // bytes; 0: not read
	RateGbps float64     // 0: not read
}

// roce and cnp are the planned classes; ok is false where the plan has none.
func (in *Input) class(name string) (fabric.TrafficClass, bool) {
	if in.Plan == nil || in.Plan.Traffic == nil {
		return fabric.TrafficClass{}, false
	}
	for _, c := range in.Plan.Traffic.Classes {
		if c.Name == name {
			return c, true
		}
	}
	return fabric.TrafficClass{}, false
}

// planned finds a switch of the plan.
func (in *Input) planned(name string) *fabric.Switch {
	if in.Plan == nil {
		return nil
	}
	for i := range in.Plan.Switches {
		if in.Plan.Switches[i].Name == name {
			return &in.Plan.Switches[i]
		}
	}
	return nil
}

// scene is one switch in front of a rule.
type scene struct {
	*Input
	of    *fabric.SwitchConfig
	plan  *fabric.Switch // nil where the plan does not have it
	ports []port

	asRendered map[string]*fabric.PortConfig // as rendered, by name; nil: nothing is
}

// port is a port that takes part in the fabric: one of the plan, or one that the text gives classes of traffic.
type port struct {
	*fabric.PortConfig                    // nil: a planned port of which the texts do not speak
	plan               *fabric.SwitchPort // nil: not in the plan
}

func (p port) name() string {
	if p.PortConfig != nil {
		return p.Name
	}
	return p.plan.Name
}

// eachSwitch judges one switch after another. needsPlan makes the rule not applicable where there is no plan.
func eachSwitch(needsPlan bool, judge func(scene) []fabric.Finding) func(*Input) []fabric.Finding {
	return func(in *Input) []fabric.Finding {
		var out []fabric.Finding
		for _, c := range in.Configs {
			s := in.scene(c)
			if c.Missing != "" && len(c.Texts) == 0 {
				out = append(out, s.finding("", fabric.Unknown, "not evaluated while nothing is read of "+c.Name))
				continue
			}
			if needsPlan && s.plan == nil {
				out = append(out, s.finding("", fabric.NotApplicable, "needs a cluster file whose plan has this switch"))
				continue
			}
			found := judge(s)
			if len(found) == 0 {
				found = []fabric.Finding{s.finding("", fabric.Unknown, "nothing to judge: no port with classes of traffic was read")}
			}
			out = append(out, found...)
		}
		return out
	}
}

func (in *Input) scene(c *fabric.SwitchConfig) scene {
	s := scene{Input: in, of: c, plan: in.planned(c.Name)}
	read := make(map[string]*fabric.PortConfig, len(c.Ports))
	for i := range c.Ports {
		read[c.Ports[i].Name] = &c.Ports[i]
	}
	if r := in.Rendered[c.Name]; r != nil {
		s.asRendered = make(map[string]*fabric.PortConfig, len(r.Ports))
		for i := range r.Ports {
			s.asRendered[r.Ports[i].Name] = &r.Ports[i]
		}
	}
	taken := map[string]bool{}
	if s.plan != nil {
		for i := range s.plan.Ports {
			p := port{plan: &s.plan.Ports[i]}
			p.PortConfig = read[p.plan.Name]
			taken[p.plan.Name] = true
			s.ports = append(s.ports, p)
		}
	}
	anyPart := slices.ContainsFunc(c.Ports, func(p fabric.PortConfig) bool { return takesPart(&p) })
	bare := s.plan == nil && !anyPart && c.OS == "routeros" // its owners have fast ports and, as a rule, no classes
	for i := range c.Ports {
		if p := &c.Ports[i]; !taken[p.Name] && (takesPart(p) || anyPart && forgotten(p) || bare && fast(p)) {
			s.ports = append(s.ports, port{PortConfig: p})
		}
	}
	return s
}

// rendered is the port as it is rendered; a port that the plan does not have is as the first one. nil: nothing is rendered.
func (s scene) rendered(p port) *fabric.PortConfig {
	c := s.Rendered[s.of.Name]
	if c == nil || len(c.Ports) == 0 {
		return nil
	}
	if r := s.asRendered[p.name()]; r != nil {
		return r
	}
	return &c.Ports[0]
}

// forgotten reports whether a port may be one of the fabric that lost its settings: where others have classes of traffic, one
// that the OS watches by default.
func forgotten(p *fabric.PortConfig) bool { return (p.Up == nil || p.Up.Is) && p.Watchdog != nil }

// fast reports whether a text gives a port a rate that hosts of a fabric have, in Gb/s.
func fast(p *fabric.PortConfig) bool {
	return (p.Up == nil || p.Up.Is) && p.RateGbps != nil && p.RateGbps.At.Number > 0 && p.RateGbps.Is >= 100
}

// takesPart reports whether a text gives a port classes of traffic: PFC, a queue of its own, trust or a watchdog.
func takesPart(p *fabric.PortConfig) bool {
	if p.Up != nil && !p.Up.Is {
		return false
	}
	written := func(l fabric.Line) bool { return l.Number > 0 }
	if p.PFC != nil && written(p.PFC.At) || p.Trust != nil && written(p.Trust.At) || p.Watchdog != nil && p.Watchdog.On != nil && written(p.Watchdog.On.At) {
		return true
	}
	return slices.ContainsFunc(p.Queues[:], func(q *fabric.QueueConfig) bool {
		return q != nil && (q.Algorithm != nil && written(q.Algorithm.At) || q.Marks != nil && written(q.Marks.ECN.At))
	})
}

// eachPort judges the ports that were read. What passes is one verdict for the switch; without a port there is none.
func (s scene) eachPort(expected string, judge func(port) []fabric.Finding) []fabric.Finding {
	var out []fabric.Finding
	judged := 0
	for _, p := range s.ports {
		if p.PortConfig == nil {
			continue // switch-ports says so
		}
		judged++
		out = append(out, judge(p)...)
	}
	if judged > 0 && len(out) == 0 {
		ok := s.finding("", fabric.Pass, "")
		ok.Expected, ok.Evidence = expected, []fabric.Evidence{{Source: s.files(), Value: s.judged(judged)}}
		return []fabric.Finding{ok}
	}
	return out
}

// judged says how many ports a verdict is on.
func (s scene) judged(n int) string {
	if s.plan != nil && n < len(s.plan.Ports) {
		return fmt.Sprintf("%d ports; the plan has %d", n, len(s.plan.Ports))
	}
	return fabric.Count(n, "port")
}

// configured reports whether a configuration was read, which would say what is on; a show command may not.
func (s scene) configured() bool {
	return slices.ContainsFunc(s.of.Texts, func(t fabric.SwitchText) bool { return t.Whole || strings.Contains(t.Form, "configuration") })
}

func (s scene) files() string {
	if len(s.of.Texts) == 0 {
		return s.of.Name
	}
	text := s.of.Texts[0].File
	if more := len(s.of.Texts) - 1; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

func (s scene) finding(portName string, status fabric.Status, why string, at ...fabric.Line) fabric.Finding {
	f := fabric.Finding{Status: status, Subject: fabric.Subject{Kind: "switch", Node: s.of.Name, Port: portName}, Why: why}
	f.Evidence = quote(at...)
	return f
}

// fail says what is wrong, what it costs, and that the rendered file has it right.
func (s scene) fail(portName, why, expected, cost string, at ...fabric.Line) fabric.Finding {
	f := s.finding(portName, fabric.Fail, why, at...)
	f.Expected, f.Cost = expected, cost
	if s.plan != nil {
		f.Fix = "railwright render writes the planned configuration of " + s.of.Name
	}
	return f
}

func (s scene) unknown(portName, why string, at ...fabric.Line) fabric.Finding {
	return s.finding(portName, fabric.Unknown, why, at...)
}

// quote turns lines into evidence; a default of the OS has its words as the source.
func quote(at ...fabric.Line) []fabric.Evidence {
	var out []fabric.Evidence
	for _, l := range at {
		e := fabric.Evidence{Source: cmp.Or(l.File, "default"), Value: l.Text}
		if l.Number > 0 {
			e.Source += ":" + strconv.Itoa(l.Number)
		}
		if l.Text != "" && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// Costs that several rules name.
const (
	dropCost  = "RoCE is dropped when this port is congested; after each dropped packet it sends everything from there again: under load a fraction of the line rate"
	pauseCost = "pauses stop the wrong packets, and RoCE is dropped while they go on"
	delayCost = "congestion notifications come late, so that queues fill and PFC stops whole ports instead"
	shareCost = "packets that nobody meant to protect fill the lossless buffers, and their congestion pauses RoCE"
)
