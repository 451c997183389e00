package dradriver

import (
	"encoding/json"
	"slices"
	"testing"

	resource "k8s.io/api/resource/v1"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/render"
)

// clusterFile has machines whose interfaces are named as Google Cloud names them, and pods with half of a machine each.
const clusterFile = `apiVersion: railwright.dev/v1alpha1
kind: Cluster
metadata: {name: pods}
platform: baremetal
launcher: kubernetes
nodes:
- {names: "node[1-2]", machine: xe9680-mi300x-thor2, nics: "gpu[0-7]rdma0"}
fabric:
  kind: roce
  mtu: 8896
  leaf: {model: z9664f, os: sonic}
kubernetes: {gpu_driver: gpu.amd.com, pod: {gpus: 4}}
`

// gpuClass comes with the GPUs' driver.
const gpuClass = `apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.amd.com}
spec: {selectors: [{cel: {expression: device.driver == "gpu.amd.com"}}]}
`

// cluster is what railwright makes of that file: its plan, and what the drivers of its first machine would publish.
type cluster struct {
	plan   *fabric.Plan
	slices []byte
}

func planned(t *testing.T) cluster {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	c, err := intent.Parse("cluster.yaml", []byte(clusterFile), cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	publishers := claims.Publishers{GPU: p.Claims.GPUDriver, NIC: p.Claims.NICDriver}
	publishers.Interfaces = p.Claims.FabricNICs
	nominal, err := claims.Nominal(cat, c.Nodes[0].Machine, []string{nodeName}, publishers)
	if err != nil {
		t.Fatal(err)
	}
	text, err := claims.SliceJSON(nominal, p.Claims.API)
	if err != nil {
		t.Fatal(err)
	}
	return cluster{p, text}
}

// nics are the addresses of the first machine.
func (c cluster) nics() []fabric.NICAddress { return c.plan.Addressing.ByNode()[nodeName].NICs }

// allocate gives pods the claims that the plan renders, with the scheduler's allocator.
func (c cluster) allocate(t *testing.T, pods int) *fabric.Allocation {
	t.Helper()
	objects := claims.Read([]claims.File{
		{Name: "slices.json", Text: c.slices},
		{Name: "classes.yaml", Text: render.DeviceClasses(*c.plan.Claims).Content},
		{Name: "gpu-class.yaml", Text: []byte(gpuClass)},
		{Name: "templates.yaml", Text: render.ClaimTemplates(*c.plan.Claims).Content},
	})
	a, err := claims.Allocate(t.Context(), objects, claims.Request{Pods: pods, Template: render.ClaimTemplateNames(*c.plan.Claims)[0]})
	if err != nil || len(a.Problems) > 0 {
		t.Fatalf("%v, problems %+v", err, a)
	}
	return a
}

// allocated writes into a claim what the allocation gave it, as the scheduler does, with what the claim says of its
// interfaces in the pod.
func allocated(a fabric.AllocatedClaim, parameters string) (c resource.ResourceClaim) {
	result := &resource.AllocationResult{}
	for _, d := range a.Devices {
		result.Devices.Results = append(result.Devices.Results, resource.DeviceRequestAllocationResult{Request: d.Request, Driver: d.Driver, Pool: d.Pool, Device: d.Device})
	}
	if parameters != "" {
		one := resource.DeviceAllocationConfiguration{Source: resource.AllocationConfigSourceClaim}
		one.Opaque = &resource.OpaqueDeviceConfiguration{Driver: fabric.DriverDraNet}
		one.Opaque.Parameters.Raw = []byte(parameters)
		result.Devices.Config = append(result.Devices.Config, one)
	}
	c.Status.Allocation = result
	return c
}

// interfacesOf are the interfaces of a claim's NICs, as the slices name them.
func (c cluster) interfacesOf(t *testing.T, a fabric.AllocatedClaim) (names []string) {
	t.Helper()
	var list resource.ResourceSliceList
	if err := json.Unmarshal(c.slices, &list); err != nil {
		t.Fatal(err)
	}
	has := func(driver, device string) bool {
		return slices.ContainsFunc(a.Devices, func(d fabric.AllocatedDevice) bool { return d.Driver == driver && d.Device == device })
	}
	for _, s := range list.Items {
		for _, d := range s.Spec.Devices {
			if s.Spec.Driver == fabric.DriverDraNet && has(s.Spec.Driver, d.Name) {
				names = append(names, *d.Attributes["dra.net/ifName"].StringValue)
			}
		}
	}
	slices.Sort(names)
	return names
}
