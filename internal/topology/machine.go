package topology

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Machine is one host as topology models it. What is unknown is zero or nil; a Machine built from a distance matrix
// only has no CPUs.
type Machine struct {
	Name      string   `json:"name"`
	Source    string   `json:"source"`               // what it was read from: live facts, recorded facts, catalog, NCCL XML, ...
	NUMANodes int      `json:"numa_nodes,omitempty"` // of the system; 0: unknown
	CPUs      []CPU    `json:"cpus"`                 // NUMA nodes with a relevant device, in order of their number
	GPUs      []GPU    `json:"gpus"`                 // in order of their index
	NICs      []NIC    `json:"nics"`                 // of the fabric, in order of their index
	Gaps      []string `json:"gaps,omitempty"`
	Unread    []string `json:"unread,omitempty"` // of Gaps: what could not be read, so that devices may be missing or in another place
}

// Status is unknown where a device may be missing, else a pass.
func (m *Machine) Status() fabric.Status {
	if len(m.Unread) > 0 {
		return fabric.Unknown
	}
	return fabric.Pass
}

// addUnread records what could not be read.
func (m *Machine) addUnread(text string) {
	m.AddGap(text)
	if !slices.Contains(m.Unread, text) {
		m.Unread = append(m.Unread, text)
	}
}

// CPU is a NUMA node with the devices below its root ports.
type CPU struct {
	NUMA     int      `json:"numa"`               // -1: not reported by the firmware, as in most virtual machines
	Arch     string   `json:"arch,omitempty"`     // x86_64, arm64, ppc64; empty: unknown
	Vendor   string   `json:"vendor"`             // as CPUID reports it: GenuineIntel, AuthenticAMD
	Family   int      `json:"family,omitempty"`   // of CPUID; 0 unknown
	Model    int      `json:"model,omitempty"`    // of CPUID
	Affinity string   `json:"affinity,omitempty"` // mask of its CPUs as NCCL writes it: 0000ffff,ffffffff
	Devices  []Device `json:"devices"`
}

// Device is a relevant PCI function (a GPU, a NIC of the fabric, an NVSwitch) or a PCIe switch, with the devices
// below it. A switch is one Device, under the address of its upstream port, as NCCL counts it; sysfs and
// lspci show its downstream ports, and the root ports, as bridges of their own: these are in Port.
type Device struct {
	Bus             string   `json:"bus"`                   // domain:bus:device.function
	Port            string   `json:"port,omitempty"`        // root port or downstream port directly above it; empty: none, or not in the source
	HostBridge      string   `json:"host_bridge,omitempty"` // pci0000:20, of a Device directly below a CPU; empty: not in the source
	Class           uint32   `json:"class"`                 // 24 bits; 0x060400 a bridge, 0x0302xx a GPU, 0x02xxxx a NIC
	Vendor          uint16   `json:"vendor"`
	Device          uint16   `json:"device"`
	SubsystemVendor uint16   `json:"subsystem_vendor,omitempty"`
	SubsystemDevice uint16   `json:"subsystem_device,omitempty"`
	Speed           float64  `json:"speed"`               // GT/s of the link above it as trained; 0: not reported
	Width           int      `json:"width"`               // lanes; 0: not reported
	MaxSpeed        float64  `json:"max_speed,omitempty"` // maximum of both ends of the link; 0 unknown
	MaxWidth        int      `json:"max_width,omitempty"`
	Children        []Device `json:"children,omitempty"`
}

// GPU is an accelerator of a Machine.
type GPU struct {
	Index int       `json:"index"` // CUDA's or HIP's number, by PCI order
	Bus   string    `json:"bus"`
	Model string    `json:"model,omitempty"` // id in the catalog; empty where unknown
	Name  string    `json:"name"`
	SM    int       `json:"sm,omitempty"`  // compute capability times ten: 90; 0 for AMD
	GCN   string    `json:"gcn,omitempty"` // gfx942; empty for NVIDIA
	NUMA  int       `json:"numa"`          // -1 unknown
	Links []ScaleUp `json:"links,omitempty"`
	C2C   *C2C      `json:"c2c,omitempty"`  // what connects it to its CPU besides PCIe; nil: nothing, or not counted
	GDR   *bool     `json:"gdr,omitempty"`  // the driver supports GPUDirect RDMA, as in NCCL's file; nil: unknown
	UUID  string    `json:"uuid,omitempty"` // as nvidia-smi or rocm-smi print it; empty where unknown

	Coherent bool `json:"coherent,omitempty"` // NVLink-C2C connects it to its CPU, counted in C2C or not: what is near the CPU is near the GPU
}

