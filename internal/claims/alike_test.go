package claims

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// mixedFleet is nodes of few kinds, some with devices that are taken.
func mixedFleet(r *rand.Rand) string {
	var b strings.Builder
	kinds, split := 1+r.IntN(3), r.IntN(2)
	roots := make([][]int, kinds)
	for k := range roots {
		roots[k] = r.Perm(4)
	}
	for node := range 3 + r.IntN(6) {
		kind := r.IntN(kinds)
		name := fmt.Sprintf("node-%d", node)
		for _, driver := range []string{"gpu.nvidia.com", "dra.net"} {
			pools := 1 + kind%2*split // of a driver: two pools, as two processes of a driver have
			for p := range pools {
				var devices []string
				for d := range 4 {
					root := d
					if driver == "dra.net" {
						root = roots[kind][d]
					}
					if d%pools == p {
						devices = append(devices, fmt.Sprintf("%s%d pci0000:%d0", driver[:1], d, root))
					}
				}
				text := sliceOf(name, driver, fmt.Sprintf("%s-p%d", name, p), 1, 1, devices...)
				b.WriteString(strings.Replace(text, "name: "+name+"-", fmt.Sprintf("name: %s-p%d-", name, p), 1))
			}
		}
		if r.IntN(3) == 0 {
			b.WriteString(hasDevices("a", fmt.Sprintf("old%d", node), fmt.Sprintf("dra.net/%s-p0/d%d", name, 0)))
		}
	}
	return b.String()
}

// What is remembered of a node of the same kind is what the allocator says: beside a slice for all nodes, where nothing is
// remembered, pods get the same.
func TestAlikeNodes(t *testing.T) {
	for seed := range uint64(60) {
		count := 1 + int(seed%3)
		claim := claimOf("t", fmt.Sprintf("{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: %d}}, {name: nic, exactly: {deviceClassName: rdma, count: %d}}", count, count), "")
		if count == 1 {
			claim = claimOf("t", askGPU+","+askNIC, byRoot)
		}
		claim += claimOf("u", "{name: nic, exactly: {deviceClassName: rdma, count: 1}}", "") // pods take the two in turn
		wide := strings.Replace(sliceOf("any", "other.example.com", "any", 1, 1, "x0 pci0000:70"), "nodeName: any", "allNodes: true", 1)
		answer := func(more string) (*fabric.Allocation, string) {
			o := with(t, &Objects{}, testClasses, mixedFleet(rand.New(rand.NewPCG(seed, 1))), claim+more)
			a := allocate(t, o, Request{Pods: 40})
			return a, fmt.Sprint(a.Status, a.Claims, a.Pods, len(a.Unsatisfied))
		}
		a, alike := answer("")
		b, single := answer(wide)
		if alike != single || len(a.Pods) == 0 || len(b.Problems) > 0 {
			t.Errorf("seed %d: alike\n%s\nsingle\n%s\n%v", seed, alike, single, b.Problems)
		}
	}
}

// 8,000 pods on 1,000 equal nodes are 8 questions, and their slices have one list of devices for each driver.
func TestFewQuestions(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := fabric.ExpandNames("node[1-1000]")
	if err != nil {
		t.Fatal(err)
	}
	made, err := Nominal(cat, "hgx-h100", nodes, Publishers{GPU: "gpu.nvidia.com", NIC: "dra.net"})
	if err != nil {
		t.Fatal(err)
	}
	o, err := made.Objects("v1")
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := made.read("v1"); err != nil || !reflect.DeepEqual(whole.slices, o.slices) || len(o.problems) > 0 {
		t.Errorf("the slices differ from those that are read one by one: %v", err)
	}
	if text, err := SliceJSON(made, "v1"); err != nil {
		t.Error(err)
	} else if read := Read([]File{{Name: "s.json", Text: text}}); &read.slices[0].Spec.Devices[0] != &read.slices[2].Spec.Devices[0] {
		t.Errorf("equal machines of a file do not share their devices")
	}
	if &o.slices[0].Spec.Devices[0] != &o.slices[2].Spec.Devices[0] {
		t.Errorf("equal machines do not share their devices")
	}
	o = with(t, o, testClasses, pairTemplate)
	pods, _, err := o.podsOf(Request{Pods: 8000})
	if err != nil {
		t.Fatal(err)
	}
	minor, err := minorOf("")
	if err != nil {
		t.Fatal(err)
	}
	gates, _ := choose(o, minor)
	r := newRun(t.Context(), o, Request{}, newScheduler(o, gates))
	for i := range pods {
		r.place(&pods[i])
	}
	m := r.scheduler.memory
	if len(m.numbers) != 1 || len(m.known) != 9 || len(r.result.Pods) != 8000 { // one more on a full node
		t.Errorf("%d kinds of node, %d questions, %d pods", len(m.numbers), len(m.known), len(r.result.Pods))
	}
}
