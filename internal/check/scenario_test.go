package check

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// The faults as the lab plants them.

func plantMTU(f *fabric.Facts, nic string) { nicOf(f, nic).MTU = 1500 }

func plantRoute(f *fabric.Facts, table int) {
	f.Routes = slices.DeleteFunc(f.Routes, func(r fabric.Route) bool { return r.Table == table })
}

func plantRule(f *fabric.Facts, table int) {
	f.Rules = slices.DeleteFunc(f.Rules, func(r fabric.Rule) bool { return r.Table == table })
}

// plantDown keeps the addresses; the kernel takes the routes away, and LLDP goes stale.
func plantDown(f *fabric.Facts, nic string) {
	n := nicOf(f, nic)
	n.OperState, n.Carrier = "down", nil
	f.Routes = slices.DeleteFunc(f.Routes, func(r fabric.Route) bool { return r.NIC == nic })
	f.LLDP = slices.DeleteFunc(f.LLDP, func(l fabric.LLDPNeighbour) bool { return l.NIC == nic })
}

// plantOneSubnet widens the prefix of nic until it takes in its neighbour.
func plantOneSubnet(f *fabric.Facts, nic string, bits int) {
	n := nicOf(f, nic)
	n.Addresses[0] = netip.PrefixFrom(n.Addresses[0].Addr(), bits)
}

// plantMoved replaces nic's address with one in the subnet of another NIC, and removes its routes.
func plantMoved(f *fabric.Facts, nic, address string) {
	nicOf(f, nic).Addresses = []netip.Prefix{netip.MustParsePrefix(address)}
	f.Routes = slices.DeleteFunc(f.Routes, func(r fabric.Route) bool { return r.NIC == nic })
}

func plantSwap(f *fabric.Facts, i int, g *fabric.Facts, k int) {
	f.LLDP[i].Port, g.LLDP[k].Port = g.LLDP[k].Port, f.LLDP[i].Port
}

