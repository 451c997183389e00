package intent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// The defaults of the section kubernetes. Version is the first that serves resource.k8s.io/v1.
const (
	defaultKubernetes = "1.34"
	defaultNamespace  = "default"
	// firstDRA is the minor version from which on drivers publish their devices as ResourceSlices in a version of the API
	// that these claims can be written in: v1beta1 (Kubernetes 1.32 release notes, DRA with structured parameters: beta).
	firstDRA = 32
)

// applyDefaults fills in what the section leaves out, as far as no machine decides it: GPUs and NICs of a pod follow from the
// machine, in the plan.
func (k *Kube) applyDefaults(p Platform, nodes []NodeGroup, cat *catalog.Catalog) {
	if k.Version == "" {
		k.Version = defaultKubernetes
	}
	if k.Namespace == "" {
		k.Namespace = defaultNamespace
	}
	if k.NICDriver == "" {
		k.NICDriver = fabric.DriverDraNet
	}
	if k.Operators == "" {
		k.Operators = InstallOperators
		if p == GKE {
			k.Operators = OperatorsPresent
		}
	}
	if k.GPUDriver != "" {
		return
	}
	if p == GKE || k.NICDriver == SharedDevicePlugin { // its node pools come with the device plugin; one plugin beside another
		k.GPUDriver = DevicePlugin
		return
	}
	for _, g := range nodes {
		if driver := driverOf(cat, g.Machine); driver != "" {
			k.GPUDriver = driver
			return
		}
	}
}

// driverOf is the DRA driver of the GPUs of a machine; empty where the catalog does not have it, or its GPUs.
func driverOf(cat *catalog.Catalog, machine string) string {
	return map[string]string{"nvidia": fabric.DriverNVIDIA, "amd": fabric.DriverAMD}[cat.GPUs[cat.Machines[machine].GPU].Vendor]
}

// Minor is the minor version of Kubernetes: 34 of 1.34; 0 where the text is not a version.
func (k *Kube) Minor() int {
	_, minor, _ := strings.Cut(k.Version, ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return 0
	}
	return n
}

func (v *validator) kubernetes() {
	k, at := v.cluster.Kubernetes, []string{"kubernetes"}
	if k == nil || !v.sound([]string{"launcher"}, []string{"platform"}) {
		return
	}
	if v.cluster.Launcher != Kubernetes {
		v.add(at, fmt.Sprintf("the launcher is %s: pods need launcher: kubernetes", v.cluster.Launcher))
		return
	}
	if n := k.Minor(); n > 0 && n < firstDRA && v.sound(step(at, "version")) {
		v.add(step(at, "version"), fmt.Sprintf("%s has no resource.k8s.io in a version that the drivers publish in: 1.%d or later", k.Version, firstDRA))
	}
	v.plugins(k, at)
	v.kernelDrivers(k, at)
	v.sameVersion(k, at)
	for i, g := range v.cluster.Nodes {
		if v.sound([]string{"nodes", strconv.Itoa(i), "machine"}) {
			v.podsOn(k, g)
		}
	}
}

// plugins refuses what the shared device plugin cannot give.
func (v *validator) plugins(k *Kube, at []string) {
	if k.NICDriver != SharedDevicePlugin || !v.sound(step(at, "nic_driver"), step(at, "gpu_driver")) {
		return
	}
	if k.GPUDriver != DevicePlugin {
		v.add(step(at, "gpu_driver"), fmt.Sprintf("%s beside the shared device plugin for NICs: no claim ties its GPUs to their NICs; use %s, or nic_driver: %s", k.GPUDriver, DevicePlugin, fabric.DriverDraNet))
	}
	if k.Pod != nil {
		v.add(step(at, "pod"), "the shared device plugin gives NICs to as many pods as ask, and ties none to a GPU: a pod has a whole machine; remove the section, or use nic_driver: "+fabric.DriverDraNet)
	}
	if v.cluster.Platform == GKE && v.sound([]string{"platform"}) {
		v.add(step(at, "nic_driver"), "the RDMA interfaces of gke are given by "+fabric.DriverDraNet)
	}
}

