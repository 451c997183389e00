package plan

import (
	"cmp"

	"railwright.dev/railwright/internal/fabric"
)

// bill lists the cables of a plan by kind: what joins which NIC or switch to which, at which rate, split or not. Cables towards
// hosts come first, each once, at the switch; those between switches are counted at the leaf.
func bill(p *fabric.Plan) []fabric.CableLot {
	machines := make(map[string]string, len(p.Machines))
	for _, m := range p.Machines {
		machines[m.ID] = m.NIC
	}
	ends := make(map[string]string, len(p.Nodes)+len(p.Switches)) // what is at an end, by its node
	for _, n := range p.Nodes {
		ends[n.Name] = cmp.Or(machines[n.Machine], "NIC")
	}
	for _, s := range p.Switches {
		ends[s.Name] = s.Model
	}
	cage := make(map[fabric.Endpoint]string) // of a port that shares one: cages of several ports take one transceiver
	for _, s := range p.Switches {
		for _, port := range s.Ports {
			if port.Cage != "" {
				cage[fabric.Endpoint{Node: s.Name, NIC: port.Name}] = port.Cage
			}
		}
	}
	type kind struct {
		uplink   bool
		from, to string
		gbps     float64
		split    int
	}
	lots := map[kind]*fabric.CableLot{}
	var order []kind
	for _, s := range p.Switches {
		if s.Role == fabric.Spine {
			continue
		}
		seen := make(map[fabric.Endpoint]bool, 2*len(s.Ports))
		first := func(at fabric.Endpoint) int {
			at.NIC = cmp.Or(cage[at], at.NIC) // a NIC, or the only port of a cage, has one of its own
			if seen[at] {
				return 0
			}
			seen[at] = true
			return 1
		}
		for _, port := range s.Ports {
			k := kind{port.Uplink, ends[port.Peer.Node], s.Model, port.RateGbps, max(1, port.Breakout)}
			lot := lots[k]
			if lot == nil {
				lot = &fabric.CableLot{From: k.from, To: k.to, RateGbps: k.gbps, Split: k.split}
				lots[k], order = lot, append(order, k)
			}
			here := first(fabric.Endpoint{Node: s.Name, NIC: port.Name})
			lot.Cables, lot.ToEnds, lot.FromEnds = lot.Cables+here, lot.ToEnds+here, lot.FromEnds+first(port.Peer)
		}
	}
	var out []fabric.CableLot
	for _, uplinks := range []bool{false, true} {
		for _, k := range order {
			if k.uplink != uplinks {
				continue
			}
			lot := *lots[k]
			if p.Traffic != nil {
				lot.LengthM = p.Traffic.CableM
			}
			out = append(out, lot)
		}
	}
	return out
}