func TestPlantedFaults(t *testing.T) {
	tests := []struct {
		name  string
		plant func(p *fabric.Plan, a, b *fabric.Facts)
		want  []string
	}{
		{"none", func(_ *fabric.Plan, a, b *fabric.Facts) {}, []string{}},
		{"mtu", func(_ *fabric.Plan, a, b *fabric.Facts) { plantMTU(a, "eth3") }, []string{"mtu-mismatch host1:eth3"}},
		{"mtu on most NICs", func(_ *fabric.Plan, a, b *fabric.Facts) {
			for n := range railsOfTest {
				plantMTU(a, nicName(n))
			}
			plantMTU(b, "eth1")
		}, []string{
			"mtu-mismatch host1:eth1", "mtu-mismatch host1:eth2", "mtu-mismatch host1:eth3", "mtu-mismatch host1:eth4", "mtu-mismatch host1:eth5",
			"mtu-mismatch host1:eth6", "mtu-mismatch host1:eth7", "mtu-mismatch host1:eth8", "mtu-mismatch host2:eth1",
		}},
		{"route", func(_ *fabric.Plan, a, b *fabric.Facts) { plantRoute(b, 102) }, []string{"route-missing host2:eth2"}},
		{"source rule", func(_ *fabric.Plan, a, b *fabric.Facts) { plantRule(b, 102) }, []string{"route-missing host2:eth2"}},
		{"down", func(_ *fabric.Plan, a, b *fabric.Facts) { plantDown(a, "eth8") }, []string{"link-down host1:eth8"}},
		{"down, and networkd took the address", func(_ *fabric.Plan, a, b *fabric.Facts) {
			plantDown(a, "eth8")
			nicOf(a, "eth8").Addresses = nil
			plantRule(a, 108)
		}, []string{"link-down host1:eth8"}},
		{"NIC gone", func(_ *fabric.Plan, a, b *fabric.Facts) {
			plantDown(a, "eth8")
			a.NICs = a.NICs[:len(a.NICs)-1]
		}, []string{"link-down host1:eth8"}},
		{"one subnet", func(_ *fabric.Plan, a, b *fabric.Facts) { plantOneSubnet(a, "eth1", 29) }, []string{"arp-flux host1:eth1"}},
		{"one subnet, both", func(_ *fabric.Plan, a, b *fabric.Facts) {
			plantOneSubnet(a, "eth1", 29)
			plantOneSubnet(a, "eth2", 29)
		}, []string{"arp-flux host1:eth1", "arp-flux host1:eth2"}},
		{"one subnet, address moved", func(_ *fabric.Plan, a, b *fabric.Facts) { plantMoved(a, "eth2", "10.64.0.0/31") }, []string{"arp-flux host1:eth2"}},
		{"one subnet, the neighbour's address", func(_ *fabric.Plan, a, b *fabric.Facts) { plantMoved(a, "eth2", "10.64.0.1/31") }, []string{"arp-flux host1:eth2"}},
		{"address of another host", func(_ *fabric.Plan, a, b *fabric.Facts) { plantMoved(a, "eth2", "10.64.0.19/31") }, []string{"address-missing host1:eth2"}},
		{"swap-cable", func(_ *fabric.Plan, a, b *fabric.Facts) { plantSwap(a, 2, a, 4) }, []string{"miscabled host1:eth3", "miscabled host1:eth5"}},
		{"swap-cable between hosts", func(_ *fabric.Plan, a, b *fabric.Facts) { plantSwap(a, 2, b, 4) }, []string{"miscabled host1:eth3", "miscabled host2:eth5"}},
		{"several at once", func(_ *fabric.Plan, a, b *fabric.Facts) {
			plantMTU(a, "eth1")
			plantMTU(a, "eth2")
			plantRoute(a, 102)
			plantDown(a, "eth4")
			plantOneSubnet(b, "eth6", 29)
			plantSwap(b, 0, b, 1)
			plantRule(b, 103)
		}, []string{
			"arp-flux host2:eth6", "link-down host1:eth4", "miscabled host2:eth1", "miscabled host2:eth2",
			"mtu-mismatch host1:eth1", "mtu-mismatch host1:eth2", "route-missing host1:eth2", "route-missing host2:eth3",
		}},
		{"two on one NIC", func(_ *fabric.Plan, a, b *fabric.Facts) {
			plantMTU(a, "eth4")
			plantDown(a, "eth4")
		}, []string{"link-down host1:eth4", "mtu-mismatch host1:eth4"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := testPlan(2)
			a, b := labFacts(p, 0), labFacts(p, 1)
			tt.plant(p, a, b)
			findings, summary := run(p, nil, a, b)
			if diff := cmp.Diff(tt.want, blamedBy(findings)); diff != "" {
				t.Errorf("blamed (-want +got):\n%s", diff)
			}
			if want := map[bool]fabric.Status{true: fabric.Pass, false: fabric.Fail}[len(tt.want) == 0]; summary.Status() != want {
				t.Errorf("verdict %s, want %s", summary.Status(), want)
			}
			checkCounts(t, findings, summary)
			for _, f := range findings {
				checkWhole(t, f)
			}
		})
	}
}