// ScaleUp is NVLinks or XGMI links of a GPU that end in one place.
type ScaleUp struct {
	Target string `json:"target"`         // PCI address of the far end; fffffff:ff:ff.0 where the guest cannot see the NVSwitch
	Class  uint32 `json:"class"`          // of the far end: 0x068000 NVSwitch, 0x03xxxx GPU, 0x068001 CPU
	Count  int    `json:"count"`          // links
	XGMI   bool   `json:"xgmi,omitempty"` // else NVLink
}

// C2C is NVLink-C2C between a GPU and its CPU, as in NCCL's c2c element.
type C2C struct {
	Count  int `json:"count"`              // links
	MBytes int `json:"mbytes_s,omitempty"` // MB/s of one link, one way
}

// Classes of the far end of scale-up links as NCCL's nvlink element has them (NCCL src/graph/topo.cc,
// kvDictPciClass), and the address that it writes for an NVSwitch without a known PCI address (src/graph/xml.cc).
const (
	ClassNVSwitch  = 0x068000
	ClassLinkedCPU = 0x068001
	UnseenNVSwitch = "fffffff:ff:ff.0"
)

// NIC is a network port of the fabric.
type NIC struct {
	Index int    `json:"index"`
	Name  string `json:"name"`                 // of the RDMA device or the interface: mlx5_0, eth1; empty where the source has none
	Bus   string `json:"bus"`                  // empty where its PCI function is unknown
	Mbps  int    `json:"speed_mbps,omitempty"` // Mb/s, line rate; 0 unknown
	Port  int    `json:"port,omitempty"`       // from 1 on InfiniBand and RoCE
	GUID  uint64 `json:"guid,omitempty"`
	NUMA  int    `json:"numa"`          // -1 unknown
	GDR   *bool  `json:"gdr,omitempty"` // GPUDirect RDMA works; nil: unknown
	Model string `json:"model,omitempty"`

	HiddenRoot bool `json:"hidden_root,omitempty"` // the system does not show its PCIe root: it is no device of the firmware's PCI tree, as a virtual function in Azure

	Unbound bool     `json:"unbound,omitempty"`         // it has neither interface nor RDMA device here, as when passed to a virtual machine
	MaxConn int      `json:"max_connections,omitempty"` // connections that its plugin supports, as in NCCL's file; 0 unknown
	Latency *float64 `json:"latency_us,omitempty"`      // us, as in NCCL's file; nil: unknown
}

// IsGPU reports whether the PCI class is that of a display controller, or of an accelerator, the class of AMD's
// data centre GPUs (PCI Code and ID Assignment Specification: 03h and 12h).
func (d Device) IsGPU() bool { return isGPUClass(d.Class) }

func isGPUClass(class uint32) bool { return class>>16 == 0x03 || class>>16 == 0x12 }

// IsNIC reports whether the PCI class is that of a network controller, 02h.
func (d Device) IsNIC() bool { return d.Class>>16 == 0x02 }

// IsSwitch reports whether the PCI class is that of a PCI-to-PCI bridge, 0604h.
func (d Device) IsSwitch() bool { return d.Class>>8 == 0x0604 }

// Device returns a PCI function or switch by its address; ok is false where the tree does not have it.
func (m *Machine) Device(bus string) (d *Device, ok bool) {
	p := newPlaces(m)
	at, ok := p.byBus[bus]
	if !ok {
		return nil, false
	}
	return at.device(), true
}

// AddGap records once what is unknown, or what was assumed.
func (m *Machine) AddGap(text string) {
	if !slices.Contains(m.Gaps, text) {
		m.Gaps = append(m.Gaps, text)
	}
}

// place is the position of a device: its NUMA node and the chain of devices from the one directly below the CPU
// down to the device itself.
type place struct {
	cpu   int // index of CPUs
	chain []*Device
}

func (p place) device() *Device { return p.chain[len(p.chain)-1] }

// places finds devices by address. Of duplicate addresses the first counts.
type places struct {
	byBus map[string]place
}

func newPlaces(m *Machine) places {
	p := places{byBus: make(map[string]place)}
	for c := range m.CPUs {
		p.add(c, nil, m.CPUs[c].Devices)
	}
	return p
}

func (p places) add(cpu int, above []*Device, devices []Device) {
	for i := range devices {
		d := &devices[i]
		chain := append(slices.Clip(above), d)
		if _, twice := p.byBus[d.Bus]; !twice {
			p.byBus[d.Bus] = place{cpu: cpu, chain: chain}
		}
		p.add(cpu, chain, d.Children)
	}
}

// IsAMD reports whether the machine's GPUs are AMD's: the architecture of any is one of AMD's.
func (m *Machine) IsAMD() bool {
	return slices.ContainsFunc(m.GPUs, func(g GPU) bool { return g.GCN != "" })
}
