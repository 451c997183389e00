package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

func parts(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func nominal(t *testing.T, id string) *Machine {
	t.Helper()
	m, err := Nominal(parts(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// machineText writes a machine for comparison.
func machineText(m *Machine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "== %s, %s, %d NUMA nodes\n", m.Name, m.Source, m.NUMANodes)
	var walk func(d Device, indent string)
	walk = func(d Device, indent string) {
		fmt.Fprintf(&b, "%s%s %06x %04x:%04x x%d@%g", indent, d.Bus, d.Class, d.Vendor, d.Device, d.Width, d.Speed)
		if d.MaxSpeed != d.Speed || d.MaxWidth != d.Width {
			fmt.Fprintf(&b, " of x%d@%g", d.MaxWidth, d.MaxSpeed)
		}
		if d.Port != "" {
			fmt.Fprintf(&b, " at %s", d.Port)
		}
		if d.HostBridge != "" {
			fmt.Fprintf(&b, " of %s", d.HostBridge)
		}
		b.WriteByte('\n')
		for _, child := range d.Children {
			walk(child, indent+"  ")
		}
	}
	for _, c := range m.CPUs {
		fmt.Fprintf(&b, "NUMA %d %s %s %d/%d\n", c.NUMA, c.Arch, c.Vendor, c.Family, c.Model)
		for _, d := range c.Devices {
			walk(d, "  ")
		}
	}
	for _, g := range m.GPUs {
		fmt.Fprintf(&b, "GPU%d %s %s %q sm %d %s numa %d links %v\n", g.Index, g.Bus, g.Model, g.Name, g.SM, g.GCN, g.NUMA, g.Links)
	}
	for _, n := range m.NICs {
		fmt.Fprintf(&b, "NIC%d %s %s %d Mb/s port %d guid %x numa %d %s\n", n.Index, n.Name, n.Bus, n.Mbps, n.Port, n.GUID, n.NUMA, n.Model)
	}
	for i, row := range m.Matrix().Hops {
		if i < len(m.GPUs) {
			for _, h := range row {
				b.WriteString(h.String() + " ")
			}
			b.WriteByte('\n')
		}
	}
	p := m.Pairing()
	b.WriteString(pairText(p) + "\n")
	for _, g := range m.Gaps {
		b.WriteString("gap: " + g + "\n")
	}
	return b.String()
}

// TestNominalMachines holds every machine of the catalog against what must hold of each, and against a golden
// file.
func TestNominalMachines(t *testing.T) {
	cat := parts(t)
	var all strings.Builder
	for _, id := range slices.Sorted(maps.Keys(cat.Machines)) {
		m, err := Nominal(cat, id)
		if err != nil {
			t.Fatal(err)
		}
		model := cat.Machines[id]
		if len(m.GPUs) != int(model.GPUs.Value) || len(m.NICs) != int(model.NICs.Value) || m.Source != "catalog" {
			t.Errorf("%s: %d GPUs, %d NICs, source %q", id, len(m.GPUs), len(m.NICs), m.Source)
		}
		soundTree(t, id, m)
		all.WriteString(machineText(m) + "\n")
	}
	golden(t, "nominal/machines.txt", all.String())
}

// soundTree checks what every machine must be: distinct addresses, GPUs and NICs in the tree and of the NUMA
// node that they say.
func soundTree(t *testing.T, name string, m *Machine) {
	t.Helper()
	places, seen := newPlaces(m), 0
	var count func([]Device)
	count = func(devices []Device) {
		for _, d := range devices {
			seen++
			if _, err := ParseBus(d.Bus); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			count(d.Children)
		}
	}
	for _, c := range m.CPUs {
		count(c.Devices)
	}
	if seen != len(places.byBus) {
		t.Errorf("%s: %d devices at %d addresses", name, seen, len(places.byBus))
	}
	check := func(what, bus string, numa int) {
		p, ok := places.byBus[bus]
		if !ok || m.CPUs[p.cpu].NUMA != numa {
			t.Errorf("%s: %s at %q, NUMA %d: found %v in node %d", name, what, bus, numa, ok, p.cpu)
		}
	}
	for _, g := range m.GPUs {
		check("GPU", g.Bus, g.NUMA)
	}
	for _, n := range m.NICs {
		check(n.Name, n.Bus, n.NUMA)
	}
}

func TestNominalOf(t *testing.T) {
	no := false
	for _, c := range []struct {
		hw   fabric.Hardware
		want string // of the first GPU's row, links, pairs
		nics int
	}{
		{fabric.Hardware{GPU: "h100", GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, CPU: "intel"},
			"X NV18 NV18 NV18 NV18 NV18 NV18 NV18 PIX NODE NODE NODE SYS SYS SYS SYS", 8},
		{fabric.Hardware{GPU: "H100", GPUsPerNode: 4, NICGbps: 400}, "X NV18 NV18 NV18 PIX NODE NODE NODE", 4},
		{fabric.Hardware{GPU: "h100", GPUsPerNode: 2, NICsPerNode: 1, NIC: "connectx7"}, "X NV18 PIX", 1},
		{fabric.Hardware{GPU: "h100", GPUsPerNode: 2, NVLink: &no, NICsPerNode: 2, NICGbps: 400}, "X NODE PIX NODE", 2},
		{fabric.Hardware{GPU: "mi300x", GPUsPerNode: 8, Net: "none"}, "X XGMI XGMI XGMI XGMI XGMI XGMI XGMI", 0},
		{fabric.Hardware{GPU: "rtx6000d", GPUsPerNode: 2, NICsPerNode: 2, NICGbps: 400}, "X NODE PIX NODE", 2},
		{fabric.Hardware{GPU: "gb10", GPUsPerNode: 1, NICsPerNode: 2, NICGbps: 100, CPU: "arm"}, "X NODE NODE", 2},
		{fabric.Hardware{Machine: "hgx-h100", GPUsPerNode: 2}, "X NV18 PIX NODE NODE NODE SYS SYS SYS SYS", 8},
		{fabric.Hardware{Machine: "hgx-h100", NICsPerNode: 4}, "X NV18 NV18 NV18 NV18 NV18 NV18 NV18 PIX NODE SYS SYS", 4},
		{fabric.Hardware{NICsPerNode: 2, NICGbps: 100}, "", 2},
	} {
		t.Run(fmt.Sprintf("%s%s, %d GPUs, %d NICs", c.hw.Machine, c.hw.GPU, c.hw.GPUsPerNode, c.nics), func(t *testing.T) {
			m, err := NominalOf(parts(t), c.hw)
			if err != nil {
				t.Errorf("%+v: %v", c.hw, err)
				return
			}
			soundTree(t, fmt.Sprintf("%+v", c.hw), m)
			row := ""
			if len(m.GPUs) > 0 {
				row, _, _ = strings.Cut(cells(m.Matrix()), "\n")
			}
			if strings.TrimSpace(row) != c.want || len(m.NICs) != c.nics {
				t.Errorf("%+v gives %q and %d NICs, want %q and %d\n%s", c.hw, row, len(m.NICs), c.want, c.nics, strings.Join(m.Gaps, "\n"))
			}
		})
	}
	m, err := NominalOf(parts(t), fabric.Hardware{Machine: "hgx-h100", NICGbps: 200, VM: true})
	if err != nil || m.NICs[0].Mbps != 200_000 || !slices.ContainsFunc(m.Gaps, func(g string) bool { return strings.Contains(g, "virtual machine") }) {
		t.Errorf("a slower NIC in a virtual machine gives %+v, %v", m, err)
	}
}

func TestNominalRefuses(t *testing.T) {
	for _, c := range []struct {
		hw   fabric.Hardware
		want string
	}{
		{fabric.Hardware{}, "none is given"},
		{fabric.Hardware{Machine: "nonsense"}, "hgx-h100"},
		{fabric.Hardware{Machine: "hgx-h100", GPUsPerNode: 9}, "has 8"},
		{fabric.Hardware{Machine: "hgx-h100", GPUsPerNode: -1}, "not between"},
		{fabric.Hardware{Machine: "hgx-h100", GPU: "nonsense"}, "nonsense"},
		{fabric.Hardware{GPU: "h100", GPUsPerNode: 1 << 40}, "not between 0 and 1024"},
		{fabric.Hardware{GPU: "h100", GPUsPerNode: 8, NICsPerNode: 1 << 40, NICGbps: 1}, "not between 0 and 1024"},
		{fabric.Hardware{GPU: "h100", GPUsPerNode: 8, NICsPerNode: -3, NICGbps: 1}, "not between"},
		{fabric.Hardware{GPU: "h100", GPUsPerNode: 8, NICsPerNode: 8}, "line rate"},
		{fabric.Hardware{GPU: "h100", GPUsPerNode: 8, NICsPerNode: 8, NICGbps: -1}, "line rate"},
		{fabric.Hardware{GPU: "h100", GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 1e30}, "line rate"},
		{fabric.Hardware{GPU: "h100", GPUsPerNode: 8, NIC: "nonsense"}, `NIC "nonsense"`},
	} {
		t.Run(c.want, func(t *testing.T) {
			if m, err := NominalOf(parts(t), c.hw); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v gives %v, %v; want an error with %q", c.hw, m, err, c.want)
			}
		})
	}
	// the largest that is taken
	m, err := NominalOf(parts(t), fabric.Hardware{GPU: "h100", GPUsPerNode: 1024, NICsPerNode: 1024, NICGbps: 400})
	if err != nil {
		t.Fatal(err)
	}
	soundTree(t, "1024 GPUs", m)
}

func TestProcessorNames(t *testing.T) {
	for name, want := range map[string]string{
		"Intel(R) Xeon(R) Platinum 8480C":                "6/143",
		"Intel(R) Xeon(R) Platinum 8488C":                "6/143", // lscpu of one: family 6, model 143
		"INTEL(R) XEON(R) PLATINUM 8568Y+":               "6/207",
		"Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz": "6/85", // lscpu of one: model 85
		"Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz":       "6/106",
		"Intel(R) Xeon(R) 6972P":                         "6/173",
		"AMD EPYC 7V12 64-Core Processor":                "23/49",
		"AMD EPYC 7763 64-Core Processor":                "25/1",
		"AMD EPYC 9654 96-Core Processor":                "25/17",
		"AMD EPYC 9575F 64-Core Processor":               "26/2",
		"AMD EPYC 7551 32-Core Processor":                "23/1",
		"AMD Ryzen 9 7950X":                              "none",
		"QEMU Virtual CPU version 2.5+":                  "none",
		"":                                               "none",
	} {
		t.Run(name, func(t *testing.T) {
			got := "none"
			if p, ok := processorNamed(name); ok {
				got = fmt.Sprintf("%d/%d", p.family, p.model)
			}
			if got != want {
				t.Errorf("%q is %s, want %s", name, got, want)
			}
		})
	}
}
