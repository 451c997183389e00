package facts

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

var updateDiff = flag.Bool("update-diff", false, "rewrite the golden differences")

func to[T any](v T) *T { return &v }

// wholeNode returns facts with two rails and every field set.
func wholeNode(node string, number int) *fabric.Facts {
	f := &fabric.Facts{
		Meta: fabric.NewMeta("Facts"), Node: node, Collected: "2026-03-01T10:00:00Z", Platform: "lab", Hardware: "recorded", Source: "recorded",
		Kernel: fabric.Kernel{
			Release: "6.8.0-60-generic", CommandLine: to(fmt.Sprintf("BOOT_IMAGE=/vmlinuz-%d root=UUID=%d iommu=pt quiet", number, number)),
			OS: to("Ubuntu 22.04.5 LTS"), PeerMemory: to(true), PeerMemoryBy: "ib_uverbs", DMABuf: to(true),
		},
		Machine: fabric.Machine{
			Vendor: to("Dell Inc."), Product: to("PowerEdge XE9680"), Hypervisor: to(false), IOMMUGroups: to(80), IOMMUMode: to("passthrough"), NUMANodes: to(2),
			BIOS: to("2.3.5"), MemoryKiB: to(2113536000), SwapKiB: to(8388604), CPUModel: to("Intel Xeon Platinum 8480C"), CPU: &fabric.CPUID{Vendor: "GenuineIntel", Family: 6, Model: 143}, NUMA: []fabric.NUMA{{CPUs: "ffff"}, {Number: 1, CPUs: "ffff0000"}}, CPUsOnline: to(224), CPUsPresent: to(224),
			SMT: to("on"), Governor: to("performance"), RDMACharDevs: to(2), MemlockLimit: to("unlimited"), NetworkManager: to("networkd"), CMAKiB: to(65536),
			HotPlug: &fabric.HotPlug{Enabled: to(true), Last: "plugin"}, ACSUnit: &fabric.ACSUnit{Installed: true, State: "failed", Reason: "not cleared: 0000:17:01.0", Bridges: 2, Left: []string{"0000:17:01.0"}},
		},
		Sysctls: map[string]string{"kernel.numa_balancing": "0", "net.ipv4.conf.all.arp_ignore": "2"},
		Modules: []fabric.Module{{Name: "mlx5_core", Version: "24.10-1.1.4", OnDisk: "24.10-1.1.4", DKMS: "installed"}, {Name: "xfs", Version: "1", OnDisk: "1", DKMS: "built"}},
		NICFile: map[string]string{"ROCE_DSCP": "26"}, NCCL: map[string]string{"NCCL_DEBUG": "WARN"},
		NetworkFiles: []fabric.NetworkFile{{Path: "/etc/netplan/40-cx7.yaml", Renderer: "networkd", Interfaces: []fabric.NetworkInterface{
			{Name: "eth1", Addresses: []netip.Prefix{netip.MustParsePrefix("10.64.0.1/31")}, MTU: to(9000), DHCP4: to(false), LinkLocal: []string{"ipv4"}},
		}}},
		Providers: []fabric.Provider{{Driver: "mlx5", Path: "/usr/lib64/libibverbs/libmlx5-rdmav34.so", Bytes: 1}}, Packages: map[string]string{"rdma-core": "50.0-2ubuntu0.2"},
		KernelLog: &fabric.KernelLog{Lines: []string{fmt.Sprintf("mlx5_core 0000:18:00.0: firmware version %d.39.1002", number)}, Cut: true},
		Firewall: &fabric.Firewall{Read: []string{"nft"}, Legacy: to(false), Chains: []fabric.Filter{{Tool: "nft", Name: "inet filter input", Hook: "input", Policy: "drop", Rules: []fabric.FilterRule{
			{NICs: []string{"eth1"}, From: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/10")}, To: []netip.Prefix{netip.MustParsePrefix("10.64.0.1/32")}, Part: true, Do: "accept"},
		}}}},
		Pod: &fabric.Pod{GIB: []string{"lib64"}, NCCL: []string{"/usr/local/gib/lib64/libnccl.so.2"}, LockMemory: to(true)},
		ESX: wholeESX(),
		Kube: &fabric.KubeState{
			Claims: []fabric.ClaimState{{Name: "c", State: "pending", For: []string{"p"}, Devices: []fabric.ClaimDevice{{Driver: "dra.net", Device: "nic0", Interface: "eth1", IPs: []string{"10.0.0.1/32"}, NotReady: []string{"Ready: no"}, Reported: true}}}},
			Pods:   []fabric.PodState{{Name: "p", Ready: "1/1", Status: "Running", Node: "n"}},
			NICs:   []fabric.SliceNIC{{Node: "n", Device: "nic0", Interface: "eth1", State: "up", Type: "device", PCI: "0000:1b:00.0", RDMA: to(true), Virtual: true}},
		},
		Disagree: []fabric.Disagreement{{What: "nics.firmware eth1", Said: []fabric.Evidence{{Source: "ethtool", Value: "1"}}}},
		Missing:  []fabric.Missing{{What: "pci.vpd", Source: "/sys", Reason: "permission denied"}},
	}
	f.SMVirtual = "Enabled"
	f.NVShare = &fabric.NVShare{Partitions: []fabric.NVPartition{{ID: 3, GPUs: 2, Active: true, Modules: []int{1, 3}}}, Modules: []int{1, 3}}
	f.FabricManager = &fabric.FabricManager{State: "active", Version: "550.90.07", Driver: "550.54.15", Says: "failed", Mode: to(0)}
	for i := range 2 {
		f = addRail(f, number, i)
	}
	return f
}

// addRail adds a root port, a NIC with its RDMA device, and a GPU.
func addRail(f *fabric.Facts, number, i int) *fabric.Facts {
	bus := []string{"18", "2a"}[i]
	port, function, gpu := fmt.Sprintf("0000:%s:01.0", []string{"17", "29"}[i]), "0000:"+bus+":00.0", "0000:"+bus+":00.1"
	link := fabric.PCILink{Speed: 32, Width: 16, MaxSpeed: 32, MaxWidth: 16}
	control := fabric.PCIControl{MaxPayload: 256, MaxReadRequest: 4096, RelaxedOrdering: true, ExtendedTag: true}
	device := func(address, parent string, vendor, id uint16, class uint32, driver string) fabric.PCIDevice {
		return fabric.PCIDevice{
			Address: address, Parent: parent, Vendor: vendor, Device: id, Class: class, Driver: driver, NUMANode: to(i), IOMMUGroup: to(10 + i),
			Link: to(link), ACS: &fabric.ACS{Present: true, Capability: 0x5f}, ATS: &fabric.ATS{Present: true, Enabled: true}, Control: to(control),
			Regions: []fabric.PCIRegion{{Number: 1, Assigned: true}},
		}
	}
	f.PCI = append(f.PCI,
		device(port, "", 0x8086, 0x352a, 0x060400, "pcieport"),
		device(function, port, 0x15b3, 0x1021, 0x020000, "mlx5_core"),
		device(gpu, port, 0x10de, 0x2330, 0x030200, "nvidia"))
	name, low := fmt.Sprintf("eth%d", i+1), fmt.Sprintf("%02x:%02x", number, i)
	own := netip.AddrFrom4([4]byte{10, 64, byte(number), byte(2*i + 1)})
	gateway := netip.AddrFrom4([4]byte{10, 64, byte(number), byte(2 * i)})
	f.NICs = append(f.NICs, fabric.NIC{
		Name: name, Index: 2 + i, MAC: "94:6d:ae:00:" + low, MTU: 9000, OperState: "up", Carrier: to(true), SpeedMbps: to(400000), Kind: "", Driver: "mlx5_core", PCI: function,
		Addresses: []netip.Prefix{netip.PrefixFrom(own, 31)}, ARPIgnore: to(2), ARPAnnounce: to(1), RPFilter: to(2), Firmware: "28.39.1002", DriverVersion: "24.10-1.1.4", FEC: "RS", Autoneg: to(true), Owner: to("networkd"), Profile: "fabric", IPoIB: &fabric.IPoIB{Mode: "datagram", PKey: "0xffff"},
		QoS: &fabric.QoS{
			Trust: "dscp", DSCP: map[int]int{26: 3}, PFC: &[]int{3}, Queues: []int{0, 0, 0, 1, 0, 0, 0, 2}, Schedulers: []fabric.Scheduler{{Algorithm: "ets", Percent: to(50)}},
			RoCE: &fabric.Marking{DSCP: to(26), Priority: to(3)}, CNP: &fabric.Marking{DSCP: to(48), Priority: to(7)}, ECN: &[]int{3}, DCBX: "host", Pause: to(false), Sources: []string{"mlnx_qos"},
		},
		Options: map[string]string{"ATS_ENABLED": "False(0)"},
	})
	f.HCAs = append(f.HCAs, fabric.HCA{
		Name: fmt.Sprintf("mlx5_%d", i), NodeGUID: "946d:ae03:0000:" + strings.ReplaceAll(low, ":", ""), SystemGUID: "946d:ae03:0000:" + strings.ReplaceAll(low, ":", ""), Firmware: "28.39.1002",
		BoardID: "MT_0000000838", Type: "MT4129", Driver: "mlx5_core", PCI: function,
		Ports: []fabric.Port{{
			Number: 1, State: "ACTIVE", PhysState: "LinkUp", RateGbps: to(400.0), LinkLayer: "Ethernet", NetDev: name, NetDevUp: to(true), LID: to(100*number + i), SMLID: to(number), ActiveMTU: to(4096), MaxMTU: to(4096),
			Counters: map[string]uint64{"symbol_error": uint64(number)}, PKeys: []string{"0xffff"},
			GIDs: []fabric.GID{{Index: 3, GID: "::ffff:" + own.String(), Type: "RoCE v2", NetDev: name}},
		}},
	})
	f.GPUs = append(f.GPUs, fabric.GPU{PCI: gpu, Vendor: "nvidia", Driver: "nvidia", Name: "NVIDIA H100 80GB HBM3", UUID: fmt.Sprintf("GPU-%d-%d", number, i), DriverVersion: "550.90.07", VBIOS: "96.00.89.00.01", Index: to(i), Health: wholeHealth(), NVLink: wholeLinks()})
	f.Routes = append(f.Routes,
		fabric.Route{Table: 254, Destination: netip.PrefixFrom(gateway, 31), NIC: name, Source: own, Protocol: 2},
		fabric.Route{Table: 101 + i, Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: gateway, NIC: name, Source: own, Metric: 10, Protocol: 4})
	f.Rules = append(f.Rules, fabric.Rule{Priority: 10101 + i, From: netip.PrefixFrom(own, 32), To: netip.MustParsePrefix("10.64.0.0/10"), NIC: "lo", Table: 101 + i})
	f.Neighbours = append(f.Neighbours, fabric.Neighbour{NIC: name, Address: gateway, MAC: "02:00:00:00:" + low, State: "REACHABLE"})
	f.LLDP = append(f.LLDP, fabric.LLDPNeighbour{NIC: name, System: "leaf-1", Port: fmt.Sprintf("Ethernet%d", 8*number+i), PortText: "to " + f.Node, Source: "lldpd"})
	return f
}

func wholeHealth() *fabric.GPUHealth {
	no := func() *bool { return to(false) }
	return &fabric.GPUHealth{
		Recovery: "None", ECC: "Enabled", Uncorrected: to(uint64(0)), UncorrectedEver: to(uint64(0)), Corrected: to(uint64(1)), RowsRemapped: to(uint64(0)),
		RemapPending: no(), RemapFailed: no(), PagesRetired: to(uint64(0)), RetirePending: no(), RepairPending: no(), Unrepairable: no(), SRAMOverLimits: no(),
		Throttle: to("gpu_idle"), Persistence: to(true), Fabric: &fabric.GPUFabric{State: "Completed", Status: "Success", Health: "Healthy"},
	}
}

func wholeLinks() *fabric.NVLink {
	return &fabric.NVLink{Listed: true, Up: 17, Down: []int{4}, GBps: 26.562, Slow: []int{5}, Low: 13.281, Errors: map[string]uint64{"replay errors": 1}}
}

func diffText(list []Difference) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%s: %s\n\ta: %s\n\tb: %s\n", d.Severity, d.What, strings.ReplaceAll(d.A, "\n", " / "), strings.ReplaceAll(d.B, "\n", " / "))
		if d.Why != "" {
			fmt.Fprintf(&b, "\twhy: %s\n", d.Why)
		}
	}
	return b.String()
}

