package topology

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
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

// hostDevice is a device of the hypervisor's machine.
type hostDevice struct {
	kind Kind
	bus  string
}

// guestMatch maps devices of the guest to those of the host.
type guestMatch struct {
	host  *Machine
	guest []GuestDevice // by address in the guest
	hosts []hostDevice  // GPUs, NICs, NVSwitches, each by address
	byID  map[string]hostDevice
	taken map[string]GuestDevice // by address on the host
}

func newGuestMatch(host *Machine, guest []GuestDevice, labels map[string]string) (*guestMatch, error) {
	if host == nil || len(host.CPUs) == 0 {
		return nil, errors.New("the PCI tree of the hypervisor's host is unknown")
	}
	m := &guestMatch{host: host, guest: slices.Clone(guest), byID: map[string]hostDevice{}, taken: map[string]GuestDevice{}}
	kinds := map[string]Kind{}
	for _, g := range host.GPUs {
		m.hosts = append(m.hosts, hostDevice{KindGPU, g.Bus})
		m.know(g.UUID, hostDevice{KindGPU, g.Bus})
	}
	for _, n := range host.NICs {
		if !slices.Contains(m.hosts, hostDevice{KindNIC, n.Bus}) { // a second port comes with the first
			m.hosts = append(m.hosts, hostDevice{KindNIC, n.Bus})
		}
		m.know(guidText(n.GUID), hostDevice{KindNIC, n.Bus})
	}
	m.unbound()
	for _, bus := range nvSwitches(host) {
		m.hosts = append(m.hosts, hostDevice{KindOther, bus})
	}
	slices.SortStableFunc(m.hosts, func(a, b hostDevice) int { return CompareBus(a.bus, b.bus) })
	for _, d := range m.hosts {
		kinds[d.bus] = d.kind
	}
	for label, text := range labels {
		bus, err := ParseBus(text)
		if err != nil {
			return nil, fmt.Errorf("label %q: %w", label, err)
		}
		kind, ok := kinds[bus]
		if !ok {
			return nil, fmt.Errorf("label %q: the host has no GPU, NIC or NVSwitch at %q", label, bus)
		}
		m.know(label, hostDevice{kind, bus})
	}
	return m, m.normalise()
}

// unbound adds the GPUs and NICs of the PCI tree where the host lists none: a hypervisor passes them through,
// and then only their class is known.
func (m *guestMatch) unbound() {
	for bus, p := range newPlaces(m.host).byBus {
		switch d := p.device(); {
		case d.IsGPU() && len(m.host.GPUs) == 0:
			m.hosts = append(m.hosts, hostDevice{KindGPU, bus})
		case d.IsNIC() && len(m.host.NICs) == 0:
			m.hosts = append(m.hosts, hostDevice{KindNIC, bus})
		}
	}
}

// normalise writes the guest's addresses in one form, sorts by them and rejects duplicates.
func (m *guestMatch) normalise() error {
	for i, d := range m.guest {
		bus, err := ParseBus(d.Bus)
		if err != nil {
			return err
		}
		m.guest[i].Bus = bus
	}
	slices.SortStableFunc(m.guest, func(a, b GuestDevice) int { return CompareBus(a.Bus, b.Bus) })
	for i := range m.guest[:max(len(m.guest)-1, 0)] {
		if m.guest[i].Bus == m.guest[i+1].Bus {
			return fmt.Errorf("address %q: duplicate", m.guest[i].Bus)
		}
	}
	return nil
}

// know records an id of the host's device. An id of two devices is not used.
func (m *guestMatch) know(id string, d hostDevice) {
	for _, form := range idForms(id) {
		if old, twice := m.byID[form]; twice && old != d {
			d = hostDevice{}
		}
		m.byID[form] = d
	}
}

