package main

import (
	"fmt"
	"strings"
)

func moduleList(h *machine, _ map[string][]string) (string, error) {
	rows := [][]string{{"Name", "Is Loaded", "Is Enabled"}}
	for _, m := range h.Modules {
		rows = append(rows, []string{m.Name, fmt.Sprint(m.Loaded), fmt.Sprint(m.Enabled)})
	}
	return table(rows...), nil
}

func moduleSet(h *machine, o map[string][]string) (string, error) {
	m := h.module(one(o, "m"))
	if m.Name == "" {
		return "", fmt.Errorf("Unable to find module %s", one(o, "m"))
	}
	m.Enabled = one(o, "e") == "true"
	return "", nil
}

func parametersSet(h *machine, o map[string][]string) (string, error) {
	m := h.module(one(o, "m"))
	if m.Name == "" {
		return "", fmt.Errorf("Unable to find module %s", one(o, "m"))
	}
	for _, word := range strings.Fields(one(o, "p")) {
		name, value, _ := strings.Cut(word, "=")
		if !has([]string{"max_vfs", "mst_recovery", "pfctx"}, name) || value == "" {
			return "", fmt.Errorf("Unable to set module parameters the following errors occurred:\n Parameter %s is not valid", word)
		}
	}
	if !has(h.Slips, "parameters") {
		m.Options = one(o, "p")
	}
	return "", nil
}

func esxcfgModule(h *machine, args []string) (string, int, error) {
	if len(args) != 2 || args[0] != "-g" || h.module(args[1]).Name == "" {
		return "", 1, fmt.Errorf("esxcfg-module: %q: unknown", args)
	}
	m := h.module(args[1])
	return fmt.Sprintf("%s enabled = %d options = '%s'\n", m.Name, map[bool]int{true: 1}[m.Enabled], m.Options), 0, nil
}

func vmkloadMod(h *machine, args []string) (string, int, error) {
	if len(args) != 1 || args[0] != "-l" {
		return "", 1, fmt.Errorf("vmkload_mod: %q: unknown", args)
	}
	out := "Name                     Used Size (kb)\n"
	for _, m := range h.Modules {
		if m.Loaded {
			out += fmt.Sprintf("%-24s %-4d %d\n", m.Name, 1, 1368)
		}
	}
	return out, 0, nil
}

// owner is who has a device.
func owner(passed bool) string {
	if passed {
		return "VM Passthru"
	}
	return "VMkernel"
}

func pciList(h *machine, _ map[string][]string) (string, error) {
	var b strings.Builder
	for _, d := range h.Devices {
		alias, module := d.Alias, d.Driver
		if d.Active {
			alias, module = "", "pciPassthru"
		}
		parent := ""
		if d.Parent != "" {
			parent = fmt.Sprintf("PCI 0:%d:1:0", number16(d.Parent[5:7]))
		}
		fmt.Fprintf(&b, "%s\n   Address: %s\n   Segment: 0x0000\n   Bus: 0x%s\n   Slot: 0x%s\n   Function: 0x0\n   VMkernel Name: %s\n   Vendor Name: \n   Device Name: %s\n   Configured Owner: %s\n   Current Owner: %s\n   Vendor ID: 0x%s\n   Device ID: 0x%s\n   SubVendor ID: 0x%s\n   SubDevice ID: 0x0041\n   Device Class: 0x%s\n   Device Class Name: \n   Module ID: 21\n   Module Name: %s\n   Passthru Capable: %t\n   Parent Device: %s\n   Reset Method: Function reset\n   FPT Sharable: true\n\n",
			d.Address, d.Address, d.Address[5:7], d.Address[8:10], alias, d.Name, owner(d.Enabled), owner(d.Active), d.Vendor, d.Device, d.Vendor, d.Class, module, d.Capable, parent)
	}
	return b.String(), nil
}

func lspci(h *machine, args []string) (string, int, error) {
	if len(args) > 0 {
		return "", 1, fmt.Errorf("lspci: %q: unknown", args)
	}
	out := ""
	for _, d := range h.Devices {
		if out += d.Address + " Device: " + d.Name; d.Alias != "" && !d.Active {
			out += " [" + d.Alias + "]"
		}
		out += "\n"
	}
	return out, 0, nil
}

func passthruList(h *machine, _ map[string][]string) (string, error) {
	rows := [][]string{{"Device ID", "Enabled"}}
	for _, d := range h.Devices {
		if d.Capable {
			rows = append(rows, []string{d.Address, fmt.Sprintf("%7t", d.Enabled)})
		}
	}
	return table(rows...), nil
}

func passthruSet(h *machine, o map[string][]string) (string, error) {
	d := h.device(one(o, "d"))
	if d == nil || !d.Capable {
		return "", fmt.Errorf("Device owner is already configured or device %s is not capable", one(o, "d"))
	}
	if !has(h.Slips, d.Address) {
		d.Enabled = one(o, "e") == "true"
	}
	return "", nil
}

