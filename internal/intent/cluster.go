package intent

import (
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// Cluster is the cluster file: what its owner decided. What can be discovered or defaulted is not asked for.
type Cluster struct {
	APIVersion string       `json:"apiVersion" yaml:"apiVersion" jsonschema:"enum=railwright.dev/v1alpha1,description=version of this format"`
	Kind       string       `json:"kind" yaml:"kind" jsonschema:"enum=Cluster,description=kind of this document"`
	Metadata   Metadata     `json:"metadata" yaml:"metadata" jsonschema:"description=name of the cluster"`
	Platform   Platform     `json:"platform" yaml:"platform" jsonschema:"enum=baremetal,enum=vsphere,enum=gke,enum=spark,description=where the machines come from"`
	Launcher   Launcher     `json:"launcher,omitempty" yaml:"launcher,omitempty" jsonschema:"enum=ssh,enum=slurm,enum=kubernetes" jsonschema_description:"how processes are started on the machines; default ssh, on gke kubernetes"`
	Nodes      []NodeGroup  `json:"nodes" yaml:"nodes" jsonschema:"minItems=1,description=groups of identical machines"`
	Fabric     Fabric       `json:"fabric" yaml:"fabric" jsonschema:"description=the network between the GPUs"`
	NCCL       string       `json:"nccl,omitempty" yaml:"nccl,omitempty" jsonschema:"pattern=^[0-9]+[.][0-9]+([.][0-9]+)?$,maxLength=16" jsonschema_description:"version of NCCL that jobs use, such as 2.30.7: its choices of algorithm and protocol are predicted; default: the newest known"`
	Serving    *Serving     `json:"serving,omitempty" yaml:"serving,omitempty" jsonschema:"description=the model that the cluster serves"`
	Kubernetes *Kube        `json:"kubernetes,omitempty" yaml:"kubernetes,omitempty" jsonschema:"description=what runs the pods where the launcher is kubernetes"`
	GKE        *GKECluster  `json:"gke,omitempty" yaml:"gke,omitempty" jsonschema:"description=what platform gke makes in Google Cloud"`
	VSphere    *VSphereSite `json:"vsphere,omitempty" yaml:"vsphere,omitempty" jsonschema:"description=the ESX hosts below the virtual machines of platform vsphere"`
	Waive      []Waiver     `json:"waive,omitempty" yaml:"waive,omitempty" jsonschema:"description=failing findings that are accepted until a date"`
}

// Platform is where the machines come from.
type Platform string

// The platforms.
const (
	Baremetal Platform = "baremetal"
	VSphere   Platform = "vsphere"
	GKE       Platform = "gke"
	Spark     Platform = "spark"
)

// Launcher is how processes are started on the machines.
type Launcher string

// The launchers.
const (
	SSH        Launcher = "ssh"
	Slurm      Launcher = "slurm"
	Kubernetes Launcher = "kubernetes"
)

// Metadata names the cluster.
type Metadata struct {
	Name string `json:"name" yaml:"name" jsonschema:"pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$,maxLength=63" jsonschema_description:"lower-case letters, digits and '-'"`
}

// NodeGroup is a set of equal machines.
type NodeGroup struct {
	Names   string     `json:"names" yaml:"names" jsonschema:"minLength=1" jsonschema_description:"a name, a range such as gpu[001-512] or rack[1-2]n[01-16], or several with commas between them"`
	Machine string     `json:"machine,omitempty" yaml:"machine,omitempty" jsonschema:"minLength=1,description=id of the machine in the catalog"`
	NICs    string     `json:"nics,omitempty" yaml:"nics,omitempty" jsonschema:"minLength=1" jsonschema_description:"network interfaces of the fabric in rail order, such as eth[1-8]; default: those of the machine in the catalog; on spark those of the cabled ports, by default of port 1, and of both ports in a ring. A twin that is not named beside its named one gets no address"`
	SSH     *SSHTarget `json:"ssh,omitempty" yaml:"ssh,omitempty" jsonschema:"description=how to log in"`

	Network fabric.Network `json:"network,omitempty" yaml:"network,omitempty" jsonschema:"enum=netplan,enum=networkmanager" jsonschema_description:"what configures the interfaces: netplan with systemd-networkd, or NetworkManager (RHEL, Rocky, SLES); default netplan"`

	Management string `json:"management,omitempty" yaml:"management,omitempty" jsonschema:"minLength=1,maxLength=15" jsonschema_description:"interface of the ordinary network, over which processes find each other; default: that of the machine in the catalog"`
}

// SSHTarget is how to log in.
type SSHTarget struct {
	User string `json:"user,omitempty" yaml:"user,omitempty" jsonschema:"pattern=^[A-Za-z_][A-Za-z0-9_.-]*$,maxLength=32" jsonschema_description:"login name; default: that of the ssh configuration"`
}

// Fabric is the network between the GPUs.
type Fabric struct {
	Kind       fabric.Transport `json:"kind" yaml:"kind" jsonschema:"enum=roce,enum=infiniband,enum=ib,description=RDMA transport: ib is infiniband"`
	Addressing *Addressing      `json:"addressing,omitempty" yaml:"addressing,omitempty" jsonschema:"description=how the NICs get their addresses"`
	MTU        int              `json:"mtu,omitempty" yaml:"mtu,omitempty" jsonschema:"minimum=1280,maximum=9978" jsonschema_description:"of every NIC of the fabric, in bytes; default 9000 on RoCE (8896 on gke), 4092 on InfiniBand"`
	PKey       string           `json:"pkey,omitempty" yaml:"pkey,omitempty" jsonschema:"pattern=^0x[0-9a-fA-F]+$,maxLength=6,description=InfiniBand partition that all ports are full members of; default 0x7fff"`
	Leaf       *Leaf            `json:"leaf,omitempty" yaml:"leaf,omitempty" jsonschema:"description=the switch that the machines are cabled to"`
	Spine      *Spine           `json:"spine,omitempty" yaml:"spine,omitempty" jsonschema:"description=the switches between the leaves, where there is more than one"`
	Traffic    *Traffic         `json:"traffic,omitempty" yaml:"traffic,omitempty" jsonschema:"description=the traffic classes of RoCE"`
}

// Addressing is how the NICs get their addresses.
type Addressing struct {
	Scheme fabric.Scheme `json:"scheme,omitempty" yaml:"scheme,omitempty" jsonschema:"enum=p2p31,enum=rail24,enum=flat,enum=twin24,enum=none" jsonschema_description:"p2p31: a /31 per cable; rail24: a /24 per rail and leaf; flat: one subnet for all; twin24: the only one on spark, a /24 per twin of a cable, or of all cables to a switch; none: the only one on InfiniBand and gke; default p2p31 elsewhere"`
	Pool   netip.Prefix  `json:"pool,omitzero" yaml:"pool,omitempty" jsonschema_description:"IPv4 network from which all addresses are taken; default 10.64.0.0/10"`
}

// MarshalYAML writes the pool as text. The library's own omitempty takes every netip.Prefix for empty,
// as it looks at exported fields only.
func (a Addressing) MarshalYAML() (any, error) {
	plain := struct {
		Scheme fabric.Scheme `yaml:"scheme,omitempty"`
		Pool   string        `yaml:"pool,omitempty"`
	}{Scheme: a.Scheme}
	if a.Pool.IsValid() {
		plain.Pool = a.Pool.String()
	}
	return plain, nil
}

// Leaf is the switch that the machines are cabled to.
type Leaf struct {
	Model string `json:"model" yaml:"model" jsonschema:"minLength=1,description=id of the switch in the catalog"`
	OS    string `json:"os,omitempty" yaml:"os,omitempty" jsonschema:"minLength=1" jsonschema_description:"operating system of the switch; default: the only one that the catalog lists for the model"`

	Count    int `json:"count,omitempty" yaml:"count,omitempty" jsonschema:"minimum=1,maximum=16384" jsonschema_description:"how many of them: 1 connects everything; a multiple of the rails connects one rail of a group of hosts each; of any other number each connects all rails of some hosts; default: 1 while its ports suffice, then by rails with half of the ports for spines"`
	Breakout int `json:"breakout,omitempty" yaml:"breakout,omitempty" jsonschema:"minimum=1,maximum=16" jsonschema_description:"ports into which each cage towards hosts is split; default: as the catalog has the model"`
}

// Spine is the switch that leaves are cabled to.
type Spine struct {
	Model string `json:"model" yaml:"model" jsonschema:"minLength=1,description=id of the switch in the catalog"`
	OS    string `json:"os,omitempty" yaml:"os,omitempty" jsonschema:"minLength=1" jsonschema_description:"operating system of the switch; default: the only one that the catalog lists for the model"`
	Count int    `json:"count,omitempty" yaml:"count,omitempty" jsonschema:"minimum=1,maximum=512" jsonschema_description:"how many of them; default: the fewest that carry what the hosts send"`
}

// Traffic says in which classes RoCE travels. Written once; host, NIC and switch are rendered from it.
type Traffic struct {
	RoCE     *Class    `json:"roce,omitempty" yaml:"roce,omitempty" jsonschema_description:"RoCE packets; default dscp 26, priority 3"`
	CNP      *Class    `json:"cnp,omitempty" yaml:"cnp,omitempty" jsonschema_description:"congestion notification packets; default dscp 48, priority 7"`
	PFC      *bool     `json:"pfc,omitempty" yaml:"pfc,omitempty" jsonschema_description:"pause the sender of RoCE instead of dropping its packets; default true, false is lossy RoCE"`
	ECN      *ECN      `json:"ecn,omitempty" yaml:"ecn,omitempty" jsonschema:"description=mark packets on congestion (DCQCN); off when absent"`
	Share    int       `json:"share,omitempty" yaml:"share,omitempty" jsonschema:"minimum=1,maximum=99" jsonschema_description:"percent of the bandwidth that RoCE gets where other traffic competes with it; default 50"`
	Watchdog *Watchdog `json:"watchdog,omitempty" yaml:"watchdog,omitempty" jsonschema:"description=break PFC deadlocks; off when absent"`
	CableM   int       `json:"cable_m,omitempty" yaml:"cable_m,omitempty" jsonschema:"minimum=1,maximum=2000,description=longest cable in metres; default 5"`

	ShareSource string `json:"-" yaml:"-"` // of Share where it is the default; empty: the cluster file
	CableSource string `json:"-" yaml:"-"` // of CableM where it is the default; empty: the cluster file
}

// ECN is how a switch marks RoCE packets on congestion. Marking begins at the lower queue length and reaches the
// probability at the upper one, above which every packet is marked.
type ECN struct {
	MinKiB      int `json:"min_kib,omitempty" yaml:"min_kib,omitempty" jsonschema:"minimum=1,maximum=1048576,description=queue length in KiB from which packets are marked; default 1024"`
	MaxKiB      int `json:"max_kib,omitempty" yaml:"max_kib,omitempty" jsonschema:"minimum=1,maximum=1048576,description=queue length in KiB above which every packet is marked; default 2048"`
	Probability int `json:"probability,omitempty" yaml:"probability,omitempty" jsonschema:"minimum=1,maximum=100,description=percent of the packets that are marked just below max_kib; default 5"`

	Defaults []string `json:"-" yaml:"-"` // fields that the file leaves out
}

// Watchdog breaks PFC deadlocks. The ranges are those of SONiC (sonic-pfcwd.yang), which demands no order of the two.
type Watchdog struct {
	DetectMs  int `json:"detect_ms,omitempty" yaml:"detect_ms,omitempty" jsonschema:"minimum=100,maximum=5000,description=milliseconds of pause after which a queue counts as stuck; default 200"`
	RestoreMs int `json:"restore_ms,omitempty" yaml:"restore_ms,omitempty" jsonschema:"minimum=100,maximum=60000,description=milliseconds without pause after which it works again; default 400"`

	Defaults []string `json:"-" yaml:"-"` // fields that the file leaves out
}

// Class is a DSCP value and the priority it travels in.
type Class struct {
	DSCP     int `json:"dscp" yaml:"dscp" jsonschema:"minimum=0,maximum=63,description=value of the DSCP field"`
	Priority int `json:"priority" yaml:"priority" jsonschema:"minimum=0,maximum=7,description=802.1p priority"`

	Source string `json:"-" yaml:"-"` // of a default; empty: the cluster file
}

// Serving is the model that the cluster serves.
type Serving struct {
	Model   string `json:"model" yaml:"model" jsonschema:"minLength=1,description=id of the model in the catalog"`
	Engine  string `json:"engine,omitempty" yaml:"engine,omitempty" jsonschema:"enum=sglang,enum=vllm,default=sglang,description=inference engine"`
	Context int    `json:"context,omitempty" yaml:"context,omitempty" jsonschema:"minimum=1,maximum=1000000000,description=longest context in tokens"`
	Image   string `json:"image,omitempty" yaml:"image,omitempty" jsonschema:"minLength=1,maxLength=255,pattern=^[A-Za-z0-9][A-Za-z0-9._/:@-]*$" jsonschema_description:"container image of the engine; default: that of the catalog for the machine or its GPU"`
	Version string `json:"engine_version,omitempty" yaml:"engine_version,omitempty" jsonschema:"minLength=1,maxLength=40" jsonschema_description:"version of the engine in that image, whose memory rules and options are followed; default: that of the image in the catalog"`

	RemoteCode *bool `json:"trust_remote_code,omitempty" yaml:"trust_remote_code,omitempty" jsonschema_description:"whether the engine may run Python code of the model's repository (--trust-remote-code); where it is absent, nothing of it runs, and the plan says of a model that needs it"`

	Group    int `json:"group,omitempty" yaml:"group,omitempty" jsonschema:"minimum=1,maximum=1024" jsonschema_description:"pods of a group, which has a whole copy of the model; with launcher kubernetes; default the fewest on which it fits"`
	Replicas int `json:"replicas,omitempty" yaml:"replicas,omitempty" jsonschema:"minimum=1,maximum=16384" jsonschema_description:"groups; with launcher kubernetes; default as many as the machines have room for"`

	Storage     *Storage `json:"storage,omitempty" yaml:"storage,omitempty" jsonschema:"description=where pods find the weights"`
	TokenSecret string   `json:"token_secret,omitempty" yaml:"token_secret,omitempty" jsonschema:"pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$,maxLength=63" jsonschema_description:"Secret in the namespace of the pods, which exists, with the token of the download in its key HF_TOKEN; default none, for weights that anybody may read. The token itself is never written here"`
	PullSecrets []string `json:"pull_secrets,omitempty" yaml:"pull_secrets,omitempty" jsonschema:"maxItems=16" jsonschema_description:"Secrets in that namespace, which exist, for the registry of the image"`
}

// Storage is where pods find the weights.
type Storage struct {
	Class string  `json:"class,omitempty" yaml:"class,omitempty" jsonschema:"pattern=^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$,maxLength=253" jsonschema_description:"storage class of the volumes; default that of the cluster"`
	Mode  string  `json:"mode,omitempty" yaml:"mode,omitempty" jsonschema:"enum=ReadWriteOnce,enum=ReadWriteMany" jsonschema_description:"ReadWriteOnce: a volume with a copy for each pod; ReadWriteMany: one for all; default ReadWriteOnce"`
	GBs   float64 `json:"gbs,omitempty" yaml:"gbs,omitempty" jsonschema:"minimum=0.01,maximum=1000" jsonschema_description:"GB/s (10^9 bytes per second) that a machine reads from it while all read; decides probes and timeouts; default 0.5, slower than any storage in use for this"`
}

// Waiver excludes a failing finding from the verdict until a date.
type Waiver struct {
	Rule    string `json:"rule" yaml:"rule" jsonschema:"minLength=1,description=id of the rule"`
	Subject string `json:"subject" yaml:"subject" jsonschema:"minLength=1" jsonschema_description:"node or node:nic, as findings print it"`
	Reason  string `json:"reason" yaml:"reason" jsonschema:"minLength=1,description=why it is accepted"`
	Until   string `json:"until" yaml:"until" jsonschema:"format=date" jsonschema_description:"last day of the waiver, as 2026-12-31"`
}
