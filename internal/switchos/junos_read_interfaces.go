package switchos

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// What Junos has where nobody sets anything.
const (
	junosUp  = "Junos: an interface is up unless it has disable"
	junosMTU = "Junos CLI reference, mtu: 1514 bytes of an Ethernet frame, 1500 of IP"
)

// junosHeader is what the MTU of an interface counts beside the packet: addresses and type. The checksum is not counted
// (Junos interfaces guide, Media MTU and Protocol MTU).
const junosHeader = 14

// readPorts reads the ports: those of interfaces, and where a text has none of them those that class-of-service names.
func (r *junosReader) readPorts() {
	var names []*junosNode
	for _, n := range r.root.all("interfaces") {
		if junosPort(n.word) && !strings.ContainsAny(n.word, "*?[<") && !r.isSplit(n) {
			names = append(names, n)
		}
	}
	listed := len(names) > 0
	if !listed {
		names = r.attachedPorts()
	}
	at := newJunosAttachments(r)
	r.out.Ports = make([]fabric.PortConfig, 0, len(names))
	for _, n := range names {
		p := fabric.PortConfig{Name: n.word, At: n.at}
		if listed {
			r.readInterface(&p, n)
		}
		r.readAttached(&p, n, at)
		r.out.Ports = append(r.out.Ports, p)
	}
	if listed {
		r.strangers()
	}
}

// attachedPorts returns the ports that class-of-service names. A pattern stands for the ports that nobody names: where a
// name fits it, it is no port of its own.
func (r *junosReader) attachedPorts() []*junosNode {
	var names, patterns []*junosNode
	for _, n := range r.cos.all("interfaces") {
		switch {
		case n.word == "all" || junosPort(n.word) && strings.ContainsAny(n.word, "*?["):
			patterns = append(patterns, n)
		case junosPort(n.word):
			names = append(names, n)
		}
	}
	for _, p := range patterns {
		if !slices.ContainsFunc(names, func(n *junosNode) bool { return junosMatch(p.word, n.word) }) {
			names = append(names, p)
		}
	}
	return names
}

// strangers notes what class-of-service says of ports that interfaces does not have.
func (r *junosReader) strangers() {
	interfaces := r.root.kid("interfaces")
	for _, n := range r.cos.all("interfaces") {
		if !junosPort(n.word) || interfaces.kid(n.word) != nil {
			continue
		}
		if !strings.ContainsAny(n.word, "*?[") {
			r.problem(fabric.TextUndefined, n.at, "class-of-service names "+n.word+", which interfaces does not have", "its settings wait for a port of that name")
			r.problems[len(r.problems)-1].Port = n.word
			continue
		}
		if !slices.ContainsFunc(interfaces.kids, func(k *junosNode) bool { return junosPort(k.word) && junosMatch(n.word, k.word) }) {
			r.problem(fabric.TextInert, n.at, "class-of-service names "+n.word+", which no port of interfaces is", "its settings are of no port")
		}
	}
}

// isSplit reports whether an interface is a cage that is split into ports: then it is none itself.
func (r *junosReader) isSplit(n *junosNode) bool {
	split, _ := r.cage(n.word)
	return split != nil && split.Is > 1 && !strings.Contains(n.word, ":")
}

// cage returns into how many ports the cage of a port is split, and their speed: set at the interface of the cage (Junos OS
// Evolved) or at its place in the chassis (other Junos).
func (r *junosReader) cage(port string) (split *fabric.Said[int], speed *fabric.Said[string]) {
	name, _, _ := strings.Cut(port, ":")
	n := r.root.kid("interfaces", name)
	if place := strings.Split(name[strings.IndexByte(name, '-')+1:], "/"); len(place) == 3 {
		if in := r.root.kid("chassis", "fpc", place[0], "pic", place[1], "port", place[2]); in != nil && (n == nil || n.value("number-of-sub-ports") == nil) {
			n = in
		}
	}
	if n == nil {
		return nil, nil
	}
	speed = n.value("speed")
	if channel := n.value("channel-speed"); channel != nil {
		speed = channel
	}
	return r.number(n.value("number-of-sub-ports"), "number-of-sub-ports of "+name, 1, 16), speed
}

