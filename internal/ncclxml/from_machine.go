package ncclxml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/topology"
)

// ForNCCL returns the topology file that NCCL needs for a machine: what its own dump would contain, as
// far as the machine is known (NVIDIA/nccl, src/graph/xml.cc). NCCL fills in what is missing from the elements
// of the GPU that a process owns, and of all nets; of everything else it needs each attribute, and the same ones in
// all processes of the host, or it counts the element twice (ncclTopoFuseXml compares all attributes). So a
// CPU or a switch of which too little is known is an error, and so are a machine without a PCI tree, an AMD
// GPU, a GPU or NIC that is not in the tree, a NIC without a name and an unknown link speed. A NIC without an interface
// or RDMA device is left out.
func ForNCCL(m *topology.Machine) (*Document, error) {
	return writeMachine(m, dialect{
		version: "1", link: "nvlink",
		gpu: func(g topology.GPU) ([]Attribute, error) {
			if g.GCN != "" {
				return nil, fmt.Errorf("is a %s: NCCL is for NVIDIA GPUs, RCCL has its own format", g.GCN)
			}
			return numbers("sm", g.SM), nil
		},
	})
}

// ForMachine returns the topology file for the library of the machine's GPUs: RCCL's for AMD's, NCCL's for all others.
func ForMachine(m *topology.Machine) (*Document, error) {
	if m.IsAMD() {
		return ForRCCL(m)
	}
	return ForNCCL(m)
}

// dialect is the differences between the files of NCCL and RCCL.
type dialect struct {
	version string // of the system element
	link    string // name of the element of scale-up links
	gpu     func(topology.GPU) ([]Attribute, error)
}

// numbers writes an attribute, or none where the number is unknown.
func numbers(name string, value int) []Attribute {
	if value == 0 {
		return nil
	}
	return []Attribute{{name, strconv.Itoa(value)}}
}

// machineWriter collects the elements of one machine.
type machineWriter struct {
	dialect
	machine *topology.Machine
	gpus    map[string][]topology.GPU
	nics    map[string][]topology.NIC // one function can have several ports
	system  *Element
}

func writeMachine(m *topology.Machine, d dialect) (*Document, error) {
	if m == nil || len(m.CPUs) == 0 {
		return nil, errors.New("topology file: the PCI tree of the machine is unknown: only its distances may be known")
	}
	w := machineWriter{dialect: d, machine: m, gpus: map[string][]topology.GPU{}, nics: map[string][]topology.NIC{},
		system: &Element{Name: "system", Attributes: []Attribute{{"version", d.version}}}}
	if err := w.index(); err != nil {
		return nil, fmt.Errorf("topology file: %w", err)
	}
	for i, c := range m.CPUs {
		if err := w.cpu(i, c); err != nil {
			return nil, fmt.Errorf("topology file: NUMA node %d: %w", c.NUMA, err)
		}
	}
	return &Document{Roots: []*Element{w.system}}, nil
}

// index records which GPU and which NICs a PCI function is, and rejects those that would be lost.
func (w *machineWriter) index() error {
	inTree := map[string]bool{}
	for _, c := range w.machine.CPUs {
		addresses(c.Devices, inTree)
	}
	var lost []string
	for _, g := range w.machine.GPUs {
		if !inTree[g.Bus] || len(w.gpus[g.Bus]) > 0 {
			lost = append(lost, fmt.Sprintf("GPU%d at %q", g.Index, g.Bus))
		}
		w.gpus[g.Bus] = append(w.gpus[g.Bus], g)
	}
	for _, n := range w.machine.NICs {
		if !inTree[n.Bus] && n.Bus != "" {
			lost = append(lost, fmt.Sprintf("NIC%d at %q", n.Index, n.Bus))
		}
		if n.Unbound {
			continue // NCCL cannot use it on this machine
		}
		if n.Name == "" {
			return fmt.Errorf("NIC%d at %q: has no name, and NCCL finds a NIC by the name of its RDMA device", n.Index, n.Bus)
		}
		w.nics[n.Bus] = append(w.nics[n.Bus], n)
	}
	if len(lost) > 0 {
		return fmt.Errorf("%s: not in the PCI tree, or not alone at its address", strings.Join(lost, ", "))
	}
	if len(w.machine.GPUs) == 0 {
		return errors.New("the machine has no GPU")
	}
	return nil
}

