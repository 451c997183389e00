package claims

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// A small world, written without Kubernetes' types: what brute force works on.
type bruteDevice struct {
	node, driver, name string
	root, model        string // root may be missing
	numa               int
}

type bruteRequest struct {
	driver, model string // model: of a selector; empty: any
	count         int
}

type bruteConstraint struct {
	attribute string // root, numa
	requests  []int  // empty: all
}

type bruteClaim struct {
	requests    []bruteRequest
	constraints []bruteConstraint
}

func (d bruteDevice) value(attribute string) string {
	if attribute == "numa" {
		return fmt.Sprint(d.numa)
	}
	return d.root
}

// fits tries every choice of devices for every request.
func (c bruteClaim) fits(free []bruteDevice) bool {
	var wanted []int // request of each device that is needed
	for i, r := range c.requests {
		for range r.count {
			wanted = append(wanted, i)
		}
	}
	chosen := make([]int, len(wanted))
	taken := make([]bool, len(free))
	var try func(at int) bool
	try = func(at int) bool {
		if at == len(wanted) {
			return c.holds(wanted, chosen, free)
		}
		r := c.requests[wanted[at]]
		for i, d := range free {
			if taken[i] || d.driver != r.driver || r.model != "" && d.model != r.model {
				continue
			}
			taken[i], chosen[at] = true, i
			if try(at + 1) {
				return true
			}
			taken[i] = false
		}
		return false
	}
	return try(0)
}

func (c bruteClaim) holds(wanted, chosen []int, free []bruteDevice) bool {
	for _, constraint := range c.constraints {
		first := ""
		for i, request := range wanted {
			if len(constraint.requests) > 0 && !slices.Contains(constraint.requests, request) {
				continue
			}
			v := free[chosen[i]].value(constraint.attribute)
			if v == "" || first != "" && v != first {
				return false
			}
			first = v
		}
	}
	return true
}

// brutePairs tries every assignment of NICs to GPUs. Devices without a root count as hope says.
func brutePairs(gpus, nics []bruteDevice, hope bool) int {
	if len(gpus) == 0 {
		return 0
	}
	best := brutePairs(gpus[1:], nics, hope)
	for i, nic := range nics {
		same := gpus[0].root != "" && gpus[0].root == nic.root || hope && (gpus[0].root == "" || nic.root == "")
		if same {
			best = max(best, 1+brutePairs(gpus[1:], slices.Concat(nics[:i], nics[i+1:]), hope))
		}
	}
	return best
}

func randomWorld(r *rand.Rand) (devices []bruteDevice, claim bruteClaim, pods int) {
	roots := []string{"pci0000:00", "pci0000:10", "pci0000:20"}[:1+r.IntN(3)]
	for n := range 1 + r.IntN(2) {
		for _, driver := range []string{"gpu.nvidia.com", "dra.net"} {
			for i := range 1 + r.IntN(4) {
				d := bruteDevice{node: fmt.Sprintf("node-%d", n), driver: driver, name: fmt.Sprintf("d%d", i), numa: r.IntN(2), model: []string{"a", "b"}[r.IntN(2)]}
				if r.IntN(6) > 0 {
					d.root = roots[r.IntN(len(roots))]
				}
				devices = append(devices, d)
			}
		}
	}
	for range 1 + r.IntN(4) {
		q := bruteRequest{driver: []string{"gpu.nvidia.com", "dra.net"}[r.IntN(2)], count: 1 + r.IntN(2)}
		if r.IntN(3) == 0 {
			q.model = "a"
		}
		claim.requests = append(claim.requests, q)
	}
	for range r.IntN(3) {
		c := bruteConstraint{attribute: []string{"root", "numa"}[r.IntN(2)]}
		for i := range claim.requests {
			if r.IntN(2) == 0 {
				c.requests = append(c.requests, i)
			}
		}
		claim.constraints = append(claim.constraints, c)
	}
	return devices, claim, 1 + r.IntN(4)
}

