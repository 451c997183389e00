package routeros

import (
	"slices"
	"strings"
	"unicode"

	"railwright.dev/railwright/internal/fabric"
)

// flush reads the output that was gathered: a table, entries in detail, or the lines of a monitor.
func (r *reader) flush() {
	block := r.block
	r.block = nil
	if len(block) == 0 {
		return
	}
	legend := map[byte]string{}
	var rows []line
	for _, l := range block {
		if text := strings.TrimSpace(l.raw); isLegend(text) || len(rows) == 0 && !isRow(text) && len(legend) > 0 && strings.Contains(text, " - ") {
			addLegend(legend, text)
			continue
		}
		rows = append(rows, l)
	}
	entries, lost := entriesOf(rows, legend)
	path := r.printed
	if _, read := menus[path]; !read && path == "" {
		path = guess(entries)
	}
	if m, read := menus[path]; read {
		r.note(path)
		r.shown = append(r.shown, func() {
			for _, e := range entries {
				r.fill(path, m, e)
			}
			r.unread = append(r.unread, lost...)
		})
		return
	}
	if r.printed != "" && quietMenu(r.printed) {
		r.note(r.printed)
		return
	}
	for _, l := range rows {
		r.unread = append(r.unread, l.Line)
	}
}

// note says in the form of a text that a command printed something.
func (r *reader) note(path string) {
	form := r.command
	if r.printed == "" {
		form = "/" + path + " print"
		if path == monitorMenu {
			form = "/" + path
		}
	}
	if !slices.Contains(r.forms, form) {
		r.forms = append(r.forms, form)
	}
}

func isLegend(text string) bool {
	return strings.HasPrefix(text, "Flags: ") || strings.HasPrefix(text, "Column: ") || strings.HasPrefix(text, "Columns: ")
}

// isRow reports whether a line of a table or of details is one with values.
func isRow(text string) bool {
	return heading(text) || text != "" && (text[0] >= '0' && text[0] <= '9' || strings.Contains(text, "=\"") || strings.HasPrefix(text, ";;;"))
}

// addLegend reads Flags: X - DISABLED, R - RUNNING; S - SLAVE.
func addLegend(legend map[byte]string, text string) {
	text, found := strings.CutPrefix(text, "Flags: ")
	if !found && strings.HasPrefix(text, "Column") {
		return
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ';' }) {
		letter, word, ok := strings.Cut(strings.TrimSpace(part), " - ")
		if ok && len(letter) == 1 {
			legend[letter[0]] = strings.ToLower(strings.TrimSpace(word))
		}
	}
}

// entry is what a command printed of one thing.
type entry struct {
	at    fabric.Line
	is    map[string]string
	flags map[string]bool // those of the legend; nil: none was printed
}

func newEntry(at fabric.Line) entry { return entry{at: at, is: map[string]string{}} }

// flag reads the letters before an entry.
func (e *entry) flag(letters string, legend map[byte]string) {
	if len(legend) == 0 {
		return
	}
	e.flags = map[string]bool{}
	for letter, word := range legend {
		e.flags[word] = strings.IndexByte(letters, letter) >= 0
	}
}

// entriesOf reads rows in any of the three forms.
func entriesOf(rows []line, legend map[byte]string) (out []entry, lost []fabric.Line) {
	if i := slices.IndexFunc(rows, func(l line) bool { return heading(strings.TrimSpace(l.raw)) }); i >= 0 {
		return table(rows, legend)
	}
	if slices.ContainsFunc(rows, func(l line) bool { return monitored(l.raw) }) {
		return monitor(rows)
	}
	return details(rows, legend)
}

// column is a heading of a table: its values begin or end where it does.
type column struct {
	name     string
	from, to int
}

