package collective

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// sound returns what no prediction may do.
func sound(rows []fabric.PredictionRow) error {
	type kind struct{ algorithm, protocol string }
	last := map[kind]fabric.PredictionRow{}
	for _, r := range rows {
		for name, v := range map[string]float64{"time": r.TimeUS, "algbw": r.AlgBW, "busbw": r.BusBW, "low": r.Band[0], "high": r.Band[1], "bound": r.Bound.BusBW} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
				return fmt.Errorf("%d bytes: %s is %v", r.Size, name, v)
			}
		}
		if math.IsNaN(r.NICGBs) || r.NICGBs < 0 || math.IsInf(r.NICGBs, 0) {
			return fmt.Errorf("%d bytes: NIC %v GB/s", r.Size, r.NICGBs)
		}
		if r.BusBW > r.Bound.BusBW*(1+1e-9) {
			return fmt.Errorf("%d bytes: %.2f GB/s is above the bound of %.2f", r.Size, r.BusBW, r.Bound.BusBW)
		}
		if !(r.Band[0] <= r.BusBW && r.BusBW <= r.Band[1]*(1+1e-9)) {
			return fmt.Errorf("%d bytes: %v is not inside %v", r.Size, r.BusBW, r.Band)
		}
		if r.Bound.Element == "" {
			return fmt.Errorf("%d bytes: nothing sets the bound", r.Size)
		}
		k := kind{r.Algorithm, r.Protocol}
		if before, ok := last[k]; ok && r.TimeUS < before.TimeUS*(1-1e-9) {
			return fmt.Errorf("%s/%s: %d bytes take %.3f us, %d take %.3f", k.algorithm, k.protocol, before.Size, before.TimeUS, r.Size, r.TimeUS)
		}
		last[k] = r
	}
	return nil
}

// fine are sizes between the powers of two as well, rising.
func fine() []int64 {
	var sizes []int64
	for s := 8.0; s < 1<<36; s *= 1.19 {
		sizes = append(sizes, int64(s))
	}
	return sizes
}

func TestEveryMachineIsSound(t *testing.T) {
	cat := loaded(t)
	for id, m := range cat.Machines {
		if m.GPU == "" {
			continue
		}
		for _, nodes := range []int{1, 2, 3, 4, 64, 16384} {
			c, err := New(cat, fabric.Hardware{Machine: id, Nodes: nodes})
			if err != nil {
				t.Errorf("%s, %d nodes: %v", id, nodes, err)
				continue
			}
			if c.Ranks() == 1 {
				continue
			}
			for _, what := range fabric.Collectives() {
				p, err := c.Predict(Job{Collective: what}, fine())
				if err == nil {
					err = sound(p.Rows)
				}
				if err != nil {
					t.Errorf("%s, %d nodes, %s: %v", id, nodes, what, err)
				}
			}
		}
	}
}

// TestForcedIsSound goes through every combination that runs, also where it would never be chosen.
func TestForcedIsSound(t *testing.T) {
	ran := 0
	for _, hw := range []fabric.Hardware{{Machine: "hgx-h100", Nodes: 2}, {Machine: "hgx-b200", Nodes: 4}, {Machine: "xe9680-mi300x-thor2", Nodes: 4}, {Machine: "mi250x-ss11", Nodes: 2}, {Machine: "oam8-mi355x", Nodes: 4}, {Machine: "dgx-spark", Nodes: 2}, {Machine: "hgx-h200", Nodes: 1}} {
		c := newCluster(t, hw)
		for a := range algorithms {
			for p := range protocols {
				for _, what := range []fabric.Collective{fabric.AllReduce, fabric.AllGather, fabric.Broadcast} {
					env := map[string]string{"NCCL_ALGO": a.String(), "NCCL_PROTO": p.String(), "NCCL_COLLNET_ENABLE": "1"}
					got, err := c.Predict(Job{Collective: what, Env: env}, fine())
					if err != nil {
						continue
					}
					ran++
					if err := sound(got.Rows); err != nil {
						t.Errorf("%s %s/%s %s: %v", hw.Machine, a, p, what, err)
					}
				}
			}
		}
	}
	if ran < 60 {
		t.Errorf("only %d combinations ran", ran)
	}
}

// TestRandomHardware goes through machines that do not exist.
func TestRandomHardware(t *testing.T) {
	cat := loaded(t)
	r := rand.New(rand.NewSource(7))
	pick := func(of ...string) string { return of[r.Intn(len(of))] }
	ran := 0
	for range 60 {
		nvlink := r.Intn(3) > 0
		rates := []float64{25, 100, 400, 1e-9, 0.5, 3, 7777, 99999}
		hw := fabric.Hardware{
			GPU: pick("h100", "a100", "b200", "l40s", "gb10", "h200", "none", "mi300x", "mi250x"), CPU: pick("intel", "amd", "arm", ""),
			Net: pick("roce", "efa", "tcp", "ib", "tcpx", "ss11"), Nodes: 1 + r.Intn(4), GPUsPerNode: 1 + r.Intn(8),
			NICsPerNode: r.Intn(9), NICGbps: rates[r.Intn(len(rates))], NVLink: &nvlink, Oversubscription: float64(r.Intn(3)),
		}
		c, err := New(cat, hw)
		if err != nil || c.Ranks() == 1 {
			continue
		}
		for _, what := range fabric.Collectives() {
			p, err := c.Predict(Job{Collective: what, Processes: r.Intn(3)}, fine())
			if err == nil {
				err = sound(p.Rows)
			}
			if err != nil {
				t.Errorf("%+v, %s: %v", hw, what, err)
			}
			ran++
		}
	}
	if ran < 200 {
		t.Errorf("only %d predictions", ran)
	}
}

func FuzzPredict(f *testing.F) {
	f.Add("h100", "ib", "intel", 2, 8, 8, 400.0, 1.0, uint8(0), "", "", int64(1<<20))
	f.Add("mi300x", "roce", "amd", 4, 8, 8, 400.0, 2.0, uint8(3), "Ring", "Simple", int64(8))
	f.Add("gb10", "roce", "arm", 3, 1, 4, 100.0, 0.0, uint8(1), "^Tree", "", int64(1<<33))
	f.Add("rtx5090", "tcp", "", 2, 3, 1, 25.0, 1.0, uint8(8), "", "LL", int64(100))
	f.Add("a100", "efa", "intel", 2, 8, 4, 100.0, 0.0, uint8(2), "Tree", "", int64(1<<26))
	cat := loaded(f)
	f.Fuzz(func(t *testing.T, gpu, net, cpu string, nodes, gpus, nics int, gbps, over float64, what uint8, algo, proto string, size int64) {
		if gpus > 8 || nics > 8 {
			t.Skip("more than 8 GPUs or NICs: the search of large machines is fuzzed in ncclgraph")
		}
		nvlink := what&0x80 == 0
		c, err := New(cat, fabric.Hardware{GPU: gpu, Net: net, CPU: cpu, Nodes: nodes, GPUsPerNode: gpus, NICsPerNode: nics, NICGbps: gbps, Oversubscription: over, NVLink: &nvlink})
		if err != nil {
			return
		}
		all := fabric.Collectives()
		job := Job{Collective: all[int(what&0x7f)%len(all)], Processes: gpus - 1, Env: map[string]string{"NCCL_ALGO": algo, "NCCL_PROTO": proto}}
		sizes := []int64{size / 3, size / 2, size, size + 1}
		p, err := c.Predict(job, sizes)
		if err != nil {
			return
		}
		if err := sound(p.Rows); err != nil {
			t.Errorf("%+v %+v: %v", c.hw, job, err)
		}
	})
}
