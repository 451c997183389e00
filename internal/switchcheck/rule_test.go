package switchcheck

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func at(number int, text string) fabric.Line {
	return fabric.Line{File: "leaf1.cfg", Number: number, Text: text}
}

func is[T any](v T) *fabric.Said[T] { return &fabric.Said[T]{Is: v, At: at(1, fmt.Sprint(v))} }

// planOf is two hosts of two NICs on one leaf, routed.
func planOf() *fabric.Plan {
	roce := fabric.TrafficClass{Name: "roce", DSCP: 26, Priority: 3, Lossless: true, ECN: &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}}
	p := &fabric.Plan{MTU: 9000, Transport: fabric.RoCE, Traffic: &fabric.Traffic{
		Classes: []fabric.TrafficClass{{Name: "cnp", DSCP: 48, Priority: 7}, roce}, Share: 50, CableM: 5,
		Watchdog: &fabric.PFCWatchdog{DetectMs: 200, RestoreMs: 400},
	}}
	leaf := fabric.Switch{Name: "leaf1", Role: fabric.Leaf, OS: "dell-sonic", MTU: 9100,
		VLANs: []fabric.VLAN{{ID: 101, Name: "rail1", Gateway: netip.MustParsePrefix("10.1.0.254/24"), Rail: 1}},
		BGP:   &fabric.BGP{ASN: 65001, Neighbours: []fabric.BGPNeighbour{{Address: netip.MustParseAddr("10.9.0.1"), ASN: 65000}}},
	}
	for i := range 4 {
		nic := fabric.Endpoint{Node: fmt.Sprintf("host%d", i/2+1), NIC: fmt.Sprintf("eth%d", i%2+1)}
		port := fabric.SwitchPort{Name: fmt.Sprintf("Eth1/%d", i+1), RateGbps: 400, Breakout: 1, Peer: nic, Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, 0, byte(2 * i)}), 31)}
		leaf.Ports = append(leaf.Ports, port)
		p.Cabling.Links = append(p.Cabling.Links, fabric.Link{A: nic, B: fabric.Endpoint{Node: "leaf1", NIC: port.Name}, Rail: i%2 + 1})
	}
	p.Switches = []fabric.Switch{leaf}
	return p
}

// configOf is a switch that does what the plan says, in no language.
func configOf(p *fabric.Plan) *fabric.SwitchConfig {
	s := p.Switches[0]
	c := &fabric.SwitchConfig{Name: s.Name, OS: s.OS, Texts: []fabric.SwitchText{{File: "leaf1.cfg", Form: "configuration", Lines: 9, Whole: true}},
		BGP: &fabric.BGPConfig{ASN: *is(s.BGP.ASN), Neighbours: []fabric.BGPNeighbour{s.BGP.Neighbours[0]}}}
	for _, v := range s.VLANs {
		c.VLANs = append(c.VLANs, fabric.VLANConfig{ID: v.ID, MTU: is(9100), Addresses: []fabric.Said[netip.Prefix]{*is(v.Gateway)}})
	}
	for i, q := range s.Ports {
		c.Ports = append(c.Ports, portOf(q, i+1))
	}
	return c
}

func portOf(q fabric.SwitchPort, number int) fabric.PortConfig {
	p := fabric.PortConfig{Name: q.Name, At: at(10*number, "interface "+q.Name), Up: is(true), MTU: is(9100), RateGbps: is(400.0), FEC: is("rs"), Breakout: is(1),
		Addresses: []fabric.Said[netip.Prefix]{*is(q.Address)}, VLAN: is(0), CableM: is(5), Trust: is("dscp"), PFC: is([]int{3}),
		Watchdog: &fabric.WatchdogConfig{On: is(true), Action: is("drop"), DetectMs: is(200), RestoreMs: is(400)},
	}
	var dscp [64]fabric.Treatment
	for i := range dscp {
		dscp[i] = treat(0, -1)
	}
	dscp[26], dscp[48] = treat(3, 3), treat(7, -1)
	p.DSCP = &dscp
	for i := range p.Stops {
		p.Stops[i] = is(i)
	}
	p.Queues[0] = &fabric.QueueConfig{Algorithm: is("weighted"), Weight: is(50), Marks: &fabric.QueueProfile{}}
	p.Queues[7] = &fabric.QueueConfig{Algorithm: is("strict"), Marks: &fabric.QueueProfile{}}
	p.Queues[3] = &fabric.QueueConfig{Algorithm: is("weighted"), Weight: is(50), Marks: &fabric.QueueProfile{Name: "R", ECN: *is(true), Percent: is(5),
		Min: &fabric.Threshold{Value: 1 << 20, Unit: "bytes"}, Max: &fabric.Threshold{Value: 2 << 20, Unit: "bytes"}}}
	return p
}

