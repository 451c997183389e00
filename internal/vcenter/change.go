package vcenter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"railwright.dev/railwright/internal/fabric"
)

// VMChange is what a virtual machine is to be given or to lose.
type VMChange struct {
	Extra   map[string]string // ExtraConfig; an empty value takes the key away
	Attach  []fabric.VMDevice // passed through, in this order: dynamic by ids and label, direct by address
	Detach  []fabric.VMDevice
	Reserve *bool // all of its memory; a device that is attached needs it
}

const changeTimeout = 5 * time.Minute

// ChangeVM changes a virtual machine that is off, all in one question, or not at all. It returns the change that takes it back;
// one without content: there was nothing to do.
func (c *Client) ChangeVM(ctx context.Context, name string, change VMChange) (undo VMChange, err error) {
	m, err := c.machine(ctx, name)
	if err != nil {
		return undo, err
	}
	spec, undo, err := c.changeSpec(ctx, m, change)
	if err != nil || spec == nil {
		return VMChange{}, err
	}
	switch {
	case m.template:
		return VMChange{}, refuse(m.what(), "is a template")
	case m.Power != powerOff:
		return VMChange{}, refuse(m.what(), "is not off but %s: its hardware is not changed while it runs", m.Power)
	}
	spec.ChangeVersion = m.version // vCenter refuses when somebody else has changed it since
	answer, err := methods.ReconfigVM_Task(ctx, c.vim, &types.ReconfigVM_Task{This: m.ref, Spec: *spec})
	if err != nil {
		return VMChange{}, c.problem(m.what(), err)
	}
	if err := c.wait(ctx, m.what(), answer.Returnval, changeTimeout); err != nil {
		return VMChange{}, err
	}
	again, err := c.machineAt(ctx, m.what(), m.ref, nil) // it does not move while it is off
	if err != nil {
		return undo, err
	}
	return undo, again.verifyChange(change)
}

// SetExtra sets keys of ExtraConfig of a virtual machine that is off. Before has the former values; empty: there was none.
func (c *Client) SetExtra(ctx context.Context, name string, extra map[string]string) (before map[string]string, err error) {
	undo, err := c.ChangeVM(ctx, name, VMChange{Extra: extra})
	return undo.Extra, err
}

func (c *Client) changeSpec(ctx context.Context, m *machine, change VMChange) (*types.VirtualMachineConfigSpec, VMChange, error) {
	var undo VMChange
	if !m.readable {
		return nil, undo, unknown(m.what(), "its configuration could not be read")
	}
	spec := &types.VirtualMachineConfigSpec{}
	m.extraSpec(change.Extra, spec, &undo)
	if err := m.detachSpec(change.Detach, spec, &undo); err != nil {
		return nil, undo, err
	}
	attached, err := c.attachSpec(ctx, m, change.Attach, spec, &undo)
	if err != nil {
		return nil, undo, err
	}
	reserve := change.Reserve
	if yes := true; attached > 0 && reserve == nil {
		reserve = &yes
	}
	if reserve != nil && (m.Reserved == nil || *m.Reserved != *reserve) {
		spec.MemoryReservationLockedToMax = reserve
		undo.Reserve = m.Reserved
	}
	if len(spec.ExtraConfig) == 0 && len(spec.DeviceChange) == 0 && spec.MemoryReservationLockedToMax == nil {
		return nil, undo, nil
	}
	return spec, undo, nil
}

// extraKey is a key as the machine spells it: ESX does not look at the case of keys.
func (m *machine) extraKey(key string) (string, bool) {
	if _, ok := m.Extra[key]; ok {
		return key, true
	}
	for _, k := range slices.Sorted(maps.Keys(m.Extra)) {
		if strings.EqualFold(k, key) {
			return k, true
		}
	}
	return key, false
}

func (m *machine) extraSpec(extra map[string]string, spec *types.VirtualMachineConfigSpec, undo *VMChange) {
	for _, wanted := range slices.Sorted(maps.Keys(extra)) {
		key, _ := m.extraKey(wanted)
		if strings.EqualFold(m.Extra[key], extra[wanted]) { // TRUE and true are one
			continue
		}
		if undo.Extra == nil {
			undo.Extra = map[string]string{}
		}
		undo.Extra[key] = m.Extra[key]
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: key, Value: extra[wanted]})
	}
}

