package topology

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// pairText writes pairs as GPU0-NIC0:PIX.
func pairText(p Pairing) string {
	var words []string
	for _, pair := range p.Pairs {
		nic := "none"
		if pair.NIC != nil {
			nic = pair.NIC.Label
		}
		words = append(words, pair.GPU.Label+"-"+nic+":"+pair.Hop.String())
	}
	return strings.Join(words, " ")
}

// TestPairA4 is DRA's A4: every GPU sees two NICs at PIX, and all eight get one of their own.
func TestPairA4(t *testing.T) {
	p := PairDevices(matrixFile(t, "matrix/a4.txt"))
	want := "GPU0-NIC0:PIX GPU1-NIC1:PIX GPU2-NIC2:PIX GPU3-NIC3:PIX GPU4-NIC4:PIX GPU5-NIC5:PIX GPU6-NIC6:PIX GPU7-NIC7:PIX"
	if got := pairText(p); got != want || len(p.Spare) != 0 {
		t.Errorf("gives %s, spare %v", got, p.Spare)
	}
	for _, pair := range p.Pairs {
		if !pair.Near || pair.LossGBs == nil || *pair.LossGBs != 0 || pair.Why != "" {
			t.Errorf("%s: %+v loses without reason: %s", pair.GPU.Label, pair.LossGBs, pair.Why)
		}
	}
}

// TestPairPublishedPlacements are workers of DRA's runs A and B on A4: GPUs that Kubernetes gave, and the NICs
// of either half. What their GPUs lose together is what the document's averages fell by: to 100 of 200 GB/s,
// and to 50.
func TestPairPublishedPlacements(t *testing.T) {
	x := matrixFile(t, "matrix/a4.txt")
	for i := range x.Devices {
		if x.Devices[i].Kind == KindNIC {
			x.Devices[i].Mbps = 400_000
		}
	}
	for _, c := range []struct {
		name   string
		places []int
		lost   float64 // GB/s of 200
		near   int
	}{
		{"aligned", []int{0, 1, 2, 3, 8, 9, 10, 11}, 0, 4},
		{"run A, two near", []int{0, 1, 6, 7, 8, 9, 10, 11}, 100, 2},
		{"run B, one near", []int{0, 5, 6, 7, 8, 9, 10, 11}, 150, 1},
		{"none near", []int{4, 5, 6, 7, 8, 9, 10, 11}, 100, 0}, // no PXN to go by: all of it through host memory
	} {
		t.Run(c.name, func(t *testing.T) {
			lost, near := 0.0, 0
			for _, pair := range PairDevices(x.Select(c.places)).Pairs {
				if pair.LossGBs == nil {
					t.Fatalf("%s: %s: %s", c.name, pair.GPU.Label, pair.Why)
				}
				lost += *pair.LossGBs
				if pair.Near {
					near++
				} else if pair.Why == "" {
					t.Errorf("%s: %s is far and has no reason", c.name, pair.GPU.Label)
				}
			}
			if lost != c.lost || near != c.near {
				t.Errorf("%s: loses %g with %d near, want %g with %d", c.name, lost, near, c.lost, c.near)
			}
		})
	}
}

// TestPairROCE are the bus sets of the Broadcom guide: no distance is printed there, only addresses, and the
// guide pairs by the nearest bus number.
func TestPairROCE(t *testing.T) {
	for _, c := range []struct{ gpus, nics string }{
		{"1C 42 55 68 9E C2 D4 E6", "0000:1d:00.0 0000:43:00.0 0000:56:00.0 0000:69:00.0 0000:9f:00.0 0000:c3:00.0 0000:d5:00.0 0000:e7:00.0"}, // 2.8.2
		{"1C 42 55 68 9E C2 D4 E6", "1d:00.0 43:0.0 56:0.0 69:0.0 9f:0.0 c3:0.0 d5:0.0 e7:0.0"},                                                // 2.2.1.2
		{"1C 42 55 68 9E C2 D4 E6", "enp29s0np0 enp67s0np0 enp86s0np0 enp105s0np0 enp159s0np0 enp195s0np0 enp213s0np0 enp231s0np0"},            // 5.1 no. 9
		{"1B 3D 4E 5F 9D BD CD DD", "enp28s0np0 enp62s0np0 enp79s0np0 enp96s0np0 enp158s0np0 enp190s0np0 enp206s0np0 enp222s0np0"},             // 8.7.2
		{"1B 3D 4E 5F 9D BD CD DD", "1a:00.0 3c:00.0 4d:00.0 5e:00.0 9c:00.0 bc:00.0 cc:00.0 dc:00.0"},                                         // VCF 8.3, the same server
	} {
		t.Run(c.nics, func(t *testing.T) {
			var text strings.Builder
			for i, bus := range strings.Fields(c.gpus) {
				fmt.Fprintf(&text, "GPU[%d]          : PCI Bus: 0000:%s:00.0\n", i, bus)
			}
			x, err := ReadROCmSMI(text.String())
			if err != nil {
				t.Fatal(err)
			}
			// the NICs in reverse: their numbers must not decide
			var nics []MatrixDevice
			for i, name := range strings.Fields(c.nics) {
				bus, ok := BusOfInterface(name)
				if !ok {
					if bus, err = ParseBus(name); err != nil {
						t.Fatal(err)
					}
				}
				nics = append([]MatrixDevice{{Label: fmt.Sprintf("NIC%d", i), Bus: bus, Mbps: 400_000}}, nics...)
			}
			p := PairDevices(x.WithNICs(nics))
			want := "GPU0-NIC0:? GPU1-NIC1:? GPU2-NIC2:? GPU3-NIC3:? GPU4-NIC4:? GPU5-NIC5:? GPU6-NIC6:? GPU7-NIC7:?"
			if got := pairText(p); got != want {
				t.Errorf("%s gives %s", c.nics, got)
			}
			if pair := p.Pairs[0]; pair.Near || pair.LossGBs != nil || !strings.Contains(pair.Why, "unknown") {
				t.Errorf("a distance that was guessed is called near or free: %+v", pair)
			}
		})
	}
}

