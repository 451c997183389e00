package intent

import "railwright.dev/railwright/internal/fabric"

// Kube is what runs the pods of a cluster, and what each of them gets.
type Kube struct {
	Version   string `json:"version,omitempty" yaml:"version,omitempty" jsonschema:"pattern=^1\\.[0-9]{2}$" jsonschema_description:"minor version of the cluster, in quotes: 1.34; it decides in which version of resource.k8s.io claims are written; default that of vsphere.vks, else 1.34"`
	Namespace string `json:"namespace,omitempty" yaml:"namespace,omitempty" jsonschema:"pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$,maxLength=63,description=of the pods and their claims; default default"`
	GPUDriver string `json:"gpu_driver,omitempty" yaml:"gpu_driver,omitempty" jsonschema:"enum=device-plugin,enum=gpu.nvidia.com,enum=gpu.amd.com" jsonschema_description:"what gives GPUs to pods: a DRA driver or a device plugin; default device-plugin on gke, elsewhere the DRA driver of the GPU's vendor"`
	NICDriver string `json:"nic_driver,omitempty" yaml:"nic_driver,omitempty" jsonschema:"enum=dra.net,enum=shared-device-plugin" jsonschema_description:"what gives NICs to pods: a DRA driver, or the RDMA shared device plugin; default dra.net"`
	Operators string `json:"operators,omitempty" yaml:"operators,omitempty" jsonschema:"enum=install,enum=present" jsonschema_description:"whether the operators of GPUs and NICs are to be installed, or exist; default present on gke, elsewhere install"`
	Groups    string `json:"groups,omitempty" yaml:"groups,omitempty" jsonschema:"enum=leaderworkerset,enum=jobset" jsonschema_description:"the kind of object that makes the pods of a served model; default leaderworkerset"`
	Images    string `json:"test_images,omitempty" yaml:"test_images,omitempty" jsonschema:"maxLength=200,pattern=^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*)*$" jsonschema_description:"registry and path from which nodes pull the images of the test pods, that build-images.sh pushes there, such as harbor.example.com/railwright; default none: no test pods"`
	Queue     *Queue `json:"queue,omitempty" yaml:"queue,omitempty" jsonschema_description:"what admits groups of pods as a whole; default nothing: pods of a group that does not fit wait on their machines"`
	Pod       *Pod   `json:"pod,omitempty" yaml:"pod,omitempty" jsonschema:"description=what each pod gets; default a whole machine"`

	Drivers *KernelDrivers `json:"drivers,omitempty" yaml:"drivers,omitempty" jsonschema:"description=who installs the kernel drivers of GPUs and NICs"`
}

// Pod is the devices of a pod.
type Pod struct {
	GPUs  int              `json:"gpus,omitempty" yaml:"gpus,omitempty" jsonschema:"minimum=1,maximum=64,description=GPUs per pod; default all of a machine"`
	NICs  int              `json:"nics,omitempty" yaml:"nics,omitempty" jsonschema:"minimum=1,maximum=64,description=NICs per pod; default its share of the machine's"`
	Align fabric.Alignment `json:"align,omitempty" yaml:"align,omitempty" jsonschema:"enum=pcie-root,enum=numa,enum=name,enum=none" jsonschema_description:"what its GPUs and NICs have in common; default the closest that the machine and the drivers have"`
}

// Queue is what admits groups of pods as a whole.
type Queue struct {
	With     string `json:"with" yaml:"with" jsonschema:"enum=kueue,enum=volcano,description=the queueing system"`
	Name     string `json:"name" yaml:"name" jsonschema:"pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$,maxLength=63" jsonschema_description:"of the queue, which exists: a LocalQueue of Kueue in the namespace, a Queue of Volcano"`
	Topology string `json:"topology,omitempty" yaml:"topology,omitempty" jsonschema:"maxLength=253,pattern=^[A-Za-z0-9]([A-Za-z0-9./_-]*[A-Za-z0-9])?$" jsonschema_description:"label of nodes of which all pods of a group share one value, such as cloud.google.com/gce-topology-block: Kueue's topology-aware scheduling; default none"`
}

// SharedDevicePlugin is the NICDriver of clusters whose NICs are extended resources.
const SharedDevicePlugin = "shared-device-plugin"

// The values of Operators.
const (
	InstallOperators = "install"
	OperatorsPresent = "present"
)

// DevicePlugin is the GPUDriver of clusters whose GPUs are extended resources.
const DevicePlugin = "device-plugin"
