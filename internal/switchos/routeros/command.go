package routeros

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// command is one of a configuration.
type command struct {
	at   fabric.Line
	path string // menu, in full words
	verb string
	args []word // behind the verb
}

// split reads the commands of a line: the menu is taken from its beginning, or is the one of the lines before. next is the menu
// for the lines that follow.
func split(l line, context string) (out []command, next string, ok bool) {
	all, ok := words(l.command)
	for len(all) > 0 && ok {
		end := slices.IndexFunc(all, func(w word) bool { return w.text == ";" && !w.quoted && !w.keyed })
		part := all
		if end >= 0 {
			part, all = all[:end], all[end+1:]
		} else {
			all = nil
		}
		if len(part) == 0 {
			continue
		}
		c := command{at: l.Line}
		path, rest := menuPath(part, context)
		c.path = path
		if len(rest) == 0 {
			context = path
			continue
		}
		c.verb, c.args = rest[0].text, rest[1:]
		out = append(out, c)
	}
	return out, context, ok
}

// deepest is more levels than menus of RouterOS have: those of queues, of the deepest that are read, are six.
const deepest = 12

// menuPath reads the words of a menu before the verb.
func menuPath(part []word, context string) (path string, rest []word) {
	path = context
	first := part[0].text
	if strings.HasPrefix(first, "/") && !part[0].quoted {
		path = ""
	}
	for i, w := range part {
		if w.keyed || w.quoted || w.query || w.script || strings.HasPrefix(w.text, ":") {
			return path, part[i:]
		}
		pieces := strings.Split(strings.Trim(w.text, "/"), "/")
		if strings.Count(path, " ")+len(pieces) > deepest { // these words are no menu, and a path of them all takes forever
			return path, part[i:]
		}
		for j, p := range pieces {
			switch {
			case p == "":
			case p == "..":
				path = path[:max(strings.LastIndexByte(path, ' '), 0)]
			case slices.Contains(verbs, p) && (j == len(pieces)-1) && (p != "port" && p != "monitor" || path != ""):
				verb := w
				verb.text = p
				return path, append([]word{verb}, part[i+1:]...)
			default:
				path = strings.TrimSpace(path + " " + full(path, p))
			}
		}
	}
	return path, nil
}

// apply does what a command does.
func (s *store) apply(c command) {
	m, read := menus[c.path]
	switch {
	case strings.HasPrefix(c.verb, ":"):
		if !slices.Contains([]string{":put", ":log", ":delay", ":beep", ":nothing"}, c.verb) {
			s.unread = append(s.unread, c.at)
		}
		return
	case c.path == "" && c.verb != "":
		s.unread = append(s.unread, c.at)
		return
	case slices.Contains([]string{"print", "export", "monitor", "find", "get", "reset-counters", "move", "comment", "save"}, c.verb):
		return
	case !read && quietMenu(c.path):
		return
	case !read:
		if !s.harmless(c) {
			s.unread = append(s.unread, c.at)
		}
		return
	}
	switch c.verb {
	case "add":
		s.add(c, m)
	case "set":
		s.set(c, m)
	case "enable", "disable":
		value := word{key: "disabled", text: map[bool]string{true: "yes", false: "no"}[c.verb == "disable"], keyed: true}
		s.set(command{at: c.at, path: c.path, verb: "set", args: append(slices.Clone(c.args), value)}, m)
	case "remove":
		s.drop(c)
	default:
		s.unread = append(s.unread, c.at)
	}
}

// harmless reports whether a command in a menu that is not read only takes something away: what a verbose export writes for
// nothing.
func (s *store) harmless(c command) bool {
	return c.verb == "set" && !slices.ContainsFunc(c.args, func(w word) bool { return w.keyed && !w.unset })
}

// drop removes entries that a text spoke of before. What it did not is of no weight: the rest of the text says what is there.
func (s *store) drop(c command) {
	targets, ok := s.targets(c, true)
	if !ok {
		s.unread = append(s.unread, c.at)
		return
	}
	if c.path == memberMenu { // the port leaves the bridge: it is there from the factory
		for _, r := range targets {
			r.said["disabled"] = fabric.Said[string]{Is: "yes", At: c.at}
			delete(r.said, "bridge")
		}
		return
	}
	s.remove(c.path, targets)
}

// add makes an entry. A name that is there already is refused.
func (s *store) add(c command, m menu) {
	id := ""
	for _, w := range c.args {
		if w.keyed && w.key == m.id {
			id = w.text
		}
	}
	old := s.byID[c.path][id]
	switch {
	case id == "" || old == nil || m.id != "name" && c.path != memberMenu:
		old = s.create(c.path, id, c.at)
	case c.path == memberMenu && old.is("bridge") == "": // it was taken out of its bridge before
		delete(old.said, "disabled")
	default:
		s.problem(fabric.TextDuplicate, "", c.at, "adds "+id+", which \""+old.at.Text+"\" has already", "RouterOS refuses the second one.")
		return
	}
	s.say(c, m, []*record{old})
}

// set changes entries.
func (s *store) set(c command, m menu) {
	if m.one {
		r := s.byID[c.path]["settings"]
		if r == nil {
			r = &record{at: c.at, said: map[string]fabric.Said[string]{}}
			s.of[c.path] = append(s.of[c.path], r)
			s.index(c.path, "settings", r)
		}
		s.say(c, m, []*record{r})
		return
	}
	targets, ok := s.targets(c, false)
	if !ok && !s.needless(c, m) {
		s.unread = append(s.unread, c.at)
		return
	}
	s.say(c, m, targets)
}

