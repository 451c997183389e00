package switchcheck

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func plannedRule() Rule {
	return Rule{
		ID:    "switch-as-planned",
		Title: "What a switch does beside RoCE is as planned, too",
		Doc: "compares each planned port with the configuration that is rendered for it, where a difference harms no RoCE today: larger MTUs, classes of other packets, " +
			"queues of priorities without PFC, weights, longer cables, announced networks",
		Severity:  fabric.SeverityInfo,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan, as railwright render writes it",
		DependsOn: []string{"switch-ports", "switch-mtu", "switch-pfc", "switch-classes", "switch-cnp", "switch-others", "switch-rewrite", "switch-ecn", "switch-queues", "switch-watchdog", "switch-headroom", "switch-text", "switch-ports-equal"},
		Judge:     eachSwitch(true, judgePlanned),
	}
}

// others are the traits that the other rules judge only as far as RoCE needs them.
func others() []trait {
	return []trait{
		{"MTU", func(p port) (string, fabric.Line) { return said(p.MTU) }},
		{"addresses", func(p port) (string, fabric.Line) { return p.addressesText() }},
		{"length of its cable", func(p port) (string, fabric.Line) { return said(p.CableM) }},
		{"largest frame of its headroom", func(p port) (string, fabric.Line) { return said(p.FrameB) }},
		{"classes", classesOnce()},
		{"classes of VLAN priorities", func(p port) (string, fabric.Line) { return p.tagsText() }},
		{"queues that pauses stop", func(p port) (string, fabric.Line) { return p.allStopsText() }},
		{"scheduling", func(p port) (string, fabric.Line) { return p.schedulingText() }},
	}
}

func judgePlanned(s scene) []fabric.Finding {
	if s.Rendered[s.of.Name] == nil {
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "nothing is rendered for this switch")}
	}
	if s.of.OS != s.Rendered[s.of.Name].OS {
		return []fabric.Finding{s.unknown("", "its text is of another OS than what is rendered")}
	}
	out := slices.Concat(s.named(), s.announced(), s.interfacesDiffer(), s.buffersDiffer())
	compared := 0
	for _, t := range others() {
		found, n := s.differs(t)
		out = append(out, found...)
		compared += n
	}
	if len(out) == 0 && compared > 0 {
		f := s.textPass()
		f.Expected = "as rendered"
		return []fabric.Finding{f}
	}
	return out
}

// differs compares one trait of all planned ports with what is rendered; ports that differ alike are one finding, at the
// first of them: where another rule fails there for the same fault, it is not blamed twice.
func (s scene) differs(t trait) (out []fabric.Finding, compared int) {
	type pair struct{ have, want string }
	ports := map[pair][]string{}
	lines := map[pair]fabric.Line{}
	var order []pair
	var dark []string
	for _, p := range s.ports {
		if p.PortConfig == nil || p.plan == nil {
			continue
		}
		r := s.rendered(p)
		have, at := t.of(p)
		want, _ := t.of(port{PortConfig: r})
		if have == "" && want != "" {
			dark = append(dark, p.name())
		}
		if have == "" || want == "" {
			continue
		}
		compared++
		if have == want {
			continue
		}
		d := pair{have, want}
		if ports[d] == nil {
			order, lines[d] = append(order, d), at
		}
		ports[d] = append(ports[d], p.name())
	}
	if len(dark) > 0 {
		out = append(out, s.unknown(dark[0], fmt.Sprintf("%s of %s: in no text that was read", t.name, fewNames(dark))))
	}
	for _, d := range order {
		have, want := difference(d.have, d.want)
		out = append(out, s.fail(ports[d][0], fmt.Sprintf("%s of %s: %s, in the plan %s.", strings.ToUpper(t.name[:1])+t.name[1:], fewNames(ports[d]), have, want), want,
			"nothing of RoCE today; the next change begins elsewhere than the plan", lines[d]))
	}
	return out, compared
}

// named compares the name that a switch gives itself; that of another planned switch is an error (switch-text).
func (s scene) named() []fabric.Finding {
	have, want := s.of.Hostname, s.Rendered[s.of.Name].Hostname
	if have == nil || want == nil || have.Is == want.Is || s.planned(have.Is) != nil {
		return nil
	}
	if short, _, _ := strings.Cut(have.Is, "."); short == want.Is {
		return nil
	}
	return []fabric.Finding{s.fail("", fmt.Sprintf("The switch is called %s, in the plan %s.", have.Is, want.Is), want.Is, "what neighbours say of it by LLDP does not match the plan", have.At)}
}

