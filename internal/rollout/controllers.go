package rollout

import (
	"fmt"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workload is what StatefulSets, DaemonSets and Deployments (apps/v1) say of their pods.
type workload struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Replicas       *int                  `json:"replicas"`
		Selector       *metav1.LabelSelector `json:"selector"`
		UpdateStrategy struct {
			Type          string `json:"type"`
			RollingUpdate struct {
				Partition int `json:"partition"`
			} `json:"rollingUpdate"`
		} `json:"updateStrategy"`
	} `json:"spec"`
	Status struct {
		Observed   int64      `json:"observedGeneration"`
		Ready      int        `json:"readyReplicas"`
		Updated    int        `json:"updatedReplicas"`
		Available  int        `json:"availableReplicas"`
		Current    string     `json:"currentRevision"`
		Update     string     `json:"updateRevision"`
		Conditions conditions `json:"conditions"`
		// of a DaemonSet
		Desired        int `json:"desiredNumberScheduled"`
		NumberReady    int `json:"numberReady"`
		UpdatedOnNodes int `json:"updatedNumberScheduled"`
	} `json:"status"`
}

// onDelete is the update strategy in which pods stay as they are until somebody deletes them.
const onDelete = "OnDelete"

func (w workload) state(ready, wanted, updated int) State {
	s := State{Ready: ready >= wanted && updated >= wanted, Text: fmt.Sprintf("%d of %d pods ready", ready, wanted), Pods: labels(w.Spec.Selector)}
	if updated < wanted && ready >= wanted {
		s.Text = fmt.Sprintf("%d of %d pods are of the new template", updated, wanted)
	}
	return s
}

func labels(selector *metav1.LabelSelector) string {
	if selector == nil {
		return ""
	}
	all, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return ""
	}
	return all.String()
}

func statefulSet(text []byte) (State, error) {
	w, err := read[workload](text)
	if err != nil || w.Status.Observed < w.Metadata.Generation {
		return unseen(), err
	}
	wanted := orOne(w.Spec.Replicas)
	updated := wanted
	if w.Spec.UpdateStrategy.Type != onDelete && w.Status.Update != w.Status.Current && w.Status.Current != "" {
		updated = w.Status.Updated + w.Spec.UpdateStrategy.RollingUpdate.Partition
	}
	return w.state(w.Status.Ready, wanted, updated), nil
}

// A DaemonSet that no node takes is not ready: its pods are what was applied, and there are none.
func daemonSet(text []byte) (State, error) {
	w, err := read[workload](text)
	if err != nil || w.Status.Observed < w.Metadata.Generation {
		return unseen(), err
	}
	updated := w.Status.Desired
	if w.Spec.UpdateStrategy.Type != onDelete {
		updated = w.Status.UpdatedOnNodes
	}
	s := w.state(w.Status.NumberReady, w.Status.Desired, updated)
	if w.Status.Desired == 0 {
		s.Ready, s.Text, s.Stuck = false, "no pods", "no node is one for its pods (nodeSelector, affinity, taints)"
	}
	return s, nil
}

func deployment(text []byte) (State, error) {
	w, err := read[workload](text)
	if err != nil || w.Status.Observed < w.Metadata.Generation {
		return unseen(), err
	}
	s := w.state(min(w.Status.Ready, w.Status.Available), orOne(w.Spec.Replicas), w.Status.Updated)
	if s.Ready {
		return s, nil
	}
	if why, failed := w.Status.Conditions.is("ReplicaFailure"); failed {
		s.Stuck = why
	} else if why, late := w.Status.Conditions.with("Progressing", "False"); late {
		s.Stuck = why
	}
	return s, nil
}

// podState is that of a pod that is applied as one.
func podState(text []byte) (State, error) {
	p, err := read[core.Pod](text)
	if err != nil {
		return State{}, err
	}
	s := State{Text: "phase " + string(p.Status.Phase)}
	switch p.Status.Phase {
	case core.PodSucceeded:
		s.Ready = true
	case core.PodFailed:
		s.Failed = "its pod failed: " + joined(p.Status.Reason, p.Status.Message)
	case core.PodRunning:
		for _, c := range p.Status.Conditions {
			s.Ready = s.Ready || c.Type == core.PodReady && c.Status == core.ConditionTrue
		}
	case "":
		s.Text = "the scheduler has not seen it yet"
	}
	return s, nil
}
