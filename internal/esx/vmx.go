package esx

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Settings of a virtual machine: the lines of its .vmx file, and ExtraConfig as people and clients write it.
var (
	vmxBegins = pattern.New(`^(?:pciPassthru[\w.]*|sched\.(?:mem|cpu)\.[\w.]+|hypervisor\.cpuid\.\w+|virtualHW\.\w+|displayName|numvcpus|memSize|config\.version|\.encoding|firmware|vvtd\.enable|uefi\.\w[\w.]*)\s*=\s*"[^"]*"$`)
	vmxLine   = pattern.New(`^([\w.:-]+)\s*=\s*"([^"]*)"$`)
	extraLine = pattern.New(`^(?:- |\* )?(pciPassthru[0-9]*\.[\w.]+|(?i:relaxACSforP2P))\s*(?:=|:|\s)\s*"?([^\s",]+)"?$`)
	deviceKey = pattern.New(`^pciPassthru([0-9]{1,3})\.(\w[\w.]*)$`)
)

func vmxForm() form {
	is := func(text string) bool { return vmxBegins().MatchString(text) || extraLine().MatchString(text) }
	return form{
		name: ".vmx", ours: false, weak: true, opens: []*pattern.Regexp{vmxBegins(), extraLine()},
		begins: func(line string, _ place) bool { return is(strings.TrimSpace(line)) },
		goesOn: func(line string) bool {
			text := strings.TrimSpace(line)
			return is(text) || vmxLine().MatchString(text) || strings.HasPrefix(text, "#") || isRule(text)
		},
		read: readVMX,
	}
}

// readVMX gives a virtual machine for each set of settings: one in which a key has two values is of two of them, or of two times.
func readVMX(b *build, s section) {
	var vm *vmText
	for i, line := range s.lines {
		text := strings.TrimSpace(line)
		m := vmxLine().FindStringSubmatch(text)
		if m == nil {
			m = extraLine().FindStringSubmatch(text)
		}
		switch {
		case strings.HasPrefix(text, "#"), isRule(text):
			continue
		case m == nil:
			b.lost(s, i)
			continue
		}
		if old, twice := vm.value(m[1]); vm == nil || twice && old != m[2] {
			vm.add(b)
			vm = &vmText{values: map[string]string{}}
		}
		if len(vm.values) < maxEntries {
			vm.values[m[1]] = m[2]
		}
	}
	vm.add(b)
	b.out.Proven = b.out.Proven || vm != nil && vm.values["displayName"] != ""
}

// vmText is the settings of a virtual machine by key.
type vmText struct{ values map[string]string }

// value finds a setting. VMX keys are compared without case.
func (v *vmText) value(key string) (string, bool) {
	if v == nil {
		return "", false
	}
	if value, ok := v.values[key]; ok {
		return value, true
	}
	for k, value := range v.values {
		if strings.EqualFold(k, key) {
			return value, true
		}
	}
	return "", false
}

func (v *vmText) number(key string) int {
	text, _ := v.value(key)
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// add makes a virtual machine of settings.
func (v *vmText) add(b *build) {
	if v == nil || len(v.values) == 0 {
		return
	}
	vm := fabric.VM{Extra: map[string]string{}, CPUs: v.number("numvcpus"), MemoryMB: v.number("memSize"), Hardware: v.number("virtualHW.version")}
	vm.Name, _ = v.value("displayName")
	vm.Firmware, _ = v.value("firmware")
	devices := map[int]map[string]string{}
	for key, value := range v.values {
		if m := deviceKey().FindStringSubmatch(key); m != nil {
			n := digits(m[1])
			if devices[n] == nil {
				devices[n] = map[string]string{}
			}
			devices[n][strings.ToLower(m[2])] = value
			continue
		}
		vm.Extra[key] = value
	}
	vm.Reserved = v.reserved(vm.MemoryMB)
	for n, d := range devices {
		if device, ok := vmDevice(n, d); ok {
			vm.Devices = append(vm.Devices, device)
			continue
		}
		for key, value := range d { // settings of a device that is given elsewhere
			vm.Extra["pciPassthru"+strconv.Itoa(n)+"."+key] = value
		}
	}
	slices.SortFunc(vm.Devices, func(a, c fabric.VMDevice) int { return a.Number - c.Number })
	b.vm(vm)
}

// reserved reports whether all memory is reserved. Nil: the settings do not say.
func (v *vmText) reserved(memory int) *bool {
	if pin, ok := v.value("sched.mem.pin"); ok && strings.EqualFold(pin, "true") {
		return new(true)
	}
	least, ok := v.value("sched.mem.min")
	if !ok || memory == 0 {
		return nil
	}
	return new(digits(least) >= memory)
}

// vmDevice makes a device of the keys of pciPassthruN. One with the physical function of a NIC is a virtual function of it.
func vmDevice(n int, d map[string]string) (fabric.VMDevice, bool) {
	if strings.EqualFold(d["present"], "false") {
		return fabric.VMDevice{}, false
	}
	out := fabric.VMDevice{Number: n, Vendor: d["vendorid"], Device: d["deviceid"], System: d["systemid"], Label: d["customlabel"]}
	switch {
	case d["pfid"] != "":
		out.Kind, out.Address = "sriov", vmxAddress(d["pfid"])
	case d["id"] != "":
		out.Kind, out.Address = "direct", vmxAddress(d["id"])
	case d["alloweddevices"] != "" || d["virtualdev"] == "dvx" || d["customlabel"] != "":
		out.Kind = "dynamic"
	case d["deviceid"] == "" && d["vendorid"] == "":
		return out, false
	}
	return out, true
}

// vm keeps a virtual machine. What two texts say of one name is joined.
func (b *build) vm(vm fabric.VM) {
	e := b.esx()
	i := slices.IndexFunc(e.VMs, func(have fabric.VM) bool { return vm.Name != "" && have.Name == vm.Name })
	if i < 0 {
		if len(e.VMs) < maxEntries {
			e.VMs = append(e.VMs, vm)
		}
		b.listed(fabric.FactESXVMs, false)
		return
	}
	if len(vm.Devices) > 0 || len(vm.Extra) > 0 {
		vm.Power = firstOf(vm.Power, e.VMs[i].Power)
		e.VMs[i] = vm
		return
	}
	e.VMs[i].Power = firstOf(vm.Power, e.VMs[i].Power)
	e.VMs[i].Hardware = max(vm.Hardware, e.VMs[i].Hardware)
}

func firstOf(a, c string) string {
	if a != "" {
		return a
	}
	return c
}
