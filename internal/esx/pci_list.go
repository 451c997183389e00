package esx

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// lspci of ESX: a name with the alias of the VMkernel behind it, ids with -n, owners with -p. It always prints the domain.
var (
	lspciNamed = pattern.New(`^(` + sbdf + `) ([A-Z0-9][^:\[\]]*?): (.+?)(?: \[(vm[a-z]+\d+|PF_\d+\.\d+\.\d+_VF_\d+)\])?$`)
	lspciIDs   = pattern.New(`^(` + sbdf + `) Class ([0-9a-fA-F]{4}): ([0-9a-fA-F]{4}):([0-9a-fA-F]{4})(?: \[([\w.]+)\])?$`)
	lspciPass  = pattern.New(`^(` + sbdf + `)\s+([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\s+[0-9a-fA-F]{4}:[0-9a-fA-F]{4}\s+[0-9a-fA-F]*\s*/\s*\w*\s*/?\s*\w*\s+[A-D@.]\s+([PV])(?:\s+(\S+))?(?:\s+(\S+))?$`)
	lspciClass = pattern.New(`^Class ([0-9a-fA-F]{4}): ([0-9a-fA-F]{4}):([0-9a-fA-F]{4})$`)
	lspciTitle = pattern.New(`^Seg:Bu:Sl\.F\s+Vend:Dvid`)
	changeDev  = pattern.New(`^(` + sbdf + `)\s+([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\s+[0-9a-fA-F]{4}:[0-9a-fA-F]{4}\s+(vmkernel|passthru)(?:\s+(\S+))?$`)
	virtualOf  = pattern.New(`^PF_(\d+)\.(\d+)\.(\d+)_VF_(\d+)$`)
	aliasOf    = pattern.New(`^vm(?:nic|hba|gfx|usb|k)\d+$`)
)

func lspciForm() form {
	table := func(line string) bool {
		text := strings.TrimSpace(line)
		return lspciIDs().MatchString(text) || lspciPass().MatchString(text) || lspciTitle().MatchString(text) || changeDev().MatchString(text)
	}
	named := func(line string) bool { return lspciNamed().MatchString(strings.TrimSpace(line)) }
	return form{
		name: "lspci", ours: true, opens: []*pattern.Regexp{lspciIDs(), lspciPass(), lspciTitle(), changeDev(), lspciNamed()},
		begins: func(line string, at place) bool {
			text := strings.TrimSpace(line)
			if !startsWithAddress(text) {
				return lspciTitle().MatchString(text)
			}
			if table(line) {
				return true
			}
			m := lspciNamed().FindStringSubmatch(text)
			return m != nil && (m[4] != "" || at.esx && (at.calls("lspci") || at.command == ""))
		},
		goesOn: func(line string) bool {
			return table(line) || named(line) || (line[0] == ' ' || line[0] == '\t')
		},
		read: readLspci,
	}
}

func readLspci(b *build, s section) {
	last, rows := "", 0
	for i, line := range s.lines {
		text := strings.TrimSpace(line)
		switch {
		case lspciTitle().MatchString(text):
		case lspciIDs().MatchString(text):
			m := lspciIDs().FindStringSubmatch(text)
			last = b.identified(m[1], m[2], m[3], m[4])
			b.alias(last, m[5], "")
		case lspciPass().MatchString(text):
			m := lspciPass().FindStringSubmatch(text)
			last = b.identified(m[1], "", m[2], m[3])
			b.device(last).Active = new(m[4] == "P")
			b.alias(last, m[6], m[5])
		case changeDev().MatchString(text):
			m := changeDev().FindStringSubmatch(text)
			last = b.identified(m[1], "", m[2], m[3])
			b.device(last).Active = new(m[4] == "passthru")
			b.alias(last, m[5], "")
		case lspciNamed().MatchString(text):
			m := lspciNamed().FindStringSubmatch(text)
			last = hexAddress(m[1])
			d := b.device(last)
			d.Name = fabric.Printable(m[3])
			if d.Vendor == 0 {
				d.Vendor = vendorOf(m[3])
			}
			b.alias(last, m[4], "")
		case lspciClass().MatchString(text) && last != "":
			m := lspciClass().FindStringSubmatch(text)
			b.identified(last, m[1], m[2], m[3])
		case line[0] == ' ' || line[0] == '\t':
			continue // what -v adds
		default:
			b.lost(s, i)
			continue
		}
		rows++
	}
	words, _ := base(s.command)
	picks := len(words) > 1 && strings.Contains(strings.Join(words[1:], " "), "-s")
	b.listed(devicesPath, s.command != "" && isWhole(s.command) && !picks)
	b.esx().Devices = some(b.e.Devices)
}

