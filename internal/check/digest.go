package check

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
)

// Digest is what the cluster rules need of a node: about 3 KiB where it has eight NICs with a port each. Texts
// that many nodes share are kept once.
type Digest struct {
	Node    string
	NICs    []NICDigest
	Ports   []PortDigest
	Repeats int  // further facts of the same node, not checked
	Nominal bool // from the catalog: the node itself was not read
	NoRDMA  bool // known to have no RDMA device
	NoGPU   bool // known to have no GPU

	NoNVIDIA   bool   // known to have GPUs of another vendor alone
	NoNVLink   string // why its GPUs have no NVLink; empty: they have, or that is unknown
	SMVirtual  string // what its subnet manager says of virtual ports
	NoNVSwitch string // why it has no NVSwitch of its own; likewise

	Pod  bool // the facts are of a container of Kubernetes, or of a text that is of none of the planned machines
	Kube bool // a text of kubectl is among the facts

	Unread string // why NICs or addresses may be missing here; empty: all were read

	NeighboursUnread string // why the neighbour table may be incomplete; empty: it was read

	Lab      bool            // a lab host: no hardware of its own
	Recorded string          // whose hardware lies under a lab host
	Virtual  *bool           // a virtual machine; nil: unknown, and the role with it
	Role     fabric.HostRole // empty: unknown
	RoleBy   string          // what shows the role, or why it is unknown

	Machine   string // what must be equal is equal among machines of one kind: vendor and product
	Kernel    trait
	Drivers   trait // versions of the loaded GPU and NIC drivers, "name version" by line
	BIOS      trait
	CPUs      trait // model, and how many are online
	GPUDriver trait
	VBIOS     trait
	MemoryKiB *int
	HCANames  trait // by whom RDMA devices are named: kernel, udev
	HCAs      *int  // RDMA devices; nil: not read
	GPUs      *int  // as HCAs

	Spark *spark.Spark // of a DGX Spark
}

// NICDigest is what the cluster rules need of a NIC.
type NICDigest struct {
	Name      string
	MTU       int  // bytes
	Fabric    bool // planned, or with an RDMA device
	OverIB    bool // an interface over InfiniBand: its MTU is not that of the port
	Addresses []netip.Addr
	GID       trait  // index of its address as RoCE v2 in the GID table
	Kind      string // driver and speed
	QoS       trait  // what it does with traffic classes

	Subnets    []netip.Prefix // of its IPv4 addresses
	MAC        mac
	ARPGuarded bool       // answers ARP for no address of another NIC
	Neighbours []resolved // of its neighbour table
	Heard      []farEnd   // its LLDP neighbours; kept where ports have twins
}

// PortDigest is what the cluster rules need of an RDMA port of the fabric.
type PortDigest struct {
	Name     string // hca/number
	NIC      string
	Kind     string // board or type of the device: what must be equal is equal among ports of one kind
	Layer    string
	Firmware trait
	Rate     float64 // Gb/s; 0: not read
	PKeys    trait
	GUID     uint64 // of the node; 0: not read, or not set
}

// trait is a value that should be equal on all members of one kind, or why it is unknown.
type trait struct{ value, why string }

// texts keeps one copy of each text.
type texts map[string]string

func (t texts) keep(s string) string {
	if kept, ok := t[s]; ok {
		return kept
	}
	s = strings.Clone(s) // not the whole document that it was read from
	t[s] = s
	return s
}

func (t texts) keepBytes(b []byte) string {
	if kept, ok := t[string(b)]; ok {
		return kept
	}
	return t.keep(string(b))
}

func (t texts) trait(value, why string) trait {
	if value != "" {
		return trait{value: t.keep(value)}
	}
	return trait{why: t.keep(why)}
}

