package routeros

import (
	"regexp"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// record is an entry of a menu, as far as texts tell.
type record struct {
	at    fabric.Line // where a text begins to speak of it
	said  map[string]fabric.Said[string]
	shown bool // no configuration speaks of it: what it does not have is unknown
}

func (r *record) get(key string) (fabric.Said[string], bool) {
	if r == nil {
		return fabric.Said[string]{}, false
	}
	v, ok := r.said[key]
	return v, ok
}

// is is the text of a property; empty: nothing says it.
func (r *record) is(key string) string {
	v, _ := r.get(key)
	return v.Is
}

// off reports whether an entry is switched off.
func (r *record) off() bool {
	is, ok := yes(r.is("disabled"))
	return ok && is
}

// store has the entries of all menus.
type store struct {
	of   map[string][]*record
	byID map[string]map[string]*record // first entry of a name, by menu

	renamed map[string]*record // ports by the name that their owner gave them
	every   map[string]*record // what a command said of all entries, those included of which no text speaks

	problems []fabric.TextProblem
	unread   []fabric.Line
}

func newStore() *store {
	return &store{of: map[string][]*record{}, byID: map[string]map[string]*record{}, renamed: map[string]*record{}, every: map[string]*record{}}
}

func (s *store) problem(kind, port string, at fabric.Line, what, then string) {
	s.problems = append(s.problems, fabric.TextProblem{Kind: kind, Port: port, At: at, What: what, Then: then})
}

// find returns the entry of a name. A port of a switch has two, its own and that of the factory: others speak of it by its own.
func (s *store) find(path, id string) *record {
	if path != ethernetMenu {
		return s.byID[path][id]
	}
	if r := s.renamed[id]; r != nil && r.is("name") == id {
		return r
	}
	if r := s.byID[path][id]; r != nil && (r.is("name") == "" || r.is("name") == id) {
		return r
	}
	return nil
}

// create makes an entry, with what was said of all.
func (s *store) create(path, id string, at fabric.Line) *record {
	r := &record{at: at, said: map[string]fabric.Said[string]{}}
	if all := s.every[path]; all != nil {
		for k, v := range all.said {
			r.said[k] = v
		}
	}
	s.of[path] = append(s.of[path], r)
	if id == "" {
		return r
	}
	r.said[menus[path].id] = fabric.Said[string]{Is: id, At: at}
	s.index(path, id, r)
	return r
}

func (s *store) index(path, id string, r *record) {
	if s.byID[path] == nil {
		s.byID[path] = map[string]*record{}
	}
	if s.byID[path][id] == nil {
		s.byID[path][id] = r
	}
}

// remove takes entries away.
func (s *store) remove(path string, gone []*record) {
	if len(gone) == 0 {
		return
	}
	lost := make(map[*record]bool, len(gone))
	for _, r := range gone {
		lost[r] = true
	}
	s.of[path] = slices.DeleteFunc(s.of[path], func(r *record) bool { return lost[r] })
	s.byID[path] = nil
	for _, r := range s.of[path] {
		s.index(path, r.is(menus[path].id), r)
	}
}

// condition is one of a query: a property, how it is compared, and with what.
type condition struct {
	key, op, value string
	match          *regexp.Regexp // of ~
}

func (c condition) holds(r *record) bool {
	v, ok := r.get(c.key)
	if !ok && c.key == "name" { // a port that has no name of its own has that of the factory
		v, ok = r.get("default-name")
	}
	switch c.op {
	case "!=":
		return ok && v.Is != c.value
	case "~":
		return ok && c.match.MatchString(v.Is)
	}
	return ok && v.Is == c.value
}

// query is what stands behind find: groups of conditions, one of which holds.
type query [][]condition

func (q query) holds(r *record) bool {
	return slices.ContainsFunc(q, func(all []condition) bool {
		return !slices.ContainsFunc(all, func(c condition) bool { return !c.holds(r) })
	})
}

// parseQuery reads find default-name=ether1, find where name="a" or name="b", and find alone. ok is false for any other.
func parseQuery(text string) (q query, ok bool) {
	parts, good := words(text)
	if !good || len(parts) == 0 || parts[0].text != "find" || parts[0].keyed {
		return nil, false
	}
	parts = parts[1:]
	if len(parts) > 0 && parts[0].text == "where" && !parts[0].keyed {
		parts = parts[1:]
	}
	q = query{nil}
	for _, w := range parts {
		last := len(q) - 1
		switch {
		case w.script || w.query || w.unset:
			return nil, false
		case w.keyed:
			c := condition{key: w.key, op: "=", value: w.text}
			if key, negated := strings.CutSuffix(w.key, "!"); negated {
				c.key, c.op = key, "!="
			}
			q[last] = append(q[last], c)
		case w.text == "and" || w.text == "&&":
		case w.text == "or" || w.text == "||":
			q = append(q, nil)
		default:
			key, value, matches := strings.Cut(w.text, "~")
			if !matches || key == "" {
				return nil, false
			}
			re, err := regexp.Compile(value)
			if err != nil {
				return nil, false
			}
			q[last] = append(q[last], condition{key: key, op: "~", match: re})
		}
	}
	if len(q) > 1 && slices.ContainsFunc(q, func(all []condition) bool { return len(all) == 0 }) {
		return nil, false
	}
	return q, true
}

// target is an entry that a query names.
type target struct {
	id      string
	manager string // of a queue: its Tx manager; empty: the default one
	factory bool   // id is the name that the factory gave to a port
}

// names returns the entries that a query names one by one: each of its groups gives the name, and at most things beside that
// are of no weight.
func (q query) names(path string) (out []target, ok bool) {
	id := menus[path].id
	for _, all := range q {
		var t target
		for _, c := range all {
			switch {
			case c.op != "=":
				return nil, false
			case c.key == id || path == ethernetMenu && c.key == "name":
				t.id, t.factory = c.value, c.key == "default-name"
			case path == queueMenu && c.key == "tx-manager":
				t.manager = c.value
			case c.key != "switch":
				return nil, false
			}
		}
		if t.id == "" {
			return nil, false
		}
		out = append(out, t)
	}
	return out, len(out) > 0
}

// all reports whether a query asks for every entry.
func (q query) all() bool {
	return len(q) == 1 && !slices.ContainsFunc(q[0], func(c condition) bool { return c.key != "switch" || c.op != "=" })
}

// entry finds what a query names; nil where no text spoke of it yet.
func (s *store) entry(path string, t target) *record {
	if t.factory {
		return s.byID[path][t.id]
	}
	return s.find(path, t.key())
}

// key is the name under which an entry is kept: queues of several Tx managers have the same numbers.
func (t target) key() string {
	if t.manager != "" && t.manager != "default" {
		return t.manager + "/" + t.id
	}
	return t.id
}
