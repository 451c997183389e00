package intent

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// VSphereSite is the ESX hosts below the nodes of platform vsphere, and what is made on them. A cluster file without it is for
// virtual machines that exist.
type VSphereSite struct {
	Product  fabric.Product `json:"product" yaml:"product" jsonschema:"enum=vsphere-8,enum=vcf-5.2,enum=vcf-9.0" jsonschema_description:"which decides the versions of everything: vcf-5.2 is ESX 8, vcf-9.0 is ESX 9"`
	Mode     fabric.VMMode  `json:"mode,omitempty" yaml:"mode,omitempty" jsonschema:"enum=passthrough,enum=sriov" jsonschema_description:"how NICs get to virtual machines: whole (DirectPath I/O), or as virtual functions; default passthrough"`
	Hosts    string         `json:"hosts" yaml:"hosts" jsonschema:"minLength=1" jsonschema_description:"names of the ESX hosts, as esx[01-16]; the nodes are spread over them in order, equally many on each"`
	SSH      *SSHTarget     `json:"ssh,omitempty" yaml:"ssh,omitempty" jsonschema:"description=how to log in to the ESX hosts; without it nobody logs in to them and what is done in their shell is for people"`
	VCenter  *VCenterAt     `json:"vcenter,omitempty" yaml:"vcenter,omitempty" jsonschema:"description=where the vSphere API is; without it nothing asks it"`
	Server   fabric.Server  `json:"server,omitempty" yaml:"server,omitempty" jsonschema:"enum=dell,enum=hpe,enum=lenovo,enum=supermicro" jsonschema_description:"who made the servers, which decides the names of BIOS settings; without it they are written in words only"`
	Depots   []string       `json:"depots,omitempty" yaml:"depots,omitempty" jsonschema:"pattern=^(/|https?://)[^\\x00-\\x1f\\x7f-\\x9f '\"\\\\]+$" jsonschema_description:"where the hosts find the bundles of NMST and MFT: paths on a datastore (/vmfs/volumes/...zip) or URLs, as esxcli software vib install takes them; without it a person installs them"`
	Parallel int            `json:"parallel,omitempty" yaml:"parallel,omitempty" jsonschema:"minimum=1,maximum=64,description=hosts that may be in maintenance mode at a time; default 1"`

	VM      *VMShape       `json:"vm,omitempty" yaml:"vm,omitempty" jsonschema:"description=what each virtual machine gets; default all devices of a host"`
	VFs     int            `json:"vfs,omitempty" yaml:"vfs,omitempty" jsonschema:"minimum=1,maximum=127" jsonschema_description:"virtual functions of each NIC, with mode sriov; default one for each virtual machine of a host"`
	Labels  []LabelAt      `json:"labels,omitempty" yaml:"labels,omitempty" jsonschema:"description=hardware labels of the devices of a host, the same on all; default: found on each host by its PCIe switches"`
	Service *ServiceVMs    `json:"service_vm,omitempty" yaml:"service_vm,omitempty" jsonschema:"description=one virtual machine per host that runs Fabric Manager for its NVSwitches"`
	Kube    *VKS           `json:"vks,omitempty" yaml:"vks,omitempty" jsonschema:"description=the Kubernetes cluster that the Supervisor makes of the nodes"`
	Network []VSphereRange `json:"networks,omitempty" yaml:"networks,omitempty" jsonschema:"description=address ranges of the Supervisor"`
}

// VCenterAt is where the vSphere API is. User and password are read from the environment (RAILWRIGHT_VCENTER_USER,
// RAILWRIGHT_VCENTER_PASSWORD) and stand in no file.
type VCenterAt struct {
	Server     string `json:"server" yaml:"server" jsonschema:"minLength=1,maxLength=253,pattern=^[A-Za-z0-9.:\\[\\]-]+$,description=name or address of vCenter, with its port where that is not 443"`
	Thumbprint string `json:"thumbprint,omitempty" yaml:"thumbprint,omitempty" jsonschema:"pattern=^([0-9A-Fa-f]{2}:){31}[0-9A-Fa-f]{2}$" jsonschema_description:"SHA-256 fingerprint of its certificate, where no authority vouches for it"`
	Datacenter string `json:"datacenter,omitempty" yaml:"datacenter,omitempty" jsonschema:"pattern=^[^\\x00-\\x1f\\x7f-\\x9f]+$,minLength=1,maxLength=80,description=name of the datacenter; default: the only one"`
	Cluster    string `json:"cluster,omitempty" yaml:"cluster,omitempty" jsonschema:"pattern=^[^\\x00-\\x1f\\x7f-\\x9f]+$,minLength=1,maxLength=80,description=name of the vSphere cluster; default: the one that has the hosts"`
}

