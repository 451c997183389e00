package lossless

import (
	"cmp"
	"maps"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Network is what is proved: switches and NICs as they were read, and the cables between them.
type Network struct {
	// Switches are all switches by name. One whose configuration was not read is nil in it: what is not in it is a host.
	Switches map[string]*fabric.SwitchConfig
	NICs     map[fabric.Endpoint]NICConfig // one that is absent was not read
	Cables   []Cable
	// Turns are all ways through switches that packets take, where routing is given. nil: packets take the shortest paths from
	// switch to switch, all of them; in a network of leaves and spines these go up once and down once.
	Turns []Turn
}

// NICConfig is how a NIC was read to treat packets.
type NICConfig struct {
	QoS     *fabric.QoS // nil: not read
	FullMap bool        // a DSCP that QoS does not list was not read; else it is in priority 0, as in a table of what was set
	MTU     *int        // bytes
}

// Cable is a cable between a NIC and a port of a switch, or between two ports of switches.
type Cable struct{ A, B fabric.Endpoint }

// Turn is a way through a switch: packets that came in by port In may leave by port Out.
type Turn struct{ Switch, In, Out string }

// Intent is what the network is to do.
type Intent struct {
	RoCE fabric.TrafficClass // lossless; with ECN: every queue that it goes through has to mark
	CNP  fabric.TrafficClass // congestion notifications; judged where RoCE has ECN
}

// IntentOf returns the intent of a plan; ok is false where it has no classes for RoCE and its notifications.
func IntentOf(t *fabric.Traffic) (in Intent, ok bool) {
	if t == nil {
		return Intent{}, false
	}
	roce, cnp := false, false
	for _, c := range t.Classes {
		switch c.Name {
		case "roce":
			in.RoCE, roce = c, true
		case "cnp":
			in.CNP, cnp = c, true
		}
	}
	return in, roce && cnp
}

// FromPlan returns the network of a plan with what was read of it: configurations of switches by name, and NICs. A switch of
// the plan that is not among the configurations was not read; a configuration of no switch of the plan is left out.
func FromPlan(p *fabric.Plan, configs map[string]*fabric.SwitchConfig, nics map[fabric.Endpoint]NICConfig) Network {
	n := Network{Switches: make(map[string]*fabric.SwitchConfig, len(p.Switches)), NICs: nics}
	cables := make(map[Cable]bool, len(p.Cabling.Links))
	add := func(a, b fabric.Endpoint) {
		if a == b || a == (fabric.Endpoint{}) || b == (fabric.Endpoint{}) {
			return
		}
		if compareEndpoints(a, b) > 0 {
			a, b = b, a
		}
		cables[Cable{a, b}] = true
	}
	for _, l := range p.Cabling.Links {
		add(l.A, l.B)
	}
	for _, s := range p.Switches {
		n.Switches[s.Name] = configs[s.Name]
		for _, port := range s.Ports {
			add(fabric.Endpoint{Node: s.Name, NIC: port.Name}, port.Peer)
		}
	}
	n.Cables = slices.SortedFunc(maps.Keys(cables), func(x, y Cable) int {
		return cmp.Or(compareEndpoints(x.A, y.A), compareEndpoints(x.B, y.B))
	})
	return n
}

func compareEndpoints(a, b fabric.Endpoint) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.NIC, b.NIC))
}
