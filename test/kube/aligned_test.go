package kube

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// backwards is an order of roots in which the NIC with a GPU's number is never at that GPU's root.
var backwards = []int{7, 6, 5, 4, 3, 2, 1, 0}

// Eight pods with a GPU and a NIC each get the eight pairs of a node, each at one PCIe root; a ninth is refused.
func TestAligned(t *testing.T) {
	p := need(t)
	got := p.play(t, "v1", scene{machine: newMachine("aligned", backwards...), want: want{pairs: 1, each: 1}, pods: 9, run: 8})
	if n := got.misaligned(); n != 0 {
		t.Errorf("%d of %d pairs are not at one root: %v", n, len(got.pairs), got.pairs)
	}
	for name, why := range got.refused {
		t.Logf("%s: %s", name, why)
	}
}

// Without the constraint the same devices go to pods across roots. If this one finds no misaligned pair, the test above
// proves nothing.
func TestWithoutConstraint(t *testing.T) {
	p := need(t)
	got := p.play(t, "v1", scene{machine: newMachine("anywhere", backwards...), want: want{pairs: 1, each: 1, anywhere: true}, pods: 9, run: 8})
	if n := got.misaligned(); n == 0 {
		t.Errorf("all %d pairs are at one root without a constraint", len(got.pairs))
	} else {
		t.Logf("%d of %d pairs are not at one root", n, len(got.pairs))
	}
}

// What machines and drivers really publish, beside the plain case.
func TestDevices(t *testing.T) {
	p := need(t)
	plain := want{pairs: 1, each: 1}
	sameNames := newMachine("same-names", backwards...)
	for i := range sameNames.gpus {
		sameNames.gpus[i].name, sameNames.nics[i].name = fmt.Sprintf("device-%d", i), fmt.Sprintf("device-%d", i)
	}
	noRoot := newMachine("no-root", backwards...)
	for i := range 3 {
		noRoot.nics[2*i].root = ""
	}
	twos := newMachine("two-by-two", 0, 1, 2, 3)
	for i := range 4 {
		twos.gpus = append(twos.gpus, device{fmt.Sprintf("gpu-%d", 4+i), pcieRoot(3 - i)})
		twos.nics = append(twos.nics, device{fmt.Sprintf("nic-%d", 4+i), pcieRoot(i)})
	}
	apart := newMachine("apart", backwards...)
	for i := range apart.nics {
		apart.nics[i].root = pcieRoot(8 + i)
	}
	for name, s := range map[string]scene{
		"NICs that publish no root are in no pair":   {machine: noRoot, want: plain, pods: 6, run: 5},
		"two drivers with the same names of devices": {machine: sameNames, want: plain, pods: 9, run: 8},
		"two GPUs and two NICs at a root":            {machine: twos, want: plain, pods: 9, run: 8},
		"a root at a time":                           {machine: twos, want: want{pairs: 1, each: 2}, pods: 5, run: 4},
		"one pod with all pairs":                     {machine: newMachine("whole", backwards...), want: want{pairs: 8, each: 1}, pods: 2, run: 1},
		"NICs that are at no GPU's root":             {machine: apart, want: plain, pods: 1, run: 0},
		"pods of two pairs, and one pair is left":    {machine: newMachine("odd", 0, 1, 2), want: want{pairs: 2, each: 1}, pods: 2, run: 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := p.play(t, "v1", s)
			if n := got.misaligned(); n != 0 {
				t.Errorf("%d of %d pairs are not at one root: %v", n, len(got.pairs), got.pairs)
			}
		})
	}
}

// The order in which a driver lists its NICs is no property of the machine.
func TestShuffled(t *testing.T) {
	p := need(t)
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(16, seed))
			m := newMachine("shuffled", random.Perm(8)...)
			random.Shuffle(8, func(i, j int) { m.gpus[i], m.gpus[j] = m.gpus[j], m.gpus[i] })
			got := p.play(t, "v1", scene{machine: m, want: want{pairs: 1, each: 1}, pods: 9, run: 8})
			if n := got.misaligned(); n != 0 {
				t.Errorf("%d of %d pairs are not at one root: %v", n, len(got.pairs), got.pairs)
			}
		})
	}
}

// NICs that another pod has are in no pair, and are free again when it ends.
func TestInUse(t *testing.T) {
	p := need(t)
	m := newMachine("in-use", backwards...)
	namespace, other := p.namespace(t), p.namespace(t)
	p.publish(t, "v1", m)
	holder := want{pairs: 1, each: 1, nics: []string{"nic-2", "nic-5"}}
	p.applyAll(t, other, holder.template("v1", "pairs"))
	p.applyAll(t, namespace, want{pairs: 1, each: 1}.template("v1", "pairs"))
	// No third one: a pod that ends while the scheduler has devices in hand for it leaves others waiting for minutes.
	held := p.place(t, other, pods(2, "holder", "pairs", m.name), 2, unsatisfied, busy)
	var nics []string
	for _, a := range slices.Concat(held.pairs...) {
		if a.driver == nicDriver {
			nics = append(nics, a.device)
		}
	}
	if slices.Sort(nics); !slices.Equal(nics, holder.nics) {
		t.Fatalf("the first pods have %v, want %v", nics, holder.nics)
	}
	got := p.place(t, namespace, pods(8, "pod", "pairs", m.name), 6, unsatisfied, busy)
	if n := got.misaligned(); n != 0 || len(got.pairs) != 6 {
		t.Errorf("%d of %d pairs are not at one root", n, len(got.pairs))
	}
	p.deletePods(t, other)
	got = p.place(t, namespace, nil, 8, unsatisfied, busy)
	if n := got.misaligned(); n != 0 || len(got.pairs) != 8 {
		t.Errorf("after the others ended: %d of %d pairs are not at one root", n, len(got.pairs))
	}
}

// fleetLimit is for 200 nodes until all are ready, and for 400 pods until the last of them runs. On two cores that are
// shared with twenty other processes the pods took 55 s.
const fleetLimit = 3 * time.Minute

// A fleet of nodes, full to the last pair that is asked for: no pod gets devices of two roots, or of two nodes.
func TestFleet(t *testing.T) {
	p := need(t)
	const nodes, count = 200, 400
	var machines []machine
	random := rand.New(rand.NewPCG(16, 200))
	for i := range nodes {
		machines = append(machines, newMachine(fmt.Sprintf("node-%d", i), random.Perm(8)...))
	}
	namespace := p.namespace(t)
	p.publish(t, "v1", machines...)
	p.applyAll(t, namespace, want{pairs: 1, each: 1}.template("v1", "pairs"))
	begin := time.Now()
	got := p.place(t, namespace, pods(count, "pod", "pairs", ""), count, unsatisfied, fleetLimit)
	t.Logf("%d pods run after %v", count, time.Since(begin).Round(100*time.Millisecond))
	if n := got.misaligned(); n != 0 || len(got.pairs) != count {
		t.Errorf("%d of %d pairs are not at one root", n, len(got.pairs))
	}
	if n := got.taken(t); n != 2*count {
		t.Errorf("%d devices were allocated, want %d", n, 2*count)
	}
	for _, pair := range got.pairs {
		if pair[0].pool != pair[1].pool {
			t.Errorf("devices of two nodes: %v", pair)
		}
	}
}
