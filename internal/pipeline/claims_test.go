package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
)

// device is "gpu name root numa", with - for what is unknown and + between several roots.
func device(text string) fabric.AllocatedDevice {
	words := strings.Fields(text)
	d := fabric.AllocatedDevice{Kind: words[0], Device: words[1]}
	if roots := strings.Split(words[2], "+"); len(roots) > 1 {
		d.PCIeRoots = roots
	} else if words[2] != "-" {
		d.PCIeRoot = words[2]
	}
	if words[3] != "-" {
		numa := int(words[3][0] - '0')
		d.NUMA = &numa
	}
	return d
}

func TestPairsOfPods(t *testing.T) {
	for _, c := range []struct {
		name    string
		devices []string
		want    string // gpu=nic:distance
	}{
		{"aligned", []string{"gpu g0 a 0", "gpu g1 b 0", "nic n0 b 0", "nic n1 a 0"}, "g0=n1:root g1=n0:root"},
		{"greedy would lose one", []string{"gpu g0 a+b 0", "gpu g1 a 0", "nic n0 a 0", "nic n1 b 0"}, "g0=n1:root g1=n0:root"},
		{"root before NUMA node", []string{"gpu g0 a 0", "gpu g1 c 0", "nic n0 d 0", "nic n1 a 1"}, "g0=n1:root g1=n0:numa"},
		{"NUMA node before none", []string{"gpu g0 a 0", "gpu g1 b 1", "nic n0 c 1", "nic n1 d 0"}, "g0=n1:numa g1=n0:numa"},
		{"other NUMA node", []string{"gpu g0 a 0", "nic n0 b 1"}, "g0=n0:other_numa"},
		{"no NUMA node", []string{"gpu g0 a -", "nic n0 b 1"}, "g0=n0:other_root"},
		{"no root", []string{"gpu g0 - 0", "nic n0 b 0"}, "g0=n0:"},
		{"GPU over", []string{"gpu g0 a 0", "gpu g1 a 0", "nic n0 a 0"}, "g0=n0:root g1=-:no_partner"},
		{"NIC over", []string{"gpu g0 a 0", "nic n0 b 0", "nic n1 a 0"}, "g0=n1:root -=n0:no_partner"},
		{"neither", []string{"partition p a 0"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim := fabric.AllocatedClaim{Pod: "p", Node: "n"}
			for _, text := range c.devices {
				claim.Devices = append(claim.Devices, device(text))
			}
			a := &fabric.Allocation{Claims: []fabric.AllocatedClaim{claim}, Pods: []fabric.PodAlignment{{Pod: "p", Node: "n"}}}
			completePods(a)
			var got []string
			for _, pair := range a.Pods[0].Pairs {
				gpu, nic := "-", "-"
				if pair.GPU != nil {
					gpu = pair.GPU.Device
				}
				if pair.NIC != nil {
					nic = pair.NIC.Device
				}
				got = append(got, gpu+"="+nic+":"+string(pair.Distance))
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("have %s, want %s", text, c.want)
			}
		})
	}
}

