package plan

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// examplePlan plans an example at a size.
func examplePlan(t *testing.T, name string, nodes int) *fabric.Plan {
	t.Helper()
	p, err := changedPlan(t, name, nodes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// changedPlan plans an example in which texts are replaced: old, new, old, new.
func changedPlan(t *testing.T, name string, nodes int, change ...string) (*fabric.Plan, error) {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := intent.Example(name, nodes, cat)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(change); i += 2 {
		if !bytes.Contains(text, []byte(change[i])) {
			t.Fatalf("the example has no %q", change[i])
		}
		text = bytes.Replace(text, []byte(change[i]), []byte(change[i+1]), 1)
	}
	c, err := intent.Parse("c", bytes.Clone(text), cat)
	if err != nil {
		return nil, err
	}
	return New(c, cat)
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
	if c.MMIOGB != 1056 || len(c.Devices) != 20 || c.Devices[0] != (fabric.VMClassDevice{Label: "GPU0", Vendor: 0x10de, Device: 0x2330}) || c.Devices[15] != (fabric.VMClassDevice{Label: "NIC7", Vendor: 0x15b3, Device: 0x1021}) {
		t.Errorf("%+v", c)
	}
	if c.Devices[19] != (fabric.VMClassDevice{Label: "NVS3", Vendor: 0x10de, Device: 0x22a3}) {
		t.Errorf("%+v", c.Devices[19])
	}
	if v.Kube.Pools[0] != (fabric.VMPool{Name: "gpu", Class: c.Name, Workers: 16}) || v.Kube.Pods.String() != "172.16.0.0/12" {
		t.Errorf("%+v", v.Kube)
	}
	p = examplePlan(t, "vsphere8-sriov", 2)
	if g := p.VSphere.Goal; g.NIC != "15b3:1021" {
		t.Errorf("the physical function is %s", g.NIC)
	}
	if c := p.VSphere.Classes[0]; len(c.Devices) != 1 || c.Devices[0].Device != 0x101e || c.Functions != 1 {
		t.Errorf("%+v", c)
	}
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

const serviceVM = "  service_vm: {addresses: 10.0.0.21/24, gateway: 10.0.0.1, driver: 570.148.08}\n  vks:"

// With a service virtual machine no class has NVSwitches, and there are classes for each partition of Fabric Manager.
func TestPartitions(t *testing.T) {
	p, err := changedPlan(t, "vcf-h100", 4, "hosts: \"esx[1-4]\"", "hosts: esx[1-2]", "ibs[65,67,69,71,73,75,77,79]", "ibs[65,67,69,71]", "  vks:", serviceVM)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range p.VSphere.Classes {
		names = append(names, c.Name)
		for _, d := range c.Devices {
			if strings.HasPrefix(d.Label, "NVS") {
				t.Errorf("%s has %s", c.Name, d.Label)
			}
		}
	}
	if want := "vcf1-4gpu-4nic-p1 vcf1-4gpu-4nic-p2 vcf1-8gpu-8nic vcf1-2gpu-2nic-p1"; !strings.HasPrefix(strings.ReplaceAll(strings.Join(names, " "), p.Name, "vcf1"), want) || len(names) != 7 {
		t.Errorf("%v", names)
	}
	second := p.VSphere.Classes[1]
	if second.MMIOGB != 544 || second.Devices[0].Label != "GPU4" || second.Devices[7].Label != "NIC7" || !slices.Equal(second.Nodes, []string{p.Nodes[1].Name, p.Nodes[3].Name}) {
		t.Errorf("%+v", second)
	}
	if pair := p.VSphere.Classes[3]; pair.MMIOGB != 288 || pair.Devices[0].Label != "GPU0" || pair.Devices[2].Label != "GPU2" || pair.MemoryMB != 512*1024 {
		t.Errorf("%+v", pair)
	}
	if k := p.VSphere.Kube.Pools; len(k) != 2 || k[1].Workers != 2 {
		t.Errorf("%+v", k)
	}
	if s := p.VSphere.Service; s.Partitions != 2 || s.GPUs != 4 || s.Guests[1].Address.String() != "10.0.0.22/24" {
		t.Errorf("%+v", s)
	}
}

// What a host or Fabric Manager cannot give is refused with its field.
func TestVSphereRefused(t *testing.T) {
	for want, change := range map[string][]string{
		"no GPUs beside them":                       {"mode: passthrough", "mode: sriov"},
		"their NVSwitches are shared":               {"cpus: 96", "gpus: 4, cpus: 96", "ibs[65,67,69,71,73,75,77,79]", "ibs[65,67,69,71]"},
		"no partition of 3 GPUs":                    {"cpus: 96", "gpus: 3, cpus: 96", "ibs[65,67,69,71,73,75,77,79]", "ibs[65,67,69]", "  vks:", serviceVM},
		"192.168.144.0/20, network of pods":         {"  vks:", "  networks: [{name: private, range: 192.168.0.0/16}]\n  vks:"},
		"the network is 10.1.0.0/20":                {"  vks:", "  networks: [{name: external, range: 10.1.4.0/20}]\n  vks:"},
		"one of them is the gateway":                {"  vks:", "  service_vm: {addresses: 10.0.0.253/24, gateway: 10.0.0.254}\n  vks:"},
		"has no addresses from 10.0.0.254 on":       {"  vks:", "  service_vm: {addresses: 10.0.0.254/24, gateway: 10.0.0.1}\n  vks:"},
		"is not an address of 10.0.0.0/24":          {"  vks:", "  service_vm: {addresses: 10.0.0.21/24, gateway: 10.0.1.1}\n  vks:"},
		"10.0.0.0/24, network of the service v":     {"  vks:", "  networks: [{name: external, range: 10.0.0.0/8}]\n" + serviceVM},
		"10.96.0.0/12, network of services":         {"  kind: infiniband", "  addressing: {scheme: flat}\n  kind: infiniband"},
		"2 interfaces: both have to say the same":   {"cpus: 96", "nics: 4, cpus: 96", "ibs[65,67,69,71,73,75,77,79]", "ibs[65,67]"},
		"4 GPUs would have no NIC below":            {"ibs[65,67,69,71,73,75,77,79]", "ibs[65,67,69,71]"},
		"no virtual machine of the plan has GPU8":   {"  vks:", "  labels: [{label: GPU8, address: \"3b:00.0\"}]\n  vks:"},
		"label GPU0 is listed twice":                {"  vks:", "  labels: [{label: GPU0, address: \"3b:00.0\"}, {label: GPU0, address: \"3c:00.0\"}]\n  vks:"},
		"device 0000:3b:00.0 is listed twice":       {"  vks:", "  labels: [{label: GPU0, address: \"3b:00.0\"}, {label: GPU1, address: \"0000:3b:00.0\"}]\n  vks:"},
		"has the name of a switch":                  {"esx[1-2]", "leaf[1-2]"},
		"has the name of a node":                    {"esx[1-2]", "WORKER[1-2]"},
		"cannot be spread equally over 3 ESX hosts": {"esx[1-2]", "esx[1-3]"},
		"in datagram mode has at most 4092":         {"mtu: 4092", "mtu: 9000"},
		"use a /22 or larger":                       {"storage_class: vsan-default-storage-policy", "storage_class: s\n    pods: 192.168.0.0/24"},
		"NIC name \"a/b\" has the character":        {"  vks:", "  service_vm: {addresses: 10.0.0.21/24, gateway: 10.0.0.1, interface: a/b}\n  vks:"},
	} {
		_, err := changedPlan(t, "vcf-h100", 2, change...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := changedPlan(t, "vcf-h100", 2, "  vks:", "  networks: [{name: management, range: 10.0.0.0/24}]\n"+serviceVM); err != nil {
		t.Errorf("service virtual machines in the management network: %v", err)
	}
}

// A virtual machine has its NIC from a card that others have too: it has one cable, whose end is that of the card.
func TestSharedCables(t *testing.T) {
	p, err := changedPlan(t, "vsphere8-sriov", 6, "esx[1-6]", "esx[1-2]")
	if err != nil {
		t.Fatal(err)
	}
	l := p.Cabling.Links
	if p.Cables() != 2 || len(l) != 6 || l[2].B != l[0].B || l[3].B == l[0].B || l[5].B != l[3].B || len(p.Switches[0].Ports) != 2 {
		t.Errorf("%d cables: %+v, %d ports", p.Cables(), l, len(p.Switches[0].Ports))
	}
	if b := p.Cabling.Bill; len(b) != 1 || b[0].From != "connectx7" || b[0].FromEnds != 2 {
		t.Errorf("%+v", b)
	}
	for want, change := range map[string][]string{
		"a virtual function of a connectx7": {"mode: sriov", "mode: passthrough"},
		"150 virtual functions per NIC":     {"vm[1-2]", "vm[1-300]"},
		"each needs one":                    {"vm[1-2]", "vm[1-4]", "# vfs: 1", "vfs: 1"},
		"nodes lists 1 interface":           {"cpus: 16", "nics: 2, cpus: 16"},
		"of another machine or another num": {"  ssh: {user: root}", "  ssh: {user: root}\n- {names: \"x[1-2]\", nics: ib0, machine: hgx-h100}"},
	} {
		if _, err := changedPlan(t, "vsphere8-sriov", 2, change...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// IPoIB interfaces get addresses where the file asks for them.
func TestIPoIB(t *testing.T) {
	p := examplePlan(t, "vsphere8-sriov", 2)
	if a := p.Addressing.Nodes[1].NICs[0]; a.Address.String() != "10.64.0.2/16" || a.NIC != "ib0" {
		t.Errorf("%+v", a)
	}
}

// The smallest workload domain is four hosts, and H200 take more space than the document says.
func TestVSphereNotes(t *testing.T) {
	notes := strings.Join(examplePlan(t, "vcf-h100", 2).Notes, "\n")
	if !strings.Contains(notes, "2 hosts with GPUs and 2 standard servers") || !strings.Contains(notes, "management, external, transit, private, supervisor-services") {
		t.Error(notes)
	}
	p, err := changedPlan(t, "vcf-h100", 4, "machine: hgx-h100", "machine: hgx-h200")
	if err != nil {
		t.Fatal(err)
	}
	if c := p.VSphere.Classes[0]; c.MMIOGB != 2080 {
		t.Errorf("%d GiB: %s", c.MMIOGB, c.MMIO)
	}
}
