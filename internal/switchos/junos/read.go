package junos

import (
	"bytes"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// Shows returns the commands whose output tells most.
func (OS) Shows() []string {
	return []string{"show configuration | no-more", "show configuration | display set | no-more"}
}

// The marks of a configuration of Junos. Braces alone are of many languages: a semicolon at an end of line and the name of a
// stanza, or of what stands in class-of-service, must come with them.
var (
	junosSet   = pattern.Plain(`(?m)^\s*(?:\S+[#>]\s*)?(?:set|deactivate|delete|edit)\s+(?:class-of-service|interfaces\s+(?:interface-range|lo0|irb|me0|ae\d|(?:et|xe|ge|mge)-[\d*<"\[])|forwarding-options|policy-options|routing-options|vlans|chassis|system\s+host-name|protocols\s+(?:bgp|lldp|rstp)|groups|apply-groups|classifiers\s+(?:dscp|ieee-802\.1)|forwarding-classes\s+class|congestion-notification-profile|scheduler-maps|schedulers|drop-profiles|shared-buffer|rewrite-rules)\b`)
	junosEnd   = pattern.Plain(`(?m);[ \t}]*(?:#.*|/\*.*)?\r?$`)
	junosBlock = pattern.Plain(`(?m)^\s*(?:(?:inactive|replace): )?(?:class-of-service|classifiers|code-point-aliases|drop-profiles|shared-buffer|forwarding-classes|congestion-notification-profile|scheduler-maps|schedulers|rewrite-rules|interfaces|vlans|groups|chassis|protocols|routing-options|policy-options|forwarding-options|(?:et|xe|ge|mge)-[\d*][\w/:*-]*|dscp [\w-]+|interface-range [\w.-]+)\s*\{`)
	junosFlat  = pattern.Plain(`(?m)^\s*(?:class [\w-]+ queue-num \d+|forwarding-class [\w-]+ scheduler [\w-]+|version \d\d\.\d\S*|explicit-congestion-notification|loss-priority (?:low|high|medium-low|medium-high) code-points? .*)\s*;`)
)

// junosNot is a mark of VyOS, whose set commands look alike.
var junosNot = pattern.Plain(`(?m)^\s*set (?:interfaces (?:ethernet|bonding|bridge|loopback|dummy|wireguard|tunnel) |firewall (?:name|ipv4|group) |nat (?:source|destination) )`)

// Recognizes reports whether a text is a configuration of Junos, with braces or as set commands.
func (OS) Recognizes(text []byte) bool {
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] == '{' && !bytes.HasPrefix(trimmed, []byte("{master")) || trimmed[0] == '<' {
		return false
	}
	plain := switchtext.ANSI().ReplaceAll(text, nil)
	if junosNot().Match(plain) {
		return false
	}
	return junosSet().Match(plain) || junosFlat().Match(plain) || junosEnd().Match(plain) && junosBlock().Match(plain)
}

// reader reads the configuration of one switch.
type reader struct {
	*tree
	out      *fabric.SwitchConfig
	cos      *junosNode
	whole    bool                  // it is the whole configuration: what it does not set has the default
	wired    bool                  // it says what is attached to ports
	split    *bool                 // the text says of cages how they are split; nil: it was not searched
	byName   map[string]*junosNode // VLANs
	vlanList []*junosNode

	classes  map[string]*junosClass
	queues   map[string]*[8]*fabric.QueueConfig
	tables   map[string]*[64]fabric.Treatment
	priority map[string]*[8]fabric.Treatment
	profiles map[string]*junosPFC
	rewrites map[string]map[string]fabric.Said[int]
	used     map[*junosNode]bool
	said     map[string]bool            // problems that are known
	marking  map[string]*fabric.Line    // drop profiles with which a scheduler marks
	named    map[string][]classified    // classifiers by kind and name
	lossOf   map[string]map[string]bool // loss priorities that classifiers give, by class
	unpaused map[string][]string        // ports with a classifier that names lossless classes, and without PFC; by classifier
}

