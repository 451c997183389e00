package lossless_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/lossless"
)

var update = flag.Bool("update", false, "rewrite golden files")

// pair is a network of two hosts at two leaves with a spine, built by hand: RoCE is DSCP 26 in priority 3, CNPs 48 in 7.
func pair() (*world, map[string]*fabric.PortConfig) {
	w := &world{of: map[*fabric.PortConfig]string{}, pfc: []int{3}}
	w.want.RoCE = fabric.TrafficClass{Name: "roce", DSCP: 26, Priority: 3, Lossless: true, ECN: &fabric.ECN{}}
	w.want.CNP = fabric.TrafficClass{Name: "cnp", DSCP: 48, Priority: 7}
	w.net = lossless.Network{Switches: map[string]*fabric.SwitchConfig{}, NICs: map[fabric.Endpoint]lossless.NICConfig{}}
	r := rand.New(rand.NewPCG(2, 4))
	ports := map[string]*fabric.PortConfig{}
	for _, name := range []string{"leaf1", "leaf2", "spine1"} {
		w.addSwitch(r, name, 2, false)
		for i := range w.net.Switches[name].Ports {
			p := &w.net.Switches[name].Ports[i]
			p.Rewrite = nil
			ports[name+":"+p.Name] = p
		}
	}
	at := func(node, port string) fabric.Endpoint { return fabric.Endpoint{Node: node, NIC: port} }
	for i := range 2 {
		nic, leaf := at(fmt.Sprintf("host%d", i+1), "eth1"), fmt.Sprintf("leaf%d", i+1)
		w.net.NICs[nic] = w.newNIC(r)
		w.net.Cables = append(w.net.Cables, lossless.Cable{A: nic, B: at(leaf, "p1")}, lossless.Cable{A: at(leaf, "p2"), B: at("spine1", fmt.Sprintf("p%d", i+1))})
	}
	return w, ports
}

