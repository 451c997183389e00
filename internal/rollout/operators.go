package rollout

import (
	"cmp"
	"fmt"
	"strings"
)

// policy is what both of NVIDIA's operators say of their policies. NicClusterPolicy, mellanox.com/v1alpha1: state is ready,
// notReady, ignore or error, with one for each part of it (api/v1alpha1/nicclusterpolicy_types.go). ClusterPolicy, nvidia.com/v1:
// state is ready, notReady or ignored (api/nvidia/v1). ignore is said of any policy but the one that an operator takes.
type policy struct {
	Metadata meta `json:"metadata"`
	Status   struct {
		State   string `json:"state"`
		Reason  string `json:"reason"`
		Applied []struct {
			Name    string `json:"name"`
			State   string `json:"state"`
			Message string `json:"message"`
		} `json:"appliedStates"`
		Conditions conditions `json:"conditions"`
	} `json:"status"`
}

// seen reports whether the state is of the policy as it is now. Releases whose conditions have no generation say nothing of that.
func (p policy) seen() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" && c.ObservedGeneration > 0 && c.ObservedGeneration < p.Metadata.Generation {
			return false
		}
	}
	return p.Status.State != ""
}

func (p policy) state(ignored string) State {
	if !p.seen() {
		return unseen()
	}
	// An operator tries again until it is ready: a part in error may have waited for a node or another part.
	s := State{Counts: true, Ready: p.Status.State == "ready", Text: "state " + p.Status.State}
	switch p.Status.State {
	case ignored:
		s.Failed = "the operator ignores it: " + cmp.Or(p.Status.Reason, "there is another one of its kind")
	case "error":
		s.Stuck = cmp.Or(p.Status.Reason, "state error")
	}
	return s
}

func nicClusterPolicy(text []byte) (State, error) {
	p, err := read[policy](text)
	if err != nil {
		return State{}, err
	}
	s := p.state("ignore")
	var waits, errs []string
	parts, ready := 0, 0
	for _, part := range p.Status.Applied {
		switch part.State {
		case "ready":
			parts, ready = parts+1, ready+1
		case "error":
			parts, errs = parts+1, append(errs, strings.TrimSuffix(part.Name+": "+part.Message, ": "))
		case "notReady":
			parts, waits = parts+1, append(waits, strings.TrimSuffix(part.Name+": "+part.Message, ": "))
		}
	}
	if s.Ready || s.Failed != "" || parts == 0 {
		return s, nil
	}
	s.Text = fmt.Sprintf("%d of %d parts ready", ready, parts)
	if all := append(errs, waits...); len(all) > 0 {
		s.Text += ", not " + strings.Join(all, ", ")
	}
	if len(errs) > 0 {
		s.Stuck = strings.Join(errs, "; ")
	}
	return s, nil
}

func clusterPolicy(text []byte) (State, error) {
	p, err := read[policy](text)
	if err != nil {
		return State{}, err
	}
	s := p.state("ignored")
	if why, not := p.Status.Conditions.with("Ready", "False"); not && !s.Ready && s.Failed == "" && p.seen() {
		s.Text += ": " + why
	}
	if why, wrong := p.Status.Conditions.is("Error"); wrong && !s.Ready {
		s.Stuck = why
	}
	return s, nil
}

// queue is a ClusterQueue or a LocalQueue of Kueue: Active says that it admits (kueue, pkg/controller/core).
func queue(text []byte) (State, error) {
	q, err := read[struct {
		Metadata meta `json:"metadata"`
		Status   struct {
			Conditions conditions `json:"conditions"`
		} `json:"status"`
	}](text)
	if err != nil {
		return State{}, err
	}
	for _, c := range q.Status.Conditions {
		if c.Type != "Active" || c.ObservedGeneration > 0 && c.ObservedGeneration < q.Metadata.Generation {
			continue
		}
		s := State{Ready: c.Status == "True", Text: "admits nothing: " + joined(c.Reason, c.Message)}
		if !s.Ready {
			s.Stuck = joined(c.Reason, c.Message)
		}
		return s, nil
	}
	return unseen(), nil
}