// Read reads the configuration of a switch from one or more texts.
func (o OS) Read(name string, texts []switchtext.Text) *fabric.SwitchConfig {
	id, _ := o.Names()
	r := &reader{
		tree: newJunosTree(), out: &fabric.SwitchConfig{Name: name, OS: id, Ports: []fabric.PortConfig{}},
		queues: map[string]*[8]*fabric.QueueConfig{}, tables: map[string]*[64]fabric.Treatment{}, priority: map[string]*[8]fabric.Treatment{},
		profiles: map[string]*junosPFC{}, rewrites: map[string]map[string]fabric.Said[int]{}, used: map[*junosNode]bool{},
		said: map[string]bool{}, marking: map[string]*fabric.Line{}, named: map[string][]classified{}, unpaused: map[string][]string{},
	}
	for _, text := range texts {
		parsed := parseJunos(text)
		whole := false
		for _, s := range parsed.statements {
			whole = whole || len(s.words) > 1 && s.words[0].text == "version" && (s.verb == "" || s.verb == "set")
		}
		r.out.Texts = append(r.out.Texts, fabric.SwitchText{File: text.File, Form: "configuration", Lines: parsed.lines, Whole: whole})
		r.whole = r.whole || whole
		r.add(parsed)
	}
	r.inherit()
	r.expand()
	r.cos = r.root.kid("class-of-service")
	r.wired = r.whole || len(r.cos.all("interfaces")) > 0
	if h := r.root.value("system", "host-name"); h != nil {
		r.out.Hostname = h
	}
	r.readClasses()
	r.readMarking()
	r.readPorts()
	r.readVLANs()
	r.readBGP()
	r.readBuffers()
	r.unattached()
	r.out.Problems, r.out.Unread = r.problems, r.unread
	return r.out
}

// once notes a problem that several ports have in common.
func (r *reader) once(kind string, at fabric.Line, what, then string) {
	key := fmt.Sprint(kind, at.File, at.Number, what)
	if !r.said[key] {
		r.said[key] = true
		r.problem(kind, at, what, then)
	}
}

// junosDefault is a value that Junos has where nobody sets one.
func junosDefault[T any](is T, text string) *fabric.Said[T] {
	return &fabric.Said[T]{Is: is, At: fabric.Line{Text: text}}
}

// number reads a number within bounds. Another value is a problem and nothing.
func (r *reader) number(v *fabric.Said[string], what string, least, most int) *fabric.Said[int] {
	if v == nil {
		return nil
	}
	n, ok := 0, v.Is != "" && len(v.Is) < 10
	for _, c := range v.Is {
		ok = ok && c >= '0' && c <= '9'
		n = n*10 + int(c-'0')
	}
	if !ok || n < least || n > most {
		r.once(fabric.TextRange, v.At, fmt.Sprintf("%s is %s", what, v.Is), fmt.Sprintf("Junos takes %d to %d", least, most))
		return nil
	}
	return &fabric.Said[int]{Is: n, At: v.At}
}

// unattached notes what is defined and used by nothing, where the text says what is used.
func (r *reader) unattached() {
	if len(r.cos.all("interfaces")) == 0 {
		return
	}
	for _, path := range [][]string{
		{"classifiers", "dscp"}, {"classifiers", "ieee-802.1"}, {"congestion-notification-profile"}, {"scheduler-maps"}, {"schedulers"},
		{"drop-profiles"}, {"rewrite-rules", "dscp"},
	} {
		for _, n := range r.cos.all(path...) {
			if !r.used[n] && !strings.HasPrefix(n.word, "apply-") {
				r.problem(fabric.TextUnattached, n.at, strings.Join(path, " ")+" "+n.word+" is attached to no port", "it does nothing")
			}
		}
	}
}

// definition finds what a name stands for, and notes that it is used. A name without a definition is a problem where the
// text has the definitions of its kind.
func (r *reader) definition(name *fabric.Said[string], path ...string) *junosNode {
	n := r.cos.kid(path...).kid(name.Is)
	if n != nil {
		r.used[n] = true
		return n
	}
	if r.whole || len(r.cos.all(path...)) > 0 {
		r.once(fabric.TextUndefined, name.At, strings.Join(path, " ")+" "+name.Is+" is defined nowhere", "Junos refuses the text, or what names it has no effect")
	}
	return nil
}
