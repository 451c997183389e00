package rollout

import "fmt"

// leaderWorkerSet is one of leaderworkerset.x-k8s.io/v1 (api/leaderworkerset/v1/leaderworkerset_types.go, and its controller:
// Available says that all groups are ready, Progressing that one is not; the two exclude each other). Releases before 0.8 write no
// observedGeneration: there the counts decide.
func leaderWorkerSet(text []byte) (State, error) {
	l, err := read[struct {
		Metadata meta `json:"metadata"`
		Spec     struct {
			Replicas *int `json:"replicas"`
		} `json:"spec"`
		Status struct {
			Observed   int64      `json:"observedGeneration"`
			Ready      int        `json:"readyReplicas"`
			Updated    int        `json:"updatedReplicas"`
			Conditions conditions `json:"conditions"`
		} `json:"status"`
	}](text)
	if err != nil {
		return State{}, err
	}
	of := "leaderworkerset.sigs.k8s.io/name=" + l.Metadata.Name // SetNameLabelKey, on its StatefulSets and their pods
	wanted := orOne(l.Spec.Replicas)
	s := State{Pods: of, Makes: []Made{{"apps/v1", "StatefulSet", of}}, Text: fmt.Sprintf("%d of %d groups ready", l.Status.Ready, wanted)}
	if l.Status.Observed > 0 && l.Status.Observed < l.Metadata.Generation || len(l.Status.Conditions) == 0 {
		s.Text = unseen().Text
		return s, nil
	}
	_, available := l.Status.Conditions.is("Available")
	_, updating := l.Status.Conditions.is("UpdateInProgress")
	if updating {
		s.Text = fmt.Sprintf("%d of %d groups ready, %d of the new template", l.Status.Ready, wanted, l.Status.Updated)
	}
	s.Ready = available && !updating && l.Status.Ready >= wanted
	return s, nil
}
