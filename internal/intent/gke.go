package intent

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// GKECluster is what is made in Google Cloud. A cluster file of platform gke without it is for a cluster that exists.
type GKECluster struct {
	Project string       `json:"project" yaml:"project" jsonschema:"pattern=^[a-z][-a-z0-9]*[a-z0-9]$,minLength=6,maxLength=30,description=id of the project"`
	Zone    string       `json:"zone" yaml:"zone" jsonschema:"pattern=^[a-z]+-[a-z]+[0-9]+-[a-z]$,description=zone of the machines: us-west8-c"`
	Pool    netip.Prefix `json:"pool,omitzero" yaml:"pool,omitempty" jsonschema_description:"IPv4 network from which the subnets of the additional networks are taken, of equal size, a /24 or as many addresses as there are machines; default 192.168.0.0/16, for more than 4,092 machines 172.20.0.0/14, for more than 16,380 100.64.0.0/12"`
	Prefix  string       `json:"prefix,omitempty" yaml:"prefix,omitempty" jsonschema:"pattern=^[a-z]([-a-z0-9]*[a-z0-9])?$,maxLength=30,description=what the names of networks begin with; default the name of the cluster"`

	Network     string       `json:"network,omitempty" yaml:"network,omitempty" jsonschema:"pattern=^[a-z]([-a-z0-9]*[a-z0-9])?$,maxLength=63,description=VPC network of the cluster itself; it exists; default default"`
	Subnet      string       `json:"subnet,omitempty" yaml:"subnet,omitempty" jsonschema:"pattern=^[a-z]([-a-z0-9]*[a-z0-9])?$,maxLength=63,description=subnet of that network; default: that of the region"`
	Pods        netip.Prefix `json:"pods,omitzero" yaml:"pods,omitempty" jsonschema_description:"IPv4 addresses of pods; default: Google Cloud picks them"`
	Services    netip.Prefix `json:"services,omitzero" yaml:"services,omitempty" jsonschema_description:"IPv4 addresses of services; default: Google Cloud picks them"`
	Reservation string       `json:"reservation,omitempty" yaml:"reservation,omitempty" jsonschema:"pattern=^[a-z0-9][-_./a-zA-Z0-9]*$,maxLength=255,description=reservation from which the machines come; default none"`
	Spot        bool         `json:"spot,omitempty" yaml:"spot,omitempty" jsonschema:"description=cheaper machines that Google Cloud may take back at any time; default false"`
}

const (
	// gkeName is the longest name of a cluster or node pool (Google Cloud documentation, clusters create: at most 40 characters).
	gkeName = 40
	// maxGKEHosts is the largest cluster, with the approval of Google (Google Cloud documentation, Kubernetes Engine, Quotas and
	// limits: 65,000 nodes).
	maxGKEHosts = 65_000
	// usualRange is the prefix length of a subnet where it suffices, as in "GKE and GPUDirect RDMA with DRA".
	usualRange = 24
	// reservedAddresses of each subnet are Google Cloud's own: the first two and the last two (Google Cloud documentation,
	// Subnets: unusable addresses).
	reservedAddresses = 4
)

// defaultGKEPool is where subnets for so many machines come from: the document's network where nine subnets of it suffice. It
// stays out of 10.0.0.0/8, from which Google Cloud takes the addresses of clusters, and of 172.17.0.0/16, the bridge of Docker.
// The last, of RFC 6598, suffices for the largest cluster (Google Cloud documentation, Subnets: valid IPv4 ranges).
func defaultGKEPool(hosts, subnets int) (pool netip.Prefix) {
	for _, text := range []string{"192.168.0.0/16", "172.20.0.0/14", "100.64.0.0/12"} {
		pool = netip.MustParsePrefix(text)
		if _, err := GKERanges(pool, hosts, subnets); err == nil {
			break
		}
	}
	return pool
}

// autoRange are the addresses of every subnet of a network in auto mode, which the network "default" is (Google Cloud
// documentation, VPC networks: auto mode IPv4 ranges).
func autoRange() netip.Prefix { return netip.MustParsePrefix("10.128.0.0/9") }

// GKERanges takes so many subnets from a pool, one after the other, each with an address for every machine.
func GKERanges(pool netip.Prefix, hosts, subnets int) ([]netip.Prefix, error) {
	length := usualRange
	for length > 0 && 1<<(32-length)-reservedAddresses < hosts {
		length--
	}
	need := length
	for 1<<(length-need) < subnets && need > 0 {
		need--
	}
	if pool.Bits() > length || 1<<(length-pool.Bits()) < subnets {
		return nil, fmt.Errorf("%s is too small: %d subnets of a /%d, each with an address for %s, need a /%d or larger",
			pool, subnets, length, fabric.Count(hosts, "machine"), need)
	}
	ranges := make([]netip.Prefix, subnets)
	first := pool.Masked().Addr().As4()
	start := uint32(first[0])<<24 | uint32(first[1])<<16 | uint32(first[2])<<8 | uint32(first[3])
	for i := range ranges {
		at := start + uint32(i)<<(32-length)
		ranges[i] = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at)}), length)
	}
	return ranges, nil
}

// GKESubnets is how many subnets the additional interfaces of the machines need: of the ordinary kind, and of RDMA.
func (c *Cluster) GKESubnets(cat *catalog.Catalog) (gvnics, rdma int) {
	for _, g := range c.Nodes {
		m := cat.Machines[g.Machine]
		gvnics, rdma = max(gvnics, int(m.GKE.GVNICs.Value)-1), max(rdma, int(m.NICs.Value))
	}
	return gvnics, rdma
}

func (g *GKECluster) applyDefaults(c *Cluster, cat *catalog.Catalog) {
	if g.Prefix == "" {
		g.Prefix = c.Metadata.Name
	}
	if g.Network == "" {
		g.Network = "default"
	}
	if g.Pool.IsValid() {
		return
	}
	hosts := 0
	for _, group := range c.Nodes {
		names, err := fabric.ExpandNames(group.Names)
		if err != nil {
			return // the validation says why
		}
		hosts += len(names)
	}
	gvnics, rdma := c.GKESubnets(cat)
	g.Pool = defaultGKEPool(hosts, gvnics+rdma)
}

// gkeClusterName is what Google Kubernetes Engine takes.
func gkeClusterName(name string) error {
	if len(name) > gkeName {
		return fmt.Errorf("%d characters: a cluster on gke has at most %d", len(name), gkeName)
	}
	if ok, err := regexp.MatchString("^[a-z]", name); err != nil || !ok {
		return fmt.Errorf("%s: a cluster on gke begins with a letter", fabric.Quote(name))
	}
	return nil
}

// MarshalYAML writes address ranges as text; see Addressing.MarshalYAML.
func (g GKECluster) MarshalYAML() (any, error) {
	text, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("gke: %w", err)
	}
	var plain map[string]any
	err = json.Unmarshal(text, &plain)
	return plain, err
}
