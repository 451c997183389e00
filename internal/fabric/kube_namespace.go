package fabric

// KubeNamespace is a namespace of Kubernetes with the levels of Pod Security admission of its pods.
type KubeNamespace struct {
	Name    string `json:"name"`
	Enforce string `json:"enforce"` // privileged, baseline, restricted: pods that break it are refused
	Warn    string `json:"warn"`    // pods that break it are admitted, with a warning
	Why     string `json:"why"`     // what in it needs this level
}
