// Package rollout says of objects of Kubernetes what becomes of them: when each kind is ready and how far it is, which pods it
// makes, what these need of a cluster, and what keeps one of them from running. It is pure: it reads objects as the API server has
// them, and asks for none.
package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of an API group: Job of batch. The versions of a kind say of its status the same, or are written out.
type Kind struct{ Group, Name string }

// KindOf is that of an object.
func KindOf(apiVersion, kind string) Kind {
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = "" // v1
	}
	return Kind{group, kind}
}

// State is how far an object is.
type State struct {
	Ready  bool
	Text   string // for people: 1 of 2 groups ready
	Failed string // it has ended, and never gets ready: why
	Stuck  string // its controller says that it does not go on: why
	Pods   string // selector of its pods by labels; empty: it has none, or they are unknown
	Makes  []Made // objects through which it makes its pods, and of which their events are
	// Counts says that its controller counts what fails, and goes on or ends it by itself: a failure is no reason to give up before.
	Counts bool
}

// Made are objects that a controller makes for another object.
type Made struct{ APIVersion, Kind, Labels string }

type reader func(text []byte) (State, error)

// readers are the kinds that become ready after they are stored, each with the function that reads its status.
func readers() map[Kind]reader {
	return map[Kind]reader{
		{"", "Namespace"}:                               namespace,
		{"", "PersistentVolumeClaim"}:                   volumeClaim,
		{"", "Pod"}:                                     podState,
		{"", "Service"}:                                 service,
		{"apps", "StatefulSet"}:                         statefulSet,
		{"apps", "DaemonSet"}:                           daemonSet,
		{"apps", "Deployment"}:                          deployment,
		{"batch", "Job"}:                                job,
		{"jobset.x-k8s.io", "JobSet"}:                   jobSet,
		{"kubeflow.org", "MPIJob"}:                      mpiJob,
		{"leaderworkerset.x-k8s.io", "LeaderWorkerSet"}: leaderWorkerSet,
		{"mellanox.com", "NicClusterPolicy"}:            nicClusterPolicy,
		{"nvidia.com", "ClusterPolicy"}:                 clusterPolicy,
		{"kueue.x-k8s.io", "ClusterQueue"}:              queue,
		{"kueue.x-k8s.io", "LocalQueue"}:                queue,
	}
}

// stored are the kinds that are in effect as soon as the API server has them: nothing about them is waited for.
func stored() []Kind {
	return []Kind{
		{"", "ConfigMap"}, {"", "Secret"}, {"", "ServiceAccount"}, {"", "ResourceQuota"}, {"", "LimitRange"}, {"", "PersistentVolume"},
		{"apiextensions.k8s.io", "CustomResourceDefinition"}, // its kind is waited for where it is applied
		{"kueue.x-k8s.io", "ResourceFlavor"}, {"kueue.x-k8s.io", "Topology"},
		{"networking.k8s.io", "NetworkPolicy"}, {"policy", "PodDisruptionBudget"},
		{"rbac.authorization.k8s.io", "ClusterRole"}, {"rbac.authorization.k8s.io", "ClusterRoleBinding"},
		{"rbac.authorization.k8s.io", "Role"}, {"rbac.authorization.k8s.io", "RoleBinding"},
		{"resource.k8s.io", "DeviceClass"}, {"resource.k8s.io", "ResourceClaim"}, {"resource.k8s.io", "ResourceClaimTemplate"},
		{"scheduling.k8s.io", "PriorityClass"}, {"storage.k8s.io", "StorageClass"},
	}
}

// Wait is whether an object of a kind is waited for.
type Wait int

// Unknown: nothing here knows when it is ready. Stored: it is ready once the server has it. Waited: Of says when.
const (
	Unknown Wait = iota
	Stored
	Waited
)

// Waits says whether objects of a kind are waited for.
func Waits(k Kind) Wait {
	if readers()[k] != nil {
		return Waited
	}
	if slices.Contains(stored(), k) {
		return Stored
	}
	return Unknown
}

// Of reads the state of an object of a kind that is waited for, as the API server has it.
func Of(k Kind, text []byte) (State, error) {
	read := readers()[k]
	if read == nil {
		return State{}, fmt.Errorf("kind %s of API group %q: nothing here knows when it is ready", k.Name, k.Group)
	}
	return read(text)
}

// condition is one of status.conditions. ObservedGeneration is 0 where a controller does not write it.
type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

type conditions []condition

// text is reason and message of a condition of a type with status True; ok is false where there is none.
func (all conditions) is(kind string) (text string, ok bool) { return all.with(kind, "True") }

func (all conditions) with(kind, status string) (text string, ok bool) {
	for _, c := range all {
		if c.Type == kind && c.Status == status {
			return joined(c.Reason, c.Message), true
		}
	}
	return "", false
}

// joined is a reason with its message, or the one of them that there is.
func joined(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// meta is the part of metadata that a status refers to.
type meta struct {
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
}

// unseen is the state of an object whose controller has not seen what it is now.
func unseen() State { return State{Text: "its controller has not seen it yet"} }

// orOne is a number of replicas, which is one where nobody says another.
func orOne(n *int) int {
	if n == nil {
		return 1
	}
	return *n
}

func read[T any](text []byte) (o T, err error) { return o, json.Unmarshal(text, &o) }
