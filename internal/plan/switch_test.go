package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// Every cable of the plan ends in exactly the port that its switch lists.
func TestSwitchPortsAreTheCables(t *testing.T) {
	for _, hosts := range []int{2, 33} {
		p := mustPlan(t, cluster(hosts, "eth[1-8]", fabric.P2P31, "10.64.0.0/16"))
		far := make(map[fabric.Endpoint]fabric.Endpoint)
		for _, s := range p.Switches {
			if s.MTU != 9100 {
				t.Errorf("%d hosts: %s has MTU %d", hosts, s.Name, s.MTU)
			}
			for _, port := range s.Ports {
				far[fabric.Endpoint{Node: s.Name, NIC: port.Name}] = port.Peer
				if port.RateGbps != 400 || port.Address.Bits() != 31 {
					t.Errorf("%d hosts: %s %+v", hosts, s.Name, port)
				}
			}
		}
		if len(far) != len(p.Cabling.Links) {
			t.Errorf("%d hosts: %d ports of %d cables", hosts, len(far), len(p.Cabling.Links))
		}
		for _, l := range p.Cabling.Links {
			if far[l.B] != l.A {
				t.Errorf("%d hosts: %s has %s at its far end, want %s", hosts, l.B, far[l.B], l.A)
			}
		}
	}
}

func TestSwitchPort(t *testing.T) {
	p := mustPlan(t, cluster(2, "eth[1-8]", fabric.P2P31, "10.64.0.0/16"))
	last := p.Switches[0].Ports[15]
	if last.Name != "Ethernet60" || last.Peer.String() != "host2:eth8" || last.Address.String() != "10.64.0.30/31" || last.Cage != "" || last.Breakout != 0 {
		t.Errorf("%+v", last)
	}
	for _, scheme := range []fabric.Scheme{fabric.Rail24, fabric.Flat} {
		p := mustPlan(t, cluster(2, "eth[1-8]", scheme, "10.64.0.0/16"))
		if port := p.Switches[0].Ports[0]; port.Address.IsValid() {
			t.Errorf("%s: %+v is routed", scheme, port)
		}
	}
}

// What the real catalog knows of a split cage, of a slower NIC and of a machine reaches the plan.
func TestCatalogReachesThePlan(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster(2, "eth[1-8]", fabric.P2P31, "10.64.0.0/16")
	c.Fabric.Leaf = &intent.Leaf{Model: "qfx5240", OS: "junos"}
	c.Nodes = append(c.Nodes, intent.NodeGroup{Names: "box[1-2]", Machine: "xe9680-mi300x-thor2", NICs: "eth[1-8]"}, intent.NodeGroup{Names: "more", Machine: "xe9680-mi300x-thor2", NICs: "eth[1-8]"})
	p, err := New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	if third := p.Switches[0].Ports[3]; third.Name != "et-0/0/1:1" || third.Cage != "1" || third.Breakout != 2 || third.RateGbps != 400 {
		t.Errorf("%+v", third)
	}
	want := []fabric.NominalMachine{{
		ID: "xe9680-mi300x-thor2", GPU: "mi300x", GPUs: 8, GPUPCIIDs: []string{"1002:74a1"}, GPUVendor: "amd", CPU: "intel", NIC: "thor2", NICs: 8, NICPCIIDs: []string{"14e4:1760"}, NICDriver: "bnxt_en", NICGbps: 400,
		PCIeGeneration: 5, PCIeLanes: 16, PCIeSwitches: 8, HostMemoryGB: 2000, NICFirmware: cat.NICs["thor2"].Firmware, NICFirmwareBad: cat.NICs["thor2"].FirmwareBad, Source: "catalog",
	}}
	if diff := cmp.Diff(want, p.Machines); diff != "" {
		t.Error(diff)
	}
	c.Nodes[1].Machine = "cray"
	if _, err := New(c, cat); err == nil {
		t.Error("a machine that the catalog does not know was planned")
	}
}