func treat(class, pause int) fabric.Treatment {
	return fabric.Treatment{Class: is(strconv.Itoa(class)), Queue: is(class), Pause: is(pause)}
}

// nicsOf are NICs that do what the plan says.
func nicsOf(p *fabric.Plan) map[fabric.Endpoint]NICEnd {
	out := map[fabric.Endpoint]NICEnd{}
	for _, l := range p.Cabling.Links {
		out[l.A] = NICEnd{MTU: 9000, RateGbps: 400, QoS: &fabric.QoS{Trust: "dscp", DSCP: fabric.DSCPPriorities{26: 3, 48: 7}, PFC: &[]int{3}, Queues: []int{0, 0, 0, 1, 0, 0, 0, 2},
			Schedulers: []fabric.Scheduler{{Algorithm: "ets"}, {Algorithm: "ets"}, {Algorithm: "strict"}}, Pause: new(false),
			RoCE: &fabric.Marking{DSCP: new(26), Priority: new(3)}, CNP: &fabric.Marking{DSCP: new(48), Priority: new(7)}, ECN: &[]int{0, 1, 2, 3, 4, 5, 6, 7}}}
	}
	return out
}

type world struct {
	plan   *fabric.Plan
	config *fabric.SwitchConfig
	nics   map[fabric.Endpoint]NICEnd
}

func right() world {
	p := planOf()
	return world{p, configOf(p), nicsOf(p)}
}

// second is the port that cases change.
func (w world) second() *fabric.PortConfig { return &w.config.Ports[1] }

// judge returns the failing and the unknown rules, each with what it says.
func (w world) judge() (failed, unknown map[string]string) {
	failed, unknown = map[string]string{}, map[string]string{}
	in := &Input{Plan: w.plan, Configs: []*fabric.SwitchConfig{w.config}, NICs: w.nics}
	if w.plan != nil {
		in.Rendered = map[string]*fabric.SwitchConfig{"leaf1": configOf(w.plan)}
	}
	for _, r := range Rules() {
		found := r.Judge(in)
		if len(found) == 0 {
			failed[r.ID] = "says nothing"
		}
		for _, f := range found {
			switch f.Status {
			case fabric.Fail:
				failed[r.ID] += f.Subject.String() + ": " + f.Why + "\n"
			case fabric.Unknown:
				unknown[r.ID] += f.Subject.String() + ": " + f.Why + "\n"
			}
		}
	}
	return failed, unknown
}

func TestRightIsRight(t *testing.T) {
	w := right()
	failed, unknown := w.judge()
	if len(failed)+len(unknown) > 0 {
		t.Errorf("failed %v, unknown %v", failed, unknown)
	}
	w.nics = nil
	failed, unknown = w.judge()
	if len(failed)+len(unknown) > 0 {
		t.Errorf("without hosts: failed %v, unknown %v", failed, unknown)
	}
	w.plan = nil
	failed, unknown = w.judge()
	if len(failed)+len(unknown) > 0 {
		t.Errorf("without a plan: failed %v, unknown %v", failed, unknown)
	}
}

// change is one change of a right world, and what is to be said of it.
type change struct {
	name   string
	change func(world)
	rule   string // that fails
	says   string
	also   string // further rules that see it; "*": any
}

