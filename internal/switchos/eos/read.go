package eos

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// signs are lines that EOS alone has: in a configuration, at a prompt, or printed by a show command.
var signs = pattern.Plain(`(?m)^\s*(?:\S+\((?:config[^)]*)\)#\s*)?(?:` + strings.Join([]string{
	`qos profile \S+\s*$`, `qos map (?:dscp|cos) [\w, -]+ to traffic-class \d`, `qos map traffic-class [\d ,-]+ to (?:tx-queue|uc-tx-queue|dscp|cos) \d`,
	`(?:uc|mc)-tx-queue \d+\s*$`, `tx-queue \d\s*$`, `service-profile \S+\s*$`, `priority-flow-control (?:on|priority [\d ,-]+ (?:no-)?drop)\s*$`,
	`(?:no )?priority-flow-control pause watchdog`, `error-correction encoding (?:reed-solomon|fire-code)`, `policy-map type quality-of-service \S+`,
	`random-detect (?:ecn|drop) (?:drop-precedence \d )?minimum-threshold \d`, `flowcontrol (?:send|receive) (?:on|off|desired)\s*$`,
	`! device: .*EOS-\d`, `dcbx mode (?:ieee|cee)\s*$`,
	`Tx-Queue\s+Threshold\s+ECN Min`, `Port\s+Enabled\s+Priorities\s+Active\s+Note`, `E: PFC Enabled`, `Port\s+Name\s+Status\s+Vlan\s+Duplex\s+Speed\s+Type\s+Flags`,
	`(?:\S+\((?:config[^)]*)\)#\s*)?maximum-paths \d+ ecmp \d+\s*$`, `neighbor \S+ peer group(?: \S+)?\s*$`, `\S+\(config-if-(?:Et|Po|Ma|Vl)[\d/,-]+\)#`,
	`interface Management\d+(?:/\d+)?\s*$`, `Tc - tx-queue map:`, `Dscp-tc map:`, `\s*Trust Mode: (?:DSCP|COS|UNTRUSTED)`,
}, "|") + `)`)

// weak are an interface of EOS and a line below it, indented as EOS does.
var weak = pattern.Plain(`(?m)^interface (?:Ethernet|Port-Channel|Management)\d[\d/]*[ \r]*\n {3}\S`)

// notEOS are lines that other languages have and EOS has not.
var notEOS = pattern.Plain(`(?m)^\s*(?:\S+[#>]\s*)?(?:qos map (?:dscp-tc|dot1p-tc|tc-queue|tc-pg|pfc-priority-queue)|qos (?:wred|scheduler)-policy|(?:policy|class)-map type (?:network-qos|queuing|application)|feature \S+\s*$|hardware qos|pause pfc-cos|set class-of-service|set interfaces|nv set|priority-flow-control mode (?:auto|off|on send-tlv)|qos-map |wred ecn-profile|ets mode|hsrp \d|interface (?:range )?(?:ethernet|Eth) ?\d+/\d+/\d+-\d+/\d+/\d+|qos wred|sysname |dcb )`)

// Recognizes reports whether a text is a configuration of EOS or output of one of its show commands.
func (OS) Recognizes(text []byte) bool {
	if notEOS().Match(text) {
		return false
	}
	return signs().Match(text) || weak().Match(text)
}

// Shows are the commands whose output tells most.
func (OS) Shows() []string {
	return []string{"show running-config", "show interfaces status", "show priority-flow-control", "show qos maps", "show qos interfaces", "show qos interfaces ecn"}
}

// Read reads all texts of one switch as one.
func (OS) Read(name string, texts []switchtext.Text) *fabric.SwitchConfig {
	s := newEOSSaid()
	var shown []func()
	for _, t := range texts {
		r := reader{said: s}
		r.text(t)
		shown = append(shown, r.shown...)
		s.texts = append(s.texts, fabric.SwitchText{File: t.File, Form: r.form(), Lines: r.lines, Whole: r.whole})
		s.whole = s.whole || r.whole
	}
	for _, f := range shown { // what a configuration says counts before what a show command prints
		f()
	}
	return s.config(name)
}

// reader goes through one text.
type reader struct {
	said    *eosSaid
	stack   []eosMode
	show    eosShow
	shown   []func()
	forms   []string
	config  bool
	whole   bool
	lines   int
	pushes  int  // modes that were begun
	ended   bool // by the line with which EOS ends a configuration
	last    fabric.Line
	heredoc bool // in a text that ends with EOF, such as a banner
}