// VMShape is what each virtual machine gets.
type VMShape struct {
	GPUs      int `json:"gpus,omitempty" yaml:"gpus,omitempty" jsonschema:"minimum=1,maximum=8,description=GPUs per virtual machine; default the host's, divided by its virtual machines"`
	NICs      int `json:"nics,omitempty" yaml:"nics,omitempty" jsonschema:"minimum=1,maximum=16,description=NICs per virtual machine; default as GPUs"`
	CPUs      int `json:"cpus,omitempty" yaml:"cpus,omitempty" jsonschema:"minimum=1,maximum=960,description=virtual CPUs"`
	MemoryGiB int `json:"memory_gib,omitempty" yaml:"memory_gib,omitempty" jsonschema:"minimum=1,maximum=24576,description=memory in GiB, all of it reserved"`
}

// LabelAt is a hardware label and the device that has it.
type LabelAt struct {
	Label   string `json:"label" yaml:"label" jsonschema:"pattern=^[A-Za-z0-9_-]+$,maxLength=60,description=GPU0 or NIC0 or NVS0 and so on"`
	Address string `json:"address" yaml:"address" jsonschema:"pattern=^([0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]$,description=its PCI address on every host"`
}

// ServiceVMs is the service virtual machines of all hosts.
type ServiceVMs struct {
	Addresses netip.Prefix `json:"addresses" yaml:"addresses" jsonschema_description:"address of the first with the length of its network, as 10.0.0.21/24; the others follow"`
	Gateway   string       `json:"gateway" yaml:"gateway" jsonschema:"pattern=^[0-9.]+$,description=their default gateway"`
	DNS       []string     `json:"dns,omitempty" yaml:"dns,omitempty" jsonschema:"description=addresses of name servers"`
	Network   string       `json:"network,omitempty" yaml:"network,omitempty" jsonschema:"pattern=^[^\\x00-\\x1f\\x7f-\\x9f]+$,minLength=1,maxLength=80,description=port group of their interface"`
	Interface string       `json:"interface,omitempty" yaml:"interface,omitempty" jsonschema:"minLength=1,maxLength=15,description=name of their interface; default ens33"`
	Driver    string       `json:"driver,omitempty" yaml:"driver,omitempty" jsonschema:"pattern=^[0-9]+(\\.[0-9]+)+$,description=version of the GPU driver in the nodes: Fabric Manager has the same"`
}

// VKS is the Kubernetes cluster of the nodes.
type VKS struct {
	Namespace    string       `json:"namespace,omitempty" yaml:"namespace,omitempty" jsonschema:"pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$,maxLength=63,description=vSphere namespace; default the name of the cluster"`
	StorageClass string       `json:"storage_class" yaml:"storage_class" jsonschema:"pattern=^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$,maxLength=63,description=of all volumes"`
	ClusterClass string       `json:"cluster_class,omitempty" yaml:"cluster_class,omitempty" jsonschema:"pattern=^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$,maxLength=63,description=class of the Cluster; default builtin-generic-v3.3.0"`
	Version      string       `json:"version,omitempty" yaml:"version,omitempty" jsonschema:"pattern=^v[0-9]+\\.[0-9]+\\.[0-9]+[-+.a-z0-9]*$,maxLength=63" jsonschema_description:"Kubernetes release; default v1.32.0---vmware.6-fips-vkr.2"`
	Control      string       `json:"control,omitempty" yaml:"control,omitempty" jsonschema:"pattern=^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$,maxLength=63,description=class of the virtual machines of the control plane; default guaranteed-large"`
	Controls     int          `json:"controls,omitempty" yaml:"controls,omitempty" jsonschema:"enum=1,enum=3,enum=5,description=how many of them; default 1"`
	Volume       string       `json:"volume,omitempty" yaml:"volume,omitempty" jsonschema:"pattern=^[1-9][0-9]*Gi$,description=of containerd on each node; default 500Gi"`
	Pods         netip.Prefix `json:"pods,omitzero" yaml:"pods,omitempty" jsonschema_description:"addresses of pods; default 192.168.144.0/20"`
	Services     netip.Prefix `json:"services,omitzero" yaml:"services,omitempty" jsonschema_description:"addresses of services; default 10.96.0.0/12"`
	Library      string       `json:"library,omitempty" yaml:"library,omitempty" jsonschema:"pattern=^[^\\x00-\\x1f\\x7f-\\x9f]+$,minLength=1,maxLength=80,description=content library with the templates"`
}

