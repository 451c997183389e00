package fabric

import (
	"fmt"
	"strings"
)

// ServingPods is how pods of Kubernetes serve a model: groups of pods, each with a whole copy of it.
type ServingPods struct {
	Kind      string `json:"kind"` // of the objects that make the pods: leaderworkerset, one for all groups; jobset, one for each
	Name      string `json:"name"` // of the groups, and what all other names begin with: a DNS label
	Namespace string `json:"namespace"`
	Groups    int    `json:"groups"`
	Size      int    `json:"size"`           // pods of a group
	Idle      int    `json:"idle,omitempty"` // pods that the machines have room for beside those of the groups
	GPUs      int    `json:"gpus"`           // per pod
	Rails     int    `json:"rails"`          // RDMA devices per pod
	Port      int    `json:"port"`           // on which the first pod of a group answers

	// Command is what every pod runs. Behind it come Joining, in groups of several pods, and OfWorkers, in all of these but the first.
	// Joining is expanded by a shell: $RANK is the number of the pod in its group, $LEADER the name of the first.
	Command   []string `json:"command"`
	Joining   []string `json:"joining,omitempty"`
	OfWorkers []string `json:"of_workers,omitempty"`

	Weights     ServingWeights `json:"weights"`
	Times       ServingTimes   `json:"times"`
	SharedBytes int64          `json:"shared_memory_bytes"` // of /dev/shm, for each pod
	Queue       *ServingQueue  `json:"queue,omitempty"`     // nil: nothing admits groups as a whole
	TokenSecret string         `json:"token_secret,omitempty"`
	PullSecrets []string       `json:"pull_secrets,omitempty"`
	Topology    string         `json:"topology_file,omitempty"` // key of the ConfigMap with NCCL's topology files; empty: the machine shows its own
	Selector    string         `json:"selector,omitempty"`      // label of nodes: NAME=VALUE; empty: any node with the devices
	Cloud       string         `json:"cloud,omitempty"`         // gke: its installers put driver and NCCL into folders of the machine
}

// The values of ServingPods.Kind.
const (
	LeaderWorkerSets = "leaderworkerset"
	JobSets          = "jobset"
)

// The jobs of a group that is a JobSet: of its first pod, and of the others.
const (
	LeaderJob  = "leader"
	WorkersJob = "workers"
)

// ServingWeights is where the pods find the weights, and how these get there.
type ServingWeights struct {
	Folder        string   `json:"folder"`         // in the pods
	DownloadBytes int64    `json:"download_bytes"` // of one copy
	VolumeBytes   int64    `json:"volume_bytes"`   // of one volume
	Mode          string   `json:"mode"`           // ReadWriteOnce: a volume for each pod; ReadWriteMany: one for all
	Class         string   `json:"class,omitempty"`
	Only          []string `json:"only"`             // patterns of the files that are downloaded
	Except        []string `json:"except,omitempty"` // of those, patterns of files that are not
	GBs           float64  `json:"gbs"`              // GB/s (10^9 bytes per second) that a machine reads while all read
	GBsSource     string   `json:"gbs_source"`
}

// ServingTimes are how long parts of a start may take at most, in seconds.
type ServingTimes struct {
	Join     int      `json:"join_s"`     // until the last pod of a group runs, from the first one on
	Imports  int      `json:"imports_s"`  // until weights are read
	Load     int      `json:"load_s"`     // of the weights into the GPUs
	Graphs   int      `json:"graphs_s"`   // compiling kernels and capturing graphs
	Download int      `json:"download_s"` // of all copies of the weights
	Notes    []string `json:"notes,omitempty"`
}

// Startup is how long a pod may take from its start until it answers, in seconds.
func (t ServingTimes) Startup() int { return t.Join + t.Imports + t.Load + t.Graphs }

// ServingQueue admits groups of pods as a whole.
type ServingQueue struct {
	With     string `json:"with"`               // kueue, volcano
	Name     string `json:"name"`               // of the queue
	Topology string `json:"topology,omitempty"` // label of nodes of which all pods of a group share one value
}

// PodName is the name of a pod of a group, both from 0 on, as LeaderWorkerSet names them. Those of a JobSet are other, see JobSetPod;
// their volumes are named so all the same.
func (s *ServingPods) PodName(group, rank int) string {
	if rank == 0 {
		return fmt.Sprintf("%s-%d", s.Name, group)
	}
	return fmt.Sprintf("%s-%d-%d", s.Name, group, rank)
}

// JobSetPod is the name of a pod of a group that is a JobSet, both from 0 on, without the random suffix that its Job puts behind it:
// SET-JOB-INDEX-POD (JobSet, network; Kubernetes, Indexed Jobs).
func (s *ServingPods) JobSetPod(group, rank int) string {
	if rank == 0 {
		return fmt.Sprintf("%s-%d-%s-0-0", s.Name, group, LeaderJob)
	}
	return fmt.Sprintf("%s-%d-%s-0-%d", s.Name, group, WorkersJob, rank-1)
}

// DNSLabel makes a name of Kubernetes of any text: lower-case letters, digits and '-', a letter first (RFC 1035), at most so many
// characters; "model" where nothing is left.
func DNSLabel(text string, most int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := strings.TrimLeft(b.String(), "-")
	if name != "" && name[0] <= '9' {
		name = "m-" + name
	}
	name = strings.Trim(name[:min(len(name), most)], "-")
	if name == "" {
		return "model"
	}
	return name
}
