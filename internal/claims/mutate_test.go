package claims

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// apart is a GPU and a NIC of one node that share no PCIe root, and a claim for both without a constraint.
const apart = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},
 "spec":{"selectors":[{"cel":{"expression":"device.driver == 'gpu.nvidia.com'"}}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"nic"},
 "spec":{"selectors":[{"cel":{"expression":"device.driver == 'dra.net' && device.attributes['dra.net'].rdma"}}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"g"},
 "spec":{"driver":"gpu.nvidia.com","nodeName":"n","pool":{"name":"n","generation":1,"resourceSliceCount":1},"devices":[
  {"name":"gpu-0","attributes":{"type":{"string":"gpu"},"index":{"int":0},"driverVersion":{"version":"1.0.0"},
   "resource.kubernetes.io/pcieRoot":{"string":"pci0000:10"},"resource.kubernetes.io/pciBusID":{"string":"0000:11:00.0"}},
   "capacity":{"memory":{"value":"40Gi"}}}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"d"},
 "spec":{"driver":"dra.net","nodeName":"n","pool":{"name":"n","generation":1,"resourceSliceCount":1},"devices":[
  {"name":"mlx5-0","attributes":{"dra.net/rdma":{"bool":true},"dra.net/numaNode":{"int":0},
   "resource.kubernetes.io/pcieRoot":{"strings":["pci0000:20","pci0000:30"]},"dra.net/pciAddress":{"string":"0000:21:00.0"}}}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"pair"},
 "spec":{"spec":{"devices":{"requests":[
  {"name":"gpu","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1,"selectors":[{"cel":{"expression":"device.attributes['gpu.nvidia.com'].index == 0"}}]}},
  {"name":"nic","exactly":{"deviceClassName":"nic","tolerations":[{"key":"k","operator":"Exists"}]}}],
  "constraints":[{"requests":["gpu","nic"],"matchAttribute":"resource.kubernetes.io/pcieRoot"}]}}}}
]}`

// replacements stand in for every value in turn.
func replacements() []any {
	return []any{
		nil, "", "x", "pci", "pci0000:", "0", json.Number("0"), json.Number("-1"), json.Number("9223372036854775807"), json.Number("1e999"),
		true, false, []any{}, []any{nil}, []any{"x"}, map[string]any{}, map[string]any{"basic": map[string]any{}}, strings.Repeat("x", 70000),
	}
}

// mutations calls f with the document changed at each place: the value replaced, the key removed, renamed and doubled.
func mutations(root any, f func(what string)) {
	var walk func(v any, path string)
	walk = func(v any, path string) {
		switch node := v.(type) {
		case map[string]any:
			keys := make([]string, 0, len(node))
			for k := range node {
				keys = append(keys, k)
			}
			for _, k := range keys {
				old := node[k]
				delete(node, k)
				f(path + "." + k + " removed")
				node[k+"x"] = old
				f(path + "." + k + " renamed")
				delete(node, k+"x")
				for _, r := range replacements() {
					node[k] = r
					f(path + "." + k + " replaced")
				}
				node[k] = old
				walk(old, path+"."+k)
			}
		case []any:
			for i, old := range node {
				for _, r := range replacements() {
					node[i] = r
					f(path + "[] replaced")
				}
				node[i] = old
				walk(old, path+"[]")
			}
		}
	}
	walk(root, "")
}

// No change of a field makes the command fall over, and none makes an impossible pair aligned.
func TestMutations(t *testing.T) {
	d := json.NewDecoder(strings.NewReader(apart))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	n, answers := 0, map[fabric.Status]int{}
	mutations(root, func(what string) {
		n++
		text, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		o := Read([]File{{Name: "m.json", Text: text}})
		answers[neverAligned(t, o, what)]++
	})
	t.Logf("%d mutations: %v", n, answers)
	if n < 500 || answers[fabric.Fail] == 0 || answers[fabric.Unknown] == 0 {
		t.Error("the mutations prove nothing")
	}
}

func neverAligned(t *testing.T, o *Objects, what string) fabric.Status {
	t.Helper()
	a, err := Allocate(context.Background(), o, Request{Pods: 1, Budget: 200 * time.Millisecond})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return fabric.Unknown
	}
	if a.AlignedPairs.Min > 0 || a.Status == fabric.Pass && a.TotalPairs > 0 {
		t.Errorf("%s: aligned: %+v", what, a.Pods)
	}
	if _, err := json.Marshal(a); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return a.Status
}

// A file cut at any byte is read without falling over; of JSON, every cut is a problem.
func TestCuts(t *testing.T) {
	for i := range len(apart) {
		o := Read([]File{{Name: "cut.json", Text: []byte(apart[:i])}})
		if len(o.problems) == 0 {
			t.Fatalf("cut at byte %d: no problem", i)
		}
		neverAligned(t, o, "cut")
	}
	yaml := testClasses + "---" + sampleSlices + "---" + pairTemplate
	if whole := Read([]File{{Name: "whole.yaml", Text: []byte(yaml)}}); len(whole.problems) > 0 || len(whole.slices) != 2 {
		t.Fatalf("the whole file: %+v", whole.problems)
	}
	for i := range len(yaml) {
		neverAligned(t, Read([]File{{Name: "cut.yaml", Text: []byte(yaml[:i])}}), "cut")
	}
}

// sampleSlices are a GPU and a NIC that share no root, as kubectl prints them: the devices before driver and pool.
const sampleSlices = `
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: g}
spec:
  devices:
  - attributes:
      resource.kubernetes.io/pcieRoot:
        string: pci0000:10
      type:
        string: gpu
    name: gpu-0
  driver: gpu.nvidia.com
  nodeName: node-a
  pool:
    generation: 1
    name: node-a
    resourceSliceCount: 1
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: d}
spec:
  devices:
  - attributes:
      dra.net/rdma:
        bool: true
      resource.kubernetes.io/pcieRoot:
        string: pci0000:20
    name: mlx5-0
  driver: dra.net
  nodeName: node-a
  pool:
    generation: 1
    name: node-a
    resourceSliceCount: 1
`
