package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Classes of PCI functions (PCI Code and ID Assignment Specification; the GPUs as lspci shows them).
const (
	class3D          = 0x030200 // NVIDIA's data centre GPUs
	classDisplay     = 0x038000 // AMD MI200
	classAccelerator = 0x120000 // AMD MI300
	classBridge      = 0x060400
	classEthernet    = 0x020000
)

// slot is a switch or a root port with the devices below it.
type slot struct{ gpus, nics []int }

// nominalTree builds the tree of a blueprint and assigns addresses.
type nominalTree struct {
	*blueprint
	m      *Machine
	domain int
	bus    int
}

func (b *blueprint) build() *Machine {
	if b.nics > 0 && b.nicAt == nil {
		b.gap("PCI addresses and names of RDMA devices are those that firmware and drivers usually assign: not read from a machine")
	}
	x := nominalTree{blueprint: b, bus: 0x10, m: &Machine{Name: b.name, Source: sourceCatalog, NUMANodes: b.numa, Gaps: b.gaps}}
	for n := range b.numa {
		c := b.cpu
		c.NUMA = n
		x.m.CPUs = append(x.m.CPUs, c)
	}
	x.m.GPUs = make([]GPU, b.gpus)
	x.m.NICs = make([]NIC, b.nics)
	slots := b.slots()
	fromNames := b.addressesOfNames()
	for i, s := range slots {
		x.place(s, i*b.numa/len(slots), fromNames)
	}
	x.m.CPUs = slices.DeleteFunc(x.m.CPUs, func(c CPU) bool { return len(c.Devices) == 0 })
	x.m.Gaps = append(x.m.Gaps, JoinGPUs(x.m, b.gpu, b.scaleUp, b.gpus)...)
	return x.m
}

// slots spreads GPUs and NICs evenly: GPUs in their order, NICs so that those of one number are near the GPU
// of that number.
func (b *blueprint) slots() []slot {
	n := max(b.gpus, b.nics)
	if b.perSwitch > 0 && b.gpus > 0 {
		n = (b.gpus + b.perSwitch - 1) / b.perSwitch
	}
	slots := make([]slot, n)
	for i := range b.gpus {
		s := &slots[i*n/b.gpus]
		s.gpus = append(s.gpus, i)
	}
	for i := range b.nics {
		s := &slots[i*n/b.nics]
		s.nics = append(s.nics, i)
	}
	return slots
}

// addressesOfNames reads the NICs' addresses from their names, if all of them have one and all differ.
func (b *blueprint) addressesOfNames() []string {
	var found []string
	for _, name := range b.nicNames {
		bus, ok := BusOfInterface(name)
		if !ok || slices.Contains(found, bus) {
			return nil
		}
		found = append(found, bus)
	}
	return found
}

func (x *nominalTree) place(s slot, numa int, fromNames []string) {
	if x.perSwitch == 0 || x.gpus == 0 {
		for _, i := range s.gpus {
			if x.gpuAt != nil {
				x.rootAt(numa, x.gpuDevice(i, numa, x.gpuAt[i]))
				continue
			}
			bridge, port := x.hostBridge()
			x.root(numa, bridge, port, x.gpuDevice(i, numa, x.next()))
		}
		for _, i := range s.nics {
			x.rootNIC(i, numa, fromNames)
		}
		return
	}
	bridge, port := x.hostBridge()
	if x.gpuAt != nil && len(s.gpus) > 0 { // a guest, whose GPUs are on a root bus; the switch is the host's
		domain, bus, _ := domainAndBus(x.gpuAt[s.gpus[0]])
		bridge = fmt.Sprintf("pci%s:%02x", domain, bus)
	}
	speed, width := x.speed, 16
	if x.uplink.Speed > 0 {
		speed, width = x.uplink.Speed, x.uplink.Width
	}
	sw := Device{Bus: x.next(), Class: classBridge, Speed: speed, Width: width, MaxSpeed: speed, MaxWidth: width}
	ports := x.nextBus()
	for _, i := range s.gpus {
		sw.Children = append(sw.Children, x.gpuDevice(i, numa, x.known(x.gpuAt, i)))
	}
	for _, i := range s.nics {
		sw.Children = append(sw.Children, x.nicDevice(i, numa, x.known(x.nicAt, i)))
	}
	for i := range sw.Children {
		sw.Children[i].Port = fmt.Sprintf("%s:%02x.%x", ports, i%32, i/32%8)
	}
	x.root(numa, bridge, port, sw)
}