func (r *junosReader) readInterface(p *fabric.PortConfig, n *junosNode) {
	p.Up = junosDefault(true, junosUp)
	if off := n.kid("disable"); off != nil {
		p.Up = &fabric.Said[bool]{Is: false, At: off.at}
	}
	split, speed := r.cage(n.word)
	if own := n.value("speed"); own != nil {
		speed = own
	}
	p.Breakout = split
	if speed != nil {
		p.RateGbps = r.speed(speed)
	}
	if _, sub, ok := strings.Cut(n.word, ":"); ok && split != nil {
		if i, err := strconv.Atoi(sub); err == nil && i >= split.Is {
			r.problem(fabric.TextConflict, n.at, fmt.Sprintf("%s is no port: its cage is split into %d", n.word, split.Is), "it never comes up")
			r.tag(n)
		}
	}
	r.readFEC(p, n)
	r.readUnits(p, n)
}

func (r *junosReader) speed(v *fabric.Said[string]) *fabric.Said[float64] {
	text := strings.ToLower(v.Is)
	if text == "auto" {
		return nil
	}
	for suffix, factor := range map[string]float64{"g": 1, "m": 0.001} {
		if digits, ok := strings.CutSuffix(text, suffix); ok {
			if n, err := strconv.ParseUint(digits, 10, 16); err == nil && n > 0 {
				return &fabric.Said[float64]{Is: float64(n) * factor, At: v.At}
			}
		}
	}
	r.problem(fabric.TextRange, v.At, "speed is "+v.Is, "")
	return nil
}

// readFEC reads forward error correction, in the words of the CLI reference, fec (ether) and fec (gigether).
func (r *junosReader) readFEC(p *fabric.PortConfig, n *junosNode) {
	for _, options := range []string{"gigether-options", "ether-options"} {
		if on := n.kid(options, "flow-control"); on != nil {
			r.problem(fabric.TextConflict, on.at, n.word+" has flow-control: pauses of the whole link", "PFC and flow-control exclude each other on a port")
			r.tag(n)
		}
		if v := n.value(options, "fec"); v != nil {
			known := map[string]string{"fec91": "rs", "fec108": "rs", "fec119": "rs", "fec74": "fc", "none": "none"}
			if kind := known[strings.ToLower(v.Is)]; kind != "" {
				p.FEC = &fabric.Said[string]{Is: kind, At: v.At}
			} else {
				r.problem(fabric.TextRange, v.At, "fec is "+v.Is, "")
			}
		}
	}
}

// readUnits reads MTU, addresses and VLAN of a port: those of its units, of which a port to a host has one.
func (r *junosReader) readUnits(p *fabric.PortConfig, n *junosNode) {
	frame := r.number(n.value("mtu"), "mtu of "+n.word, 256, 16000)
	header := junosHeader
	for _, tag := range []string{"vlan-tagging", "flexible-vlan-tagging", "stacked-vlan-tagging"} {
		if n.kid(tag) != nil {
			header = junosHeader + 4
		}
	}
	if frame != nil {
		p.MTU = &fabric.Said[int]{Is: max(0, frame.Is-header), At: frame.At}
	} else if r.whole {
		p.MTU = junosDefault(1500, junosMTU)
	}
	for _, unit := range n.all("unit") {
		for _, family := range []string{"inet", "inet6"} {
			if inet := unit.kid("family", family); inet != nil {
				r.readInet(p, n, inet, frame, header)
			}
		}
		if l2 := unit.kid("family", "ethernet-switching"); l2 != nil {
			r.readSwitched(p, n, l2)
		}
		if off := unit.kid("disable"); off != nil {
			p.Up = &fabric.Said[bool]{Is: false, At: off.at}
		}
	}
}