// TestCounterexamples keeps the words of counterexamples, one of each kind.
func TestCounterexamples(t *testing.T) {
	said := func(n int, text string) *fabric.Said[int] {
		return &fabric.Said[int]{Is: n, At: fabric.Line{File: "edited.cfg", Number: 7, Text: text}}
	}
	nic := func(w *world) *fabric.QoS { return w.net.NICs[fabric.Endpoint{Node: "host1", NIC: "eth1"}].QoS }
	cases := []struct {
		kind lossless.Kind
		edit func(w *world, p map[string]*fabric.PortConfig)
	}{
		{lossless.Lossy, func(_ *world, p map[string]*fabric.PortConfig) {
			d := *p["spine1:p2"].DSCP
			d[26].Pause = said(-1, "dscp 26 lossy")
			p["spine1:p2"].DSCP = &d
		}},
		{lossless.NotPaused, func(w *world, p map[string]*fabric.PortConfig) {
			p["leaf2:p2"].Pauses = &fabric.PFCDirections{Sends: say(w, "leaf2", "sends", false)}
		}},
		{lossless.OtherPriority, func(w *world, p map[string]*fabric.PortConfig) {
			d := *p["spine1:p2"].DSCP
			d[26].Pause = said(4, "dscp 26 priority 4")
			p["spine1:p2"].DSCP = &d
			for _, x := range p {
				x.PFC = say(w, "", "pfc", []int{3, 4})
				x.Stops[4] = x.Stops[3]
			}
		}},
		{lossless.PauseIgnored, func(w *world, p map[string]*fabric.PortConfig) {
			p["leaf2:p2"].Pauses = &fabric.PFCDirections{Obeys: say(w, "leaf2", "obeys", false)}
		}},
		{lossless.PauseOther, func(_ *world, p map[string]*fabric.PortConfig) {
			p["leaf2:p2"].Stops[3] = said(2, "pfc-priority 3 queue 2")
		}},
		{lossless.LinkPause, func(w *world, _ map[string]*fabric.PortConfig) { on := true; nic(w).Pause = &on }},
		{lossless.NoECN, func(_ *world, p map[string]*fabric.PortConfig) {
			for _, q := range p["leaf2:p1"].Queues {
				q.Marks = &fabric.QueueProfile{ECN: fabric.Said[bool]{At: fabric.Line{File: "leaf2", Number: 9, Text: "no ecn"}}}
			}
		}},
		{lossless.DropsEarly, func(_ *world, p map[string]*fabric.PortConfig) {
			for _, q := range p["leaf2:p1"].Queues {
				q.Marks = &fabric.QueueProfile{Drops: true, ECN: fabric.Said[bool]{At: fabric.Line{File: "leaf2", Number: 9, Text: "wred"}}}
			}
		}},
		{lossless.Thresholds, func(_ *world, p map[string]*fabric.PortConfig) {
			q := p["leaf2:p1"].Queues[p["leaf2:p1"].DSCP[26].Queue.Is]
			q.Marks.Min.Value = 4096
		}},
		{lossless.NotStrict, func(w *world, p map[string]*fabric.PortConfig) {
			q := p["spine1:p1"].Queues[p["spine1:p1"].DSCP[48].Queue.Is]
			q.Algorithm = say(w, "spine1", "queue", "weighted")
		}},
		{lossless.CNPLossless, func(_ *world, p map[string]*fabric.PortConfig) {
			d := *p["leaf1:p1"].DSCP
			d[48].Pause = said(3, "dscp 48 priority 3")
			p["leaf1:p1"].DSCP = &d
		}},
		{lossless.OtherLossless, func(w *world, _ map[string]*fabric.PortConfig) {
			for d := 24; d < 32; d++ {
				nic(w).DSCP[d] = 3
			}
		}},
		{lossless.SmallMTU, func(_ *world, p map[string]*fabric.PortConfig) { p["spine1:p1"].MTU = said(8986, "mtu 8986") }},
	}
	var b strings.Builder
	for _, c := range cases {
		w, ports := pair()
		if r := lossless.Prove(w.net, w.want); r.Verdict != fabric.Pass || r.Walked != 128 || r.Islands != 1 {
			t.Fatalf("before: %+v", r)
		}
		c.edit(w, ports)
		r := lossless.Prove(w.net, w.want)
		seen := false
		fmt.Fprintf(&b, "-- %s --\n", c.kind)
		for _, x := range r.Counterexamples {
			seen = seen || x.Kind == c.kind
			write(&b, x)
			if why := confirm(w, x); why != "" {
				t.Errorf("%s: %s", c.kind, why)
			}
		}
		if !seen || r.Verdict != fabric.Fail {
			t.Errorf("%s: not found: %+v", c.kind, r)
		}
	}
	golden(t, "counterexamples.txt", b.String())
}

func write(b *strings.Builder, c lossless.Counterexample) {
	fmt.Fprintf(b, "%s: %s\n  packet %+v, DSCPs %v, %d places on %s\n", c.Kind, c.Why, c.Packet, c.DSCPs, c.Places, strings.Join(c.Switches, ", "))
	for _, h := range c.Hops {
		fmt.Fprintf(b, "  %s: %s [%s:%d %s]\n", h.At, h.Does, h.Line.File, h.Line.Number, h.Line.Text)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs:\n%s", file, got)
	}
}

