package plan

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// Charts of the catalog.
const (
	chartNetworkOperator = "network-operator"
	chartNVIDIA          = "nvidia-gpu-operator"
	chartNVIDIADRA       = "nvidia-dra-driver-gpu"
	chartAMD             = "amd-gpu-operator"
	chartCertManager     = "cert-manager"
	chartDraNet          = "dranet"
	chartLWS             = "lws"
	chartJobSet          = "jobset"
	chartKueue           = "kueue"
	chartVolcano         = "volcano"
)

// pluginImage is what charts call the image of the shared device plugin.
const pluginImage = "rdma-shared-device-plugin"

// network begins with the NICs: where a container replaces their driver, modules of the GPUs are built against it.
func (i *installation) network() {
	shared := i.kube.NICDriver == intent.SharedDevicePlugin
	driver := i.kube.Drivers.NIC == intent.DriverByOperator
	known, all := false, true // the Network Operator knows some, all of the machines
	for _, g := range i.cluster.Nodes {
		is := intent.ByNetworkOperator(i.catalog, g.Machine)
		known, all = known || is, all && is
	}
	if shared && !all {
		i.ownPlugin()
	}
	if !driver && (!shared || !all) || !known {
		return
	}
	r := i.chart(chartNetworkOperator, "network-operator", "Before the GPU operator: GPUDirect RDMA is built on the drivers of the NICs.")
	i.features(chartNetworkOperator, &r, "nfd.enabled")
	i.set(chartNetworkOperator, &r, "nfd.deployNodeFeatureRules", true, "its containers start on machines that these rules label.")
	r.Objects = []string{fabric.NICPolicyFile}
	r.Ready = []fabric.Readiness{{What: "the Network Operator has done on every machine what its policy says", Object: "nicclusterpolicies.mellanox.com/nic-cluster-policy", Minutes: driverMinutes}}
	i.NICPolicy = &fabric.NICPolicy{}
	var gives []string
	if driver {
		image := i.image(chartNetworkOperator, "ofed")
		i.NICPolicy.Driver = &image
		gives = append(gives, "the driver of the NICs on every machine: DOCA-OFED")
	}
	if shared && all {
		image := i.image(chartNetworkOperator, pluginImage)
		i.NICPolicy.Plugin = &image
		r.Ready = append(r.Ready, i.sharedReady()...)
		gives = append(gives, i.sharedGift())
	}
	i.add(chartNetworkOperator, r, gives...)
}

// ownPlugin runs the shared device plugin beside every operator.
func (i *installation) ownPlugin() {
	i.Plugin = &fabric.NICPlugin{Namespace: "rdma-shared-device-plugin", Image: i.image(chartNetworkOperator, pluginImage), Ready: i.sharedReady(),
		Why: "NVIDIA's Network Operator starts it on machines with NICs of NVIDIA only, and AMD's Network Operator gives NICs as amd.com/nic, all of one kind, none for a rail."}
	i.gifts = append(i.gifts, fabric.OperatorGift{From: "RDMA shared device plugin", What: i.sharedGift()})
}

// sharedGift is what the shared device plugin gives, in words.
func (i *installation) sharedGift() string {
	nics := i.plan.Pods.NICs
	what := "a resource on every machine for the NIC of each rail: " + fabric.RDMAPrefix + nics[0].Resource
	if last := len(nics) - 1; last > 0 {
		what += " to " + fabric.RDMAPrefix + nics[last].Resource
	}
	return what
}

// gpus are given out by a device plugin or a DRA driver, never by both.
func (i *installation) gpus() {
	if i.plan.Pods.GPUVendor == "amd" {
		i.amd()
		return
	}
	i.nvidia()
}

// draLabel marks the machines whose GPUs the DRA driver of NVIDIA gives out.
const draLabel = "nvidia.com/dra-kubelet-plugin"

func (i *installation) nvidia() {
	byPlugin := i.kube.GPUDriver == intent.DevicePlugin
	r := i.chart(chartNVIDIA, "gpu-operator", "Driver, container runtime and device plugin of the GPUs.")
	i.features(chartNVIDIA, &r, "nfd.enabled")
	install := i.kube.Drivers.GPU == intent.DriverByOperator
	i.set(chartNVIDIA, &r, "driver.enabled", install, map[bool]string{true: "the machines have no driver of the GPUs.", false: "the machines have the driver of the GPUs (kubernetes.drivers.gpu)."}[install])
	if install {
		i.nvidiaDriver(&r, byPlugin)
	}
	i.set(chartNVIDIA, &r, "devicePlugin.enabled", byPlugin, map[bool]string{true: "it counts the GPUs of a machine as nvidia.com/gpu.", false: "the DRA driver gives out the GPUs: with both, pods of each would get the same GPU."}[byPlugin])
	r.Ready = []fabric.Readiness{{What: "the GPU Operator is ready on every machine", Object: "clusterpolicies.nvidia.com/cluster-policy", Minutes: driverMinutes}}
	gives := []string{"the driver of the GPUs on every machine, and their container runtime"}
	if !install {
		gives = []string{"the container runtime of the GPUs on every machine"}
	}
	if byPlugin {
		r.Ready = append(r.Ready, i.gpusReady())
		gives = append(gives, "the resource nvidia.com/gpu on every machine")
	}
	i.add(chartNVIDIA, r, gives...)
	if !byPlugin {
		i.nvidiaDRA(install)
	}
}

