package facts

import (
	"encoding/json"

	"railwright.dev/railwright/internal/fabric"
)

// pods compares what containers show of their pods, and what kubectl printed, each as a whole.
func (d *differ) pods() {
	of := func(v any, there bool) string {
		if !there {
			return unknown
		}
		text, err := json.Marshal(v)
		if err != nil {
			return unknown
		}
		return string(text)
	}
	pod := func(f *fabric.Facts) string { return of(f.Pod, f.Pod != nil) }
	kube := func(f *fabric.Facts) string { return of(f.Kube, f.Kube != nil) }
	d.compare("", field{rankSysctl, isWarning, "pod", pod(d.a), pod(d.b), "folders, libraries and rights decide which network NCCL uses"},
		field{rankSysctl, isWarning, "kubectl", kube(d.a), kube(d.b), "claims and slices decide which devices pods get"})
}
