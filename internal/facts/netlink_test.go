package facts

import (
	"context"
	"encoding/json"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/linux"
)

// dumpFiles are the captured dumps: testdata/netlink/namespace.sh makes the namespace.
func dumpFiles() map[string]struct {
	messageType uint16
	family      uint8
} {
	return map[string]struct {
		messageType uint16
		family      uint8
	}{
		"link":      {linux.RTM_GETLINK, linux.AF_UNSPEC},
		"address":   {linux.RTM_GETADDR, linux.AF_UNSPEC},
		"route":     {linux.RTM_GETROUTE, familyIPv4},
		"rule":      {linux.RTM_GETRULE, familyIPv4},
		"neighbour": {linux.RTM_GETNEIGH, familyIPv4},
	}
}

func capturedDumps(t testing.TB) map[uint16][]byte {
	t.Helper()
	dumps := make(map[uint16][]byte)
	for name, d := range dumpFiles() {
		file := filepath.Join("netlink", name+".hex")
		if *capture {
			raw, err := host.Local{}.Dump(context.Background(), d.messageType, d.family)
			if err != nil {
				t.Fatal(err)
			}
			writeHexFile(t, file, raw)
		}
		dumps[d.messageType] = readHexFile(t, file)
	}
	return dumps
}

// TestDecodeNetlink decodes the dumps of a real namespace. What is expected was read off the ip commands in
// namespace.sh, not off the decoder.
func TestDecodeNetlink(t *testing.T) {
	h := kernelHost{fakeHost{dumps: capturedDumps(t)}}
	var f fabric.Facts
	for _, read := range []func(context.Context, host.Host, *fabric.Facts){readLinks, readAddresses, readRoutes, readRules, readNeighbours} {
		read(context.Background(), h, &f)
	}
	up, down := true, false
	nics := []fabric.NIC{
		{Name: "lo", MAC: "00:00:00:00:00:00", MTU: 65536, OperState: "unknown", Carrier: &up, Addresses: prefixes("127.0.0.1/8", "::1/128")},
		{Name: "eth1", MAC: "02:00:00:00:01:01", MTU: 9000, OperState: "up", Carrier: &up, Kind: "veth", Addresses: prefixes("10.64.0.3/31", "fd00:64::3/64")},
		{Name: "eth2", MAC: "02:00:00:00:01:02", MTU: 9000, OperState: "up", Carrier: &up, Kind: "veth", Addresses: prefixes("10.64.0.5/31", "10.65.0.1/32")},
		{Name: "eth3", MAC: "02:00:00:00:01:03", MTU: 9000, OperState: "down", Carrier: &down, Kind: "veth"},
		{Name: "br0", MAC: "02:00:00:00:03:01", MTU: 1500, OperState: "down", Carrier: &down, Kind: "bridge"},
	}
	for i := range f.NICs {
		if f.NICs[i].Index == 0 {
			t.Errorf("%s has no index", f.NICs[i].Name)
		}
		f.NICs[i].Index = 0
	}
	if diff := cmp.Diff(nics, f.NICs, addressesByValue()...); diff != "" {
		t.Errorf("NICs (-want +got):\n%s", diff)
	}
	boot, kernel, static := linux.RTPROT_BOOT, linux.RTPROT_KERNEL, linux.RTPROT_STATIC
	routes := []fabric.Route{
		{Table: 70000, Destination: netip.MustParsePrefix("10.98.0.0/16"), NIC: "eth2", Protocol: boot},
		{Table: 1001, Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("10.64.0.2"), NIC: "eth1", Protocol: static},
		{Table: 1002, Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("10.64.0.4"), NIC: "eth2", Protocol: static},
		{Table: 254, Destination: netip.MustParsePrefix("10.64.0.2/31"), NIC: "eth1", Source: netip.MustParseAddr("10.64.0.3"), Protocol: kernel},
		{Table: 254, Destination: netip.MustParsePrefix("10.64.0.4/31"), NIC: "eth2", Source: netip.MustParseAddr("10.64.0.5"), Protocol: kernel},
		{Table: 254, Destination: netip.MustParsePrefix("10.65.0.2/32"), NIC: "eth2", Source: netip.MustParseAddr("10.65.0.1"), Protocol: kernel},
		{Table: 254, Destination: netip.MustParsePrefix("10.80.0.0/16"), Gateway: netip.MustParseAddr("fd00:64::2"), NIC: "eth1", Protocol: boot},
		{Table: 254, Destination: netip.MustParsePrefix("10.81.0.0/16"), Gateway: netip.MustParseAddr("fd00:64::2"), NIC: "eth1", Protocol: boot},
		{Table: 254, Destination: netip.MustParsePrefix("10.81.0.0/16"), Gateway: netip.MustParseAddr("10.64.0.4"), NIC: "eth2", Protocol: boot},
		{Table: 254, Destination: netip.MustParsePrefix("10.96.0.0/12"), Gateway: netip.MustParseAddr("10.64.0.2"), NIC: "eth1", Source: netip.MustParseAddr("10.64.0.3"), Metric: 50, Protocol: boot},
		{Table: 254, Destination: netip.MustParsePrefix("10.96.0.0/12"), Gateway: netip.MustParseAddr("10.64.0.4"), NIC: "eth2", Source: netip.MustParseAddr("10.64.0.3"), Metric: 50, Protocol: boot},
	}
	if diff := cmp.Diff(routes, f.Routes, addressesByValue()...); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	rules := []fabric.Rule{
		{Priority: 0, Table: 255},
		{Priority: 101, From: netip.MustParsePrefix("10.64.0.3/32"), Table: 1001},
		{Priority: 102, From: netip.MustParsePrefix("10.64.0.5/32"), Table: 1002},
		{Priority: 200, To: netip.MustParsePrefix("10.64.1.85/16"), NIC: "eth1", Table: 70000},
		{Priority: 32766, Table: 254},
		{Priority: 32767, Table: 253},
	}
	if diff := cmp.Diff(rules, f.Rules, addressesByValue()...); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	for what, reason := range map[string]string{"rules 300": "selects by firewall mark", "rules 400": "action 7 is not a table lookup"} {
		if m, ok := f.MissingReason(what); !ok || m.Reason != reason {
			t.Errorf("%s: %+v, want %q", what, m, reason)
		}
	}
	neighbours := []fabric.Neighbour{
		{NIC: "eth1", Address: netip.MustParseAddr("10.64.0.2"), MAC: "02:00:00:00:02:01", State: "PERMANENT"},
		{NIC: "eth1", Address: netip.MustParseAddr("10.64.0.9"), State: "FAILED"},
		{NIC: "eth2", Address: netip.MustParseAddr("10.64.0.4"), MAC: "02:00:00:00:02:02", State: "STALE"},
	}
	if diff := cmp.Diff(neighbours, f.Neighbours, addressesByValue()...); diff != "" {
		t.Errorf("neighbours (-want +got):\n%s", diff)
	}
}

