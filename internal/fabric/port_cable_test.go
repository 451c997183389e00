package fabric

import (
	"fmt"
	"testing"
)

// wired has two machines; port 1 of both is cabled, and has two twins.
func wired() *Plan {
	p := &Plan{}
	for _, n := range []string{"a", "b"} {
		p.Nodes = append(p.Nodes, Node{Name: n})
		p.Ports = append(p.Ports, NodePort{Node: n, Number: 1, Twins: []Twin{{NIC: "x1"}, {NIC: "y1"}}})
	}
	for _, nic := range []string{"x1", "y1"} {
		p.Cabling.Links = append(p.Cabling.Links, Link{A: Endpoint{"a", nic}, B: Endpoint{"b", nic}})
	}
	return p
}

func TestPortCables(t *testing.T) {
	link := func(a, x, b, y string) Link { return Link{A: Endpoint{a, x}, B: Endpoint{b, y}} }
	for name, c := range map[string]struct {
		links []Link
		want  string
	}{
		"twins are one cable":             {wired().Cabling.Links, "a port 1 to b port 1: 2 links;"},
		"seen from both ends":             {[]Link{link("a", "x1", "b", "x1"), link("b", "x1", "a", "x1")}, "a port 1 to b port 1: 2 links;"},
		"twins that lead to two machines": {[]Link{link("a", "x1", "b", "x1"), link("a", "y1", "c", "eth0")}, "a port 1 to b port 1: 1 link;a port 1 to c port eth0: 1 link;"},
		"ports of a switch":               {[]Link{link("a", "x1", "leaf1", "swp1"), link("a", "y1", "leaf1", "swp1"), link("b", "x1", "leaf1", "swp2")}, "a port 1 to leaf1 port swp1: 2 links;b port 1 to leaf1 port swp2: 1 link;"},
		"an interface of no cabled port":  {[]Link{link("a", "x0", "b", "x1")}, "a port x0 to b port 1: 1 link;"},
		"nothing":                         {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, c := range wired().PortCables(c.links) {
				got += fmt.Sprintf("%s to %s: %s;", c.A, c.B, Count(len(c.Links), "link"))
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestPlugged(t *testing.T) {
	sees := func(nic, system, port, text string) LLDPNeighbour {
		return LLDPNeighbour{NIC: nic, System: system, Port: port, PortText: text}
	}
	p := wired()
	p.Switches = []Switch{{Name: "leaf1", Ports: []SwitchPort{{Name: "swp1"}}}}
	for name, c := range map[string]struct {
		seen LLDPNeighbour
		want string
	}{
		"the interface is the port":         {sees("x1", "b", "x1", ""), "[{a:x1 b:x1 0}]"},
		"the interface is its description":  {sees("x1", "b.example", "02:00:00:00:00:01", "y1"), "[{a:x1 b:y1 0}]"},
		"a switch, by description":          {sees("x1", "leaf1", "17", "swp1"), "[{a:x1 leaf1:swp1 0}]"},
		"a switch describes it otherwise":   {sees("x1", "leaf1", "swp1", "to a"), "[{a:x1 leaf1:swp1 0}]"},
		"another machine":                   {sees("y1", "desk", "02:00:00:00:00:01", "eth0"), "[{a:y1 desk:eth0 0}]"},
		"another machine without an answer": {sees("y1", "desk", "02:00:00:00:00:01", ""), "[{a:y1 desk:02:00:00:00:00:01 0}]"},
		"its own twin":                      {sees("x1", "a", "y1", ""), "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprint(p.Plugged([]*Facts{{Node: "a", LLDP: []LLDPNeighbour{c.seen}}})); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	if got := p.Plugged([]*Facts{{Node: "a"}}); got != nil {
		t.Errorf("nothing seen is %v", got)
	}
	p.Ports = nil
	if got := p.Plugged([]*Facts{{Node: "a", LLDP: []LLDPNeighbour{sees("x1", "b", "x1", "")}}}); got != nil {
		t.Errorf("a plan without twins has %v", got)
	}
}

func TestCables(t *testing.T) {
	p := wired()
	if n := p.Cables(); n != 1 {
		t.Errorf("two twins are %d cables", n)
	}
	p.Ports = nil
	p.Cabling.Uplinks = []Link{{}, {}}
	if n := p.Cables(); n != 4 {
		t.Errorf("2 NICs without twins and 2 uplinks are %d cables", n)
	}
}
