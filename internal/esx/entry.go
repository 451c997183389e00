package esx

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// passthroughOwner is who has a device that is passed through.
const passthroughOwner = "VM Passthru"

// addPCI takes a device of esxcli hardware pci list. It is passed through where that is its current owner; where it is only the
// configured one, the host has to start again.
func addPCI(b *build, r record, _ section) bool {
	at := hexAddress(r["address"])
	if at == "" {
		return false
	}
	if len(r) == 1 {
		return true // the line before the entry
	}
	d := b.device(at)
	d.Name = firstOf(r["devicename"], d.Name)
	vendor, ok := identity(r["vendorid"])
	device, ok2 := identity(r["deviceid"])
	if ok && ok2 {
		d.Vendor, d.Device = vendor, device
	}
	if c := flag(r["passthrucapable"]); c != nil {
		d.Capable = c
	}
	current, configured := r["currentowner"], r["configuredowner"]
	if current != "" {
		d.Active = new(current == passthroughOwner)
	}
	switch {
	case configured == passthroughOwner:
		d.Enabled = new(true)
	case configured == "VMkernel", configured == "Unknown" && current != "" && current != passthroughOwner: // nobody chose: ESX keeps it
		d.Enabled = new(false)
	}
	if ok && ok2 {
		b.pci(pciOf(at, vendor, device, r))
	}
	return true
}

func pciOf(at string, vendor, device uint16, r record) fabric.PCIDevice {
	p := fabric.PCIDevice{Address: at, Vendor: vendor, Device: device, Driver: r["modulename"]}
	if p.Driver == "None" {
		p.Driver = ""
	}
	if class, err := strconv.ParseUint(strings.TrimPrefix(r["deviceclass"], "0x"), 16, 16); err == nil {
		p.Class = uint32(class) << 8
	}
	if parent, ok := strings.CutPrefix(r["parentdevice"], "PCI "); ok {
		p.Parent = decimalAddress(parent)
	}
	if n, err := strconv.Atoi(r["numanode"]); err == nil {
		p.NUMANode = &n
	}
	return p
}

// addVersion takes Version: 8.0.3 and Build: Releasebuild-24280767.
func addVersion(b *build, r record, _ section) bool {
	if !strings.HasPrefix(r["product"], "VMware ESX") || versionForm().FindString(r["version"]) != r["version"] {
		return false
	}
	_, build, _ := strings.Cut(r["build"], "-")
	return b.version(r["version"], build)
}

var versionForm = pattern.New(`[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}`)

// version keeps the first version. One that another text contradicts stays.
func (b *build) version(version, number string) bool {
	e := b.esx()
	if version == "" {
		return false
	}
	if e.Version != "" && e.Version != version {
		b.missed(fabric.FactESX, "vmware -v", "texts of two versions of ESX: "+e.Version+" and "+version)
		return true
	}
	e.Version = version
	if e.Build == "" {
		e.Build = number
	}
	return true
}

func addPlatform(b *build, r record, _ section) bool {
	if r["vendorname"] == "" || r["productname"] == "" {
		return false
	}
	b.esx()
	b.out.Machine.Vendor, b.out.Machine.Product = new(fabric.Printable(r["vendorname"])), new(fabric.Printable(r["productname"]))
	return true
}

// addAdvanced takes an option of which something is read: the power policy.
func addAdvanced(b *build, r record, _ section) bool {
	if r["path"] == "" {
		return false
	}
	e := b.esx()
	if r["path"] == "/Power/CpuPolicy" && r["stringvalue"] != "" {
		e.PowerPolicy = powerPolicy(r["stringvalue"])
	}
	return true
}

// powerPolicy writes the short names of policies as the long ones, which the client shows.
func powerPolicy(name string) string {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "static", "high performance", "powerpolicy.static.name":
		return "High Performance"
	case "dynamic", "balanced", "powerpolicy.dynamic.name":
		return "Balanced"
	case "low", "low power", "powerpolicy.low.name":
		return "Low Power"
	case "custom", "powerpolicy.custom.name":
		return "Custom"
	}
	return fabric.Printable(name)
}

func addModuleInfo(b *build, r record, _ section) bool {
	if r["module"] == "" || strings.Contains(r["module"], " ") {
		return false
	}
	b.module(r["module"])
	b.listed(modulesPath, false)
	if v := r["containingvib"]; v != "" && r["version"] != "" {
		b.esx() // the version of the module is not always that of its package
	}
	return true
}

// addResult takes the result of an installation or an update of software.
func addResult(b *build, r record, s section) bool {
	message := r["message"]
	if message == "" {
		return false
	}
	for _, id := range strings.Split(r["vibsinstalled"], ",") {
		if v, ok := vibOf(id); ok {
			b.vib(v)
		}
	}
	b.listed(vibsPath, false)
	b.esx()
	if required := flag(r["rebootrequired"]); required != nil && *required || required == nil && strings.Contains(message, "needs to be rebooted") {
		b.reboot("esxcli software", message)
	}
	return true
}

// vibOf takes an id apart: MEL_bootbank_nmlx5-core_4.22.73.1004-1OEM.703.0.0.18644231.
func vibOf(id string) (fabric.VIB, bool) {
	vendor, rest, ok := strings.Cut(strings.TrimSpace(id), "_bootbank_")
	if !ok {
		vendor, rest, ok = strings.Cut(strings.TrimSpace(id), "_locker_")
	}
	name, version, ok2 := strings.Cut(rest, "_")
	if !ok || !ok2 || name == "" || version == "" || strings.Contains(rest, " ") {
		return fabric.VIB{}, false
	}
	return fabric.VIB{Name: name, Version: version, Vendor: vendor}, true
}

func (b *build) reboot(source, text string) {
	e := b.esx()
	if len(e.Reboot) < maxUnread {
		e.Reboot = append(e.Reboot, fabric.RebootReason{Source: source, Text: fabric.Printable(cut(text))})
	}
}