// identified takes the ids of a device.
func (b *build) identified(address, class, vendor, device string) string {
	at := hexAddress(address)
	v, _ := strconv.ParseUint(vendor, 16, 16) // the pattern has four digits
	d, _ := strconv.ParseUint(device, 16, 16)
	entry := b.device(at)
	entry.Vendor, entry.Device = uint16(v), uint16(d)
	if class != "" {
		c, _ := strconv.ParseUint(class, 16, 16)
		b.pci(fabric.PCIDevice{Address: at, Vendor: uint16(v), Device: uint16(d), Class: uint32(c) << 8})
	}
	return at
}

// alias takes the name that the VMkernel has for a device: an uplink, or a virtual function of a physical one, whose address is
// decimal in it: PF_0.94.1_VF_0 is of 0000:5e:00.1 or of device 94, so its function stays open where the numbers are bus and function.
func (b *build) alias(at, name, module string) {
	if m := virtualOf().FindStringSubmatch(name); m != nil {
		e := b.esx()
		if len(e.VFs) < maxEntries {
			e.VFs = append(e.VFs, fabric.ESXVirtual{Of: functionOf(m[1], m[2], m[3]), Number: digits(m[4]), Address: at})
			b.listed(vfsPath, false)
		}
		return
	}
	if !aliasOf().MatchString(name) || !strings.HasPrefix(name, "vmnic") {
		return
	}
	u := b.uplink(name)
	u.Address = at
	if module != "" && module != "pciPassthru" {
		u.Driver = module
	}
	b.listed(uplinksPath, false)
}

// functionOf is the physical function that the name of a virtual one has: segment, bus and function, decimal; the device is 0.
func functionOf(segment, bus, function string) string {
	return decimalAddress(segment + ":" + bus + ":0." + function)
}

// vendorOf knows the vendors whose devices are passed through here by the name that the table of PCI ids has for them.
func vendorOf(name string) uint16 {
	for _, v := range []struct {
		name string
		id   uint16
	}{{"Mellanox Technologies", 0x15b3}, {"NVIDIA Corporation", 0x10de}, {"Intel Corporation", 0x8086}, {"Broadcom", 0x14e4}, {"Advanced Micro Devices", 0x1022}} {
		if strings.HasPrefix(name, v.name) && v.id != 0x1022 {
			return v.id
		}
	}
	return 0
}

// passthru.map: vendor, device, method, and whether a function alone may be passed through.
var (
	resetLine = pattern.New(`^([0-9a-fA-F]{4})\s+([0-9a-fA-F]{4})\s+(flr|d3d0|link|bridge|default)(?:\s+(true|false|default))?$`)
	resetHead = pattern.New(`^#.*(?:passthrough attributes for devices|vendor-?id\s+device-?id\s+resetMethod)`)
)

func resetForm() form {
	is := func(line string) bool {
		text := strings.TrimSpace(line)
		return resetLine().MatchString(text) || resetHead().MatchString(text)
	}
	return form{name: "/etc/vmware/passthru.map", ours: true, opens: []*pattern.Regexp{resetLine(), resetHead()}, begins: func(line string, _ place) bool { return is(line) },
		goesOn: func(line string) bool { return is(line) || strings.HasPrefix(strings.TrimSpace(line), "#") }, read: readResets}
}

func readResets(b *build, s section) {
	e := b.esx()
	e.ResetRules = some(e.ResetRules)
	whole := isWhole(s.command) && calls(s.command, "cat")
	for i, line := range s.lines {
		text := strings.TrimSpace(line)
		m := resetLine().FindStringSubmatch(text)
		if m == nil || len(e.ResetRules) >= maxEntries {
			continue
		}
		v, _ := strconv.ParseUint(m[1], 16, 16)
		d, _ := strconv.ParseUint(m[2], 16, 16)
		e.ResetRules = append(e.ResetRules, fabric.ResetRule{Vendor: uint16(v), Device: uint16(d), Method: m[3], Shareable: m[4], Line: s.numbers[i]})
	}
	b.listed(fabric.FactESXResetRules, whole)
}
