package check

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

const (
	railsOfTest = 8
	mtuOfTest   = 9000
)

func today() time.Time { return time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC) }

func hostName(h int) string { return "host" + strconv.Itoa(h+1) }
func nicName(n int) string  { return "eth" + strconv.Itoa(n+1) }

// testPlan is a RoCE fabric of hosts with eight NICs each on one leaf, a /31 a cable.
func testPlan(hosts int) *fabric.Plan {
	p := &fabric.Plan{
		Meta: fabric.NewMeta("Plan"), Name: "test", Platform: "baremetal", Transport: fabric.RoCE, MTU: mtuOfTest,
		Addressing: fabric.Addressing{Scheme: fabric.P2P31, Pool: netip.MustParsePrefix("10.64.0.0/10")},
		Machines: []fabric.NominalMachine{{
			ID: "tested", GPU: "mi300x", GPUs: railsOfTest, NIC: "thor2", NICs: railsOfTest, NICGbps: 400, PCIeGeneration: 5, PCIeLanes: 16, HostMemoryGB: 2000,
			NICFirmware: []fabric.FirmwareFloor{{Least: "231.2.63.0", For: "test", Source: "test"}, {Least: "237.1.137.0", For: "test", Source: "test"}}, NICFirmwareBad: []fabric.FirmwareTrain{{Train: "230", Says: "known not to work", Source: "test"}}, PCIeSwitches: railsOfTest, Source: "catalog",
		}},
		Traffic: testTraffic(),
	}
	address := p.Addressing.Pool.Addr()
	for h := range hosts {
		node := fabric.Node{Name: hostName(h), Machine: "tested"}
		on := fabric.NodeAddresses{Node: node.Name}
		for n := range railsOfTest {
			gateway := address
			address = gateway.Next()
			node.NICs = append(node.NICs, nicName(n))
			on.NICs = append(on.NICs, fabric.NICAddress{
				NIC: nicName(n), Rail: n + 1, Table: 101 + n, Gateway: gateway, Address: netip.PrefixFrom(address, 31),
			})
			address = address.Next()
			p.Cabling.Links = append(p.Cabling.Links, fabric.Link{
				A:    fabric.Endpoint{Node: node.Name, NIC: nicName(n)},
				B:    fabric.Endpoint{Node: "leaf1", NIC: "Ethernet" + strconv.Itoa(h*railsOfTest+n+1)},
				Rail: n + 1,
			})
		}
		p.Nodes = append(p.Nodes, node)
		p.Addressing.Nodes = append(p.Addressing.Nodes, on)
	}
	return p
}

func ref[T any](v T) *T { return &v }

// testTraffic is lossless RoCE with marked packets and half of the bandwidth.
func testTraffic() *fabric.Traffic {
	return &fabric.Traffic{
		Classes: []fabric.TrafficClass{
			{Name: "cnp", DSCP: 48, Priority: 7}, {Name: "roce", DSCP: 26, Priority: 3, Lossless: true, ECN: &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}},
		},
		Share: 50,
	}
}

// testQoS is what a NIC has that is set up for that.
func testQoS() *fabric.QoS {
	strict := fabric.Scheduler{Algorithm: "strict"}
	ets := fabric.Scheduler{Algorithm: "ets", Percent: ref(50)}
	return &fabric.QoS{
		Trust: "dscp", DSCP: map[int]int{26: 3, 48: 7}, PFC: &[]int{3}, Queues: []int{0, 0, 0, 1, 0, 0, 0, 2}, Schedulers: []fabric.Scheduler{ets, ets, strict},
		RoCE: &fabric.Marking{DSCP: ref(26), Priority: ref(3)}, CNP: &fabric.Marking{DSCP: ref(48), Priority: ref(7)}, ECN: &[]int{0, 1, 2, 3, 4, 5, 6, 7},
		Pause: ref(false), Sources: []string{"niccli"},
	}
}

func testOptions() map[string]string {
	return map[string]string{
		"support_rdma": "True", "performance_profile": "RoCE", "pcie_relaxed_ordering": "Enabled", "dcbx_mode": "Disabled", "lldp_nearest_bridge": "Disabled", "lldp_nearest_non_tpmr_bridge": "Disabled",
	}
}

// testNICFile is the file of the driver for that.
func testNICFile() map[string]string {
	return map[string]string{"ENABLE_FC": "1", "FC_MODE": "3", "ROCE_PRI": "3", "ROCE_DSCP": "26", "CNP_PRI": "7", "CNP_DSCP": "48", "ROCE_BW": "50", "UTILITY": "4"}
}

