package esx

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Classes and templates of virtual machines: VirtualMachineClass of VM Operator, as YAML or as the JSON of vCenter's API, templates of
// Cluster API (pciDevices, customVMXKeys), variables of TKG. They are read line by line: people paste parts of them.
var (
	classHead     = pattern.New(`^"?kind"?\s*:\s*"?VirtualMachineClass"?,?$|^"?apiVersion"?\s*:\s*"?vmoperator\.vmware\.com/|^"config_spec"\s*:\s*\{$|^"_typeName"\s*:\s*"VirtualPCIPassthrough`)
	classID       = pattern.New(`(?i)(^|[\s{,-])"?(vendor_?id|device_?id|custom_?label)"?\s*:\s*("[^"]*"|'[^']*'|[^\s,{}]+)`)
	classVariable = pattern.New(`^VSPHERE_[A-Z_]*(PCI_DEVICES|CUSTOM_VMX_KEYS|HARDWARE_VERSION):\s*["']?([^"'\s]+)["']?$`)
	manifestLine  = pattern.New(`^\s{2,}\S|^\s*(?:- )*["']?[\w./-]+["']?\s*:(?:\s.*|)$|^\s*(?:- )?[{}\[\],]+$|^\s*- [\w."'/-]+$|^---$`)
	manifestPair  = pattern.New(`^\s*((?:- )*)["']?([\w./-]+)["']?\s*:\s*(.*)$`)
	numberForm    = pattern.New(`^["']?(?:0[xX][0-9a-fA-F]{1,4}|-?[0-9]{1,5}|[0-9a-fA-F]{4})["']?$`)
)

// isClassDevice knows a line with the id of a device: a number, as other systems have ids of other kinds by the same name.
func isClassDevice(line string) bool {
	if !strings.Contains(line, ":") {
		return false
	}
	for _, m := range classID().FindAllStringSubmatch(line, 4) {
		if strings.EqualFold(strings.ReplaceAll(m[2], "_", ""), "customlabel") || !numberForm().MatchString(m[3]) {
			continue
		}
		return true
	}
	return false
}

func manifestForm() form {
	return form{
		name: "class of virtual machines", opens: []*pattern.Regexp{classHead(), classVariable(), classID()},
		begins: func(line string, _ place) bool {
			text := strings.TrimSpace(line)
			return classHead().MatchString(text) || classVariable().MatchString(text) || isClassDevice(line) && !powerLine().MatchString(text)
		},
		goesOn: func(line string) bool {
			return manifestLine().MatchString(line) || strings.HasPrefix(strings.TrimSpace(line), "# VSPHERE") || extraLine().MatchString(strings.TrimSpace(line))
		},
		read: readManifest,
	}
}

// manifest is what was read of one class.
type manifest struct {
	vm      fabric.VM
	device  fabric.VMDevice
	backing bool   // the device is one of the API, whose ids stand in a list of those that are allowed
	api     int    // devices of that kind
	again   bool   // what follows lists the same devices a second time
	key     string // of ExtraConfig, whose value follows
	meta    bool   // the next name is that of the object
}

func readManifest(b *build, s section) {
	at := &manifest{}
	for _, line := range s.lines {
		text := strings.TrimSpace(line)
		if text == "---" {
			at.end(b)
			at = &manifest{}
			continue
		}
		if m := classVariable().FindStringSubmatch(text); m != nil {
			at.variable(m[1], m[2])
			continue
		}
		if text == "{" && !at.backing { // the next of a list, whose fields JSON sorts by name
			at.next()
		}
		if ids := classID().FindAllStringSubmatch(line, 8); ids != nil {
			for _, m := range ids {
				at.id(strings.ToLower(strings.ReplaceAll(m[2], "_", "")), strings.Trim(m[3], `"'`), strings.HasPrefix(text, "- "))
			}
			continue
		}
		if m := extraLine().FindStringSubmatch(text); m != nil {
			at.extra(m[1], m[2])
			continue
		}
		if m := manifestPair().FindStringSubmatch(line); m != nil {
			at.pair(m[2], strings.Trim(strings.TrimRight(strings.TrimSpace(withoutRemark(m[3])), ","), `"'`))
		}
	}
	at.end(b)
}

var remark = pattern.New(`\s+#.*$`)

func withoutRemark(value string) string { return remark().ReplaceAllString(value, "") }

