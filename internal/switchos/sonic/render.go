// Package sonic is community SONiC, configured by the tables of CONFIG_DB (sonic-buildimage, src/sonic-yang-models): what is
// rendered for it, and what its database and show commands say.
package sonic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// OS is community SONiC. Every value of its tables is a string.
type OS struct{}

// The tables of CONFIG_DB, in the order in which they are written.
type (
	table struct {
		name string
		rows []row
	}
	row struct {
		key    string
		fields []field
	}
	field struct{ name, value string }
)

// Names returns the id and the title of SONiC.
func (OS) Names() (id, title string) { return "sonic", "SONiC" }

// Load returns the command that adds a copied file to the running configuration.
func (OS) Load(file string) string { return "sudo config load " + file }

// Render returns what `config load` adds to the existing configuration of the switch.
func (OS) Render(s fabric.Switch, t *fabric.Traffic) switchtext.Config {
	tables := append([]table{sonicDevice(s), sonicPorts(s)}, breakouts(s)...)
	tables = append(tables, networks(s)...)
	omits := sonicOmits(s, t)
	if t != nil {
		tables = append(tables, sonicMaps(*t)...)
		tables = append(tables, sonicPFC(s, *t)...)
		tables = append(tables, sonicQueues(s, *t)...)
	}
	slices.SortStableFunc(tables, func(a, b table) int { return cmp.Compare(a.name, b.name) })
	// A file of its own: config_db.json beside it is the whole configuration, of which this is a part.
	return switchtext.Config{Path: "/etc/sonic/railwright.json", Extension: ".json", Text: sonicText(tables), Omits: omits}
}

// sonicOmits lists what the switch needs and the file has not.
func sonicOmits(s fabric.Switch, t *fabric.Traffic) []string {
	omits := []string{"PORT lanes, alias and index: the switch has its own", "management interface"}
	if s.BGP == nil {
		omits = append(omits, "uplinks and routing to other switches: the plan has none")
	} else {
		omits = append(omits, switchtext.NoBalancing)
	}
	omits = append(omits, bgpOmits(s)...)
	if slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return !p.Address.IsValid() && p.VLAN == 0 }) {
		omits = append(omits, "VLAN, VLAN_MEMBER and VLAN_INTERFACE of the subnets: the plan has no VLAN ids")
	}
	if slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return sonicFEC(p) == "" }) {
		omits = append(omits, "PORT fec below 200 Gb/s: cables with and without it exist")
	}
	if slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return p.Breakout > 1 }) {
		omits = append(omits, "splitting cages: BREAKOUT_CFG only records it; before loading the file: sudo config interface breakout PORT MODE")
	}
	if s.MTU > MaxMTU {
		omits = append(omits, fmt.Sprintf("PORT mtu: SONiC accepts at most %d bytes, not %d", MaxMTU, s.MTU))
	}
	if t == nil {
		return append(omits, "QoS maps and PFC: the plan has no traffic classes")
	}
	omits = append(omits, "BUFFER_POOL, BUFFER_PROFILE and BUFFER_PG: the buffer daemon derives headroom from speed, cable length and MTU")
	if !slices.Contains([]int{5, 40, 300}, t.CableM) {
		omits = append(omits, fmt.Sprintf("headroom for %d m where DEVICE_METADATA has buffer_model traditional: its pg_profile_lookup.ini "+
			"commonly has 5, 40 and 300 m, and a length that it has not gets no lossless buffer", t.CableM))
	}
	return omits
}

// MaxMTU is the largest MTU of a port, in bytes of IP: sonic-port.yang, leaf mtu, range 68..9216.
const MaxMTU = 9216

func sonicPorts(s fabric.Switch) table {
	t := table{name: "PORT", rows: make([]row, 0, len(s.Ports))}
	for _, p := range s.Ports {
		fields := []field{{"admin_status", "up"}, {"description", p.Peer.String()}}
		if s.MTU > 0 && s.MTU <= MaxMTU {
			fields = append(fields, field{"mtu", strconv.Itoa(s.MTU)})
		}
		if fec := sonicFEC(p); fec != "" {
			fields = slices.Insert(fields, 2, field{"fec", fec})
		}
		if p.RateGbps > 0 {
			fields = append(fields, field{"speed", strconv.Itoa(int(p.RateGbps * 1000))}) // Mb/s
		}
		t.rows = append(t.rows, row{p.Name, fields})
	}
	return t
}

// sonicMaps returns the maps from DSCP value to queue. A traffic class has the number of its priority, its queue
// and, where it is lossless, its priority group.
func sonicMaps(t fabric.Traffic) []table {
	rest := strconv.Itoa(switchtext.UnusedPriority(t))
	var dscp, queues, groups []field
	for i := range 64 {
		dscp = append(dscp, field{strconv.Itoa(i), rest})
	}
	for i := range 8 {
		queues = append(queues, field{strconv.Itoa(i), strconv.Itoa(i)})
		groups = append(groups, field{strconv.Itoa(i), rest})
	}
	for _, c := range t.Classes {
		dscp[c.DSCP].value = strconv.Itoa(c.Priority)
		if c.Lossless {
			groups[c.Priority].value = strconv.Itoa(c.Priority)
		}
	}
	named := func(name string, fields []field) table { return table{name, []row{{switchtext.QoSName, fields}}} }
	return []table{
		named("DSCP_TO_TC_MAP", dscp), named("TC_TO_QUEUE_MAP", queues), named("TC_TO_PRIORITY_GROUP_MAP", groups),
		named("MAP_PFC_PRIORITY_TO_QUEUE", queues),
	}
}

