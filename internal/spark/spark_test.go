package spark

import (
	"net/netip"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestAddressInName(t *testing.T) {
	for name, want := range map[string]string{
		"enp1s0f0np0": "0000:01:00.0", "enP2p1s0f1np1": "0002:01:00.1", "roceP2p1s0f0": "0002:01:00.0", "rocep1s0f1": "0000:01:00.1", "enp28s0np0": "0000:1c:00.0",
		"f1": "0000:01:00.1", "p0": "0000:01:00.0", "mlx5_0": "", "eth1": "", "enP7s7": "", "wlP9s9": "",
	} {
		if have := names().address(name); have != want {
			t.Errorf("%s: %q, want %q", name, have, want)
		}
	}
}

// TestRecognised: names of one PCI domain are those of a PC too, and what is another machine's speaks against all of them.
func TestRecognised(t *testing.T) {
	named := func(names ...string) *fabric.Facts {
		f := &fabric.Facts{Node: "host1"}
		for _, n := range names {
			f.NICs = append(f.NICs, fabric.NIC{Name: n})
		}
		return f
	}
	with := func(f *fabric.Facts, change func(*fabric.Facts)) *fabric.Facts { change(f); return f }
	both := []string{"enp1s0f0np0", "enP2p1s0f0np0"}
	for name, tt := range map[string]struct {
		facts *fabric.Facts
		want  Certainty
	}{
		"nothing":                        {named(), Unknown},
		"a PC with a card of two ports":  {named("enp1s0f0np0", "enp1s0f1np1"), Unknown},
		"both domains":                   {named(both...), Named},
		"both domains on x86":            {with(named(both...), func(f *fabric.Facts) { f.Machine.CPU = &fabric.CPUID{Vendor: "GenuineIntel"} }), Not},
		"both domains and an H100":       {with(named(both...), func(f *fabric.Facts) { f.GPUs = []fabric.GPU{{Name: "NVIDIA H100 80GB HBM3"}} }), Not},
		"a ConnectX-5":                   {with(named(both...), func(f *fabric.Facts) { f.HCAs = []fabric.HCA{{Name: "rocep1s0f0", Type: "MT4121"}} }), Not},
		"a GB10":                         {with(named(), func(f *fabric.Facts) { f.GPUs = []fabric.GPU{{Name: "NVIDIA GB10"}} }), Proven},
		"one domain on a host called so": {with(named("enp1s0f1np1"), func(f *fabric.Facts) { f.Node = "dgx-spark-1" }), Named},
		"the NIC itself": {with(named(), func(f *fabric.Facts) {
			for _, a := range []string{"0000:01:00.0", "0002:01:00.0"} {
				f.PCI = append(f.PCI, fabric.PCIDevice{Address: a, Vendor: 0x15b3, Device: 0x1021})
			}
		}), Proven},
	} {
		if n := Read(tt.facts); n.Known != tt.want || n.By == "" {
			t.Errorf("%s: %d by %q, want %d", name, n.Known, n.By, tt.want)
		}
	}
}

// TestPortsByFunction: the devices of a container have names without a place; the function says which port they are.
func TestPortsByFunction(t *testing.T) {
	f := &fabric.Facts{}
	for i, at := range []string{"0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1"} {
		up := at[11] == '1'
		f.NICs = append(f.NICs, fabric.NIC{Name: "eth" + string(rune('0'+i)), PCI: at, Carrier: &up})
		f.HCAs = append(f.HCAs, fabric.HCA{Name: "mlx5_" + string(rune('0'+i)), PCI: at})
	}
	n := Read(f)
	if c := n.Ports[0].Cabled(); c == nil || *c {
		t.Error("p0 has a cable")
	}
	if c := n.Ports[1].Cabled(); c == nil || !*c || n.Ports[1].Twins[0].HCA != "mlx5_1" || n.Ports[1].Twins[1].HCA != "mlx5_3" {
		t.Errorf("p1: %+v", n.Ports[1])
	}
}

// cabled are machines whose ports have the given networks: the third byte of the first twin's address of p0 and p1; -1: no cable.
func cabled(ports ...[2]int) []Spark {
	var out []Spark
	for h, of := range ports {
		f := &fabric.Facts{Node: "spark" + string(rune('1'+h))}
		for p, network := range of {
			for t := range Twins {
				up := network >= 0
				n := fabric.NIC{Name: "x" + Function(p, t)[3:4] + Function(p, t)[11:], PCI: Function(p, t), Carrier: &up}
				if up {
					n.Addresses = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 40, byte(network + t), byte(1 + 2*h + p)}), 24)}
				}
				f.NICs = append(f.NICs, n)
			}
		}
		n := Read(f)
		n.Known = Named
		out = append(out, n)
	}
	return out
}

