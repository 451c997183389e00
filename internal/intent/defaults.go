package intent

import (
	"net/netip"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// The defaults of the cluster file.
const (
	// defaultMTU of a RoCE NIC in bytes: Broadcom 957608-AN209, 2.4.1.1 (mtu: 9000 in every netplan file).
	defaultMTU = 9000
	// gkeMTU of the RDMA NICs of A3 Ultra and A4 in bytes: "GKE and GPUDirect RDMA with DRA", ip link in
	// the pod (gpu0rdma0 mtu 8896).
	gkeMTU = 8896
	// ipoibMTU in bytes: the largest InfiniBand MTU (4096, IBTA 1.4, 7.7.6) less the 4 bytes of the IPoIB
	// header in datagram mode (RFC 4391, section 6; Linux Documentation/infiniband/ipoib.rst).
	ipoibMTU = 4092
	// ClassSource is where the default classes of RoCE and CNP come from.
	ClassSource            = "Broadcom 957608-AN209, chapter 2, step 3 d"
	roceDSCP, rocePriority = 26, 3
	cnpDSCP, cnpPriority   = 48, 7
	// CableSource is where defaultCable comes from: SONiC's own figure for a cable from a leaf to a server.
	CableSource = "SONiC, sonic-buildimage, files/build_templates/buffers_config.j2: ports2cable, torrouter_server"
	// defaultCable in metres.
	defaultCable = 5
)

// defaultPool holds 262,144 hosts of 8 NICs with a /31 a cable.
func defaultPool() netip.Prefix { return netip.MustParsePrefix("10.64.0.0/10") }

// applyDefaults fills in what the file leaves out. What the catalog does not know stays empty, and the
// validation says so. Afterwards Addressing is never nil, and Traffic is nil only where the fabric's
// classes are not the owner's to choose: on InfiniBand and on gke.
func (c *Cluster) applyDefaults(cat *catalog.Catalog) {
	if c.Launcher == "" {
		c.Launcher = defaultLauncher(c.Platform)
	}
	for i := range c.Nodes {
		if g := &c.Nodes[i]; g.NICs == "" {
			g.NICs = cat.Machines[g.Machine].NICNames
		}
	}
	c.Fabric.applyDefaults(c.Platform, cat)
	if c.Serving != nil && c.Serving.Engine == "" {
		c.Serving.Engine = "sglang"
	}
}

func defaultLauncher(p Platform) Launcher {
	if p == GKE {
		return Kubernetes
	}
	return SSH
}

func (f *Fabric) applyDefaults(p Platform, cat *catalog.Catalog) {
	if f.Addressing == nil {
		f.Addressing = &Addressing{}
	}
	a := f.Addressing
	if a.Scheme == "" {
		a.Scheme = defaultScheme(p, f.Kind)
	}
	if a.Scheme != fabric.None && !a.Pool.IsValid() {
		a.Pool = defaultPool()
	}
	if f.MTU == 0 {
		f.MTU = standardMTU(p, f.Kind)
	}
	if f.Kind == fabric.InfiniBand && f.PKey == "" {
		f.PKey = fabric.DefaultPartition.String()
	}
	if f.Leaf != nil && f.Leaf.OS == "" {
		if known := cat.Switches[f.Leaf.Model].OS; len(known) == 1 {
			for os := range known {
				f.Leaf.OS = os
			}
		}
	}
	if f.Traffic == nil && f.Kind == fabric.RoCE && p != GKE {
		f.Traffic = &Traffic{}
	}
	if f.Traffic != nil {
		f.Traffic.applyDefaults()
	}
}

func (t *Traffic) applyDefaults() {
	standard := DefaultTraffic()
	if t.RoCE == nil {
		t.RoCE = standard.RoCE
	}
	if t.CNP == nil {
		t.CNP = standard.CNP
	}
	if t.CableM == 0 {
		t.CableM, t.CableSource = standard.CableM, standard.CableSource
	}
}

// DefaultTraffic returns the classes and the cable length of a cluster file that states none. ClassSource and
// CableSource are the documents that they come from.
func DefaultTraffic() Traffic {
	return Traffic{
		RoCE:   &Class{DSCP: roceDSCP, Priority: rocePriority, Source: ClassSource},
		CNP:    &Class{DSCP: cnpDSCP, Priority: cnpPriority, Source: ClassSource},
		CableM: defaultCable, CableSource: CableSource,
	}
}

// defaultScheme is none where something else gives the addresses: the subnet manager on InfiniBand
// (LIDs), the cloud's own network on gke.
func defaultScheme(p Platform, kind fabric.Transport) fabric.Scheme {
	if p == GKE || kind == fabric.InfiniBand {
		return fabric.None
	}
	return fabric.P2P31
}

func standardMTU(p Platform, kind fabric.Transport) int {
	switch {
	case kind == fabric.InfiniBand:
		return ipoibMTU
	case p == GKE:
		return gkeMTU
	default:
		return defaultMTU
	}
}