// driven are the NICs that ESX itself drives.
func (h *machine) driven() (all []*device) {
	for _, d := range h.Devices {
		if d.Alias != "" && !d.Active && (d.Driver != "nmlx5_core" || h.module("nmlx5_core").Loaded && option(h.module("nmlx5_core").Running, "mst_recovery") != "1") {
			all = append(all, d)
		}
	}
	return all
}

func nicList(h *machine, _ map[string][]string) (string, error) {
	rows := [][]string{{"Name", "PCI Device", "Driver", "Admin Status", "Link Status", "Speed", "Duplex", "MAC Address", "MTU", "Description"}}
	for i, d := range h.driven() {
		link, speed, duplex := "Down", "0", "Half"
		if d.Driver != "nmlx5_core" {
			link, speed, duplex = "Up", "25000", "Full"
		}
		rows = append(rows, []string{d.Alias, d.Address, d.Driver, "Up", link, speed, duplex, fmt.Sprintf("02:00:00:00:00:%02x", i), "1500", d.Name})
	}
	return table(rows...), nil
}

func sriovList(h *machine) string {
	out := "Description,Driver,Duplex,Link,MACAddress,MTU,Name,PCIDevice,Speed,\n"
	for i, d := range h.driven() {
		if d.VFs > 0 {
			out += fmt.Sprintf("%s,%s,Half,Down,02:00:00:00:00:%02x,1500,%s,%s,0,\n", d.Name, d.Driver, i, d.Alias, d.Address)
		}
	}
	return out
}

func vfList(h *machine, o map[string][]string) (string, error) {
	for _, d := range h.driven() {
		if d.Alias != one(o, "n") {
			continue
		}
		rows := [][]string{{"VF ID", "Active", "PCI Address", "Owner World ID"}}
		for n := range d.VFs {
			rows = append(rows, []string{fmt.Sprintf("%5d", n), " false", fmt.Sprintf("%s.%d", d.Address[:len(d.Address)-2], n+1), "-"})
		}
		return table(rows...), nil
	}
	return "", fmt.Errorf("Unable to find NIC %s", one(o, "n"))
}

func vmware(h *machine, args []string) (string, int, error) {
	if len(args) != 1 || args[0] != "-v" {
		return "", 1, fmt.Errorf("vmware: %q: unknown", args)
	}
	return fmt.Sprintf("VMware ESXi %s build-%s\n", h.Version, h.Build), 0, nil
}

func vimCmd(h *machine, args []string) (string, int, error) {
	if len(args) == 1 && args[0] == "vmsvc/getallvms" {
		out := "Vmid   Name   File   Guest OS   Version   Annotation\n"
		for i, name := range h.VMs {
			out += fmt.Sprintf("%d     %s   [ds1] %s/%s.vmx   ubuntu64Guest   vmx-21             \n", i+1, name, name, name)
		}
		return out, 0, nil
	}
	if len(args) == 2 && args[0] == "vmsvc/get.config" && number(args[1]) > 0 && number(args[1]) <= len(h.VMs) {
		return "Configuration:\n\n(vim.vm.ConfigInfo) {\n   name = \"" + h.VMs[number(args[1])-1] + "\", \n   version = \"vmx-21\", \n   firmware = \"efi\"\n}\n", 0, nil
	}
	if len(args) == 1 && args[0] == "hostsvc/hostconfig" {
		return hostConfig(h), 0, nil
	}
	return "", 1, fmt.Errorf("vim-cmd: %q: unknown", args)
}

// hostConfig is the configuration of the host as vim-cmd prints objects of the API, with other lists around that of devices.
func hostConfig(h *machine) string {
	var rows []string
	for _, d := range h.Devices {
		label := "<unset>"
		if d.Label != "" {
			label = fmt.Sprintf("%q", d.Label)
		}
		rows = append(rows, fmt.Sprintf("      (vim.host.PciPassthruInfo) {\n         id = %q, \n         dependentDevice = %q, \n         passthruEnabled = %t, \n         passthruCapable = %t, \n         passthruActive = %t, \n         hardwareLabel = %s\n      }",
			d.Address, d.Address, d.Enabled, d.Capable, d.Active, label))
	}
	return "(vim.host.ConfigInfo) {\n   host = 'vim.HostSystem:ha-host', \n   option = (vim.option.OptionValue) [\n      (vim.option.OptionValue) {\n         key = \"Misc.LogToFile\", \n         value = 1\n      }\n   ], \n" +
		"   pciPassthruInfo = (vim.host.PciPassthruInfo) [\n" + strings.Join(rows, ", \n") + "\n   ], \n   sharedPassthruGpuTypes = (string) [\n      \"none\"\n   ], \n   storageDevice = (vim.host.StorageDeviceInfo) null\n}\n"
}

func chkconfig(h *machine, args []string) (string, int, error) {
	if len(args) != 1 || args[0] != "--list" {
		return "", 1, fmt.Errorf("chkconfig: %q: unknown", args)
	}
	return fmt.Sprintf("DCUI                    on\nSSH                     %s\nntpd                    off\n", map[bool]string{true: "off", false: "on"}[h.Manual]), 0, nil
}
