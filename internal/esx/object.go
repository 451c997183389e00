package esx

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// object is an object of the vSphere API as vim-cmd prints it: (vim.vm.ConfigInfo) { name = "vm1", hardware = (...) { ... } }.
type object struct {
	kind   string
	value  string
	fields map[string]*object
	items  []*object
}

var (
	objectHead  = pattern.New(`^(?:\w+ = )?\((?:vim|vmodl)\.[\w.]+\) ?[\[{]$`)
	objectField = pattern.New(`^(\w+) = (.*?),?$`)
	objectKind  = pattern.New(`^\(([\w.]+)\) ?(.*)$`)
	objectTitle = pattern.New(`^(?:Configuration|Listsummary|Runtime information|Guest information):$`)
)

// objectForm takes lines from a head to its closing brace. They are indented, or braces.
func objectForm() form {
	return form{
		name: "vim-cmd", ours: true, opens: []*pattern.Regexp{objectHead(), objectTitle()},
		begins: func(line string, at place) bool {
			return objectHead().MatchString(line) || objectTitle().MatchString(line) && (at.esx || at.calls("vim-cmd"))
		},
		goesOn: func(line string) bool {
			return line[0] == ' ' || line[0] == '\t' || strings.HasPrefix(line, "}") || strings.HasPrefix(line, "]") || objectHead().MatchString(line)
		},
		read: readObject,
	}
}

func readObject(b *build, s section) {
	p := &objectText{lines: s.lines}
	var found []*object
	for p.at < len(p.lines) {
		text := p.next()
		if objectHead().MatchString(text) {
			if name, rest, named := strings.Cut(text, " = "); named && !strings.HasPrefix(name, "(") { // a field alone
				text = rest
			}
			found = append(found, p.value(text, 0))
		}
	}
	b.esx()
	for _, o := range found {
		if p.cut {
			what := fabric.FactESXVMs
			if strings.HasPrefix(o.kind, "vim.host.") {
				what = devicesPath
			}
			b.missed(what, "vim-cmd", "its output is cut: a brace is not closed")
		}
		b.object(o)
	}
}

// object takes what is known of an object.
func (b *build) object(o *object) {
	switch {
	case strings.HasPrefix(o.kind, "vim.vm.ConfigInfo"):
		b.vm(machineOf(o))
	case strings.HasPrefix(o.kind, "vim.host.Summary"):
		if h := o.field("hardware"); h != nil && h.text("vendor") != "" && h.text("model") != "" {
			b.out.Machine.Vendor, b.out.Machine.Product = new(fabric.Printable(h.text("vendor"))), new(fabric.Printable(h.text("model")))
		}
		if m := o.field("runtime").text("inMaintenanceMode"); m != "" {
			b.e.Maintenance = flag(m)
		}
		if p := o.field("config").field("product"); p != nil && strings.HasPrefix(p.text("name"), "VMware ESX") {
			b.version(p.text("version"), p.text("build"))
		}
		if r := o.text("rebootRequired"); r == "true" {
			b.reboot("vim-cmd hostsvc/hostsummary", "rebootRequired = true")
		}
	case strings.HasPrefix(o.kind, "vim.host.ConfigInfo"):
		b.passthrough(o.field("pciPassthruInfo"))
	case o.kind == "vim.host.PciPassthruInfo", o.kind == "vim.host.SriovInfo":
		b.passthrough(&object{items: append([]*object{o}, o.items...)})
	case strings.HasPrefix(o.kind, "vim.host.PowerSystem.PowerPolicy"):
		b.e.PowerPolicy = powerPolicy(o.text("shortName"))
	}
	if p := o.field("currentPolicy"); p != nil {
		b.e.PowerPolicy = powerPolicy(p.text("shortName"))
	}
}

// passthrough reads what the host's configuration says of passthrough (vim-cmd hostsvc/hostconfig): the only place in the shell
// of ESX that shows hardware labels.
func (b *build) passthrough(list *object) {
	if list == nil {
		return
	}
	for _, o := range list.items {
		at := apiAddress(o.text("id"))
		if at == "" {
			continue // the list itself
		}
		d := b.device(at)
		for name, to := range map[string]**bool{"passthruCapable": &d.Capable, "passthruEnabled": &d.Enabled, "passthruActive": &d.Active} {
			if v := o.text(name); v != "" {
				*to = flag(v)
			}
		}
		if o.field("hardwareLabel") != nil {
			d.Label, d.Labels = o.text("hardwareLabel"), true
		}
		b.listed(devicesPath, false)
	}
}

