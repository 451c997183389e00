package intent

import (
	"fmt"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// Division is how hosts are divided among leaf switches: into groups in the order of the file, each with leaves of its own.
type Division struct {
	Leaves   int
	Groups   int
	PerGroup int  // hosts of the largest group
	ByRail   bool // a group has a leaf for each rail; else one leaf for all its NICs
	Even     bool // groups differ by one host at most, the larger ones first; else all but the last are full
}

// Place is the group that a host is in and its place there, all counted from 0.
func (l Division) Place(host, hosts int) (group, place int) {
	if !l.Even {
		return host / l.PerGroup, host % l.PerGroup
	}
	small, larger := hosts/l.Groups, hosts%l.Groups
	if host < larger*(small+1) {
		return host / (small + 1), host % (small + 1)
	}
	host -= larger * (small + 1)
	return larger + host/small, host % small
}

// Down is how many ports towards hosts the leaf with the most of them has, at most.
func (l Division) Down(nics int) int {
	if l.ByRail {
		return l.PerGroup
	}
	return l.PerGroup * nics
}

// divide divides the hosts among as many leaves of so many ports as the cluster file asks for; count 0 leaves the number
// open, see LeafCount.
func divide(hosts, nics, ports, count int) (Division, error) {
	if hosts < 1 || nics < 1 || ports < 1 {
		return Division{}, fmt.Errorf("%d hosts of %d NICs on leaves of %d ports: must be at least one of each", hosts, nics, ports)
	}
	if count == 0 {
		leaves, perLeaf := LeafCount(hosts, nics, ports)
		if leaves == 0 {
			return Division{}, fmt.Errorf("leaves of %d ports cannot carry %d hosts of %d NICs", ports, hosts, nics)
		}
		l := filled(hosts, perLeaf)
		l.Leaves, l.ByRail = leaves, leaves > 1
		if l.ByRail {
			l.PerGroup = perLeaf // a group has room for these, also where the only one is not full
		}
		return l, nil
	}
	l := Division{Leaves: count, Groups: count, Even: true}
	if count > 1 && count%nics == 0 {
		l.ByRail, l.Groups = true, count/nics
	}
	l.PerGroup = ceilDiv(hosts, l.Groups)
	if l.Groups > hosts {
		return Division{}, fmt.Errorf("%s: with %s some have none", l.inWords(nics), fabric.Count(hosts, "host"))
	}
	if down := l.Down(nics); down > ports {
		return Division{}, fmt.Errorf("%s: for %d of the %d hosts of %d NICs a leaf needs %d ports, and it has %d",
			l.inWords(nics), l.PerGroup, hosts, nics, down, ports)
	}
	return l, nil
}

func (l Division) inWords(nics int) string {
	switch {
	case l.Leaves == 1:
		return "one leaf for everything"
	case l.ByRail && l.Groups == 1:
		return fmt.Sprintf("%d leaves, one for each rail", l.Leaves)
	case l.ByRail:
		return fmt.Sprintf("%d leaves, %d groups with one for each of the %d rails", l.Leaves, l.Groups, nics)
	default:
		return fmt.Sprintf("%d leaves, each for all rails of some hosts", l.Leaves)
	}
}

// LeafPorts are the ports of a leaf, as the catalog and the owner's breakout have them.
type LeafPorts struct {
	Breakout int     // ports of a cage towards hosts; 0: nobody splits it, the model's own ports are used
	Ports    int     // in all, were every cage split so
	Gbps     float64 // of one of them; 0: not in the catalog

	model catalog.SwitchModel
	names catalog.PortName
}

// leafPorts applies a breakout to a model whose operating system the catalog knows.
func leafPorts(id string, l Leaf, m catalog.SwitchModel) (LeafPorts, error) {
	p := LeafPorts{Breakout: l.Breakout, Ports: int(m.Ports.Value), Gbps: m.PortRate.Value, model: m, names: m.OS[l.OS]}
	if l.Breakout == 0 {
		return p, nil
	}
	known := p.names.Breakouts()
	for _, n := range known {
		if n == l.Breakout {
			cages := p.Ports / p.names.PerCage()
			p.Ports, p.Gbps = cages*n, p.Gbps*float64(p.names.PerCage())/float64(n)
			return p, nil
		}
	}
	if len(known) == 0 {
		return p, fmt.Errorf("the catalog does not say how %s names the ports of a split cage of %s: remove the field", l.OS, id)
	}
	return p, fmt.Errorf("a cage of %s is not split into %d with %s: use one of %s", id, l.Breakout, l.OS, numbers(known))
}

// free is how many of the model's own ports are left where so many ports towards hosts are used, which a cage of them
// shares with no port towards spines if the owner splits it.
func (p LeafPorts) free(down int) int {
	if p.Breakout == 0 {
		return int(p.model.Ports.Value) - down
	}
	own := p.names.PerCage()
	return int(p.model.Ports.Value) - ceilDiv(down, p.Breakout)*own
}

func numbers(list []int) string {
	text := ""
	for i, n := range list {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	return text
}