// table reads a table. A heading may come again.
func table(rows []line, legend map[byte]string) (out []entry, lost []fabric.Line) {
	var columns []column
	for _, l := range rows {
		text := strings.TrimSpace(l.raw)
		if heading(text) {
			columns = columnsOf(l.raw)
			continue
		}
		if text == "" || strings.HasPrefix(text, ";;;") {
			continue
		}
		e, ok := rowOf(l, columns, legend)
		if !ok {
			lost = append(lost, l.Line)
			continue
		}
		out = append(out, e)
	}
	return out, lost
}

func columnsOf(raw string) (out []column) {
	for i := 0; i < len(raw); {
		if raw[i] == ' ' {
			i++
			continue
		}
		end := i
		for end < len(raw) && raw[end] != ' ' {
			end++
		}
		if raw[i] != '#' {
			out = append(out, column{strings.ToLower(raw[i:end]), i, end})
		}
		i = end
	}
	return out
}

// rowOf reads a row: its number, flags, and a value for each heading that it stands below.
func rowOf(l line, columns []column, legend map[byte]string) (entry, bool) {
	e := newEntry(l.Line)
	var letters strings.Builder
	numbered := false
	for i := 0; i < len(l.raw); {
		if l.raw[i] == ' ' || l.raw[i] == '\t' {
			i++
			continue
		}
		end := i
		for end < len(l.raw) && l.raw[end] != ' ' && l.raw[end] != '\t' {
			end++
		}
		text := l.raw[i:end]
		switch at := below(columns, i, end); {
		case !numbered:
			if !digits(text) {
				return e, false
			}
			numbered = true
		case at >= 0:
			name := columns[at].name
			e.is[name] = strings.TrimSpace(e.is[name] + " " + text)
		default:
			letters.WriteString(text)
		}
		i = end
	}
	e.flag(letters.String(), legend)
	return e, len(e.is) > 0
}

// below finds the heading that a word stands below, or else the last one that begins before it: a value may have blanks. -1: it
// stands before all of them, with the flags.
func below(columns []column, from, to int) int {
	last := -1
	for i, c := range columns {
		if from < c.to && c.from < to {
			return i
		}
		if c.from <= from {
			last = i
		}
	}
	return last
}

func digits(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsDigit(r) })
}

// monitored reports whether a line has a name, a colon, and values: what monitor and print of settings write.
func monitored(raw string) bool {
	key, _, ok := strings.Cut(strings.TrimSpace(raw), ":")
	return ok && key != "" && !strings.ContainsAny(key, " =\"\t")
}

// monitor reads lines such as rate: 200Gbps 200Gbps, a value for each of the names in the line before.
func monitor(rows []line) (out []entry, lost []fabric.Line) {
	first := 0 // of the entries that the lines are about
	for _, l := range rows {
		if !monitored(l.raw) {
			continue // a value that goes on
		}
		key, rest, _ := strings.Cut(strings.TrimSpace(l.raw), ":")
		values := strings.Fields(rest)
		if key == "name" || len(out) == 0 {
			first = len(out)
			for range max(len(values), 1) {
				out = append(out, newEntry(l.Line))
			}
		}
		if len(out)-first == 1 {
			out[first].is[key] = strings.TrimSpace(rest)
			out[first].at = l.Line
			continue
		}
		for i, v := range values {
			if len(values) == len(out)-first { // else some have no value, and which ones is unknown
				out[first+i].is[key] = v
			}
		}
	}
	return out, lost
}

// details reads entries of the form 0 R name="ether1" mtu=1500, over several lines. A value may be broken over lines, too.
func details(rows []line, legend map[byte]string) (out []entry, lost []fabric.Line) {
	key := ""
	for _, l := range rows {
		text := strings.TrimSpace(l.raw)
		letters := ""
		begun := false
		for {
			first, rest, _ := strings.Cut(text, " ")
			if strings.Contains(first, "=") || first == "" || first == ";;;" || begun && !capitals(first) || !digits(first) && !capitals(first) || len(out) > 0 && !digits(first) && !begun && indented(l.raw) {
				break
			}
			if !digits(first) {
				letters += first
			}
			begun, text = true, strings.TrimSpace(rest)
		}
		if begun || len(out) == 0 {
			e := newEntry(l.Line)
			e.flag(letters, legend)
			out = append(out, e)
			key = ""
		}
		if strings.HasPrefix(text, ";;;") {
			continue
		}
		parts, ok := words(text)
		if !ok {
			lost = append(lost, l.Line)
			continue
		}
		e := out[len(out)-1]
		for _, w := range parts {
			switch {
			case w.keyed:
				key = w.key
				e.is[key] = w.text
			case key != "" && !w.quoted:
				e.is[key] += w.text
			default:
				lost = append(lost, l.Line)
			}
		}
	}
	return out, lost
}

