package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// GuestDevice is a device that was passed through, as the virtual machine sees it.
type GuestDevice struct {
	Kind Kind     // GPU or NIC; KindOther is an NVSwitch
	Bus  string   // in the guest
	Name string   // of a NIC's RDMA device in the guest: mlx5_0; NCCL finds the NIC by it
	IDs  []string // ids that the host knows too: hardware label, serial, UUID of a GPU, node GUID of an HCA
}

// GuestDevices lists the GPUs, NICs and NVSwitches of a machine as seen from inside, with the UUIDs and GUIDs
// that are known of them.
func GuestDevices(m *Machine) []GuestDevice {
	var found []GuestDevice
	for _, g := range m.GPUs {
		found = append(found, GuestDevice{Kind: KindGPU, Bus: g.Bus, IDs: idsOf(g.UUID)})
	}
	for _, n := range m.NICs {
		found = append(found, GuestDevice{Kind: KindNIC, Bus: n.Bus, Name: n.Name, IDs: idsOf(guidText(n.GUID))})
	}
	for _, bus := range nvSwitches(m) {
		found = append(found, GuestDevice{Kind: KindOther, Bus: bus})
	}
	return found
}

func idsOf(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func guidText(guid uint64) string {
	if guid == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", guid)
}

// nvSwitches lists the NVSwitches of a PCI tree by address.
func nvSwitches(m *Machine) []string {
	var found []string
	for bus, p := range newPlaces(m).byBus {
		if p.device().Class == ClassNVSwitch {
			found = append(found, bus)
		}
	}
	slices.SortFunc(found, CompareBus)
	return found
}

// Guest returns the real machine below a virtual machine: the NUMA nodes, switches and links of its
// hypervisor host, with the devices that were passed through at their addresses in the guest, where the
// PCI tree is flat. labels are hardware labels and serials of the host's devices with their addresses on the
// host; UUIDs and GUIDs that the hypervisor's machine has count as such too.
//
// A device is matched by its ids. Those without a match are matched in the order of their addresses, if that is
// the order of a VMClass (GPU0, NIC0, GPU1, NIC1, ..., then the NVSwitches; Deploy Distributed LLM
// Inference with GPUDirect RDMA over InfiniBand in VMware Private AI, 10.1) and the host has as many left.
// Anything else is an error that names the devices. The affinity of the host's CPUs is not the guest's and is
// left out; an NVSwitch that the guest does not see gets the target that NCCL writes in this case.
func Guest(hypervisor *Machine, guest []GuestDevice, labels map[string]string) (*Machine, error) {
	match, err := newGuestMatch(hypervisor, guest, labels)
	if err == nil {
		err = match.all()
	}
	if err != nil {
		return nil, fmt.Errorf("devices of the guest: %w", err)
	}
	return match.machine(), nil
}

// machine builds the guest's machine from the matches.
func (m *guestMatch) machine() *Machine {
	g := guestBuild{guestMatch: m, used: map[string]bool{}}
	for _, d := range m.guest {
		g.used[d.Bus] = true
	}
	out := &Machine{Name: m.host.Name, Source: m.host.Source + ", with the addresses of the guest", NUMANodes: m.host.NUMANodes, Gaps: slices.Clone(m.host.Gaps), Unread: slices.Clone(m.host.Unread)}
	for _, c := range m.host.CPUs {
		c.Affinity = ""
		if c.Devices = g.devices(c.Devices); len(c.Devices) > 0 {
			out.CPUs = append(out.CPUs, c)
		}
	}
	for _, h := range m.hosts {
		d, ok := m.taken[h.bus]
		switch {
		case ok && h.kind == KindGPU:
			out.GPUs = append(out.GPUs, g.gpu(h, d))
		case ok && h.kind == KindNIC:
			out.NICs = append(out.NICs, g.ports(h, d)...)
		}
	}
	renumber(out)
	return out
}

// renumber assigns GPUs and NICs the numbers of the guest's drivers: PCI order.
func renumber(m *Machine) {
	slices.SortStableFunc(m.GPUs, func(a, b GPU) int { return CompareBus(a.Bus, b.Bus) })
	slices.SortStableFunc(m.NICs, func(a, b NIC) int { return cmp.Or(CompareBus(a.Bus, b.Bus), cmp.Compare(a.Port, b.Port)) })
	for i := range m.GPUs {
		m.GPUs[i].Index = i
	}
	for i := range m.NICs {
		m.NICs[i].Index = i
	}
}

// guestBuild rewrites the tree of the host.
type guestBuild struct {
	*guestMatch
	used map[string]bool // addresses of the guest's tree
}

func (g guestBuild) gpu(h hostDevice, d GuestDevice) GPU {
	gpu := GPU{NUMA: g.numa(h.bus)}
	if i := slices.IndexFunc(g.host.GPUs, func(x GPU) bool { return x.Bus == h.bus }); i >= 0 {
		gpu = g.host.GPUs[i]
	}
	gpu.Bus, gpu.Links = d.Bus, g.links(gpu.Links)
	return gpu
}

func (g guestBuild) ports(h hostDevice, d GuestDevice) []NIC {
	ports := only(g.host.NICs, func(n NIC) bool { return n.Bus == h.bus })
	if len(ports) == 0 {
		ports = []NIC{{NUMA: g.numa(h.bus)}}
	}
	for i := range ports {
		ports[i].Bus, ports[i].Name, ports[i].Unbound = d.Bus, d.Name, false
	}
	return ports
}

// numa returns the NUMA node of a device of the host.
func (g guestBuild) numa(bus string) int { return g.host.CPUs[newPlaces(g.host).byBus[bus].cpu].NUMA }

// devices keeps what was passed through and the switches above it.
func (g guestBuild) devices(all []Device) []Device {
	var kept []Device
	for _, d := range InOrder(all) {
		passed, ok := g.taken[d.Bus]
		d.Children = g.devices(d.Children)
		switch {
		case ok:
			d.Bus = passed.Bus
		case len(d.Children) > 0:
			d.Bus = g.free(d.Bus)
		default:
			continue
		}
		kept = append(kept, d)
	}
	return InOrder(kept)
}

// free assigns a switch an address that the guest does not have: NCCL would confuse a guest device at the same
// address with the switch. The guest has no such switch, so any other domain will do.
func (g guestBuild) free(bus string) string {
	domain, rest, _ := strings.Cut(bus, ":")
	const domains = 0x10000
	for i := 0; g.used[domain+":"+rest] && i < domains; i++ {
		domain = fmt.Sprintf("%04x", i)
	}
	g.used[domain+":"+rest] = true
	return domain + ":" + rest
}

// links turns the far ends into the guest's addresses. Links to a GPU that was not passed through are left
// out; links to NVSwitches that the guest does not see are one bundle.
func (g guestBuild) links(all []ScaleUp) []ScaleUp {
	var kept []ScaleUp
	for _, l := range all {
		passed, ok := g.taken[l.Target]
		switch {
		case ok:
			l.Target = passed.Bus
		case l.Class == ClassNVSwitch:
			l.Target = UnseenNVSwitch
		case l.Class != ClassLinkedCPU:
			continue
		}
		same := slices.IndexFunc(kept, func(k ScaleUp) bool { return k.Target == l.Target && k.Class == l.Class })
		if same >= 0 && l.Class == ClassNVSwitch {
			kept[same].Count += l.Count
			continue
		}
		kept = append(kept, l)
	}
	return kept
}