func (m *manifest) id(key, value string, item bool) {
	have := map[string]*string{"vendorid": &m.device.Vendor, "deviceid": &m.device.Device, "customlabel": &m.device.Label}[key]
	switch {
	case *have != "" && m.backing && key != "customlabel":
		return // another device that is allowed for the same place
	case *have != "" || item && !m.backing:
		m.next()
		have = map[string]*string{"vendorid": &m.device.Vendor, "deviceid": &m.device.Device, "customlabel": &m.device.Label}[key]
	}
	*have = fabric.Printable(value)
}

// next begins another device.
func (m *manifest) next() {
	if d := m.device; (d.Vendor != "" || d.Device != "") && len(m.vm.Devices) < maxEntries && !m.again {
		if m.backing && m.api == 0 {
			m.vm.Devices = nil // which a list before it has too
		}
		if m.backing {
			m.api++
		}
		d.Kind, d.Number = "dynamic", len(m.vm.Devices)
		m.vm.Devices = append(m.vm.Devices, d)
	}
	m.device = fabric.VMDevice{}
}

func (m *manifest) extra(key, value string) {
	if m.vm.Extra == nil {
		m.vm.Extra = map[string]string{}
	}
	if len(m.vm.Extra) < maxEntries {
		m.vm.Extra[key] = fabric.Printable(value)
	}
}

func (m *manifest) pair(key, value string) {
	switch {
	case key == "kind" && value == "VirtualMachineClass":
		m.vm.Operator = true
	case key == "metadata":
		m.meta = true
	case key == "name" && m.meta, key == "id" && m.vm.Name == "" && value != "":
		m.vm.Name, m.meta = firstOf(m.vm.Name, fabric.Printable(value)), false
	case key == "backing" || key == "device" && value == "":
		m.next()
		m.backing, m.again = true, false
	case key == "dynamicDirectPathIODevices" || key == "dynamic_direct_path_IO_devices" || key == "pciDevices":
		m.next()
		m.backing, m.again = false, m.api > 0
	case key == "extraConfig":
		m.next()
		if m.vm.Extra == nil {
			m.vm.Extra = map[string]string{}
		}
	case key == "key":
		m.key = value
	default:
		m.setting(key, value)
	}
}

// setting takes what a class says beside its devices.
func (m *manifest) setting(key, value string) {
	switch {
	case (key == "value" || key == "_value") && m.key != "" && value != "" && value != "{":
		m.extra(m.key, value)
		m.key = ""
	case strings.HasSuffix(key, "/pci-passthru-64bit-mmio-size"):
		m.extra("pciPassthru.64bitMMIOSizeGB", value)
		m.extra("pciPassthru.use64bitMMIO", "TRUE")
	case key == "firmware" && (value == "efi" || value == "bios"):
		m.vm.Firmware = value
	case strings.HasPrefix(value, "vmx-"):
		m.vm.Hardware = digits(strings.TrimPrefix(value, "vmx-"))
	case key == "memoryReservationLockedToMax":
		m.vm.Reserved = flag(value)
	}
}

// variable takes a variable of TKG: devices as VENDOR:DEVICE, keys as KEY=VALUE, each list with commas.
func (m *manifest) variable(kind, value string) {
	switch kind {
	case "HARDWARE_VERSION":
		m.vm.Hardware = digits(strings.TrimPrefix(value, "vmx-"))
	case "PCI_DEVICES":
		for one := range strings.SplitSeq(value, ",") {
			m.device.Vendor, m.device.Device, _ = strings.Cut(fabric.Printable(one), ":")
			m.next()
		}
	default:
		for one := range strings.SplitSeq(value, ",") {
			if key, v, ok := strings.Cut(one, "="); ok {
				m.extra(key, v)
			}
		}
	}
}

// end keeps a class that has devices or settings of them.
func (m *manifest) end(b *build) {
	m.next()
	if len(m.vm.Devices) == 0 && len(m.vm.Extra) == 0 {
		return
	}
	m.vm.Class = true
	b.vm(m.vm)
}

// manifestSigns are what a line has that may begin a manifest.
func manifestSigns() []string {
	return []string{"VirtualMachineClass", "vmoperator", "endorI", "endor_i", "eviceI", "evice_i", "VSPHERE_", "VirtualPCI", "config_spec"}
}
