package fabric

// TopologyMap is the ConfigMap with NCCL's topology files of virtual machines: a key CLASS.xml for each class.
const TopologyMap = "nccl-topology"

// KubeNamespace is a namespace of Kubernetes with the levels of Pod Security admission of its pods.
type KubeNamespace struct {
	Name    string `json:"name"`
	Enforce string `json:"enforce"` // privileged, baseline, restricted: pods that break it are refused
	Warn    string `json:"warn"`    // pods that break it are admitted, with a warning
	Why     string `json:"why"`     // what in it needs this level
}
