package rollout

import (
	"fmt"
	"slices"
	"strings"

	batch "k8s.io/api/batch/v1"
)

// job is one of batch/v1. It is ready when it is complete: what comes after it needs what it did.
func job(text []byte) (State, error) {
	j, err := read[batch.Job](text)
	if err != nil {
		return State{}, err
	}
	wanted := 1
	if n := j.Spec.Completions; n != nil {
		wanted = int(*n)
	}
	s := State{Counts: true, Pods: labels(j.Spec.Selector), Text: fmt.Sprintf("%d of %d pods done, %d running", j.Status.Succeeded, wanted, j.Status.Active)}
	if j.Status.Failed > 0 {
		s.Text += fmt.Sprintf(", %d failed", j.Status.Failed)
	}
	for _, c := range j.Status.Conditions {
		if c.Status != "True" {
			continue
		}
		switch c.Type {
		case batch.JobComplete:
			s.Ready = true
		case batch.JobFailed:
			s.Failed = joined(c.Reason, c.Message)
		case batch.JobSuspended:
			s.Text = "suspended: a queue has not admitted it, or somebody holds it"
		}
	}
	return s, nil
}

// mpiJob is one of kubeflow.org/v2beta1 (its conditions: mpi-operator, pkg/apis/kubeflow/v2beta1/types.go). It is ready when it
// runs: its result is for those who wait for it.
func mpiJob(text []byte) (State, error) {
	j, err := read[struct {
		Metadata meta `json:"metadata"`
		Status   struct {
			Conditions conditions `json:"conditions"`
			Replicas   map[string]struct {
				Active    int `json:"active"`
				Succeeded int `json:"succeeded"`
				Failed    int `json:"failed"`
			} `json:"replicaStatuses"`
		} `json:"status"`
	}](text)
	if err != nil {
		return State{}, err
	}
	const nameLabel = "training.kubeflow.org/job-name" // mpi-operator: JobNameLabel of its pods and of its launcher, a Job
	of := nameLabel + "=" + j.Metadata.Name
	s := State{Counts: true, Text: "its controller has not seen it yet", Pods: of, Makes: []Made{{"batch/v1", "Job", of}}}
	var parts []string
	for role, r := range j.Status.Replicas {
		parts = append(parts, fmt.Sprintf("%s: %d running, %d done, %d failed", strings.ToLower(role), r.Active, r.Succeeded, r.Failed))
	}
	if slices.Sort(parts); len(parts) > 0 {
		s.Text = strings.Join(parts, "; ")
	}
	if _, held := j.Status.Conditions.is("Suspended"); held {
		s.Text = "suspended: a queue has not admitted it, or somebody holds it"
	}
	if why, failed := j.Status.Conditions.is("Failed"); failed {
		s.Failed = why
		return s, nil
	}
	_, running := j.Status.Conditions.is("Running")
	_, done := j.Status.Conditions.is("Succeeded")
	s.Ready = running || done
	return s, nil
}

// jobSet is one of jobset.x-k8s.io/v1alpha2 (its conditions and counts: api/jobset/v1alpha2/jobset_types.go). It is ready when
// every job of it is ready or done.
func jobSet(text []byte) (State, error) {
	j, err := read[struct {
		Metadata meta `json:"metadata"`
		Spec     struct {
			Jobs []struct {
				Name     string `json:"name"`
				Replicas *int   `json:"replicas"`
			} `json:"replicatedJobs"`
		} `json:"spec"`
		Status struct {
			Conditions conditions `json:"conditions"`
			Jobs       []struct {
				Name      string `json:"name"`
				Ready     int    `json:"ready"`
				Succeeded int    `json:"succeeded"`
			} `json:"replicatedJobsStatus"`
		} `json:"status"`
	}](text)
	if err != nil {
		return State{}, err
	}
	of := "jobset.sigs.k8s.io/jobset-name=" + j.Metadata.Name // JobSetNameKey, on its jobs and their pods
	s := State{Counts: true, Pods: of, Makes: []Made{{"batch/v1", "Job", of}}}
	wanted, ready := 0, 0
	for _, planned := range j.Spec.Jobs {
		wanted += orOne(planned.Replicas)
		for _, now := range j.Status.Jobs {
			if now.Name == planned.Name {
				ready += min(now.Ready+now.Succeeded, orOne(planned.Replicas))
			}
		}
	}
	s.Text = fmt.Sprintf("%d of %d jobs ready or done", ready, wanted)
	if _, held := j.Status.Conditions.is("Suspended"); held {
		s.Text = "suspended: a queue has not admitted it, or somebody holds it"
	}
	_, done := j.Status.Conditions.is("Completed")
	why, failed := j.Status.Conditions.is("Failed")
	switch {
	case failed:
		s.Failed = why
	case done || ready >= wanted && len(j.Status.Jobs) > 0:
		s.Ready = true
	}
	return s, nil
}
