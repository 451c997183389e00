package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railwright.dev/railwright/internal/fabric"
)

// pcieRoot is the standard attribute of the PCIe root complex that a device is below (k8s.io/dynamic-resource-allocation,
// deviceattribute).
const pcieRoot = resource.FullyQualifiedName("resource.kubernetes.io/pcieRoot")

// ClaimTemplates renders the templates from which each pod gets its claim: one, or one for each block of a machine.
func ClaimTemplates(c fabric.Claims) fabric.Artifact {
	var objects []draObject
	names := ClaimTemplateNames(c)
	for i, d := range draClaims(c) {
		objects = append(objects, draObject{d.comment(i, len(names)), &resource.ResourceClaimTemplate{
			ObjectMeta: meta.ObjectMeta{Name: names[i], Namespace: c.Namespace, Labels: draLabels()},
			Spec:       resource.ResourceClaimTemplateSpec{Spec: resource.ResourceClaimSpec{Devices: d.devices()}},
		}})
	}
	return newArtifact(fabric.OnKubernetes, templatesPath, modePublic, draText(c.API, objects))
}

// ClaimTemplateNames are the names of the templates of a plan: one, or one for each block of a machine, in their order.
// Equally many pods have each. A name ends with a digest of what the template asks for, in v1 whatever the version: the API
// server lets nobody change a template, and pods must be made anew where it changes, which their new name of it does.
func ClaimTemplateNames(c fabric.Claims) []string {
	name := fmt.Sprintf("worker-%dnic", c.NICs)
	if c.GPUDriver != "" {
		name = fmt.Sprintf("worker-%dgpu-%dnic", c.GPUs, c.NICs)
	}
	var names []string
	for i, d := range draClaims(c) {
		suffix := ""
		switch {
		case len(c.Blocks) < 2:
		case d.block.NUMA != nil:
			suffix = fmt.Sprintf("-numa%d", *d.block.NUMA)
		default:
			suffix = fmt.Sprintf("-block%d", i)
		}
		names = append(names, name+suffix+"-"+d.digest())
	}
	return names
}

// draClaims are the templates of a plan.
func draClaims(c fabric.Claims) []draClaim {
	if len(c.Blocks) == 0 {
		return []draClaim{{Claims: c}}
	}
	var all []draClaim
	for i := range c.Blocks {
		all = append(all, draClaim{Claims: c, block: &c.Blocks[i]})
	}
	return all
}

// digest is short: the templates of a namespace are few.
func (d draClaim) digest() string {
	const digits = 5
	text, err := json.Marshal(d.devices())
	if err != nil {
		panic(fmt.Sprintf("DRA object: %v", err)) // plain structs of strings and numbers
	}
	return sum(text)[:digits]
}

// draClaim is a template in the making.
type draClaim struct {
	fabric.Claims
	block *fabric.DeviceBlock // nil: any devices of a machine
}

func (d draClaim) devices() resource.DeviceClaim {
	if d.Align == fabric.ByPCIeRoot && d.GPUDriver != "" {
		return d.pairs()
	}
	var claim resource.DeviceClaim
	if d.GPUDriver != "" {
		claim.Requests = append(claim.Requests, d.request("gpu", d.GPUDriver, d.GPUs, d.gpuSelectors()))
	}
	nics := d.request("nic", RDMAClass, d.NICs, d.nicSelectors())
	if d.All {
		nics.Exactly.AllocationMode, nics.Exactly.Count = resource.DeviceAllocationModeAll, 0
	}
	claim.Requests = append(claim.Requests, nics)
	return claim
}

// pairs is one request of GPUs and one of NICs for each pair, and a constraint that puts both below one PCIe root. Where a
// pod has more of one kind, a pair has several of it.
func (d draClaim) pairs() resource.DeviceClaim {
	var claim resource.DeviceClaim
	n := d.Pairs()
	for i := range n {
		gpu, nic := "gpu-"+strconv.Itoa(i), "nic-"+strconv.Itoa(i)
		attribute := pcieRoot
		claim.Requests = append(claim.Requests,
			d.request(gpu, d.GPUDriver, d.GPUs/n, d.gpuSelectors()),
			d.request(nic, RDMAClass, d.NICs/n, d.nicSelectors()))
		claim.Constraints = append(claim.Constraints, resource.DeviceConstraint{Requests: []string{gpu, nic}, MatchAttribute: &attribute})
	}
	return claim
}

func (d draClaim) request(name, class string, count int, selectors []resource.DeviceSelector) resource.DeviceRequest {
	return resource.DeviceRequest{Name: name, Exactly: &resource.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resource.DeviceAllocationModeExactCount, Count: int64(count), Selectors: selectors,
	}}
}

