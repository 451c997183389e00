package sonic

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// reader builds what a switch has from its texts.
type reader struct {
	c      *fabric.SwitchConfig
	db     *sonicDB
	unread map[string]bool // tables and fields that were told already
	routed map[string]fabric.Line
	ports  []*fabric.PortConfig
	byName map[string]*fabric.PortConfig

	addresses map[netip.Addr]fabric.Line // that were set already
	forms     []string                   // of the text that is being read
	card      string                     // of a chassis: see ownCard

	// What ports share.
	classes map[classKey]*classTables
	stops   map[stopKey]*[8]*fabric.Said[int]
	queues  map[queueKey]*fabric.QueueConfig
	wred    map[*sonicRow]*fabric.QueueProfile
	maps    map[mapKey]*sonicMap
	used    map[mapKey]bool    // maps and profiles that a port names
	sharing map[*sonicMap]bool // that were told for priorities of one queue
	warned  map[*sonicField]bool

	bindings map[string]*qosRow             // by port
	lossy    map[string]map[int]fabric.Line // priority groups without headroom, by port
	drops    map[string]map[int]fabric.Line // queues of the lossy pool, by port
}

// Shows lists the commands whose output tells most.
func (OS) Shows() []string {
	return []string{"show runningconfiguration all", "show interfaces status", "show pfc priority", "show pfcwd config", "show ecn"}
}

// Recognizes reports whether a text has tables of CONFIG_DB, or the output of one of SONiC's show commands.
func (OS) Recognizes(text []byte) bool {
	if sonicKey().Match(text) {
		return true
	}
	if otherCLI().Match(text) {
		return false
	}
	return slices.ContainsFunc(sonicShows, func(s sonicShow) bool { return s.sign().Match(text) }) || block().Match(text)
}

// otherCLI are lines of sonic-cli, the command line of commercial SONiC. Below it is the same shell with the same commands, so
// that output of those stands in its texts too.
var otherCLI = pattern.Plain(`(?m)^\s*(?:\S+[#>]\s*)?(?:no )?(?:qos (?:map|wred-policy|scheduler-policy|buffer) |qos-map |show qos |` +
	`show running-configuration|priority-flow-control |queue \d+ wred-policy |interface (?:range )?Eth ?\d+/)`)

// Read reads the texts of a switch.
func (OS) Read(name string, texts []switchtext.Text) *fabric.SwitchConfig {
	r := &reader{
		c:       &fabric.SwitchConfig{Name: name, OS: "sonic", Ports: []fabric.PortConfig{}},
		db:      &sonicDB{tables: make(map[string]*sonicTable)},
		unread:  make(map[string]bool),
		routed:  make(map[string]fabric.Line),
		byName:  make(map[string]*fabric.PortConfig),
		classes: make(map[classKey]*classTables), stops: make(map[stopKey]*[8]*fabric.Said[int]),
		queues: make(map[queueKey]*fabric.QueueConfig), wred: make(map[*sonicRow]*fabric.QueueProfile),
		maps: make(map[mapKey]*sonicMap), used: make(map[mapKey]bool), sharing: make(map[*sonicMap]bool), warned: make(map[*sonicField]bool),
		addresses: make(map[netip.Addr]fabric.Line), drops: make(map[string]map[int]fabric.Line),
		lossy: make(map[string]map[int]fabric.Line),
	}
	for _, t := range texts {
		r.text(t)
	}
	r.oldReferences()
	r.fields()
	r.findPorts()
	r.device()
	r.portRows()
	r.vlans()
	r.buffers()
	r.qos()
	r.cutCables()
	r.lossyQueues()
	r.watchdogs()
	r.unattached()
	for _, p := range r.ports {
		r.c.Ports = append(r.c.Ports, *p)
	}
	return r.c
}

func (r *reader) problem(kind, port string, at fabric.Line, what, then string) {
	r.c.Problems = append(r.c.Problems, fabric.TextProblem{Kind: kind, Port: port, At: at, What: what, Then: then})
}

// fragment begins a part of a database that was copied without its outer braces.
var fragment = pattern.Plain(`^\s*"[A-Z][A-Z0-9_]*(?:\|[^"]*)?"\s*:`)

// middle is a line that only the inside of an object has: a key with its value, a value of a list, or what closes them.
var middle = pattern.Plain(`^(?:[}\]]|"[^"\n]*"\s*(?::|,?\s*$))`)