func TestPairCounts(t *testing.T) {
	for _, c := range []struct {
		machine   string
		edit      func(*Machine)
		want      string
		spare     int
		totalLost float64
	}{
		{"p5-48xlarge", nil, "GPU0-NIC0:PIX GPU0-NIC1:PIX GPU0-NIC2:PIX GPU0-NIC3:PIX GPU1-NIC4:PIX", 0, 0},
		// 2 GPUs a NIC: each gets half of 25 GB/s
		{"a3-highgpu-8g", nil, "GPU0-NIC0:PIX GPU1-NIC0:PIX GPU2-NIC1:PIX", 0, 8 * 12.5},
		{"hgx-h100", func(m *Machine) { m.NICs = append(m.NICs[:3], m.NICs[4:]...) }, // the fourth NIC failed
			"GPU0-NIC0:PIX GPU1-NIC1:PIX GPU2-NIC2:PIX GPU3-none:? GPU4-NIC4:PIX", 0, 50},
		{"hgx-h100", func(m *Machine) { // a NIC for storage on the second socket
			m.CPUs[1].Devices = append(m.CPUs[1].Devices, Device{Bus: "0001:99:00.0", Class: classEthernet, HostBridge: "pci0001:98"})
			m.NICs = append(m.NICs, NIC{Index: 8, Bus: "0001:99:00.0", Mbps: 200_000, NUMA: 1})
		}, "GPU0-NIC0:PIX GPU1-NIC1:PIX GPU2-NIC2:PIX GPU3-NIC3:PIX GPU4-NIC4:PIX", 1, 0},
		{"hgx-h100", func(m *Machine) { m.NICs = nil }, "GPU0-none:? GPU1-none:? ", 0, math.NaN()},
	} {
		t.Run(c.machine+": "+c.want, func(t *testing.T) {
			m := nominal(t, c.machine)
			if c.edit != nil {
				c.edit(m)
			}
			p := m.Pairing()
			lost := 0.0
			for _, pair := range p.Pairs {
				if pair.LossGBs == nil {
					lost = math.NaN()
					continue
				}
				lost += *pair.LossGBs
			}
			if got := pairText(p); !strings.HasPrefix(got, c.want) || len(p.Spare) != c.spare || lost != c.totalLost && !math.IsNaN(lost+c.totalLost) || math.IsNaN(lost) != math.IsNaN(c.totalLost) {
				t.Errorf("%s gives %s, %d spare, %g GB/s lost; want %s, %d, %g", c.machine, got, len(p.Spare), lost, c.want, c.spare, c.totalLost)
			}
		})
	}
}

