package report

import (
	"slices"
	"testing"
)

// TestSpread: what a group keeps of its subjects is all of them, in their order, also where a node comes again.
func TestSpread(t *testing.T) {
	all := []place{{"host2", "eth1"}, {"host2", "eth2"}, {"host1", "eth1"}, {"host1", "eth2"}, {"host2", "eth3"}, {"host3", ""}}
	var s, other spread
	for _, p := range all {
		s.add(p)
		s.places() // asked for in between, nothing is lost
	}
	if got := s.places(); !slices.Equal(got, all) {
		t.Errorf("%v, want %v", got, all)
	}
	if got, want := s.text(0), "host1:eth[1-2], host2:eth[1-3], host3"; got != want && s.text(9) != want {
		t.Errorf("%q, want %q", s.text(9), want)
	}
	if s.one() || s.equal(&other) {
		t.Error("six subjects are taken for one, or for none")
	}
	for range 3 {
		other.add(place{"host1", "eth1"})
	}
	if !other.one() || other.equal(&s) || !other.equal(&other) {
		t.Errorf("one subject three times: %v", other.places())
	}
}
