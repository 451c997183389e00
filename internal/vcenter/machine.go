package vcenter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"railwright.dev/railwright/internal/fabric"
)

// States of power, as fabric.VM has them.
const (
	powerOn        = "on"
	powerOff       = "off"
	powerSuspended = "suspended"
)

// Kinds of devices, as fabric.VMDevice has them.
const (
	direct  = "direct"
	dynamic = "dynamic"
	sriov   = "sriov"
)

// machine is a virtual machine with what changes need.
type machine struct {
	fabric.VM
	ref      types.ManagedObjectReference
	host     *types.ManagedObjectReference
	browser  *types.ManagedObjectReference // knows which devices its host has
	template bool
	version  string // of the configuration: changes with every change
	devices  []types.BaseVirtualDevice
	holds    []string // addresses of devices that it has now, or that stand in it
	unsure   bool     // runs with a device whose address the API does not say
	readable bool     // its configuration was read
}

func (m *machine) what() string { return "virtual machine " + m.Name }

func (m *machine) has(address string) bool { return slices.Contains(m.holds, address) }

func machineProperties() []string {
	return []string{"name", "runtime.powerState", "runtime.host", "config.firmware", "config.version", "config.hardware", "config.extraConfig", "config.template",
		"config.memoryReservationLockedToMax", "config.memoryAllocation", "config.changeVersion", "environmentBrowser"}
}

// VMs are all virtual machines, by name.
func (c *Client) VMs(ctx context.Context) ([]fabric.VM, error) {
	all, err := c.machines(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]fabric.VM, 0, len(all))
	for _, m := range all {
		out = append(out, m.VM)
	}
	return out, nil
}

func (c *Client) machines(ctx context.Context) ([]machine, error) {
	all, err := c.inventory(ctx, c.Place(), map[string][]string{"HostSystem": {"name"}, "VirtualMachine": machineProperties()})
	if err != nil {
		return nil, err
	}
	return machinesOf(all, hostNames(all)), nil
}

// machine is a virtual machine by name, as it is now: names of all, then everything of one.
func (c *Client) machine(ctx context.Context, name string) (*machine, error) {
	what := "virtual machine " + name
	all, err := c.inventory(ctx, c.Place(), map[string][]string{"HostSystem": {"name"}, "VirtualMachine": {"name"}})
	if err != nil {
		return nil, err
	}
	var same []types.ManagedObjectReference
	for ref, v := range valuesOf[mo.VirtualMachine](all) {
		if unescape(v.Name) == name {
			same = append(same, ref)
		}
	}
	switch len(same) {
	case 0:
		return nil, &Error{Kind: NotFound, What: what, Text: "vCenter shows none of this name to this user"}
	case 1:
	default:
		return nil, refuse(what, "%d have this name", len(same))
	}
	return c.machineAt(ctx, what, same[0], hostNames(all))
}

// machineAt reads a virtual machine.
func (c *Client) machineAt(ctx context.Context, what string, ref types.ManagedObjectReference, hosts map[types.ManagedObjectReference]string) (*machine, error) {
	f, err := c.object(ctx, what, ref, machineProperties()...)
	if err != nil {
		return nil, err
	}
	read := machinesOf([]found{f}, hosts)
	if len(read) != 1 {
		return nil, &Error{Kind: NotFound, What: what, Text: "is not there any more"}
	}
	return &read[0], nil
}

func hostNames(all []found) map[types.ManagedObjectReference]string {
	names := map[types.ManagedObjectReference]string{}
	for ref, h := range valuesOf[mo.HostSystem](all) {
		names[ref] = unescape(h.Name)
	}
	return names
}

func machinesOf(all []found, hosts map[types.ManagedObjectReference]string) []machine {
	out := []machine{}
	for _, f := range all {
		v, ok := f.value.(mo.VirtualMachine)
		if !ok {
			continue
		}
		m := machine{ref: f.ref, host: v.Runtime.Host, readable: v.Config != nil && f.present["config.hardware"] && f.present["config.extraConfig"], VM: fabric.VM{Name: unescape(v.Name), Power: powerOf(v.Runtime.PowerState)}}
		if f.present["environmentBrowser"] {
			m.browser = &v.EnvironmentBrowser
		}
		if v.Runtime.Host != nil {
			m.Host = hosts[*v.Runtime.Host]
		}
		if v.Config != nil {
			m.configure(f, v.Config)
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ref.Value, b.ref.Value))
	})
	return out
}

func powerOf(state types.VirtualMachinePowerState) string {
	switch state {
	case types.VirtualMachinePowerStatePoweredOn:
		return powerOn
	case types.VirtualMachinePowerStatePoweredOff:
		return powerOff
	case types.VirtualMachinePowerStateSuspended:
		return powerSuspended
	}
	return string(state)
}

