package plan

import (
	"bytes"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// examplePlan plans an example at a size.
func examplePlan(t *testing.T, name string, nodes int) *fabric.Plan {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := intent.Example(name, nodes, cat)
	if err != nil {
		t.Fatal(err)
	}
	c, err := intent.Parse("c", bytes.Clone(text), cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The virtual machines of both documents: 8 GPUs and 8 NICs with 1056 GiB of MMIO space in the document's order, and one virtual
// function.
func TestVSphere(t *testing.T) {
	p := examplePlan(t, "vcf-h100", 16)
	v := p.VSphere
	if v == nil || len(v.Hosts) != 16 || v.Hosts[15].Nodes[0] != p.Nodes[15].Name {
		t.Fatalf("%+v", v)
	}
	c := v.Classes[0]
	if c.MMIOGB != 1056 || len(c.Devices) != 16 || c.Devices[0] != (fabric.VMClassDevice{Label: "GPU0", Vendor: 0x10de, Device: 0x2330}) || c.Devices[15] != (fabric.VMClassDevice{Label: "NIC7", Vendor: 0x15b3, Device: 0x1021}) {
		t.Errorf("%+v", c)
	}
	if v.Kube.Workers != 16 || v.Kube.Pods.String() != "192.168.144.0/20" {
		t.Errorf("%+v", v.Kube)
	}
	p = examplePlan(t, "vsphere8-sriov", 2)
	if g := p.VSphere.Goal; g.MaxVFs != 1 || g.GPUs != 0 || g.NICSettings[3] != (fabric.Option{Name: "NUM_OF_VFS", Value: "2", Why: "one more than the driver makes, for the physical function"}) {
		t.Errorf("%+v", g)
	}
}

// "Deploy Distributed LLM Inference with GPUDirect RDMA over InfiniBand in VMware Private AI", 10.1.
func TestMMIO(t *testing.T) {
	for gpus, want := range map[int]int{8: 1056, 4: 544, 2: 288} {
		if have := fabric.MMIOGB(gpus); have != want {
			t.Errorf("%d GPUs: %d GiB, want %d", gpus, have, want)
		}
	}
}
