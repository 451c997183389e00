//go:build linux

package facts

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/linux"
)

// dumped makes the answer of a kernel.
func dumped(t testing.TB, kind netlink.HeaderType, bodies ...interface{ MarshalBinary() ([]byte, error) }) []byte {
	t.Helper()
	var out []byte
	for _, body := range bodies {
		data, err := body.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		m := netlink.Message{Header: netlink.Header{Type: kind, Length: uint32(linux.SizeofNlMsghdr + len(data))}, Data: data}
		raw, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, raw...)
	}
	return out
}

// railsHost has RDMA devices on interfaces with these addresses, each with its source rule and default route
// to a gateway.
func railsHost(t testing.TB, name string, prefixes []netip.Prefix, gateways []netip.Addr) kernelHost {
	t.Helper()
	h := wholeHost(t)
	var links, addresses, routes, rules []interface{ MarshalBinary() ([]byte, error) }
	for i, p := range prefixes {
		nic, index := fmt.Sprintf("eth%d", i+1), uint32(i+2)
		mac := net.HardwareAddr{0x94, 0x6d, 0xae, name[len(name)-1], 0, byte(i)}
		links = append(links, &rtnetlink.LinkMessage{Index: index, Flags: linux.IFF_UP, Attributes: &rtnetlink.LinkAttributes{
			Name: nic, Address: mac, Broadcast: net.HardwareAddr{255, 255, 255, 255, 255, 255}, MTU: 9000, OperationalState: rtnetlink.OperStateUp,
		}})
		ip := net.IP(p.Addr().AsSlice())
		addresses = append(addresses, &rtnetlink.AddressMessage{Family: linux.AF_INET, PrefixLength: uint8(p.Bits()), Index: index, Attributes: &rtnetlink.AddressAttributes{Address: ip, Local: ip}})
		table := uint32(101 + i)
		routes = append(routes, &rtnetlink.RouteMessage{Family: linux.AF_INET, Type: linux.RTN_UNICAST, Attributes: rtnetlink.RouteAttributes{OutIface: index, Gateway: gateways[i].AsSlice(), Table: table}},
			&rtnetlink.RouteMessage{Family: linux.AF_INET, Type: linux.RTN_UNICAST, DstLength: uint8(p.Bits()), Attributes: rtnetlink.RouteAttributes{Dst: p.Masked().Addr().AsSlice(), OutIface: index, Table: linux.RT_TABLE_MAIN}})
		priority := 10000 + table
		rules = append(rules, &rtnetlink.RuleMessage{Family: linux.AF_INET, SrcLength: 32, Action: linux.FR_ACT_TO_TBL, Attributes: &rtnetlink.RuleAttributes{Src: &ip, Priority: &priority, Table: &table}})
		device := fmt.Sprintf("rocep%d", i)
		h.links[infinibandClass+"/"+device] = "../../devices/virtual/infiniband/" + device
		h.files[infinibandClass+"/"+device+"/node_guid"] = fmt.Sprintf("946d:aeff:fe%02x:%02x%02x\n", mac[3], mac[4], mac[5])
		h.port(device, 1, map[string]string{
			"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "link_layer": "Ethernet", "lid": "0x0", "sm_lid": "0x0", "pkeys/0": "0xffff",
			"gids/0": fmt.Sprintf("fe80:0000:0000:0000:966d:aeff:fe%02x:%02x%02x", mac[3], mac[4], mac[5]), "gids/1": gidOfIPv4(p.Addr()),
			"gid_attrs/types/0": "IB/RoCE v1", "gid_attrs/ndevs/0": nic, "gid_attrs/types/1": "RoCE v2", "gid_attrs/ndevs/1": nic,
		})
		h.files[netClass+"/"+nic+"/address"] = mac.String() + "\n"
		for _, setting := range []string{"arp_ignore", "arp_announce", "rp_filter"} {
			h.files[ipv4Conf+"/"+nic+"/"+setting] = "0\n"
			h.files[ipv4Conf+"/all/"+setting] = "0\n"
		}
	}
	h.dumps = map[uint16][]byte{
		linux.RTM_GETLINK: dumped(t, linux.RTM_NEWLINK, links...), linux.RTM_GETADDR: dumped(t, linux.RTM_NEWADDR, addresses...), linux.RTM_GETROUTE: dumped(t, linux.RTM_NEWROUTE, routes...),
		linux.RTM_GETRULE: dumped(t, linux.RTM_NEWRULE, rules...), linux.RTM_GETNEIGH: nil,
	}
	h.files["/etc/hostname"] = name + "\n"
	return h
}