func TestNothingIsProvedOfNothing(t *testing.T) {
	whole, _ := pair()
	noCables, _ := pair()
	noCables.net.Cables = nil
	oneNIC, _ := pair()
	oneNIC.net.Cables = oneNIC.net.Cables[:1]
	direct, _ := pair()
	direct.net.Cables = append(direct.net.Cables, lossless.Cable{A: fabric.Endpoint{Node: "host1", NIC: "eth9"}, B: fabric.Endpoint{Node: "host2", NIC: "eth9"}})
	twice, _ := pair()
	twice.net.Cables = append(twice.net.Cables, lossless.Cable{A: fabric.Endpoint{Node: "host3", NIC: "eth1"}, B: fabric.Endpoint{Node: "leaf1", NIC: "p1"}})
	unread, _ := pair()
	for name := range unread.net.Switches {
		unread.net.Switches[name] = &fabric.SwitchConfig{}
	}
	noTurns, _ := pair()
	noTurns.net.Turns = []lossless.Turn{}
	strange, _ := pair()
	strange.net.Turns = []lossless.Turn{{}, {Switch: "leaf1", In: "p1", Out: "p1"}, {Switch: "nowhere", In: "p1", Out: "p2"}}
	lossy := whole.want
	lossy.RoCE.Lossless = false
	cases := []struct {
		name string
		net  lossless.Network
		want lossless.Intent
		is   fabric.Status
	}{
		{"whole", whole.net, whole.want, fabric.Pass},
		{"empty", lossless.Network{}, whole.want, fabric.Unknown},
		{"no cables", noCables.net, whole.want, fabric.Unknown},
		{"one NIC", oneNIC.net, whole.want, fabric.Unknown},
		{"cable between hosts", direct.net, whole.want, fabric.Unknown},
		{"two cables in a port", twice.net, whole.want, fabric.Unknown},
		{"texts without ports", unread.net, whole.want, fabric.Unknown},
		{"no NIC was read", lossless.Network{Switches: whole.net.Switches, Cables: whole.net.Cables}, whole.want, fabric.Unknown},
		{"no turns", noTurns.net, whole.want, fabric.Unknown},
		{"turns of nothing", strange.net, whole.want, fabric.Unknown},
		{"lossy by intent", whole.net, lossy, fabric.NotApplicable},
	}
	for _, c := range cases {
		r := lossless.Prove(c.net, c.want)
		if r.Verdict != c.is {
			t.Errorf("%s: %+v, want %v", c.name, r, c.is)
		}
		if c.is != fabric.Pass && r.Why == "" && len(r.Unknown) == 0 {
			t.Errorf("%s: no reason", c.name)
		}
		for _, g := range r.Unknown {
			if g.What == "" || g.Places == 0 || g.At.Node == "" {
				t.Errorf("%s: a gap without words or place: %+v", c.name, g)
			}
		}
	}
}

func TestFromPlan(t *testing.T) {
	w, _ := pair()
	at := func(node, port string) fabric.Endpoint { return fabric.Endpoint{Node: node, NIC: port} }
	p := &fabric.Plan{
		Switches: []fabric.Switch{
			{Name: "leaf1", Ports: []fabric.SwitchPort{{Name: "p1", Peer: at("host1", "eth1")}, {Name: "p2", Peer: at("spine1", "p1"), Uplink: true}, {Name: "p3"}}},
			{Name: "leaf2", Ports: []fabric.SwitchPort{{Name: "p1", Peer: at("host2", "eth1")}, {Name: "p2", Peer: at("spine1", "p2"), Uplink: true}}},
			{Name: "spine1", Ports: []fabric.SwitchPort{{Name: "p1", Peer: at("leaf1", "p2"), Uplink: true}, {Name: "p2", Peer: at("leaf2", "p2"), Uplink: true}}},
		},
		Cabling: fabric.Cabling{Links: []fabric.Link{{A: at("host1", "eth1"), B: at("leaf1", "p1"), Rail: 1}, {A: at("host2", "eth1"), B: at("leaf2", "p1"), Rail: 1}}},
		Traffic: &fabric.Traffic{Classes: []fabric.TrafficClass{w.want.CNP, w.want.RoCE}},
	}
	configs := maps.Clone(w.net.Switches)
	configs["stranger"] = &fabric.SwitchConfig{}
	n := lossless.FromPlan(p, configs, w.net.NICs)
	if len(n.Cables) != 4 || len(n.Switches) != 3 {
		t.Errorf("%d cables, switches %v", len(n.Cables), slices.Sorted(maps.Keys(n.Switches)))
	}
	in, ok := lossless.IntentOf(p.Traffic)
	if r := lossless.Prove(n, in); !ok || r.Verdict != fabric.Pass {
		t.Errorf("%v %+v", ok, r)
	}
	delete(configs, "spine1")
	if r := lossless.Prove(lossless.FromPlan(p, configs, w.net.NICs), in); r.Verdict != fabric.Unknown {
		t.Errorf("without the spine: %+v", r)
	}
	if _, ok := lossless.IntentOf(&fabric.Traffic{Classes: []fabric.TrafficClass{w.want.RoCE}}); ok {
		t.Error("an intent without notifications")
	}
}
