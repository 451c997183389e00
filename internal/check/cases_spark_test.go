package check

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
)

// sparkFacts are of a DGX Spark with a cable in p0, addresses on both twins of it, and a cable to the next one by p1 where
// there are more than two. Hosts count from 0.
func sparkFacts(h, of int) *fabric.Facts {
	f := &fabric.Facts{
		Meta: fabric.NewMeta("Facts"), Node: fmt.Sprintf("spark%d", h+1), Source: "live",
		Kernel: fabric.Kernel{Release: "6.17.0-1031-nvidia", CommandLine: ref("ro iommu.passthrough=1"), OS: ref("Ubuntu 24.04.3 LTS"), PeerMemory: ref(false), DMABuf: ref(true)},
		Machine: fabric.Machine{
			Vendor: ref("NVIDIA"), Product: ref("NVIDIA_DGX_Spark"), Hypervisor: ref(false), IOMMUMode: ref("passthrough"), NUMANodes: ref(1), BIOS: ref("5.36_0ACUM018"),
			MemoryKiB: ref(125600000), SwapKiB: ref(0), CMAKiB: ref(131072), CPUModel: ref("Cortex-X925"), CPUsOnline: ref(20), CPUsPresent: ref(20), Governor: ref("performance"),
			RDMACharDevs: ref(4), MemlockLimit: ref("unlimited"), NetworkManager: ref("networkd"), HotPlug: &fabric.HotPlug{Enabled: ref(true), Last: "plugin"},
		},
		GPUs: []fabric.GPU{{PCI: spark.GPUFunction, Vendor: "nvidia", Driver: "nvidia", Name: "NVIDIA GB10", DriverVersion: "580.142"}},
		NCCL: map[string]string{}, Sysctls: map[string]string{"kernel.numa_balancing": "0", "net.ipv4.neigh.default.gc_thresh3": "1024"},
		Routes: []fabric.Route{{Table: 254, Destination: netip.MustParsePrefix("0.0.0.0/0"), NIC: "enP7s7"}},
	}
	file := fabric.NetworkFile{Path: "/etc/netplan/40-cx7.yaml"}
	f.NICs = []fabric.NIC{{Name: "enP7s7", Index: 2, MTU: 1500, OperState: "up", Carrier: ref(true), PCI: "0007:01:00.0", Driver: "r8127", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}}}
	for t := range spark.Twins {
		f.PCI = append(f.PCI, fabric.PCIDevice{Address: fmt.Sprintf("000%d:00:00.0", 2*t), Vendor: 0x10de, Device: 0x22ce, Class: 0x060400,
			Link: &fabric.PCILink{Speed: 32, Width: 4, MaxSpeed: 32, MaxWidth: 4}})
		for p := range spark.Ports {
			up := p == 0 || of > 2
			addTwin(f, h, of, p, t, up, &file)
		}
	}
	f.NetworkFiles = []fabric.NetworkFile{file}
	return f
}

// addTwin adds a function of the NIC.
func addTwin(f *fabric.Facts, h, of, p, t int, up bool, file *fabric.NetworkFile) {
	infix, at := []string{"", "P2"}[t], spark.Function(p, t)
	name, hca := fmt.Sprintf("en%sp1s0f%dnp%d", infix, p, p), fmt.Sprintf("roce%sp1s0f%d", infix, p)
	nic := fabric.NIC{Name: name, Index: 3 + 2*t + p, MAC: fmt.Sprintf("02:00:00:00:%02x:%x%x", h, p, t), MTU: 9000, OperState: "down", PCI: at, Driver: "mlx5_core", Carrier: ref(up),
		Firmware: "28.45.4028", ARPIgnore: ref(0), Owner: ref("networkd")}
	port := fabric.Port{Number: 1, State: "DOWN", PhysState: "Disabled", RateGbps: ref(40.0), LinkLayer: "Ethernet", GIDs: []fabric.GID{{Index: 0, GID: "fe80:0000:0000:0000:0000:0000:0000:0001", Type: "IB/RoCE v1", NetDev: name}}}
	if up {
		cable := h // ring: p0 of a host leads to p1 of the next
		if p == 1 {
			cable = (h + of - 1) % of
		}
		host := byte(1 + p)
		if of == 2 {
			cable, host = 0, byte(1+h)
		}
		own := netip.AddrFrom4([4]byte{10, 40, byte(2*cable + t), host})
		nic.OperState, nic.SpeedMbps, nic.FEC = "up", ref(200_000), "RS"
		nic.Addresses = []netip.Prefix{netip.PrefixFrom(own, 24)}
		port.State, port.PhysState, port.RateGbps, port.ActiveMTU, port.MaxMTU = "ACTIVE", "LinkUp", ref(200.0), ref(4096), ref(4096)
		port.GIDs = append(port.GIDs, fabric.GID{Index: 3, GID: "::ffff:" + own.String(), Type: "RoCE v2", NetDev: name})
		file.Interfaces = append(file.Interfaces, fabric.NetworkInterface{Name: name, Addresses: nic.Addresses, MTU: ref(9000), LinkLocal: []string{}})
	}
	f.NICs = append(f.NICs, nic)
	f.HCAs = append(f.HCAs, fabric.HCA{Name: hca, PCI: at, Firmware: "28.45.4028", Type: "MT4129", Driver: "mlx5_core", SystemGUID: fmt.Sprintf("0200:0000:0000:%04x", h), Ports: []fabric.Port{port}})
	f.PCI = append(f.PCI, fabric.PCIDevice{Address: at, Parent: fmt.Sprintf("000%d:00:00.0", 2*t), Vendor: 0x15b3, Device: 0x1021, Class: 0x020000, Driver: "mlx5_core",
		Link: &fabric.PCILink{Speed: 32, Width: 4, MaxSpeed: 32, MaxWidth: 4}})
}