// nvidiaDriver sets what the driver container builds. GPU memory is registered with a NIC through DMA-BUF of the kernel, or through the
// module nvidia-peermem, which is built against DOCA-OFED: where the kernel's own driver runs the NICs it could not be built at all.
func (i *installation) nvidiaDriver(r *fabric.HelmRelease, byPlugin bool) {
	if v := i.cluster.VSphere; v != nil && v.Service != nil && v.Service.Driver != "" {
		i.set(chartNVIDIA, r, "driver.version", v.Service.Driver, "Fabric Manager of the service virtual machine has the same (vsphere.service_vm.driver).")
	}
	peermem := i.NICPolicy != nil && i.NICPolicy.Driver != nil
	why := "no DOCA-OFED of the Network Operator is there to build nvidia-peermem against: GPU memory is registered through DMA-BUF of the kernel."
	if peermem {
		why = "it builds nvidia-peermem against the DOCA-OFED that the Network Operator has put on the machines, and waits for that; DMA-BUF of the kernel works beside it."
	}
	i.set(chartNVIDIA, r, "driver.rdma.enabled", peermem, why)
	if host := !peermem && slices.ContainsFunc(i.cluster.Nodes, func(g intent.NodeGroup) bool { return intent.ByNetworkOperator(i.catalog, g.Machine) }); host {
		i.set(chartNVIDIA, r, "driver.rdma.useHostMofed", true, "the drivers of the NICs are those of the machines: with false the operator waits for those of the Network Operator.")
	}
	if !byPlugin {
		i.set(chartNVIDIA, r, "driver.manager.env", []map[string]string{{"name": "NODE_LABEL_FOR_GPU_POD_EVICTION", "value": draLabel}},
			"before the driver is replaced, the plugin of the DRA driver has to leave the machine: the operator finds it by this label.")
	}
}

func (i *installation) nvidiaDRA(install bool) {
	i.Labels = append(i.Labels, fabric.NodeLabel{Name: draLabel, Value: "true", Why: "the DRA driver of NVIDIA runs on machines with it, and leaves them before their driver is replaced"})
	r := i.chart(chartNVIDIADRA, "nvidia-dra-driver-gpu", "It publishes the GPUs and prepares those that claims got. After the GPU Operator, whose driver it uses.")
	root, why := "/", "the driver is that of the machine."
	if install {
		root, why = "/run/nvidia/driver", "the driver container of the GPU Operator has it there."
	}
	i.set(chartNVIDIADRA, &r, "nvidiaDriverRoot", root, why)
	i.set(chartNVIDIADRA, &r, "resources.gpus.enabled", true, "claims of this plan ask for GPUs.")
	i.set(chartNVIDIADRA, &r, "gpuResourcesEnabledOverride", true, "the chart asks for it to make sure that the device plugin is off, which it is here.")
	i.set(chartNVIDIADRA, &r, "resources.computeDomains.enabled", false, "no claim of this plan asks for memory of other machines over NVLink.")
	i.set(chartNVIDIADRA, &r, "kubeletPlugin.nodeSelector", map[string]string{draLabel: "true"}, "the machines of this plan, which carry this label.")
	r.Ready = []fabric.Readiness{{What: "the GPUs of every machine are published", Slices: fabric.DriverNVIDIA, Minutes: programMinutes}}
	i.add(chartNVIDIADRA, r, "the class "+fabric.DriverNVIDIA+" and the devices of every machine")
}

// gpusReady: the device plugin counts all GPUs of every machine.
func (i *installation) gpusReady() fabric.Readiness {
	gpus := int(i.catalog.Machines[i.cluster.Nodes[0].Machine].GPUs.Value)
	name := i.plan.Pods.GPUVendor + ".com/gpu"
	return fabric.Readiness{What: "every machine gives out " + fabric.Count(gpus, "GPU"), Resource: name, Least: gpus, Minutes: programMinutes}
}