// labFacts are those of a host of the lab on which everything is as planned.
func labFacts(p *fabric.Plan, h int) *fabric.Facts {
	f := &fabric.Facts{Meta: fabric.NewMeta("Facts"), Node: p.Nodes[h].Name, Platform: "lab", Source: "live"}
	f.Rules = []fabric.Rule{{Priority: 0, Table: 255}}
	f.NICs = []fabric.NIC{{Name: "lo", Index: 1, MTU: 65536, OperState: "unknown", Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}}}
	for n, a := range p.Addressing.Nodes[h].NICs {
		f.NICs = append(f.NICs, fabric.NIC{
			Name: a.NIC, Index: n + 2, MTU: p.MTU, OperState: "up", Carrier: ref(true), Kind: "veth",
			Addresses: []netip.Prefix{a.Address}, ARPIgnore: ref(0), ARPAnnounce: ref(0), RPFilter: ref(2),
		})
		f.Routes = append(f.Routes,
			fabric.Route{Table: 254, Destination: a.Address.Masked(), NIC: a.NIC, Source: a.Address.Addr()},
			fabric.Route{Table: a.Table, Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: a.Gateway, NIC: a.NIC})
		f.Rules = append(f.Rules, fabric.Rule{
			Priority: 10000 + a.Table, From: netip.PrefixFrom(a.Address.Addr(), 32), Table: a.Table,
		})
		link := p.Cabling.Links[h*railsOfTest+n]
		f.LLDP = append(f.LLDP, fabric.LLDPNeighbour{NIC: a.NIC, System: link.B.Node, Port: link.B.NIC, Source: "lldpd"})
	}
	f.Rules = append(f.Rules, fabric.Rule{Priority: 32766, Table: 254}, fabric.Rule{Priority: 32767, Table: 253})
	return f
}

// providerAt is where Broadcom's package puts its library.
const providerAt = "/usr/local/lib/x86_64-linux-gnu/libbnxt_re-rdmav34.so"

// metalFacts are those of a bare-metal host: each NIC is an RDMA device, and behind each root port a PCIe switch
// has a GPU and the NIC of its rail below it.
//
//	root port 0000:10:00.0, switch 11:00.0 (up) with 12:00.0 and 12:01.0 (down), NIC 13:00.0, GPU 14:00.0;
//	the next rail at 20:00.0, and so on.
func metalFacts(p *fabric.Plan, h int) *fabric.Facts {
	f := labFacts(p, h)
	f.Platform = ""
	f.Kernel = fabric.Kernel{
		Release: "6.8.0-60-generic", CommandLine: ref("ro amd_iommu=on iommu=pt"), PeerMemory: ref(true), DMABuf: ref(true),
	}
	f.Machine = fabric.Machine{
		Vendor: ref("Dell Inc."), Product: ref("PowerEdge XE9680"), Hypervisor: ref(false), IOMMUMode: ref("passthrough"),
		NUMANodes: ref(2), BIOS: ref("2.5.4"), MemoryKiB: ref(2113548288), SwapKiB: ref(0), CPUModel: ref("a processor"),
		CPUsOnline: ref(192), CPUsPresent: ref(192), SMT: ref("on"), Governor: ref("performance"), NetworkManager: ref("networkd"), RDMACharDevs: ref(8), MemlockLimit: ref("unlimited"),
		ACSUnit: &fabric.ACSUnit{Installed: true, State: fabric.ACSCleared, Bridges: 32},
	}
	f.Sysctls = map[string]string{"kernel.numa_balancing": "0", "net.ipv4.neigh.default.gc_thresh3": "1024"}
	f.Modules = []fabric.Module{
		{Name: "amdgpu", Version: "6.10.5", OnDisk: "6.10.5", DKMS: "installed"}, {Name: "bnxt_en", Version: "1.10.3.235.2.86.0", OnDisk: "1.10.3.235.2.86.0"},
		{Name: "bnxt_re", Version: "235.2.86.0", OnDisk: "235.2.86.0", DKMS: "installed"}, {Name: "ib_core"},
	}
	f.Providers = []fabric.Provider{{Driver: "bnxt_re", Path: providerAt, Bytes: 260416}}
	f.Packages = map[string]string{"bnxt-en-dkms": "1.10.3.235.2.86.0", "bnxt-re-dkms": "235.2.86.0", "bnxt-rocelib": "235.2.86.0", "rdma-core": "50.0-2ubuntu0.2"}
	f.KernelLog = &fabric.KernelLog{Lines: []string{
		"bnxt_en 0000:13:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)", "amdgpu: virtual CRAT table created for CPU",
	}}
	f.NICFile = testNICFile()
	f.Firewall = &fabric.Firewall{Read: []string{"nft"}, Legacy: ref(false), Chains: []fabric.Filter{{Tool: "nft", Name: "inet filter input", Hook: "input", Policy: "accept"}}}
	for n := range railsOfTest {
		nic, gpu := railPCI(f, n)
		addRail(f, h, n, nic)
		f.GPUs = append(f.GPUs, fabric.GPU{PCI: gpu, Vendor: "amd", Driver: "amdgpu", Name: "MI300X", DriverVersion: "6.10.5", VBIOS: "113-M3000100", Health: &fabric.GPUHealth{
			ECC: "Enabled", Uncorrected: ref(uint64(0)), Corrected: ref(uint64(0)), PagesRetired: ref(uint64(0)), RetirePending: ref(false), RemapFailed: ref(false),
		}})
	}
	return f
}

