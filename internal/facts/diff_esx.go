package facts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// esx compares what two ESX hosts say of themselves: entry by entry, each as a whole.
func (d *differ) esx() {
	a, b := d.a.ESX, d.b.ESX
	if a == nil || b == nil {
		d.compare("", field{rankOther, fabric.SeverityInfo, "ESX", there(a != nil), there(b != nil), "one side is no ESX host, or none of its texts was read"})
		return
	}
	const version, setting = "the two hosts run different software", "a setting that differs between hosts of one cluster decides whether devices can be passed through"
	d.compare("ESX",
		field{rankVersion, isWarning, "version", text(a.Version), text(b.Version), version},
		field{rankVersion, isWarning, "build", text(a.Build), text(b.Build), version},
		field{rankSetting, isWarning, "power policy", text(a.PowerPolicy), text(b.PowerPolicy), setting},
		field{rankOther, fabric.SeverityInfo, "maintenance mode", value(a.Maintenance), value(b.Maintenance), "a host in maintenance mode starts no virtual machine"},
		field{rankOther, fabric.SeverityInfo, "interrupt vectors", value(a.Vectors), value(b.Vectors), setting},
	)
	for _, list := range []struct {
		name, path string
		rank       rank
		a, b       map[string]string
	}{
		{"kernel setting", fabric.FactESXSettings, rankSetting, keyed(a.Settings, func(s fabric.ESXSetting) string { return s.Name }), keyed(b.Settings, func(s fabric.ESXSetting) string { return s.Name })},
		{"VIB", fabric.FactESXVIBs, rankVersion, keyed(a.VIBs, func(v fabric.VIB) string { return v.Name }), keyed(b.VIBs, func(v fabric.VIB) string { return v.Name })},
		{"VIB not found", "", rankVersion, keyed(a.NoVIBs, same[string]), keyed(b.NoVIBs, same[string])},
		{"module", fabric.FactESXModules, rankSetting, keyed(a.Modules, func(m fabric.ESXModule) string { return m.Name }), keyed(b.Modules, func(m fabric.ESXModule) string { return m.Name })},
		{"passthrough device", fabric.FactESXDevices, rankSetting, keyed(a.Devices, func(p fabric.PassthroughPCI) string { return p.Address }), keyed(b.Devices, func(p fabric.PassthroughPCI) string { return p.Address })},
		{"reset rule", fabric.FactESXResetRules, rankSetting, keyed(resetRules(a), resetKey), keyed(resetRules(b), resetKey)},
		{"MST device", fabric.FactESXMST, rankSetting, keyed(a.MST, func(m fabric.MSTDevice) string { return m.Name }), keyed(b.MST, func(m fabric.MSTDevice) string { return m.Name })},
		{"NIC configuration", fabric.FactESXNICConfigs, rankSetting, keyed(a.NICConfigs, func(n fabric.NICConfig) string { return n.Device }), keyed(b.NICConfigs, func(n fabric.NICConfig) string { return n.Device })},
		{"NIC firmware", "", rankVersion, keyed(a.Firmware, func(n fabric.NICFirmware) string { return n.Device }), keyed(b.Firmware, func(n fabric.NICFirmware) string { return n.Device })},
		{"uplink", fabric.FactESXUplinks, rankSetting, keyed(a.Uplinks, func(u fabric.Uplink) string { return u.Name }), keyed(b.Uplinks, func(u fabric.Uplink) string { return u.Name })},
		{"RDMA device of ESX", "", rankSetting, keyed(a.RDMA, func(r fabric.ESXRDMA) string { return r.Name }), keyed(b.RDMA, func(r fabric.ESXRDMA) string { return r.Name })},
		{"virtual function", fabric.FactESXVFs, rankSetting, keyed(a.VFs, virtualKey), keyed(b.VFs, virtualKey)},
		{"virtual machine", fabric.FactESXVMs, rankOther, keyed(a.VMs, func(v fabric.VM) string { return v.Name }), keyed(b.VMs, func(v fabric.VM) string { return v.Name })},
		{"memory region", "", rankOther, keyed(a.BARs, func(r fabric.DeviceBAR) string { return fmt.Sprintf("%s %d", r.Device, r.Number) }), keyed(b.BARs, func(r fabric.DeviceBAR) string { return fmt.Sprintf("%s %d", r.Device, r.Number) })},
		{"message", "", rankOther, keyed(refusals(a), refusalKey), keyed(refusals(b), refusalKey)},
		{"pending reboot", "", rankSetting, keyed(a.Reboot, func(r fabric.RebootReason) string { return r.Source }), keyed(b.Reboot, func(r fabric.RebootReason) string { return r.Source })},
		{"list seen in part", "", rankOther, keyed(a.Parts, same[string]), keyed(b.Parts, same[string])},
	} {
		d.listed(list.name, list.path, list.rank, list.a, list.b)
	}
}

func there(is bool) string {
	if is {
		return "there"
	}
	return absent
}

func same[T any](v T) T { return v }

func virtualKey(v fabric.ESXVirtual) string { return fmt.Sprintf("%s %d", v.Of, v.Number) }

// resetRules are those of a host without their places in the file.
func resetRules(e *fabric.ESX) []fabric.ResetRule {
	out := slices.Clone(e.ResetRules)
	for i := range out {
		out[i].Line = 0
	}
	return out
}

func resetKey(r fabric.ResetRule) string { return fmt.Sprintf("%04x:%04x", r.Vendor, r.Device) }

// refusals are those of a host without their places in the log.
func refusals(e *fabric.ESX) []fabric.PowerOnRefusal {
	out := slices.Clone(e.Refusals)
	for i := range out {
		out[i].Line = 0
	}
	return out
}

func refusalKey(r fabric.PowerOnRefusal) string { return r.VM + " " + r.Kind }

// listed compares the entries of a list. One that a side lacks is unknown there where that side did not see the whole list.
func (d *differ) listed(name, path string, r rank, a, b map[string]string) {
	lacks := func(e *fabric.ESX) string {
		if path != "" && !e.Whole(path) {
			return unknown
		}
		return absent
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		x, inA := a[key]
		y, inB := b[key]
		if !inA {
			x = lacks(d.a.ESX)
		}
		if !inB {
			y = lacks(d.b.ESX)
		}
		d.compare(name+" "+fabric.Printable(key), field{r, isWarning, "as read", x, y, "the two hosts are not set up alike"})
	}
}

// keyed writes the entries of a list as text, by name. Those of one name stand together.
func keyed[T any](list []T, key func(T) string) map[string]string {
	out := make(map[string]string, len(list))
	for _, one := range list {
		text, err := json.Marshal(one)
		if err != nil {
			text = []byte(unknown)
		}
		if old, again := out[key(one)]; again {
			text = []byte(old + " " + string(text))
		}
		out[key(one)] = string(text)
	}
	return out
}
