package fabric

// Pod is what a container shows of the pod that it is in.
type Pod struct {
	GIB        []string `json:"gib"`                   // entries of /usr/local/gib, where Google's plugin for RDMA is mounted; empty: the folder is empty or not there
	NCCL       []string `json:"nccl"`                  // libraries of NCCL where GKE mounts them: lib64 of /usr/local/gib and of /usr/local/nvidia
	LockMemory *bool    `json:"lock_memory,omitempty"` // capability IPC_LOCK is in effect; nil: not read
}

// KubeState is what kubectl prints of pods, their claims and the devices of nodes.
type KubeState struct {
	Claims []ClaimState `json:"claims,omitempty"`
	Pods   []PodState   `json:"pods,omitempty"`
	NICs   []SliceNIC   `json:"nics,omitempty"` // of the slices of drivers of NICs
}

// ClaimState is a ResourceClaim as the API server has it.
type ClaimState struct {
	Name    string        `json:"name"`
	State   string        `json:"state"`             // as kubectl get prints it: pending; allocated; allocated,reserved; deleted,...
	For     []string      `json:"for,omitempty"`     // pods that it is reserved for; empty: none, or not printed
	Devices []ClaimDevice `json:"devices,omitempty"` // that it got
}

// ClaimDevice is a device of a claim, with what its driver reports of it.
type ClaimDevice struct {
	Driver    string   `json:"driver"`
	Device    string   `json:"device"`
	Interface string   `json:"interface,omitempty"` // in the pod
	IPs       []string `json:"ips,omitempty"`
	NotReady  []string `json:"not_ready,omitempty"` // conditions that are false, with their reasons
	Reported  bool     `json:"reported"`            // the driver reports conditions at all
}

// PodState is a line of kubectl get pods.
type PodState struct {
	Name   string `json:"name"`
	Ready  string `json:"ready"`  // 1/1
	Status string `json:"status"` // Running, Pending, Completed, ...
	Node   string `json:"node,omitempty"`
}

// SliceNIC is a NIC that a driver publishes in a slice. What a slice does not say is nil or empty.
type SliceNIC struct {
	Node      string `json:"node"`
	Device    string `json:"device"`
	Interface string `json:"interface,omitempty"`
	State     string `json:"state,omitempty"` // up, down
	Type      string `json:"type,omitempty"`  // of the link: device, ipoib, ...
	PCI       string `json:"pci,omitempty"`
	RDMA      *bool  `json:"rdma,omitempty"`
	Virtual   bool   `json:"virtual,omitempty"`
}

// Attribute takes an attribute of a device by its plain name, and reports whether it is one that only NICs have.
func (n *SliceNIC) Attribute(name string, text *string, truth *bool) (ofNIC bool) {
	value := ""
	if text != nil {
		value = Printable(*text)
	}
	switch name {
	case "ifName":
		n.Interface = value
	case "state":
		n.State = value
		return false
	case "type":
		n.Type = value
		return false
	case "pciAddress", "pciBusID", "pciAddr":
		n.PCI = value
		return false
	case "rdma":
		n.RDMA = truth
	case "virtual":
		n.Virtual = truth != nil && *truth
		return false
	default:
		return false
	}
	return true
}

// Empty reports whether nothing was read.
func (k *KubeState) Empty() bool { return len(k.Claims)+len(k.Pods)+len(k.NICs) == 0 }
