package draw

import (
	"fmt"

	"railwright.dev/railwright/internal/topology"
)

func function(bus string, class uint32, below ...topology.Device) topology.Device {
	return topology.Device{Bus: bus, Class: class, Speed: 32, Width: 16, MaxSpeed: 32, MaxWidth: 16, Children: below}
}

const (
	aBridge = 0x060400
	aGPU    = 0x030200
	aNIC    = 0x020000
)

func twoSockets() []topology.CPU {
	return []topology.CPU{
		{NUMA: 0, Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 143},
		{NUMA: 1, Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 143},
	}
}

// sampleHost has two sockets with switches, each with GPUs and NICs.
func sampleHost(switches, gpusEach, nicsEach int) *topology.Machine {
	m := &topology.Machine{Name: "host1", Source: "live facts", NUMANodes: 2, CPUs: twoSockets()}
	for s := range switches {
		numa := s * 2 / switches
		base := 0x10 + 0xd0/switches*s
		sw := function(fmt.Sprintf("0000:%02x:00.0", base+1), aBridge)
		sw.Port, sw.HostBridge = fmt.Sprintf("0000:%02x:01.0", base), fmt.Sprintf("pci0000:%02x", base)
		for i := range gpusEach {
			g := topology.GPU{Index: len(m.GPUs), Bus: fmt.Sprintf("0000:%02x:00.0", base+2+i), Name: "NVIDIA H100 80GB HBM3", Model: "h100-sxm", SM: 90, NUMA: numa,
				Links: []topology.ScaleUp{{Target: "0000:07:00.0", Class: topology.ClassNVSwitch, Count: 18}}}
			m.GPUs = append(m.GPUs, g)
			sw.Children = append(sw.Children, function(g.Bus, aGPU))
		}
		for i := range nicsEach {
			n := topology.NIC{Index: len(m.NICs), Name: fmt.Sprintf("mlx5_%d", len(m.NICs)), Bus: fmt.Sprintf("0000:%02x:00.0", base+2+gpusEach+i), Mbps: 400000, Port: 1, NUMA: numa}
			m.NICs = append(m.NICs, n)
			sw.Children = append(sw.Children, function(n.Bus, aNIC))
		}
		m.CPUs[numa].Devices = append(m.CPUs[numa].Devices, sw)
	}
	return m
}

// sampleAMD is a server with eight MI300X: four switches with two GPUs and two NICs, XGMI from all to all.
func sampleAMD() *topology.Machine {
	m := sampleHost(4, 2, 2)
	for i := range m.GPUs {
		m.GPUs[i].Name, m.GPUs[i].Model, m.GPUs[i].GCN, m.GPUs[i].SM, m.GPUs[i].Links = "AMD Instinct MI300X", "mi300x", "gfx942", 0, nil
		for j := range m.GPUs {
			if i != j {
				m.GPUs[i].Links = append(m.GPUs[i].Links, topology.ScaleUp{Target: m.GPUs[j].Bus, Class: 0x120000, Count: 1, XGMI: true})
			}
		}
	}
	for i := range m.NICs {
		m.NICs[i].Name = fmt.Sprintf("bnxt_re%d", i)
	}
	return m
}

// sampleGuest is a virtual machine with two flat GPUs and one interface that is not a PCI function.
func sampleGuest() *topology.Machine {
	no := false
	m := &topology.Machine{Name: "vm1", Source: "NCCL XML", CPUs: []topology.CPU{{NUMA: -1, Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 207}},
		NICs: []topology.NIC{{Name: "eth0", Mbps: 10000, NUMA: -1, GDR: &no}}}
	for i := range 2 {
		d := function(fmt.Sprintf("0000:00:%02x.0", 6+i), aGPU)
		d.Width, d.MaxWidth = 0, 0
		m.CPUs[0].Devices = append(m.CPUs[0].Devices, d)
		m.GPUs = append(m.GPUs, topology.GPU{Index: i, Bus: d.Bus, SM: 90, NUMA: -1, Links: []topology.ScaleUp{{Target: topology.UnseenNVSwitch, Class: topology.ClassNVSwitch, Count: 18}}})
	}
	return m
}

// sampleSpark is one GPU and four NIC functions, each at a root port of its own.
func sampleSpark() *topology.Machine {
	m := &topology.Machine{Name: "spark1", Source: "live facts", NUMANodes: 1, CPUs: []topology.CPU{{NUMA: 0, Arch: "arm64"}},
		GPUs: []topology.GPU{{Bus: "000f:01:00.0", Name: "NVIDIA GB10", SM: 121, NUMA: 0, C2C: &topology.C2C{Count: 1, MBytes: 300000}}}}
	gpu := function("000f:01:00.0", aGPU)
	gpu.Port, gpu.Speed, gpu.Width, gpu.MaxWidth = "000f:00:00.0", 2.5, 1, 1
	m.CPUs[0].Devices = append(m.CPUs[0].Devices, gpu)
	for i, bus := range []string{"0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1"} {
		d := function(bus, aNIC)
		d.Width, d.MaxWidth, d.Port = 4, 4, bus[:4]+":00:00.0"
		m.CPUs[0].Devices = append(m.CPUs[0].Devices, d)
		m.NICs = append(m.NICs, topology.NIC{Index: i, Name: []string{"rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"}[i], Bus: bus, Mbps: 200000, Port: 1})
	}
	return m
}

// sampleFaulty is sampleHost with a downgraded switch and NIC, a GPU at rest, and a GPU without a NIC.
func sampleFaulty() *topology.Machine {
	m := sampleHost(8, 1, 1)
	sw := &m.CPUs[0].Devices[1]
	sw.Speed = 16
	sw.Children[1].Width = 8
	m.CPUs[0].Devices[2].Children[0].Speed = 2.5
	m.CPUs[1].Devices[0].Children = m.CPUs[1].Devices[0].Children[:1]
	m.CPUs[1].Devices[3].Children[1], m.CPUs[0].Devices[3].Children[1] = m.CPUs[0].Devices[3].Children[1], m.CPUs[1].Devices[3].Children[1]
	m.NICs = append(m.NICs[:4], m.NICs[5:]...)
	m.Gaps = []string{"the firmware does not say which slot NIC4 is in"}
	return m
}

// sampleNested has a switch behind a switch: two GPUs on one, a NIC behind another.
func sampleNested() *topology.Machine {
	m := sampleHost(2, 0, 0)
	for s := range 2 {
		top := &m.CPUs[s].Devices[0]
		for k := range 2 {
			bus := func(n int) string { return fmt.Sprintf("0000:%02x:00.0", 0x20+0x60*s+0x10*k+n) }
			sub := function(bus(0), aBridge, function(bus(1), aGPU), function(bus(2), aGPU), function(bus(3), aBridge, function(bus(4), aNIC)))
			top.Children = append(top.Children, sub)
			for i := range 2 {
				m.GPUs = append(m.GPUs, topology.GPU{Index: len(m.GPUs), Bus: bus(1 + i), Name: "NVIDIA A100-SXM4-80GB", NUMA: s})
			}
			m.NICs = append(m.NICs, topology.NIC{Index: len(m.NICs), Bus: bus(4), Name: fmt.Sprintf("mlx5_%d", len(m.NICs)), Mbps: 200000, NUMA: s})
		}
	}
	return m
}
