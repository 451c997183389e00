package lossless_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/lossless"
)

// cluster is a network of leaves for each rail and group of 32 hosts, spines in pods of groups, and a tier above them that
// joins the pods; 64 ports a switch.
func cluster(hosts int) *world {
	const rails, group, pod, up = 8, 32, 4, 32
	r := rand.New(rand.NewPCG(3, 3))
	w := newWorld(r)
	w.want.RoCE.ECN, w.pfc = &fabric.ECN{}, []int{w.want.RoCE.Priority}
	w.net = lossless.Network{Switches: map[string]*fabric.SwitchConfig{}, NICs: map[fabric.Endpoint]lossless.NICConfig{}}
	w.ports, w.nics = nil, nil
	groups := (hosts + group - 1) / group
	pods := (groups + pod - 1) / pod
	used := map[string]int{}
	ports := map[string]int{}
	port := func(node string) fabric.Endpoint {
		used[node]++
		ports[node] = used[node]
		return fabric.Endpoint{Node: node, NIC: fmt.Sprintf("p%d", used[node])}
	}
	nic := w.newNIC(r)
	for h := range hosts {
		for rail := range rails {
			e := fabric.Endpoint{Node: fmt.Sprintf("host%05d", h), NIC: fmt.Sprintf("eth%d", rail+1)}
			w.nics, w.net.NICs[e] = append(w.nics, e), nic
			w.net.Cables = append(w.net.Cables, lossless.Cable{A: e, B: port(fmt.Sprintf("leaf%d-%d", h/group, rail))})
		}
	}
	for g := range groups {
		for rail := range rails {
			for s := range up {
				w.net.Cables = append(w.net.Cables, lossless.Cable{A: port(fmt.Sprintf("leaf%d-%d", g, rail)), B: port(fmt.Sprintf("spine%d-%d", g/pod, s))})
			}
		}
	}
	for p := range pods {
		for s := range up {
			for c := range 32 {
				w.net.Cables = append(w.net.Cables, lossless.Cable{A: port(fmt.Sprintf("spine%d-%d", p, s)), B: port(fmt.Sprintf("core%d-%d", s, c))})
			}
		}
	}
	plain := w.pattern(r)
	for name, n := range ports {
		s := &fabric.SwitchConfig{Name: name}
		dscp, pcp := *plain.DSCP, *plain.PCP // a table for each switch, as a reader makes them
		for i := range n {
			p := plain
			p.Name, p.DSCP, p.PCP = fmt.Sprintf("p%d", i+1), &dscp, &pcp
			s.Ports = append(s.Ports, p)
		}
		w.net.Switches[name] = s
	}
	return w
}

func (w *world) pattern(r *rand.Rand) fabric.PortConfig {
	w.addSwitch(r, "pattern", 1, false)
	defer delete(w.net.Switches, "pattern")
	p := w.net.Switches["pattern"].Ports[0]
	p.Rewrite = nil
	return p
}

// maxMiB is a bar for what a proof allocates in all, beside the configurations, which the caller has. Its time, 3 to 4 s on one
// free core, is for the benchmark.
const maxMiB = 600

func TestLargeCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	w := cluster(10_000)
	prove := func(name string, want fabric.Status) lossless.Result {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		begin := time.Now()
		r := lossless.Prove(w.net, w.want)
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		mib := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d switches, %d cables: %v, %d MiB allocated, %v, walked %d, classes %d, faults %d", name, len(w.net.Switches), len(w.net.Cables), took, mib, r.Verdict, r.Walked, r.Classes, r.Faults)
		if r.Verdict != want {
			t.Errorf("%s: verdict %v, want %v: %+v %+v", name, r.Verdict, want, r.Counterexamples[:min(3, len(r.Counterexamples))], r.Unknown[:min(3, len(r.Unknown))])
		}
		if mib > maxMiB {
			t.Errorf("%s: %d MiB", name, mib)
		}
		return r
	}
	prove("as planned", fabric.Pass)

	s := w.net.Switches["spine7-3"]
	for q := range s.Ports[5].Queues {
		s.Ports[5].Queues[q] = &fabric.QueueConfig{Algorithm: say(w, s.Name, "queue", "strict"), Marks: &fabric.QueueProfile{ECN: fabric.Said[bool]{At: w.line(s.Name, "no ecn")}}}
	}
	for _, s := range w.net.Switches {
		d := *s.Ports[0].DSCP
		d[62] = d[w.want.RoCE.DSCP]
		for i := range s.Ports {
			s.Ports[i].DSCP = &d
		}
	}
	r := prove("one port does not mark, a DSCP is lossless everywhere", fabric.Fail)
	for _, c := range r.Counterexamples {
		if c.Kind == lossless.NoECN && c.Places != 1 || c.Kind == lossless.OtherLossless && c.Places != 2*len(w.net.Cables)-len(w.nics) {
			t.Errorf("%d places: %+v", c.Places, c)
		}
	}
}

func BenchmarkProve(b *testing.B) {
	w := cluster(16_384)
	b.ReportAllocs()
	for b.Loop() {
		if r := lossless.Prove(w.net, w.want); r.Verdict != fabric.Pass {
			b.Fatal(r.Verdict)
		}
	}
}
