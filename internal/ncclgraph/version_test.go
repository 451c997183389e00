package ncclgraph

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestKnownVersions(t *testing.T) {
	all := Versions()
	if !slices.IsSorted(all) || all[len(all)-1] != Newest() {
		t.Errorf("%v", all)
	}
	for v, want := range map[fabric.NCCLVersion]fabric.NCCLVersion{
		v2_27_7: v2_27_7, 22804: v2_28_3, 22899: v2_28_9, 22902: v2_28_9, 23003: v2_29_7, 23007: v2_30_7, 23105: v2_30_7, 30000: v2_30_7,
	} {
		if got, err := Known(v); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", v, got, err, want)
		}
	}
	for _, v := range []fabric.NCCLVersion{0, 2803, 22706} {
		if got, err := Known(v); err == nil || !strings.Contains(err.Error(), "2.27.7, 2.28.3") {
			t.Errorf("%s: %s, %v", v, got, err)
		}
	}
}

// TestSpeedsByVersion: what a version tries decides what it can find.
func TestSpeedsByVersion(t *testing.T) {
	for _, c := range []struct {
		bw           float32
		inter        bool
		first        fabric.NCCLVersion // that tries it
		before, from fabric.NCCLVersion
	}{{45, false, v2_29_7, v2_28_9, v2_29_7}, {80, true, v2_29_7, v2_28_9, v2_30_7}, {86, true, v2_30_7, v2_29_7, v2_30_7}} {
		if slices.Contains(speeds(100, c.inter, Options{Version: c.before}), c.bw) || !slices.Contains(speeds(100, c.inter, Options{Version: c.from}), c.bw) {
			t.Errorf("%g GB/s: tried by %s, or not by %s", c.bw, c.before, c.from)
		}
		if !slices.Contains(speeds(100, c.inter, Options{}), c.bw) {
			t.Errorf("%g GB/s: the newest does not try it", c.bw)
		}
	}
	for _, sm := range []int{80, 90} {
		if !slices.Equal(speeds(sm, true, Options{Version: v2_27_7}), speeds(sm, true, Options{})) {
			t.Errorf("sm %d: other speeds in 2.27.7", sm)
		}
	}
}

// TestAs: another version of the same host is what NewSystem builds for that version.
func TestAs(t *testing.T) {
	d := readDocument(t, "testdata/system/h200x2.xml")
	for _, nodes := range []int{1, 2} {
		for _, gdr := range []string{"1", "0"} {
			for _, e := range d.Roots[0].Below("net") {
				e.Set("gdr", gdr)
			}
			s, err := NewSystem(d, Options{Nodes: nodes})
			if err != nil {
				if nodes > 1 && strings.Contains(err.Error(), "no <net>") {
					continue
				}
				t.Fatal(err)
			}
			for _, v := range Versions() {
				as, err := s.As(v)
				if err != nil {
					t.Fatal(err)
				}
				want := newSystem(t, d, Options{Nodes: nodes, Version: v})
				if !slices.Equal(as.Log(), want.Log()) {
					t.Errorf("%d nodes, gdr %s, NCCL %s: differs from a new system", nodes, gdr, v)
				}
			}
		}
	}
}
