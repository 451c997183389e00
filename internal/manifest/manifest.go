package manifest

import "strings"

// Text is a value of a file with its line.
type Text struct {
	Value string
	Line  int  // from 1; 0: it is not in the file
	Open  bool // a template, a variable or another object fills it in: Value is not what will be there
}

// Known reports whether the file says what the value is.
func (t Text) Known() bool { return t.Line > 0 && !t.Open }

// File is what one text holds.
type File struct {
	Name      string
	Documents int
	Workloads []Workload
	Services  []Service
	Pools     []Pool
	Problems  []Problem // what the API server refuses or leaves out
	Unread    []Note    // what was not understood
	Broken    bool      // a part of it is no YAML
}

// Note is a place in a file and what is to be said of it.
type Note struct {
	Line int
	What string
}

// Problem is something that is written and does not count, or that is refused.
type Problem struct {
	Line     int
	Where    string // object and path: Pod a: spec.containers[0].enw
	What     string
	Expected string
	Refused  bool // the API server refuses the object; else the value is dropped or replaced
}

// Form is how a workload is written.
type Form string

// The forms.
const (
	Kubernetes Form = "Kubernetes"
	Compose    Form = "compose file"
	Docker     Form = "docker run"
)

// Workload is an object that starts pods, a service of a compose file, or a docker run line.
type Workload struct {
	Form      Form
	API, Kind string
	Name      string
	Namespace string
	Line      int
	Pods      []Pod
	Group     int  // pods that work together, as a LeaderWorkerSet's size says; 0: the object does not say
	Fragment  bool // only a part of an object: what is absent may be elsewhere
	Operated  bool // an operator makes the pods from the templates and what it knows: what is absent may be added
	Selects   map[string]string
	Service   string // serviceName of a StatefulSet

	Labels, Annotations map[string]string
	Owner               Owner // of a live pod
}

// Owner is the object that made a live one.
type Owner struct{ API, Kind, Name string }

// String is the kind and name.
func (w Workload) String() string {
	name := w.Name
	if name == "" {
		name = "(unnamed)"
	}
	return w.Kind + " " + name
}

// Pod is one template of a pod.
type Pod struct {
	Role                          string // leader, worker, the key above the template; empty: the only one
	Path                          string // spec.template.spec
	Line                          int
	Replicas                      int // pods of this template in a group; 0: unknown
	HostNetwork, HostIPC, HostPID bool
	DNSPolicy                     Text
	Networks                      bool // annotations or claims attach interfaces beside eth0
	Claims                        int
	Volumes                       []Volume
	Containers                    []Container
	Labels, Selector              map[string]string
	Holes                         int  // lines of templates inside: what they write is unknown
	Rewritten                     bool // an operator makes the pod from parts of its own: it is not a pod spec
}

// Volume is a volume of a pod.
type Volume struct {
	Name   string
	Line   int
	Kind   string // emptyDir, hostPath, persistentVolumeClaim
	Medium Text   // of an emptyDir
	Size   Text   // sizeLimit of an emptyDir
	Path   string // of a hostPath
}

// Mount is a volume in a container.
type Mount struct {
	Name, Path string
	Line       int
}

// Env is a variable of a container.
type Env struct {
	Name  string
	Value Text
	From  string // fieldRef, secretKeyRef, configMapKeyRef; empty: Value
}

// Probe is how the kubelet asks a container.
type Probe struct {
	Kind             string // startup, readiness, liveness
	Line             int
	HTTP, TCP, Exec  bool
	Port             Text // a number, or the name of a port
	Delay            int  // s
	Period, Failures int  // s, count: with the defaults of the API
}

// Budget is how long a container may fail the probe from its start, in seconds.
func (p Probe) Budget() int { return p.Delay + p.Period*p.Failures }

// Container is a container of a pod.
type Container struct {
	Name             string
	Line             int
	Init             bool
	Image            Text
	Command, Args    []Text
	Env              []Env
	EnvFrom          int
	Limits, Requests map[string]Text
	Mounts           []Mount
	Probes           []Probe
	Ports            map[string]int
	Privileged       bool
	Capabilities     []string
	Devices          []string // of compose and docker: paths that are given to it
	Memlock          Text     // of compose and docker: the ulimit
	SHM              Text     // of compose and docker: the size of /dev/shm
	Script           Script   // what command and arguments run
}

// Variable finds a variable by its name; the last of two counts, as for the kubelet.
func (c *Container) Variable(name string) (Env, bool) {
	for i := len(c.Env) - 1; i >= 0; i-- {
		if c.Env[i].Name == name {
			return c.Env[i], true
		}
	}
	return Env{}, false
}

// Mounted finds what is mounted at a path, or at a folder above it.
func (c *Container) Mounted(path string) (Mount, bool) {
	best := Mount{}
	for _, m := range c.Mounts {
		at := strings.TrimSuffix(m.Path, "/")
		if (path == at || strings.HasPrefix(path, at+"/")) && len(at) >= len(best.Path) {
			best = m
		}
	}
	return best, best.Path != ""
}

// Volume finds a volume of the pod by its name.
func (p *Pod) Volume(name string) (Volume, bool) {
	for _, v := range p.Volumes {
		if v.Name == name {
			return v, true
		}
	}
	return Volume{}, false
}

// Service is a Service of Kubernetes.
type Service struct {
	Name     string
	Line     int
	Headless bool
	NotReady bool // publishNotReadyAddresses
	Selector map[string]string
	Ports    []Text // targetPort, or port
}

// Pool is a resource that the RDMA shared device plugin offers.
type Pool struct {
	Name  string // without the prefix rdma/
	Line  int
	Names []string // of the interfaces in it; none: selected in another way
	Max   Text     // rdmaHcaMax: how many pods may share it
}
