package check

import (
	"net/netip"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// world is what a case changes: two bare-metal hosts on which everything is as planned.
type world struct {
	plan  *fabric.Plan
	nodes []*fabric.Facts
}

func newWorld() *world {
	p := testPlan(2)
	return &world{plan: p, nodes: []*fabric.Facts{metalFacts(p, 0), metalFacts(p, 1)}}
}

func (w *world) host1() *fabric.Facts { return w.nodes[0] }

func (w *world) missing(what string) {
	f := w.host1()
	f.Missing = append(f.Missing, fabric.Missing{What: what, Source: "netlink", Reason: "permission denied"})
}

// oneCase is the verdict that one rule must reach for one subject of a changed world.
type oneCase struct {
	rule, name string
	subject    string
	want       fabric.Status
	says       string // must stand in the finding's words
	change     func(*world)
}

func asPlanned(*world)          {}
func noPlan(w *world)           { w.plan = nil }
func inLab(w *world)            { w.host1().Platform = "lab" }
func noAddresses(w *world)      { w.plan.Addressing = fabric.Addressing{Scheme: fabric.None} }
func noCables(w *world)         { w.plan.Cabling = fabric.Cabling{} }
func inVM(w *world)             { w.host1().Machine.Hypervisor = ref(true) }
func eth3(w *world) *fabric.NIC { return nicOf(w.host1(), "eth3") }

func cases() []oneCase {
	return slices.Concat(nicCases(), shareCases(), addressCases(), routeCases(), shadowCases(), filterCases(), hardwareCases(),
		driverCases(), gpuDirectCases(), portCases(), infiniBandCases(), ipoibCases(), cardCases(), translationCases(), layoutCases(),
		machineCases(), logCases(), clusterCases(), equalPortCases(), equalNodeCases(),
		plannedCases(), nicClassCases(), nicStoredCases(), unreadCases(), interfaceCases(), gpuHealthCases(), nvlinkCases(), fabricCases(), arpCases(), sparkCases(), twinCases(), podCases(), claimCases())
}

func nicCases() []oneCase {
	const (
		pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
		s                       = "host1:eth3"
	)
	drop := func(w *world) { w.host1().NICs = slices.Delete(w.host1().NICs, 3, 4) }
	return []oneCase{
		{"nic-present", "there", s, pass, "", asPlanned},
		{"nic-present", "gone", s, fail, "none of the node's 8 interfaces", drop},
		{"nic-present", "list cut", s, unknown, "permission denied", func(w *world) { drop(w); w.missing("nics") }},
		{"nic-present", "no list", s, unknown, "unknown whether eth3 exists", func(w *world) { w.host1().NICs = nil }},
		{"nic-present", "no plan", "host1", na, "needs a cluster file", noPlan},
		{"nic-present", "not in the plan", "host1", na, "not in the cluster file", func(w *world) { w.plan.Nodes = w.plan.Nodes[1:] }},
		{"nic-present", "nominal facts", "host1", unknown, "catalog", func(w *world) { w.host1().Source = "catalog" }},

		{"link-up", "up", s, pass, "", asPlanned},
		{"link-up", "driver does not report", s, pass, "", func(w *world) { eth3(w).OperState = "unknown" }},
		{"link-up", "set down", s, fail, "operstate down", func(w *world) { eth3(w).OperState, eth3(w).Carrier = "down", nil }},
		{"link-up", "no carrier", s, fail, "carrier false", func(w *world) { eth3(w).Carrier = ref(false) }},
		{"link-up", "far end down", s, fail, "lowerlayerdown", func(w *world) { eth3(w).OperState = "lowerlayerdown" }},
		{"link-up", "carrier not read", s, unknown, "carrier", func(w *world) { eth3(w).Carrier = nil }},
		{"link-up", "no such state", s, unknown, "RFC 2863", func(w *world) { eth3(w).OperState = "sleepy" }},
		{"link-up", "RDMA NICs without a plan", s, pass, "", noPlan},
		{"link-up", "no plan, RDMA not read", "host1", unknown, "permission denied", func(w *world) { noPlan(w); w.host1().HCAs = nil; w.missing("hcas") }},
		{"link-up", "no plan, an empty list of RDMA devices", "host1", na, "has no RDMA device", func(w *world) { noPlan(w); w.host1().HCAs = nil }},
		{"link-up", "no plan, RDMA missing in facts that do not say absent", "host1", unknown, "no such file", func(w *world) {
			bare(w)
			w.host1().Missing[0].Absent = false
		}},
		{"link-up", "no plan, and no RDMA in the kernel", "host1", na, "has no RDMA device", bare},

		{"mtu", "as planned", s, pass, "", asPlanned},
		{"mtu", "too small", s, fail, "payload 1024 instead of 4096 bytes per packet: 92.6 instead of 98.0 %", func(w *world) { eth3(w).MTU = 1500 }},
		{"mtu", "far too small", s, fail, "no RDMA", func(w *world) { eth3(w).MTU = 300 }},
		{"mtu", "larger", s, fail, "between 9000 and 9216 bytes are lost", func(w *world) { eth3(w).MTU = 9216 }},
		{"mtu", "not read", s, unknown, "not read", func(w *world) { eth3(w).MTU = 0 }},
		{"mtu", "no plan", "host1", na, "needs a cluster file", noPlan},

		{"cabling", "as planned", s, pass, "", asPlanned},
		{"cabling", "name with domain, port as description", s, pass, "", func(w *world) {
			w.host1().LLDP[2] = fabric.LLDPNeighbour{NIC: "eth3", System: "leaf1.example.net", Port: "02:00:00:00:00:01", PortText: "Ethernet3"}
		}},
		{"cabling", "other port", s, fail, "leaf1:Ethernet12 (planned for host2:eth4), planned is leaf1:Ethernet3", func(w *world) { w.host1().LLDP[2].Port = "Ethernet12" }},
		{"cabling", "other switch", s, fail, "leaf2:Ethernet3", func(w *world) { w.host1().LLDP[2].System = "leaf2" }},
		{"cabling", "nothing heard", s, unknown, "no LLDP neighbour", func(w *world) { w.host1().LLDP = slices.Delete(w.host1().LLDP, 2, 3) }},
		{"cabling", "moved a moment ago", s, unknown, "several LLDP neighbours", func(w *world) {
			w.host1().LLDP = append(w.host1().LLDP, fabric.LLDPNeighbour{NIC: "eth3", System: "leaf1", Port: "Ethernet12"})
		}},
		{"cabling", "no LLDP daemon", s, unknown, "permission denied", func(w *world) { w.host1().LLDP = nil; w.missing("lldp") }},
		{"cabling", "no cables planned", "host1", na, "no cables", noCables},
	}
}

func addressCases() []oneCase {
	const (
		pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
		s                       = "host1:eth3"
	)
	set := func(addresses ...string) func(*world) {
		return func(w *world) {
			eth3(w).Addresses = nil
			for _, a := range addresses {
				eth3(w).Addresses = append(eth3(w).Addresses, netip.MustParsePrefix(a))
			}
		}
	}
	wide := set("10.64.0.5/29") // takes in eth1 to eth4
	arp := func(value *int, names ...string) func(*world) {
		return func(w *world) {
			wide(w)
			for _, n := range names {
				nicOf(w.host1(), n).ARPIgnore = value
			}
		}
	}
	all := []string{"eth1", "eth2", "eth3", "eth4"}
	return []oneCase{
		{"address", "as planned", s, pass, "", asPlanned},
		{"address", "none", s, fail, "has no address, planned is 10.64.0.5/31", set()},
		{"address", "other", s, fail, "10.99.0.1/31", set("10.99.0.1/31")},
		{"address", "of another host", s, fail, "10.64.0.17/31 (planned for host2:eth1)", set("10.64.0.17/31")},
		{"address", "other prefix length", s, fail, "has 10.64.0.5/32", set("10.64.0.5/32")},
		{"address", "not read", s, unknown, "permission denied", func(w *world) { set()(w); w.missing("nics.addresses") }},
		{"address", "no plan", "host1", na, "needs a cluster file", noPlan},
		{"address", "InfiniBand", "host1", na, "no IP addresses", noAddresses},

		{"one-subnet", "a subnet each", s, pass, "", asPlanned},
		{"one-subnet", "overlap", s, fail, "each answers ARP requests", wide},
		{"one-subnet", "overlap blames the NIC off plan", "host1:eth2", unknown, "fails on host1:eth3", wide},
		{"one-subnet", "overlap elsewhere", "host1:eth5", pass, "", wide},
		{"one-subnet", "without a plan both are named", "host1:eth2", fail, "each answers ARP requests", func(w *world) { wide(w); noPlan(w) }},
		{"one-subnet", "arp_ignore 2", s, pass, "", arp(ref(2), all...)},
		{"one-subnet", "arp_ignore 2 on one", s, fail, "", arp(ref(2), "eth3")},
		{"one-subnet", "arp_ignore 3 withholds only scope host", s, fail, "", arp(ref(3), all...)},
		{"one-subnet", "arp_ignore not read", s, unknown, "arp_ignore was not read", arp(nil, all...)},
		{"one-subnet", "link-local twice", s, pass, "", func(w *world) {
			set("10.64.0.5/31", "169.254.1.3/16")(w)
			nicOf(w.host1(), "eth2").Addresses = append(nicOf(w.host1(), "eth2").Addresses, netip.MustParsePrefix("169.254.1.2/16"))
		}},
		{"one-subnet", "an interface outside the fabric", s, pass, "", func(w *world) {
			w.host1().NICs = append(w.host1().NICs, fabric.NIC{Name: "br0", Kind: "bridge", Addresses: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/10")}})
		}},
		{"one-subnet", "veth pairs of a lab without a plan", "host1:eth2", fail, "", func(w *world) { wide(w); noPlan(w); w.nodes[0] = labOf(w.nodes[0]) }},
		{"one-subnet", "nothing to look at", "host1", unknown, "permission denied", func(w *world) {
			noPlan(w)
			w.host1().NICs, w.host1().HCAs = nil, nil
			w.missing("nics")
		}},
	}
}

// labOf takes the hardware away.
func labOf(f *fabric.Facts) *fabric.Facts {
	f.Platform, f.HCAs, f.GPUs, f.PCI = "lab", nil, nil, nil
	for i := range f.NICs {
		f.NICs[i].PCI, f.NICs[i].Kind = "", "veth"
	}
	f.NICs[0].Kind = ""
	return f
}

func routeCases() []oneCase {
	const (
		pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
		s                       = "host1:eth3"
	)
	rule := func(change func(*fabric.Rule)) func(*world) {
		return func(w *world) { change(&w.host1().Rules[3]) } // after local, eth1, eth2
	}
	from := func(selector string) func(*world) {
		return rule(func(r *fabric.Rule) { r.From = netip.MustParsePrefix(selector) })
	}
	before := func(table int, routed bool) func(*world) {
		return func(w *world) {
			first := fabric.Rule{Priority: 7, From: netip.MustParsePrefix("10.64.0.0/10"), Table: table}
			w.host1().Rules = append(w.host1().Rules, first) // listed last: priority decides
			if routed {
				w.host1().Routes = append(w.host1().Routes, fabric.Route{Table: table, Destination: netip.MustParsePrefix("0.0.0.0/0"), NIC: "eth1"})
			}
		}
	}
	route := func(change func(*fabric.Route)) func(*world) {
		return func(w *world) { change(&w.host1().Routes[5]) } // connected and default of eth1, eth2, eth3
	}
	flat := func(w *world) {
		a := &w.plan.Addressing.Nodes[0].NICs[2]
		a.Gateway = netip.Addr{}
		w.host1().Routes[5] = fabric.Route{Table: a.Table, Destination: a.Address.Masked(), NIC: a.NIC}
	}
	return []oneCase{
		{"source-rule", "as planned", s, pass, "", asPlanned},
		{"source-rule", "a /31 of which the rest is the switch's", s, pass, "", from("10.64.0.4/31")},
		{"source-rule", "gone", s, fail, "No policy rule routes traffic from 10.64.0.5 (host1:eth3) to table 103", func(w *world) { w.host1().Rules = slices.Delete(w.host1().Rules, 3, 4) }},
		{"source-rule", "other table", s, fail, "to table 103", rule(func(r *fabric.Rule) { r.Table = 104 })},
		{"source-rule", "takes another NIC in", s, fail, "traffic of eth4", from("10.64.0.4/30")},
		{"source-rule", "only to one place", s, fail, "No policy rule", rule(func(r *fabric.Rule) { r.To = netip.MustParsePrefix("10.64.0.0/16") })},
		{"source-rule", "only forwarded traffic", s, fail, "No policy rule", rule(func(r *fabric.Rule) { r.NIC = "eth9" })},
		{"source-rule", "a wider rule comes before", s, fail, "comes before", before(50, true)},
		{"source-rule", "a wider rule before, to an empty table", s, pass, "", before(50, false)},
		{"source-rule", "the same selector before", s, unknown, "rule-shadow fails on host1", func(w *world) {
			before(50, true)(w)
			w.host1().Rules[len(w.host1().Rules)-1].From = netip.MustParsePrefix("10.64.0.5/32")
		}},
		{"source-rule", "not read", s, unknown, "permission denied", func(w *world) { w.host1().Rules = nil; w.missing("rules") }},
		{"source-rule", "list cut", s, unknown, "permission denied", func(w *world) { w.host1().Rules = w.host1().Rules[:2]; w.missing("rules") }},
		{"source-rule", "no plan", "host1", na, "needs a cluster file", noPlan},

		{"rail-route", "as planned", s, pass, "", asPlanned},
		{"rail-route", "gone", s, fail, "Table 103, which routes the traffic of host1:eth3, must contain `default via 10.64.0.4 dev eth3`, but has no such route.", func(w *world) {
			w.host1().Routes = slices.Delete(w.host1().Routes, 5, 6)
		}},
		{"rail-route", "other gateway", s, fail, "via 10.64.0.9", route(func(r *fabric.Route) { r.Gateway = netip.MustParseAddr("10.64.0.9") })},
		{"rail-route", "other NIC", s, fail, "dev eth4", route(func(r *fabric.Route) { r.NIC = "eth4" })},
		{"rail-route", "a better one leads elsewhere", s, fail, "dev eth8", func(w *world) {
			route(func(r *fabric.Route) { r.Metric = 100 })(w)
			w.host1().Routes = append(w.host1().Routes, fabric.Route{Table: 103, Destination: netip.MustParsePrefix("0.0.0.0/0"), NIC: "eth8"})
		}},
		{"rail-route", "spread over two NICs", s, fail, "dev eth3; default dev eth8", func(w *world) {
			w.host1().Routes = append(w.host1().Routes, fabric.Route{Table: 103, Destination: netip.MustParsePrefix("0.0.0.0/0"), NIC: "eth8"})
		}},
		{"rail-route", "no gateway planned: the subnet", s, pass, "", flat},
		{"rail-route", "not read", s, unknown, "permission denied", func(w *world) { w.host1().Routes = nil; w.missing("routes") }},
		{"rail-route", "InfiniBand", "host1", na, "no IP addresses", noAddresses},
	}
}

func shadowCases() []oneCase {
	const pass, fail, unknown = fabric.Pass, fabric.Fail, fabric.Unknown
	printed := func(w *world) { // the guide's netplan file: eight selectors `to X/16` of one network
		for n := range railsOfTest {
			a := w.plan.Addressing.Nodes[0].NICs[n]
			w.host1().Rules = append(w.host1().Rules, fabric.Rule{Priority: 1, To: netip.PrefixFrom(a.Address.Addr(), 16), Table: a.Table})
		}
	}
	chain := func(table int) func(*world) {
		return func(w *world) {
			w.host1().Rules = append(w.host1().Rules, fabric.Rule{Priority: 9, From: netip.MustParsePrefix("10.64.0.5/32"), Table: table})
		}
	}
	return []oneCase{
		{"rule-shadow", "one selector a rule", "host1", pass, "", asPlanned},
		{"rule-shadow", "as printed", "host1", fail, "host1 never uses 7 of its 19 policy rules: `1: from all to 10.64.0.3/16 lookup 102` is shadowed by `1: from all to 10.64.0.1/16 lookup 101`", printed},
		{"rule-shadow", "without a plan", "host1", fail, "1 of 8 tables", func(w *world) { printed(w); noPlan(w) }},
		{"rule-shadow", "a second table before, with a default", "host1", fail, "shadowed by `9: from 10.64.0.5 lookup 108`", chain(108)},
		{"rule-shadow", "a second table before, without a route", "host1", pass, "", chain(60)},
		{"rule-shadow", "the second of three tables has the default", "host1", fail, "never uses 1 of its 13", func(w *world) { chain(60)(w); chain(108)(w) }},
		{"rule-shadow", "shared selector, routes not read", "host1", unknown, "permission denied", func(w *world) { printed(w); w.host1().Routes = nil; w.missing("routes") }},
		{"rule-shadow", "not read", "host1", unknown, "permission denied", func(w *world) { w.host1().Rules = nil; w.missing("rules") }},
	}
}
