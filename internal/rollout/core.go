package rollout

import (
	"fmt"

	core "k8s.io/api/core/v1"
)

func namespace(text []byte) (State, error) {
	n, err := read[core.Namespace](text)
	if err != nil {
		return State{}, err
	}
	s := State{Ready: n.Status.Phase == core.NamespaceActive, Text: "phase " + string(n.Status.Phase)}
	if n.Status.Phase == core.NamespaceTerminating {
		s.Failed = "it is being deleted"
	}
	return s, nil
}

// volumeClaim is ready when it has its volume. One of a class that waits for the first pod (WaitForFirstConsumer) gets none before:
// that is in the class and not in the claim.
func volumeClaim(text []byte) (State, error) {
	v, err := read[core.PersistentVolumeClaim](text)
	if err != nil {
		return State{}, err
	}
	s := State{Ready: v.Status.Phase == core.ClaimBound, Text: "phase " + string(v.Status.Phase) + ", no volume yet"}
	switch v.Status.Phase {
	case core.ClaimLost:
		s.Failed = "its volume is gone"
	case "":
		s.Text = unseen().Text
	}
	return s, nil
}

// Holds reports whether a PersistentVolumeClaim has a volume, and so may hold data.
func Holds(text []byte) bool {
	v, err := read[core.PersistentVolumeClaim](text)
	return err != nil || v.Spec.VolumeName != "" || v.Status.Phase == core.ClaimBound || v.Status.Phase == core.ClaimLost
}

// service is ready at once, unless it asks a cloud for an address.
func service(text []byte) (State, error) {
	v, err := read[core.Service](text)
	if err != nil {
		return State{}, err
	}
	if v.Spec.Type != core.ServiceTypeLoadBalancer {
		return State{Ready: true, Text: "stored"}, nil
	}
	n := len(v.Status.LoadBalancer.Ingress)
	return State{Ready: n > 0, Text: fmt.Sprintf("load balancer has %d addresses", n)}, nil
}