func (m *machine) configure(f found, v *types.VirtualMachineConfigInfo) {
	m.Firmware, m.template, m.version, m.devices = v.Firmware, v.Template, v.ChangeVersion, v.Hardware.Device
	m.CPUs, m.MemoryMB = int(v.Hardware.NumCPU), int(v.Hardware.MemoryMB)
	if n, err := strconv.Atoi(strings.TrimPrefix(v.Version, "vmx-")); err == nil {
		m.Hardware = n
	}
	if f.present["config.extraConfig"] {
		m.Extra = map[string]string{}
		for _, o := range v.ExtraConfig {
			m.Extra[o.GetOptionValue().Key] = fmt.Sprint(o.GetOptionValue().Value)
		}
	}
	m.Reserved = reserved(v)
	next := 0
	for _, d := range v.Hardware.Device {
		if p, ok := m.passed(d, next); ok {
			m.Devices = append(m.Devices, p)
			next = p.Number + 1
		}
	}
}

// reserved reports whether all memory is reserved: by the switch for it, or by a reservation of the same size in MB.
func reserved(v *types.VirtualMachineConfigInfo) *bool {
	all := v.MemoryReservationLockedToMax != nil && *v.MemoryReservationLockedToMax
	if !all && v.MemoryAllocation != nil && v.MemoryAllocation.Reservation != nil {
		all = v.Hardware.MemoryMB > 0 && *v.MemoryAllocation.Reservation >= int64(v.Hardware.MemoryMB)
	}
	if !all && v.MemoryReservationLockedToMax == nil && v.MemoryAllocation == nil {
		return nil
	}
	return &all
}

// passed is a device that is passed through; false: it is another one. Keys of such devices are 13000 and the number.
func (m *machine) passed(d types.BaseVirtualDevice, next int) (fabric.VMDevice, bool) {
	const firstKey, most = 13000, 1000
	v := d.GetVirtualDevice()
	p := fabric.VMDevice{Number: next}
	if v.Key >= firstKey && v.Key < firstKey+most {
		p.Number = int(v.Key) - firstKey
	}
	if card, ok := d.(*types.VirtualSriovEthernetCard); ok {
		p.Kind = sriov
		if b := card.SriovBacking; b != nil {
			m.holdBackings(b, &p)
		}
		return p, true
	}
	if _, ok := d.(*types.VirtualPCIPassthrough); !ok {
		return p, false
	}
	switch b := v.Backing.(type) {
	case *types.VirtualPCIPassthroughDeviceBackingInfo:
		p.Kind = direct
		m.hold(b, &p)
	case *types.VirtualPCIPassthroughDynamicBackingInfo:
		p.Kind, p.Label = dynamic, b.CustomLabel
		if len(b.AllowedDevice) > 0 {
			p.Vendor, p.Device = idText(b.AllowedDevice[0].VendorId), idText(b.AllowedDevice[0].DeviceId)
		}
		if b.AssignedId != "" {
			p.Address = Address(b.AssignedId)
			m.holds = append(m.holds, p.Address)
		} else if m.Power != powerOff {
			m.unsure = true
		}
	default:
		p.Kind = strings.TrimSuffix(strings.TrimPrefix(faultName(v.Backing), "VirtualPCIPassthrough"), "BackingInfo") // a vGPU: Vmiop
		m.unsure = m.unsure || m.Power != powerOff
	}
	return p, true
}

func (m *machine) hold(b *types.VirtualPCIPassthroughDeviceBackingInfo, p *fabric.VMDevice) {
	p.Address, p.System, p.Vendor = Address(b.Id), b.SystemId, idText(int32(b.VendorId))
	p.Device = deviceText(b.DeviceId)
	if p.Address != "" {
		m.holds = append(m.holds, p.Address)
	}
}

// holdBackings takes the virtual function where it is fixed, else the physical one, which such a machine needs as it is.
func (m *machine) holdBackings(b *types.VirtualSriovEthernetCardSriovBackingInfo, p *fabric.VMDevice) {
	if b.PhysicalFunctionBacking != nil {
		m.hold(b.PhysicalFunctionBacking, p)
	}
	if b.VirtualFunctionBacking != nil {
		m.hold(b.VirtualFunctionBacking, p)
	}
}

// idText writes an id of the API, which is signed, as people write ids.
func idText(id int32) string { return fmt.Sprintf("0x%04x", uint16(id)) }

// deviceText is an id that the API has as text: hexadecimal digits, or a signed number.
func deviceText(id string) string {
	if n, err := strconv.ParseInt(id, 10, 32); err == nil && n < 0 {
		return idText(int32(n))
	}
	if n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(id), "0x"), 16, 16); err == nil {
		return fmt.Sprintf("0x%04x", n)
	}
	return id
}