// gidOfIPv4 writes an IPv4 address as a GID table does.
func gidOfIPv4(a netip.Addr) string {
	b := a.As4()
	return fmt.Sprintf("0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3])
}

// verdicts are the findings without what redaction changes: rule, verdict, and the interface it is about.
func verdicts(nodes ...*fabric.Facts) []string {
	var out []string
	c := check.New(nil, nil, testTime(), func(f fabric.Finding) {
		out = append(out, fmt.Sprintf("%s %s %s%s%s", f.ID, f.Status, f.Subject.NIC, f.Subject.PCI, f.Subject.Port))
	})
	for _, n := range nodes {
		c.Take(c.Judge(n))
	}
	if _, err := c.Finish(context.Background()); err != nil {
		panic(err) // nothing cancels it
	}
	slices.Sort(out)
	return out
}

type namedHost struct {
	kernelHost
	name string
}

func (h namedHost) Name() string { return h.name }

// TestRedactedGivesTheSameVerdicts checks two nodes with shared subnets, a duplicate address and a wrong
// gateway before and after.
func TestRedactedGivesTheSameVerdicts(t *testing.T) {
	prefixes := func(texts ...string) (out []netip.Prefix) {
		for _, text := range texts {
			out = append(out, netip.MustParsePrefix(text))
		}
		return out
	}
	gateways := func(texts ...string) (out []netip.Addr) {
		for _, text := range texts {
			out = append(out, netip.MustParseAddr(text))
		}
		return out
	}
	hosts := []host.Host{
		namedHost{railsHost(t, "secret1", prefixes("10.64.1.1/31", "10.64.1.3/31", "10.70.0.9/24", "10.70.0.10/24"), gateways("10.64.1.0", "10.64.1.2", "10.70.0.254", "10.71.0.254")), "secret1"},
		namedHost{railsHost(t, "secret2", prefixes("10.64.1.5/31", "10.64.1.3/31", "172.18.255.1/20", "192.168.7.9/16"), gateways("10.64.1.4", "10.64.1.2", "172.18.240.1", "192.168.0.1")), "secret2"},
	}
	var before, after []*fabric.Facts
	var all bytes.Buffer
	for _, h := range hosts {
		f, archive := recorded(t, h)
		before = append(before, f)
		redacted, err := host.Redact(archive, []byte("salt"))
		if err != nil {
			t.Fatal(err)
		}
		replay, err := host.LoadRecording(bytes.NewReader(redacted))
		if err != nil {
			t.Fatal(err)
		}
		after = append(after, Collect(context.Background(), replay, replay.Time()))
		all.Write(redacted)
		all.Write(asJSON(t, after[len(after)-1]))
	}
	want := verdicts(before...)
	if diff := cmp.Diff(want, verdicts(after...)); diff != "" {
		t.Errorf("verdicts (-before +redacted):\n%s", diff)
	}
	for _, id := range []string{"one-subnet fail eth3", "duplicate-address fail eth2", "one-subnet pass eth1"} {
		if !slices.ContainsFunc(want, func(v string) bool { return strings.HasPrefix(v, id) }) {
			t.Errorf("no %q among the verdicts: the test proves little\n%s", id, strings.Join(want, "\n"))
		}
	}
	for _, secret := range []string{"secret1", "secret2", "10.64.1", "10.70.0", "172.18.2", "192.168.7", "0a40:01", "94:6d:ae:31:00", "94:6d:ae:32:00", "fe31:000", "fe32:000", "leaf-1"} {
		if strings.Contains(all.String(), secret) {
			t.Errorf("%q is still there", secret)
		}
	}
	for i, f := range after {
		for j, n := range f.NICs {
			was := before[i].NICs[j]
			if n.MTU != was.MTU || n.Name != was.Name || n.MAC == was.MAC || n.MAC[:8] != was.MAC[:8] || len(n.Addresses) != len(was.Addresses) || n.Addresses[0].Bits() != was.Addresses[0].Bits() {
				t.Errorf("%+v became %+v", was, n)
			}
		}
		if got := len(Diff(before[i], f, false)); got > 0 {
			t.Errorf("but for names and addresses the node differs:\n%s", diffText(Diff(before[i], f, false)))
		}
	}
}
