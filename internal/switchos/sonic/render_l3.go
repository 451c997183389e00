package sonic

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

// sonicDevice names the switch, and gives it its number in BGP and its router id (SONiC, doc/BGP/BGP-router-id.md).
func sonicDevice(s fabric.Switch) table {
	var fields []field
	if s.BGP != nil {
		fields = append(fields, field{"bgp_asn", strconv.FormatUint(uint64(s.BGP.ASN), 10)})
		if s.BGP.RouterID.IsValid() {
			fields = append(fields, field{"bgp_router_id", s.BGP.RouterID.String()})
		}
	}
	return table{"DEVICE_METADATA", []row{{"localhost", append(fields, field{"hostname", s.Name})}}}
}

// sonicFEC returns the error correction of a port, empty where it depends on the cable: every Ethernet of 200 Gb/s and more
// needs RS-FEC, since all of them are of PAM4 lanes (IEEE 802.3 clauses 119 and 172).
func sonicFEC(p fabric.SwitchPort) string {
	if p.RateGbps >= 200 {
		return "rs"
	}
	return ""
}

// breakouts records how each cage is split, under the name of its first port.
func breakouts(s fabric.Switch) []table {
	t := table{name: "BREAKOUT_CFG"}
	first := make(map[string]int) // index of each cage's row
	lanes := make(map[string]int)
	for _, p := range s.Ports {
		lane, ok := laneOf(p.Name)
		if p.Cage == "" || p.Breakout < 1 || p.RateGbps <= 0 || !ok {
			continue
		}
		i, seen := first[p.Cage]
		switch {
		case !seen:
			first[p.Cage], lanes[p.Cage] = len(t.rows), lane
			t.rows = append(t.rows, row{p.Name, []field{{"brkout_mode", fmt.Sprintf("%dx%dG", p.Breakout, int(p.RateGbps))}}})
		case lane < lanes[p.Cage]:
			t.rows[i].key, lanes[p.Cage] = p.Name, lane
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	return []table{t}
}

// networks returns the addresses of the switch: of routed ports and of VLANs, each in the two rows that SONiC needs for
// it, the ports of each VLAN, and the neighbours of BGP.
func networks(s fabric.Switch) []table {
	ports, vlans, members, gateways := table{name: "INTERFACE"}, table{name: "VLAN"}, table{name: "VLAN_MEMBER"}, table{name: "VLAN_INTERFACE"}
	known := make(map[int]string)
	for _, v := range s.VLANs {
		name := "Vlan" + strconv.Itoa(v.ID)
		known[v.ID] = name
		fields := []field{{"description", v.Name}, {"mtu", strconv.Itoa(s.MTU)}, {"vlanid", strconv.Itoa(v.ID)}}
		if s.MTU <= 0 || s.MTU > MaxMTU {
			fields = slices.Delete(fields, 1, 2)
		}
		if v.Name == "" {
			fields = fields[1:]
		}
		vlans.rows = append(vlans.rows, row{name, fields})
		if v.Gateway.IsValid() {
			gateways.rows = append(gateways.rows, row{key: name}, row{key: name + "|" + v.Gateway.String()})
		}
	}
	for _, p := range s.Ports {
		name, in := known[p.VLAN]
		switch {
		case p.Address.IsValid():
			ports.rows = append(ports.rows, row{key: p.Name}, row{key: p.Name + "|" + p.Address.String()})
		case in:
			members.rows = append(members.rows, row{name + "|" + p.Name, []field{{"tagging_mode", "untagged"}}})
		}
	}
	tables := append([]table{ports, vlans, members, gateways}, bgp(s)...)
	return slices.DeleteFunc(tables, func(t table) bool { return len(t.rows) == 0 })
}

// bgp returns the neighbours of BGP. bgpcfgd waits for the local address of a session, and for metadata of a neighbour
// that has a name (sonic-buildimage, src/sonic-bgpcfgd/bgpcfgd/managers_bgp.py).
func bgp(s fabric.Switch) []table {
	if s.BGP == nil {
		return nil
	}
	kind := "SpineRouter"
	if s.Role == fabric.Spine {
		kind = "LeafRouter"
	}
	uplinks := make(map[netip.Prefix]fabric.SwitchPort, len(s.Ports))
	for _, p := range s.Ports {
		if p.Address.IsValid() {
			uplinks[p.Address.Masked()] = p
		}
	}
	neighbours, metadata := table{name: "BGP_NEIGHBOR"}, table{name: "DEVICE_NEIGHBOR_METADATA"}
	named := make(map[string]bool)
	for _, n := range s.BGP.Neighbours {
		fields := []field{{"asn", strconv.FormatUint(uint64(n.ASN), 10)}}
		for bits := n.Address.BitLen() - 1; bits >= 0; bits-- {
			subnet, err := n.Address.Prefix(bits)
			p, ok := uplinks[subnet]
			if err != nil || !ok {
				continue
			}
			fields = append(fields, field{"local_addr", p.Address.Addr().String()}, field{"name", p.Peer.Node})
			if !named[p.Peer.Node] {
				named[p.Peer.Node] = true
				metadata.rows = append(metadata.rows, row{p.Peer.Node, []field{{"type", kind}}})
			}
			break
		}
		neighbours.rows = append(neighbours.rows, row{n.Address.String(), fields})
	}
	return []table{neighbours, metadata}
}

// bgpOmits lists what BGP needs and CONFIG_DB does not take: bgpcfgd announces the subnets of VLANs, and no others
// (sonic-buildimage, dockers/docker-fpm-frr/frr/bgpd/bgpd.main.conf.j2).
func bgpOmits(s fabric.Switch) []string {
	if s.BGP == nil {
		return nil
	}
	var omits []string
	announced := make(map[netip.Prefix]bool)
	for _, v := range s.VLANs {
		if v.Gateway.IsValid() {
			announced[v.Gateway.Masked()] = true
		}
	}
	if slices.ContainsFunc(s.BGP.Networks, func(n netip.Prefix) bool { return !announced[n.Masked()] }) {
		omits = append(omits, fmt.Sprintf("announcing the subnets of routed ports: CONFIG_DB announces those of VLANs alone; "+
			"vtysh -c 'configure terminal' -c 'router bgp %d' -c 'address-family ipv4 unicast' -c 'redistribute connected'", s.BGP.ASN))
	}
	return append(omits, "LOOPBACK_INTERFACE Loopback0: SONiC without bgp_router_id (before 2024) starts no session until it has an address")
}
