package check_test

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/mdlayher/netlink"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/linux"
)

// network is what a kernel answers to the five dumps.
type network struct {
	nics   []fabric.NIC // Name, Index, MAC, MTU, OperState (up or down), Carrier, Addresses
	routes []fabric.Route
	rules  []fabric.Rule
}

func (n *network) nic(name string) *fabric.NIC {
	i := slices.IndexFunc(n.nics, func(nic fabric.NIC) bool { return nic.Name == name })
	return &n.nics[i]
}

// dumps writes the tables as the kernel does (rtnetlink(7)), by the key of their question.
func (n *network) dumps(t testing.TB) map[string][]byte {
	t.Helper()
	d := dumper{t: t}
	out := map[string][]byte{linkDump: nil, addressDump: nil, routeDump: nil, ruleDump: nil, neighbourDump: nil}
	for _, nic := range n.nics {
		out[linkDump] = append(out[linkDump], d.link(nic)...)
		for _, p := range nic.Addresses {
			head := make([]byte, linux.SizeofIfAddrmsg)
			head[0], head[1] = linux.AF_INET, byte(p.Bits())
			binary.NativeEndian.PutUint32(head[4:], uint32(nic.Index))
			out[addressDump] = append(out[addressDump], d.message(linux.RTM_NEWADDR, head, func(e *netlink.AttributeEncoder) {
				e.Bytes(linux.IFA_ADDRESS, p.Addr().AsSlice())
				e.Bytes(linux.IFA_LOCAL, p.Addr().AsSlice())
			})...)
		}
	}
	for _, r := range n.routes {
		out[routeDump] = append(out[routeDump], d.route(r, n.nic(r.NIC).Index)...)
	}
	for _, r := range n.rules {
		out[ruleDump] = append(out[ruleDump], d.rule(r)...)
	}
	return out
}

type dumper struct{ t testing.TB }

func (d dumper) message(kind netlink.HeaderType, head []byte, fill func(*netlink.AttributeEncoder)) []byte {
	d.t.Helper()
	e := netlink.NewAttributeEncoder()
	fill(e)
	attributes, err := e.Encode()
	if err != nil {
		d.t.Fatal(err)
	}
	data := append(head, attributes...)
	m := netlink.Message{Header: netlink.Header{Length: uint32(linux.SizeofNlMsghdr + len(data)), Type: kind, Flags: netlink.Multi}, Data: data}
	b, err := m.MarshalBinary()
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}

func (d dumper) link(nic fabric.NIC) []byte {
	d.t.Helper()
	mac, err := net.ParseMAC(nic.MAC)
	if err != nil {
		d.t.Fatal(err)
	}
	head := make([]byte, linux.SizeofIfInfomsg)
	binary.NativeEndian.PutUint16(head[2:], map[bool]uint16{true: linux.ARPHRD_ETHER, false: linux.ARPHRD_INFINIBAND}[len(mac) == 6])
	binary.NativeEndian.PutUint32(head[4:], uint32(nic.Index))
	return d.message(linux.RTM_NEWLINK, head, func(e *netlink.AttributeEncoder) {
		e.String(linux.IFLA_IFNAME, nic.Name)
		e.Uint32(linux.IFLA_MTU, uint32(nic.MTU))
		e.Uint8(linux.IFLA_OPERSTATE, map[string]uint8{"up": 6, "down": 2}[nic.OperState]) // IF_OPER_* of linux/if.h
		e.Bytes(linux.IFLA_ADDRESS, mac)
		if nic.Carrier != nil {
			e.Uint8(linux.IFLA_CARRIER, map[bool]uint8{true: 1}[*nic.Carrier])
		}
	})
}

func (d dumper) route(r fabric.Route, index int) []byte {
	d.t.Helper()
	head := make([]byte, linux.SizeofRtMsg)
	head[0], head[1], head[5], head[7] = linux.AF_INET, byte(r.Destination.Bits()), linux.RTPROT_STATIC, linux.RTN_UNICAST
	return d.message(linux.RTM_NEWROUTE, head, func(e *netlink.AttributeEncoder) {
		if r.Destination.Bits() > 0 {
			e.Bytes(linux.RTA_DST, r.Destination.Addr().AsSlice())
		}
		e.Uint32(linux.RTA_TABLE, uint32(r.Table))
		e.Uint32(linux.RTA_OIF, uint32(index))
		if r.Gateway.IsValid() {
			e.Bytes(linux.RTA_GATEWAY, r.Gateway.AsSlice())
		}
	})
}

func (d dumper) rule(r fabric.Rule) []byte {
	d.t.Helper()
	const ruleHead = 12 // struct fib_rule_hdr, linux/fib_rules.h
	head := make([]byte, ruleHead)
	head[0], head[7] = linux.AF_INET, linux.FR_ACT_TO_TBL
	return d.message(linux.RTM_NEWRULE, head, func(e *netlink.AttributeEncoder) {
		if r.From.IsValid() {
			head[2] = byte(r.From.Bits())
			e.Bytes(linux.FRA_SRC, r.From.Addr().AsSlice())
		}
		if r.To.IsValid() {
			head[1] = byte(r.To.Bits())
			e.Bytes(linux.FRA_DST, r.To.Addr().AsSlice())
		}
		e.Uint32(linux.FRA_PRIORITY, uint32(r.Priority))
		e.Uint32(linux.FRA_TABLE, uint32(r.Table))
	})
}