func (r *junosReader) readInet(p *fabric.PortConfig, n, inet *junosNode, frame *fabric.Said[int], header int) {
	if m := r.number(inet.value("mtu"), "family "+inet.word+" mtu of "+n.word, 256, 16000); m != nil {
		p.MTU = m
		if frame != nil && m.Is > frame.Is-header {
			r.problem(fabric.TextConflict, m.At, fmt.Sprintf("%s: packets of %d bytes do not fit into frames of %d with %d of header", n.word, m.Is, frame.Is, header), "Junos refuses it")
			r.tag(n)
			p.MTU = &fabric.Said[int]{Is: max(0, frame.Is-header), At: frame.At}
		}
	}
	p.VLAN = &fabric.Said[int]{Is: 0, At: inet.at}
	for _, a := range inet.all("address") {
		prefix, err := netip.ParsePrefix(a.word)
		if err != nil {
			r.problem(fabric.TextRange, a.at, n.word+": "+a.word+" is no address with a prefix length", "Junos refuses it")
			r.tag(n)
			continue
		}
		if len(p.Addresses) > 0 && n.again != nil && a.at.Number > n.again.Number {
			r.problem(fabric.TextDuplicate, a.at, fmt.Sprintf("%s is described a second time, and gets %s beside %s", n.word, prefix, p.Addresses[0].Is), "Junos merges both: the port has both addresses")
			r.tag(n)
		}
		p.Addresses = append(p.Addresses, fabric.Said[netip.Prefix]{Is: prefix, At: a.at})
	}
	r.filters(n, inet)
}

// readSwitched reads the VLAN of packets without a tag: that of an access port, the native one of a trunk.
func (r *junosReader) readSwitched(p *fabric.PortConfig, n, l2 *junosNode) {
	r.filters(n, l2)
	mode := l2.value("interface-mode")
	if mode == nil {
		mode = l2.value("port-mode")
	}
	if mode != nil && mode.Is == "trunk" {
		for _, native := range []*fabric.Said[string]{n.value("native-vlan-id"), l2.value("native-vlan-id")} {
			if native != nil {
				p.VLAN = r.number(native, "native-vlan-id of "+n.word, 1, 4094)
			}
		}
		r.vlanMembers(l2)
		return
	}
	ids := r.vlanMembers(l2)
	if len(ids) > 1 {
		r.problem(fabric.TextConflict, ids[1].At, n.word+" is an access port with several VLANs", "Junos refuses it")
		r.tag(n)
	}
	if len(ids) > 0 {
		p.VLAN = &ids[0]
	}
}

// vlanMembers returns the VLANs of a port, by name or number.
func (r *junosReader) vlanMembers(l2 *junosNode) []fabric.Said[int] {
	var out []fabric.Said[int]
	m := l2.kid("vlan", "members")
	if m == nil {
		return nil
	}
	vlans := r.vlans()
	for _, v := range m.values {
		if id, err := strconv.Atoi(v.Is); err == nil && id > 0 && id < 4095 {
			out = append(out, fabric.Said[int]{Is: id, At: v.At})
			continue
		}
		vlan := vlans[v.Is]
		if vlan == nil {
			if len(vlans) > 0 && v.Is != "all" && !strings.Contains(v.Is, "-") {
				r.once(fabric.TextUndefined, v.At, "VLAN "+v.Is+" is defined nowhere", "Junos refuses it")
			}
			continue
		}
		if id := r.number(vlan.value("vlan-id"), "vlan-id of "+v.Is, 1, 4094); id != nil {
			out = append(out, fabric.Said[int]{Is: id.Is, At: v.At})
		}
	}
	return out
}

// filters notes filters of a port that this text does not show: they may put packets into classes.
func (r *junosReader) filters(n, family *junosNode) {
	f := family.kid("filter")
	if f == nil || r.root.kid("firewall") != nil {
		return
	}
	for _, k := range f.kids {
		r.unread = append(r.unread, k.at)
	}
}

