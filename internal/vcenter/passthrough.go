package vcenter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// Passthrough is what a device of a host is to be. What is nil stays as it is.
type Passthrough struct {
	Address   string  // domain:bus:device.function
	Enabled   *bool   // in passthrough
	Label     *string // hardware label; empty: none
	Functions *int    // virtual functions; 0: SR-IOV off
}

// PassthroughChange is what a change of devices did. Before, given back to the same call, takes it back.
type PassthroughChange struct {
	Before []Passthrough // of the devices that were changed; none: nothing had to be
	Reboot []string      // devices whose change is in force after the next start of the host
}

// SetPassthrough puts devices of a host into passthrough or out of it, gives them labels, and sets their virtual functions: all
// in one question, or none. A device that a virtual machine has is left alone, and so is one that ESX itself needs.
func (c *Client) SetPassthrough(ctx context.Context, host string, wanted []Passthrough) (PassthroughChange, error) {
	d, err := c.detail(ctx, host)
	if err != nil {
		return PassthroughChange{}, err
	}
	what := "host " + d.Name
	if err := d.mayChange(what); err != nil {
		return PassthroughChange{}, err
	}
	specs, change, err := d.passthroughSpecs(wanted)
	if err != nil || len(specs) == 0 {
		return PassthroughChange{}, err
	}
	body, answer := methods.UpdatePassthruConfigBody{Req: &types.UpdatePassthruConfig{This: *d.system, Config: specs}}, methods.UpdatePassthruConfigBody{}
	if err := c.vim.RoundTrip(ctx, &body, &answer); err != nil {
		return PassthroughChange{}, c.problem(what, err)
	}
	after, err := c.detailOf(ctx, &d.Host)
	if err != nil {
		return change, err
	}
	return after.verifyPassthrough(change, wanted)
}

// SetLabel gives one device a hardware label.
func (c *Client) SetLabel(ctx context.Context, host, address, label string) (PassthroughChange, error) {
	return c.SetPassthrough(ctx, host, []Passthrough{{Address: address, Label: &label}})
}

// mayChange are the preconditions of every change of devices.
func (d *detail) mayChange(what string) error {
	switch {
	case !d.Connected():
		return refuse(what, "is %s: nothing is changed on a host that vCenter does not reach", d.State)
	case d.passthru == nil || d.devices == nil:
		return unknown(what, "its devices could not be read")
	case d.system == nil:
		return unknown(what, "the vSphere API has no passthrough system for it")
	}
	return nil
}

// passthroughSpecs are the questions for the devices that are not yet as they should be, and what those are now.
func (d *detail) passthroughSpecs(wanted []Passthrough) ([]types.BaseHostPciPassthruConfig, PassthroughChange, error) {
	var specs []types.BaseHostPciPassthruConfig
	var change PassthroughChange
	seen := map[string]bool{}
	for _, w := range wanted {
		w.Address = Address(w.Address)
		what := fmt.Sprintf("host %s, device %s", d.Name, w.Address)
		if seen[w.Address] {
			return nil, change, refuse(what, "is named twice")
		}
		seen[w.Address] = true
		info, ok := d.passthru[w.Address]
		if !ok {
			return nil, change, refuse(what, "the host has no such device")
		}
		before := w.difference(info)
		if before == nil {
			continue
		}
		if err := d.deviceMayChange(what, w, *before, info, wanted); err != nil {
			return nil, change, err
		}
		specs = append(specs, w.spec(info))
		change.Before = append(change.Before, *before)
	}
	return specs, change, nil
}

// difference is what the device is now, in the parts that are wanted otherwise; nil: it is as it should be.
func (w Passthrough) difference(b types.BaseHostPciPassthruInfo) *Passthrough {
	info, before, differs := b.GetHostPciPassthruInfo(), Passthrough{Address: w.Address}, false
	if w.Enabled != nil && *w.Enabled != info.PassthruEnabled {
		before.Enabled, differs = &info.PassthruEnabled, true
	}
	if w.Label != nil && *w.Label != info.HardwareLabel {
		before.Label, differs = &info.HardwareLabel, true
	}
	if w.Functions != nil {
		now := 0
		if s, ok := b.(*types.HostSriovInfo); ok && s.SriovEnabled {
			now = int(s.NumVirtualFunctionRequested)
		}
		if now != *w.Functions {
			before.Functions, differs = &now, true
		}
	}
	if !differs {
		return nil
	}
	return &before
}

// deviceMayChange are the preconditions of one device. A label alone needs none of those that concern its use.
func (d *detail) deviceMayChange(what string, w, before Passthrough, b types.BaseHostPciPassthruInfo, all []Passthrough) error {
	info := b.GetHostPciPassthruInfo()
	if before.Label != nil && !hasLabels(d.ESX.Version) {
		return refuse(what, "ESX %s has no hardware labels in the vSphere API: they are there from 7.0.2 on", d.ESX.Version)
	}
	if before.Enabled == nil && before.Functions == nil {
		return nil
	}
	if d.ESX.Maintenance == nil || !*d.ESX.Maintenance {
		return refuse(what, "the host is not in maintenance mode")
	}
	if err := d.notTaken(what, w); err != nil {
		return err
	}
	if before.Enabled != nil && *w.Enabled {
		if err := d.mayPass(what, w, info, b, all); err != nil {
			return err
		}
	}
	if before.Functions != nil {
		return functionsMayChange(what, w, b)
	}
	return nil
}

