package vcenter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"railwright.dev/railwright/internal/fabric"
)

// bootPrefix is before the names of boot options of the VMkernel among the advanced settings of a host.
const bootPrefix = "VMkernel.Boot."

// detail is what is read of one host before something is changed on it.
type detail struct {
	Host
	passthru map[string]types.BaseHostPciPassthruInfo // by address
	devices  map[string]types.HostPciDevice
	inUse    map[string]string // why ESX itself needs a device, by address
	machines []machine
	system   *types.ManagedObjectReference // for passthrough
	options  *types.ManagedObjectReference
	software *types.ManagedObjectReference
	modules  *types.ManagedObjectReference
}

// Host reads everything of one host that the vSphere API has and this program knows: devices and what passthrough makes of them,
// settings, power policy, software, modules, NICs, virtual machines.
func (c *Client) Host(ctx context.Context, name string) (*Host, error) {
	d, err := c.detail(ctx, name)
	if err != nil {
		return nil, err
	}
	c.readSoftware(ctx, d)
	return &d.Host, nil
}

func (c *Client) detail(ctx context.Context, name string) (*detail, error) {
	h, err := c.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.detailOf(ctx, h)
}

func (c *Client) detailOf(ctx context.Context, h *Host) (*detail, error) {
	host := types.ObjectSpec{Obj: h.reference(), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "HostSystem", Path: "vm"}}}
	all, err := c.retrieve(ctx, "host "+h.Name, []types.ObjectSpec{host}, map[string][]string{"HostSystem": detailProperties(), "VirtualMachine": machineProperties()})
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		v, ok := f.value.(mo.HostSystem)
		if !ok {
			continue
		}
		d := &detail{Host: hostOf(f, v, nil)}
		d.Name, d.Datacenter, d.Cluster, d.ClusterID = h.Name, h.Datacenter, h.Cluster, h.ClusterID
		d.machines = machinesOf(all, map[types.ManagedObjectReference]string{f.ref: h.Name})
		d.read(f, v)
		return d, nil
	}
	return nil, &Error{Kind: NotFound, What: "host " + h.Name, Text: "is not there any more"}
}

func detailProperties() []string {
	return append(fewProperties(), "hardware.pciDevice", "config.pciPassthruInfo", "config.option", "config.powerSystemInfo",
		"config.network.pnic", "config.network.vswitch", "config.network.proxySwitch",
		"configManager.pciPassthruSystem", "configManager.advancedOption", "configManager.imageConfigManager", "configManager.kernelModuleSystem")
}

// read makes facts of the properties.
func (d *detail) read(f found, h mo.HostSystem) {
	d.system, d.options = h.ConfigManager.PciPassthruSystem, h.ConfigManager.AdvancedOption
	d.software, d.modules = h.ConfigManager.ImageConfigManager, h.ConfigManager.KernelModuleSystem
	if !d.Connected() { // what vCenter has of it is what it once was
		d.software, d.modules = nil, nil
		d.Missing = append(d.Missing, fabric.Missing{What: "host", Source: hostPlace, Reason: "vCenter says that it is " + d.State})
		return
	}
	for _, name := range []string{"hardware.pciDevice", "config.pciPassthruInfo", "config.option", "config.powerSystemInfo"} {
		if !f.present[name] && f.unread[name].Fault == nil {
			d.Missing = append(d.Missing, fabric.Missing{What: name, Source: hostPlace, Reason: "vCenter gives no value"})
		}
	}
	if h.Hardware != nil && f.present["hardware.pciDevice"] {
		d.PCI, d.devices = pciOf(h.Hardware.PciDevice)
	}
	if h.Config == nil {
		return
	}
	if f.present["config.option"] {
		d.ESX.Settings = bootSettings(h.Config.Option)
	}
	if p := h.Config.PowerSystemInfo; p != nil {
		d.ESX.PowerPolicy = powerPolicy(p.CurrentPolicy)
	}
	if f.present["config.pciPassthruInfo"] {
		d.passthru = map[string]types.BaseHostPciPassthruInfo{}
		for _, p := range h.Config.PciPassthruInfo {
			d.passthru[Address(p.GetHostPciPassthruInfo().Id)] = p
		}
		d.ESX.Devices = d.passthroughs(h.Config.PciPassthruInfo)
	}
	if h.Config.Network != nil {
		d.ESX.Uplinks = uplinks(h.Config.Network.Pnic)
		d.inUse = switchUplinks(h.Config.Network)
	}
	if d.machines != nil {
		d.ESX.VMs = []fabric.VM{}
		for _, m := range d.machines {
			d.ESX.VMs = append(d.ESX.VMs, m.VM)
		}
	}
}