// TestPairKeepsOrder has one GPU that can only use the first NIC: the others move on, in their order.
func TestPairKeepsOrder(t *testing.T) {
	x, err := ReadNvidiaTopo(`GPU0 GPU1 GPU2 NIC0 NIC1 NIC2
GPU0 X SYS SYS PIX PIX PIX
GPU1 SYS X SYS PIX PIX PIX
GPU2 SYS SYS X PIX SYS SYS
NIC0 PIX PIX PIX X SYS SYS
NIC1 PIX PIX SYS SYS X SYS
NIC2 PIX PIX SYS SYS SYS X
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := pairText(PairDevices(x)); got != "GPU0-NIC1:PIX GPU1-NIC2:PIX GPU2-NIC0:PIX" {
		t.Errorf("gives %s", got)
	}
}

// TestPairFar is a machine without NVLink whose NICs are on the other socket: through host memory and the
// link between sockets.
func TestPairFar(t *testing.T) {
	machine := func(cpu CPU) *Machine {
		m := &Machine{Source: "test", NUMANodes: 2, CPUs: []CPU{cpu, cpu}}
		m.CPUs[1].NUMA = 1
		m.CPUs[0].Devices = []Device{{Bus: "0000:01:00.0", Class: class3D, HostBridge: "pci0000:00"}}
		m.CPUs[1].Devices = []Device{{Bus: "0000:81:00.0", Class: classEthernet, HostBridge: "pci0000:80"}}
		m.GPUs = []GPU{{Bus: "0000:01:00.0"}}
		m.NICs = []NIC{{Bus: "0000:81:00.0", Mbps: 400_000, NUMA: 1}}
		return m
	}
	for _, c := range []struct {
		cpu  CPU
		lost float64
		why  string
	}{
		{CPU{Arch: "x86_64", Vendor: vendorIntel, Family: 6, Model: 143}, 50 - 22, "22 GB/s"},
		{CPU{Arch: "x86_64", Vendor: vendorIntel, Family: 6, Model: 207}, 25, "40 GB/s"}, // half the line rate is less
		{CPU{Arch: "x86_64", Vendor: vendorIntel, Family: 6, Model: 173}, 25, "40 GB/s"},
		{CPU{Arch: "x86_64", Vendor: vendorIntel, Family: 6, Model: 85}, 40, "10 GB/s"},
		{CPU{Arch: "x86_64", Vendor: vendorIntel, Family: 6, Model: 79}, 44, "6 GB/s"},
		{CPU{Arch: "x86_64", Vendor: vendorAMD, Family: 23}, 34, "16 GB/s"},
		{CPU{Arch: "x86_64", Vendor: vendorAMD, Family: 175}, 26, "24 GB/s"},
		{CPU{Arch: "arm64"}, 44, "6 GB/s"},
		{CPU{}, 25, "whose rate is unknown"},
	} {
		t.Run(fmt.Sprintf("%s family %d model %d", cmp.Or(c.cpu.Vendor, c.cpu.Arch, "unknown"), c.cpu.Family, c.cpu.Model), func(t *testing.T) {
			p := machine(c.cpu).Pairing()
			if pair := p.Pairs[0]; pair.Near || pair.LossGBs == nil || *pair.LossGBs != c.lost || !strings.Contains(pair.Why, c.why) {
				t.Errorf("%+v: %+v", c.cpu, pair)
			}
		})
	}
	m := machine(CPU{})
	m.NICs[0].Mbps = 0
	if pair := m.Pairing().Pairs[0]; pair.LossGBs != nil || !strings.Contains(pair.Why, "unknown") {
		t.Errorf("an unknown line rate gives %+v", pair)
	}
}

// TestAssignOptimal compares with all permutations.
func TestAssignOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		rows, columns := 1+r.IntN(5), 0
		columns = rows + r.IntN(3)
		costs := make([][]cost, rows)
		for i := range costs {
			for range columns {
				costs[i] = append(costs[i], cost{r.Int64N(3), r.Int64N(4), r.Int64N(5)})
			}
		}
		sum := func(columnOf []int) (c cost) {
			for i, j := range columnOf {
				c = c.plus(costs[i][j])
			}
			return c
		}
		got := assign(rows, columns, func(i, j int) cost { return costs[i][j] })
		seen := map[int]bool{}
		for _, j := range got {
			if seen[j] {
				t.Fatalf("column %d twice: %v", j, got)
			}
			seen[j] = true
		}
		best := sum(got)
		everyChoice(rows, columns, nil, func(columnOf []int) {
			if c := sum(columnOf); c.less(best) {
				t.Fatalf("%v gives %v, %v is %v", costs, best, columnOf, c)
			}
		})
	}
}

func everyChoice(rows, columns int, chosen []int, visit func([]int)) {
	if len(chosen) == rows {
		visit(chosen)
		return
	}
next:
	for j := range columns {
		for _, taken := range chosen {
			if taken == j {
				continue next
			}
		}
		everyChoice(rows, columns, append(chosen[:len(chosen):len(chosen)], j), visit)
	}
}

// TestPairBounded pairs the largest matrix that there is.
func TestPairBounded(t *testing.T) {
	const n = maxMatrixDevices / 2
	x := Matrix{Hops: make([][]Hop, 2*n)}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 2 * n {
		kind := KindGPU
		if i >= n {
			kind = KindNIC
		}
		x.Devices = append(x.Devices, MatrixDevice{Label: fmt.Sprint(i), Kind: kind})
		for range 2 * n {
			x.Hops[i] = append(x.Hops[i], Hop{Distance: PIX + Distance(r.IntN(5))})
		}
	}
	start := time.Now()
	if p := PairDevices(x); len(p.Pairs) != n {
		t.Errorf("%d pairs", len(p.Pairs))
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%d GPUs and NICs took %v", n, took)
	} else {
		t.Logf("%d GPUs and as many NICs took %v", n, took)
	}
}
