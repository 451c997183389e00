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

// plantMoved gives nic an address in the subnet of another in place of its own, and its routes go.
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
			if f.Subject.String() != "host1:eth8" || f.Why != "not judged while link-up fails on host1:eth8" {
				t.Errorf("unknown without need: %+v", f)
			}
			silent[f.ID] = true
		}
	}
	want := map[string]bool{"address": true, "source-rule": true, "rail-route": true, "cabling": true}
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
		{"on its last day", []Waiver{down}, fabric.Pass, 5, ""}, // link-up and the four rules behind it
		{"expired", []Waiver{{down.Rule, down.Subject, down.Reason, day(9)}}, fabric.Fail, 0, "ended on 2026-03-09; today is 2026-03-10"},
		{"unknown rule", []Waiver{down, {"linkup", down.Subject, "x", day(20)}}, fabric.Unknown, 5, `rule "linkup" is not known: want one of nic-present, link-up`},
		{"matches nothing", []Waiver{down, {"mtu", "host1:eth8", "x", day(20)}}, fabric.Unknown, 5, `mtu does not fail on "host1:eth8"`},
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
	if !contains(f.Why, "waived: card ordered; host1:eth8 has no link") || last.Source != WaiverSource || !contains(last.Value, "until 2026-03-10") {
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