// bootSettings are the boot options of the VMkernel. The API has what is configured, and not what is in force.
func bootSettings(options []types.BaseOptionValue) []fabric.ESXSetting {
	out := []fabric.ESXSetting{}
	for _, o := range options {
		v := o.GetOptionValue()
		if name, ok := strings.CutPrefix(v.Key, bootPrefix); ok {
			out = append(out, fabric.ESXSetting{Name: name, Configured: settingText(v.Value)})
		}
	}
	return out
}

// settingText writes a value as esxcli does.
func settingText(v types.AnyType) string {
	if b, ok := v.(bool); ok {
		return strings.ToUpper(fmt.Sprint(b))
	}
	return fmt.Sprint(v)
}

// powerPolicy is the name that the vSphere Client shows: the API has a key of a translation where a name should be.
func powerPolicy(p types.HostPowerPolicy) string {
	switch p.ShortName {
	case "static":
		return "High Performance"
	case "dynamic":
		return "Balanced"
	case "low":
		return "Low Power"
	case "custom":
		return "Custom"
	}
	return p.Name
}

func uplinks(nics []types.PhysicalNic) []fabric.Uplink {
	out := []fabric.Uplink{}
	for _, n := range nics {
		up := n.LinkSpeed != nil
		u := fabric.Uplink{Name: n.Device, Address: Address(n.Pci), Driver: n.Driver, Up: &up}
		if up {
			speed := int(n.LinkSpeed.SpeedMb)
			u.Mbps = &speed
		}
		out = append(out, u)
	}
	return out
}

// switchUplinks are the NICs below virtual switches: one of them in passthrough may be the host's own connection.
func switchUplinks(n *types.HostNetworkInfo) map[string]string {
	address := map[string]string{}
	for _, p := range n.Pnic {
		address[p.Key] = Address(p.Pci)
	}
	out := map[string]string{}
	for _, s := range n.Vswitch {
		for _, key := range s.Pnic {
			out[address[key]] = "an uplink of the virtual switch " + s.Name
		}
	}
	for _, s := range n.ProxySwitch {
		for _, key := range s.Pnic {
			out[address[key]] = "an uplink of the distributed switch " + s.DvsName
		}
	}
	delete(out, "")
	return out
}

// errNoContent is an answer that the library could not find in what came.
var errNoContent = errors.New("the answer has no content that is known here")

// readSoftware asks the host for its packages and modules: questions that vCenter hands on, and that fail of a host that is busy.
func (c *Client) readSoftware(ctx context.Context, d *detail) {
	what := "host " + d.Name
	if d.software != nil {
		answer, err := methods.FetchSoftwarePackages(ctx, c.vim, &types.FetchSoftwarePackages{This: *d.software})
		if err == nil && answer == nil {
			err = errNoContent
		}
		if err != nil {
			d.Missing = append(d.Missing, fabric.Missing{What: "vibs", Source: hostPlace, Reason: c.problem(what, err).Error()})
		} else {
			d.ESX.VIBs = []fabric.VIB{}
			for _, p := range answer.Returnval {
				d.ESX.VIBs = append(d.ESX.VIBs, fabric.VIB{Name: p.Name, Version: p.Version, Vendor: p.Vendor, Acceptance: p.AcceptanceLevel})
			}
		}
	}
	if d.modules != nil {
		answer, err := methods.QueryModules(ctx, c.vim, &types.QueryModules{This: *d.modules})
		if err == nil && answer == nil {
			err = errNoContent
		}
		if err != nil {
			d.Missing = append(d.Missing, fabric.Missing{What: "modules", Source: hostPlace, Reason: c.problem(what, err).Error()})
			return
		}
		d.ESX.Modules = []fabric.ESXModule{}
		for _, m := range answer.Returnval {
			d.ESX.Modules = append(d.ESX.Modules, fabric.ESXModule{Name: m.Name, Loaded: &m.Loaded, Enabled: &m.Enabled, Parameters: parameters(m.OptionString)})
		}
	}
}

// parameters are the options of a module, as name=value words.
func parameters(options string) map[string]string {
	out := map[string]string{}
	for word := range strings.FieldsSeq(options) {
		if name, value, ok := strings.Cut(word, "="); ok {
			out[name] = value
		}
	}
	return out
}