func machineOf(o *object) fabric.VM {
	vm := fabric.VM{Name: o.text("name"), Firmware: o.text("firmware"), Extra: map[string]string{}, Reserved: flag(o.text("memoryReservationLockedToMax"))}
	vm.Hardware = digits(strings.TrimPrefix(o.text("version"), "vmx-"))
	hardware := o.field("hardware")
	vm.CPUs, vm.MemoryMB = digits(hardware.text("numCPU")), digits(hardware.text("memoryMB"))
	if d := hardware.field("device"); d != nil {
		for _, one := range d.items {
			if device, ok := passedThrough(one); ok {
				device.Number = len(vm.Devices)
				vm.Devices = append(vm.Devices, device)
			}
		}
	}
	if extra := o.field("extraConfig"); extra != nil {
		for _, one := range extra.items {
			if key := one.text("key"); key != "" && len(vm.Extra) < maxEntries {
				vm.Extra[key] = one.text("value")
			}
		}
	}
	return vm
}

// passedThrough reads a device that a virtual machine has of its host.
func passedThrough(o *object) (fabric.VMDevice, bool) {
	backing := o.field("backing")
	switch {
	case strings.HasSuffix(o.kind, "VirtualSriovEthernetCard"):
		physical := o.field("sriovBacking").field("physicalFunctionBacking")
		return fabric.VMDevice{Kind: "sriov", Address: apiAddress(physical.text("id")), Vendor: physical.text("vendorId"), Device: physical.text("deviceId"), System: physical.text("systemId")}, true
	case !strings.HasSuffix(o.kind, "VirtualPCIPassthrough") || backing == nil:
		return fabric.VMDevice{}, false
	case strings.Contains(backing.kind, "DynamicBackingInfo"):
		d := fabric.VMDevice{Kind: "dynamic", Label: backing.text("customLabel"), Address: apiAddress(backing.text("assignedId"))}
		if allowed := backing.field("allowedDevice"); allowed != nil && len(allowed.items) > 0 {
			d.Vendor, d.Device = allowed.items[0].text("vendorId"), allowed.items[0].text("deviceId")
		}
		return d, true
	case strings.Contains(backing.kind, "VmiopBackingInfo"):
		return fabric.VMDevice{}, false // a share of a GPU
	}
	return fabric.VMDevice{Kind: "direct", Address: apiAddress(backing.text("id")), Vendor: backing.text("vendorId"), Device: backing.text("deviceId"), System: backing.text("systemId")}, true
}

// apiAddress reads an address of the vSphere API: hexadecimal with four and two digits, or decimal and padded.
func apiAddress(text string) string { return eitherOr(text) }

// field is nil where there is none.
func (o *object) field(name string) *object {
	if o == nil {
		return nil
	}
	return o.fields[name]
}

func (o *object) text(name string) string {
	f := o.field(name)
	if f == nil || f.value == "<unset>" {
		return ""
	}
	if unquoted, err := strconv.Unquote(f.value); err == nil {
		return unquoted
	}
	return strings.Trim(f.value, `"`)
}

// objectText reads the lines of objects.
type objectText struct {
	lines []string
	at    int
	cut   bool
}

func (p *objectText) next() string {
	text := strings.TrimSpace(p.lines[p.at])
	p.at++
	return text
}

// value reads what a text begins: (kind) {, (kind) [, or a scalar.
func (p *objectText) value(text string, depth int) *object {
	const deepest = 40
	o := &object{fields: map[string]*object{}}
	if m := objectKind().FindStringSubmatch(text); m != nil {
		o.kind, text = m[1], m[2]
	}
	text = strings.TrimSuffix(strings.TrimSpace(text), ",")
	if depth > deepest || text != "{" && text != "[" {
		o.value = text
		return o
	}
	for p.at < len(p.lines) {
		line := p.next()
		switch {
		case strings.HasPrefix(line, "}"), strings.HasPrefix(line, "]"):
			return o
		case strings.HasPrefix(line, "("), line == "{", line == "[":
			o.items = append(o.items, p.value(line, depth+1))
		default:
			if m := objectField().FindStringSubmatch(line); m != nil {
				o.fields[m[1]] = p.value(m[2], depth+1)
			}
		}
	}
	p.cut = true
	return o
}