// idForms normalises an id over the differences between tools: case, 0x, colons and dashes. A GUID is recorded in
// both byte orders: sysfs and the tools print it in wire order, NCCL in the CPU's.
func idForms(id string) []string {
	plain := strings.NewReplacer(":", "", "-", "", " ", "").Replace(strings.TrimPrefix(strings.ToLower(id), "0x"))
	if plain == "" {
		return nil
	}
	forms := []string{plain}
	const guidDigits = 16
	if len(plain) <= guidDigits {
		padded := strings.Repeat("0", guidDigits-len(plain)) + plain
		if raw, err := hex.DecodeString(padded); err == nil {
			forms = append(forms, padded, fmt.Sprintf("%016x", binary.LittleEndian.Uint64(raw)))
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// all matches every device of the guest, first by id, then in order.
func (m *guestMatch) all() error {
	var rest []GuestDevice
	for _, d := range m.guest {
		h, ok, err := m.find(d)
		if err != nil {
			return err
		}
		if !ok {
			rest = append(rest, d)
			continue
		}
		if other, taken := m.taken[h.bus]; taken {
			return fmt.Errorf("%s and %s have ids of the same host device, %q", guestTitle(other), guestTitle(d), h.bus)
		}
		m.taken[h.bus] = d
	}
	if len(m.guest) == 0 {
		return errors.New("none given")
	}
	return m.inOrder(rest)
}

// find searches a device by its ids.
func (m *guestMatch) find(d GuestDevice) (found hostDevice, ok bool, err error) {
	for _, id := range d.IDs {
		for _, form := range idForms(id) {
			h, known := m.byID[form]
			switch {
			case !known || h.bus == "":
			case h.kind != d.Kind:
				return h, false, fmt.Errorf("%s: %q is the %s of the host at %q", guestTitle(d), id, kindWord(h.kind), h.bus)
			case ok && h != found:
				return h, false, fmt.Errorf("%s: its ids belong to two host devices, %q and %q", guestTitle(d), found.bus, h.bus)
			default:
				found, ok = h, true
			}
		}
	}
	return found, ok, nil
}

// inOrder matches devices without an id, kind by kind, in the order of the addresses on both sides.
func (m *guestMatch) inOrder(rest []GuestDevice) error {
	if len(rest) == 0 {
		return nil
	}
	for _, kind := range []Kind{KindGPU, KindNIC, KindOther} {
		ours := only(rest, func(d GuestDevice) bool { return d.Kind == kind })
		theirs := only(m.hosts, func(h hostDevice) bool { _, taken := m.taken[h.bus]; return h.kind == kind && !taken })
		if len(ours) == 0 {
			continue
		}
		if len(ours) != len(theirs) {
			return fmt.Errorf("the guest has %s (%s), the host %s (%s): without labels, serials or UUIDs they cannot be matched",
				fabric.Count(len(ours), kindWord(kind)), titles(ours, func(d GuestDevice) string { return d.Bus }),
				fabric.Count(len(theirs), kindWord(kind)), titles(theirs, func(h hostDevice) string { return h.bus }))
		}
		for i, d := range ours {
			m.taken[theirs[i].bus] = d
		}
	}
	return checkClassOrder(rest)
}

// checkClassOrder rejects an order of kinds that a VMClass does not produce.
func checkClassOrder(devices []GuestDevice) error {
	gpus := len(only(devices, func(d GuestDevice) bool { return d.Kind == KindGPU }))
	nics := len(only(devices, func(d GuestDevice) bool { return d.Kind == KindNIC }))
	for i, d := range devices {
		want := KindOther
		switch {
		case gpus == 0 && i < nics:
			want = KindNIC
		case nics == 0 && i < gpus:
			want = KindGPU
		case i < gpus+nics:
			want = [2]Kind{KindGPU, KindNIC}[i%2]
		}
		if d.Kind != want || gpus > 0 && nics > 0 && gpus != nics {
			return fmt.Errorf("%s: not in the order of a VMClass (GPU0, NIC0, GPU1, NIC1, ..., NVSwitches), found %s: specify labels, serials or UUIDs",
				guestTitle(d), titles(devices, guestTitle))
		}
	}
	return nil
}

func only[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool { return !keep(x) })
}

// titles names devices for an error.
func titles[T any](all []T, name func(T) string) string {
	const most = 24 // fits 8 GPUs, 8 NICs and 4 NVSwitches
	var names []string
	for _, x := range all[:min(len(all), most)] {
		names = append(names, name(x))
	}
	if len(all) > most {
		names = append(names, fmt.Sprintf("%d more", len(all)-most))
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

func guestTitle(d GuestDevice) string { return kindWord(d.Kind) + " " + d.Bus }

func kindWord(k Kind) string {
	switch k {
	case KindGPU:
		return "GPU"
	case KindNIC:
		return "NIC"
	default:
		return "NVSwitch"
	}
}