// TestFixes reads the commands that change a host: each must undo the fault that it stands under.
func TestFixes(t *testing.T) {
	const s = "host1:eth3"
	printed := func(w *world) {
		for _, a := range w.plan.Addressing.Nodes[0].NICs[:2] {
			w.host1().Rules = append(w.host1().Rules, fabric.Rule{Priority: 1, To: netip.PrefixFrom(a.Address.Addr(), 16), Table: a.Table})
		}
	}
	tests := []struct {
		rule, subject string
		change        func(*world)
		want          string
	}{
		{"mtu", s, func(w *world) { plantMTU(w.host1(), "eth3") }, "ip link set dev eth3 mtu 9000   # on host1; `railwright apply` makes it permanent"},
		{"address", s, func(w *world) { plantMoved(w.host1(), "eth3", "10.99.0.1/24") }, "ip address del 10.99.0.1/24 dev eth3 && ip address add 10.64.0.5/31 dev eth3   # on host1; `railwright apply` makes it permanent"},
		{"address", s, func(w *world) { eth3(w).Addresses = nil }, "ip address add 10.64.0.5/31 dev eth3   # on host1; `railwright apply` makes it permanent"},
		{"one-subnet", s, func(w *world) { plantOneSubnet(w.host1(), "eth3", 29) }, "ip address del 10.64.0.5/29 dev eth3 && ip address add 10.64.0.5/31 dev eth3   # on host1; `railwright apply` makes it permanent"},
		{"one-subnet", s, func(w *world) {
			eth3(w).Addresses = append(eth3(w).Addresses, netip.MustParsePrefix("10.64.0.6/29"))
		}, "ip address del 10.64.0.6/29 dev eth3   # on host1; `railwright apply` makes it permanent"},
		{"one-subnet", s, func(w *world) { plantOneSubnet(w.host1(), "eth3", 29); noPlan(w) }, "sysctl -w net.ipv4.conf.all.arp_ignore=2 net.ipv4.conf.all.arp_announce=1   # on host1, until the next boot"},
		{"source-rule", s, func(w *world) { plantRule(w.host1(), 103) }, "ip rule add from 10.64.0.5 table 103   # on host1; `railwright apply` makes it permanent"},
		{"source-rule", s, func(w *world) { w.host1().Rules[3].From = netip.MustParsePrefix("10.64.0.4/30") }, "ip rule add from 10.64.0.5 table 103 && ip rule del from 10.64.0.4/30 table 103   # on host1; `railwright apply` makes it permanent"},
		{"rail-route", s, func(w *world) { plantRoute(w.host1(), 103) }, "ip route replace default via 10.64.0.4 dev eth3 table 103   # on host1; `railwright apply` makes it permanent"},
		{"rule-shadow", "host1", printed, "ip rule del from all to 10.64.0.1/16 table 101; ip rule del from all to 10.64.0.3/16 table 102   # on host1, and remove them from the file that sets them"},
		{"rule-shadow", "host1", func(w *world) { printed(w); noPlan(w) }, "ip rule del from all to 10.64.0.1/16 table 101; ip rule del from all to 10.64.0.3/16 table 102   # on host1, and remove them from the file that sets them"},
		{"rule-shadow", "host1", func(w *world) {
			w.host1().Rules = append(w.host1().Rules, fabric.Rule{Priority: 9, From: netip.MustParsePrefix("10.64.0.5/32"), Table: 108})
		}, "ip rule del from 10.64.0.5 table 108   # on host1, and remove them from the file that sets them"},
		{"acs", "host1:" + rail3Up, func(w *world) { pciOf(w.host1(), rail3Up).ACS.Control = 0x1d }, "setpci -s 0000:31:00.0 ECAP_ACS+6.w=0000:000c   # on host1, after every boot"},
	}
	for _, tt := range tests {
		w := newWorld()
		tt.change(w)
		findings, _ := run(w.plan, nil, w.nodes...)
		i := slices.IndexFunc(findings, func(f fabric.Finding) bool { return f.ID == tt.rule && f.Subject.String() == tt.subject })
		if findings[i].Fix != tt.want {
			t.Errorf("%s: fix\n%q, want\n%q", tt.rule, findings[i].Fix, tt.want)
		}
	}
}