// sameDevice reports whether a device is the one that is asked for, as far as that says.
func sameDevice(have, want fabric.VMDevice) bool {
	if have.Kind != want.Kind {
		return false
	}
	if want.Kind == direct {
		return have.Address == Address(want.Address)
	}
	return have.Label == want.Label && sameID(have.Vendor, want.Vendor) && sameID(have.Device, want.Device)
}

func sameID(a, b string) bool {
	x, errA := idOf(a)
	y, errB := idOf(b)
	return errA == nil && errB == nil && x == y
}

// idOf is an id as written: 0x10de, 4318, -32634.
func idOf(text string) (uint16, error) {
	n, err := strconv.ParseInt(text, 0, 32)
	if err != nil || n < -1<<15 || n >= 1<<16 {
		return 0, fmt.Errorf("%q is not a PCI id such as 0x10de", text)
	}
	return uint16(n), nil
}

func (m *machine) detachSpec(devices []fabric.VMDevice, spec *types.VirtualMachineConfigSpec, undo *VMChange) error {
	taken := map[int32]bool{}
	for _, want := range devices {
		var found types.BaseVirtualDevice
		next := 0
		for _, d := range m.devices {
			scratch := machine{VM: fabric.VM{Power: m.Power}}
			p, ok := scratch.passed(d, next)
			if !ok {
				continue
			}
			next = p.Number + 1
			if sameDevice(p, want) && !taken[d.GetVirtualDevice().Key] && want.Kind != sriov {
				found = d
				undo.Attach = append(undo.Attach, fabric.VMDevice{Kind: p.Kind, Vendor: p.Vendor, Device: p.Device, Label: p.Label, Address: directAddress(p)})
				break
			}
		}
		if found == nil {
			continue // it is not there: nothing to take away
		}
		taken[found.GetVirtualDevice().Key] = true
		spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: found})
	}
	return nil
}

func directAddress(p fabric.VMDevice) string {
	if p.Kind == direct {
		return p.Address
	}
	return ""
}

// attachSpec adds the devices that the machine does not have yet; it returns how many of those asked for there are in the end.
func (c *Client) attachSpec(ctx context.Context, m *machine, devices []fabric.VMDevice, spec *types.VirtualMachineConfigSpec, undo *VMChange) (int, error) {
	if len(devices) == 0 {
		return 0, nil
	}
	d, err := c.hostOfMachine(ctx, m)
	if err != nil {
		return 0, err
	}
	had := slices.Clone(m.Devices)
	key := int32(-100)
	for _, want := range devices {
		if i := slices.IndexFunc(had, func(h fabric.VMDevice) bool { return sameDevice(h, want) }); i >= 0 {
			had = slices.Delete(had, i, i+1)
			continue
		}
		backing, err := c.backing(ctx, m, d, want)
		if err != nil {
			return 0, err
		}
		device := &types.VirtualPCIPassthrough{VirtualDevice: types.VirtualDevice{Key: key, Backing: backing}}
		key--
		spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: device})
		undo.Detach = append(undo.Detach, want)
	}
	return len(devices), nil
}

func (c *Client) hostOfMachine(ctx context.Context, m *machine) (*detail, error) {
	if m.host == nil || m.Host == "" {
		return nil, unknown(m.what(), "the host that it is on could not be read")
	}
	d, err := c.detailOf(ctx, &Host{ID: m.host.Value, Name: m.Host})
	if err != nil {
		return nil, err
	}
	return d, d.mayChange("host " + d.Name)
}

// backing is what stands behind a device that is attached.
func (c *Client) backing(ctx context.Context, m *machine, d *detail, want fabric.VMDevice) (types.BaseVirtualDeviceBackingInfo, error) {
	switch want.Kind {
	case dynamic:
		return d.dynamicBacking(m, want)
	case direct:
		return c.directBacking(ctx, m, d, want)
	}
	return nil, refuse(m.what(), "a device of kind %q is not attached by this program", want.Kind)
}