func addressesByValue() []cmp.Option {
	return []cmp.Option{
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	}
}

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

func TestNetlinkNotSupported(t *testing.T) {
	var f fabric.Facts
	ctx := context.Background()
	readLinks(ctx, fakeHost{}, &f)
	readAddresses(ctx, fakeHost{}, &f)
	readRoutes(ctx, fakeHost{}, &f)
	readRules(ctx, kernelHost{}, &f) // a kernel that refuses
	readNeighbours(ctx, fakeHost{}, &f)
	why := ": " + host.ErrNotSupported.Error()
	want := []string{"nics" + why, "nics.addresses" + why, "routes" + why, "rules" + why, "neighbours" + why}
	if diff := cmp.Diff(want, missingText(&f)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// TestDumpCutShort keeps what was whole and says that something is not.
func TestDumpCutShort(t *testing.T) {
	dumps := capturedDumps(t)
	for messageType, raw := range dumps {
		dumps[messageType] = raw[:len(raw)-4]
	}
	var f fabric.Facts
	h := kernelHost{fakeHost{dumps: dumps}}
	for _, read := range []func(context.Context, host.Host, *fabric.Facts){readLinks, readAddresses, readRoutes, readRules, readNeighbours} {
		read(context.Background(), h, &f)
	}
	for _, what := range []string{"nics", "nics.addresses", "routes", "rules", "neighbours"} {
		if _, ok := f.MissingReason(what); !ok {
			t.Errorf("%s: a dump cut short is not reported", what)
		}
	}
	if len(f.NICs) != 4 || len(f.Rules) != 5 {
		t.Errorf("%d NICs and %d rules kept, want 4 and 5", len(f.NICs), len(f.Rules))
	}
}

// TestNICHardware reads what sysfs and procfs add to a link.
func TestNICHardware(t *testing.T) {
	h := kernelHost{fakeHost{
		dumps: map[uint16][]byte{linux.RTM_GETLINK: capturedDumps(t)[linux.RTM_GETLINK]},
		files: map[string]string{
			"/sys/class/net/lo/address":                 "00:00:00:00:00:00\n",
			"/sys/class/net/eth1/address":               "02:00:00:00:01:01\n",
			"/sys/class/net/eth1/speed":                 "400000\n",
			"/sys/class/net/eth2/address":               "02:00:00:00:01:02\n",
			"/sys/class/net/eth2/speed":                 "-1\n",
			"/sys/class/net/eth3/address":               "02:00:00:00:99:99\n",
			"/proc/sys/net/ipv4/conf/all/arp_ignore":    "1\n",
			"/proc/sys/net/ipv4/conf/all/arp_announce":  "0\n",
			"/proc/sys/net/ipv4/conf/all/rp_filter":     "1\n",
			"/proc/sys/net/ipv4/conf/eth1/rp_filter":    "2\n",
			"/proc/sys/net/ipv4/conf/eth2/rp_filter":    "0\n",
			"/proc/sys/net/ipv4/conf/eth1/arp_ignore":   "0\n",
			"/proc/sys/net/ipv4/conf/eth1/arp_announce": "2\n",
			"/proc/sys/net/ipv4/conf/eth2/arp_ignore":   "2\n",
			"/proc/sys/net/ipv4/conf/eth2/arp_announce": "zero\n",
		},
		links: map[string]string{
			"/sys/class/net/lo":                 "../../devices/virtual/net/lo",
			"/sys/class/net/eth1":               "../../devices/pci0000:20/0000:20:00.0/0000:23:00.0/net/eth1",
			"/sys/class/net/eth1/device/driver": "../../../../bus/pci/drivers/mlx5_core",
			"/sys/class/net/eth2":               "../../devices/pci0000:80/0000:80:08.0/0000:8f:00.0/virtio0/net/eth2",
			"/sys/class/net/eth2/device/driver": "../../../../../../bus/virtio/drivers/virtio_net",
		},
	}}
	var f fabric.Facts
	readLinks(context.Background(), h, &f)
	eth1, eth2, eth3 := f.NICs[1], f.NICs[2], f.NICs[3]
	if eth1.PCI != "0000:23:00.0" || eth1.Driver != "mlx5_core" || eth1.SpeedMbps == nil || *eth1.SpeedMbps != 400000 {
		t.Errorf("eth1: %+v", eth1)
	}
	if *eth1.RPFilter != 2 || *eth2.RPFilter != 1 {
		t.Errorf("effective rp_filter: %d, %d", *eth1.RPFilter, *eth2.RPFilter)
	}
	if *eth1.ARPIgnore != 1 || *eth1.ARPAnnounce != 2 || *eth2.ARPIgnore != 2 || eth2.ARPAnnounce != nil {
		t.Errorf("ARP settings in effect: %d %d, %d %v", *eth1.ARPIgnore, *eth1.ARPAnnounce, *eth2.ARPIgnore, eth2.ARPAnnounce)
	}
	if eth2.PCI != "0000:8f:00.0" || eth2.Driver != "virtio_net" || eth2.SpeedMbps != nil {
		t.Errorf("eth2: %+v", eth2)
	}
	if eth3.PCI != "" {
		t.Errorf("eth3 took the PCI function of an interface of another namespace: %+v", eth3)
	}
	for what, reason := range map[string]string{
		"nics.arp_announce eth2": `invalid number "zero"`,
		"nics.speed_mbps eth2":   "the driver does not report it",
		"nics.pci eth3":          "sysfs shows an interface of another network namespace",
		"nics.pci br0":           "file does not exist",
	} {
		if m, ok := f.MissingReason(what); !ok || m.Reason != reason {
			t.Errorf("%s: %+v, want %q", what, m, reason)
		}
	}
	if m, ok := f.MissingReason("nics.pci lo"); ok {
		t.Errorf("a virtual interface has no PCI function, which is not missing: %+v", m)
	}
}

func FuzzDecodeNetlink(f *testing.F) {
	for _, raw := range capturedDumps(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		nics, _ := decodeLinks(raw)
		facts := fabric.Facts{NICs: nics}
		for _, n := range nics {
			if filepath.Join(netClass, n.Name) != netClass+"/"+n.Name {
				t.Errorf("%q leads out of its folder", n.Name)
			}
		}
		if _, err := decodeAddresses(raw); err != nil {
			_ = reason(err)
		}
		facts.Routes, _ = decodeRoutes(raw, namesOf(&facts))
		facts.Rules, _, _ = decodeRules(raw)
		facts.Neighbours, _ = decodeNeighbours(raw, namesOf(&facts))
		if _, err := json.Marshal(facts); err != nil {
			t.Errorf("facts that cannot be saved: %v", err)
		}
	})
}

// TestCollectHere reads this machine, whatever it is.
func TestCollectHere(t *testing.T) {
	f := Collect(context.Background(), host.Local{}, testTime())
	if f.Source != "live" || f.Kernel.Release == "" {
		t.Errorf("source %q, kernel %q", f.Source, f.Kernel.Release)
	}
	for _, n := range f.NICs {
		if n.Name == "lo" {
			if n.Index != 1 || n.Kind != "" || n.PCI != "" || n.MTU == 0 {
				t.Errorf("lo: %+v", n)
			}
			return
		}
	}
	t.Errorf("no lo among %d interfaces; missing: %v", len(f.NICs), f.Missing)
}