// ethernet is the network of a RoCE host of twoHosts, on which everything is as planned.
func ethernet(number int) network {
	n := network{nics: []fabric.NIC{loopback()}, rules: []fabric.Rule{{Priority: 0, Table: linux.RT_TABLE_LOCAL}}}
	for i, a := range twoHosts().Addressing.Nodes[number-1].NICs {
		n.nics = append(n.nics, fabric.NIC{
			Name: a.NIC, Index: i + 2, MAC: "02:00:00:01:00:0" + a.NIC[3:], MTU: 9000, OperState: "up", Carrier: new(true),
			Addresses: []netip.Prefix{a.Address},
		})
		n.routes = append(n.routes, fabric.Route{Table: linux.RT_TABLE_MAIN, Destination: a.Address.Masked(), NIC: a.NIC},
			fabric.Route{Table: a.Table, Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: a.Gateway, NIC: a.NIC})
		n.rules = append(n.rules, fabric.Rule{Priority: a.RulePriority(), From: netip.PrefixFrom(a.Address.Addr(), 32), Table: a.Table})
	}
	n.rules = append(n.rules, fabric.Rule{Priority: 32766, Table: linux.RT_TABLE_MAIN}, fabric.Rule{Priority: 32767, Table: linux.RT_TABLE_DEFAULT})
	return n
}

func loopback() fabric.NIC {
	return fabric.NIC{
		Name: "lo", Index: 1, MAC: "00:00:00:00:00:00", MTU: 65536, OperState: "unknown", Carrier: new(true),
		Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")},
	}
}

// ipoib is the network of the InfiniBand host: IP over InfiniBand without addresses.
func ipoib() network {
	n := network{nics: []fabric.NIC{loopback()}, rules: []fabric.Rule{
		{Priority: 0, Table: linux.RT_TABLE_LOCAL}, {Priority: 32766, Table: linux.RT_TABLE_MAIN}, {Priority: 32767, Table: linux.RT_TABLE_DEFAULT},
	}}
	for i, name := range []string{"ib1", "ib2"} {
		n.nics = append(n.nics, fabric.NIC{
			Name: name, Index: i + 2, MAC: "00:00:10:49:fe:80:00:00:00:00:00:00:02:00:00:ff:fe:01:00:0" + name[2:], MTU: 4092, OperState: "up", Carrier: new(true),
		})
	}
	return n
}

// twoHosts is a RoCE plan of host1 and host2 with two rails, a /31 a cable.
func twoHosts() *fabric.Plan {
	p := &fabric.Plan{
		Meta: fabric.NewMeta("Plan"), Name: "recorded", Platform: "baremetal", Transport: fabric.RoCE, MTU: 9000,
		Addressing: fabric.Addressing{Scheme: fabric.P2P31, Pool: netip.MustParsePrefix("10.64.0.0/16")},
		Traffic: &fabric.Traffic{Share: 50, Classes: []fabric.TrafficClass{
			{Name: "cnp", DSCP: 48, Priority: 7}, {Name: "roce", DSCP: 26, Priority: 3, Lossless: true, ECN: &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}},
		}},
	}
	for i, name := range []string{"host1", "host2"} {
		node, on := fabric.Node{Name: name}, fabric.NodeAddresses{Node: name}
		for rail, nic := range []string{"eth1", "eth2"} {
			gateway := netip.AddrFrom4([4]byte{10, 64, byte(i + 1), byte(2 * rail)})
			node.NICs = append(node.NICs, nic)
			on.NICs = append(on.NICs, fabric.NICAddress{NIC: nic, Rail: rail + 1, Address: netip.PrefixFrom(gateway.Next(), 31), Gateway: gateway, Table: 101 + rail})
			p.Cabling.Links = append(p.Cabling.Links, fabric.Link{A: fabric.Endpoint{Node: name, NIC: nic}, B: fabric.Endpoint{Node: "leaf" + nic[3:], NIC: "Ethernet1"}, Rail: rail + 1})
		}
		p.Nodes, p.Addressing.Nodes = append(p.Nodes, node), append(p.Addressing.Nodes, on)
	}
	return p
}

// partition is a plan of two InfiniBand hosts: no addresses, and one partition.
func partition() *fabric.Plan {
	return &fabric.Plan{
		Meta: fabric.NewMeta("Plan"), Name: "recorded", Platform: "baremetal", Transport: fabric.InfiniBand, MTU: 4092, Partition: 1,
		Nodes:      []fabric.Node{{Name: "host1", NICs: []string{"ib1", "ib2"}}, {Name: "host2", NICs: []string{"ib1", "ib2"}}},
		Addressing: fabric.Addressing{Scheme: fabric.None},
	}
}