// vlans returns the VLANs by name, those of routing instances too.
func (r *junosReader) vlans() map[string]*junosNode {
	if r.byName != nil {
		return r.byName
	}
	r.byName = map[string]*junosNode{}
	for _, in := range append(slices.Clone(r.root.all("routing-instances")), r.root) {
		for _, v := range in.all("vlans") {
			r.byName[v.word] = v
			r.vlanList = append(r.vlanList, v)
		}
	}
	return r.byName
}

// readVLANs reads the VLANs, and what irb has for each.
func (r *junosReader) readVLANs() {
	r.vlans()
	seen := map[int]*junosNode{}
	for _, v := range r.vlanList {
		id := r.number(v.value("vlan-id"), "vlan-id of "+v.word, 1, 4094)
		if id == nil {
			continue
		}
		if old := seen[id.Is]; old != nil {
			r.problem(fabric.TextDuplicate, id.At, fmt.Sprintf("VLANs %s and %s are both %d", old.word, v.word, id.Is), "Junos refuses it")
			continue
		}
		seen[id.Is] = v
		vlan := fabric.VLANConfig{ID: id.Is, At: v.at}
		if l3 := v.value("l3-interface"); l3 != nil {
			r.readIRB(&vlan, l3)
		}
		r.out.VLANs = append(r.out.VLANs, vlan)
	}
}

func (r *junosReader) readIRB(vlan *fabric.VLANConfig, l3 *fabric.Said[string]) {
	name, number, _ := strings.Cut(l3.Is, ".")
	irb := r.root.kid("interfaces", name)
	unit := irb.kid("unit", number)
	if unit == nil {
		if r.root.kid("interfaces") != nil {
			r.problem(fabric.TextUndefined, l3.At, l3.Is+" is defined nowhere", "the VLAN has no gateway")
		}
		return
	}
	var p fabric.PortConfig
	r.readUnits(&p, &junosNode{word: l3.Is, by: map[string]*junosNode{"mtu": irb.kid("mtu"), "unit": {kids: []*junosNode{unit}}}})
	vlan.Addresses, vlan.MTU = p.Addresses, p.MTU
}

// readBGP reads autonomous system and neighbours.
func (r *junosReader) readBGP() {
	bgp := r.root.kid("protocols", "bgp")
	own := r.root.value("routing-options", "autonomous-system")
	for _, g := range bgp.all("group") {
		if local := g.value("local-as"); local != nil && own == nil {
			own = local
		}
	}
	asn := r.asn(own)
	if asn == nil {
		return
	}
	r.out.BGP = &fabric.BGPConfig{ASN: *asn}
	for _, g := range bgp.all("group") {
		for _, n := range g.all("neighbor") {
			peer := n.value("peer-as")
			if peer == nil {
				peer = g.value("peer-as")
			}
			neighbour := fabric.BGPNeighbour{ASN: asn.Is, At: n.at} // internal BGP, where no other is named
			if as := r.asn(peer); as != nil {
				neighbour.ASN = as.Is
			}
			var err error
			if neighbour.Address, err = netip.ParseAddr(n.word); err != nil {
				r.problem(fabric.TextRange, n.at, "neighbor "+n.word+" is no address", "Junos refuses it")
				continue
			}
			r.out.BGP.Neighbours = append(r.out.BGP.Neighbours, neighbour)
		}
	}
}

// asn reads the number of an autonomous system, in one piece or as 16 bits, a dot and 16 bits.
func (r *junosReader) asn(v *fabric.Said[string]) *fabric.Said[uint32] {
	if v == nil {
		return nil
	}
	high, low, dotted := strings.Cut(v.Is, ".")
	a, errA := strconv.ParseUint(high, 10, 32)
	if !dotted && errA == nil && a > 0 {
		return &fabric.Said[uint32]{Is: uint32(a), At: v.At}
	}
	if b, err := strconv.ParseUint(low, 10, 16); dotted && errA == nil && err == nil && a < 1<<16 {
		return &fabric.Said[uint32]{Is: uint32(a<<16 | b), At: v.At}
	}
	r.problem(fabric.TextRange, v.At, "AS number is "+v.Is, "Junos refuses it")
	return nil
}