// sparks makes the world one of so many DGX Sparks, without a plan.
func sparks(n int, changes ...func(*world)) func(*world) {
	return func(w *world) {
		w.plan, w.nodes = nil, nil
		for h := range n {
			w.nodes = append(w.nodes, sparkFacts(h, n))
		}
		for _, change := range changes {
			change(w)
		}
	}
}

// twin is an interface of the first Spark.
func twin(name string, change func(*fabric.NIC)) func(*world) {
	return func(w *world) { change(nicOf(w.nodes[0], name)) }
}

// noNIC takes the NIC from PCI, as DGX OS does without a cable.
func noNIC(h *fabric.HotPlug) func(*world) {
	return func(w *world) {
		f := w.nodes[0]
		f.NICs, f.HCAs, f.Machine.HotPlug = f.NICs[:1], nil, h
		f.PCI = slices.DeleteFunc(f.PCI, func(d fabric.PCIDevice) bool { return d.Vendor == 0x15b3 })
	}
}

func sparkCases() []oneCase {
	const (
		s, p0        = "spark1", "spark1:p0"
		first, other = "enp1s0f0np0", "enP2p1s0f0np0"
	)
	move := func(name, to string) func(*world) {
		return func(w *world) {
			nicOf(w.nodes[0], name).Addresses = []netip.Prefix{netip.MustParsePrefix(to)}
			for i := range w.nodes[0].HCAs {
				w.nodes[0].HCAs[i].Ports[0].GIDs = nil
			}
		}
	}
	nccl := func(name, value string) func(*world) {
		return func(w *world) { w.nodes[0].NCCL[name] = value }
	}
	unread := func(f func(*fabric.Facts)) func(*world) { return func(w *world) { f(w.nodes[0]) } }
	other2 := func(rules ...string) (out []oneCase) {
		for _, r := range rules {
			out = append(out, oneCase{r, "another machine", "host1", isNA, "not a DGX Spark", noPlan})
		}
		return out
	}
	return slices.Concat([]oneCase{
		{"spark-cable", "in p0", s, isPass, "", sparks(2)},
		{"spark-cable", "in none", s, isUnknown, "No cable is in either QSFP port", sparks(2, twin(first, func(n *fabric.NIC) { n.Carrier = ref(false) }), twin(other, func(n *fabric.NIC) { n.Carrier = ref(false) }))},
		{"spark-cable", "taken from PCI", s, isUnknown, "it is not dead", sparks(2, noNIC(&fabric.HotPlug{Enabled: ref(true), Last: "removal"}))},
		{"spark-cable", "gone although hot-plug is off", s, isFail, "hot-plug, which takes it away without a cable, is off", sparks(2, noNIC(&fabric.HotPlug{Enabled: ref(false)}))},

		{"spark-twins", "both up", p0, isPass, "", sparks(2)},
		{"spark-twins", "one down", p0, isFail, "its twin enP2p1s0f0np0 (0002:01:00.0) is down", sparks(2, twin(other, func(n *fabric.NIC) { n.Carrier = ref(false) }))},
		{"spark-twins", "names of a container", p0, isFail, "its twin eth5 (0002:01:00.0) is down", sparks(2, twin(other, func(n *fabric.NIC) { n.Carrier, n.Name = ref(false), "eth5" }), unread(func(f *fabric.Facts) {
			f.NetworkFiles[0].Interfaces[1].Name, f.HCAs[2].Ports[0].GIDs = "eth5", nil
		}))},
		{"spark-twins", "carrier not read", p0, isUnknown, "was not read", sparks(2, twin(other, func(n *fabric.NIC) { n.Carrier, n.OperState = nil, "" }), unread(func(f *fabric.Facts) { f.HCAs = nil }))},

		{"spark-rate", "200 Gb/s", s + ":" + first, isPass, "", sparks(2)},
		{"spark-rate", "half of it", s + ":" + first, isFail, "runs at 100000 of 200000 Mb/s", sparks(2, twin(first, func(n *fabric.NIC) { n.SpeedMbps = ref(100_000) }), twin(other, func(n *fabric.NIC) { n.SpeedMbps = ref(100_000) }))},
		{"spark-rate", "half of it, of the RDMA port", s + ":" + first, isFail, "runs at 100000 of 200000 Mb/s", sparks(2, twin(first, func(n *fabric.NIC) { n.SpeedMbps = nil }), unread(func(f *fabric.Facts) { f.HCAs[0].Ports[0].RateGbps = ref(100.0) }))},
		{"spark-rate", "a server at the other end", s + ":" + first, isUnknown, "as it does at a peer of another kind", sparks(2, twin(first, func(n *fabric.NIC) { n.SpeedMbps = ref(25_000) }), twin(other, func(n *fabric.NIC) { n.SpeedMbps = ref(25_000) }))},
		{"spark-rate", "a port without cable counts not", s + ":" + first, isPass, "", sparks(2, twin("enp1s0f1np1", func(n *fabric.NIC) { n.SpeedMbps = ref(100_000) }))},
		{"spark-rate", "not read", s + ":" + first, isUnknown, "was not read", sparks(2, unread(func(f *fabric.Facts) {
			f.HCAs = nil
			for i := range f.NICs {
				f.NICs[i].SpeedMbps = nil
			}
		}))},

		{"spark-mtu", "9000 on both", s + ":" + first, isPass, "", sparks(2)},
		{"spark-mtu", "1500 on the second twin", s + ":" + other, isFail, "enP2p1s0f0np0 of port spark1 p0 has an MTU of 1500", sparks(2, twin(other, func(n *fabric.NIC) { n.MTU = 1500 }))},
		{"spark-mtu", "not read", s + ":" + other, isUnknown, "was not read", sparks(2, twin(other, func(n *fabric.NIC) { n.MTU = 0 }), unread(func(f *fabric.Facts) { f.NetworkFiles = nil }))},

		{"spark-subnets", "one each", s + ":" + other, isPass, "", sparks(2)},
		{"spark-subnets", "both in one", s + ":" + other, isFail, "twins of port p0, are in one subnet", sparks(2, move(other, "10.40.0.9/24"))},
		{"spark-subnets", "separate in one /24", s + ":" + other, isPass, "", sparks(2, move(first, "10.40.0.1/29"), move(other, "10.40.0.9/29"))},
		{"spark-subnets", "no address", s, isUnknown, "no IPv4 address", sparks(2, unread(func(f *fabric.Facts) {
			f.HCAs, f.NetworkFiles = nil, nil
			for i := range f.NICs {
				f.NICs[i].Addresses = nil
			}
		}))},

		{"spark-netplan", "both twins in one file", p0, isPass, "", sparks(2)},
		{"spark-netplan", "one twin", p0, isFail, "not its twin enP2p1s0f0np0", sparks(2, unread(func(f *fabric.Facts) { f.NetworkFiles[0].Interfaces = f.NetworkFiles[0].Interfaces[:1] }))},
		{"spark-netplan", "two files", p0, isFail, "/etc/netplan/40-cx7.yaml and /etc/netplan/99-x.yaml", sparks(2, unread(func(f *fabric.Facts) {
			f.NetworkFiles = append(f.NetworkFiles, fabric.NetworkFile{Path: "/etc/netplan/99-x.yaml", Interfaces: f.NetworkFiles[0].Interfaces})
		}))},
		{"spark-netplan", "an automatic connection", p0, isFail, "made by itself with DHCP", sparks(2, twin(first, func(n *fabric.NIC) { n.Profile = "Wired connection 2" }), unread(func(f *fabric.Facts) { f.NetworkFiles = nil }))},
		{"spark-netplan", "not read", s, isUnknown, "were not read", sparks(2, unread(func(f *fabric.Facts) { f.NetworkFiles = nil }))},

		{"spark-dhcp", "by the 10G port", s, isPass, "", sparks(2)},
		{"spark-dhcp", "default route by a QSFP port", p0, isFail, "default route over enp1s0f0np0", sparks(2, unread(func(f *fabric.Facts) { f.Routes[0].NIC = first }))},
		{"spark-dhcp", "in the file", p0, isFail, "asks for its address by DHCP", sparks(2, unread(func(f *fabric.Facts) { f.NetworkFiles[0].Interfaces[0].DHCP4 = ref(true) }))},
		{"spark-dhcp", "routes not read", s, isUnknown, "were not read", sparks(2, unread(func(f *fabric.Facts) { f.Routes = nil }))},

		{"spark-pcie", "x4", "spark1:0002:01:00.0", isPass, "", sparks(2)},
		{"spark-pcie", "x2 on both ends", "spark1:0002:01:00.0", isFail, "32 GT/s x2, not 32 GT/s x4", sparks(2, unread(func(f *fabric.Facts) {
			for i := range f.PCI {
				if f.PCI[i].Address[3] == '2' {
					f.PCI[i].Link = &fabric.PCILink{Speed: 32, Width: 2, MaxSpeed: 32, MaxWidth: 2}
				}
			}
		}))},
		{"spark-pcie", "not read", s, isUnknown, "were not read", sparks(2, unread(func(f *fabric.Facts) { f.PCI = nil }))},

		{"spark-firmware", "28.45.4028", s, isPass, "", sparks(2)},
		{"spark-firmware", "older", s, isFail, "28.43.1000, older", sparks(2, unread(func(f *fabric.Facts) {
			for i := range f.HCAs {
				f.HCAs[i].Firmware, f.NICs[i+1].Firmware = "28.43.1000", "28.43.1000"
			}
		}), func(w *world) { w.nodes = w.nodes[:1] })},
		{"spark-firmware", "not read", s, isUnknown, "was not read", sparks(2, unread(func(f *fabric.Facts) {
			f.HCAs = nil
			for i := range f.NICs {
				f.NICs[i].Firmware = ""
			}
		}))},

		{"spark-cma", "128 MiB", s, isPass, "", sparks(2)},
		{"spark-cma", "none", s, isFail, "CmaTotal of 0 kB", sparks(2, unread(func(f *fabric.Facts) { f.Machine.CMAKiB = ref(0) }))},
		{"spark-cma", "not read", s, isUnknown, "was not read", sparks(2, unread(func(f *fabric.Facts) { f.Machine.CMAKiB = nil }))},

		{"spark-hca", "both twins of p0", p0, isPass, "", sparks(2, nccl("NCCL_IB_HCA", "=rocep1s0f0:1,roceP2p1s0f0:1"))},
		{"spark-hca", "one twin", p0, isFail, "not its twin roceP2p1s0f0", sparks(2, nccl("NCCL_IB_HCA", "rocep1s0f0"))},
		{"spark-hca", "a port that leads elsewhere", "spark1:p1", isFail, "leads to another machine", sparks(2, nccl("NCCL_IB_HCA", "rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1"), nccl(fabric.WorkerNodes, "10.40.0.2"))},
		{"spark-hca", "all four in a mesh", "spark1:p1", isPass, "", sparks(3, nccl("NCCL_IB_HCA", "rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1"))},
		{"spark-hca", "not set", s, isNA, "the job's own environment decides", sparks(2)},
		{"spark-hca", "not read", s, isUnknown, "was not seen", sparks(2, unread(func(f *fabric.Facts) { f.NCCL = nil }))},

		{"spark-nccl-conf", "none", s, isPass, "", sparks(2)},
		{"spark-nccl-conf", "inline sends", s, isFail, "hangs messages of some bytes", sparks(2, nccl("NCCL_IB_USE_INLINE", "1"))},
		{"spark-nccl-conf", "a GID index of another port", s, isFail, "is not the index of enp1s0f0np0", sparks(2, nccl("NCCL_IB_GID_INDEX", "5"))},
		{"spark-nccl-conf", "the right index", s, isPass, "", sparks(2, nccl("NCCL_IB_GID_INDEX", "3"))},
		{"spark-nccl-conf", "not read", s, isUnknown, "was not read", sparks(2, unread(func(f *fabric.Facts) { f.NCCL = nil }))},
	}, sparkFabricCases(), other2("spark-cable", "spark-twins", "spark-rate", "spark-mtu", "spark-subnets", "spark-netplan", "spark-dhcp", "spark-pcie", "spark-firmware", "spark-cma", "spark-hca", "spark-nccl-conf"))
}