func (x *nominalTree) root(numa int, bridge, port string, d Device) {
	d.HostBridge, d.Port = bridge, port
	x.m.CPUs[numa].Devices = append(x.m.CPUs[numa].Devices, d)
}

// rootNIC puts a NIC on a root port: one of its own, or where its name contains its address the first of its
// domain, which it shares with the other functions of its slot.
func (x *nominalTree) rootNIC(i, numa int, fromNames []string) {
	if x.nicAt != nil {
		x.rootAt(numa, x.nicDevice(i, numa, x.nicAt[i]))
		return
	}
	if fromNames == nil {
		bridge, port := x.hostBridge()
		x.root(numa, bridge, port, x.nicDevice(i, numa, x.next()))
		return
	}
	domain, _, _ := strings.Cut(fromNames[i], ":")
	x.root(numa, "pci"+domain+":00", domain+":00:00.0", x.nicDevice(i, numa, fromNames[i]))
}

// rootAt puts a device with a known address below the root bus of its domain, as Linux names that of an arm64 server,
// where each PCIe root is a domain (resource slices of OCI BM.GPU.GB200-v3.4: 0002:03:00.1 is below pci0002:00).
func (x *nominalTree) rootAt(numa int, d Device) {
	domain, _, _ := strings.Cut(d.Bus, ":")
	x.root(numa, "pci"+domain+":00", domain+":00:00.0", d)
}

// known is the address of a device, a new one where no source gives it.
func (x *nominalTree) known(addresses []string, i int) string {
	if addresses == nil {
		return x.next()
	}
	return addresses[i]
}

// hostBridge returns a new root bus and its port. A switch with everything below it must fit before the next: root bus,
// upstream port, downstream ports, and a bus for each device.
func (x *nominalTree) hostBridge() (bridge, port string) {
	if x.bus > 0x100-0x10 {
		x.domain, x.bus = x.domain+1, 0x10
	}
	bus := x.nextBus()
	return "pci" + bus, bus + ":01.0"
}

func (x *nominalTree) nextBus() string {
	if x.bus > 0xff {
		x.domain, x.bus = x.domain+1, 1
	}
	x.bus++
	return fmt.Sprintf("%04x:%02x", x.domain, x.bus-1)
}

func (x *nominalTree) next() string { return x.nextBus() + ":00.0" }

func (x *nominalTree) gpuDevice(i, numa int, at string) Device {
	g := GPU{Index: i, Bus: at, Model: x.gpuID, Name: x.gpu.Title, NUMA: x.m.CPUs[numa].NUMA, Coherent: IsCoherent(x.gpu, x.cpu.Arch)}
	g.SM, g.GCN = Architecture(x.gpu.Arch)
	x.m.GPUs[i] = g
	class := uint32(class3D)
	switch {
	case x.gpu.Vendor == "amd" && g.GCN == "gfx90a":
		class = classDisplay
	case x.gpu.Vendor == "amd":
		class = classAccelerator
	}
	return x.device(at, class, x.gpu.PCIID, x.gpu.PCIeLink.Speed, x.gpu.PCIeLink.Width)
}

func (x *nominalTree) nicDevice(i, numa int, at string) Device {
	x.m.NICs[i] = NIC{Index: i, Name: x.nicName(i, at), Bus: at, Mbps: x.mbps, Port: 1, NUMA: x.m.CPUs[numa].NUMA, Model: x.nicID, HiddenRoot: x.hidden}
	return x.device(at, classEthernet, x.nicPCI, x.nic.PCIeLink.Speed, x.nic.PCIeLink.Width)
}