func capitals(text string) bool {
	return text != "" && len(text) <= 6 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ+*") == ""
}

// indented reports whether a line stands deeper than the flags of an entry do.
func indented(raw string) bool { return len(raw)-len(strings.TrimLeft(raw, " \t")) >= 4 }

// guess finds the menu whose entries have such properties, where no command tells it.
func guess(entries []entry) string {
	if len(entries) == 0 {
		return ""
	}
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(k string) bool { _, ok := entries[0].is[k]; return !ok })
	}
	for _, g := range []struct {
		path string
		keys []string
	}{
		{ethernetMenu, []string{"default-name"}}, {memberMenu, []string{"interface", "bridge"}}, {queueMenu, []string{"traffic-class", "schedule"}}, {qosPortMenu, []string{"trust-l3"}},
		{vlanMenu, []string{"bridge", "vlan-ids"}}, {pfcMenu, []string{"traffic-class", "rx"}}, {profileMenu, []string{"name", "traffic-class"}}, {ipMapMenu, []string{"dscp", "profile"}},
		{tagMapMenu, []string{"pcp", "profile"}}, {layer3Menu, []string{"name", "vlan-id"}}, {bridgeMenu, []string{"name", "vlan-filtering"}}, {dhcpMenu, []string{"interface", "address-pool"}},
		{addressMenu, []string{"address", "network", "interface"}}, {monitorMenu, []string{"name", "status"}}, {switchMenu, []string{"name", "qos-hw-offloading"}}, {ethernetMenu, []string{"name", "mtu", "arp"}},
	} {
		if has(g.keys...) {
			return g.path
		}
	}
	return ""
}

// flagged writes flags as the properties that they stand for.
func (e entry) flagged(path string) {
	words := map[bool]string{true: "yes", false: "no"}
	if up, ok := e.flags["hw-offload"]; ok && path == memberMenu && !e.flags["inactive"] {
		e.is["hw-offload"] = words[up]
	}
	if off, ok := e.flags["disabled"]; ok && path != monitorMenu {
		e.is["disabled"] = words[off]
	}
}

// fill writes what a command printed where no configuration said it.
func (r *reader) fill(path string, m menu, e entry) {
	e.flagged(path)
	id := e.is[m.id]
	if path == queueMenu {
		id = target{id: id, manager: e.is["tx-manager"]}.key()
	}
	if m.one {
		id = "settings"
	}
	if id == "" && path == ethernetMenu {
		id = e.is["name"]
		if old := r.find(path, id); old != nil {
			id = old.is("default-name")
		}
	}
	if id == "" {
		if !m.one {
			r.unread = append(r.unread, e.at)
		}
		return
	}
	old := r.byID[path][id]
	if old == nil || path == ipMapMenu || path == tagMapMenu {
		if old != nil && !old.shown {
			return // the configuration has the map
		}
		if old = r.create(path, id, e.at); m.one || path == queueMenu {
			delete(old.said, m.id)
		}
		old.shown = true
	}
	for _, key := range m.keys {
		v, ok := e.is[key]
		if _, had := old.said[key]; had || !ok {
			continue
		}
		old.said[key] = fabric.Said[string]{Is: v, At: e.at}
		if key == "name" && path == ethernetMenu {
			r.renamed[v] = old
		}
	}
}