// gpuSelectors leave out what is less than a GPU, and admit only those of the block. Both drivers publish parts of a GPU
// beside whole ones, with another type: mig and vfio (gpu.nvidia.com), amdgpu-partition and vfio (gpu.amd.com).
func (d draClaim) gpuSelectors() []resource.DeviceSelector {
	whole := "gpu"
	if d.GPUDriver == fabric.DriverAMD {
		whole = "amdgpu"
	}
	all := []resource.DeviceSelector{cel(has(d.GPUDriver, "type") + fmt.Sprintf(" && device.attributes[%q].type == %q", d.GPUDriver, whole))}
	switch {
	case d.block == nil:
	case d.block.NUMA != nil:
		all = append(all, cel(onNUMA(d.GPUDriver, *d.block.NUMA)))
	case len(d.block.GPUBuses) > 0:
		all = append(all, cel(anyOf("resource.kubernetes.io", "pciBusID", d.block.GPUBuses)))
	}
	return all
}

// nicSelectors admit only NICs of the fabric, and of the block.
func (d draClaim) nicSelectors() []resource.DeviceSelector {
	var all []resource.DeviceSelector
	if d.LinkLayer != "" {
		all = append(all, cel(fmt.Sprintf("!%s || device.attributes[%q].encapsulation == %q", has(d.NICDriver, "encapsulation"), d.NICDriver, d.LinkLayer)))
	}
	switch {
	case d.block != nil && d.block.NUMA != nil:
		all = append(all, cel(onNUMA(d.NICDriver, *d.block.NUMA)))
	case d.block != nil && len(d.block.NICBuses) > 0:
		return append(all, cel(anyOf(d.NICDriver, "pciAddress", d.block.NICBuses)))
	case d.block != nil && len(d.block.NICs) > 0:
		// an interface, or the RDMA device of a NIC that has no interface
		return append(all, cel(anyOf(d.NICDriver, "ifName", d.block.NICs)+" || "+anyOf(d.NICDriver, "rdmaDevice", d.block.NICs)))
	}
	if len(d.FabricNICs) > 0 {
		all = append(all, cel(anyOf(d.NICDriver, "ifName", d.FabricNICs)))
	}
	return all
}

// has is true of a device that publishes an attribute.
func has(domain, name string) string {
	return fmt.Sprintf("has(device.attributes[%q].%s)", domain, name)
}

func anyOf(domain, name string, values []string) string {
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, strconv.QuoteToASCII(v))
	}
	return fmt.Sprintf("%s && device.attributes[%q].%s in [%s]", has(domain, name), domain, name, strings.Join(quoted, ", "))
}

// onNUMA compares a driver's own attribute: the drivers have none in common, so that no constraint over both can be written.
func onNUMA(driver string, node int) string {
	return fmt.Sprintf("%s && device.attributes[%q].numaNode == %d", has(driver, "numaNode"), driver, node)
}

// comment says what a pod gets, and what keeps it together.
func (d draClaim) comment(i, blocks int) string {
	lines := []string{d.share(i, blocks)}
	switch {
	case d.Align == fabric.ByPCIeRoot && d.GPUDriver != "":
		lines = append(lines, "Each pair has a constraint of its own: its GPU and its NIC are below one PCIe root complex, whichever they are.")
	case d.block != nil && d.block.NUMA != nil:
		lines = append(lines, fmt.Sprintf("All of them belong to NUMA node %d. Each driver has its own name for the NUMA node, so a constraint over both cannot be "+
			"written; a template for each node can.", *d.block.NUMA))
	case d.block != nil:
		lines = append(lines, "Devices by name: one template for each block. One expression that admits the names of both blocks would admit a mixture of them, "+
			"since a claim is free to take any devices that match.")
	}
	if d.GPUDriver != "" {
		lines = append(lines, "Whole GPUs only: what is less than a GPU (MIG, partitions) and what is prepared for virtual machines has another type and is left out.")
	} else {
		lines = append(lines, fmt.Sprintf("The GPUs, %s: %d, are a limit of the container; the device plugin chooses them.", d.GPUResource, d.GPUs))
	}
	if i == 0 {
		for _, n := range d.Notes {
			lines = append(lines, "Note: "+n)
		}
	}
	return strings.Join(lines, "\n")
}

func (d draClaim) share(i, blocks int) string {
	devices := fmt.Sprintf("%s and %s", fabric.Count(d.GPUs, "GPU"), fabric.Count(d.NICs, "RDMA NIC"))
	if d.All {
		devices = "every RDMA NIC of a machine"
	} else if d.GPUDriver == "" {
		devices = fabric.Count(d.NICs, "RDMA NIC")
	}
	text := "What each pod gets: " + devices
	if blocks > 1 {
		text = fmt.Sprintf("What each pod of block %d of %d gets: %s", i+1, blocks, devices)
		if d.block != nil && d.block.NUMA == nil && len(d.block.GPUs) > 0 && d.GPUDriver == "" {
			text += "; near them are GPUs " + numbers(d.block.GPUs)
		}
	}
	return text + "."
}

func numbers(all []int) string {
	var words []string
	for _, n := range slices.Sorted(slices.Values(all)) {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ", ")
}
