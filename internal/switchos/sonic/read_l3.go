package sonic

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// device reads what the switch is called, and its BGP.
func (r *reader) device() {
	local := r.db.row("DEVICE_METADATA", "localhost")
	if f := local.get("hostname"); f != nil {
		r.c.Hostname = said(f.value, f.at)
	}
	r.bgp(local)
}

// vlans reads the VLANs, who is in them, and the addresses that the switch has in them.
func (r *reader) vlans() {
	ids := make(map[int]string)
	at := make(map[string]int) // index in Config.VLANs, by name
	for _, row := range r.db.rowsOf("VLAN") {
		id, ok := r.vlanID(row)
		if !ok {
			continue
		}
		if other, taken := ids[id]; taken {
			r.problem(fabric.TextDuplicate, "", row.at, fmt.Sprintf("%s and %s are both VLAN %d", other, row.key, id), "the second is refused")
			continue
		}
		ids[id], at[row.key] = row.key, len(r.c.VLANs)
		v := fabric.VLANConfig{ID: id, At: row.at, MTU: r.small(row.get("mtu"), row.key, 1, MaxMTU)}
		if row.get("mtu") == nil && row.closed {
			v.MTU = byDefault(9100, "MTU 9100 (sonic-swss, cfgmgr/vlanmgr.cpp, DEFAULT_MTU_STR)")
		}
		r.c.VLANs = append(r.c.VLANs, v)
	}
	for _, row := range r.db.rowsOf("VLAN_INTERFACE") {
		name, text, ok := strings.Cut(row.key, "|")
		i, known := at[name]
		if !known {
			r.noVLAN(name, "", row)
		} else if ok {
			if a := r.prefix(text, "", row.at); a != nil {
				r.c.VLANs[i].Addresses = append(r.c.VLANs[i].Addresses, *a)
			}
		}
	}
	r.members(func(name string) (int, bool) {
		i, ok := at[name]
		if !ok {
			return 0, false
		}
		return r.c.VLANs[i].ID, true
	})
}

// noVLAN tells that a row names a VLAN that is not defined.
func (r *reader) noVLAN(name, port string, row *sonicRow) {
	if r.db.row("VLAN", name) == nil && r.db.complete("VLAN") {
		r.problem(fabric.TextUndefined, port, row.at, fmt.Sprintf("%q names the VLAN %s, which VLAN has not", short(row.key), name), "the row has no effect")
	}
}

func (r *reader) vlanID(row *sonicRow) (int, bool) {
	digits, named := strings.CutPrefix(row.key, "Vlan")
	f := row.get("vlanid")
	if f == nil {
		f = &sonicField{"the number of " + row.key, digits, row.at}
	}
	v := r.small(f, "", 2, 4094)
	if v == nil {
		return 0, false
	}
	if named && strconv.Itoa(v.Is) != digits {
		r.problem(fabric.TextConflict, "", v.At, fmt.Sprintf("%s has the number %d", row.key, v.Is), "SONiC takes the number of the name")
		n, err := strconv.Atoi(digits)
		return n, err == nil
	}
	return v.Is, true
}

// members reads in which VLAN each port is without a tag. What is set for a group of ports holds for each of its ports.
func (r *reader) members(idOf func(string) (int, bool)) {
	groups := make(map[string][]string)
	for _, row := range r.db.rowsOf("PORTCHANNEL_MEMBER") {
		if group, port, ok := strings.Cut(row.key, "|"); ok {
			groups[group] = append(groups[group], port)
		}
	}
	tagged := make(map[string]bool)
	for _, row := range r.db.rowsOf("VLAN_MEMBER") {
		name, member, ok := strings.Cut(row.key, "|")
		if !ok {
			continue
		}
		id, known := idOf(name)
		if !known {
			r.noVLAN(name, member, row)
		}
		ports := []string{member}
		if g, ok := groups[member]; ok {
			ports = g
		}
		mode := row.get("tagging_mode")
		for _, port := range ports {
			switch p := r.byName[port]; {
			case p == nil || !known || mode == nil:
			case mode.value != "untagged" && mode.value != "priority_tagged": // both without (cfgmgr/vlanmgr.cpp, addHostVlanMember)
				tagged[port] = true
			case p.VLAN != nil && p.VLAN.Is != id:
				r.problem(fabric.TextConflict, port, row.at, fmt.Sprintf("%s is without a tag in VLAN %d and in VLAN %d", port, p.VLAN.Is, id), "SONiC refuses the second")
			default:
				p.VLAN = said(id, row.at)
			}
		}
	}
	for _, row := range r.db.rowsOf("PORTCHANNEL_INTERFACE") {
		group, _, _ := strings.Cut(row.key, "|")
		for _, port := range groups[group] {
			r.routed[port] = row.at
		}
	}
	r.routedPorts(tagged, groups)
}

// routedPorts gives the ports that are in no VLAN the number 0.
func (r *reader) routedPorts(tagged map[string]bool, groups map[string][]string) {
	bundled := make(map[string]bool)
	for _, ports := range groups {
		for _, port := range ports {
			bundled[port] = true
		}
	}
	speaks := r.db.whole || r.db.tables["VLAN_MEMBER"] != nil || r.db.tables["INTERFACE"] != nil
	for _, p := range r.ports {
		at, routed := r.routed[p.Name]
		switch {
		case routed && p.VLAN != nil:
			r.problem(fabric.TextConflict, p.Name, at, fmt.Sprintf("%s is routed and in VLAN %d", p.Name, p.VLAN.Is), "SONiC refuses one of the two")
		case routed:
			p.VLAN = said(0, at)
		case p.VLAN == nil && speaks && !tagged[p.Name] && !bundled[p.Name]:
			p.VLAN = byDefault(0, "a port that is in no VLAN is routed (sonic-port.yang, leaf mode)")
		}
	}
}
