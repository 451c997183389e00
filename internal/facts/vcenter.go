package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/vcenter"
)

// vSphereAPI is the source of facts that vCenter gives.
const vSphereAPI = "the vSphere API"

// FromVCenter returns the facts of an ESX host as vCenter knows them, under the name that the plan has for it. What it does not have
// is in Missing: it knows labels and virtual machines, and no firmware of NICs, no file, no setting that is in force. noShell is why
// nobody asked the shell of the host. A host that vCenter does not reach is an error: what it says of such a one may be old.
func FromVCenter(h *vcenter.Host, name string, now time.Time, noShell fabric.Missing) (*fabric.Facts, error) {
	if !h.Connected() {
		return nil, fmt.Errorf("vCenter says that it is %s", fabric.Printable(h.State))
	}
	f := &fabric.Facts{Meta: fabric.NewMeta("Facts"), Node: name, Collected: now.UTC().Format(time.RFC3339), Source: "live", PCI: h.PCI, ESX: h.ESX}
	f.Kernel.OS = new(strings.TrimSpace("VMware ESX " + h.ESX.Version))
	if h.Vendor != "" {
		f.Machine.Vendor = &h.Vendor
	}
	if h.Model != "" {
		f.Machine.Product = &h.Model
	}
	for _, m := range h.Missing {
		if what, ok := factOfProperty(m.What); ok {
			m.What = what
		}
		f.Missing = append(f.Missing, m)
	}
	for _, what := range onlyShell() {
		noShell.What = what
		f.Missing = append(f.Missing, noShell)
	}
	return f, nil
}

// factOfProperty is the path of the fact that a property of the vSphere API gives.
func factOfProperty(property string) (path string, ok bool) {
	path, ok = map[string]string{
		"vibs": fabric.FactESXVIBs, "modules": fabric.FactESXModules, "hardware.pciDevice": fabric.FactPCI, "config.pciPassthruInfo": fabric.FactESXDevices,
		"config.option": fabric.FactESXSettings, "config.powerSystemInfo": fabric.FactESXPower, "config.network.pnic": fabric.FactESXUplinks,
	}[property]
	return path, ok
}

// JoinESX adds what the vSphere API says of a host to what its shell says. Where both say something the shell counts, which is the
// host itself; vCenter's labels, virtual functions and virtual machines count, which the shell has in part. What they do not
// agree on is noted. Neither argument is changed.
func JoinESX(shell, api *fabric.Facts) *fabric.Facts {
	switch {
	case shell == nil || shell.ESX == nil:
		return api
	case api == nil || api.ESX == nil:
		return shell
	}
	out, e := *shell, *shell.ESX
	out.ESX, out.Disagree = &e, slices.Clone(shell.Disagree)
	j := esxJoin{out: &out, e: &e, a: api.ESX}
	j.scalars()
	j.settings()
	j.devices()
	if e.VMs == nil || len(api.ESX.VMs) > 0 {
		e.VMs = j.machines(shell.ESX.VMs, api.ESX.VMs)
	}
	e.VIBs, e.Modules, e.Uplinks = firstRead(e.VIBs, api.ESX.VIBs), firstRead(e.Modules, api.ESX.Modules), firstRead(e.Uplinks, api.ESX.Uplinks)
	e.Reboot = append(slices.Clone(e.Reboot), api.ESX.Reboot...)
	out.PCI = firstRead(out.PCI, api.PCI)
	if out.Machine.Vendor == nil {
		out.Machine.Vendor = api.Machine.Vendor
	}
	if out.Machine.Product == nil {
		out.Machine.Product = api.Machine.Product
	}
	lacks := func(all []fabric.Missing, has func(string) bool) []fabric.Missing {
		return slices.DeleteFunc(slices.Clone(all), func(m fabric.Missing) bool { return has(m.What) })
	}
	out.Missing = append(lacks(shell.Missing, func(what string) bool { return hasESX(&out, what) && !hasESX(shell, what) }),
		lacks(api.Missing, func(what string) bool { return hasESX(&out, what) || slices.Contains(onlyShell(), what) })...)
	return &out
}

// onlyShell are facts that only the shell of a host gives: where it was asked, its own reasons count.
func onlyShell() []string {
	return []string{fabric.FactESXResetRules, fabric.FactESXMST, fabric.FactESXNICConfigs, fabric.FactESXVFs}
}

// hasESX reports whether a fact is there.
func hasESX(f *fabric.Facts, what string) bool {
	switch what {
	case fabric.FactPCI:
		return f.PCI != nil
	case fabric.FactESX + ".version":
		return f.ESX.Version != ""
	case fabric.FactESXPower:
		return f.ESX.PowerPolicy != ""
	}
	return f.ESX.Whole(what)
}