// dynamicBacking names ids and a label; the host has to have such a device in passthrough.
func (d *detail) dynamicBacking(m *machine, want fabric.VMDevice) (types.BaseVirtualDeviceBackingInfo, error) {
	vendor, err := idOf(want.Vendor)
	if err != nil {
		return nil, refuse(m.what(), "vendor of %s: %v", want.Label, err)
	}
	device, err := idOf(want.Device)
	if err != nil {
		return nil, refuse(m.what(), "device of %s: %v", want.Label, err)
	}
	for _, p := range d.ESX.Devices {
		if p.Vendor == vendor && p.Device == device && (want.Label == "" || p.Label == want.Label) && p.Active != nil && *p.Active {
			return &types.VirtualPCIPassthroughDynamicBackingInfo{CustomLabel: want.Label, AllowedDevice: []types.VirtualPCIPassthroughAllowedDevice{{VendorId: int32(vendor), DeviceId: int32(device)}}}, nil
		}
	}
	return nil, refuse(m.what(), "host %s has no device %04x:%04x with label %q whose passthrough is active", d.Name, vendor, device, want.Label)
}

// directBacking names one device of the host that the machine is on, as the host offers it.
func (c *Client) directBacking(ctx context.Context, m *machine, d *detail, want fabric.VMDevice) (types.BaseVirtualDeviceBackingInfo, error) {
	address := Address(want.Address)
	if other := d.owner(address); other != nil && other.ref != m.ref {
		return nil, refuse(m.what(), "device %s of host %s is of virtual machine %s", address, d.Name, other.Name)
	}
	if m.browser == nil {
		return nil, unknown(m.what(), "which devices its host offers could not be read")
	}
	answer, err := methods.QueryConfigTarget(ctx, c.vim, &types.QueryConfigTarget{This: *m.browser, Host: m.host})
	if err != nil {
		return nil, c.problem(m.what(), err)
	}
	if answer.Returnval != nil {
		for _, b := range answer.Returnval.PciPassthrough {
			p := b.GetVirtualMachinePciPassthroughInfo()
			if Address(p.PciDevice.Id) == address {
				return &types.VirtualPCIPassthroughDeviceBackingInfo{Id: p.PciDevice.Id, DeviceId: fmt.Sprintf("%x", uint16(p.PciDevice.DeviceId)), SystemId: p.SystemId, VendorId: p.PciDevice.VendorId}, nil
			}
		}
	}
	return nil, refuse(m.what(), "host %s does not offer device %s: it is not in passthrough, or not in force yet", d.Name, address)
}

// verifyChange looks at what became of a change.
func (m *machine) verifyChange(change VMChange) error {
	wrong := func(format string, args ...any) error {
		return &Error{Kind: Fault, What: m.what(), Text: "vCenter said that it made the change, and " + fmt.Sprintf(format, args...)}
	}
	for _, wanted := range slices.Sorted(maps.Keys(change.Extra)) {
		key, ok := m.extraKey(wanted)
		if value := change.Extra[wanted]; !strings.EqualFold(m.Extra[key], value) || !ok && value != "" {
			return wrong("%s is %q", key, m.Extra[key])
		}
	}
	had := slices.Clone(m.Devices)
	for _, want := range change.Attach {
		i := slices.IndexFunc(had, func(h fabric.VMDevice) bool { return sameDevice(h, want) })
		if i < 0 {
			return wrong("it does not have the device %s", strings.TrimSpace(want.Label+" "+want.Address))
		}
		had = slices.Delete(had, i, i+1)
	}
	if change.Reserve != nil && (m.Reserved == nil || *m.Reserved != *change.Reserve) {
		return wrong("all of its memory reserved: %s", boolText(m.Reserved))
	}
	return nil
}

// PowerOn starts a virtual machine. Changed is false where it runs.
func (c *Client) PowerOn(ctx context.Context, name string) (changed bool, err error) {
	m, err := c.machine(ctx, name)
	if err != nil {
		return false, err
	}
	if m.Power == powerOn {
		return false, nil
	}
	if m.template {
		return false, refuse(m.what(), "is a template")
	}
	answer, err := methods.PowerOnVM_Task(ctx, c.vim, &types.PowerOnVM_Task{This: m.ref})
	if err != nil {
		return false, c.problem(m.what(), err)
	}
	return true, c.wait(ctx, m.what(), answer.Returnval, changeTimeout)
}