// nicName is the name of the RDMA device, by which NCCL and nvidia-smi know a NIC. It is the name that the
// driver assigns, unless udev renames it by its PCI address as it does the interface; where a driver has no RDMA
// device, the interface's.
func (x *nominalTree) nicName(i int, at string) string {
	interfaceName := ""
	if x.nicNames != nil {
		interfaceName = x.nicNames[i]
	}
	if _, ok := BusOfInterface(interfaceName); ok { // enp1s0f0np0 is rocep1s0f0: DGX Spark Networking, ibdev2netdev
		path, _, _ := strings.Cut(strings.TrimPrefix(interfaceName, "en"), "n")
		return "roce" + path
	}
	switch x.nic.Driver {
	case "mlx5_core": // GKE and GPUDirect RDMA with DRA, nvidia-smi topo -m
		return fmt.Sprintf("mlx5_%d", i)
	case "bnxt_en": // Broadcom 957608-AN209, 8.7.2
		return fmt.Sprintf("bnxt_re%d", i)
	case "ionic": // Linux drivers/infiniband/hw/ionic, ionic_create_ibdev
		return fmt.Sprintf("ionic_%d", i)
	case "efa": // aws/aws-ofi-nccl, topology/p5.48xl-topo.xml: rdmap79s0 is 0000:4f:00.0
		_, bus, _ := domainAndBus(at)
		return fmt.Sprintf("rdmap%ds0", bus)
	default:
		return cmp.Or(interfaceName, fmt.Sprintf("nic%d", i))
	}
}

// device sets the link of a function: the slower and narrower of its own limits and those of its slot.
func (x *nominalTree) device(bus string, class uint32, ids []string, speed float64, width int) Device {
	d := Device{Bus: bus, Class: class}
	if len(ids) > 0 {
		d.Vendor, d.Device = pciID(ids[0])
	}
	switch {
	case speed == 0:
		d.Speed = x.speed
	case x.speed > 0:
		d.Speed = min(speed, x.speed)
	default:
		d.Speed = speed
	}
	d.Width = 16
	if width > 0 {
		d.Width = width
	}
	d.MaxSpeed, d.MaxWidth = d.Speed, d.Width
	return d
}

// pciID reads vendor:device of the catalog, which has already checked the form.
func pciID(text string) (vendor, device uint16) {
	v, d, _ := strings.Cut(text, ":")
	a, _ := strconv.ParseUint(v, 16, 16)
	b, _ := strconv.ParseUint(d, 16, 16)
	return uint16(a), uint16(b)
}

// Architecture reads an architecture of the catalog: sm_90 is compute capability 9.0.
func Architecture(name string) (sm int, gcn string) {
	if digits, ok := strings.CutPrefix(name, "sm_"); ok {
		sm, _ = strconv.Atoi(strings.TrimRight(digits, "abcdefghijklmnopqrstuvwxyz"))
		return sm, ""
	}
	return 0, name
}

// limitGPUs keeps the first n GPUs of the machine, and their functions in its tree.
func (m *Machine) limitGPUs(n int) {
	if n >= len(m.GPUs) {
		return
	}
	gone := make(map[string]bool)
	for _, g := range m.GPUs[n:] {
		gone[g.Bus] = true
	}
	m.GPUs = m.GPUs[:n]
	for c := range m.CPUs {
		m.CPUs[c].Devices = without(m.CPUs[c].Devices, gone)
	}
	for i := range m.GPUs {
		m.GPUs[i].Links = slices.DeleteFunc(m.GPUs[i].Links, func(l ScaleUp) bool { return gone[l.Target] })
	}
}

func without(devices []Device, gone map[string]bool) []Device {
	devices = slices.DeleteFunc(devices, func(d Device) bool { return gone[d.Bus] })
	for i := range devices {
		devices[i].Children = without(devices[i].Children, gone)
	}
	return devices
}
