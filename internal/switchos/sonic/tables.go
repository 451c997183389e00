package sonic

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// sonicDB is what the texts of a switch say of CONFIG_DB. The output of show commands is in it as the rows that the
// commands were printed from, which are not closed.
type sonicDB struct {
	tables  map[string]*sonicTable
	order   []string
	oldRefs bool // references are [TABLE|name]: SONiC until 2021
	whole   bool // one of the texts is a whole database
}

type sonicTable struct {
	name   string
	at     fabric.Line
	closed bool // a row that it has not does not exist
	rows   []*sonicRow
	byKey  map[string]*sonicRow
}

type sonicRow struct {
	key    string
	at     fabric.Line
	closed bool // a field that it has not is not set
	fields []sonicField
}

type sonicField struct {
	name, value string
	at          fabric.Line
}

// get returns a field; nil: the row has none of that name.
func (r *sonicRow) get(name string) *sonicField {
	if r == nil {
		return nil
	}
	for i := range r.fields {
		if r.fields[i].name == name {
			return &r.fields[i]
		}
	}
	return nil
}

// rowsOf returns the rows of a table in the order of the text.
func (db *sonicDB) rowsOf(table string) []*sonicRow {
	if t := db.tables[table]; t != nil {
		return t.rows
	}
	return nil
}

func (db *sonicDB) row(table, key string) *sonicRow {
	if t := db.tables[table]; t != nil {
		return t.byKey[key]
	}
	return nil
}

// complete reports whether every row of a table is known.
func (db *sonicDB) complete(table string) bool {
	t := db.tables[table]
	return db.whole || t != nil && t.closed
}

func (db *sonicDB) table(name string, at fabric.Line) *sonicTable {
	t := db.tables[name]
	if t == nil {
		t = &sonicTable{name: name, at: at, byKey: make(map[string]*sonicRow)}
		db.tables[name] = t
		db.order = append(db.order, name)
	}
	return t
}

// load is one text on its way into the database.
type load struct {
	r       *reader
	inOrder []*sonicRow
	tableOf []string
	seen    map[[2]string]int // of a namespace's table and key to its index in inOrder
}

// load puts a decoded object into the database: tables of rows of fields; the same for each ASIC of a switch with several
// (show runningconfiguration all); or rows named TABLE|key, as sonic-db-dump prints them.
func (r *reader) load(root *jsonNode) {
	t := &load{r: r, seen: make(map[[2]string]int)}
	t.namespace(root, "")
	for i, row := range t.inOrder {
		if row != nil {
			r.merge(t.tableOf[i], row)
		}
	}
}

func (t *load) namespace(root *jsonNode, name string) {
	tables := make(map[string]*jsonNode)
	for _, n := range root.nodes {
		if name != "" && name != "localhost/" && n.key == "DEVICE_METADATA" {
			continue // of one ASIC: it is not what the switch is
		}
		if before := tables[n.key]; before != nil {
			t.duplicate(n, fmt.Sprintf("%q stands twice in one object", n.key), before.at)
			t.forget(name + n.key)
		}
		tables[n.key] = n
		table, key, flat := strings.Cut(n.key, "|")
		switch {
		case flat:
			t.row(name, table, key, dumped(n))
		case name == "" && sonicNamespace().MatchString(n.key) && n.object:
			t.namespace(n, n.key+"/")
		case !n.object:
			t.r.problem(fabric.TextForeign, "", n.at, fmt.Sprintf("%s is not a table", n.key), "config load fails at it")
		default:
			t.r.table(n.key, n.at)
			for _, row := range n.nodes {
				t.row(name, n.key, row.key, row)
			}
		}
	}
}

// forget drops the rows of a table that stands again below.
func (t *load) forget(table string) {
	for at, i := range t.seen {
		if at[0] == table {
			t.inOrder[i] = nil
			delete(t.seen, at)
		}
	}
}

// dumped returns the fields of a row that was dumped with its type and lifetime.
func dumped(n *jsonNode) *jsonNode {
	if v := n.child("value"); v != nil && v.object {
		return v
	}
	return n
}

func (t *load) duplicate(n *jsonNode, what string, first fabric.Line) {
	t.r.problem(fabric.TextDuplicate, "", n.at, fmt.Sprintf("%s, first in line %d", what, first.Number),
		"a decoder keeps the last and silently drops the others")
}

func (t *load) row(namespace, table, key string, n *jsonNode) {
	if !n.object {
		t.r.problem(fabric.TextForeign, "", n.at, fmt.Sprintf("%s|%s has no fields", table, key), "config load fails at it")
		return
	}
	row := &sonicRow{key: key, at: n.at, closed: true}
	index := make(map[string]int, len(n.nodes))
	for _, f := range n.nodes {
		name := strings.TrimSuffix(f.key, "@") // as redis has lists
		if i, ok := index[name]; ok {
			before := &row.fields[i]
			t.duplicate(f, fmt.Sprintf("%s|%s has %s twice, %q and %q", table, key, name, before.value, f.value), before.at)
			*before = sonicField{name, f.value, f.at}
			continue
		}
		if f.object {
			t.r.problem(fabric.TextForeign, "", f.at, fmt.Sprintf("%s of %s|%s is an object", name, table, key), "config load fails at it")
			continue
		}
		if name != "NULL" { // stands for a row without fields
			index[name] = len(row.fields)
			row.fields = append(row.fields, sonicField{name, f.value, f.at})
		}
	}
	at := [2]string{namespace + table, key}
	if i, ok := t.seen[at]; ok {
		t.duplicate(n, fmt.Sprintf("%s has %q twice", table, short(key)), t.inOrder[i].at)
		t.inOrder[i] = row
		return
	}
	t.seen[at] = len(t.inOrder)
	t.inOrder, t.tableOf = append(t.inOrder, row), append(t.tableOf, table)
}

// short cuts a key that lists many ports.
func short(key string) string {
	const most = 60
	if len(key) <= most {
		return key
	}
	return strings.ToValidUTF8(key[:most], "") + "..."
}

// table notes a table of a configuration, which is closed by that.
func (r *reader) table(name string, at fabric.Line) {
	r.db.table(name, at).closed = true
	if !isRead(name) && !isIgnored(name) && !r.unread[name] {
		r.unread[name] = true
		r.c.Unread = append(r.c.Unread, at)
	}
}

// sonicNames are fields for people: that two texts have different ones does not matter.
var sonicNames = []string{"description", "alias", "name", "mac"}

// merge adds a row to what the texts before have said: the first text decides.
func (r *reader) merge(table string, row *sonicRow) {
	t := r.db.table(table, row.at)
	if row.closed && !t.closed {
		r.table(table, row.at)
	}
	have := t.byKey[row.key]
	if have == nil {
		t.rows = append(t.rows, row)
		t.byKey[row.key] = row
		return
	}
	for _, f := range row.fields {
		old := have.get(f.name)
		switch {
		case old == nil && have.closed && !row.closed && table != "PORT":
			r.problem(fabric.TextConflict, "", f.at, fmt.Sprintf("%s of %s|%s is %q here, and %s line %d does not set it",
				f.name, table, short(row.key), f.value, have.at.File, have.at.Number), "")
		case old == nil:
			have.fields = append(have.fields, f)
		case old.value != f.value && !slices.Contains(sonicNames, f.name):
			r.problem(fabric.TextConflict, "", f.at, fmt.Sprintf("%s of %s|%s is %q here and %q in %s line %d",
				f.name, table, short(row.key), f.value, old.value, old.at.File, old.at.Number), "the first file is taken")
		}
	}
	have.closed = have.closed || row.closed
}