func TestTopologies(t *testing.T) {
	for name, tt := range map[string]struct {
		machines []Spark
		want     Topology
		faults   []FaultKind
	}{
		"pair":                   {cabled([2]int{10, -1}, [2]int{10, -1}), Pair, nil},
		"pair, p0 to p1":         {cabled([2]int{10, -1}, [2]int{-1, 10}), Pair, nil},
		"both ports to one peer": {cabled([2]int{10, 20}, [2]int{10, 20}), Pair, []FaultKind{SecondCable}},
		"mesh":                   {cabled([2]int{10, 30}, [2]int{20, 10}, [2]int{30, 20}), Mesh, nil},
		"mesh, p0 to p0":         {cabled([2]int{10, 30}, [2]int{10, 20}, [2]int{30, 20}), Mesh, []FaultKind{SamePort, SamePort}},
		"ring of four":           {cabled([2]int{10, 40}, [2]int{20, 10}, [2]int{30, 20}, [2]int{40, 30}), Ring, nil},
		"chain of three":         {cabled([2]int{10, -1}, [2]int{20, 10}, [2]int{-1, 20}), Chain, []FaultKind{NotClosed}},
		"open ring of four":      {cabled([2]int{10, -1}, [2]int{20, 10}, [2]int{30, 20}, [2]int{-1, 30}), OpenRing, []FaultKind{NotClosed}},
		"third cable unknown":    {cabled([2]int{10, 50}, [2]int{20, 10}, [2]int{60, 20}), NoTopology, nil},
		"switch":                 {cabled([2]int{10, -1}, [2]int{10, -1}, [2]int{10, -1}), Switch, nil},
		"nothing in common":      {cabled([2]int{10, -1}, [2]int{20, -1}), NoTopology, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := Of(tt.machines)
			if f.Topology != tt.want {
				t.Errorf("%q, want %q: %s", f.Topology, tt.want, List(f.Cables))
			}
			if len(f.Faults) != len(tt.faults) {
				t.Fatalf("%+v, want %v", f.Faults, tt.faults)
			}
			for i, kind := range tt.faults {
				if f.Faults[i].Kind != kind || f.Faults[i].Say == "" || f.Faults[i].Fix == "" || f.Faults[i].Cost == "" || f.Faults[i].By == "" {
					t.Errorf("%+v, want %s", f.Faults[i], kind)
				}
			}
		})
	}
}

// TestForeignPeer: a PC on the second port is none of the machines, and the addresses join what LLDP does not.
func TestForeignPeer(t *testing.T) {
	machines := cabled([2]int{10, -1}, [2]int{10, -1})
	machines[0].Seen = []Neighbour{{Port: 1, System: "nas", By: "LLDP"}}
	if f := Of(machines); len(f.Faults) != 1 || f.Faults[0].Kind != ForeignPeer {
		t.Errorf("%+v", f.Faults)
	}
	machines[0].Seen = []Neighbour{{Port: 0, System: "spark2", FarPort: "enp1s0f1np1", By: "LLDP"}}
	if f := Of(machines); len(f.Faults) == 0 || f.Faults[len(f.Faults)-1].Kind != PortsCrossed {
		t.Errorf("%+v", f.Faults)
	}
}