func addresses(devices []topology.Device, into map[string]bool) {
	for _, d := range devices {
		into[d.Bus] = true
		addresses(d.Children, into)
	}
}

func (w *machineWriter) cpu(i int, c topology.CPU) error {
	attributes, err := w.cpuAttributes(c)
	if err != nil {
		return err
	}
	e := &Element{Name: "cpu", Attributes: attributes, Parent: w.system}
	for _, d := range topology.InOrder(c.Devices) {
		if err := w.device(e, d); err != nil {
			return err
		}
	}
	if i == 0 { // NCCL's position of a NIC that is not a PCI function
		w.nic(e, w.nics[""])
	}
	if len(e.Children) > 0 {
		w.system.Children = append(w.system.Children, e)
	}
	return nil
}

// noAffinity is an empty CPU mask: NCCL then leaves the affinity of its threads unchanged (src/graph/topo.cc,
// ncclTopoGetCpuAffinity). If omitted it would be read from the node's own system, for one of several NUMA
// nodes in each process, which then counts that node twice.
const noAffinity = "00000000"

func (w *machineWriter) cpuAttributes(c topology.CPU) ([]Attribute, error) {
	out := []Attribute{{"numaid", strconv.Itoa(c.NUMA)}}
	switch {
	case c.Affinity != "":
		out = append(out, Attribute{"affinity", c.Affinity})
	case len(w.machine.CPUs) > 1:
		out = append(out, Attribute{"affinity", noAffinity})
	}
	if c.Arch == "" {
		return nil, errors.New("the architecture of the CPU is unknown, NCCL needs x86_64, arm64 or ppc64")
	}
	out = append(out, Attribute{"arch", c.Arch})
	if c.Vendor != "" {
		out = append(out, Attribute{"vendor", c.Vendor})
	} else if c.Arch == "x86_64" {
		return nil, errors.New("the vendor of the CPU is unknown, NCCL needs it for x86_64")
	}
	if c.Family != 0 {
		out = append(out, Attribute{"familyid", strconv.Itoa(c.Family)}, Attribute{"modelid", strconv.Itoa(c.Model)})
	} else if c.Vendor == "GenuineIntel" || c.Arch == "x86_64" && len(w.machine.CPUs) > 1 {
		return nil, fmt.Errorf("family and model of the CPU (%s) are unknown, NCCL needs them for Intel, and for all x86_64 with several NUMA nodes", c.Vendor)
	}
	return out, nil
}

// device writes a PCI function and everything below it, unless no GPU and no NIC is among them.
func (w *machineWriter) device(parent *Element, d topology.Device) error {
	gpus, nics := w.gpus[d.Bus], w.nics[d.Bus]
	e := &Element{Name: "pci", Parent: parent}
	for _, g := range gpus {
		if err := w.gpu(e, g); err != nil {
			return fmt.Errorf("GPU%d at %q: %w", g.Index, g.Bus, err)
		}
	}
	w.nic(e, nics)
	for _, child := range topology.InOrder(d.Children) {
		if err := w.device(e, child); err != nil {
			return err
		}
	}
	if len(e.Children) == 0 {
		return nil
	}
	var err error
	if e.Attributes, err = pciAttributes(d, len(gpus) > 0, len(nics) > 0); err != nil {
		return err
	}
	parent.Children = append(parent.Children, e)
	return nil
}

// pciAttributes writes everything that NCCL reads of a function. It writes 0x0000 for an unknown vendor, device or
// subsystem, as sysfs does: NCCL uses them only to find Broadcom switches to flatten. Speed and width are
// the maximum of the link, as in NCCL's own dump: a link that trained slower is a fault to be
// fixed, an idle GPU trains down, and the file outlives both.
func pciAttributes(d topology.Device, isGPU, isNIC bool) ([]Attribute, error) {
	class := d.Class
	switch {
	case class != 0:
	case isGPU:
		class = 0x030200
	case isNIC:
		class = 0x020000
	default:
		class = 0x060400
	}
	out := []Attribute{
		{"busid", d.Bus},
		{"class", fmt.Sprintf("0x%06x", class)},
		{"vendor", fmt.Sprintf("0x%04x", d.Vendor)},
		{"device", fmt.Sprintf("0x%04x", d.Device)},
		{"subsystem_vendor", fmt.Sprintf("0x%04x", d.SubsystemVendor)},
		{"subsystem_device", fmt.Sprintf("0x%04x", d.SubsystemDevice)},
	}
	speed, width := cmp.Or(d.MaxSpeed, d.Speed), cmp.Or(d.MaxWidth, d.Width)
	if text, ok := SpeedText(speed); ok {
		// 0 is NCCL's own value for an unknown width; it assumes 16
		return append(out, Attribute{"link_speed", text}, Attribute{"link_width", strconv.Itoa(width)}), nil
	}
	if isGPU && speed == 0 {
		return out, nil // the process that owns the GPU reads it from /sys
	}
	return nil, fmt.Errorf("PCI device %q: NCCL does not know its link speed of %g GT/s and would assume 8 GT/s", d.Bus, speed)
}

