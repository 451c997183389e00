package check

import (
	"fmt"
	"net/netip"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// The PCI functions of host1's third rail.
const (
	rail3Root, rail3Up, rail3Down = "0000:30:00.0", "0000:31:00.0", "0000:32:00.0"
	rail3NIC, rail3GPU            = "0000:33:00.0", "0000:34:00.0"
)

func hardwareCases() []oneCase {
	const pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
	port := func(change func(*fabric.Port)) func(*world) {
		return func(w *world) { change(&w.host1().HCAs[2].Ports[0]) }
	}
	numa := func(value string) func(*world) {
		return func(w *world) { w.host1().Sysctls["kernel.numa_balancing"] = value }
	}
	return append([]oneCase{
		{"rdma-device", "eight", "host1", pass, "", asPlanned},
		{"rdma-device", "none", "host1", unknown, "no RDMA device", func(w *world) { w.host1().HCAs = nil }},
		{"rdma-device", "lab", "host1", na, "no hardware of its own", inLab},

		{"port-state", "active", "host1:bnxt_re2/1", pass, "", asPlanned},
		{"port-state", "down", "host1:bnxt_re2/1", fail, "DOWN and Disabled", port(func(p *fabric.Port) { p.State, p.PhysState = "DOWN", "Disabled" })},
		{"port-state", "no subnet manager", "host1:bnxt_re2/1", fail, "subnet manager", both(noPlan, port(func(p *fabric.Port) { p.State, p.LinkLayer = "INIT", "InfiniBand" }))},
		{"port-state", "virtual port that no subnet manager serves", "host1:bnxt_re2/1", fail, "serves virtual ports", both(noPlan, port(func(p *fabric.Port) { p.State, p.PhysState, p.LinkLayer = "DOWN", "LinkUp", "InfiniBand" }))},
		{"port-state", "not read", "host1:bnxt_re2/1", unknown, "was not read", port(func(p *fabric.Port) { p.State = "" })},
		{"port-state", "silent behind its NIC", "host1:bnxt_re2/1", unknown, "link-up fails on host1:eth3", func(w *world) {
			port(func(p *fabric.Port) { p.State, p.PhysState = "DOWN", "Disabled" })(w)
			eth3(w).Carrier = ref(false)
		}},
		{"port-state", "planned NICs have no device", "host1", unknown, "none of the 8 RDMA devices", func(w *world) {
			for i := range w.host1().HCAs {
				w.host1().HCAs[i].PCI, w.host1().HCAs[i].Ports[0].GIDs = "", nil
			}
		}},
		{"port-state", "device known by its GID table", "host1:bnxt_re2/1", pass, "", func(w *world) {
			w.host1().HCAs[2].PCI = ""
			w.host1().HCAs[2].Ports[0].GIDs = []fabric.GID{{Index: 3, NetDev: "eth3"}}
		}},
		{"port-state", "lab", "host1", na, "no hardware of its own", inLab},

		{"numa-balancing", "off", "host1", pass, "", asPlanned},
		{"numa-balancing", "on", "host1", fail, "is 1, not 0", numa("1")},
		{"numa-balancing", "tiering", "host1", fail, "is 2, not 0", numa("2")},
		{"numa-balancing", "garbage", "host1", unknown, "not read", numa("x")},
		{"numa-balancing", "not read", "host1", unknown, "permission denied", func(w *world) {
			w.host1().Sysctls = nil
			w.missing("sysctls.kernel.numa_balancing")
		}},
		{"numa-balancing", "lab", "host1", na, "no hardware of its own", inLab},
	}, pciCases()...)
}

func pciCases() []oneCase {
	const pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
	link := func(speed float64, width int, addresses ...string) func(*world) {
		return func(w *world) {
			for _, a := range addresses {
				l := pciOf(w.host1(), a).Link
				l.Speed, l.Width = speed, width
			}
		}
	}
	control := func(bits uint16) func(*world) {
		return func(w *world) { pciOf(w.host1(), rail3Down).ACS.Control = bits }
	}
	return []oneCase{
		{"pcie-link", "full", "host1:" + rail3NIC, pass, "", asPlanned},
		{"pcie-link", "slow", "host1:" + rail3NIC, fail, "31.5 instead of 63.0 GB/s", link(16, 16, rail3NIC, rail3Down)},
		{"pcie-link", "narrow", "host1:" + rail3NIC, fail, "32 GT/s x8, both ends support 32 GT/s x16", link(32, 8, rail3NIC, rail3Down)},
		{"pcie-link", "old encoding", "host1:" + rail3NIC, fail, "8.0 instead of 63.0 GB/s", link(5, 16, rail3NIC, rail3Down)},
		{"pcie-link", "GPU may be idle", "host1:" + rail3GPU, fail, "read it again under load", link(2.5, 16, rail3GPU, "0000:32:01.0")},
		{"pcie-link", "slot allows no more", "host1:" + rail3NIC, pass, "", func(w *world) {
			link(16, 16, rail3NIC, rail3Down)(w)
			pciOf(w.host1(), rail3Down).Link.MaxSpeed = 16
		}},
		{"pcie-link", "switch", "host1:" + rail3Up, fail, "both ends support", link(32, 8, rail3Up, rail3Root)},
		{"pcie-link", "endpoint below a slow switch", "host1:" + rail3NIC, pass, "", link(32, 8, rail3Up, rail3Root)},
		{"pcie-link", "other end made up by a hypervisor", "host1:" + rail3NIC, unknown, "a virtual machine does not show it", func(w *world) {
			link(16, 16, rail3NIC)(w)
			link(2.5, 1, rail3Down)(w)
			pciOf(w.host1(), rail3Down).Link.MaxSpeed = 2.5
		}},
		{"pcie-link", "no other end", "host1:" + rail3NIC, unknown, "far end of the link supports is unknown", func(w *world) {
			link(16, 16, rail3NIC)(w)
			pciOf(w.host1(), rail3NIC).Parent = ""
		}},
		{"pcie-link", "zero", "host1:" + rail3NIC, unknown, "does not report", link(0, 0, rail3NIC)},
		{"pcie-link", "not read", "host1:" + rail3NIC, unknown, "permission denied", func(w *world) {
			pciOf(w.host1(), rail3NIC).Link = nil
			w.missing("pci.link")
		}},
		{"pcie-link", "no tree", "host1:" + rail3NIC, unknown, "was not read", func(w *world) { w.host1().PCI = nil }},
		{"pcie-link", "lab", "host1", na, "no hardware of its own", inLab},

		{"acs", "source validation alone", "host1:" + rail3Down, pass, "", asPlanned},
		{"acs", "request redirect", "host1:" + rail3Down, fail, "ACS control 0004", control(fabric.ACSRequestRedirect)},
		{"acs", "all of the kernel's bits", "host1:" + rail3Down, fail, "ACS control 001d", control(0x1d)},
		{"acs", "completion redirect on the root port", "host1:" + rail3Root, fail, "ACS control 0008", func(w *world) {
			pciOf(w.host1(), rail3Root).ACS.Control = fabric.ACSCompletionRedirect
		}},
		{"acs", "no capability", "host1:" + rail3Down, pass, "", func(w *world) { pciOf(w.host1(), rail3Down).ACS = &fabric.ACS{} }},
		{"acs", "not root", "host1:" + rail3Down, unknown, "permission denied", func(w *world) {
			pciOf(w.host1(), rail3Down).ACS = nil
			w.missing("pci.acs")
		}},
		{"acs", "bridge not listed", "host1:0000:ff:00.0", unknown, "was not read", func(w *world) { pciOf(w.host1(), rail3NIC).Parent = "0000:ff:00.0" }},
		{"acs", "machine or guest unknown", "host1", unknown, "virtual machine is unknown", func(w *world) { w.host1().Machine.Hypervisor = nil }},
		{"acs", "guest", "host1", na, "the hypervisor owns", inVM},
		{"acs", "lab", "host1", na, "no hardware of its own", inLab},
	}
}

func clusterCases() []oneCase {
	const pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
	extra := func(address string) func(*world) {
		return func(w *world) { eth3(w).Addresses = append(eth3(w).Addresses, netip.MustParsePrefix(address)) }
	}
	return []oneCase{
		{"facts-collected", "all", "cluster", pass, "", asPlanned},
		{"facts-collected", "one missing", "host2", unknown, "no facts of host2", func(w *world) { w.nodes = w.nodes[:1] }},
		{"facts-collected", "twice", "host1", unknown, "2 sets of facts", func(w *world) { w.nodes = append(w.nodes, w.nodes[0]) }},
		{"facts-collected", "nominal", "host1", unknown, "nominal", func(w *world) { w.host1().Source = "catalog" }},
		{"facts-collected", "nothing at all", "cluster", unknown, "facts of 0 nodes", func(w *world) { noPlan(w); w.nodes = nil }},

		{"mtu-equal", "one", "cluster", pass, "", noPlan},
		{"mtu-equal", "with a plan", "cluster", na, "mtu compares each planned NIC", func(w *world) { eth3(w).MTU = 1500 }},
		{"mtu-equal", "an interface over InfiniBand beside", "cluster", pass, "", func(w *world) { noPlan(w); overInfiniBand(w); eth3(w).MTU = 2044 }},
		{"mtu-equal", "lab hosts without a plan", "host1:eth3", unknown, "has MTU 1500, other nodes have 9000 on eth3", func(w *world) {
			noPlan(w)
			w.nodes[0], w.nodes[1] = labOf(w.nodes[0]), labOf(w.nodes[1])
			eth3(w).MTU = 1500
		}},
		{"mtu-equal", "minority without a plan", "host1:eth3", fail, "has MTU 1500, 15 of the fabric's 16 NICs have 9000", func(w *world) { noPlan(w); eth3(w).MTU = 1500 }},
		{"mtu-equal", "not read", "host1:eth3", unknown, "was not read", func(w *world) { noPlan(w); eth3(w).MTU = 0 }},
		{"mtu-equal", "no fabric NIC", "cluster", unknown, "nothing to compare", func(w *world) {
			noPlan(w)
			w.nodes[0].HCAs, w.nodes[1].HCAs = nil, nil
			w.missing("hcas")
		}},

		{"mtu-equal", "no RDMA in any kernel", "cluster", na, "no node has an RDMA device", bare},

		{"duplicate-address", "none", "cluster", pass, "", asPlanned},
		{"duplicate-address", "beside its own", "host1:eth3", fail, "has 10.64.0.17, and so has host2:eth1", extra("10.64.0.17/32")},
		{"duplicate-address", "its owner is not blamed", "host2:eth1", unknown, "planned for host2:eth1", extra("10.64.0.17/32")},
		{"duplicate-address", "without a plan both", "host2:eth1", fail, "and so has host1:eth3", func(w *world) { extra("10.64.0.17/32")(w); noPlan(w) }},
		{"duplicate-address", "twice on one NIC", "cluster", pass, "", extra("10.64.0.5/32")},
		{"duplicate-address", "addresses of a node not read", "host1", unknown, "permission denied", func(w *world) { w.missing("nics.addresses") }},
		{"duplicate-address", "no address", "cluster", unknown, "no address was seen", func(w *world) { noPlan(w); w.nodes = nil }},
		{"duplicate-address", "InfiniBand", "cluster", na, "no IP addresses", noAddresses},
	}
}

func TestPCIeRate(t *testing.T) {
	for _, c := range []struct {
		speed float64
		width int
		want  float64 // GB/s, from the specification's tables
	}{{2.5, 1, 0.25}, {5, 8, 4}, {8, 16, 15.754}, {16, 16, 31.508}, {32, 16, 63.015}, {32, 4, 15.754}, {64, 16, 118}} {
		t.Run(fmt.Sprintf("%g GT/s x%d", c.speed, c.width), func(t *testing.T) {
			if got := topology.RawRate(c.speed, c.width); got < c.want-0.001 || got > c.want+0.001 {
				t.Errorf("RawRate(%g, %d) = %.3f, want %.3f", c.speed, c.width, got, c.want)
			}
		})
	}
}