func changes() []change {
	classes := func(w world, change func(*[64]fabric.Treatment)) {
		table := *w.second().DSCP
		change(&table)
		w.second().DSCP = &table
	}
	marks := func(w world) *fabric.QueueProfile {
		q := *w.second().Queues[3]
		m := *q.Marks
		q.Marks = &m
		w.second().Queues[3] = &q
		return &m
	}
	return []change{
		{"a cut text", func(w world) {
			w.config.Problems = []fabric.TextProblem{{Kind: fabric.TextCut, At: at(99, "interf"), What: "the text ends within a line"}}
		}, "switch-text", "ends within a line", ""},
		{"another OS", func(w world) { w.config.OS = "eos" }, "switch-text", "is eos, the plan has dell-sonic", ""},
		{"an unused map", func(w world) {
			w.config.Problems = []fabric.TextProblem{{Kind: fabric.TextUnattached, What: "map X is used by no port"}}
		}, "switch-attached", "used by no port", ""},
		{"a port that is gone", func(w world) { w.config.Ports = w.config.Ports[:3] }, "switch-ports", "leaf1:Eth1/4: This port, planned for host2:eth2", "lossless-path"},
		{"off", func(w world) { w.second().Up = is(false) }, "switch-ports", "switched off", "lossless-path"},
		{"rate", func(w world) { w.second().RateGbps = is(200.0) }, "switch-ports", "200 Gb/s, the plan 400", "ends-agree"},
		{"breakout", func(w world) { w.second().Breakout = is(2) }, "switch-ports", "split into 2, the plan 1", ""},
		{"FEC", func(w world) { w.second().FEC = is("none") }, "switch-ports", "FEC none, the plan rs", "switch-ports-equal"},
		{"address", func(w world) { w.second().Addresses[0].Is = netip.MustParsePrefix("10.1.1.0/31") }, "switch-ports", "address 10.1.1.0/31, the plan 10.64.0.2/31", ""},
		{"MTU", func(w world) { w.second().MTU = is(1500) }, "switch-mtu", "at most 1500 bytes; the NICs send 9000", "switch-ports-equal ends-agree lossless-path"},
		{"MTU that suffices", func(w world) { w.second().MTU = is(9050) }, "switch-ports-equal", "MTU: 9050, on Eth1/1 9100", ""},
		{"MTU of a VLAN", func(w world) { w.config.VLANs[0].MTU = is(1500) }, "switch-mtu", "interface of VLAN 101 routes IP packets of at most 1500", ""},
		{"gateway", func(w world) { w.config.VLANs[0].Addresses = nil }, "switch-routing", "does not have the gateway 10.1.0.254/24", ""},
		{"no VLAN", func(w world) { w.config.VLANs = nil }, "switch-routing", "VLAN 101, rail1 of the plan, is not in the configuration", ""},
		{"ASN", func(w world) { w.config.BGP.ASN.Is = 1 }, "switch-routing", "is in AS 1, the plan has 65001", ""},
		{"neighbour", func(w world) { w.config.BGP.Neighbours = nil }, "switch-routing", "neighbour 10.9.0.1", ""},
		{"RoCE is lossy", func(w world) { classes(w, func(d *[64]fabric.Treatment) { d[26] = treat(1, -1) }) }, "switch-classes", "into class 1 and queue 1, which no pause protects",
			"switch-pfc switch-ecn switch-queues switch-ports-equal ends-agree lossless-path"},
		{"RoCE with another pause", func(w world) { classes(w, func(d *[64]fabric.Treatment) { d[26] = treat(4, 4) }) }, "switch-classes", "pauses RoCE, DSCP 26, with priority 4", "*"},
		{"another DSCP too", func(w world) { classes(w, func(d *[64]fabric.Treatment) { d[25] = treat(3, 3) }) }, "switch-others", "DSCP 25 in lossless or RoCE's queues", "switch-ports-equal lossless-path"},
		{"CNP with RoCE", func(w world) { classes(w, func(d *[64]fabric.Treatment) { d[48] = treat(3, 3) }) }, "switch-cnp", "in queue 3 with RoCE", "switch-ports-equal ends-agree lossless-path"},
		{"CNP elsewhere", func(w world) { classes(w, func(d *[64]fabric.Treatment) { d[48] = treat(0, -1) }) }, "switch-cnp", "in class 0, the plan in 7", "switch-ports-equal lossless-path"},
		{"CNP not strict", func(w world) { w.second().Queues[7] = &fabric.QueueConfig{Algorithm: is("weighted"), Weight: is(1)} }, "switch-cnp", "serves queue 7, congestion notifications, in turn", "switch-ports-equal lossless-path"},
		{"trust", func(w world) { w.second().Trust = is("pcp"); w.second().PCP = &[8]fabric.Treatment{treat(0, -1)} }, "switch-classes", "does not look at DSCP (trust pcp)", "*"},
		{"a longer cable", func(w world) { w.second().CableM = is(9) }, "switch-as-planned", "Length of its cable of Eth1/2: 9, in the plan 5", ""},
		{"a spare DSCP", func(w world) { classes(w, func(d *[64]fabric.Treatment) { d[9] = treat(2, -1) }) }, "switch-as-planned", "Classes of Eth1/2: ", "switch-ports-equal"},
		{"rewrite", func(w world) { w.second().Rewrite = map[string]fabric.Said[int]{"3": *is(8)} }, "switch-rewrite", "class 3, in which DSCP 26 is, out with DSCP 8", "switch-ports-equal lossless-path"},
		{"no PFC", func(w world) { w.second().PFC = is([]int{}) }, "switch-pfc", "PFC on no priority, not on 3", "switch-ports-equal ends-agree lossless-path"},
		{"PFC too much", func(w world) { w.second().PFC = is([]int{3, 4}) }, "switch-pfc", "PFC on priority 4, which the plan does not have", "switch-ports-equal ends-agree"},
		{"sends no pauses", func(w world) { w.second().Pauses = &fabric.PFCDirections{Sends: is(false), Obeys: is(true)} }, "switch-pfc", "sends no pauses", "*"},
		{"obeys no pauses", func(w world) { w.second().Pauses = &fabric.PFCDirections{Sends: is(true), Obeys: is(false)} }, "switch-pfc", "does not obey pauses", "*"},
		{"a pause stops another queue", func(w world) { w.second().Stops[3] = is(4) }, "switch-pfc", "priority 3 stops queue 4; RoCE is in queue 3", "switch-ports-equal lossless-path"},
		{"a pause stops nothing", func(w world) { w.second().Stops[3] = is(-1) }, "switch-pfc", "stops no queue", "switch-ports-equal lossless-path"},
		{"no marking", func(w world) { marks(w).ECN.Is = false }, "switch-ecn", "does not mark packets of queue 3", "switch-ports-equal lossless-path"},
		{"drops", func(w world) { m := marks(w); m.ECN.Is, m.Drops = false, true }, "switch-ecn", "before it is full, instead of marking", "switch-ports-equal lossless-path"},
		{"minimum", func(w world) { marks(w).Min = &fabric.Threshold{Value: 1000, Unit: "bytes"} }, "switch-ecn", "marks from 1000 bytes, the plan from 1024 KiB", "switch-ports-equal"},
		{"maximum", func(w world) { marks(w).Max = &fabric.Threshold{Value: 4 << 20, Unit: "bytes"} }, "switch-ecn", "marks to 4096 KiB, the plan to 2048 KiB", "switch-ports-equal"},
		{"minimum above maximum", func(w world) { marks(w).Min = &fabric.Threshold{Value: 4 << 20, Unit: "bytes"} }, "switch-ecn", "from 4096 KiB, above its maximum of 2048 KiB", "switch-ports-equal lossless-path"},
		{"probability", func(w world) { marks(w).Percent = is(50) }, "switch-ecn", "marks 50 %", "switch-ports-equal"},
		{"marking of another queue", func(w world) { w.second().Queues[2] = w.second().Queues[3] }, "switch-ecn", "marks packets of queue 2, which is not RoCE's", "switch-ports-equal"},
		{"share", func(w world) { w.second().Queues[0] = &fabric.QueueConfig{Algorithm: is("weighted"), Weight: is(10)} }, "switch-queues", "RoCE gets 83 %", "switch-ports-equal"},
		{"RoCE strict", func(w world) { q := *w.second().Queues[3]; q.Algorithm = is("strict"); w.second().Queues[3] = &q }, "switch-queues", "before all others (strict)", "switch-ports-equal"},
		{"watchdog off", func(w world) { w.second().Watchdog = &fabric.WatchdogConfig{On: is(false)} }, "switch-watchdog", "has no PFC watchdog", "switch-ports-equal"},
		{"watchdog forwards", func(w world) { d := *w.second().Watchdog; d.Action = is("forward"); w.second().Watchdog = &d }, "switch-watchdog", `does "forward", not drop`, "switch-ports-equal"},
		{"watchdog slow", func(w world) { d := *w.second().Watchdog; d.DetectMs = is(900); w.second().Watchdog = &d }, "switch-watchdog", "waits 900 ms, the plan 200", "switch-ports-equal"},
		{"cable", func(w world) { w.second().CableM = is(1) }, "switch-headroom", "assumes a cable of 1 m, the plan has 5 m", ""},
		{"NIC without PFC", func(w world) { w.nic(func(n *NICEnd, q *fabric.QoS) { q.PFC = &[]int{} }) }, "ends-agree", "leaf1:Eth1/2 has PFC on priority 3, host1:eth2 does not", "lossless-path"},
		{"NIC with PFC on 4", func(w world) { w.nic(func(n *NICEnd, q *fabric.QoS) { q.PFC = &[]int{4} }) }, "ends-agree", "host1:eth2 has PFC on priority 4, leaf1:Eth1/2 on priority 3: neither obeys", "lossless-path"},
		{"NIC sends another DSCP", func(w world) { w.nic(func(n *NICEnd, q *fabric.QoS) { q.RoCE = &fabric.Marking{DSCP: new(24)} }) }, "ends-agree", "sends RoCE with DSCP 24", "lossless-path"},
		{"NIC in another priority", func(w world) { w.nic(func(n *NICEnd, q *fabric.QoS) { q.DSCP = fabric.DSCPPriorities{26: 5, 48: 7} }) }, "ends-agree", "sends DSCP 26 in priority 5, leaf1:Eth1/2 pauses it with 3", "lossless-path"},
		{"a NIC that pauses its link", func(w world) { w.nic(func(n *NICEnd, q *fabric.QoS) { q.Pause = new(true) }) }, "lossless-path", "host1:eth2", ""},
		{"larger NIC", func(w world) { w.nic(func(n *NICEnd, q *fabric.QoS) { n.MTU = 9600 }) }, "ends-agree", "sends IP packets of 9600 bytes, leaf1:Eth1/2 forwards 9100", "lossless-path"},
	}
}

