package sonic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// sonicRefs are the fields of PORT_QOS_MAP that name a map, and the table of each. PFC's queue map had two names.
var sonicRefs = []struct{ field, table string }{
	{"dscp_to_tc_map", "DSCP_TO_TC_MAP"}, {"dot1p_to_tc_map", "DOT1P_TO_TC_MAP"}, {"tc_to_queue_map", "TC_TO_QUEUE_MAP"},
	{"tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"}, {"pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"},
	{"pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"}, {"tc_to_dscp_map", "TC_TO_DSCP_MAP"},
}

// mapKey is a map of a kind.
type mapKey struct{ table, name string }

// sonicMap is a map with the line of each entry; nil: no entry.
type sonicMap struct{ to [64]*fabric.Said[int] }

// mapRanges bounds the keys and the values of each kind. SONiC's models take traffic classes to 15; PFC and packets have 8.
var mapRanges = map[string][2]int64{
	"DSCP_TO_TC_MAP": {63, 7}, "DOT1P_TO_TC_MAP": {7, 7}, "TC_TO_QUEUE_MAP": {7, 7}, "TC_TO_PRIORITY_GROUP_MAP": {7, 7},
	"MAP_PFC_PRIORITY_TO_QUEUE": {7, 7}, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {7, 7}, "TC_TO_DSCP_MAP": {7, 63},
}

// qosRow is a row of PORT_QOS_MAP with its maps, by field: one that is in none of the three is not attached.
type qosRow struct {
	row     *sonicRow
	maps    map[string]*sonicMap
	where   map[string]fabric.Line // that named it
	unknown map[string]bool        // no text says which it is
	pfc     *fabric.Said[[]int]
	watched *fabric.Said[[]int]
}

// readMap reads a map once.
func (r *reader) readMap(table string, row *sonicRow) *sonicMap {
	key := mapKey{table, row.key}
	if m := r.maps[key]; m != nil {
		return m
	}
	m := &sonicMap{}
	r.maps[key] = m
	for i := range row.fields {
		f := row.fields[i]
		from, err := strconv.Atoi(strings.TrimSpace(f.name))
		if err != nil || from < 0 || int64(from) > mapRanges[table][0] {
			r.problem(fabric.TextRange, "", f.at, fmt.Sprintf("%s|%s has an entry for %q, above %d", table, row.key, short(f.name), mapRanges[table][0]), "SONiC refuses the map")
			continue
		}
		f.name = fmt.Sprintf("%s of %s|%s", f.name, table, row.key)
		m.to[from] = r.small(&f, "", 0, mapRanges[table][1])
	}
	return m
}

// qos reads the maps, binds them to the ports and gives each port its queues.
func (r *reader) qos() {
	if old := r.db.tables["PFC_PRIORITY_TO_QUEUE_MAP"]; old != nil && r.db.tables["MAP_PFC_PRIORITY_TO_QUEUE"] == nil {
		r.db.tables["MAP_PFC_PRIORITY_TO_QUEUE"] = old
	}
	for _, ref := range sonicRefs {
		for _, row := range r.db.rowsOf(ref.table) {
			r.readMap(ref.table, row)
		}
	}
	for _, row := range r.db.rowsOf("WRED_PROFILE") {
		r.c.Profiles = append(r.c.Profiles, *r.wredProfile(row))
	}
	rows := make(map[string]*qosRow)
	for _, row := range r.db.rowsOf("PORT_QOS_MAP") {
		q := r.qosRow(row)
		for _, port := range portsIn(row.key) {
			if rows[port] != nil {
				r.problem(fabric.TextConflict, port, row.at, fmt.Sprintf("%s has two rows in PORT_QOS_MAP", port), "the one that SONiC reads last counts")
			}
			rows[port] = q
		}
	}
	r.bindings = rows
	attached := r.queueRows()
	for _, p := range r.ports {
		r.bind(p, rows[p.Name], rows["global"])
		r.bindQueues(p, attached[p.Name])
	}
}

// qosRow reads a row of PORT_QOS_MAP.
func (r *reader) qosRow(row *sonicRow) *qosRow {
	q := &qosRow{row: row, maps: make(map[string]*sonicMap), where: make(map[string]fabric.Line), unknown: make(map[string]bool)}
	port := row.key
	if strings.Contains(port, ",") {
		port = ""
	}
	for _, ref := range sonicRefs {
		f := row.get(ref.field)
		switch f {
		case nil:
			q.unknown[ref.field] = !row.closed
		default:
			to := r.defined(ref.table, f.value, f, port, "orchagent waits for it and applies nothing of the row, neither maps nor PFC")
			if to == nil {
				q.unknown[ref.field] = true
				continue
			}
			q.maps[ref.field], q.where[ref.field] = r.readMap(ref.table, to), f.at
			r.used[mapKey{ref.table, f.value}] = true
		}
	}
	q.pfc = r.priorities(row, "pfc_enable", port)
	q.watched = r.priorities(row, "pfcwd_sw_enable", port)
	r.shared(q, port)
	if f := row.get("pfcwd_sw_enable"); f != nil && q.pfc != nil && q.watched != nil && !slices.Equal(q.pfc.Is, q.watched.Is) {
		r.problem(fabric.TextConflict, port, f.at, fmt.Sprintf("the watchdog watches priorities %s, PFC is on for %s", fabric.Ranges(q.watched.Is, "none"), fabric.Ranges(q.pfc.Is, "none")),
			"a priority with PFC and without watchdog can stay paused for ever")
	}
	return q
}