// podsOn checks a pod against the machine of a group.
func (v *validator) podsOn(k *Kube, g NodeGroup) {
	m, known := v.catalog.Machines[g.Machine]
	if !known || m.GPUs.Value == 0 {
		return
	}
	at := []string{"kubernetes"}
	if driver := driverOf(v.catalog, g.Machine); k.GPUDriver != DevicePlugin && driver != "" && driver != k.GPUDriver && v.sound(step(at, "gpu_driver")) {
		v.add(step(at, "gpu_driver"), fmt.Sprintf("%s does not publish the GPUs of machine %s: use %s, or %s", k.GPUDriver, g.Machine, driver, DevicePlugin))
	}
	if k.Pod == nil {
		return
	}
	pod, at := k.Pod, step(at, "pod")
	gpus, nics := int(m.GPUs.Value), nicCount(g, m)
	perNode := 1
	if pod.GPUs > 0 && v.sound(step(at, "gpus")) {
		switch {
		case pod.GPUs > gpus:
			v.add(step(at, "gpus"), fmt.Sprintf("%d GPUs: machine %s has %d", pod.GPUs, g.Machine, gpus))
			return
		case gpus%pod.GPUs != 0:
			v.add(step(at, "gpus"), fmt.Sprintf("%d GPUs a pod: the %d of machine %s do not divide so, %d would be in no pod: use %s",
				pod.GPUs, gpus, g.Machine, gpus%pod.GPUs, divisors(gpus)))
			return
		}
		perNode = gpus / pod.GPUs
	}
	v.nicsOfPod(at, pod, g, perNode, nics)
	v.alignOfPod(at, k, g, perNode)
}

func (v *validator) nicsOfPod(at []string, pod *Pod, g NodeGroup, perNode, nics int) {
	switch {
	case nics == 0:
	case pod.NICs*perNode > nics && v.sound(step(at, "nics")):
		v.add(step(at, "nics"), fmt.Sprintf("%s of %s each need %s: machine %s has %d of the fabric", fabric.Count(perNode, "pod"), fabric.Count(pod.NICs, "NIC"),
			fabric.Count(pod.NICs*perNode, "NIC"), g.Machine, nics))
	case pod.NICs == 0 && nics%perNode != 0 && v.sound(step(at, "gpus")):
		v.add(step(at, "gpus"), fmt.Sprintf("%d pods on a machine share %d NICs, and a NIC is in one pod only: use more GPUs a pod", perNode, nics))
	}
}

// alignOfPod refuses what no claim can say.
func (v *validator) alignOfPod(at []string, k *Kube, g NodeGroup, perNode int) {
	if k.GPUDriver != DevicePlugin || !v.sound(step(at, "align")) || k.Pod.Align != fabric.ByPCIeRoot && k.Pod.Align != fabric.ByNUMA {
		return
	}
	why := "the device plugin chooses GPUs by itself, and no claim can tie them to NICs: use align: name, or a DRA driver for the GPUs"
	if driver := driverOf(v.catalog, g.Machine); driver != "" {
		why += " (" + driver + ")"
	}
	if perNode == 1 {
		why = "a pod has the whole machine, and the device plugin gives no GPU by a claim: remove the field"
	}
	v.add(step(at, "align"), fmt.Sprintf("%s: %s", k.Pod.Align, why))
}

// nicCount is how many NICs of the fabric a machine of a group has.
func nicCount(g NodeGroup, m catalog.MachineModel) int {
	if names, err := fabric.ExpandNames(g.NICs); err == nil && len(names) > 0 {
		return len(names)
	}
	return int(m.NICs.Value)
}

// divisors lists the numbers of GPUs that pods of one machine can have.
func divisors(n int) string {
	var words []string
	for d := range n {
		if n%(d+1) == 0 {
			words = append(words, strconv.Itoa(d+1))
		}
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(slices.Clone(words[:len(words)-1]), ", ") + " or " + words[len(words)-1]
}