func firstRead[T any](a, b []T) []T {
	if a != nil {
		return a
	}
	return b
}

// esxJoin fills facts of a shell from those of the API.
type esxJoin struct {
	out *fabric.Facts
	e   *fabric.ESX
	a   *fabric.ESX
}

func (j esxJoin) disagree(what, shell, api string) {
	j.out.Disagree = append(j.out.Disagree, fabric.Disagreement{What: what, Said: []fabric.Evidence{{Source: "the shell", Value: fabric.Printable(shell)}, {Source: vSphereAPI, Value: fabric.Printable(api)}}})
}

func (j esxJoin) text(what string, have *string, api string) {
	switch {
	case *have == "":
		*have = api
	case api != "" && !strings.EqualFold(api, *have): // TRUE and true are one
		j.disagree(what, *have, api)
	}
}

func (j esxJoin) flag(what string, have **bool, api *bool) {
	switch {
	case *have == nil:
		*have = api
	case api != nil && *api != **have:
		j.disagree(what, fmt.Sprint(**have), fmt.Sprint(*api))
	}
}

func (j esxJoin) scalars() {
	j.text("esx.version", &j.e.Version, j.a.Version)
	j.text("esx.build", &j.e.Build, j.a.Build)
	j.text("esx.power_policy", &j.e.PowerPolicy, j.a.PowerPolicy)
	j.flag("esx.maintenance", &j.e.Maintenance, j.a.Maintenance)
}

// settings adds those that the shell did not give; of the others it has the value in force too.
func (j esxJoin) settings() {
	if j.e.Settings == nil {
		j.e.Settings = j.a.Settings
		return
	}
	j.e.Settings = slices.Clone(j.e.Settings)
	for _, s := range j.a.Settings {
		have := j.e.Setting(s.Name)
		if have == nil {
			j.e.Settings = append(j.e.Settings, s)
			continue
		}
		j.text("esx.settings "+s.Name, &have.Configured, s.Configured)
	}
}

// devices joins by address.
func (j esxJoin) devices() {
	if j.e.Devices == nil {
		j.e.Devices = j.a.Devices
		return
	}
	j.e.Devices = slices.Clone(j.e.Devices)
	for _, api := range j.a.Devices {
		i := slices.IndexFunc(j.e.Devices, func(d fabric.PassthroughPCI) bool { return d.Address == api.Address })
		if i < 0 {
			j.e.Devices = append(j.e.Devices, api)
			continue
		}
		have, at := &j.e.Devices[i], "esx.devices."
		j.flag(at+"capable "+api.Address, &have.Capable, api.Capable)
		j.flag(at+"enabled "+api.Address, &have.Enabled, api.Enabled)
		j.flag(at+"active "+api.Address, &have.Active, api.Active)
		if have.Owner == "" { // a shell may name it by the number of its world
			have.Owner = api.Owner
		}
		if have.Vendor == 0 && have.Device == 0 {
			have.Vendor, have.Device = api.Vendor, api.Device
		}
		if have.Name == "" {
			have.Name = api.Name
		}
		if have.SRIOV == nil {
			have.SRIOV = api.SRIOV
		}
		j.label(at+"label "+api.Address, have, api)
	}
}

// label takes the label of the side that gives labels: an empty one of a side that does not is unknown.
func (j esxJoin) label(what string, have *fabric.PassthroughPCI, api fabric.PassthroughPCI) {
	switch {
	case !api.Labels && api.Label == "":
	case !have.Labels && have.Label == "":
		have.Label, have.Labels = api.Label, api.Labels
	case have.Label != api.Label:
		j.disagree(what, have.Label, api.Label)
	}
}

// machines are those of the API, with what the shell's files say of them besides.
func (j esxJoin) machines(shell, api []fabric.VM) []fabric.VM {
	out := slices.Clone(api)
	for _, s := range shell {
		i := slices.IndexFunc(out, func(m fabric.VM) bool { return m.Name == s.Name })
		if i < 0 {
			out = append(out, s)
			continue
		}
		m := &out[i]
		if m.Extra == nil {
			m.Extra = s.Extra
		}
		if len(m.Devices) == 0 {
			m.Devices = s.Devices
		}
		if m.Reserved == nil {
			m.Reserved = s.Reserved
		}
		if m.Firmware == "" {
			m.Firmware = s.Firmware
		}
	}
	return out
}