// shared tells priorities whose pauses stop one queue, once for a map. One without PFC does nothing there yet, and is told all
// the same: nobody means it.
func (r *reader) shared(q *qosRow, port string) {
	m := q.maps["pfc_to_queue_map"]
	if m == nil || q.pfc == nil || r.sharing[m] {
		return
	}
	for _, with := range q.pfc.Is {
		for p, to := range m.to[:8] {
			if p == with || to == nil || m.to[with] == nil || to.Is != m.to[with].Is {
				continue
			}
			r.sharing[m] = true
			what := fmt.Sprintf("a pause of priority %d stops queue %d, as one of priority %d does, which has PFC", p, to.Is, with)
			if slices.Contains(q.pfc.Is, p) {
				r.problem(fabric.TextConflict, port, to.At, what, "a pause of either stops the packets of both")
			} else {
				r.problem(fabric.TextInert, port, to.At, what, "nothing while PFC is off for it")
			}
			return
		}
	}
}

// priorities reads a list such as 3,4. A row that has none has PFC, or the watchdog, for no priority.
func (r *reader) priorities(row *sonicRow, field, port string) *fabric.Said[[]int] {
	f := row.get(field)
	if f == nil {
		if row.closed {
			return byDefault([]int{}, field+" is not set (sonic-swss, orchagent/qosorch.cpp, handlePortQosMapTable)")
		}
		return nil
	}
	var mask [8]bool
	for _, word := range strings.Split(f.value, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		one := sonicField{field, word, f.at}
		if v := r.small(&one, port, 0, 7); v != nil {
			mask[v.Is] = true
		}
	}
	list := []int{}
	for p, on := range mask {
		if on {
			list = append(list, p)
		}
	}
	return said(list, f.at)
}

// bind gives a port its classification, its PFC and what pauses stop. A port without dscp_to_tc_map has the map of the row
// global, which orchagent gives the whole switch (SAI_SWITCH_ATTR_QOS_DSCP_TO_TC_MAP).
func (r *reader) bind(p *fabric.PortConfig, q, global *qosRow) {
	if q == nil {
		if !r.db.complete("PORT_QOS_MAP") {
			return
		}
		why := "the port has no row in PORT_QOS_MAP"
		q = &qosRow{pfc: byDefault([]int{}, why), watched: byDefault([]int{}, why)}
	}
	p.PFC = q.pfc
	from := q
	if q.maps["dscp_to_tc_map"] == nil && !q.unknown["dscp_to_tc_map"] && global != nil {
		from = global
	}
	if f := from.row.get("dscp_to_tc_map"); f != nil && from.unknown["dscp_to_tc_map"] { // by a map that no text has
		p.Trust = said("dscp", f.at)
	}
	if !from.unknown["dscp_to_tc_map"] {
		key := r.classKey(q, from.maps["dscp_to_tc_map"], r.lossy[p.Name])
		t := r.classes[key]
		if t == nil {
			t = newClassTables(key, r.lossy[p.Name])
			r.classes[key] = t
		}
		p.Trust, p.DSCP, p.PCP = trustOf(q, from), t.dscp, t.pcp
	}
	r.bindRest(p, q)
}

// bindRest gives a port what does not depend on what comes in.
func (r *reader) bindRest(p *fabric.PortConfig, q *qosRow) {
	asymmetric := r.db.row("PORT", p.Name).get("pfc_asym")
	key := stopKey{q, asymmetric != nil && asymmetric.value == "on"}
	s := r.stops[key]
	if s == nil {
		s = stopsOf(key)
		r.stops[key] = s
	}
	p.Stops = *s
	if m := q.maps["tc_to_dscp_map"]; m != nil {
		p.Rewrite = make(map[string]fabric.Said[int])
		for tc, to := range m.to {
			if to != nil {
				p.Rewrite[strconv.Itoa(tc)] = *to
			}
		}
	}
}

// stopKey is what decides which queues a port stops: its row, and whether it obeys pauses of priorities without PFC.
type stopKey struct {
	row        *qosRow
	asymmetric bool
}

// stopsOf returns the queue that a pause of each priority stops. What a chip does without a map is in no public document.
func stopsOf(key stopKey) *[8]*fabric.Said[int] {
	var s [8]*fabric.Said[int]
	q := key.row
	m := q.maps["pfc_to_queue_map"]
	for p := range s {
		switch {
		case q.pfc == nil:
		case !key.asymmetric && !slices.Contains(q.pfc.Is, p):
			s[p] = said(-1, q.pfc.At)
		case m != nil:
			s[p] = m.to[p]
		}
	}
	return &s
}

// unattached tells maps and profiles that no port uses.
func (r *reader) unattached() {
	if r.db.complete("PORT_QOS_MAP") {
		for _, ref := range sonicRefs {
			for _, row := range r.db.rowsOf(ref.table) {
				if !r.used[mapKey{ref.table, row.key}] && !r.tunnelled(row.key) {
					r.problem(fabric.TextUnattached, "", row.at, fmt.Sprintf("no port uses %s|%s", ref.table, row.key), "it does nothing")
				}
			}
		}
	}
	if r.db.complete("QUEUE") {
		for _, row := range r.db.rowsOf("WRED_PROFILE") {
			if !r.used[mapKey{"WRED_PROFILE", row.key}] {
				r.problem(fabric.TextUnattached, "", row.at, fmt.Sprintf("no queue uses WRED_PROFILE|%s", row.key), "it does nothing")
			}
		}
	}
}

// tunnelled reports whether a tunnel uses a map.
func (r *reader) tunnelled(name string) bool {
	for _, row := range r.db.rowsOf("TUNNEL") {
		for _, f := range row.fields {
			if strings.HasSuffix(f.name, "_map") && f.value == name {
				return true
			}
		}
	}
	return false
}
