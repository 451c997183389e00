package esx

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"railwright.dev/railwright/internal/fabric"
)

// Lists of facts, by their paths.
const (
	settingsPath = fabric.FactESXSettings
	vibsPath     = fabric.FactESXVIBs
	modulesPath  = fabric.FactESXModules
	devicesPath  = fabric.FactESXDevices
	uplinksPath  = fabric.FactESXUplinks
	vfsPath      = fabric.FactESXVFs
)

type vib = fabric.VIB

func syncTables() func() []*table { return sync.OnceValue(allTables) }

// emptyList makes a list that was printed one that is not nil.
func emptyList(b *build, list string) {
	e := b.esx()
	switch list {
	case settingsPath:
		e.Settings = some(e.Settings)
	case vibsPath:
		e.VIBs = some(e.VIBs)
	case modulesPath:
		e.Modules = some(e.Modules)
	case devicesPath:
		e.Devices = some(e.Devices)
	case uplinksPath:
		e.Uplinks = some(e.Uplinks)
	case vfsPath:
		e.VFs = some(e.VFs)
	case fabric.FactESXVMs:
		e.VMs = some(e.VMs)
	case fabric.FactESXNICConfigs:
		e.NICConfigs = some(e.NICConfigs)
	}
}

func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// addSetting takes a setting whose values are of its type.
func addSetting(b *build, r record, _ section) bool {
	fits := func(v string) bool { return true }
	switch kind := strings.ToLower(r["type"]); {
	case kind == "bool":
		fits = func(v string) bool { return strings.EqualFold(v, "true") || strings.EqualFold(v, "false") }
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		fits = func(v string) bool {
			_, err := strconv.ParseInt(v, 0, 64)
			_, large := strconv.ParseUint(v, 0, 64)
			return err == nil || large == nil
		}
	case kind != "string" || r[byShape] != "": // of empty values a word of the description would be taken
		return false
	}
	set := fabric.ESXSetting{Name: r["name"], Configured: r["configured"], Runtime: r["runtime"], Default: r["default"]}
	if set.Name == "" || strings.Contains(set.Name, " ") || !fits(set.Configured) || !fits(set.Runtime) || !fits(set.Default) {
		return false
	}
	e := b.esx()
	if i := slices.IndexFunc(e.Settings, func(s fabric.ESXSetting) bool { return s.Name == set.Name }); i >= 0 {
		e.Settings[i] = set // printed later: a person asks again after a change
		return true
	}
	if len(e.Settings) < maxEntries {
		e.Settings = append(e.Settings, set)
	}
	return true
}

func addVIB(b *build, r record, _ section) bool {
	v := fabric.VIB{Name: r["name"], Version: r["version"], Vendor: r["vendor"], Acceptance: r["acceptancelevel"]}
	if v.Name == "" || v.Version == "" || strings.ContainsAny(v.Name+v.Version, " \t") {
		return false
	}
	b.vib(v)
	return true
}

// vib keeps the last version of a package that was printed.
func (b *build) vib(v fabric.VIB) {
	e := b.esx()
	if i := slices.IndexFunc(e.VIBs, func(have fabric.VIB) bool { return have.Name == v.Name }); i >= 0 {
		e.VIBs[i] = v
	} else if len(e.VIBs) < maxEntries {
		e.VIBs = append(e.VIBs, v)
	}
}

func addModule(b *build, r record, _ section) bool {
	loaded, enabled := flag(r["isloaded"]), flag(r["isenabled"])
	if r["name"] == "" || strings.Contains(r["name"], " ") || loaded == nil || enabled == nil {
		return false
	}
	m := b.module(r["name"])
	m.Loaded, m.Enabled = loaded, enabled
	return true
}

// addParameter takes a parameter of the module that the command names: the table does not. One without a value is not set.
func addParameter(b *build, r record, s section) bool {
	name, kind := r["name"], strings.ToLower(r["type"])
	value, given := r["value"]
	if !given { // by shape: a value of numbers stands before the description
		first, _, _ := strings.Cut(r["description"], " ")
		if strings.Contains(kind, "string") || strings.Contains(kind, "char") {
			return false // the first word of the description could be the value
		}
		if isNumbers(first) {
			value = first
		}
	}
	if name == "" || strings.Contains(name, " ") || kind == "" || value != "" && strings.Contains(kind, "int") && !isNumbers(value) {
		return false
	}
	module := option(s.command, "-m", "module")
	if module == "" {
		b.missed(fabric.FactESXModules, "esxcli system module parameters list", "the text does not say of which module the parameter "+name+" is")
		b.esx()
		return true
	}
	m := b.module(module)
	if m.Parameters == nil {
		m.Parameters = map[string]string{}
	}
	if value != "" && len(m.Parameters) < maxEntries {
		m.Parameters[name] = value
	}
	return true
}