// sonicPFC returns the rows that bind the maps to the ports, with PFC, the watchdog and the cable length.
func sonicPFC(s fabric.Switch, t fabric.Traffic) []table {
	var priorities []string
	for _, c := range t.Classes {
		if c.Lossless {
			priorities = append(priorities, strconv.Itoa(c.Priority))
		}
	}
	lossless := strings.Join(priorities, ",") // empty: no PFC, which SONiC takes too (sonic-port-qos-map.yang, pfc_enable)
	fields := []field{
		{"dscp_to_tc_map", switchtext.QoSName}, {"pfc_enable", lossless}, {"pfc_to_queue_map", switchtext.QoSName},
		{"tc_to_pg_map", switchtext.QoSName}, {"tc_to_queue_map", switchtext.QoSName},
	}
	lengths := make([]field, 0, len(s.Ports))
	for _, p := range s.Ports {
		lengths = append(lengths, field{p.Name, strconv.Itoa(t.CableM) + "m"})
	}
	tables := []table{{"CABLE_LENGTH", []row{{"AZURE", lengths}}}} // the only name that SONiC's buffer manager reads
	if t.Watchdog != nil && lossless != "" {
		fields = append(fields, field{"pfcwd_sw_enable", lossless})
		tables = append(tables, perPort("PFC_WD", "", s, []field{
			{"action", "drop"}, {"detection_time", strconv.Itoa(t.Watchdog.DetectMs)}, {"restoration_time", strconv.Itoa(t.Watchdog.RestoreMs)},
		}))
	}
	return append(tables, perPort("PORT_QOS_MAP", "", s, fields))
}

// sonicQueues returns how the queues of the classes and of all other packets share a port, and a WRED profile for each
// class that is marked. Marking acts on green packets, which all packets are unless the switch colours them.
func sonicQueues(s fabric.Switch, t fabric.Traffic) []table {
	schedulers, profiles, queues := table{name: "SCHEDULER"}, table{name: "WRED_PROFILE"}, table{name: "QUEUE"}
	for _, q := range switchtext.Queues(t) {
		name := switchtext.QoSName + "_" + q.Name
		fields := []field{{"type", "STRICT"}}
		if q.Percent > 0 {
			fields = []field{{"type", "DWRR"}, {"weight", strconv.Itoa(q.Percent)}}
		}
		schedulers.rows = append(schedulers.rows, row{name, fields})
		fields = []field{{"scheduler", name}}
		if q.ECN != nil {
			profiles.rows = append(profiles.rows, row{name, []field{
				{"ecn", "ecn_green"},
				{"green_drop_probability", strconv.Itoa(q.ECN.Percent)},
				{"green_max_threshold", strconv.FormatInt(q.ECN.MaxBytes, 10)},
				{"green_min_threshold", strconv.FormatInt(q.ECN.MinBytes, 10)},
				{"wred_green_enable", "true"},
			}})
			fields = append(fields, field{"wred_profile", name})
		}
		queues.rows = append(queues.rows, perPort("", "|"+strconv.Itoa(q.Number), s, fields).rows...)
	}
	tables := []table{schedulers, queues}
	if len(profiles.rows) > 0 {
		tables = append(tables, profiles)
	}
	return tables
}

// perPort writes the same row for every port; suffix ends its key.
func perPort(name, suffix string, s fabric.Switch, fields []field) table {
	t := table{name: name, rows: make([]row, 0, len(s.Ports))}
	for _, p := range s.Ports {
		t.rows = append(t.rows, row{p.Name + suffix, fields})
	}
	return t
}

// sonicText writes the tables as JSON, indented by four spaces per level as SONiC does, with the ports in their order.
// It writes text rather than marshalling maps: a cluster of 16,384 nodes has 4,096 leaves.
func sonicText(tables []table) []byte {
	b := make([]byte, 0, 1<<16) // those of a leaf of 32 hosts are 35 KB
	object := func(indent string, n int, member func(i int)) {
		if n == 0 {
			b = append(b, "{}"...)
			return
		}
		for i := range n {
			if i == 0 {
				b = append(b, '{', '\n')
			} else {
				b = append(b, ',', '\n')
			}
			b = append(b, indent...)
			member(i)
		}
		b = append(b, '\n')
		b = append(b, indent[4:]...)
		b = append(b, '}')
	}
	key := func(text string) { b = append(appendJSON(b, text), ": "...) }
	object("    ", len(tables), func(i int) {
		t := tables[i]
		key(t.name)
		object("        ", len(t.rows), func(i int) {
			r := t.rows[i]
			key(r.key)
			object("            ", len(r.fields), func(i int) {
				key(r.fields[i].name)
				b = appendJSON(b, r.fields[i].value)
			})
		})
	})
	return append(b, '\n')
}

// appendJSON appends a JSON string.
func appendJSON(b []byte, text string) []byte {
	if !isPlain(text) {
		quoted, err := json.Marshal(text)
		if err != nil {
			panic(err) // marshalling a string never fails
		}
		return append(b, quoted...)
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// isPlain reports whether JSON has a text as it stands.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
