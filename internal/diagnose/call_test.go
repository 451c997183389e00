package diagnose

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// A call with twice the results takes about twice the work: what is remembered of each is bounded by what differs.
func TestManyResultsOfOneCall(t *testing.T) {
	in := Input{Predict: rates(map[string]float64{"hgx-h100/ib": 480}), Hardware: fabric.Hardware{Machine: "hgx-h100", Net: "ib", GPU: "h100-sxm", GPUsPerNode: 8, Nodes: 2}}
	allocated := func(n int) float64 {
		var all []fabric.Result
		for i := range n {
			table := curve(16, 40+float64(i%7))
			log := &fabric.NCCLLog{Net: "Socket", Nodes: 2, Env: map[string]string{"NCCL_ALGO": "Ring"}, Hosts: []string{fmt.Sprint("node", i)},
				ByHost: []fabric.LogHost{{Host: fmt.Sprint("node", i), Net: "Socket", Env: map[string]string{"NCCL_ALGO": "Ring"}}},
				Lines:  []fabric.LogLine{{Text: fmt.Sprintf("misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer node%d<4000>", i), Level: fabric.LineError}}}
			all = append(all, fabric.Result{File: fmt.Sprint("table", i), Kind: fabric.NCCLTests, Content: table}, fabric.Result{File: fmt.Sprint("log", i), Kind: fabric.NCCLDebugLog, Content: log})
		}
		return testing.AllocsPerRun(1, func() { explain(all, in) })
	}
	allocated(2) // what is compiled and read once
	if few, many := allocated(60), allocated(120); many > 2.6*few {
		t.Errorf("%.0f allocations of 120 results, %.0f of 240: %.1f times", few, many, many/few)
	}
}

// What results tell each other is enough: each believes what it would if all of them told all.
func TestToldIsEnough(t *testing.T) {
	table, err := loadTable()
	if err != nil {
		t.Fatal(err)
	}
	in := informed(Input{})
	in.Sharpness = sharpness
	r := rand.New(rand.NewPCG(1, 2))
	kinds := []func(evidence.Seen) evidence.Evidence{
		func(s evidence.Seen) evidence.Evidence {
			return evidence.Message{Seen: s, ID: "nccl/ib-completion-retry", Feature: "network", Quoted: r.IntN(2) == 0}
		},
		func(s evidence.Seen) evidence.Evidence {
			return evidence.Setting{Seen: s, Name: "NCCL_P2P_DISABLE", Value: fmt.Sprint(r.IntN(2))}
		},
		func(s evidence.Seen) evidence.Evidence {
			return evidence.Statement{Seen: s, Topic: "mtu-mismatch", Differs: r.IntN(2) == 0}
		},
		func(s evidence.Seen) evidence.Evidence {
			return evidence.Contrast{Seen: s, What: "p2p-off", Effect: evidence.Better, Said: r.IntN(2) == 0}
		},
		func(s evidence.Seen) evidence.Evidence {
			return evidence.Outcome{Seen: s, How: evidence.Hang, Printed: r.IntN(2) == 0}
		},
		func(s evidence.Seen) evidence.Evidence {
			return evidence.Found{Seen: s, Rule: "mtu", Cause: "mtu-mismatch", Failed: r.IntN(2) == 0, Error: r.IntN(2) == 0}
		},
	}
	for range 200 {
		var all []*observed
		c := newCall(nil)
		for i := range 2 + r.IntN(6) {
			s := &observed{kind: []fabric.ResultKind{fabric.NCCLDebugLog, fabric.ObservationFile}[r.IntN(2)]}
			for range r.IntN(4) {
				s.seen = append(s.seen, kinds[r.IntN(len(kinds))](evidence.Seen{Own: true, Text: []string{"one", "two", "mlx5_0"}[r.IntN(3)]}))
			}
			s.joins(c, i)
			all = append(all, s)
		}
		c.share(all)
		for i, s := range all {
			whole := slices.Clone(s.seen)
			for j, o := range all {
				if j != i && (!s.record() || !o.record()) {
					for _, e := range o.seen {
						whole = append(whole, evidence.Foreign(e))
					}
				}
			}
			told := s.withOthers(all, i).seen
			for _, class := range []causes.Class{causes.Slow, causes.Hang, causes.AnyClass} {
				a, b := infer(told, class, in, table, s.fits), infer(whole, class, in, table, s.fits)
				if fmt.Sprint(a.byID(), a.other) != fmt.Sprint(b.byID(), b.other) || classOf(told, true) != classOf(whole, true) {
					t.Fatalf("result %d of %d, %s: %v, and of all %v", i, len(all), class, a.byID(), b.byID())
				}
			}
		}
	}
}

// The larger size with a quarter of a smaller one's bandwidth is found as by comparing each with each.
func TestFallIsTheFirstOfAllPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var s observed
		for range r.IntN(12) {
			s.points = append(s.points, point{test: "nccl", scope: scopeNet, collective: fabric.AllReduce, nodes: 2 + r.IntN(2), size: int64(1 + r.IntN(6)), busbw: 1 + 30*r.Float64()*r.Float64()})
		}
		points := slices.Clone(s.points)
		slices.SortStableFunc(points, func(a, b point) int { return int(a.size - b.size) })
		want := ""
		for i, p := range points {
			for _, q := range points[i+1:] {
				if want == "" && q.nodes == p.nodes && q.size > p.size && q.busbw <= p.busbw/cliffDrop {
					want = fmt.Sprintf("%s GB/s at %s, %s GB/s at %s", number(p.busbw), bytesText(p.size), number(q.busbw), bytesText(q.size))
				}
			}
		}
		if got := s.fall(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}