// eosMode is where a line of a configuration is read: on EOS a block is a mode.
type eosMode struct {
	kind     string // interface, defaults, profile, queue, vlan, svi, bgp, policy, policy-class, class-map, ignored, foreign
	indent   int    // of the line that began it
	inside   int    // indent of its lines; -1: none yet; equal to indent: the text is flat there
	ports    []*portSaid
	scopes   []*eosScope
	queue    int // -1: none that matters, such as a queue of multicast packets
	vlans    []int
	policy   *eosPolicy
	class    *eosPolicyClass
	classMap *eosClassMap
	tenant   bool       // of BGP: in a VRF or a layer 2 service
	profile  string     // interface profile, or prefix list
	term     *routeTerm // of a route map
}

func (r *reader) form() string {
	switch {
	case r.config:
		return "configuration"
	case len(r.forms) > 0:
		return strings.Join(r.forms, ", ")
	}
	return "configuration"
}

func (r *reader) text(t switchtext.Text) {
	for _, l := range switchtext.CLILines(t) {
		r.lines++
		r.last = l.Line
		r.line(l)
	}
	r.end()
}

// tightPrompt is a prompt as EOS prints it, without a blank behind it.
var tightPrompt = pattern.Plain(`^([A-Za-z][\w.-]*\(config[\w./,:+ -]*\)#|[A-Za-z][\w.-]*[#>])(?:[a-z!]|$)`)

// line reads one line: a comment, a show command at a prompt, a line that such a command printed, or a line of a configuration.
func (r *reader) line(l switchtext.CLILine) {
	if m := tightPrompt().FindStringSubmatch(l.Command); l.Prompt == "" && m != nil {
		l.Prompt, l.Command = m[1], strings.TrimSpace(l.Command[len(m[1]):])
	}
	if strings.HasPrefix(l.Command, "!") {
		if strings.HasPrefix(l.Command, "! device:") || l.Command == "! Command: show running-config" || l.Command == "! Command: show running-config all" {
			r.whole = true
		}
		return // a comment, which ends no block: the indent of the next line tells
	}
	if r.heredoc {
		r.heredoc = l.Command != "EOF"
		return
	}
	l.Command = eosWords(l.Command)
	if before, _, ok := strings.Cut(l.Command, " ! "); ok && !eosFirst(l.Command, "description", "name") {
		l.Command = before // people write notes behind commands
	}
	r.heredoc = eosFirst(l.Command, "banner", "comment") && len(strings.Fields(l.Command)) < 3 || l.Command == "action bash"
	if l.Prompt != "" {
		r.prompt(l.Prompt)
		if c, ok := showCommand(l.Command); ok {
			r.stack = nil
			r.show = eosShow{command: c}
			if strings.HasPrefix(c, "show running-config") || strings.HasPrefix(c, "show startup-config") {
				r.whole = r.whole || c == "show running-config"
			} else {
				r.forms = append(r.forms, c)
			}
			return
		}
		r.show = eosShow{}
	}
	if l.Prompt == "" && r.showLine(l) {
		return
	}
	r.ended = r.ended || l.Command == "end"
	r.leave(l)
	r.configLine(l)
}

// leave ends the modes that the indent of a line ends.
func (r *reader) leave(l switchtext.CLILine) {
	if l.Prompt != "" {
		return
	}
	for len(r.stack) > 0 {
		m := &r.stack[len(r.stack)-1]
		if m.inside < 0 {
			m.inside = max(l.Indent, m.indent)
		}
		flat := m.inside == m.indent
		if flat && l.Indent >= m.indent || !flat && l.Indent > m.indent {
			return
		}
		r.stack = r.stack[:len(r.stack)-1]
	}
}

// configLine reads a line in the innermost mode that knows it. Where the text is flat, or comes from prompts, a line that a
// mode does not know ends the mode. One that nobody knows is unread.
func (r *reader) configLine(l switchtext.CLILine) {
	r.config = true
	inside := false // a block that its indent says has not ended
	for depth := len(r.stack); depth > 0 && !inside; depth-- {
		m := r.stack[depth-1]
		if r.inMode(depth, l) {
			return
		}
		inside = l.Prompt == "" && m.inside > m.indent
	}
	if inside || !r.global(l) {
		r.unread(l)
	}
}

func (r *reader) unread(l switchtext.CLILine) { r.said.unread = append(r.said.unread, l.Line) }

// push begins a mode below the modes of depth.
func (r *reader) push(depth int, l switchtext.CLILine, m eosMode) {
	m.indent, m.inside = l.Indent, -1
	if l.Prompt != "" {
		m.indent, m.inside = 0, 0
	}
	r.stack = append(r.stack[:depth], m)
	r.pushes++
}