// exchanged is what the differences must be with the sides exchanged.
func exchanged(list []Difference) []Difference {
	out := slices.Clone(list)
	for i := range out {
		out[i].A, out[i].B = out[i].B, out[i].A
	}
	return out
}

// diffBoth compares both ways round and holds the results against each other.
func diffBoth(t *testing.T, a, b *fabric.Facts, identities bool) []Difference {
	t.Helper()
	there, back := Diff(a, b, identities), Diff(b, a, identities)
	if diff := cmp.Diff(exchanged(there), back); diff != "" {
		t.Errorf("not symmetric (-exchanged +backwards):\n%s", diff)
	}
	return there
}

func TestDiffSame(t *testing.T) {
	a, b := wholeNode("host1", 1), wholeNode("host1", 1)
	if got := diffBoth(t, a, b, true); len(got) > 0 {
		t.Errorf("the same node differs:\n%s", diffText(got))
	}
	if got := diffBoth(t, &fabric.Facts{}, &fabric.Facts{}, true); len(got) > 0 {
		t.Errorf("nothing differs from nothing:\n%s", diffText(got))
	}
}

// TestDiffTwoGoodNodes: two nodes that are as they should be differ in what must differ, and that is left out.
func TestDiffTwoGoodNodes(t *testing.T) {
	a, b := wholeNode("host1", 1), wholeNode("host2", 2)
	if got := diffBoth(t, a, b, false); len(got) > 0 {
		t.Errorf("two good nodes differ:\n%s", diffText(got))
	}
	asked := diffText(diffBoth(t, a, b, true))
	for _, what := range []string{"NIC eth1: MAC address", "NIC eth1: addresses", "RDMA device mlx5_0: node GUID", "GPU 0000:18:00.1: UUID", "far end of the cable", "route 10.64.1.0/31 in table 254", "port 1: LID", "root=UUID=1"} {
		if !strings.Contains(asked, what) {
			t.Errorf("asked for identities, and no %q in\n%s", what, asked)
		}
	}
}

