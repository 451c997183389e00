package rollout

import (
	"fmt"
	"slices"

	core "k8s.io/api/core/v1"
)

// Trouble is what keeps a pod from getting ready.
type Trouble struct {
	Text      string // for people
	Retried   bool   // somebody tries again by himself, with growing pauses: it may pass
	Container string // whose log says more; empty: none has one
	Previous  bool   // the log of its run before is meant: it has begun again since
}

// TroubleOf says what keeps a pod from getting ready; ok is false where nothing does, as far as the pod itself says: one that waits for a
// volume or a device says so in its events alone (Quiet).
func TroubleOf(text []byte) (t Trouble, ok bool) {
	p, err := read[core.Pod](text)
	if err != nil || p.DeletionTimestamp != nil || p.Status.Phase == core.PodSucceeded {
		return Trouble{}, false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == core.PodScheduled && c.Status == core.ConditionFalse && c.Reason != core.PodReasonSchedulingGated && c.Message != "" {
			return Trouble{Text: c.Message}, true
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t, ok := containerTrouble(c); ok {
			return t, true
		}
	}
	if p.Status.Phase == core.PodFailed {
		return Trouble{Text: "failed: " + joined(p.Status.Reason, p.Status.Message)}, true
	}
	return Trouble{}, false
}

// Why a container waits, where nothing is wrong (kubelet: pkg/kubelet/kubelet_pods.go).
const (
	creating     = "ContainerCreating"
	initializing = "PodInitializing"
)

// unhelped are reasons for which a container waits and that trying again does not change: what it refers to is not there, or is not
// written as it must be (kubelet: pkg/kubelet/images/types.go, kuberuntime/kuberuntime_container.go).
func unhelped() []string {
	return []string{"CreateContainerConfigError", "InvalidImageName", "ErrImageNeverPull"}
}

func containerTrouble(c core.ContainerStatus) (Trouble, bool) {
	if w := c.State.Waiting; w != nil && w.Reason != creating && w.Reason != initializing && w.Reason != "" {
		t := Trouble{Text: fmt.Sprintf("container %s: %s", c.Name, joined(w.Reason, w.Message)), Retried: !slices.Contains(unhelped(), w.Reason)}
		if last := c.LastTerminationState.Terminated; last != nil {
			t.Text += "; it ended with " + ended(*last)
			t.Container, t.Previous = c.Name, true
		}
		return t, true
	}
	if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
		return Trouble{Text: fmt.Sprintf("container %s ended with %s", c.Name, ended(*end)), Retried: true, Container: c.Name}, true
	}
	return Trouble{}, false
}

func ended(t core.ContainerStateTerminated) string {
	text := fmt.Sprintf("exit status %d", t.ExitCode)
	if t.Signal != 0 {
		text = fmt.Sprintf("signal %d", t.Signal)
	}
	if t.Reason != "" && t.Reason != "Error" { // which it is called whenever the status is not 0
		text += " (" + t.Reason + ")"
	}
	return text
}

// Quiet reports whether a pod is not ready and does not say why: its events may. Container is one whose log may say more.
func Quiet(text []byte) (container string, quiet bool) {
	p, err := read[core.Pod](text)
	if err != nil || p.DeletionTimestamp != nil || p.Status.Phase == core.PodSucceeded {
		return "", false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == core.PodReady && c.Status == core.ConditionTrue {
			return "", false
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.State.Running != nil && !c.Ready {
			return c.Name, true
		}
	}
	return "", true
}

// Event is what somebody said of an object.
type Event struct{ Reason, Message string }

// Blocks reports whether an event says that its object does not go on, and whether somebody tries again by himself. The reasons are
// those of kube-controller-manager (pkg/controller/controller_utils.go, volume/events), kube-scheduler, and the kubelet
// (pkg/kubelet/events).
func (e Event) Blocks() (retried, blocks bool) {
	switch e.Reason {
	case "FailedCreate", // a controller may not make a pod: quota, Pod Security, a webhook
		"FailedScheduling",
		"FailedBinding": // of a claim: no volume, and no class that makes one
		return false, true
	case "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "FailedPrepareDynamicResources",
		"ProvisioningFailed":
		return true, true
	}
	return false, false
}

// AwaitsPod reports whether an event says that a claim gets its volume with its first pod.
func (e Event) AwaitsPod() bool {
	return e.Reason == "WaitForFirstConsumer" || e.Reason == "WaitForPodScheduled"
}