// amd plans AMD's GPU Operator. Its webhooks have certificates of cert-manager.
func (i *installation) amd() {
	cert := i.chart(chartCertManager, "cert-manager", "The AMD GPU Operator has its certificates from it.")
	i.set(chartCertManager, &cert, "crds.enabled", true, "the definitions of its kinds come with the chart.")
	i.add(chartCertManager, cert, "certificates")
	byPlugin := i.kube.GPUDriver == intent.DevicePlugin
	r := i.chart(chartAMD, "amd-gpu-operator", "Device plugin or DRA driver of the GPUs.")
	i.features(chartAMD, &r, "node-feature-discovery.enabled")
	i.set(chartAMD, &r, "kmm.enabled", false, "it builds drivers, and the machines have theirs.")
	i.set(chartAMD, &r, "crds.defaultCR.upgrade", true, "the operator's DeviceConfig follows this file when the release is upgraded.")
	i.set(chartAMD, &r, "deviceConfig.spec.driver.enable", false, "the machines have the driver of the GPUs (kubernetes.drivers.gpu).")
	i.set(chartAMD, &r, "deviceConfig.spec.devicePlugin.enableDevicePlugin", byPlugin, map[bool]string{true: "it counts the GPUs of a machine as amd.com/gpu.", false: "the DRA driver gives out the GPUs: the operator refuses both together."}[byPlugin])
	i.set(chartAMD, &r, "deviceConfig.spec.draDriver.enable", !byPlugin, map[bool]string{true: "the device plugin gives out the GPUs: the operator refuses both together.", false: "it publishes the GPUs and prepares those that claims got."}[byPlugin])
	if byPlugin {
		r.Ready = []fabric.Readiness{i.gpusReady()}
		i.add(chartAMD, r, "the resource amd.com/gpu on every machine")
		return
	}
	i.set(chartAMD, &r, "deviceConfig.spec.draDriver.image", i.image(chartAMD, "dra-driver").String(), "at a release: the tag of the chart moves.")
	r.Ready = []fabric.Readiness{{What: "the GPUs of every machine are published", Slices: fabric.DriverAMD, Minutes: programMinutes}}
	i.add(chartAMD, r, "the class "+fabric.DriverAMD+" and the devices of every machine")
}

// draNetAPI is the only version of resource.k8s.io that DraNet writes (kubernetes-sigs/dranet, pkg/driver/dra_hooks.go).
const draNetAPI = "v1"

// nics are claimed from DraNet, where the shared device plugin does not give them.
func (i *installation) nics() {
	if i.kube.NICDriver != fabric.DriverDraNet {
		return
	}
	if i.API != draNetAPI {
		i.Relies = append(i.Relies, fabric.OperatorGift{From: i.catalog.Charts[chartDraNet].Title, What: fmt.Sprintf("the NICs of every machine as devices of %s, by a release that speaks resource.k8s.io/%s: %s speaks %s only and is not installed",
			fabric.DriverDraNet, i.API, i.catalog.Charts[chartDraNet].Version, draNetAPI)})
		return
	}
	r := i.chart(chartDraNet, "dranet", "It publishes the NICs and moves those that claims got into their pods.")
	r.Ready = []fabric.Readiness{{What: "the NICs of every machine are published", Slices: fabric.DriverDraNet, Minutes: programMinutes}}
	i.add(chartDraNet, r, "the NICs of every machine as devices of "+fabric.DriverDraNet)
}

// queueBefore: the controller of LeaderWorkerSets makes pod groups of Volcano, whose kinds have to exist.
func (i *installation) queueBefore() {
	if q := i.kube.Queue; q != nil && q.With == "volcano" {
		i.add(chartVolcano, i.chart(chartVolcano, "volcano", "It admits groups of pods as a whole (kubernetes.queue)."), "queue "+q.Name+", and scheduling of groups of pods")
	}
}

// serving is what a served model needs. Kueue looks for the kinds that it admits when it starts.
func (i *installation) serving() {
	q := i.kube.Queue
	switch {
	case i.cluster.Serving == nil:
	case i.kube.Groups == fabric.JobSets:
		i.add(chartJobSet, i.chart(chartJobSet, "jobset", "It makes the pods of a model that is served on several machines, a JobSet for each group (kubernetes.groups)."), "the kind JobSet")
	default:
		r := i.chart(chartLWS, "lws", "It makes the pods of a model that is served on several machines, a leader and its workers.")
		if q != nil && q.With == "volcano" {
			i.set(chartLWS, &r, "gangSchedulingManagement.schedulerProvider", "volcano", "leader and workers are admitted as a whole (kubernetes.queue).")
		}
		i.add(chartLWS, r, "the kind LeaderWorkerSet")
	}
	if q != nil && q.With == "kueue" {
		i.add(chartKueue, i.chart(chartKueue, "kueue", "It admits groups of pods as a whole (kubernetes.queue). After the kinds of groups, for which it looks when it starts."), "queue "+q.Name+" in the namespace of the pods")
	}
}