func (w *machineWriter) gpu(parent *Element, g topology.GPU) error {
	special, err := w.dialect.gpu(g)
	if err != nil {
		return err
	}
	// rank is overwritten by the process that owns the GPU, but a gpu without one is dropped
	index := strconv.Itoa(g.Index)
	attributes := append([]Attribute{{"dev", index}}, special...)
	attributes = append(append(attributes, Attribute{"rank", index}), truth("gdr", g.GDR)...)
	e := parent.Add("gpu", attributes...)
	if slices.ContainsFunc(g.Links, func(l topology.ScaleUp) bool { return l.Count <= 0 || l.Class == 0 }) {
		return errors.New("the number of its links, or where they end, is unknown")
	}
	for _, l := range g.Links {
		e.Add(w.link, linkAttributes(l)...)
	}
	if g.C2C != nil {
		e.Add("c2c", Attribute{"bw", strconv.Itoa(g.C2C.MBytes)}, Attribute{"count", strconv.Itoa(g.C2C.Count)})
	}
	return nil
}

func linkAttributes(l topology.ScaleUp) []Attribute {
	return []Attribute{{"target", l.Target}, {"count", strconv.Itoa(l.Count)}, {"tclass", fmt.Sprintf("0x%06x", l.Class)}}
}

func (w *machineWriter) nic(parent *Element, ports []topology.NIC) {
	if len(ports) == 0 {
		return
	}
	e := parent.Add("nic")
	for _, n := range ports {
		attributes := []Attribute{{"name", n.Name}, {"dev", strconv.Itoa(n.Index)}}
		if n.Latency != nil {
			attributes = append(attributes, Attribute{"latency", strconv.FormatFloat(*n.Latency, 'g', -1, 64)})
		}
		attributes = append(attributes, numbers("speed", n.Mbps)...)
		attributes = append(attributes, numbers("port", n.Port)...)
		if n.GUID != 0 { // ports with one GUID are one NIC to NCCL
			attributes = append(attributes, Attribute{"guid", fmt.Sprintf("0x%x", n.GUID)})
		}
		attributes = append(attributes, numbers("maxconn", n.MaxConn)...)
		e.Add("net", append(attributes, truth("gdr", n.GDR)...)...)
	}
}

func truth(name string, value *bool) []Attribute {
	switch {
	case value == nil:
		return nil
	case *value:
		return []Attribute{{name, "1"}}
	default:
		return []Attribute{{name, "0"}}
	}
}

// ForRCCL returns the topology file that RCCL needs for a machine, as ForNCCL does for NCCL. RCCL
// has its own version, names the architecture of the GPU and calls the links xgmi (ROCm/rccl,
// src/graph/xml.h and xml.cc). A GPU whose architecture is unknown, or is NVIDIA's, is an error.
func ForRCCL(m *topology.Machine) (*Document, error) {
	return writeMachine(m, dialect{
		version: "2", link: "xgmi",
		gpu: func(g topology.GPU) ([]Attribute, error) {
			if g.GCN == "" {
				return nil, errors.New("has no AMD architecture, such as gfx942, which RCCL needs")
			}
			return append([]Attribute{{"gcn", g.GCN}}, numbers("arch", hipFeatures(g.GCN))...), nil
		},
	})
}

// hipFeatures is the bit field of HIP's device properties (hipDeviceArch_t), which RCCL writes as arch, for the
// architectures for which one of RCCL's files shows it: topo_8p_942vm.xml and topo_8p_950.xml of its
// tools/topo_expl/models. 0 for others: RCCL queries the driver.
func hipFeatures(gcn string) int {
	switch gcn {
	case "gfx942", "gfx950":
		return 38911
	default:
		return 0
	}
}
