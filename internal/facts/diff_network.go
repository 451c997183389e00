package facts

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func (d *differ) nics() {
	d.nic = newPairing()
	if d.unread(fabric.FactNICs, len(d.a.NICs), len(d.b.NICs)) {
		return
	}
	pairs := d.matchNICs()
	for _, p := range pairs {
		if p.a != nil && p.b != nil {
			d.nic.add(p.a.Name, p.b.Name)
		}
	}
	for _, p := range pairs {
		if p.a == nil || p.b == nil {
			one, severity := cmp.Or(p.a, p.b), isError
			if one.Kind != "" {
				severity = isInfo // containers and virtual machines come and go
			}
			d.missing(rankDevice, severity, "NIC "+one.Name, p.a != nil, p.b != nil, "fewer interfaces than the other", fabric.FactNICs)
			continue
		}
		d.oneNIC(p.a, p.b)
	}
	d.lldp()
	d.neighbours()
}

// matchNICs pairs interfaces by MAC address if it is one node, by name, and those left of one driver in order.
// Only hardware has a MAC address of its own.
func (d *differ) matchNICs() []pair[fabric.NIC] {
	keys := []func(*fabric.NIC) string{func(n *fabric.NIC) string { return n.Name }}
	if d.identities {
		mac := func(n *fabric.NIC) string {
			if n.PCI == "" {
				return ""
			}
			return n.MAC
		}
		keys = append([]func(*fabric.NIC) string{mac}, keys...)
	}
	kind := func(n *fabric.NIC) string {
		if n.PCI == "" {
			return ""
		}
		return n.Driver
	}
	return match(d.a.NICs, d.b.NICs, kind, keys...)
}

func (d *differ) oneNIC(a, b *fabric.NIC) {
	thing := "NIC " + d.nic.ofA(a.Name)
	if a.Name != b.Name && a.MAC == b.MAC {
		thing += " with MAC address " + a.MAC
	}
	d.compare(thing,
		field{rankMTU, isError, "MTU", mtuText(a.MTU), mtuText(b.MTU), "larger packets are dropped at the smaller MTU"},
		field{rankPort, isError, "state", text(a.OperState), text(b.OperState), "only an interface that is up carries traffic"},
		field{rankPort, isError, "carrier", value(a.Carrier), value(b.Carrier), "cable, transceiver or far end"},
		field{rankPort, isError, "speed", unit(value(a.SpeedMbps), "Mb/s"), unit(value(b.SpeedMbps), "Mb/s"), "the slower port limits every ring through it"},
		field{rankOther, isWarning, "name", a.Name, b.Name, "settings that name an interface apply to another one"},
		field{rankVersion, isWarning, "firmware", text(a.Firmware), text(b.Firmware), "ports of one fabric should run one"},
		field{rankVersion, isWarning, "driver", text(a.Driver), text(b.Driver), ""},
		field{rankVersion, isWarning, "driver version", text(a.DriverVersion), text(b.DriverVersion), "all nodes of a job should have the same"},
		field{rankPort, isWarning, "FEC", text(a.FEC), text(b.FEC), "both ends of a cable need the same"},
		field{rankPort, isInfo, "autonegotiation", value(a.Autoneg), value(b.Autoneg), ""},
		field{rankSetting, isWarning, "configured by", value(a.Owner), value(b.Owner), "two services undo each other's addresses and MTU"},
		field{rankSetting, isError, "mode over InfiniBand", ipoibMode(a), ipoibMode(b), "its MTU goes with it"},
		field{rankSetting, isError, "P_Key over InfiniBand", ipoibPKey(a), ipoibPKey(b), "interfaces of different partitions do not reach each other"},
		field{rankSetting, isInfo, "connection of NetworkManager", text(a.Profile), text(b.Profile), ""},
		field{rankOther, isInfo, "kind", cmp.Or(a.Kind, "hardware"), cmp.Or(b.Kind, "hardware"), ""},
		field{rankOther, isInfo, "PCI function", text(d.pci.ofA(a.PCI)), text(d.pci.ofB(b.PCI)), ""},
		field{rankSysctl, isWarning, "effective arp_ignore", value(a.ARPIgnore), value(b.ARPIgnore), "decides which interface answers for an address"},
		field{rankSysctl, isWarning, "effective arp_announce", value(a.ARPAnnounce), value(b.ARPAnnounce), "decides which address ARP requests carry"},
		field{rankSysctl, isWarning, "effective rp_filter", value(a.RPFilter), value(b.RPFilter), "strict filtering drops packets that arrive on another interface than the return route uses"},
	)
	d.nicSettings(thing, a, b)
	if d.identities {
		d.compare(thing,
			field{rankDevice, isWarning, "MAC address", text(a.MAC), text(b.MAC), "another board, or an address that was set"},
			field{rankRoute, isWarning, "addresses", d.addresses(d.a, a), d.addresses(d.b, b), ""},
		)
		return
	}
	d.compare(thing, field{rankRoute, isWarning, "IPv4 addresses", d.countIPv4(d.a, a), d.countIPv4(d.b, b), "an interface without an address cannot be reached"})
}