// needless reports whether a command says nothing that matters, whatever it is said of: to switch off what no text adds is
// such a command, and to switch offloading on, which is so from the factory.
func (s *store) needless(c command, m menu) bool {
	return !slices.ContainsFunc(c.args, func(w word) bool {
		if !w.keyed || w.unset || w.key == "numbers" || w.key == "disabled" && w.text == "yes" && !m.built || w.key == "hw" && w.text == "yes" {
			return false
		}
		reads, known := m.reads(w.key)
		return reads || !known
	})
}

// targets are the entries that a command is about: by names, by a query, or by numbers where these are known.
func (s *store) targets(c command, there bool) (out []*record, ok bool) {
	for _, w := range c.args {
		switch {
		case w.keyed && w.key != "numbers" || w.text == "" && !w.query:
			continue
		case w.script:
			return nil, false
		case w.query:
			q, good := parseQuery(w.text)
			if !good {
				return nil, false
			}
			found, good := s.asked(c, q, there)
			if !good {
				return nil, false
			}
			out, ok = append(out, found...), true
			continue
		}
		for id := range strings.SplitSeq(w.text, ",") {
			if id, good := s.byNumber(c.path, id); !good {
				return nil, false
			} else if r := s.find(c.path, id); r != nil {
				out = append(out, r)
			} else if !there {
				out = append(out, s.create(c.path, id, c.at))
			}
		}
		ok = true
	}
	return out, ok
}

// byNumber turns the number of an entry into its name where it is known: queues are numbered by their classes, and a device
// with one switch has it as 0. Others are numbered as the console printed them last, which no text tells.
func (s *store) byNumber(path, id string) (string, bool) {
	_, err := strconv.Atoi(id)
	switch {
	case strings.HasPrefix(id, "*") && path != qosPortMenu:
		return "", false
	case err != nil:
		return id, true
	case path == queueMenu: // the queues of the default Tx manager come first
		n, ok := number(id, 0, 7)
		return strconv.Itoa(n), ok
	case path == switchMenu && id == "0":
		return "switch1", true
	}
	return "", false
}

// asked are the entries that a query finds. One that names entries of the factory finds them although no text spoke of them.
func (s *store) asked(c command, q query, there bool) (out []*record, ok bool) {
	if q.all() && menus[c.path].built && !there {
		if s.every[c.path] == nil {
			s.every[c.path] = &record{at: c.at, said: map[string]fabric.Said[string]{}}
		}
		return append(slices.Clone(s.of[c.path]), s.every[c.path]), true
	}
	named, ok := q.names(c.path)
	if !ok {
		for _, r := range s.of[c.path] {
			if q.holds(r) {
				out = append(out, r)
			}
		}
		return out, len(out) > 0 || there
	}
	for _, t := range named {
		r := s.entry(c.path, t)
		switch {
		case r != nil:
			out = append(out, r)
		case !there:
			r = s.create(c.path, t.key(), c.at)
			if t.manager != "" {
				r.said["tx-manager"] = fabric.Said[string]{Is: t.manager, At: c.at}
			}
			if r.said[menus[c.path].id].Is != t.id {
				r.said[menus[c.path].id] = fabric.Said[string]{Is: t.id, At: c.at}
			}
			out = append(out, r)
		case c.path == memberMenu:
			out = append(out, s.create(c.path, t.id, c.at))
		}
	}
	return out, true
}

// staged are properties that scripts set twice on purpose.
var staged = []string{"disabled", "vlan-filtering", "hw", "name", "bridge"}

// say writes the properties of a command into entries.
func (s *store) say(c command, m menu, to []*record) {
	lost, told := false, false
	prefix, twice := "", map[string]bool{}
	for _, w := range c.args {
		if !w.keyed || w.key == "numbers" {
			continue
		}
		key := w.key
		if w.unset {
			key = w.text
		}
		if dot, _, dotted := strings.Cut(key, "."); dotted && dot != "" {
			prefix = dot
		} else if dotted { // .as behind remote.address is remote.as
			key = prefix + key
		}
		reads, known := m.reads(key)
		if !reads {
			lost = lost || !known && !w.unset
			continue
		}
		if twice[key] {
			s.problem(fabric.TextDuplicate, "", c.at, "says "+key+" twice", "RouterOS refuses the command.")
		}
		twice[key] = true
		if w.script {
			lost = true
			continue
		}
		for _, r := range to {
			if w.unset {
				delete(r.said, key)
				continue
			}
			if old, had := r.get(key); had && !told && s.contradicts(c, key, w.text, old) {
				told = true
				s.problem(fabric.TextDuplicate, "", c.at, "says "+key+" again, with another value than \""+old.At.Text+"\"", "The last one counts.")
			}
			s.keep(r, c, m, key, w.text)
		}
	}
	if lost {
		s.unread = append(s.unread, c.at)
	}
}

// contradicts reports whether a command says another value than an earlier one, which nobody does on purpose.
func (s *store) contradicts(c command, key, value string, old fabric.Said[string]) bool {
	return old.Is != value && old.At.Number > 0 && old.At != c.at && !slices.Contains(staged, key) && !s.ofAll(c.path, key, old)
}

// keep writes a property into an entry, and keeps the entry findable by it.
func (s *store) keep(r *record, c command, m menu, key, value string) {
	r.said[key] = fabric.Said[string]{Is: value, At: c.at}
	switch {
	case key == m.id && r != s.every[c.path] && s.byID[c.path][value] == nil && c.path != queueMenu:
		s.index(c.path, value, r)
	case key == "name" && c.path == ethernetMenu:
		s.renamed[value] = r
	}
}

// ofAll reports whether a value was said of all entries at once: one that says otherwise is meant so.
func (s *store) ofAll(path, key string, old fabric.Said[string]) bool {
	v, ok := s.every[path].get(key)
	return ok && v == old
}
