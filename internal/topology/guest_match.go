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