// Each change is named by its rule, at its place, and by no other rule than those that see the same fault.
func TestOneChange(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			w := right()
			c.change(w)
			failed, _ := w.judge()
			if !strings.Contains(failed[c.rule], c.says) {
				t.Errorf("%s says %q, want %q", c.rule, failed[c.rule], c.says)
			}
			for id, says := range failed {
				if id != c.rule && id != "switch-as-planned" && c.also != "*" && !strings.Contains(" "+c.also+" ", " "+id+" ") {
					t.Errorf("%s fails too: %s", id, says)
				}
			}
		})
	}
}

// nic changes the NIC at the other end of the second port.
func (w world) nic(change func(*NICEnd, *fabric.QoS)) {
	e := w.plan.Cabling.Links[1].A
	n := w.nics[e]
	q := *n.QoS
	change(&n, &q)
	n.QoS = &q
	w.nics[e] = n
}

// What is not in any text is unknown at its rule, and never passes there.
func TestWhatIsNotRead(t *testing.T) {
	for name, c := range losses() {
		t.Run(name, func(t *testing.T) {
			w := right()
			c.lose(w)
			if _, unknown := w.judge(); unknown[c.rule] == "" {
				t.Errorf("%s is not unknown: %v", c.rule, unknown)
			}
		})
	}
}

