package switchos

import (
	"encoding/json"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

// sonic is community SONiC, configured by the tables of CONFIG_DB (sonic-buildimage,
// src/sonic-yang-models). Every value is a string.
type sonic struct{}

// qosName is the name of every map and profile that is rendered.
const qosName = "RAILWRIGHT"

// table is one table of CONFIG_DB: row key, field, value.
type table map[string]map[string]string

func (sonic) Names() (id, title string) { return "sonic", "SONiC" }

func (sonic) Load(file string) string { return "sudo config load " + file }

// Render gives what `config load` adds to the configuration that the switch already has.
func (sonic) Render(s fabric.Switch, t *fabric.Traffic) Config {
	tables := map[string]table{
		"DEVICE_METADATA": {"localhost": {"hostname": s.Name}},
		"PORT":            sonicPorts(s),
	}
	omits := []string{
		"PORT lanes, alias, index and fec: the switch has its own",
		"management interface, uplinks and routing to other switches",
	}
	if interfaces := sonicInterfaces(s); len(interfaces) > 0 {
		tables["INTERFACE"] = interfaces
	} else {
		omits = append(omits, "VLAN, VLAN_MEMBER and VLAN_INTERFACE of the subnets: the plan has no VLAN ids")
	}
	if t == nil {
		omits = append(omits, "QoS maps and PFC: the plan has no traffic classes")
	} else {
		sonicTraffic(tables, s, *t)
		omits = append(omits, "BUFFER_POOL, BUFFER_PROFILE and BUFFER_PG: the switch derives them from speed and cable length; SCHEDULER weights")
	}
	text, err := json.MarshalIndent(tables, "", "    ")
	if err != nil {
		panic(err) // maps of strings can always be written
	}
	return Config{Path: "/etc/sonic/config_db.json", Text: append(text, '\n'), Omits: omits}
}

func sonicPorts(s fabric.Switch) table {
	rows := make(table, len(s.Ports))
	for _, p := range s.Ports {
		row := map[string]string{"admin_status": "up", "description": p.Peer.String()}
		if s.MTU > 0 {
			row["mtu"] = strconv.Itoa(s.MTU)
		}
		if p.RateGbps > 0 {
			row["speed"] = strconv.Itoa(int(p.RateGbps * 1000)) // Mb/s
		}
		rows[p.Name] = row
	}
	return rows
}

// sonicInterfaces gives each routed port and its address, in the two rows that SONiC needs for it.
func sonicInterfaces(s fabric.Switch) table {
	rows := table{}
	for _, p := range s.Ports {
		if p.Address.IsValid() {
			rows[p.Name] = map[string]string{}
			rows[p.Name+"|"+p.Address.String()] = map[string]string{}
		}
	}
	return rows
}

// sonicTraffic adds the maps from DSCP to queue, PFC, ECN, the watchdog and the cable length. A traffic class
// has the number of its priority, its queue and, where it is lossless, its priority group.
func sonicTraffic(tables map[string]table, s fabric.Switch, t fabric.Traffic) {
	rest := strconv.Itoa(unusedPriority(t))
	dscp, queues, groups := map[string]string{}, map[string]string{}, map[string]string{}
	for i := range 64 {
		dscp[strconv.Itoa(i)] = rest
	}
	for i := range 8 {
		queues[strconv.Itoa(i)] = strconv.Itoa(i)
		groups[strconv.Itoa(i)] = rest
	}
	lossless := ""
	for _, c := range t.Classes {
		class := strconv.Itoa(c.Priority)
		dscp[strconv.Itoa(c.DSCP)] = class
		if !c.Lossless {
			continue
		}
		groups[class] = class
		if lossless != "" {
			lossless += ","
		}
		lossless += class
	}
	tables["DSCP_TO_TC_MAP"] = table{qosName: dscp}
	tables["TC_TO_QUEUE_MAP"] = table{qosName: queues}
	tables["TC_TO_PRIORITY_GROUP_MAP"] = table{qosName: groups}
	tables["MAP_PFC_PRIORITY_TO_QUEUE"] = table{qosName: queues}
	row := map[string]string{
		"dscp_to_tc_map": qosName, "tc_to_queue_map": qosName, "tc_to_pg_map": qosName, "pfc_to_queue_map": qosName,
		"pfc_enable": lossless,
	}
	if t.Watchdog != nil {
		row["pfcwd_sw_enable"] = lossless
		tables["PFC_WD"] = perPort(s, map[string]string{
			"action": "drop", "detection_time": strconv.Itoa(t.Watchdog.DetectMs), "restoration_time": strconv.Itoa(t.Watchdog.RestoreMs),
		})
	}
	tables["PORT_QOS_MAP"] = perPort(s, row)
	lengths := make(map[string]string, len(s.Ports))
	for _, p := range s.Ports {
		lengths[p.Name] = strconv.Itoa(t.CableM) + "m"
	}
	tables["CABLE_LENGTH"] = table{"AZURE": lengths} // the one name under which SONiC's buffer manager looks
	sonicECN(tables, s, t)
}

// sonicECN adds a WRED profile for each class that is marked. It acts on green packets, which all are
// unless the switch colours them.
func sonicECN(tables map[string]table, s fabric.Switch, t fabric.Traffic) {
	for _, c := range t.Classes {
		if c.ECN == nil {
			continue
		}
		if tables["WRED_PROFILE"] == nil {
			tables["WRED_PROFILE"], tables["QUEUE"] = table{}, table{}
		}
		name := qosName + "_" + c.Name
		tables["WRED_PROFILE"][name] = map[string]string{
			"wred_green_enable": "true", "ecn": "ecn_green",
			"green_min_threshold":    strconv.FormatInt(c.ECN.MinBytes, 10),
			"green_max_threshold":    strconv.FormatInt(c.ECN.MaxBytes, 10),
			"green_drop_probability": strconv.Itoa(c.ECN.Percent),
		}
		for _, p := range s.Ports {
			tables["QUEUE"][p.Name+"|"+strconv.Itoa(c.Priority)] = map[string]string{"wred_profile": name}
		}
	}
}

// perPort gives every port the same row.
func perPort(s fabric.Switch, row map[string]string) table {
	rows := make(table, len(s.Ports))
	for _, p := range s.Ports {
		rows[p.Name] = row
	}
	return rows
}

// unusedPriority is the lowest priority that no class has: the one of all other packets.
func unusedPriority(t fabric.Traffic) int {
	p := 0
	for slices.ContainsFunc(t.Classes, func(c fabric.TrafficClass) bool { return c.Priority == p }) {
		p++
	}
	return p
}