// VSphereRange is an address range that the Supervisor is given.
type VSphereRange struct {
	Name  string       `json:"name" yaml:"name" jsonschema:"enum=management,enum=external,enum=transit,enum=private,enum=services,description=which network"`
	Range netip.Prefix `json:"range" yaml:"range" jsonschema_description:"its addresses"`
}

// What the documents use, and what a cluster file may leave out ("Deploy Distributed LLM Inference with GPUDirect RDMA over
// InfiniBand in VMware Private AI": table 3, example 2, example 4, whose pods 192.168.156.0/20 are the network 192.168.144.0/20).
const (
	defaultClusterClass = "builtin-generic-v3.3.0"
	defaultVKr          = "v1.32.0---vmware.6-fips-vkr.2"
	defaultControl      = "guaranteed-large"
	defaultVolume       = "500Gi"
	defaultInterface    = "ens33"
	defaultPodRange     = "192.168.144.0/20"
	largePodRange       = "172.16.0.0/12" // where the document's is too small
	defaultServiceRange = "10.96.0.0/12"
)

// nodePods is the prefix length of the addresses that Kubernetes gives a node for its pods (kube-controller-manager,
// --node-cidr-mask-size-ipv4).
const nodePods = 24

// nodeRanges is for how many nodes a range of pods has addresses.
func nodeRanges(pods netip.Prefix) int {
	if pods.Bits() > nodePods {
		return 0
	}
	return 1 << (nodePods - pods.Bits())
}

// workersAndControls is how many nodes the Kubernetes cluster has.
func (k *VKS) workersAndControls(c *Cluster) int {
	n := k.Controls
	for _, g := range c.Nodes {
		n += max(0, countNames(g.Names))
	}
	return n
}