func mtuText(bytes int) string {
	if bytes <= 0 {
		return unknown
	}
	return fmt.Sprintf("%d bytes", bytes)
}

func (d *differ) addresses(f *fabric.Facts, n *fabric.NIC) string {
	return listText(f, fabric.FactNICAddresses, prefixTexts(n.Addresses))
}

func (d *differ) countIPv4(f *fabric.Facts, n *fabric.NIC) string {
	var lengths []string
	for _, p := range n.Addresses {
		if p.Addr().Is4() {
			lengths = append(lengths, "a /"+strconv.Itoa(p.Bits()))
		}
	}
	return listText(f, fabric.FactNICAddresses, lengths)
}

func prefixTexts(prefixes []netip.Prefix) []string {
	var out []string
	for _, p := range prefixes {
		out = append(out, p.String())
	}
	return out
}

// listText is a list in words, sorted; an empty one is unknown where the facts say so.
func listText(f *fabric.Facts, section string, list []string) string {
	if _, missing := f.MissingReason(section); missing && len(list) == 0 {
		return unknown
	}
	if len(list) == 0 {
		return "none"
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// lldp compares the far ends of cables, of one node: those of two nodes differ as they should.
func (d *differ) lldp() {
	if !d.identities || d.unread(fabric.FactLLDP, len(d.a.LLDP), len(d.b.LLDP)) {
		return
	}
	ends := func(list []fabric.LLDPNeighbour, name func(string) string) map[string][]string {
		out := make(map[string][]string)
		for _, n := range list {
			out[name(n.NIC)] = append(out[name(n.NIC)], strings.TrimSpace(n.System+" "+n.Port+" "+n.PortText))
		}
		return out
	}
	a, b := ends(d.a.LLDP, d.nic.ofA), ends(d.b.LLDP, d.nic.ofB)
	for name := range union(a, b) {
		d.compare("NIC "+name, field{rankPort, isWarning, "far end of the cable (LLDP)", listText(d.a, fabric.FactLLDP, a[name]), listText(d.b, fabric.FactLLDP, b[name]), "the cable was moved, or the switch was renamed"})
	}
}

// neighbours compares which MAC address answers for an IP address, of one node. Entries come and go, and their states are noise.
func (d *differ) neighbours() {
	if !d.identities {
		return
	}
	macs := func(list []fabric.Neighbour, name func(string) string) map[string]string {
		out := make(map[string]string)
		for _, n := range list {
			if n.MAC != "" {
				out[name(n.NIC)+" neighbour "+n.Address.String()] = n.MAC
			}
		}
		return out
	}
	a, b := macs(d.a.Neighbours, d.nic.ofA), macs(d.b.Neighbours, d.nic.ofB)
	for key, mac := range a {
		if other, ok := b[key]; ok {
			d.compare("NIC "+key, field{rankOther, isWarning, "MAC address", mac, other, "another machine or port answers for this address"})
		}
	}
}

func union[V any](a, b map[string]V) map[string]bool {
	out := make(map[string]bool)
	for key := range maps.Keys(a) {
		out[key] = true
	}
	for key := range maps.Keys(b) {
		out[key] = true
	}
	return out
}

// entry is what the kernel does with a destination, or at a priority: in full, and without the addresses
// that differ from node to node.
type entry struct{ key, value, like string }

func (d *differ) routes() {
	if d.unread(fabric.FactRoutes, len(d.a.Routes), len(d.b.Routes)) {
		return
	}
	of := func(routes []fabric.Route, nic func(string) string) []entry {
		var out []entry
		for _, r := range routes {
			out = append(out, entry{
				key:   fmt.Sprintf("route %s in table %d", r.Destination, r.Table),
				value: routeText(r, nic, netip.Addr.String),
				like:  fmt.Sprintf("table %d to %s %s", r.Table, likePrefix(r.Destination), routeText(r, nic, func(netip.Addr) string { return "ADDRESS" })),
			})
		}
		return out
	}
	d.entries(of(d.a.Routes, d.nic.ofA), of(d.b.Routes, d.nic.ofB), "traffic uses another interface, or none")
}

func routeText(r fabric.Route, nic func(string) string, address func(netip.Addr) string) string {
	var words []string
	if r.Gateway.IsValid() {
		words = append(words, "via "+address(r.Gateway))
	}
	if r.NIC != "" {
		words = append(words, "dev "+nic(r.NIC))
	}
	if r.Source.IsValid() {
		words = append(words, "src "+address(r.Source))
	}
	if r.Metric != 0 {
		words = append(words, fmt.Sprintf("metric %d", r.Metric))
	}
	return strings.Join(append(words, fmt.Sprintf("proto %d", r.Protocol)), " ")
}

// likePrefix returns "default", or the length of any other prefix.
func likePrefix(p netip.Prefix) string {
	if p.Bits() == 0 {
		return "default"
	}
	return "a /" + strconv.Itoa(p.Bits())
}

func (d *differ) rules() {
	if d.unread(fabric.FactRules, len(d.a.Rules), len(d.b.Rules)) {
		return
	}
	of := func(rules []fabric.Rule, nic func(string) string) []entry {
		var out []entry
		for _, r := range rules {
			out = append(out, entry{
				key:   fmt.Sprintf("rule of priority %d", r.Priority),
				value: ruleText(r, nic, netip.Prefix.String),
				like:  fmt.Sprintf("priority %d %s", r.Priority, ruleText(r, nic, likePrefix)),
			})
		}
		return out
	}
	d.entries(of(d.a.Rules, d.nic.ofA), of(d.b.Rules, d.nic.ofB), "traffic from an address uses another table and another interface")
}

func ruleText(r fabric.Rule, nic func(string) string, prefix func(netip.Prefix) string) string {
	from := "all"
	if r.From.IsValid() {
		from = prefix(r.From)
	}
	words := []string{"from " + from}
	if r.To.IsValid() {
		words = append(words, "to "+prefix(r.To))
	}
	if r.NIC != "" {
		words = append(words, "iif "+nic(r.NIC))
	}
	return strings.Join(append(words, fmt.Sprintf("lookup %d", r.Table)), " ")
}

// entries compares routes or rules by their keys, in the kernel's order among those of one key. Of two nodes,
// those that are alike but for their addresses are not different.
func (d *differ) entries(a, b []entry, why string) {
	byA, byB := byKey(a), byKey(b)
	for key := range union(byA, byB) {
		if values(byA[key]) == values(byB[key]) {
			delete(byA, key)
			delete(byB, key)
		}
	}
	if !d.identities {
		cancelAlike(byA, byB)
	}
	for key := range union(byA, byB) {
		d.compare("", field{rankRoute, isWarning, key, values(byA[key]), values(byB[key]), why})
	}
}

func byKey(list []entry) map[string][]entry {
	out := make(map[string][]entry)
	for _, e := range list {
		out[e.key] = append(out[e.key], e)
	}
	return out
}

func values(list []entry) string {
	if len(list) == 0 {
		return absent
	}
	var out []string
	for _, e := range list {
		out = append(out, e.value)
	}
	return strings.Join(out, "; ")
}

// cancelAlike takes out, of both sides, as many entries that are alike as both have.
func cancelAlike(a, b map[string][]entry) {
	countA, countB := likes(a), likes(b)
	for _, side := range []map[string][]entry{a, b} {
		left := make(map[string]int)
		for like := range countA {
			left[like] = min(countA[like], countB[like])
		}
		for _, key := range slices.Sorted(maps.Keys(side)) {
			side[key] = slices.DeleteFunc(side[key], func(e entry) bool {
				left[e.like]--
				return left[e.like] >= 0
			})
			if len(side[key]) == 0 {
				delete(side, key)
			}
		}
	}
}

func likes(side map[string][]entry) map[string]int {
	out := make(map[string]int)
	for _, list := range side {
		for _, e := range list {
			out[e.like]++
		}
	}
	return out
}

func ipoibMode(n *fabric.NIC) string {
	if n.IPoIB == nil {
		return ""
	}
	return n.IPoIB.Mode
}

func ipoibPKey(n *fabric.NIC) string {
	if n.IPoIB == nil {
		return ""
	}
	return n.IPoIB.PKey
}