// inMode reads a line in the mode at a depth.
func (r *reader) inMode(depth int, l switchtext.CLILine) bool {
	m := r.stack[depth-1]
	known, before := false, r.pushes
	switch m.kind {
	case "interface":
		known = r.inInterface(depth, m, l)
	case "profile":
		known = r.inScope(depth, m, l)
	case "queue":
		known = r.inQueue(m, l)
	case "defaults":
		known = r.inDefaults(l)
	case "svi":
		known = r.inSVI(m, l)
	case "vlan":
		known = eosFirst(l.Command, "name", "state", "trunk", "private-vlan", "mac", "address") || l.Command == "no state"
	case "bgp":
		known = r.inBGP(depth, m, l)
	case "policy":
		known = r.inPolicy(depth, m, l)
	case "policy-class":
		known = r.inPolicyClass(m, l)
	case "class-map":
		known = r.inClassMap(m, l)
	default:
		known = r.inOther(m, l)
	}
	if known && r.pushes == before {
		r.stack = r.stack[:depth]
	}
	return known
}

// inOther reads a line in a mode that is no more than followed.
func (r *reader) inOther(m eosMode, l switchtext.CLILine) (known bool) {
	switch m.kind {
	case "ignored":
		known = m.inside > m.indent || l.Prompt != "" && !eosGlobal(l.Command)
	case "other interface":
		rest, _ := eosNot(l.Command)
		known = m.inside > m.indent || !eosGlobal(l.Command) && (eosFirst(rest, eosInInterface...) || eosFirst(rest, "ip address", "ip add", "ip addr", "mtu", "shutdown", "speed", "vxlan", "switchport", "tunnel"))
	case "route-map":
		known = inRouteMap(m.term, l.Command)
	case "prefix-list":
		known = r.said.prefixRule(m.profile, strings.Fields(l.Command), l.Line)
	case "interface profile":
		known = r.inInterfaceProfile(m, l)
	case "foreign":
		if known = !eosGlobal(l.Command); known {
			r.unread(l)
		}
	}
	return known
}

// eosGlobal reports whether a line begins a block or is of no block.
func eosGlobal(c string) bool {
	return eosFirst(c, "interface", "hostname", "vlan", "router", "qos", "policy-map", "class-map", "ip routing", "end") || strings.HasPrefix(c, "priority-flow-control pause watchdog default")
}

var promptMode = pattern.Plain(`\(config(?:-s-[^-)]*)?(?:-([^)]*))?\)#$`)

// prompt makes the modes fit a prompt: a mode is left by what the next prompt says, and a paste may begin inside one.
func (r *reader) prompt(p string) {
	m := promptMode().FindStringSubmatch(p)
	if m == nil || m[1] == "" {
		r.stack = nil
		return
	}
	r.show = eosShow{}
	block, queue, inQueue := m[1], "", false
	for _, cut := range []string{"-uc-txq-", "-mc-txq-", "-txq-"} {
		if before, after, ok := strings.Cut(block, cut); ok {
			block, queue, inQueue = before, after, true
			break
		}
	}
	if !inQueue && len(r.stack) > 0 && r.stack[len(r.stack)-1].kind == "queue" {
		r.stack = r.stack[:len(r.stack)-1]
	}
	at := switchtext.CLILine{Prompt: p, Line: fabric.Line{Text: p}}
	if name, ok := strings.CutPrefix(block, "if-"); ok && !r.isIn(name) {
		at.Command = "interface " + name
		r.global(at)
	}
	if name, ok := strings.CutPrefix(block, "qos-profile-"); ok && !r.isIn(name) {
		at.Command = "qos profile " + name
		r.global(at)
	}
	if inQueue && len(r.stack) == 1 {
		at.Command = "tx-queue " + queue
		r.inMode(1, at)
	}
}

// isIn reports whether the outermost mode is of an interface or a profile of this name.
func (r *reader) isIn(name string) bool {
	if len(r.stack) == 0 {
		return false
	}
	m := r.stack[0]
	if len(m.ports) == 0 && len(m.scopes) == 1 {
		return m.scopes[0].name == name
	}
	kind, numbers, ok := interfaces(name)
	if !ok || len(m.ports) == 0 {
		return m.kind == "svi" || m.kind == "ignored"
	}
	return m.ports[0].name == kind+numbers[0]
}

// end says what is missing at the end of a text: EOS ends a running configuration with a line of its own.
func (r *reader) end() {
	if r.whole && r.config && !r.ended || r.heredoc {
		r.said.problem(fabric.TextCut, "", r.last, "is the last line, and `end` is missing: the configuration goes on", "What follows is unknown.")
	}
}