// TestDiffGolden plants faults and compares the whole text.
func TestDiffGolden(t *testing.T) {
	for name, tt := range map[string]struct {
		node    string
		number  int
		all     bool
		plant   func(f *fabric.Facts)
		atFirst string // of the first difference
	}{
		"bad-node": {node: "host2", number: 2, atFirst: "link width", plant: func(f *fabric.Facts) {
			f.PCI[1].Link.Width, f.PCI[2].Link.Speed = 8, 2.5
			f.NICs[1].MTU, f.NICs[1].Firmware = 1500, "28.38.1000"
			f.HCAs[1].Ports[0].State = "DOWN"
			f.PCI[0].ACS.Control = 0x1d
			f.Routes = slices.Delete(f.Routes, 3, 4)
			f.Rules[1].Table = 254
			f.Sysctls["kernel.numa_balancing"] = "1"
			*f.Kernel.CommandLine = "BOOT_IMAGE=/vmlinuz root=UUID=2 quiet intel_iommu=on"
			f.Modules = append(f.Modules, fabric.Module{Name: "nouveau"}, fabric.Module{Name: "rdma_rxe"})
			f.KernelLog.Lines = append(f.KernelLog.Lines, "NVRM: Xid (PCI:0000:2a:00): 79, GPU has fallen off the bus.")
		}},
		"device-gone": {node: "host1", number: 1, atFirst: "GPU 0000:2a:00.1", plant: func(f *fabric.Facts) {
			f.PCI, f.GPUs, f.HCAs, f.NICs = f.PCI[:5], f.GPUs[:1], f.HCAs[:1], f.NICs[:1]
		}},
		"not-root": {node: "host1", number: 1, atFirst: "link", plant: func(f *fabric.Facts) {
			for i := range f.PCI {
				f.PCI[i].ACS, f.PCI[i].ATS, f.PCI[i].Control = nil, nil, nil
			}
			f.PCI[1].Link = nil
			f.KernelLog, f.Routes = nil, nil
			f.Missing = append(f.Missing, fabric.Missing{What: "routes", Source: "netlink", Reason: "permission denied"})
		}},
		"renamed": {node: "host1", number: 1, atFirst: "name", plant: func(f *fabric.Facts) {
			f.NICs[0].Name, f.NICs[1].Name = "eth2", "eth1" // the MAC addresses say which is which
		}},
		"shifted": {node: "host2", number: 2, atFirst: "name", plant: func(f *fabric.Facts) {
			text, err := json.Marshal(f)
			if err != nil {
				panic(err)
			}
			*f = fabric.Facts{}
			if err := json.Unmarshal([]byte(strings.ReplaceAll(strings.ReplaceAll(string(text), "0000:18:", "0000:19:"), "0000:2a:", "0000:2b:")), f); err != nil {
				panic(err)
			}
			f.NICs[0].Name, f.NICs[1].Name = "ens1np0", "ens2np0"
			for i := range f.NICs {
				f.HCAs[i].Ports[0].GIDs[0].NetDev = f.NICs[i].Name
				f.Routes[2*i].NIC, f.Routes[2*i+1].NIC = f.NICs[i].Name, f.NICs[i].Name
			}
		}},
		"next-day": {node: "host1", number: 1, all: true, atFirst: "MAC address", plant: func(f *fabric.Facts) {
			f.Collected, f.NICs[0].Index, f.HCAs[0].Ports[0].Counters["symbol_error"], f.Neighbours[0].State = "2026-03-02T10:00:00Z", 77, 99, "STALE"
			f.NICs[1].MAC, f.HCAs[1].NodeGUID, f.Neighbours[1].MAC = "94:6d:ae:ff:00:01", "946d:ae03:00ff:0001", "02:00:00:00:00:99"
			f.LLDP[0].Port = "Ethernet77"
			*f.Machine.MemoryKiB += 4096
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := wholeNode(tt.node, tt.number)
			tt.plant(b)
			list := diffBoth(t, wholeNode("host1", 1), b, tt.all)
			if len(list) == 0 || !strings.Contains(list[0].What, tt.atFirst) {
				t.Fatalf("first is not %q:\n%s", tt.atFirst, diffText(list))
			}
			golden := filepath.Join("testdata", "diff", name+".txt")
			got := diffText(list)
			if *updateDiff {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// noise are the facts that may differ without a difference, each with its reason.
func noise() map[string]string {
	return map[string]string{
		"Meta.APIVersion": "of the file", "Meta.Kind": "of the file", "Node": "the caller says whom he compares", "Collected": "a time", "Source": "how it was read",
		"NICs.Index": "counted anew at each boot", "HCAs.Ports.Counters": "a counter", "Neighbours.State": "changes by itself", "Neighbours.NIC": "an entry that came", "Neighbours.Address": "an entry that came",
		"NICs.QoS.Sources": "how it was read", "ESX.ResetRules.Line": "where it stands in the file", "ESX.Refusals.Line": "where it stands in the log",
		"PCI.IOMMUGroup": "a number; whether there is one is compared", "KernelLog.Lines": "but for its numbers; compared in the golden test", "KernelLog.Cut": "more of the same",
		"GPUs.Index": "the tool's number", "GPUs.Health.Corrected": "a counter", "GPUs.Health.Throttle": "of the moment", "GPUs.NVLink.Errors": "counters",
		"LLDP.Source": "how it was read", "Disagree.Said": "the sources are named in the facts", "Missing.What": "shows as unknown", "Missing.Source": "shows as unknown", "Missing.Reason": "shows as unknown", "Missing.Absent": "shows as unknown",
	}
}

// TestDiffSeesEveryField changes each field of the facts in turn. A new field must be listed
// here as noise, or be compared.
func TestDiffSeesEveryField(t *testing.T) {
	used := map[string]bool{}
	eachLeaf(reflect.TypeFor[fabric.Facts](), "", func(path string, index []int) {
		b := wholeNode("host1", 1)
		if !changeLeaf(reflect.ValueOf(b).Elem(), index) {
			t.Errorf("%s: wholeNode does not set it", path)
			return
		}
		_, isNoise := noise()[path]
		used[path] = isNoise
		if got := diffBoth(t, wholeNode("host1", 1), b, true); (len(got) == 0) != isNoise {
			t.Errorf("%s changed, is noise: %v; differences:\n%s", path, isNoise, diffText(got))
		}
	})
	for path := range noise() {
		if !used[path] {
			t.Errorf("%s is called noise and is no fact", path)
		}
	}
}

// eachLeaf walks a type through structs, pointers to them and lists of them.
func eachLeaf(t reflect.Type, path string, f func(path string, index []int)) {
	var walk func(t reflect.Type, path string, index []int)
	walk = func(t reflect.Type, path string, index []int) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || t.PkgPath() == "net/netip" {
			f(strings.TrimPrefix(path, "."), index)
			return
		}
		if t == reflect.TypeFor[fabric.Evidence]() {
			f(strings.TrimPrefix(path, "."), append(slices.Clone(index), 0))
			return
		}
		for i := range t.NumField() {
			walk(t.Field(i).Type, path+"."+t.Field(i).Name, append(slices.Clone(index), i))
		}
	}
	walk(t, path, nil)
}

// changeLeaf gives the field at these indexes another value, in the last element of each list on the way.
func changeLeaf(v reflect.Value, index []int) bool {
	for {
		switch {
		case v.Kind() == reflect.Pointer && !v.IsNil():
			v = v.Elem()
			continue
		case v.Kind() == reflect.Slice && v.Len() > 0:
			v = v.Index(v.Len() - 1)
			continue
		case len(index) > 0 && v.Kind() == reflect.Struct:
			v, index = v.Field(index[0]), index[1:]
			continue
		}
		break
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "other")
	case reflect.Int:
		v.SetInt(v.Int() + v.Int()/50 + 1) // more than a hundredth of the memory
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() / 2)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Map:
		if v.Len() == 0 {
			return false
		}
		key := v.MapKeys()[0]
		v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
	case reflect.Struct:
		switch old := v.Interface().(type) {
		case netip.Prefix:
			v.Set(reflect.ValueOf(netip.PrefixFrom(old.Addr().Next(), old.Bits())))
		case netip.Addr:
			v.Set(reflect.ValueOf(old.Next()))
		default:
			return false
		}
	default:
		return false
	}
	return true
}

// TestDiffIsSymmetric changes many fields at random, and takes devices out, on both sides.
func TestDiffIsSymmetric(t *testing.T) {
	var leaves [][]int
	eachLeaf(reflect.TypeFor[fabric.Facts](), "", func(_ string, index []int) { leaves = append(leaves, index) })
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		nodes := []*fabric.Facts{wholeNode("host1", 1), wholeNode([]string{"host1", "host2"}[random.IntN(2)], 1+random.IntN(2))}
		for _, f := range nodes {
			for range random.IntN(12) {
				changeLeaf(reflect.ValueOf(f).Elem(), leaves[random.IntN(len(leaves))])
			}
			if random.IntN(3) == 0 {
				at := random.IntN(len(f.PCI))
				f.PCI = slices.Delete(f.PCI, at, at+1)
			}
			if random.IntN(3) == 0 {
				f.NICs = slices.Delete(f.NICs, 0, 1)
			}
			if random.IntN(4) == 0 {
				f.HCAs, f.Missing = nil, append(f.Missing, fabric.Missing{What: "hcas"})
			}
		}
		diffBoth(t, nodes[0], nodes[1], random.IntN(2) == 0)
		if t.Failed() {
			return
		}
	}
}