func TestSlower(t *testing.T) {
	for _, c := range []struct {
		name       string
		a, b, want float64
	}{
		{"the NIC is slower", 400, 200, 200},
		{"the port is slower", 100, 200, 100},
		{"an unknown NIC", 400, 0, 400},
		{"an unknown port", 0, 200, 200},
		{"both unknown", 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := slower(c.a, c.b); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestTraffic(t *testing.T) {
	standard := intent.DefaultTraffic()
	if traffic(nil) != nil {
		t.Error("classes without any in the cluster file")
	}
	plain := traffic(&standard)
	want := &fabric.Traffic{
		Classes: []fabric.TrafficClass{
			{Name: "cnp", DSCP: 48, Priority: 7, Source: "default: " + intent.ClassSource},
			{Name: "roce", DSCP: 26, Priority: 3, Lossless: true, Source: "default: " + intent.ClassSource},
		},
		Share: 50, ShareSource: "default: " + intent.ShareSource,
		CableM: 5, CableSource: "default: " + intent.CableSource,
	}
	if diff := cmp.Diff(want, plain); diff != "" {
		t.Error(diff)
	}
	standard.RoCE = &intent.Class{DSCP: 24, Priority: 4}
	standard.ECN, standard.Watchdog = &intent.ECN{MinKiB: 1024, MaxKiB: 2048, Probability: 5}, &intent.Watchdog{DetectMs: 200, RestoreMs: 400}
	standard.CableM, standard.CableSource = 40, ""
	full := traffic(&standard)
	if roce := full.Classes[1]; roce.DSCP != 24 || roce.Priority != 4 || roce.Source != "cluster file" || roce.ECN == nil || roce.ECN.MinBytes != 1048576 || roce.ECN.MaxBytes != 2097152 {
		t.Errorf("%+v", roce)
	}
	if full.Watchdog == nil || full.Watchdog.DetectMs != 200 || full.CableM != 40 || full.CableSource != "cluster file" || full.Classes[0].ECN != nil {
		t.Errorf("%+v", full)
	}
}

// A value that the cluster file states comes from there, also where it is the default.
func TestTrafficSources(t *testing.T) {
	for _, c := range []struct{ name, traffic, cnp, roce, cable string }{
		{"nothing stated", "", "default: " + intent.ClassSource, "default: " + intent.ClassSource, "default: " + intent.CableSource},
		{"the defaults stated", "  traffic: {roce: {dscp: 26, priority: 3}, cnp: {dscp: 48, priority: 7}, cable_m: 5}\n", "cluster file", "cluster file", "cluster file"},
		{"one class stated", "  traffic: {roce: {dscp: 26, priority: 3}, ecn: {}}\n", "default: " + intent.ClassSource, "cluster file", "default: " + intent.CableSource},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(t, c.traffic)
			got := []string{p.Traffic.Classes[0].Source, p.Traffic.Classes[1].Source, p.Traffic.CableSource}
			if diff := cmp.Diff([]string{c.cnp, c.roce, c.cable}, got); diff != "" {
				t.Error(diff)
			}
			if ecn := p.Traffic.Classes[1].ECN; ecn != nil && ecn.Source != "default: "+intent.ECNSource {
				t.Errorf("%+v", ecn)
			}
		})
	}
}

// Every field of the traffic block reaches the plan, each with its source; a block that states some fields says which are
// defaults.
func TestTrafficFields(t *testing.T) {
	p := planOf(t, "  traffic: {roce: {dscp: 24, priority: 4}, cnp: {dscp: 46, priority: 6}, ecn: {min_kib: 3072, max_kib: 6144, probability: 20}, "+
		"share: 80, watchdog: {detect_ms: 300, restore_ms: 600}, cable_m: 40}\n")
	want := &fabric.Traffic{
		Classes: []fabric.TrafficClass{
			{Name: "cnp", DSCP: 46, Priority: 6, Source: "cluster file"},
			{Name: "roce", DSCP: 24, Priority: 4, Lossless: true, Source: "cluster file",
				ECN: &fabric.ECN{MinBytes: 3 << 20, MaxBytes: 6 << 20, Percent: 20, Source: "cluster file"}},
		},
		Share: 80, ShareSource: "cluster file",
		Watchdog: &fabric.PFCWatchdog{DetectMs: 300, RestoreMs: 600, Source: "cluster file"},
		CableM:   40, CableSource: "cluster file",
	}
	if diff := cmp.Diff(want, p.Traffic); diff != "" {
		t.Error(diff)
	}
	half := planOf(t, "  traffic: {ecn: {max_kib: 4096}, watchdog: {detect_ms: 400}}\n").Traffic
	if e := half.Classes[1].ECN; e.MinBytes != 1<<20 || e.MaxBytes != 4<<20 || e.Percent != 5 || e.Source != "cluster file; default of min_kib, probability: "+intent.ECNSource {
		t.Errorf("%+v", e)
	}
	if w := half.Watchdog; w.DetectMs != 400 || w.RestoreMs != 400 || w.Source != "cluster file; default of restore_ms: "+intent.WatchdogSource {
		t.Errorf("%+v", w)
	}
}

// Without PFC the class is not lossless, and the plan says what the fabric then rests on.
func TestLossy(t *testing.T) {
	for ecn, want := range map[string]string{"": "nothing slows its senders down", ", ecn: {}": "what ECN does not prevent is dropped"} {
		p := planOf(t, "  traffic: {pfc: false"+ecn+"}\n")
		if p.Traffic.Classes[1].Lossless || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], want) {
			t.Errorf("%q: %+v, notes %q", ecn, p.Traffic.Classes[1], p.Notes)
		}
	}
	if p := planOf(t, "  traffic: {pfc: true}\n"); !p.Traffic.Classes[1].Lossless || len(p.Notes) != 0 {
		t.Errorf("%+v, notes %q", p.Traffic.Classes[1], p.Notes)
	}
}

// planOf plans one host with the given lines of fabric.
func planOf(t *testing.T, lines string) *fabric.Plan {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := intent.Parse("c", []byte("apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nplatform: baremetal\n"+
		"nodes: [{names: a, nics: eth0}]\nfabric:\n  kind: roce\n  leaf: {model: z9664f, os: sonic}\n"+lines), cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(cluster, cat)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A leaf forwards at least what its NICs send.
func TestSwitchMTU(t *testing.T) {
	for _, c := range []struct {
		name      string
		nics      int
		transport fabric.Transport
		want      int
	}{
		{"smaller NICs", 1500, fabric.RoCE, 9100},
		{"jumbo NICs", 9000, fabric.RoCE, 9100},
		{"larger NICs", 9200, fabric.RoCE, 9200},
		{"InfiniBand", 4092, fabric.InfiniBand, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := cluster(2, "eth[1-8]", fabric.P2P31, "10.64.0.0/16")
			file.Fabric.MTU, file.Fabric.Kind = c.nics, c.transport
			if p := mustPlan(t, file); p.Switches[0].MTU != c.want || p.MTU != c.nics {
				t.Errorf("NICs %d, switch %d, want %d", p.MTU, p.Switches[0].MTU, c.want)
			}
		})
	}
}
