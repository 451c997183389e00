package switchcheck

import (
	"net/netip"
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// A priority with PFC that no packet is known to pause is a fault only where what every packet pauses is known.
func TestPFCOfUnknownPackets(t *testing.T) {
	i := slices.IndexFunc(Rules(), func(r Rule) bool { return r.ID == "switch-pfc" })
	for want, pause := range map[fabric.Status]*fabric.Said[int]{fabric.Unknown: nil, fabric.Fail: is(-1)} {
		c := configOf(planOf())
		for k := range c.Ports {
			var table [64]fabric.Treatment
			for d := range table {
				table[d] = fabric.Treatment{Class: is("0"), Queue: is(0), Pause: pause}
			}
			c.Ports[k].DSCP = &table
		}
		found := Rules()[i].Judge(&Input{Configs: []*fabric.SwitchConfig{c}})
		if !slices.ContainsFunc(found, func(f fabric.Finding) bool { return f.Status == want }) ||
			want == fabric.Unknown && slices.ContainsFunc(found, func(f fabric.Finding) bool { return f.Status == fabric.Fail }) {
			t.Errorf("want %v: %+v", want, found)
		}
	}
}

// A switch that announces all networks of its own announces the planned ones.
func TestAnnouncedAsConnected(t *testing.T) {
	planned := &fabric.SwitchConfig{Name: "leaf1", BGP: &fabric.BGPConfig{Networks: []fabric.Said[string]{*is("10.1.0.0/24")}}}
	have := &fabric.SwitchConfig{Name: "leaf1", BGP: &fabric.BGPConfig{Networks: []fabric.Said[string]{*is("connected")}}}
	s := scene{Input: &Input{Configs: []*fabric.SwitchConfig{have}, Rendered: map[string]*fabric.SwitchConfig{"leaf1": planned}}, of: have}
	if got := s.announced(); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	have.BGP.Networks, planned.BGP.Networks = []fabric.Said[string]{*is("10.1.0.0/24")}, nil
	s.plan = &fabric.Switch{BGP: &fabric.BGP{Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/24")}}}
	if got := s.announced(); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	have.BGP.Networks, planned.BGP.Networks = nil, []fabric.Said[string]{*is("10.1.0.0/24")}
	if got := s.announced(); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}