func TestPodStatus(t *testing.T) {
	for _, c := range []struct {
		low, high, gpus, nics int
		want                  fabric.Status
	}{
		{4, 4, 4, 4, fabric.Pass}, {4, 4, 8, 4, fabric.Pass}, {0, 4, 4, 4, fabric.Unknown}, {3, 3, 4, 4, fabric.Fail}, {0, 3, 4, 4, fabric.Fail},
		{0, 0, 4, 0, fabric.NotApplicable}, {0, 0, 0, 4, fabric.Unknown}, {0, 0, 0, 0, fabric.Unknown},
	} {
		if got := podStatus(fabric.CountRange{Min: c.low, Max: c.high}, c.gpus, c.nics); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func nominalTest(t *testing.T, machine, text string, change func(*ClaimTest)) *fabric.Allocation {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	made, known, err := SlicesOfCatalog(cat, []string{machine}, map[string][]string{machine: {"n1", "n2"}}, Publishers{OfVendor: true, NIC: fabric.DriverDraNet})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := ReadSlices(made)
	if err != nil {
		t.Fatal(err)
	}
	objects.Merge(claims.Read([]claims.File{{Name: "claims.yaml", Text: []byte(text)}}))
	in := ClaimTest{
		Objects: objects, Request: claims.Request{Pods: 2, NodeGPUs: known.GPUs, NICGbps: known.NICGbps}, Collective: fabric.AllGather, Orders: 12, Nominal: true,
		Cluster: func() (*collective.Cluster, error) {
			return collective.New(cat, fabric.Hardware{Machine: machine, Nodes: 2})
		},
	}
	AssumeClasses(objects)
	if change != nil {
		change(&in)
	}
	a, err := TryClaims(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const (
	rdmaClass = `
kind: DeviceClass
apiVersion: resource.k8s.io/v1
metadata: {name: rdma}
spec: {selectors: [{cel: {expression: 'device.driver == "dra.net" && has(device.attributes["dra.net"].rdma) && device.attributes["dra.net"].rdma'}}]}
---
kind: ResourceClaimTemplate
apiVersion: resource.k8s.io/v1
metadata: {name: t}
`
	onePair = rdmaClass + `spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}, {name: nic, exactly: {deviceClassName: rdma}}],
  constraints: [{requests: [gpu, nic], matchAttribute: resource.kubernetes.io/pcieRoot}]}}}
`
	freePair = rdmaClass + `spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}, {name: nic, exactly: {deviceClassName: rdma}}]}}}
`
	fourNICs = rdmaClass + `spec: {spec: {devices: {requests: [{name: nic, exactly: {deviceClassName: rdma, count: 4}}]}}}
`
	allNICs = rdmaClass + `spec: {spec: {devices: {requests: [{name: nic, exactly: {deviceClassName: rdma, allocationMode: All}}]}}}
`
)

func TestTryClaims(t *testing.T) {
	kept := nominalTest(t, "hgx-h100", onePair, nil)
	if kept.Status != fabric.Pass || kept.AlignedPairs.Min != 2 || kept.Orders == nil || kept.Orders.ByChance() || kept.Orders.Tried != 13 {
		t.Errorf("with the constraint: %s, %+v, %+v", kept.Status, kept.AlignedPairs, kept.Orders)
	}
	if x := kept.Collective; x == nil || x.BusBW.Min != x.Aligned || x.Aligned < 40 || x.Aligned > 50 || x.Pods != 2 {
		t.Errorf("one NIC of 50 GB/s per pod: %+v, %v", kept.Collective, kept.Notes)
	}
	if kept.Pods[0].NICGBs.Min != 50 || !kept.Nominal {
		t.Errorf("%+v", kept.Pods[0])
	}
	// The same devices without the constraint: aligned in this order, which proves nothing.
	free := nominalTest(t, "hgx-h100", freePair, nil)
	if free.Status != fabric.Unknown || free.AlignedPairs.Min != 2 || !free.Orders.ByChance() || free.Orders.Example == "" {
		t.Errorf("without: %s, %+v, %+v", free.Status, free.AlignedPairs, free.Orders)
	}
	// What could not be listed is unknown.
	lost := nominalTest(t, "hgx-h100", onePair, func(in *ClaimTest) {
		in.Unread = []fabric.ObjectProblem{{Object: "ResourceClaim", Reason: "forbidden"}}
	})
	if lost.Status != fabric.Unknown || len(lost.Problems) != 1 {
		t.Errorf("claims in use unread: %s, %v", lost.Status, lost.Problems)
	}
	// No prediction is a note, never a failure.
	none := nominalTest(t, "hgx-h100", onePair, func(in *ClaimTest) {
		in.Cluster = func() (*collective.Cluster, error) { return nil, errors.New("machines differ") }
	})
	if none.Status != fabric.Pass || none.Collective != nil || !slices.Contains(none.Notes, "no bandwidth is predicted: machines differ") {
		t.Errorf("%s, %v", none.Status, none.Notes)
	}
}

// Of claims that have their devices already no order of devices is tried: none would change what they have. A pod of which
// nothing is known is no pass.
func TestTryClaimsAllocated(t *testing.T) {
	had := `---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}, {name: nic, exactly: {deviceClassName: rdma}}]}}
status: {allocation: {devices: {results: [{request: gpu, driver: gpu.nvidia.com, pool: %[1]s, device: gpu-0}, {request: nic, driver: dra.net, pool: %[1]s, device: %[2]s}]}}}
`
	given := nominalTest(t, "hgx-h100", onePair, func(in *ClaimTest) { in.Request.Pods = 1 })
	nic := ""
	for _, d := range given.Claims[0].Devices {
		if d.Kind == kindNIC {
			nic = d.Device
		}
	}
	text := fmt.Sprintf(had, "n1", nic)
	a := nominalTest(t, "hgx-h100", text, func(in *ClaimTest) { in.Request.Pods = 0 })
	if a.Status != fabric.Pass || a.Orders != nil || len(a.Pods) != 1 || !a.Claims[0].Existing {
		t.Errorf("allocated already: %s, %+v, %+v, %v", a.Status, a.Orders, a.Claims, a.Notes)
	}
	// Beside one that has its devices, the orders are of the pod that gets some now.
	both := freePair + text + `---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c}], resourceClaims: [{name: x, resourceClaimName: c}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {nodeName: n2, containers: [{name: c}], resourceClaims: [{name: x, resourceClaimTemplateName: t}]}
`
	a = nominalTest(t, "hgx-h100", both, func(in *ClaimTest) { in.Request.Pods = 0 })
	if a.Status != fabric.Unknown || a.AlignedPairs.Min != 2 || !a.Orders.ByChance() {
		t.Errorf("one of two pods: %s, %+v, %+v, %v", a.Status, a.Orders, a.Claims, a.Notes)
	}
	nothing := fabric.PodAlignment{PodPairs: fabric.PodPairs{Status: fabric.Unknown}}
	if s := allocationStatus(&fabric.Allocation{Status: fabric.Pass, Pods: []fabric.PodAlignment{nothing}}); s != fabric.Unknown {
		t.Errorf("a pod of which nothing is known: %s", s)
	}
}

// Where a device plugin chooses the GPUs, the number of aligned pairs is a range, unless a pod has the whole machine; a claim
// for any four of eight NICs gives mixtures of both NUMA nodes.
func TestTryClaimsOfDevicePlugin(t *testing.T) {
	half := nominalTest(t, "a4-highgpu-8g", fourNICs, func(in *ClaimTest) { in.Request.PluginGPUs = 4 })
	if half.Status != fabric.Unknown || half.AlignedPairs != (fabric.CountRange{Max: 8}) || half.TotalPairs != 8 {
		t.Errorf("half a machine: %s, %+v of %d", half.Status, half.AlignedPairs, half.TotalPairs)
	}
	if half.Orders.Mixed == 0 || !strings.Contains(half.Orders.Example, "NUMA node 1") {
		t.Errorf("no mixture: %+v", half.Orders)
	}
	if x := half.Collective; x == nil || x.BusBW.Min >= x.BusBW.Max || x.BusBW.Max != x.Aligned {
		t.Errorf("%+v", half.Collective)
	}
	whole := nominalTest(t, "a4-highgpu-8g", allNICs, func(in *ClaimTest) { in.Request.PluginGPUs = 8 })
	if whole.Status != fabric.Pass || whole.AlignedPairs != (fabric.CountRange{Min: 16, Max: 16}) || whole.Orders.ByChance() {
		t.Errorf("whole machines: %s, %+v, %+v", whole.Status, whole.AlignedPairs, whole.Orders)
	}
}

// A pod alone, and pods that have nothing to send through.
func TestPodCollective(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	c, err := collective.New(cat, fabric.Hardware{Machine: "a4-highgpu-8g", Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	pod := func(aligned int) fabric.PodAlignment {
		return fabric.PodAlignment{Pod: "p", Node: "n", GPUs: 8, NICs: 8, Aligned: fabric.CountRange{Min: aligned, Max: aligned}, PodPairs: fabric.PodPairs{Total: 8}}
	}
	before := 0.0
	for aligned := range 9 {
		x, err := podCollective(c, fabric.AllGather, []fabric.PodAlignment{pod(8), pod(aligned)})
		if err != nil {
			t.Fatal(err)
		}
		if x.BusBW.Min < before || x.BusBW.Min > x.Aligned {
			t.Errorf("%d aligned: %+v after %g", aligned, x, before)
		}
		before = x.BusBW.Min
	}
	if x, err := podCollective(c, fabric.AllGather, []fabric.PodAlignment{pod(8)}); err != nil || x.Pods != 2 || x.BusBW.Min != before {
		t.Errorf("a pod alone: %+v, %v", x, err)
	}
	idle := pod(0)
	idle.GPUs = 0
	if _, err := podCollective(c, fabric.AllGather, []fabric.PodAlignment{idle}); err == nil {
		t.Error("a pod without GPUs has a collective")
	}
	if _, err := podCollective(c, fabric.AllGather, nil); err == nil {
		t.Error("no pod has a collective")
	}
}