// interfacesDiffer compares the MTUs of the interfaces of VLANs with what is rendered.
func (s scene) interfacesDiffer() []fabric.Finding {
	var out []fabric.Finding
	for _, want := range s.Rendered[s.of.Name].VLANs {
		for _, have := range s.of.VLANs {
			if have.ID == want.ID && have.MTU != nil && want.MTU != nil && have.MTU.Is != want.MTU.Is {
				out = append(out, s.fail(fmt.Sprintf("VLAN %d", have.ID), fmt.Sprintf("The interface of VLAN %d has an MTU of %d, in the plan %d.", have.ID, have.MTU.Is, want.MTU.Is), fmt.Sprint(want.MTU.Is),
					"nothing while the NICs send less", have.MTU.At))
			}
		}
	}
	return out
}

// buffersDiffer compares the parts of the shared buffer with what is rendered.
func (s scene) buffersDiffer() []fabric.Finding {
	type part struct{ direction, name string }
	have := map[part]fabric.BufferShare{}
	for _, b := range s.of.Buffers {
		have[part{b.Direction, b.Name}] = b
	}
	const cost = "RoCE's part of the buffer is another than planned: packets are paused or dropped earlier"
	var out []fabric.Finding
	for _, want := range s.Rendered[s.of.Name].Buffers {
		what := fmt.Sprintf("the %s buffer %q", want.Direction, want.Name)
		b, ok := have[part{want.Direction, want.Name}]
		switch {
		case !ok:
			out = append(out, s.unknown("", what+" is in no text that was read"))
		case share(b) != share(want):
			out = append(out, s.fail("", fmt.Sprintf("%s has %s of %s, in the plan %s.", s.of.Name, share(b), what, share(want)), share(want), cost, b.At))
		}
	}
	return out
}

func share(b fabric.BufferShare) string {
	text := fmt.Sprintf("%g %%", b.Percent)
	if b.Bytes > 0 {
		text = fmt.Sprintf("%d bytes", b.Bytes)
	}
	if b.Threshold != nil {
		text += fmt.Sprintf(" with threshold %d", b.Threshold.Is)
	}
	return text
}

// announced compares the networks of BGP with what is rendered.
func (s scene) announced() []fabric.Finding {
	have, want := s.of.BGP, s.Rendered[s.of.Name].BGP
	if have == nil || want == nil {
		return nil // switch-routing judges sessions
	}
	var out []fabric.Finding
	connected := slices.ContainsFunc(have.Networks, func(h fabric.Said[string]) bool { return h.Is == "connected" }) // and with it all of its own
	for _, n := range want.Networks {
		if !connected && !slices.ContainsFunc(have.Networks, func(h fabric.Said[string]) bool { return h.Is == n.Is }) {
			out = append(out, s.fail("", fmt.Sprintf("%s does not announce %s.", s.of.Name, n.Is), n.Is, "no other switch finds the NICs of this network", have.ASN.At))
		}
	}
	for _, h := range have.Networks {
		planned := s.plan != nil && s.plan.BGP != nil && // CONFIG_DB of bgpcfgd has no place for them
			slices.ContainsFunc(s.plan.BGP.Networks, func(n netip.Prefix) bool { return n.Masked().String() == h.Is })
		if h.Is != "connected" && !planned && !slices.ContainsFunc(want.Networks, func(n fabric.Said[string]) bool { return h.Is == n.Is }) {
			out = append(out, s.fail("", fmt.Sprintf("%s announces %s, which the plan does not have.", s.of.Name, h.Is), "", "packets for this network go to the wrong switch", h.At))
		}
	}
	if have.Paths == nil && want.Paths != nil {
		out = append(out, s.unknown("", "how many equal paths BGP uses is in no text that was read", have.ASN.At))
	}
	if have.Paths != nil && want.Paths != nil && have.Paths.Is != want.Paths.Is {
		out = append(out, s.fail("", fmt.Sprintf("%s uses %d equal paths, in the plan %d.", s.of.Name, have.Paths.Is, want.Paths.Is), fmt.Sprint(want.Paths.Is), "flows share fewer uplinks", have.Paths.At))
	}
	return out
}

func (p port) tagsText() (string, fabric.Line) {
	if p.PCP == nil {
		return "", fabric.Line{}
	}
	var out []string
	var at fabric.Line
	for i, t := range p.PCP {
		if t.Class != nil {
			out, at = append(out, fmt.Sprintf("priority %d in class %s", i, t.Class.Is)), t.Class.At
		}
	}
	return strings.Join(out, "; "), at
}

func (p port) addressesText() (string, fabric.Line) {
	var out []string
	var at fabric.Line
	for _, a := range p.Addresses {
		out, at = append(out, a.Is.String()), a.At
	}
	slices.Sort(out)
	return strings.Join(out, "; "), at
}

func (p port) allStopsText() (string, fabric.Line) {
	var out []string
	var at fabric.Line
	for priority, v := range p.Stops {
		if v != nil {
			out, at = append(out, fmt.Sprintf("priority %d stops queue %d", priority, v.Is)), v.At
		}
	}
	return strings.Join(out, "; "), at
}

// fewNames writes the first names of a list, and how many more there are.
func fewNames(names []string) string {
	const few = 3
	if len(names) <= few+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