// addRail makes a NIC of the host a real one, with its RDMA device.
func addRail(f *fabric.Facts, h, n int, pci string) {
	nic := &f.NICs[n+1]
	nic.PCI, nic.Kind, nic.Driver, nic.Firmware = pci, "", "bnxt_en", "231.2.63.0"
	nic.SpeedMbps, nic.FEC, nic.Owner = ref(400_000), "RS", ref("networkd")
	nic.QoS, nic.Options = testQoS(), testOptions()
	guid := fmt.Sprintf("0200:00ff:fe%02x:%02x%02x", h>>8&0xff, h&0xff, n+1)
	a := nic.Addresses[0].Addr().As4()
	f.HCAs = append(f.HCAs, fabric.HCA{
		Name: "bnxt_re" + strconv.Itoa(n), PCI: pci, Driver: "bnxt_en", Firmware: "231.2.63.0", Type: "BCM57608", NodeGUID: guid, SystemGUID: guid,
		Ports: []fabric.Port{{
			Number: 1, State: "ACTIVE", PhysState: "LinkUp", LinkLayer: "Ethernet", RateGbps: ref(400.0), ActiveMTU: ref(4096), MaxMTU: ref(4096),
			Counters: map[string]uint64{
				"excessive_buffer_overrun_errors": 0, "link_downed": 1, "local_link_integrity_errors": 0, "to_retransmits": 12,
			}, PKeys: []string{"0xffff"},
			GIDs: []fabric.GID{
				{Index: 2, GID: fmt.Sprintf("0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", a[0], a[1], a[2], a[3]), Type: "IB/RoCE v1", NetDev: nic.Name},
				{Index: 3, GID: fmt.Sprintf("0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", a[0], a[1], a[2], a[3]), Type: "RoCE v2", NetDev: nic.Name},
			},
		}},
	})
}

const (
	bridgeClass = 0x060400
	nicClass    = 0x020000
	gpuClass    = 0x120000
)

func railPCI(f *fabric.Facts, n int) (nic, gpu string) {
	at := func(bus int, device string) string { return "0000:" + strconv.Itoa((n+1)*10+bus) + ":" + device + ".0" }
	add := func(address, parent string, class uint32) string {
		f.PCI = append(f.PCI, fabric.PCIDevice{
			Address: address, Parent: parent, Class: class,
			Link: &fabric.PCILink{Speed: 32, Width: 16, MaxSpeed: 32, MaxWidth: 16},
			ACS:  &fabric.ACS{Present: class == bridgeClass, Capability: acsOfHypervisor, Control: fabric.ACSSourceValidation},
			ATS:  &fabric.ATS{Present: class == nicClass}, NUMANode: ref(n / (railsOfTest / 2)),
			Control: &fabric.PCIControl{MaxPayload: 256, MaxReadRequest: 512, RelaxedOrdering: true, ExtendedTag: true},
		})
		return address
	}
	root := add(at(0, "00"), "", bridgeClass)
	up := add(at(1, "00"), root, bridgeClass)
	nic = add(at(3, "00"), add(at(2, "00"), up, bridgeClass), nicClass)
	gpu = add(at(4, "00"), add(at(2, "01"), up, bridgeClass), gpuClass)
	f.PCI[len(f.PCI)-1].Vendor, f.PCI[len(f.PCI)-1].Device = 0x1002, 0x74a1 // MI300X
	return nic, gpu
}

// run checks these facts and gives every finding.
func run(p *fabric.Plan, waivers []Waiver, nodes ...*fabric.Facts) ([]fabric.Finding, fabric.Summary) {
	var out []fabric.Finding
	c := New(p, waivers, today(), func(f fabric.Finding) { out = append(out, f) })
	for _, n := range nodes {
		c.Take(c.Judge(n))
	}
	summary, err := c.Finish(context.Background())
	if err != nil {
		panic(err) // nothing cancels it
	}
	return out, summary
}

// blamedBy lists "cause subject" of every failing finding, sorted.
func blamedBy(findings []fabric.Finding) []string {
	out := []string{}
	for _, f := range findings {
		if f.Status == fabric.Fail {
			out = append(out, string(f.Cause)+" "+f.Subject.String())
		}
	}
	slices.Sort(out)
	return out
}

func nicOf(f *fabric.Facts, name string) *fabric.NIC {
	i := slices.IndexFunc(f.NICs, func(n fabric.NIC) bool { return n.Name == name })
	return &f.NICs[i]
}

func pciOf(f *fabric.Facts, address string) *fabric.PCIDevice {
	i := slices.IndexFunc(f.PCI, func(d fabric.PCIDevice) bool { return d.Address == address })
	return &f.PCI[i]
}