// digest keeps the NICs of the fabric; where nothing says which those are, every NIC that could be.
func digest(in NodeInput, t texts) Digest {
	f := in.Facts
	d := Digest{
		Node: f.Node, Nominal: f.Source == nominal, Lab: f.Platform == labPlatform,
		NoRDMA: knownWithoutRDMA(f), NoGPU: knownWithoutGPU(f), MemoryKiB: f.Machine.MemoryKiB,
		Spark: in.view.spark, Recorded: t.keep(f.Hardware), Virtual: f.Machine.Hypervisor,
	}
	d.Pod, d.Kube = in.isPod(), f.Kube != nil
	d.SMVirtual = t.keep(in.Facts.SMVirtual)
	d.Role, d.RoleBy = in.role()
	if d.RoleBy = t.keep(d.RoleBy); d.Role == fabric.HostOfVMs {
		d.Virtual = new(false)
	}
	if _, cut := in.missing(fabric.FactNICs, fabric.FactNICAddresses); cut {
		d.Unread = in.why("addresses of "+f.Node+" were not all read", fabric.FactNICs, fabric.FactNICAddresses)
	}
	in.digestNVLink(&d, t)
	if _, cut := in.missing(fabric.FactNeighbours); cut {
		d.NeighboursUnread = in.why("neighbour table of "+f.Node+" was not read", fabric.FactNeighbours)
	}
	d.NICs = in.digestNICs(t)
	d.Ports = in.digestPorts(t)
	in.digestMachine(&d, t)
	return d
}

// role is what the node is for, and what shows it; where it is unknown, why.
func (in NodeInput) role() (fabric.HostRole, string) {
	role, seen := in.Facts.HostRole()
	if role == "" {
		return "", in.why(seen.Value, seen.Source)
	}
	return role, seen.Source + ": " + seen.Value
}

func (in NodeInput) digestNICs(t texts) []NICDigest {
	names := in.view.nics
	known := len(names) > 0
	if !known {
		names = in.candidates()
	}
	table := in.neighboursByNIC()
	out := make([]NICDigest, 0, len(names))
	for _, name := range names {
		nic, ok := in.nic(name)
		if !ok {
			continue
		}
		n := NICDigest{Name: t.keep(name), MTU: nic.MTU, Fabric: known, OverIB: in.overInfiniBand(nic),
			MAC: parseMAC(nic.MAC), ARPGuarded: guarded(nic), Neighbours: table[name]}
		for _, p := range nic.Addresses {
			if p.Addr().IsGlobalUnicast() {
				n.Addresses = append(n.Addresses, p.Addr())
				if p.Addr().Is4() {
					n.Subnets = append(n.Subnets, p.Masked())
				}
			}
		}
		n.Heard = in.heard(name)
		n.GID = in.digestGID(nic, t)
		n.Kind, n.QoS = in.digestQoS(nic, t)
		out = append(out, n)
	}
	return out
}

func (in NodeInput) digestGID(nic *fabric.NIC, t texts) trait {
	address, ok := in.addressOf(nic)
	if !ok {
		return t.trait("", "no address was seen")
	}
	h, ok := in.hcaOf(nic)
	if !ok {
		return t.trait("", "no RDMA device was seen")
	}
	if index, kind := findGID(h, nic, address); kind == typeRoCEv2 {
		return t.trait(strconv.Itoa(index), "")
	}
	return t.trait("", "its address was not seen as RoCE v2")
}

func (in NodeInput) digestPorts(t texts) []PortDigest {
	if len(in.view.ports) == 0 {
		return nil
	}
	out := make([]PortDigest, 0, len(in.view.ports))
	for _, p := range in.view.ports {
		h := p.hca
		d := PortDigest{
			Name: t.keep(p.name), NIC: t.keep(p.nic), Kind: t.keep(orWord(h.BoardID, h.Type, h.Driver)), Layer: t.keep(p.port.LinkLayer),
			Firmware: t.trait(in.firmwareOf(p), "firmware was not read"),
			GUID:     parseGUID(h.NodeGUID),
		}
		if p.port.RateGbps != nil && p.port.State != "DOWN" { // a port that is down shows a default
			d.Rate = *p.port.RateGbps
		}
		keys := strings.Join(sortedOnce(p.port.PKeys), " ")
		if _, cut := in.missing(fabric.FactPortPKeys + " " + p.name); cut {
			keys = ""
		}
		d.PKeys = t.trait(keys, "P_Keys were not all read")
		out = append(out, d)
	}
	return out
}

// firmwareOf returns the firmware version of the RDMA device, else that of its interface.
func (in NodeInput) firmwareOf(p portAt) string {
	if p.hca.Firmware != "" {
		return p.hca.Firmware
	}
	if nic, ok := in.nic(p.nic); ok {
		return nic.Firmware
	}
	return ""
}

