package intent

import (
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// Cluster is the cluster file: what its owner decided. What can be discovered or defaulted is not asked for.
type Cluster struct {
	APIVersion string      `json:"apiVersion" yaml:"apiVersion" jsonschema:"enum=railwright.dev/v1alpha1"`
	Kind       string      `json:"kind" yaml:"kind" jsonschema:"enum=Cluster"`
	Metadata   Metadata    `json:"metadata" yaml:"metadata"`
	Platform   Platform    `json:"platform" yaml:"platform" jsonschema:"enum=baremetal,enum=vsphere,enum=gke,enum=spark,description=where the machines come from"`
	Launcher   Launcher    `json:"launcher,omitempty" yaml:"launcher,omitempty" jsonschema:"enum=ssh,enum=slurm,enum=kubernetes,default=ssh,description=how processes get onto the machines"`
	Nodes      []NodeGroup `json:"nodes" yaml:"nodes" jsonschema:"minItems=1"`
	Fabric     Fabric      `json:"fabric" yaml:"fabric"`
	Serving    *Serving    `json:"serving,omitempty" yaml:"serving,omitempty"`
	Waive      []Waiver    `json:"waive,omitempty" yaml:"waive,omitempty"`
}

// Platform says where the machines come from.
type Platform string

// The platforms.
const (
	Baremetal Platform = "baremetal"
	VSphere   Platform = "vsphere"
	GKE       Platform = "gke"
	Spark     Platform = "spark"
)

// Launcher says how processes get onto the machines.
type Launcher string

// The launchers.
const (
	SSH        Launcher = "ssh"
	Slurm      Launcher = "slurm"
	Kubernetes Launcher = "kubernetes"
)

// Metadata names the cluster.
type Metadata struct {
	Name string `json:"name" yaml:"name" jsonschema:"pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$,maxLength=63"`
}

// NodeGroup is a set of equal machines.
type NodeGroup struct {
	Names   string     `json:"names" yaml:"names" jsonschema:"description=a name or a range such as gpu[001-512]"`
	Machine string     `json:"machine,omitempty" yaml:"machine,omitempty" jsonschema:"description=id of the machine in the catalog"`
	NICs    string     `json:"nics,omitempty" yaml:"nics,omitempty" jsonschema:"description=network interfaces of the fabric in rail order; default: the catalog's"`
	SSH     *SSHTarget `json:"ssh,omitempty" yaml:"ssh,omitempty"`
}

// SSHTarget says how to log in.
type SSHTarget struct {
	User string `json:"user,omitempty" yaml:"user,omitempty"`
}

// Fabric is the network between the GPUs.
type Fabric struct {
	Kind       fabric.Transport `json:"kind" yaml:"kind" jsonschema:"enum=roce,enum=infiniband"`
	Addressing *Addressing      `json:"addressing,omitempty" yaml:"addressing,omitempty"`
	MTU        int              `json:"mtu,omitempty" yaml:"mtu,omitempty" jsonschema:"minimum=1280,maximum=9978,description=bytes; default 9000 on RoCE and 4092 on InfiniBand"`
	Leaf       *Leaf            `json:"leaf,omitempty" yaml:"leaf,omitempty"`
	Traffic    *Traffic         `json:"traffic,omitempty" yaml:"traffic,omitempty"`
}

// Addressing says how the NICs get their addresses.
type Addressing struct {
	Scheme fabric.Scheme `json:"scheme,omitempty" yaml:"scheme,omitempty" jsonschema:"enum=p2p31,enum=rail24,enum=flat,default=p2p31"`
	Pool   netip.Prefix  `json:"pool,omitzero" yaml:"pool,omitempty" jsonschema:"type=string"`
}

// Leaf is the switch that the machines are cabled to.
type Leaf struct {
	Model string `json:"model" yaml:"model" jsonschema:"description=id of the switch in the catalog"`
	OS    string `json:"os,omitempty" yaml:"os,omitempty"`
}

// Traffic says in which classes RoCE travels. Written once; host, NIC and switch are rendered from it.
type Traffic struct {
	RoCE     *Class    `json:"roce,omitempty" yaml:"roce,omitempty"`
	CNP      *Class    `json:"cnp,omitempty" yaml:"cnp,omitempty"`
	ECN      *struct{} `json:"ecn,omitempty" yaml:"ecn,omitempty"`
	Watchdog *struct{} `json:"watchdog,omitempty" yaml:"watchdog,omitempty"`
	CableM   int       `json:"cable_m,omitempty" yaml:"cable_m,omitempty" jsonschema:"minimum=1,maximum=2000,description=longest cable in metres"`
}

// Class is a DSCP value and the priority it travels in.
type Class struct {
	DSCP     int `json:"dscp" yaml:"dscp" jsonschema:"minimum=0,maximum=63"`
	Priority int `json:"priority" yaml:"priority" jsonschema:"minimum=0,maximum=7"`
}

// Serving is the model that the cluster is for.
type Serving struct {
	Model   string `json:"model" yaml:"model"`
	Engine  string `json:"engine,omitempty" yaml:"engine,omitempty" jsonschema:"enum=sglang,enum=vllm,default=sglang"`
	Context int    `json:"context,omitempty" yaml:"context,omitempty" jsonschema:"minimum=1,description=tokens"`
}

// Waiver takes a failing finding out of the verdict for a while.
type Waiver struct {
	Rule    string `json:"rule" yaml:"rule"`
	Subject string `json:"subject" yaml:"subject" jsonschema:"description=node or node:nic, as findings print it"`
	Reason  string `json:"reason" yaml:"reason" jsonschema:"minLength=1"`
	Until   string `json:"until" yaml:"until" jsonschema:"format=date"`
}