// text reads one file, which may have several outputs below each other. Of a text with an object that is no JSON nothing
// is read: a half of it would look like a switch with half of its settings.
func (r *reader) text(t switchtext.Text) {
	text := strings.TrimPrefix(string(t.Bytes), "\ufeff")
	j := newJSONText(t.File, text)
	r.forms = nil
	problems, unread := len(r.c.Problems), len(r.c.Unread)
	var roots []*jsonNode
	var shows []show
	for at := 0; at < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		begins := at + len(text[at:end]) - len(strings.TrimLeft(text[at:end], " \t"))
		bare := fragment().MatchString(text[at:end])
		if !bare && middle().MatchString(text[begins:end]) { // of an object whose beginning is missing
			r.refuse(j, t, fabric.TextProblem{Kind: fabric.TextCut, At: j.line(begins), What: errBeginning.Error(), Then: "nothing of it is read"})
			return
		}
		if !bare && !strings.HasPrefix(text[begins:end], "{") {
			shows = append(shows, show{j.line(at), text[at:end]})
			at = end
			continue
		}
		root, next, err := j.decode(begins, bare)
		if err != nil {
			r.refuse(j, t, j.problem(err))
			return
		}
		roots = append(roots, root)
		at = max(next, end)
		if next < end { // behind the brace
			at = next
		}
	}
	whole := false
	for _, root := range roots {
		if !ofConfigDB(root) {
			if len(root.nodes) > 0 {
				r.problem(fabric.TextForeign, "", root.nodes[0].at, "this is JSON, and no CONFIG_DB: it has none of its tables", "")
			}
			continue
		}
		r.form("configuration")
		whole = whole || wholeDB(root)
		r.load(root)
	}
	r.db.whole = r.db.whole || whole
	r.shows(shows)
	if len(r.forms) == 0 && len(r.c.Problems) == problems {
		r.c.Unread = r.c.Unread[:unread]
		r.nothing(j)
	}
	r.c.Texts = append(r.c.Texts, fabric.SwitchText{File: t.File, Form: strings.Join(r.forms, ", "), Lines: linesOf(text), Whole: whole})
}

// refuse notes a text of which nothing is read.
func (r *reader) refuse(j *jsonText, t switchtext.Text, p fabric.TextProblem) {
	r.c.Problems = append(r.c.Problems, p)
	r.c.Texts = append(r.c.Texts, fabric.SwitchText{File: t.File, Form: "configuration", Lines: linesOf(j.text)})
}

// ofConfigDB reports whether an object has a table of CONFIG_DB.
func ofConfigDB(root *jsonNode) bool {
	return slices.ContainsFunc(root.nodes, func(n *jsonNode) bool {
		table, _, _ := strings.Cut(n.key, "|")
		return isRead(table) || isIgnored(table) || n.object && sonicNamespace().MatchString(table) && ofConfigDB(n)
	})
}

// nothing tells that a text has nothing that is read.
func (r *reader) nothing(j *jsonText) {
	if at := strings.IndexFunc(j.text, func(c rune) bool { return !unicode.IsSpace(c) }); at >= 0 {
		r.problem(fabric.TextForeign, "", j.line(at), "this is no CONFIG_DB, and no output of a show command that is read", "")
		return
	}
	r.problem(fabric.TextCut, "", fabric.Line{File: j.file, Number: 1}, "the text is empty", "")
}

func (r *reader) form(name string) {
	if !slices.Contains(r.forms, name) {
		r.forms = append(r.forms, name)
	}
}

func linesOf(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// wholeDB reports whether an object is a whole database: it says what the switch is, and where each port has its lanes. An
// excerpt for QoS has neither, and what is to be added to a switch has no lanes.
func wholeDB(root *jsonNode) bool {
	if asic := root.child("asic0"); asic != nil && asic.object {
		root = asic
	}
	device, ports := root.child("DEVICE_METADATA"), root.child("PORT")
	if device == nil || ports == nil || len(ports.nodes) == 0 {
		return false
	}
	if local := device.child("localhost"); local == nil || local.child("hwsku") == nil {
		return false
	}
	for _, p := range ports.nodes {
		if p.child("lanes") == nil {
			return false
		}
	}
	return true
}

// oldReference is how SONiC until 2021 named a row of another table.
var oldReference = pattern.Plain(`^\[[A-Z0-9_]+\|([^\]]*)\]$`)

// oldReferences turns references of the old form into names.
func (r *reader) oldReferences() {
	for _, name := range r.db.order {
		for _, row := range r.db.tables[name].rows {
			for i := range row.fields {
				if v := row.fields[i].value; strings.HasPrefix(v, "[") {
					if m := oldReference().FindStringSubmatch(v); m != nil {
						row.fields[i].value = m[1]
						r.db.oldRefs = true
					}
				}
			}
		}
	}
}

// fields tells fields that nobody knows, once for each name.
func (r *reader) fields() {
	for _, name := range r.db.order {
		known := sonicFields[name]
		if known == "" || known == "-" {
			continue
		}
		words := strings.Fields(known)
		for _, row := range r.db.tables[name].rows {
			for _, f := range row.fields {
				if key := name + " " + f.name; !slices.Contains(words, f.name) && !r.unread[key] {
					r.unread[key] = true
					r.c.Unread = append(r.c.Unread, f.at)
				}
			}
		}
	}
}

// told reports whether a field was judged before, and notes that it is now.
func (r *reader) told(f *sonicField) bool {
	before := r.warned[f]
	r.warned[f] = true
	return before
}

func said[T any](is T, at fabric.Line) *fabric.Said[T] { return &fabric.Said[T]{Is: is, At: at} }

// byDefault is what the OS does where a text says nothing.
func byDefault[T any](is T, why string) *fabric.Said[T] {
	return &fabric.Said[T]{Is: is, At: fabric.Line{Text: "default: " + why}}
}

// defined reports whether a row exists. A table that is not complete may have it elsewhere: then it is unknown, not undefined.
func (r *reader) defined(table, name string, f *sonicField, port, then string) *sonicRow {
	if row := r.db.row(table, name); row != nil {
		return row
	}
	if r.db.complete(table) {
		r.problem(fabric.TextUndefined, port, f.at, fmt.Sprintf("%s names %q, which %s has not", f.name, name, table), then)
	}
	return nil
}