// parseGUID reads 506b:4b03:00f6:d018; 0 where it is none.
func parseGUID(text string) uint64 {
	if len(text) != 19 {
		return 0
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(text, ":", ""), 16, 64)
	if err != nil {
		return 0
	}
	return n
}

func (in NodeInput) digestMachine(d *Digest, t texts) {
	d.HCANames = t.trait(in.hcaNames())
	f, m := in.Facts, in.Facts.Machine
	d.Machine = t.keep(strings.TrimSpace(value(m.Vendor) + " " + value(m.Product)))
	d.Kernel = t.trait(f.Kernel.Release, in.why("kernel release was not read", fabric.FactKernelRelease, fabric.FactKernel))
	d.BIOS = t.trait(value(m.BIOS), in.why("BIOS version was not read", fabric.FactMachineBIOS))
	if m.CPUModel != nil && m.CPUsOnline != nil {
		d.CPUs = t.trait(strconv.Itoa(*m.CPUsOnline)+" x "+*m.CPUModel, "")
	} else {
		d.CPUs = t.trait("", in.why("processors were not read", fabric.FactMachineCPUModel, fabric.FactMachineCPUsOnline))
	}
	d.Drivers = t.trait(in.driverVersions(), in.why("no GPU or NIC driver reports its version", fabric.FactModules, fabric.FactModuleVersion))
	if m, cut := in.missing(fabric.FactModules); cut && !m.Absent {
		d.Drivers = t.trait("", in.why("driver versions were not all read", fabric.FactModules))
	}
	drivers, images := in.gpuVersions()
	d.GPUDriver = t.trait(drivers, in.why("GPU driver version was not read", fabric.FactGPUDriverVersion, fabric.FactGPUs))
	d.VBIOS = t.trait(images, in.why("VBIOS was not read", fabric.FactGPUVBIOS, fabric.FactGPUs))
	if _, cut := in.missing(fabric.FactHCAs); d.NoRDMA || !cut && len(f.HCAs) > 0 {
		d.HCAs = new(len(f.HCAs))
	}
	if _, cut := in.missing(fabric.FactPCI, fabric.FactGPUs); d.NoGPU || !cut && len(f.GPUs) > 0 {
		d.GPUs = new(len(f.GPUs))
	}
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// noVersion stands for the version of a driver that is in use and reports none.
const noVersion = "?"

// driverVersions lists the modules that report their version, the drivers of fabric NICs that ethtool reports, and
// with noVersion those drivers of the fabric of which neither does.
func (in NodeInput) driverVersions() string {
	var lines []string
	versions := map[string]string{}
	add := func(name, version string) {
		if name != "" && versions[name] == "" {
			versions[name] = version
		}
	}
	for i := range in.Facts.Modules {
		if m := &in.Facts.Modules[i]; m.Version != "" {
			add(m.Name, m.Version)
		}
	}
	for _, name := range in.view.nics {
		nic, ok := in.nic(name)
		if !ok || nic.Driver == "" {
			continue
		}
		add(nic.Driver, orWord(nic.DriverVersion, noVersion))
		partner, _ := rdmaPartner(nic.Driver)
		if _, ok := in.hcaOf(nic); ok {
			add(partner, noVersion)
		}
	}
	for name, version := range versions {
		lines = append(lines, name+" "+version)
	}
	return strings.Join(sortedOnce(lines), "\n")
}

// gpuVersions lists driver versions and VBIOS images of the GPUs, each once.
func (in NodeInput) gpuVersions() (drivers, images string) {
	var d, v []string
	for i := range in.Facts.GPUs {
		g := &in.Facts.GPUs[i]
		if g.DriverVersion != "" {
			d = addOnce(d, g.DriverVersion)
		}
		if g.VBIOS != "" {
			v = addOnce(v, strings.TrimSpace(g.Name+" "+g.VBIOS))
		}
	}
	return strings.Join(sortedOnce(d), ", "), strings.Join(sortedOnce(v), ", ")
}

func sortedOnce(list []string) []string {
	if len(list) < 2 {
		return list
	}
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// candidates names the interfaces that could belong to a fabric: hardware, and the veth pairs of a lab.
func (in NodeInput) candidates() []string {
	var names []string
	for _, nic := range in.Facts.NICs {
		if nic.PCI != "" || nic.Kind == "veth" {
			names = append(names, nic.Name)
		}
	}
	return names
}