func sparkFabricCases() []oneCase {
	const all = "cluster"
	addresses := func(node int, of map[string]string) func(*world) {
		return func(w *world) {
			for name, a := range of {
				nicOf(w.nodes[node], name).Addresses = []netip.Prefix{netip.MustParsePrefix(a)}
			}
			w.nodes[node].NetworkFiles = nil
			for i := range w.nodes[node].HCAs {
				w.nodes[node].HCAs[i].Ports[0].GIDs = nil
			}
		}
	}
	swap := func(node int) func(*world) { // the two plugs of a host
		return func(w *world) {
			f := w.nodes[node]
			for _, pair := range [][2]string{{"enp1s0f0np0", "enp1s0f1np1"}, {"enP2p1s0f0np0", "enP2p1s0f1np1"}} {
				a, b := nicOf(f, pair[0]), nicOf(f, pair[1])
				a.Addresses, b.Addresses = b.Addresses, a.Addresses
			}
			f.NetworkFiles = nil
			for i := range f.HCAs {
				f.HCAs[i].Ports[0].GIDs = nil
			}
		}
	}
	noCable := func(node int, names ...string) func(*world) {
		return func(w *world) {
			for _, n := range names {
				nicOf(w.nodes[node], n).Carrier, nicOf(w.nodes[node], n).Addresses = ref(false), nil
			}
			w.nodes[node].NetworkFiles = nil
			for i := range w.nodes[node].HCAs {
				w.nodes[node].HCAs[i].Ports[0].GIDs = nil
			}
		}
	}
	return []oneCase{
		{"spark-cabling", "a pair", all, isPass, "", sparks(2)},
		{"spark-cabling", "a mesh", all, isPass, "", sparks(3)},
		{"spark-cabling", "a ring of four", all, isPass, "", sparks(4)},
		{"spark-cabling", "the plugs of one machine swapped", "spark1:p0", isFail, "spark1 p0 to spark2 p0 joins equal ports", sparks(3, swap(1))},
		{"spark-cabling", "a chain", "spark1:p1", isFail, "no cable joins spark1 p1 with spark3 p0", sparks(3, noCable(2, "enp1s0f0np0", "enP2p1s0f0np0"), noCable(0, "enp1s0f1np1", "enP2p1s0f1np1"))},
		{"spark-cabling", "one machine", all, isUnknown, "cables join two", sparks(1)},
		{"spark-cabling", "another machine", all, isNA, "no node is a DGX Spark", noPlan},
		{"spark-links", "a mesh", all, isPass, "", sparks(3)},
		{"spark-links", "twins crossed", "spark1:p0", isFail, "different twins", sparks(2, addresses(1, map[string]string{"enp1s0f0np0": "10.40.1.2/24", "enP2p1s0f0np0": "10.40.0.2/24"}))},
		{"spark-links", "two links in one /24", "spark1:p0", isFail, "have the same first 24 bits", sparks(3,
			addresses(0, map[string]string{"enp1s0f0np0": "10.40.0.1/29", "enP2p1s0f0np0": "10.40.0.9/29"}),
			addresses(1, map[string]string{"enp1s0f1np1": "10.40.0.2/29", "enP2p1s0f1np1": "10.40.0.10/29"}))},
		{"spark-links", "one machine", all, isUnknown, "cables join two", sparks(1)},
		{"spark-links", "another machine", all, isNA, "no node is a DGX Spark", noPlan},
	}
}

// TestHealthySparks: nothing fails on machines that are as they leave a good installation.
func TestHealthySparks(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4} {
		var nodes []*fabric.Facts
		for h := range n {
			nodes = append(nodes, sparkFacts(h, n))
		}
		findings, _ := run(nil, nil, nodes...)
		for _, f := range findings {
			if f.Status == fabric.Fail {
				t.Errorf("%d machines: %s fails on %s: %s", n, f.ID, f.Subject, f.Why)
			}
		}
	}
}