// text writes the world as Kubernetes' objects, as JSON.
func worldText(devices []bruteDevice, claim bruteClaim) string {
	type object = map[string]any
	var items []object
	slicesOf := map[string][]object{}
	for _, d := range devices {
		rdma := d.driver == "dra.net"
		attributes := object{"model": object{"string": d.model}, "example.com/numa": object{"int": d.numa}}
		if rdma {
			attributes["rdma"] = object{"bool": true}
		} else {
			attributes["type"] = object{"string": "gpu"}
		}
		if d.root != "" {
			attributes["resource.kubernetes.io/pcieRoot"] = object{"string": d.root}
		}
		key := d.node + " " + d.driver
		slicesOf[key] = append(slicesOf[key], object{"name": d.name, "attributes": attributes})
	}
	for key, ds := range slicesOf {
		node, driver, _ := strings.Cut(key, " ")
		items = append(items, object{
			"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": object{"name": node + "-" + driver},
			"spec": object{"driver": driver, "nodeName": node, "pool": object{"name": node, "generation": 1, "resourceSliceCount": 1}, "devices": ds},
		})
	}
	for _, driver := range []string{"gpu.nvidia.com", "dra.net"} {
		items = append(items, object{
			"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": object{"name": driver},
			"spec": object{"selectors": []object{{"cel": object{"expression": "device.driver == '" + driver + "'"}}}},
		})
	}
	var requests, constraints []object
	for i, q := range claim.requests {
		exactly := object{"deviceClassName": q.driver, "count": q.count, "allocationMode": "ExactCount"}
		if q.model != "" {
			exactly["selectors"] = []object{{"cel": object{"expression": fmt.Sprintf("device.attributes['%s'].model == '%s'", q.driver, q.model)}}}
		}
		requests = append(requests, object{"name": fmt.Sprintf("r%d", i), "exactly": exactly})
	}
	for _, c := range claim.constraints {
		names := []string{}
		for _, i := range c.requests {
			names = append(names, fmt.Sprintf("r%d", i))
		}
		attribute := map[string]string{"root": "resource.kubernetes.io/pcieRoot", "numa": "example.com/numa"}[c.attribute]
		constraints = append(constraints, object{"requests": names, "matchAttribute": attribute})
	}
	items = append(items, object{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": object{"name": "t"},
		"spec": object{"spec": object{"devices": object{"requests": requests, "constraints": constraints}}},
	})
	text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// The answer on random slices and claims is that of trying everything: which pods get devices, on which node, and how
// many of their pairs are aligned; and what is refused without a search is impossible.
func TestBruteForce(t *testing.T) {
	const worlds = 500
	fitted, missed, refused := 0, 0, 0
	for seed := range uint64(worlds) {
		r := rand.New(rand.NewPCG(seed, 16))
		devices, claim, pods := randomWorld(r)
		text := worldText(devices, claim)
		o := Read([]File{{Name: "world.json", Text: []byte(text)}})
		if len(o.problems) > 0 {
			t.Fatalf("seed %d: %+v", seed, o.problems)
		}
		a, err := Allocate(context.Background(), o, Request{Pods: pods, Template: "t"})
		if err != nil {
			t.Fatal(err)
		}
		refused += soundConditions(t, seed, o, devices, claim)
		free := slices.Clone(devices)
		got, miss := 0, 0
		for range pods {
			node := firstNode(claim, free)
			if node == "" {
				miss++
				continue
			}
			if got >= len(a.Claims) {
				t.Fatalf("seed %d: pod %d fits on %s and has nothing\n%s", seed, got, node, text)
			}
			free = checkClaim(t, seed, a.Claims[got], a.Pods[got], node, claim, free)
			got++
		}
		if miss != len(a.Unsatisfied) || got != len(a.Claims) {
			t.Errorf("seed %d: have %d claims and %d misses, brute force %d and %d\n%s", seed, len(a.Claims), len(a.Unsatisfied), got, miss, text)
		}
		fitted += got
		missed += miss
	}
	t.Logf("%d worlds: %d pods with devices, %d without; %d worlds refused without a search", worlds, fitted, missed, refused)
	if fitted < worlds/4 || missed < worlds/4 || refused < worlds/10 {
		t.Error("the worlds are too much alike to prove anything")
	}
}

func bruteOn(devices []bruteDevice, node string) (ds []bruteDevice) {
	for _, d := range devices {
		if d.node == node {
			ds = append(ds, d)
		}
	}
	return ds
}

func firstNode(c bruteClaim, free []bruteDevice) string {
	for _, node := range []string{"node-0", "node-1"} {
		if c.fits(bruteOn(free, node)) {
			return node
		}
	}
	return ""
}

// soundConditions: no node that fits is refused. It returns 1 where all nodes are.
func soundConditions(t *testing.T, seed uint64, o *Objects, devices []bruteDevice, claim bruteClaim) int {
	t.Helper()
	g, _ := choose(o, newestMinor)
	r := newRun(context.Background(), o, Request{}, newScheduler(o, g))
	all := 1
	for _, node := range r.nodes {
		pods := o.copies([]string{"t"}, 1, 0)
		claims, _, _ := r.needed(&pods[0])
		if !r.impossible(node, claims) {
			all = 0
		} else if claim.fits(bruteOn(devices, node.Name)) {
			t.Errorf("seed %d: %s is refused without a search, and fits", seed, node.Name)
		}
	}
	return all
}

// checkClaim holds one claim against brute force, and takes its devices away.
func checkClaim(t *testing.T, seed uint64, c fabric.AllocatedClaim, pod fabric.PodAlignment, node string, claim bruteClaim, free []bruteDevice) []bruteDevice {
	t.Helper()
	if c.Node != node {
		t.Errorf("seed %d: on %s, the first that fits is %s", seed, c.Node, node)
	}
	var wanted, chosen []int
	var gpus, nics []bruteDevice
	var left []bruteDevice
	taken := map[int]bool{}
	for _, d := range c.Devices {
		at := slices.IndexFunc(free, func(f bruteDevice) bool { return f.node == c.Node && f.driver == d.Driver && f.name == d.Device })
		if at < 0 || taken[at] {
			t.Fatalf("seed %d: device %s is not free", seed, d.Device)
		}
		taken[at] = true
		request := int(d.Request[1] - '0')
		if q := claim.requests[request]; q.driver != free[at].driver || q.model != "" && q.model != free[at].model {
			t.Errorf("seed %d: device %s does not match its request", seed, d.Device)
		}
		wanted, chosen = append(wanted, request), append(chosen, at)
		if d.Kind == kindGPU {
			gpus = append(gpus, free[at])
		} else {
			nics = append(nics, free[at])
		}
	}
	if !claim.holds(wanted, chosen, free) {
		t.Errorf("seed %d: a constraint does not hold", seed)
	}
	want := fabric.CountRange{Min: brutePairs(gpus, nics, false), Max: brutePairs(gpus, nics, true)}
	if pod.Aligned != want {
		t.Errorf("seed %d: aligned %+v, brute force %+v", seed, pod.Aligned, want)
	}
	for i, d := range free {
		if !taken[i] {
			left = append(left, d)
		}
	}
	return left
}

// The range over what a device plugin could choose is that of trying every choice.
func TestPluginPairs(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		roots := []string{"pci0000:00", "pci0000:10", "pci0000:20", ""}
		make := func(n int) (ds []bruteDevice, rs [][]string) {
			for range n {
				d := bruteDevice{root: roots[r.IntN(4)]}
				ds = append(ds, d)
				if d.root == "" {
					rs = append(rs, nil)
				} else {
					rs = append(rs, []string{d.root})
				}
			}
			return ds, rs
		}
		gpus, gpuRoots := make(1 + r.IntN(6))
		nics, nicRoots := make(r.IntN(5))
		count := 1 + r.IntN(len(gpus))
		want := fabric.CountRange{Min: 99}
		for set := range 1 << len(gpus) {
			var chosen []bruteDevice
			for i := range gpus {
				if set>>i&1 == 1 {
					chosen = append(chosen, gpus[i])
				}
			}
			if len(chosen) == count {
				want.Min = min(want.Min, brutePairs(chosen, nics, false))
				want.Max = max(want.Max, brutePairs(chosen, nics, true))
			}
		}
		if got := pluginPairs(nil, gpuRoots, count, nicRoots); got != want {
			t.Errorf("seed %d: have %+v, brute force %+v", seed, got, want)
		}
	}
}
