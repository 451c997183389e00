package intent

import (
	"strings"

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
	// ShareSource is where defaultShare comes from.
	ShareSource = "Broadcom 957608-AN209, 2.2.1.3: ROCE_BW=50, ETS 50 % and 50 %, CNP strict"
	// defaultShare of RoCE in percent of the bandwidth.
	defaultShare = 50
	// ECNSource is where the thresholds of an ecn block that states none come from.
	ECNSource = "SONiC, sonic-buildimage, files/build_templates/qos_config.j2: WRED profile AZURE_LOSSLESS; " +
		"Broadcom 957608-AN209, 2.5.2: minimum-threshold 1048 maximum-threshold 2097 drop-probability 5"
	ecnMinKiB, ecnMaxKiB, ecnProbability = 1024, 2048, 5 // KiB, KiB, percent
	// WatchdogSource is where the times of a watchdog block that states none come from.
	WatchdogSource                  = "Broadcom 957608-AN209, 2.5.2: priority-flow-control watchdog on detect-time 200, restore-time 400"
	watchdogDetect, watchdogRestore = 200, 400 // milliseconds
	// CableSource is where defaultCable comes from: SONiC's own figure for a cable from a leaf to a server.
	CableSource = "SONiC, sonic-buildimage, files/build_templates/buffers_config.j2: ports2cable, torrouter_server"
	// defaultCable in metres.
	defaultCable = 5
)

// defaultPool holds 262,144 hosts of 8 NICs with a /31 a cable.
func defaultPool() netip.Prefix { return netip.MustParsePrefix("10.64.0.0/10") }

// applyDefaults fills in what the file leaves out. What the catalog does not know stays empty, and the
// validation says so. Afterwards Addressing is never nil, and Traffic is nil only where the fabric's
// classes are not the owner's to choose, on InfiniBand and on gke, and on spark where the file has none.
func (c *Cluster) applyDefaults(cat *catalog.Catalog) {
	if c.Launcher == "" {
		c.Launcher = defaultLauncher(c.Platform)
	}
	for i := range c.Nodes {
		g := &c.Nodes[i]
		m := cat.Machines[g.Machine]
		switch {
		case g.NICs != "":
		case c.Platform == Spark:
			g.NICs = c.twins(m)
		default:
			g.NICs = m.NICNames
		}
		if g.Management == "" {
			g.Management = m.Management
		}
	}
	c.Fabric.applyDefaults(c.Platform, cat)
	if c.GKE != nil {
		c.GKE.applyDefaults(c, cat)
	}
	if c.VSphere != nil {
		c.VSphere.applyDefaults(c)
	}
	if c.Kubernetes == nil && c.Launcher == Kubernetes {
		c.Kubernetes = &Kube{}
	}
	if c.Kubernetes != nil {
		c.versionOfVKS()
		c.Kubernetes.applyDefaults(c.Platform, c.Nodes, cat)
		c.driverDefaults(cat)
	}
	if c.Serving != nil && c.Serving.Engine == "" {
		c.Serving.Engine = "sglang"
	}
}

// outermost is the port that "DGX Spark Networking" cables where a machine needs one: the right one seen from behind.
const outermost = 1

// twins are the interfaces of the ports that a machine of platform spark has cabled: of one, or in a ring of both.
func (c *Cluster) twins(m catalog.MachineModel) string {
	hosts := 0
	for _, g := range c.Nodes {
		names, err := fabric.ExpandNames(g.Names)
		if err != nil {
			return "" // the validation says why
		}
		hosts += len(names)
	}
	var nics []string
	for _, f := range m.NICFunctions {
		if f.Port == outermost || c.Fabric.Leaf == nil && hosts > 2 {
			nics = append(nics, f.NIC)
		}
	}
	return strings.Join(nics, ",")
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
		f.Leaf.OS = onlyOS(f.Leaf.Model, cat)
	}
	if f.Spine != nil && f.Spine.OS == "" {
		f.Spine.OS = onlyOS(f.Spine.Model, cat)
	}
	if f.Traffic == nil && f.Kind == fabric.RoCE && p != GKE && p != Spark {
		f.Traffic = &Traffic{}
	}
	if f.Traffic != nil {
		f.Traffic.applyDefaults()
	}
}

// onlyOS is the operating system of a switch that the catalog lists one for; else empty.
func onlyOS(model string, cat *catalog.Catalog) string {
	known := cat.Switches[model].OS
	if len(known) != 1 {
		return ""
	}
	for os := range known {
		return os
	}
	return ""
}

func (t *Traffic) applyDefaults() {
	standard := DefaultTraffic()
	if t.RoCE == nil {
		t.RoCE = standard.RoCE
	}
	if t.CNP == nil {
		t.CNP = standard.CNP
	}
	if t.Share == 0 {
		t.Share, t.ShareSource = standard.Share, standard.ShareSource
	}
	if t.CableM == 0 {
		t.CableM, t.CableSource = standard.CableM, standard.CableSource
	}
	if e := t.ECN; e != nil {
		e.Defaults = fill(setting{"min_kib", &e.MinKiB, ecnMinKiB}, setting{"max_kib", &e.MaxKiB, ecnMaxKiB}, setting{"probability", &e.Probability, ecnProbability})
	}
	if w := t.Watchdog; w != nil {
		w.Defaults = fill(setting{"detect_ms", &w.DetectMs, watchdogDetect}, setting{"restore_ms", &w.RestoreMs, watchdogRestore})
	}
}

// setting is a field of a block with its default.
type setting struct {
	name     string
	value    *int
	standard int
}

// fill sets what a block leaves out, and returns the names of these fields.
func fill(settings ...setting) (left []string) {
	for _, s := range settings {
		if *s.value == 0 {
			*s.value = s.standard
			left = append(left, s.name)
		}
	}
	return left
}

// Lossless reports whether PFC protects RoCE, which it does unless the file switches it off.
func (t *Traffic) Lossless() bool { return t.PFC == nil || *t.PFC }

// DefaultTraffic returns the classes, the share and the cable length of a cluster file that states none. ClassSource,
// ShareSource and CableSource are the documents that they come from.
func DefaultTraffic() Traffic {
	return Traffic{
		RoCE:  &Class{DSCP: roceDSCP, Priority: rocePriority, Source: ClassSource},
		CNP:   &Class{DSCP: cnpDSCP, Priority: cnpPriority, Source: ClassSource},
		Share: defaultShare, ShareSource: ShareSource,
		CableM: defaultCable, CableSource: CableSource,
	}
}

// defaultScheme is none where something else gives the addresses: the subnet manager on InfiniBand
// (LIDs), the cloud's own network on gke.
func defaultScheme(p Platform, kind fabric.Transport) fabric.Scheme {
	switch {
	case p == GKE || kind == fabric.InfiniBand:
		return fabric.None
	case p == Spark:
		return fabric.Twin24
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
