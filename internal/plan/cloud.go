package plan

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// Limits of Google Kubernetes Engine, in machines (Google Cloud documentation, Kubernetes Engine, Quotas and limits; read
// November 2026).
const (
	poolNodes     = 1000  // of a node pool in one zone
	zonalNodes    = 2000  // from which on the API server is to be regional
	approvedNodes = 5000  // above, the quota of the cluster has to be raised, and the cluster to be private or use Private Service Connect
	mostNodes     = 15000 // of a Standard cluster; above, Google has to be asked
	gceName       = 63    // characters of a name (RFC 1035)
	ordinaryMTU   = 1460  // bytes, of a VPC network that says nothing (gcloud compute networks create --help)
)

// cloud plans what Google Cloud is asked for, and what each machine of it looks like. Its network is the cloud's own: there are no
// switches, cables or addresses to plan.
func cloud(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) error {
	p.Addressing = fabric.Addressing{Scheme: fabric.None}
	if c.GKE == nil {
		p.Notes = append(p.Notes, "the cluster file has no gke section: the cluster is taken to exist, and nothing of it is made")
		return nil
	}
	g := c.GKE
	if c.Kubernetes == nil {
		return fmt.Errorf("kubernetes: is not set")
	}
	region := g.Zone[:strings.LastIndexByte(g.Zone, '-')]
	out := &fabric.Cloud{Provider: "gke", Project: g.Project, Region: region, Zone: g.Zone, Location: g.Zone, Cluster: c.Metadata.Name,
		Network: g.Network, Subnet: g.Subnet, Pods: g.Pods, Services: g.Services, Reservation: g.Reservation, Spot: g.Spot,
		Version: c.Kubernetes.Version, TestImage: testImage}
	out.DRA = apiOf(c.Kubernetes.Minor())
	out.AskDRA = out.DRA != "v1" // an API server serves beta versions only where it is asked to (Kubernetes 1.24, CHANGELOG)
	out.GPUsByDRA = c.Kubernetes.GPUDriver != intent.DevicePlugin
	out.Installers = installers(out.DRA)
	var err error
	if out.Networks, err = cloudNetworks(c, cat, len(p.Nodes)); err != nil {
		return err
	}
	if out.Pools, err = nodePools(c, cat); err != nil {
		return err
	}
	if len(p.Nodes) > zonalNodes {
		out.Location = region
	}
	if err := cloudNames(out); err != nil {
		return err
	}
	p.Cloud = out
	p.Notes = append(p.Notes, cloudNotes(out)...)
	return nil
}

// cloudNetworks are one network for the second ordinary interface of each machine, and one with a subnet for each RDMA interface,
// in the order of the machine's interfaces. As in "GKE and GPUDirect RDMA with DRA", but that the firewall admits the subnets of
// this plan and no more. A network with an RDMA profile has a firewall of its own, which admits all (Google Cloud documentation,
// RDMA network profiles: implied ingress allow).
func cloudNetworks(c *intent.Cluster, cat *catalog.Catalog, hosts int) ([]fabric.CloudNetwork, error) {
	gvnics, rdma := c.GKESubnets(cat)
	if rdma == 0 {
		return nil, fmt.Errorf("nodes[0].machine: no machine type with RDMA networks is named")
	}
	ranges, err := intent.GKERanges(c.GKE.Pool, hosts, gvnics+rdma)
	if err != nil {
		return nil, fmt.Errorf("gke.pool: %w", err)
	}
	prefix := c.GKE.Prefix
	var all []fabric.CloudNetwork
	for i := range gvnics {
		name := prefix + "-gvnic"
		if i > 0 {
			name = fmt.Sprintf("%s-gvnic-%d", prefix, i)
		}
		all = append(all, fabric.CloudNetwork{Name: name + "-net", MTU: ordinaryMTU, Firewall: name + "-internal",
			Subnets: []fabric.CloudSubnet{{Name: name + "-sub", Range: ranges[i]}}})
	}
	fast := fabric.CloudNetwork{Name: prefix + "-rdma-net", Profile: c.GKE.Zone + "-vpc-roce", MTU: c.Fabric.MTU}
	for i, r := range ranges[gvnics:] {
		fast.Subnets = append(fast.Subnets, fabric.CloudSubnet{Name: fmt.Sprintf("%s-rdma-sub-%d", prefix, i), Range: r})
	}
	return append(all, fast), nil
}

// nodePools are those of each group of machines, none with more than a pool can have.
func nodePools(c *intent.Cluster, cat *catalog.Catalog) ([]fabric.NodePool, error) {
	var all []fabric.NodePool
	for i, g := range c.Nodes {
		names, err := fabric.ExpandNames(g.Names)
		if err != nil {
			return nil, fmt.Errorf("nodes[%d].names: %w", i, err)
		}
		m := cat.Machines[g.Machine]
		if m.GKE.Accelerator == "" {
			return nil, fmt.Errorf("nodes[%d].machine: %s is no machine type of Google Kubernetes Engine with RDMA networks", i, fabric.Quote(g.Machine))
		}
		// Pools of equal size, so that each is as full as the others.
		count := (len(names) + poolNodes - 1) / poolNodes
		for k := range count {
			all = append(all, fabric.NodePool{Name: fmt.Sprintf("gpu-%d", len(all)), MachineType: g.Machine, Accelerator: m.GKE.Accelerator,
				GPUs: int(m.GPUs.Value), Nodes: (k+1)*len(names)/count - k*len(names)/count})
		}
	}
	return all, nil
}

// cloudNames makes sure that Google Cloud takes every name.
func cloudNames(c *fabric.Cloud) error {
	for _, n := range c.Networks {
		names := []string{n.Name, n.Firewall}
		for _, s := range n.Subnets {
			names = append(names, s.Name)
		}
		for _, name := range names {
			if len(name) > gceName {
				return fmt.Errorf("gke.prefix: the name %q has %d characters, and Google Cloud takes %d", name, len(name), gceName)
			}
		}
	}
	return nil
}

// cloudNotes says what of this plan needs a word with the cloud's owner.
func cloudNotes(c *fabric.Cloud) (notes []string) {
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if c.Project == fabric.PlaceholderProject {
		add("gke.project is still %s: the script that makes the cluster does nothing until it is the id of a project", c.Project)
	}
	nodes := c.Nodes()
	if len(c.Pools) > 1 && nodes > poolNodes {
		add("%d machines are in %d node pools: Google Kubernetes Engine has at most %d machines in a pool of one zone", nodes, len(c.Pools), poolNodes)
	}
	if nodes > zonalNodes {
		add("the API server is regional (%s), as Google asks for above %d machines; the machines are all in %s, which their RDMA network is tied to", c.Region, zonalNodes, c.Zone)
	}
	if nodes > approvedNodes {
		add("above %d machines Google has to raise the quota of the cluster, and the cluster has to be private or use Private Service Connect", approvedNodes)
	}
	if nodes > mostNodes {
		add("a Standard cluster has at most %d machines unless Google agrees to more: split this one", mostNodes)
	}
	if c.AskDRA {
		add("Kubernetes %s serves resource.k8s.io/%s as a beta only, and the release of DraNet that is pinned speaks v1 only: install one that speaks %s yourself, or set kubernetes.version to 1.34 or later",
			c.Version, c.DRA, c.DRA)
	}
	if c.GPUsByDRA {
		add("the node pools are made without Google's GPU driver and device plugin, which a DRA driver of GPUs replaces: install NVIDIA's driver and its DRA driver as Google describes (Prepare GKE infrastructure for DRA workloads)")
	}
	return notes
}