// isNumbers knows 4, 0x08, -1 and 4,4,0.
func isNumbers(text string) bool {
	for _, part := range strings.Split(text, ",") {
		if _, err := strconv.ParseInt(part, 0, 64); err != nil {
			return false
		}
	}
	return true
}

func addPassthru(b *build, r record, _ section) bool {
	at, enabled := hexAddress(r["deviceid"]), flag(r["enabled"])
	if at == "" || enabled == nil {
		return false
	}
	b.device(at).Enabled = enabled
	b.listed(devicesPath, false)
	return true
}

// addUplink takes a NIC. ESX 5 prints the bus in three decimal digits.
func addUplink(b *build, r record, _ section) bool {
	link := r["linkstatus"]
	if link == "" {
		link = r["link"]
	}
	if !strings.HasPrefix(r["name"], "vm") || r["driver"] == "" || link != "Up" && link != "Down" {
		return false
	}
	speed, err := strconv.Atoi(r["speed"])
	mtu, err2 := strconv.Atoi(r["mtu"])
	at := eitherOr(r["pcidevice"])
	if err != nil || err2 != nil || at == "" {
		return false
	}
	u := b.uplink(r["name"])
	u.Address, u.Driver, u.Up, u.Mbps, u.MTU, u.What = at, r["driver"], new(link == "Up"), &speed, mtu, r["description"]
	return true
}

// eitherOr reads the address of a device of esxcli: hexadecimal, or padded decimal numbers.
func eitherOr(text string) string {
	if paddedForm().MatchString(text) {
		return decimalAddress(text)
	}
	return hexAddress(text)
}

// addVF takes a virtual function. The physical one is named by the command only.
func addVF(b *build, r record, s section) bool {
	n, err := strconv.Atoi(r["vfid"])
	active := flag(r["active"])
	if err != nil || n < 0 || active == nil || decimalAddress(r["pciaddress"]) == "" && hexAddress(r["pciaddress"]) == "" {
		return false
	}
	e := b.esx()
	if len(e.VFs) >= maxEntries {
		return true
	}
	owner := r["ownerworldid"]
	if owner == "-" {
		owner = ""
	}
	e.VFs = append(e.VFs, fabric.ESXVirtual{Of: option(s.command, "-n", "nic-name"), Number: n, Active: active, Owner: owner})
	b.vfs = append(b.vfs, loseVF{len(e.VFs) - 1, r["pciaddress"]})
	return true
}

func addRDMA(b *build, r record, _ section) bool {
	mtu, err := strconv.Atoi(r["mtu"])
	if !strings.HasPrefix(r["name"], "vmrdma") || err != nil {
		return false
	}
	e := b.esx()
	if len(e.RDMA) < maxEntries {
		e.RDMA = append(e.RDMA, fabric.ESXRDMA{Name: r["name"], Driver: r["driver"], State: r["state"], MTU: mtu, Speed: r["speed"], Uplink: r["paireduplink"]})
	}
	return true
}

func addRDMAKernel(b *build, r record, _ section) bool {
	if !strings.HasPrefix(r["device"], "vmrdma") || !strings.HasPrefix(r["vmknic"], "vmk") {
		return false
	}
	for i := range b.esx().RDMA {
		if d := &b.e.RDMA[i]; d.Name == r["device"] {
			d.Kernel = r["vmknic"]
		}
	}
	return true
}

// maxVFsTable is how VMware's notes on max_vfs show which entry of the list is of which port.
const maxVFsTable = "max_vfs by device"

func addMaxVFs(b *build, r record, _ section) bool {
	at := hexAddress(r["sbdf"])
	if at == "" || r["nic"] == "" {
		return false
	}
	u := b.uplink(r["nic"])
	u.Address, u.VFs = at, new(digits(r["maxvfs"]))
	return true
}