// notTaken refuses devices of virtual machines.
func (d *detail) notTaken(what string, w Passthrough) error {
	for _, m := range d.machines {
		if !m.readable {
			return unknown(what, "the devices of virtual machine %s on this host could not be read: it may have this one", m.Name)
		}
		if m.unsure {
			return unknown(what, "virtual machine %s runs with a device whose address the vSphere API does not say: it may be this one", m.Name)
		}
	}
	m := d.owner(w.Address)
	if m == nil || (m.Power == powerOff && w.Enabled != nil && *w.Enabled) {
		return nil // a machine that is off and names a device by its address waits for passthrough to come
	}
	return refuse(what, "virtual machine %s, power %s, has it", m.Name, m.Power)
}

// Base classes of PCI devices.
const massStorage = 0x01

// mayPass are the preconditions of putting a device into passthrough.
func (d *detail) mayPass(what string, w Passthrough, info *types.HostPciPassthruInfo, b types.BaseHostPciPassthruInfo, all []Passthrough) error {
	if !info.PassthruCapable {
		return refuse(what, "ESX says that it is not capable of passthrough")
	}
	if why := d.inUse[w.Address]; why != "" {
		return refuse(what, "is %s: in passthrough the host would lose it", why)
	}
	if pci, ok := d.devices[w.Address]; !ok || byte(uint16(pci.ClassId)>>8) == massStorage {
		return refuse(what, "is a storage adapter, or of a class that could not be read: disks of the host may be behind it")
	}
	if s, ok := b.(*types.HostSriovInfo); ok && s.SriovEnabled && (w.Functions == nil || *w.Functions != 0) {
		return refuse(what, "SR-IOV is on, with %d virtual functions: it is turned off before the whole device is passed through", s.NumVirtualFunctionRequested)
	}
	other := Address(info.DependentDevice)
	if dependent, ok := d.passthru[other]; ok && other != w.Address && !dependent.GetHostPciPassthruInfo().PassthruEnabled && !enables(all, other) {
		return refuse(what, "passes only together with %s, which is not in this change", other)
	}
	return nil
}

func enables(all []Passthrough, address string) bool {
	return slices.ContainsFunc(all, func(w Passthrough) bool {
		return Address(w.Address) == address && w.Enabled != nil && *w.Enabled
	})
}

func functionsMayChange(what string, w Passthrough, b types.BaseHostPciPassthruInfo) error {
	s, ok := b.(*types.HostSriovInfo)
	if !ok || !s.SriovCapable {
		return refuse(what, "ESX does not say that it is capable of SR-IOV: the setting of its firmware and its driver come first")
	}
	if n := *w.Functions; n < 0 || n > int(s.MaxVirtualFunctionSupported) {
		return refuse(what, "%d virtual functions are asked for; it has at most %d", n, s.MaxVirtualFunctionSupported)
	}
	if enabled := s.PassthruEnabled; *w.Functions > 0 && (w.Enabled == nil && enabled || w.Enabled != nil && *w.Enabled) {
		return refuse(what, "is in passthrough as a whole: virtual functions need it with ESX")
	}
	return nil
}

// spec is the question for one device. What is not wanted otherwise is said as it is: what is left out may be taken for off.
func (w Passthrough) spec(b types.BaseHostPciPassthruInfo) types.BaseHostPciPassthruConfig {
	info := b.GetHostPciPassthruInfo()
	config := types.HostPciPassthruConfig{Id: info.Id, PassthruEnabled: info.PassthruEnabled, HardwareLabel: info.HardwareLabel}
	if w.Enabled != nil {
		config.PassthruEnabled = *w.Enabled
	}
	if w.Label != nil {
		config.HardwareLabel = *w.Label
	}
	if w.Functions != nil {
		return &types.HostSriovConfig{HostPciPassthruConfig: config, SriovEnabled: *w.Functions > 0, NumVirtualFunction: int32(*w.Functions)}
	}
	if config.HardwareLabel == "" && w.Label != nil {
		return &HostPciPassthruConfig{HostPciPassthruConfig: config}
	}
	return &config
}

// HostPciPassthruConfig is the library's type with an empty label written out: the library leaves it away, which takes no label
// off. Its name is the one on the wire.
type HostPciPassthruConfig struct {
	types.HostPciPassthruConfig
	HardwareLabel string `xml:"hardwareLabel"`
}

// verifyPassthrough reads what became of a change.
func (d *detail) verifyPassthrough(change PassthroughChange, wanted []Passthrough) (PassthroughChange, error) {
	var wrong []string
	for _, w := range wanted {
		w.Address = Address(w.Address)
		info, ok := d.passthru[w.Address]
		if !ok {
			return change, unknown("host "+d.Name, "was asked for the change, and its devices could not be read again")
		}
		if w.difference(info) != nil {
			wrong = append(wrong, w.Address)
		}
		i := info.GetHostPciPassthruInfo()
		s, isSRIOV := info.(*types.HostSriovInfo)
		if i.PassthruEnabled != i.PassthruActive || isSRIOV && (s.SriovEnabled != s.SriovActive || s.SriovEnabled && s.NumVirtualFunctionRequested != s.NumVirtualFunction) {
			change.Reboot = append(change.Reboot, w.Address)
		}
	}
	if len(wrong) > 0 {
		return change, &Error{Kind: Fault, What: "host " + d.Name, Text: "said that it did the change, and is not as asked for: " + strings.Join(wrong, ", ")}
	}
	return change, nil
}