// TestHardwareFaults plants what the lab cannot, on bare metal.
func TestHardwareFaults(t *testing.T) {
	slow := func(f *fabric.Facts, addresses ...string) {
		for _, a := range addresses {
			pciOf(f, a).Link.Width = 8
		}
	}
	tests := []struct {
		name  string
		plant func(*fabric.Facts)
		want  []string
	}{
		{"none", func(*fabric.Facts) {}, []string{}},
		{"NIC narrow", func(f *fabric.Facts) { slow(f, rail3NIC, rail3Down) }, []string{"pcie-downgraded host1:" + rail3NIC}},
		{"switch narrow", func(f *fabric.Facts) { slow(f, rail3Up, rail3Root) }, []string{"pcie-downgraded-upstream host1:" + rail3Up}},
		{"redirect", func(f *fabric.Facts) { pciOf(f, rail3Up).ACS.Control = 0x1d }, []string{"acs-redirect host1:" + rail3Up}},
		{"balancing", func(f *fabric.Facts) { f.Sysctls["kernel.numa_balancing"] = "1" }, []string{"numa-balancing host1"}},
		{"link and its port", func(f *fabric.Facts) {
			plantDown(f, "eth3")
			f.HCAs[2].Ports[0].State, f.HCAs[2].Ports[0].PhysState = "DOWN", "Disabled"
		}, []string{"link-down host1:eth3"}},
		{"port of another rail", func(f *fabric.Facts) { f.HCAs[3].Ports[0].State = "DOWN" }, []string{"link-down host1:bnxt_re3/1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := testPlan(2)
			a, b := metalFacts(p, 0), metalFacts(p, 1)
			tt.plant(a)
			findings, _ := run(p, nil, a, b)
			if diff := cmp.Diff(tt.want, blamedBy(findings)); diff != "" {
				t.Errorf("blamed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEachLinkOnce: of a rail's seven functions three are the lower end of a link: NIC, GPU and switch.
func TestEachLinkOnce(t *testing.T) {
	p := testPlan(2)
	findings, _ := run(p, nil, metalFacts(p, 0))
	count := map[string]int{}
	for _, f := range findings {
		if f.ID == "pcie-link" {
			count[f.Subject.PCI]++
		}
	}
	for _, address := range []string{rail3NIC, rail3GPU, rail3Up} {
		if count[address] != 1 {
			t.Errorf("%s judged %d times", address, count[address])
		}
	}
	if len(count) != 3*railsOfTest {
		t.Errorf("%d links judged, want %d", len(count), 3*railsOfTest)
	}
}

func checkCounts(t *testing.T, findings []fabric.Finding, got fabric.Summary) {
	t.Helper()
	if total := got.Pass + got.Fail + got.Unknown + got.NotApplicable + got.Waived; total != len(findings) {
		t.Errorf("%d counted, %d findings given out", total, len(findings))
	}
}

// TestSilence looks at what stands behind a failure: unknown, with the failure's name.
func TestSilence(t *testing.T) {
	p := testPlan(2)
	a, b := labFacts(p, 0), labFacts(p, 1)
	plantDown(a, "eth8")
	findings, _ := run(p, nil, a, b)
	silent := map[string]bool{}
	for _, f := range findings {
		if f.Status == fabric.Unknown {
			if f.Subject.String() != "host1:eth8" || f.Why != "not evaluated while link-up fails on host1:eth8" {
				t.Errorf("unknown without need: %+v", f)
			}
			silent[f.ID] = true
		}
	}
	want := map[string]bool{"address": true, "source-rule": true, "rail-route": true, "rp-filter": true, "cabling": true}
	if diff := cmp.Diff(want, silent); diff != "" {
		t.Errorf("silent rules (-want +got):\n%s", diff)
	}
}

func TestWaivers(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC) }
	down := Waiver{Rule: "link-up", Subject: "host1:eth8", Reason: "card ordered", Until: day(10)}
	tests := []struct {
		name    string
		waivers []Waiver
		status  fabric.Status
		waived  int
		dead    string // words of the finding about the waiver
	}{
		{"none", nil, fabric.Fail, 0, ""},
		{"on its last day", []Waiver{down}, fabric.Pass, 6, ""}, // link-up and the five rules behind it
		{"expired", []Waiver{{down.Rule, down.Subject, down.Reason, day(9)}}, fabric.Fail, 0, "ended on 2026-03-09; today is 2026-03-10"},
		{"unknown rule", []Waiver{down, {"linkup", down.Subject, "x", day(20)}}, fabric.Unknown, 6, `rule "linkup" is unknown: want one of nic-present, pod-nics`},
		{"matches nothing", []Waiver{down, {"mtu", "host1:eth8", "x", day(20)}}, fabric.Unknown, 6, `mtu does not fail on "host1:eth8"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := testPlan(2)
			a, b := labFacts(p, 0), labFacts(p, 1)
			plantDown(a, "eth8")
			findings, summary := run(p, tt.waivers, a, b)
			if summary.Status() != tt.status || summary.Waived != tt.waived {
				t.Errorf("verdict %s with %d waived, want %s with %d", summary.Status(), summary.Waived, tt.status, tt.waived)
			}
			checkCounts(t, findings, summary)
			checkDead(t, findings, tt.dead)
			if tt.waived > 0 {
				checkWaived(t, findings)
			}
		})
	}
}

// TestWaiversOfHardware: a waiver names a port, a PCI function or the cluster as findings print them.
func TestWaiversOfHardware(t *testing.T) {
	until := time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
	w := newWorld()
	w.host1().HCAs[2].Firmware = "231.9"
	w.host1().Kernel.Release = "6.5.0-1-generic"
	pciOf(w.host1(), rail3NIC).Control.RelaxedOrdering = false
	_, summary := run(w.plan, []Waiver{
		{"firmware-equal", onPort3, "card ordered", until}, {"kernel-equal", "cluster", "half of the nodes are updated", until},
		{"relaxed-ordering", "host1:" + rail3NIC, "firmware to come", until},
	}, w.nodes...)
	if summary.Status() != fabric.Pass || summary.Waived != 3 {
		t.Errorf("verdict %s with %d waived, want pass with 3", summary.Status(), summary.Waived)
	}
}

func checkDead(t *testing.T, findings []fabric.Finding, words string) {
	t.Helper()
	i := slices.IndexFunc(findings, func(f fabric.Finding) bool { return f.ID == waiverRule })
	switch {
	case i < 0 && words != "":
		t.Error("no finding about the waiver")
	case i >= 0 && (words == "" || !contains(findings[i].Why, words)):
		t.Errorf("finding about a waiver: %q, want %q", findings[i].Why, words)
	case i >= 0 && (findings[i].Status != fabric.Unknown || findings[i].Severity != fabric.SeverityWarning):
		t.Errorf("finding about a waiver is %s, %s", findings[i].Status, findings[i].Severity)
	}
}

func checkWaived(t *testing.T, findings []fabric.Finding) {
	t.Helper()
	i := slices.IndexFunc(findings, func(f fabric.Finding) bool { return f.Status == fabric.Fail })
	f := findings[i]
	last := f.Evidence[len(f.Evidence)-1]
	if !contains(f.Why, "waived: card ordered; host1:eth8 has no link") || last.Source != waiverSource || !contains(last.Value, "until 2026-03-10") {
		t.Errorf("a waived finding does not say so: %+v", f)
	}
}

// TestOrderOfNodes: a checker that keeps something of one node for the next would differ.
func TestOrderOfNodes(t *testing.T) {
	p := testPlan(2)
	a, b := labFacts(p, 0), labFacts(p, 1)
	plantDown(a, "eth8")
	plantRoute(b, 108)
	one, _ := run(p, nil, a, b)
	two, _ := run(p, nil, b, a)
	if diff := cmp.Diff(blamedBy(one), blamedBy(two)); diff != "" {
		t.Errorf("order of nodes matters (-ab +ba):\n%s", diff)
	}
	if want := []string{"link-down host1:eth8", "route-missing host2:eth8"}; !slices.Equal(blamedBy(one), want) {
		t.Errorf("blamed %v, want %v", blamedBy(one), want)
	}
}
