package intent

import "railwright.dev/railwright/internal/fabric"

// Kube is what runs the pods of a cluster, and what each of them gets.
type Kube struct {
	Version   string `json:"version,omitempty" yaml:"version,omitempty" jsonschema:"pattern=^1\\.[0-9]{2}$" jsonschema_description:"minor version of the cluster, in quotes: 1.34; it decides in which version of resource.k8s.io claims are written; default 1.34"`
	Namespace string `json:"namespace,omitempty" yaml:"namespace,omitempty" jsonschema:"pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$,maxLength=63,description=of the pods and their claims; default default"`
	GPUDriver string `json:"gpu_driver,omitempty" yaml:"gpu_driver,omitempty" jsonschema:"enum=device-plugin,enum=gpu.nvidia.com,enum=gpu.amd.com" jsonschema_description:"what gives GPUs to pods: a DRA driver or a device plugin; default device-plugin on gke, elsewhere the DRA driver of the GPU's vendor"`
	NICDriver string `json:"nic_driver,omitempty" yaml:"nic_driver,omitempty" jsonschema:"enum=dra.net,description=DRA driver of the NICs; default dra.net"`
	Pod       *Pod   `json:"pod,omitempty" yaml:"pod,omitempty" jsonschema:"description=what each pod gets; default a whole machine"`
}

// Pod is the devices of a pod.
type Pod struct {
	GPUs  int              `json:"gpus,omitempty" yaml:"gpus,omitempty" jsonschema:"minimum=1,maximum=64,description=GPUs per pod; default all of a machine"`
	NICs  int              `json:"nics,omitempty" yaml:"nics,omitempty" jsonschema:"minimum=1,maximum=64,description=NICs per pod; default its share of the machine's"`
	Align fabric.Alignment `json:"align,omitempty" yaml:"align,omitempty" jsonschema:"enum=pcie-root,enum=numa,enum=name,enum=none" jsonschema_description:"what its GPUs and NICs have in common; default the closest that the machine and the drivers have"`
}

// DevicePlugin is the GPUDriver of clusters whose GPUs are extended resources.
const DevicePlugin = "device-plugin"
