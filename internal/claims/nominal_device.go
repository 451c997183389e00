package claims

import (
	"fmt"
	"strings"

	api "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/deviceattribute"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

type attributes = map[api.QualifiedName]api.DeviceAttribute

func ofText(s string) api.DeviceAttribute    { return api.DeviceAttribute{StringValue: &s} }
func ofVersion(s string) api.DeviceAttribute { return api.DeviceAttribute{VersionValue: &s} }
func ofNumber(n int) api.DeviceAttribute {
	wide := int64(n)
	return api.DeviceAttribute{IntValue: &wide}
}
func ofBool(b bool) api.DeviceAttribute { return api.DeviceAttribute{BoolValue: &b} }

// place are the standard attributes of a PCI function. A root that the system does not show is not published.
func (n nominal) place(bus string) attributes {
	a := attributes{deviceattribute.StandardDeviceAttributePCIBusID: ofText(bus)}
	if root := n.roots[bus]; root != "" {
		a[deviceattribute.StandardDeviceAttributePCIeRoot] = ofText(root)
	}
	return a
}

func (n nominal) gpu(g topology.GPU) api.Device {
	d := api.Device{Name: fmt.Sprintf("gpu-%d", g.Index), Attributes: n.place(g.Bus)}
	if n.GPU == fabric.DriverAMD {
		n.amd(g, &d)
	} else {
		nvidia(g, &d)
	}
	if n.GPUMemory > 0 {
		d.Capacity = map[api.QualifiedName]api.DeviceCapacity{"memory": {Value: *resource.NewQuantity(n.GPUMemory, resource.BinarySI)}}
	}
	return d
}

// nvidia has what the driver of NVIDIA publishes of a GPU that is not divided (kubernetes-sigs/dra-driver-nvidia-gpu,
// cmd/gpu-kubelet-plugin/deviceinfo.go). Versions of drivers are left out: they are not a matter of the machine. Releases
// up to 25.12 publish no NUMA node.
func nvidia(g topology.GPU, d *api.Device) {
	d.Attributes["type"] = ofText("gpu")
	d.Attributes["brand"] = ofText("Nvidia")
	if g.Name != "" {
		name, _, _ := strings.Cut(g.Name, " (") // of the catalog: NVIDIA B200 (SXM); NVIDIA GB300, one GPU
		name, _, _ = strings.Cut(name, ",")
		d.Attributes["productName"] = ofText(name)
	}
	if g.UUID != "" {
		d.Attributes["uuid"] = ofText(g.UUID)
	}
	if g.SM > 0 {
		d.Attributes["cudaComputeCapability"] = ofVersion(fmt.Sprintf("%d.%d.0", g.SM/10, g.SM%10))
		if name := architecture(g.SM); name != "" {
			d.Attributes["architecture"] = ofText(name)
		}
	}
}

// architecture is the name that the driver publishes, by compute capability (NVIDIA CUDA C++ Programming Guide, Compute
// Capabilities): slices of A100, H100 and GB200 have Ampere, Hopper and Blackwell.
func architecture(sm int) string {
	switch {
	case sm >= 100:
		return "Blackwell"
	case sm >= 90:
		return "Hopper"
	case sm == 89:
		return "Ada Lovelace"
	case sm >= 80:
		return "Ampere"
	}
	return ""
}

// amd has what AMD's driver publishes of a GPU that is not divided (ROCm/k8s-gpu-dra-driver,
// cmd/gpu-kubeletplugin/deviceinfo.go). Its names have the numbers of the DRM card and its render node, which begin at 0 and
// 128 (Linux, drivers/gpu/drm/drm_drv.c).
func (n nominal) amd(g topology.GPU, d *api.Device) {
	const firstRender = 128
	d.Name = fmt.Sprintf("gpu-%d-%d", g.Index, firstRender+g.Index)
	d.Attributes["type"] = ofText("amdgpu")
	if g.Name != "" {
		d.Attributes["productName"] = ofText(strings.ReplaceAll(g.Name, " ", "_"))
	}
	if g.NUMA >= 0 {
		d.Attributes["numaNode"] = ofNumber(g.NUMA)
	}
}

// nic has what DraNet publishes of a PCI function with an RDMA device (kubernetes-sigs/dranet, pkg/inventory/db.go): the
// name of the RDMA device only where there is no interface.
func (n nominal) nic(nic topology.NIC, i int) api.Device {
	d := api.Device{Name: "pci-" + strings.NewReplacer(":", "-", ".", "-").Replace(nic.Bus), Attributes: attributes{}}
	put := func(name string, value api.DeviceAttribute) { d.Attributes[api.QualifiedName(n.NIC+"/"+name)] = value }
	put("pciAddress", ofText(nic.Bus))
	put("rdma", ofBool(!nic.Unbound && nic.Name != "" && n.hasRDMA(nic, i)))
	if root := n.roots[nic.Bus]; root != "" {
		d.Attributes[deviceattribute.StandardDeviceAttributePCIeRoot] = ofText(root)
	}
	if nic.NUMA >= 0 {
		put("numaNode", ofNumber(nic.NUMA))
	}
	if vendor := vendorOf(n.Machine, nic.Bus); vendor != "" {
		put("pciVendor", ofText(vendor))
	}
	name := ""
	if i < len(n.Interfaces) {
		name = n.Interfaces[i]
	}
	if name == "" {
		if nic.Name != "" && !nic.Unbound {
			put("rdmaDevice", ofText(nic.Name))
		}
		return d
	}
	put("ifName", ofText(name))
	put("type", ofText("device"))
	put("virtual", ofBool(false))
	state := "up"
	for _, link := range n.links {
		if link.Name == name {
			state = link.OperState
			put("mtu", ofNumber(link.MTU))
			if link.MAC != "" {
				put("mac", ofText(link.MAC))
			}
		}
	}
	put("state", ofText(state))
	return d
}

// hasRDMA is false of a NIC of a machine that was read and that is known by its interface only.
func (n nominal) hasRDMA(nic topology.NIC, i int) bool {
	return !n.noRDMA && (n.links == nil || i >= len(n.Interfaces) || nic.Name != n.Interfaces[i])
}

// vendorOf is the name of a NIC's vendor as the PCI ID database (pci.ids) has it, from which DraNet takes it.
func vendorOf(m *topology.Machine, bus string) string {
	d, ok := m.Device(bus)
	if !ok {
		return ""
	}
	return map[uint16]string{
		0x15b3: "Mellanox Technologies", 0x14e4: "Broadcom Inc. and subsidiaries", 0x1dd8: "AMD Pensando Systems", 0x1d0f: "Amazon.com, Inc.",
	}[d.Vendor]
}