// loss is a value that no text has, and the rule that cannot judge without it.
type loss struct {
	lose func(world)
	rule string
}

func losses() map[string]loss {
	return map[string]loss{
		"MTU":         {func(w world) { w.second().MTU = nil }, "switch-mtu"},
		"PFC":         {func(w world) { w.second().PFC = nil }, "switch-pfc"},
		"trust":       {func(w world) { w.second().Trust = nil }, "switch-classes"},
		"DSCP":        {func(w world) { w.second().DSCP = nil }, "switch-classes"},
		"CNP":         {func(w world) { d := *w.second().DSCP; d[48] = fabric.Treatment{}; w.second().DSCP = &d }, "switch-cnp"},
		"stops":       {func(w world) { w.second().Stops[3] = nil }, "switch-pfc"},
		"queue":       {func(w world) { w.second().Queues[3] = nil }, "switch-ecn"},
		"scheduler":   {func(w world) { w.second().Queues[7] = nil }, "switch-cnp"},
		"weights":     {func(w world) { w.second().Queues[0] = nil }, "switch-queues"},
		"watchdog":    {func(w world) { w.second().Watchdog = nil }, "switch-watchdog"},
		"a line":      {func(w world) { w.config.Unread = []fabric.Line{at(7, "qos whatever")} }, "switch-read"},
		"QoS of NIC":  {func(w world) { e := w.plan.Cabling.Links[1].A; w.nics[e] = NICEnd{MTU: 9000} }, "ends-agree"},
		"NIC":         {func(w world) { delete(w.nics, w.plan.Cabling.Links[1].A) }, "ends-agree"},
		"VLANs":       {func(w world) { w.config.VLANs, w.config.Texts[0].Whole = nil, false }, "switch-routing"},
		"a DSCP":      {func(w world) { d := *w.second().DSCP; d[9] = fabric.Treatment{}; w.second().DSCP = &d }, "switch-others"},
		"the class":   {func(w world) { d := *w.second().DSCP; d[26].Class = nil; w.second().DSCP = &d }, "switch-rewrite"},
		"cable":       {func(w world) { w.second().CableM = nil }, "switch-headroom"},
		"another OS":  {func(w world) { w.config.OS = "eos" }, "switch-as-planned"},
		"every port":  {func(w world) { w.config.Ports = nil }, "switch-ports-equal"},
		"a whole NIC": {func(w world) { delete(w.nics, w.plan.Cabling.Links[0].A) }, "lossless-path"},
		"all ports":   {func(w world) { w.config.Ports, w.config.Texts[0].Whole = nil, false }, "switch-ports"},
		"port of two": {func(w world) { w.config.Ports, w.config.Texts[0].Whole = w.config.Ports[:1], false }, "switch-ports"},
	}
}

// Every rule has a change on which it fails, and, but for those that only repeat what the text says, a loss on which it is
// unknown.
func TestEveryRule(t *testing.T) {
	certain := []string{"switch-text", "switch-attached"}
	for _, r := range Rules() {
		fails := slices.ContainsFunc(changes(), func(c change) bool { return c.rule == r.ID }) || r.Cause == ""
		lost := slices.Contains(certain, r.ID)
		for _, l := range losses() {
			lost = lost || l.rule == r.ID
		}
		if !fails || !lost {
			t.Errorf("%s: fails in a case: %v; is unknown in one: %v", r.ID, fails, lost)
		}
		if r.Title == "" || r.Doc == "" || r.Reference == "" {
			t.Errorf("%s: wants a title, a line of doc and a reference", r.ID)
		}
	}
}
