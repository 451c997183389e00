package junos

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
func (r *reader) readPorts() {
	var names []*junosNode
	for _, n := range r.root.all("interfaces") {
		if junosPort(n.word) && !strings.ContainsAny(n.word, "*?[<") && !r.isSplit(n) {
			names = append(names, n)
		}
	}
	own := len(names)
	listed := own > 0
	if !listed {
		names = r.attachedPorts()
	} else if !r.whole { // an excerpt may show a part of the interfaces
		for _, n := range r.attachedPorts() {
			if r.root.kid("interfaces").kid(n.word) == nil && !strings.ContainsAny(n.word, "*?[") && n.word != "all" {
				names = append(names, n)
			}
		}
	}
	at := newJunosAttachments(r)
	r.out.Ports = make([]fabric.PortConfig, 0, len(names))
	for i, n := range names {
		p := fabric.PortConfig{Name: n.word, At: n.at}
		if i < own {
			r.readInterface(&p, n)
		}
		r.readAttached(&p, n, at)
		r.out.Ports = append(r.out.Ports, p)
	}
	r.unprotected()
	if listed {
		r.strangers()
	}
}

// attachedPorts returns the ports that class-of-service names. A pattern stands for the ports that nobody names: where a
// name fits it, it is no port of its own.
func (r *reader) attachedPorts() []*junosNode {
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
		if !slices.ContainsFunc(names, func(n *junosNode) bool { return match(p.word, n.word) }) {
			names = append(names, p)
		}
	}
	return names
}

// strangers notes what class-of-service says of ports that interfaces does not have.
func (r *reader) strangers() {
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
		if !slices.ContainsFunc(interfaces.kids, func(k *junosNode) bool { return junosPort(k.word) && match(n.word, k.word) }) {
			r.problem(fabric.TextInert, n.at, "class-of-service names "+n.word+", which no port of interfaces is", "its settings are of no port")
		}
	}
}

// isSplit reports whether an interface is a cage that is split into ports: then it is none itself.
func (r *reader) isSplit(n *junosNode) bool {
	split, _ := r.cage(n.word)
	return split != nil && split.Is > 1 && !strings.Contains(n.word, ":")
}

// cage returns into how many ports the cage of a port is split, and their speed: set at the interface of the cage (Junos OS
// Evolved) or at its place in the chassis (other Junos).
func (r *reader) cage(port string) (split *fabric.Said[int], speed *fabric.Said[string]) {
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

func (r *reader) readInterface(p *fabric.PortConfig, n *junosNode) {
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
	r.subPort(n, split)
	r.readFEC(p, n)
	r.readUnits(p, n)
}

// subPort notes a part of a cage that is not split so, where the text says how cages are split.
func (r *reader) subPort(n *junosNode, split *fabric.Said[int]) {
	cage, sub, ok := strings.Cut(n.word, ":")
	i, err := strconv.Atoi(sub)
	what := ""
	switch {
	case !ok || err != nil:
	case split != nil && i >= split.Is:
		what = fmt.Sprintf("%s is not a port: its cage is split into %d", n.word, split.Is)
	case split == nil && r.splits():
		what = fmt.Sprintf("%s is not a port: number-of-sub-ports splits other cages and not %s", n.word, cage)
	}
	if what != "" {
		r.problem(fabric.TextConflict, n.at, what, "it never comes up")
		r.tag(n)
	}
}

// splits reports whether the text says of any cage into how many ports it is split.
func (r *reader) splits() bool {
	if r.split == nil {
		found := slices.ContainsFunc(r.root.all("interfaces"), func(n *junosNode) bool { return n.kid("number-of-sub-ports") != nil })
		for _, fpc := range r.root.all("chassis", "fpc") {
			for _, pic := range fpc.all("pic") {
				found = found || slices.ContainsFunc(pic.all("port"), func(n *junosNode) bool { return n.kid("number-of-sub-ports") != nil })
			}
		}
		r.split = &found
	}
	return *r.split
}

func (r *reader) speed(v *fabric.Said[string]) *fabric.Said[float64] {
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
func (r *reader) readFEC(p *fabric.PortConfig, n *junosNode) {
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
func (r *reader) readUnits(p *fabric.PortConfig, n *junosNode) {
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
		if junosPort(n.word) && header == junosHeader && unit.word != "0" && unit.kid("family") != nil {
			r.problem(fabric.TextConflict, unit.at, n.word+" has unit "+unit.word+" and no vlan-tagging", "Junos takes unit 0 alone on a port without tags")
			r.tag(n)
		}
		if r.tagged(n, unit, header) {
			continue // a part of the port, by tag: RoCE has whole ports
		}
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

// tagged reports whether a unit has the packets of one tag alone, and notes one that has none of them.
func (r *reader) tagged(n, unit *junosNode, header int) bool {
	id := unit.value("vlan-id")
	if !junosPort(n.word) || header == junosHeader || unit.kid("family") == nil {
		return false
	}
	if id == nil && n.kid("vlan-tagging") != nil {
		r.problem(fabric.TextConflict, unit.at, n.word+" has vlan-tagging, and unit "+unit.word+" has no vlan-id", "Junos refuses it: packets without a tag reach no unit")
		r.tag(n)
	}
	native := n.value("native-vlan-id")
	return id != nil && (native == nil || native.Is != id.Is)
}

func (r *reader) readInet(p *fabric.PortConfig, n, inet *junosNode, frame *fabric.Said[int], header int) {
	if m := r.number(inet.value("mtu"), "family "+inet.word+" mtu of "+n.word, 256, 16000); m != nil {
		p.MTU = r.packetMTU(n, m, frame, header)
	}
	p.VLAN = &fabric.Said[int]{Is: 0, At: inet.at}
	for _, a := range inet.all("address") {
		prefix, err := netip.ParsePrefix(a.word)
		if err != nil {
			r.problem(fabric.TextRange, a.at, n.word+": "+a.word+" is not an address with a prefix length", "Junos refuses it")
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

// packetMTU returns the MTU of IP, which must fit into the frame. Where a port has no mtu of its own, the frame is Junos' own
// short one, or another part of the configuration sets it: of a whole one the first is known.
func (r *reader) packetMTU(n *junosNode, packet, frame *fabric.Said[int], header int) *fabric.Said[int] {
	switch {
	case !junosPort(n.word) && frame == nil, frame != nil && packet.Is <= frame.Is-header, frame == nil && packet.Is <= 1500:
		return packet
	case frame == nil && !r.whole:
		return nil
	case frame == nil:
		frame = junosDefault(1500+header, junosMTU)
	}
	r.problem(fabric.TextConflict, packet.At, fmt.Sprintf("%s: packets of %d bytes do not fit into frames of %d with %d of header", n.word, packet.Is, frame.Is, header), "Junos refuses it")
	r.tag(n)
	return &fabric.Said[int]{Is: max(0, frame.Is-header), At: frame.At}
}

// filters notes filters of a port that this text does not show: they may put packets into classes.
func (r *reader) filters(n, family *junosNode) {
	f := family.kid("filter")
	if f == nil || r.root.kid("firewall") != nil {
		return
	}
	for _, k := range f.kids {
		r.unread = append(r.unread, k.at)
	}
}