func (s *VSphereSite) applyDefaults(c *Cluster) {
	if s.Mode == "" {
		s.Mode = fabric.Passthrough
	}
	if s.Parallel == 0 {
		s.Parallel = 1
	}
	if s.SSH != nil && s.SSH.User == "" {
		s.SSH.User = "root" // ESX has its shell for that user, unless somebody made others
	}
	if s.Service != nil && s.Service.Interface == "" {
		s.Service.Interface = defaultInterface
	}
	if s.Kube == nil {
		return
	}
	k := s.Kube
	for _, d := range []struct {
		field *string
		value string
	}{{&k.Namespace, c.Metadata.Name}, {&k.ClusterClass, defaultClusterClass}, {&k.Version, defaultVKr}, {&k.Control, defaultControl}, {&k.Volume, defaultVolume}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if k.Controls == 0 {
		k.Controls = 1
	}
	if !k.Pods.IsValid() {
		k.Pods = netip.MustParsePrefix(defaultPodRange)
		if k.workersAndControls(c) > nodeRanges(k.Pods) {
			k.Pods = netip.MustParsePrefix(largePodRange)
		}
	}
	if !k.Services.IsValid() {
		k.Services = netip.MustParsePrefix(defaultServiceRange)
	}
}

// Cabled is how many machines with NICs of their own so many nodes are: virtual machines with virtual functions share those of
// their ESX host, and its cables.
func (c *Cluster) Cabled(nodes int) int {
	s := c.VSphere
	if c.Platform != VSphere || s == nil || s.Mode != fabric.SRIOVToGuests {
		return nodes
	}
	hosts, err := fabric.ExpandNames(s.Hosts)
	if err != nil || len(hosts) == 0 || nodes%len(hosts) != 0 {
		return nodes // vsphere.hosts says so
	}
	return min(nodes, len(hosts))
}

// vsphere checks what stands below the nodes.
func (v *validator) vsphere() {
	s, at := v.cluster.VSphere, []string{"vsphere"}
	if s == nil || !v.sound([]string{"platform"}) {
		return
	}
	if v.cluster.Platform != VSphere {
		v.add(at, fmt.Sprintf("is for platform vsphere only, and this is %s: remove the section", v.cluster.Platform))
		return
	}
	if s.VFs > 0 && s.Mode != fabric.SRIOVToGuests && v.sound(step(at, "mode"), step(at, "vfs")) {
		v.add(step(at, "vfs"), "virtual functions are for mode sriov, and this is passthrough: with it SR-IOV has to be off")
	}
	v.vsphereHosts(step(at, "hosts"))
	v.vsphereLabels(at)
	if f := v.cluster.Fabric; f.Kind == fabric.InfiniBand && f.MTU > mostDatagram && v.sound([]string{"fabric"}) {
		v.add([]string{"fabric", "mtu"}, fmt.Sprintf("%d bytes: IP over InfiniBand in datagram mode has at most %d, the InfiniBand MTU of 4096 less 4 (RFC 4391)", f.MTU, mostDatagram))
	}
	v.serviceVMs(step(at, "service_vm"))
	v.vsphereRanges()
}

// mostDatagram is the largest MTU of an interface over InfiniBand in datagram mode, in bytes: a packet less the header of 4.
const mostDatagram = 4092

// vsphereLabels makes sure that a label is one device, and a device has one label.
func (v *validator) vsphereLabels(at []string) {
	labels, addresses := map[string]bool{}, map[string]bool{}
	for i, l := range v.cluster.VSphere.Labels {
		field := append(step(at, "labels"), strconv.Itoa(i))
		if !v.sound(field) {
			continue
		}
		address := l.Address
		if strings.Count(address, ":") == 1 {
			address = "0000:" + address
		}
		if labels[l.Label] {
			v.add(step(field, "label"), fmt.Sprintf("label %s is listed twice: a label is one device of a host", l.Label))
		}
		if addresses[address] {
			v.add(step(field, "address"), fmt.Sprintf("device %s is listed twice: a device has one label", l.Address))
		}
		labels[l.Label], addresses[address] = true, true
	}
}

// vsphereHosts makes sure that the nodes can be spread over the ESX hosts.
func (v *validator) vsphereHosts(at []string) {
	if !v.sound(at) || v.cluster.VSphere.Hosts == "" {
		return
	}
	hosts, err := fabric.ExpandNames(v.cluster.VSphere.Hosts)
	if err != nil {
		v.add(at, err.Error())
		return
	}
	for _, host := range hosts {
		if err := checkHostName(host); err != nil {
			v.add(at, err.Error())
			return
		}
	}
	if host, ok := duplicate(hosts, true); ok {
		v.add(at, fmt.Sprintf("host %q is listed twice", host))
		return
	}
	for _, host := range hosts {
		if group, ok := v.group[strings.ToLower(host)]; ok {
			v.add(at, fmt.Sprintf("ESX host %q has the name of a node of nodes[%d]: facts and findings would not say which of the two they are of", host, group))
			return
		}
	}
	if first := v.cluster.Nodes[0]; v.sound([]string{"nodes"}) {
		for i, group := range v.cluster.Nodes[1:] {
			if group.Machine != first.Machine || countNames(group.NICs) != countNames(first.NICs) {
				v.add([]string{"nodes", fmt.Sprint(i + 1)}, "virtual machines of another machine or another number of NICs than the first: with a vsphere section all are alike; use a cluster file for each kind")
				return
			}
		}
	}
	if v.hosts > 0 && v.hosts%len(hosts) != 0 {
		v.add(at, fmt.Sprintf("%s cannot be spread equally over %s", fabric.Count(v.hosts, "node"), fabric.Count(len(hosts), "ESX host")))
	}
}

// countNames counts what a range stands for; -1: it is none.
func countNames(expr string) int {
	names, err := fabric.ExpandNames(expr)
	if err != nil {
		return -1
	}
	return len(names)
}

// MarshalYAML writes address ranges as text; see Addressing.MarshalYAML.
func (s VSphereSite) MarshalYAML() (any, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("vsphere: %w", err)
	}
	var plain map[string]any
	err = json.Unmarshal(text, &plain)
	return plain, err
}
