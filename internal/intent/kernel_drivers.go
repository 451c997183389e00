package intent

import (
	"fmt"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// KernelDrivers is who installs the kernel drivers of machines that run pods.
type KernelDrivers struct {
	GPU string `json:"gpu,omitempty" yaml:"gpu,omitempty" jsonschema:"enum=operator,enum=host" jsonschema_description:"operator: the GPU operator, in a container; host: the machines have it; default operator with GPUs of NVIDIA, host with those of AMD"`
	NIC string `json:"nic,omitempty" yaml:"nic,omitempty" jsonschema:"enum=operator,enum=host" jsonschema_description:"operator: DOCA-OFED by NVIDIA's Network Operator, in a container; host: the machines have it; default operator with NICs of NVIDIA on vsphere and on InfiniBand, else host"`
}

// The values of KernelDrivers.
const (
	DriverByOperator = "operator"
	DriverOfHost     = "host"
)

// mellanoxDriver is the kernel module of the NICs that NVIDIA's Network Operator knows: it starts its containers on machines with PCI
// devices of vendor 15b3 only.
const mellanoxDriver = "mlx5_core"

// ByNetworkOperator reports whether NVIDIA's Network Operator knows the NICs of a machine.
func ByNetworkOperator(cat *catalog.Catalog, machine string) bool {
	return cat.NICs[cat.Machines[machine].NIC].Driver == mellanoxDriver
}

// driverDefaults fills in who installs drivers. A container with DOCA-OFED reloads the modules of the NICs when it starts, and the
// classes of traffic that a bare-metal host has set on them are gone: on RoCE they stay those of the host.
func (c *Cluster) driverDefaults(cat *catalog.Catalog) {
	k := c.Kubernetes
	if c.Launcher != Kubernetes || c.Platform != Baremetal && c.Platform != VSphere {
		return
	}
	gpu, nic := DriverByOperator, DriverOfHost
	for _, g := range c.Nodes {
		if driverOf(cat, g.Machine) == fabric.DriverAMD {
			gpu = DriverOfHost
		}
		if ByNetworkOperator(cat, g.Machine) && (c.Platform == VSphere || c.Fabric.Kind == fabric.InfiniBand) {
			nic = DriverByOperator
		}
	}
	if k.Drivers == nil {
		k.Drivers = &KernelDrivers{}
	}
	if k.Drivers.GPU == "" {
		k.Drivers.GPU = gpu
	}
	if k.Drivers.NIC == "" {
		k.Drivers.NIC = nic
	}
}

// kernelDrivers refuses drivers that no operator installs.
func (v *validator) kernelDrivers(k *Kube, at []string) {
	if k.Drivers == nil {
		return
	}
	at = step(at, "drivers")
	if v.cluster.Platform == GKE && v.sound([]string{"platform"}) {
		v.add(at, "the node pools of gke come with their drivers: remove the section")
		return
	}
	known := false
	for i, g := range v.cluster.Nodes {
		if _, ok := v.catalog.Machines[g.Machine]; !ok {
			return
		}
		known = known || ByNetworkOperator(v.catalog, g.Machine)
		if k.Drivers.GPU == DriverByOperator && driverOf(v.catalog, g.Machine) == fabric.DriverAMD && v.sound(step(at, "gpu")) {
			v.add(step(at, "gpu"), fmt.Sprintf("AMD's operator builds the driver of nodes[%d] into an image of a registry of yours, which no field names: install the driver on the machines, and use %s", i, DriverOfHost))
			break
		}
	}
	if k.Drivers.NIC == DriverByOperator && !known && v.sound(step(at, "nic")) {
		v.add(step(at, "nic"), fmt.Sprintf("NVIDIA's Network Operator installs %s only, and no machine has NICs of it: use %s", mellanoxDriver, DriverOfHost))
	}
}
