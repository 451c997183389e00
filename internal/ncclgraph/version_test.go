package ncclgraph

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

func TestKnownVersions(t *testing.T) {
	all := Versions()
	if !slices.IsSorted(all) || all[len(all)-1] != Newest() {
		t.Errorf("%v", all)
	}
	for v, want := range map[fabric.NCCLVersion]fabric.NCCLVersion{
		v2277: v2277, 22804: v2283, 22899: v2289, 22902: v2289, 23003: v2297, 23007: v2307, 23105: v2307, 30000: v2307,
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
	}{{45, false, v2297, v2289, v2297}, {80, true, v2297, v2289, v2307}, {86, true, v2307, v2297, v2307}} {
		if slices.Contains(speeds(100, c.inter, Options{Version: c.before}), c.bw) || !slices.Contains(speeds(100, c.inter, Options{Version: c.from}), c.bw) {
			t.Errorf("%g GB/s: tried by %s, or not by %s", c.bw, c.before, c.from)
		}
		if !slices.Contains(speeds(100, c.inter, Options{}), c.bw) {
			t.Errorf("%g GB/s: the newest does not try it", c.bw)
		}
	}
	for _, sm := range []int{80, 90} {
		if !slices.Equal(speeds(sm, true, Options{Version: v2277}), speeds(sm, true, Options{})) {
			t.Errorf("sm %d: other speeds in 2.27.7", sm)
		}
	}
}

// TestAs: another version of the same host is what NewSystem builds for that version, whatever the host lacks.
func TestAs(t *testing.T) {
	files, err := filepath.Glob("testdata/system/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		for _, change := range []func(d *ncclxml.Document){
			func(*ncclxml.Document) {},
			func(d *ncclxml.Document) { setEach(d, "net", "gdr", "0") },
			func(d *ncclxml.Document) { setEach(d, "gpu", "sm", "100") },
			func(d *ncclxml.Document) { setEach(d, "gpu", "gdr", "0"); setEach(d, "nvlink", "count", "1") },
		} {
			c := readCase(t, file)
			if c.document.Roots[0].Below("gpu")[0].IntegerOr("sm", 0) == 0 {
				continue // RCCL has versions of its own
			}
			change(c.document)
			for _, nodes := range []int{1, 2} {
				sameAsNew(t, file, c.document, Options{Nodes: nodes, Env: c.options.Env})
			}
		}
	}
}

func setEach(d *ncclxml.Document, element, name, value string) {
	for _, e := range d.Roots[0].Below(element) {
		e.Set(name, value)
	}
}

func sameAsNew(t *testing.T, name string, d *ncclxml.Document, o Options) {
	t.Helper()
	s, err := NewSystem(d, o)
	if err != nil {
		return // of one host without a NIC
	}
	for _, v := range Versions() {
		as, err := s.As(v)
		if err != nil {
			t.Fatal(err)
		}
		o.Version = v
		if want := newSystem(t, d, o); !slices.Equal(as.Log(), want.Log()) {
			t.Errorf("%s, %d nodes, NCCL %s: differs from a new system", name, o.Nodes, v)
		}
	}
}
