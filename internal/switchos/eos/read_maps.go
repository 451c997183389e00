package eos

import (
	"regexp"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

var (
	eosMap   = pattern.Plain(`^qos map (dscp|cos|traffic-class) (.+?) to (traffic-class|tx-queue|uc-tx-queue|mc-tx-queue|dscp|cos|exp) (\S+)(?: drop-precedence \d)?$`)
	unmapped = pattern.Plain(`^qos map (dscp|cos|traffic-class) ([\w ,-]+?)(?: to (traffic-class|tx-queue|uc-tx-queue|mc-tx-queue|dscp|cos|exp)(?: \S+)?)?$`)
)

// qosMap reads the maps of the switch: every port uses them. A map from traffic class to DSCP classifies nothing.
func (s *eosSaid) qosMap(c string, not bool, at fabric.Line) bool {
	if c == "qos rewrite dscp" {
		s.rewrite = &fabric.Said[bool]{Is: !not, At: at}
		return true
	}
	m := eosMap().FindStringSubmatch(c)
	if m == nil && not {
		m = unmapped().FindStringSubmatch(c)
	}
	if m == nil {
		return false
	}
	places, most := s.mapOf(m[1], m[3])
	if places == nil {
		return m[3] == "cos" || m[3] == "exp" || m[3] == "mc-tx-queue"
	}
	from, ok := eosNumbers(m[2], len(places)-1)
	to := 0
	if !not {
		var good bool
		to, good = eosNumber(m[4], most)
		ok = ok && good
	}
	if !ok {
		if regexp.MustCompile(`^[\d ,-]+$`).MatchString(m[2]) && (not || isNumber(m[4])) {
			s.problem(fabric.TextRange, "", at, "`"+c+"`: DSCP values are 0 to 63, all other numbers of maps 0 to 7", "EOS refuses it.")
			return true
		}
		return false
	}
	for _, i := range from {
		old := *places[i]
		*places[i] = &fabric.Said[int]{Is: to, At: at}
		if not {
			*places[i] = nil
		}
		// A single value after a list that has it is how people write such maps; the same list twice is a mistake.
		if old != nil && !not && old.Is != to && len(from) >= eosMapped(old.At.Text, len(places)-1) {
			s.problem(fabric.TextDuplicate, "", at, "maps again what line \""+old.At.Text+"\" maps, to another value", "The last one counts.")
			for _, j := range from {
				*places[j] = &fabric.Said[int]{Is: to, At: at}
			}
			break
		}
	}
	return true
}

// eosMapped is how many values a line maps.
func eosMapped(line string, most int) int {
	if m := eosMap().FindStringSubmatch(eosWords(line[max(0, strings.Index(line, "qos map")):])); m != nil {
		from, _ := eosNumbers(m[2], most)
		return len(from)
	}
	return 0
}

// mapOf returns the places of a map, and the largest value in them; nil: the map has no bearing.
func (s *eosSaid) mapOf(from, to string) (places []**fabric.Said[int], most int) {
	var of []*fabric.Said[int]
	most = 7
	switch {
	case from == "dscp" && (to == "traffic-class" || to == ""):
		of = s.dscpTC[:]
	case from == "cos" && (to == "traffic-class" || to == ""):
		of = s.cosTC[:]
	case from == "traffic-class" && (to == "tx-queue" || to == "uc-tx-queue"):
		of = s.tcQueue[:]
	case from == "traffic-class" && to == "dscp":
		of, most = s.tcDSCP[:], 63
	default:
		return nil, 0
	}
	for i := range of {
		places = append(places, &of[i])
	}
	return places, most
}

var (
	policyMap = pattern.Plain(`^policy-map (?:type (quality-of-service|qos) )?(\S+)$`)
	classLine = pattern.Plain(`^class-map (?:type qos )?(?:match-any |match-all )?(\S+)$`)
)

// openPolicy begins a policy or a class map of QoS; known is false for those of other types, which have no bearing.
func (r *reader) openPolicy(l switchtext.CLILine, c string, not bool) (opened, known bool) {
	if eosFirst(c, ignored...) {
		return false, false
	}
	r.stack = nil
	if m := policyMap().FindStringSubmatch(c); m != nil {
		if not {
			delete(r.said.policies, m[2])
			return true, true
		}
		p := r.said.policies[m[2]]
		if p == nil {
			p = &eosPolicy{name: m[2], at: l.Line}
			r.said.policies[m[2]] = p
			r.said.polOrder = append(r.said.polOrder, p)
		}
		r.push(0, l, eosMode{kind: "policy", policy: p})
		return true, true
	}
	if m := classLine().FindStringSubmatch(c); m != nil {
		if not {
			delete(r.said.classes, m[1])
			return true, true
		}
		cm := r.said.classes[m[1]]
		if cm == nil {
			cm = &eosClassMap{name: m[1], at: l.Line, dscp: map[int]bool{}, cos: map[int]bool{}}
			r.said.classes[m[1]] = cm
		}
		r.push(0, l, eosMode{kind: "class-map", classMap: cm})
		return true, true
	}
	r.said.problem(fabric.TextForeign, "", l.Line, "EOS has no maps of this type", "EOS refuses it.")
	r.unread(l)
	r.push(0, l, eosMode{kind: "foreign"})
	return true, true
}

// inPolicy reads the classes of a policy, which count in their order.
func (r *reader) inPolicy(depth int, m eosMode, l switchtext.CLILine) bool {
	rest, not := eosNot(strings.TrimLeft(l.Command, "0123456789 "))
	f := strings.Fields(rest)
	if len(f) < 2 || f[0] != "class" {
		return eosFirst(rest, "exit", "description")
	}
	name := f[1]
	if not {
		for i, c := range m.policy.classes {
			if c.name == name {
				m.policy.classes = append(m.policy.classes[:i:i], m.policy.classes[i+1:]...)
				break
			}
		}
		return true
	}
	c := &eosPolicyClass{name: name, at: l.Line}
	for _, have := range m.policy.classes {
		if have.name == name {
			c = have
		}
	}
	if c.at == l.Line {
		m.policy.classes = append(m.policy.classes, c)
	}
	r.push(depth, l, eosMode{kind: "policy-class", policy: m.policy, class: c})
	return true
}

// inPolicyClass reads what is done with packets of a class.
func (r *reader) inPolicyClass(m eosMode, l switchtext.CLILine) bool {
	rest, not := eosNot(l.Command)
	f := strings.Fields(rest)
	switch {
	case len(f) >= 2 && f[0] == "set" && (f[1] == "traffic-class" || f[1] == "dscp"):
		place, most := &m.class.tc, 7
		if f[1] == "dscp" {
			place, most = &m.class.dscp, 63
		}
		if not {
			*place = nil
			return true
		}
		if len(f) != 3 {
			return false
		}
		n, ok := eosNumber(f[2], most)
		if ok {
			eosSay(r.said, place, n, l.Line)
		} else if isNumber(f[2]) {
			r.said.problem(fabric.TextRange, "", l.Line, "DSCP values are 0 to 63, traffic classes 0 to 7", "EOS refuses it.")
			ok = true
		}
		return ok
	case len(f) > 0 && (f[0] == "set" || f[0] == "police" || f[0] == "exit" || f[0] == "drop"):
		return f[0] != "set" || len(f) > 1 && (f[1] == "cos" || f[1] == "drop-precedence" || f[1] == "count")
	}
	return false
}

// inClassMap reads what a class map matches.
func (r *reader) inClassMap(m eosMode, l switchtext.CLILine) bool {
	rest, not := eosNot(strings.TrimLeft(l.Command, "0123456789 "))
	args, ok := strings.CutPrefix(rest, "match ")
	if !ok {
		return eosFirst(rest, "exit", "description")
	}
	args = strings.TrimPrefix(args, "ip dscp")
	if rest == "match "+args {
		args = strings.TrimPrefix(args, "dscp")
	}
	set, most := m.classMap.dscp, 63
	if cos, isCos := strings.CutPrefix(args, "cos "); isCos {
		set, most, args = m.classMap.cos, 7, cos
	}
	list, ok := eosNumbers(args, most)
	if !ok {
		m.classMap.other = m.classMap.other || !not
		return eosFirst(rest, "match ip", "match ipv6", "match mac", "match vlan", "match any", "match dscp", "match cos", "match inner", "match dei", "match mpls", "match ecn")
	}
	for _, n := range list {
		if set[n] = true; not {
			delete(set, n)
		}
	}
	return true
}
