package esx

import (
	"slices"
	"strings"
	"sync"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// message is a line of vmware.log or vmkernel.log, or an error of the client, that says why a virtual machine did not start or lost
// a device. The groups vm, device (hexadecimal), decimal, needed and limit are what it says of them.
type message struct {
	kind string // of fabric.PowerOnRefusal; empty: says no more than what goes on
	text *pattern.Regexp
}

// messages are tried in this order: one that gives a reason before one that says only that it failed.
var messages = sync.OnceValue(func() []message {
	ex := func(text string) *pattern.Regexp { return pattern.MustCompile(`(?i)` + text) }
	at := `(?P<device>` + sbdf + `)`
	dec := `(?P<decimal>[0-9]{1,5}(?::[0-9]{1,3}){1,2}\.[0-7])`
	return []message{
		{fabric.RefusedMMIO, ex(`total number of pages needed \((?P<needed>[0-9]+)\) exceeds limit \((?P<limit>[0-9]+)\)`)},
		{fabric.RefusedNoVF, ex(`No SR-IOV virtual function \(VF\) is available(?:.*?\(` + at + `\))?`)},
		{fabric.RefusedNotPassed, ex(`Device (?:` + at + `|` + dec + `) is not a passthrough device`)},
		{fabric.RefusedHotPlug, ex(`PCIEHP: .*\(` + at + `\) Adapter removed`)},
		{fabric.RefusedHotPlug, ex(`PCIEHP: .*Device insertion detected while prior device ` + at + ` removal is still pending`)},
		{fabric.RefusedVectors, ex(`IntrVector: .*Out of interrupt vectors`)},
		{fabric.RefusedVectors, ex(`Couldn't allocate a vector.* for device (?P<decimal>[0-9]{3}:[0-9]{3}:[0-9]{2}\.[0-7])`)},
		{fabric.RefusedVectors, ex(`VMKPCIPassthru: .*Failed to allocate [0-9]+ MSI-?X? vectors`)},
		{fabric.RefusedVectors, ex(`PCIPassthruChangeIntrSettings: (?:` + at + `|\S+) failed to register interrupt`)},
		{fabric.RefusedIdentity, ex(`systemId does not match(?:.*?currently at ` + dec + `)?`)},
		{fabric.RefusedIOMMU, ex(`IOMMU virtualization is not allowed with VGPU`)},
		{fabric.RefusedReserved, ex(`memory reservation \(sched\.mem\.min\) should be equal to memsize|Invalid memory setting: memory reservation`)},
		{fabric.RefusedInUse, ex(`(?:PCI )?(?:passthrough )?device (?:` + at + `|` + dec + `|\S+) is (?:already )?in use`)},
		{fabric.RefusedDevice, ex(`Failed to register the device pciPassthru[0-9]+ for (?:` + at + `|` + dec + `)`)},
		{fabric.RefusedReset, ex(`PCI: [0-9]+: Dev (?:@ )?` + at + ` (?:is unresponsive after reset|did not complete its pending transactions)`)},
		{fabric.RefusedDevice, ex(`PCIPassthru: Failed to register device ` + at)},
		{fabric.RefusedDevice, ex(`One or more devices \(pciPassthru[0-9]+(?:, ?pciPassthru[0-9]+)*\) required by VM (?P<vm>\S+) are not available`)},
		{fabric.RefusedDevice, ex(`PCI passthrough device (?:id )?\S* ?(?:is )?(?:invalid|not available|not found)`)},
		{fabric.RefusedDevice, ex(`PCIPassthru: .*(?:Failed to|failed to|could not|Could not) (?:find|open|get|reset|map|register)\b.*?(?:` + at + `)?`)},
		{fabric.RefusedDevice, ex(`\[msg\.pciPassthru\.\w+\].*?(?:\b` + dec + `\b|$)`)},
		{fabric.RefusedPowerOn, ex(`Module '?DevicePowerOn'? power on failed`)},
		{fabric.RefusedPowerOn, ex(`Failed to power on virtual machine (?P<vm>[^\s,]+)`)},
		{"", ex(`^The operation for the entity "(?P<vm>[^"]+)" failed`)},
		{"", ex(`Failed to start the virtual machine|An error was received from the ESX host|while powering on VM (?P<vm>\S+?)\.?$|currently at ` + dec)},
		{"", ex(`^(?:the current system or|deviceId, and|vendorId does not match)`)},
		{"", ex(`\b(?:PCIPassthru|VMKPCIPassthru|PCIEHP|AMDIommu|VTD|IOMMU|IntrVector|MSI): [0-9]+: |\bPCIPassthru: (?:Device ` + sbdf + ` barIndex|successfully)`)},
	}
})

// vmName finds the name of the virtual machine in a message that is known for something else.
var vmName = pattern.New(`(?i)(?:power on virtual machine|powering on VM|entity|required by VM) "?([^\s",]+?)"?(?:[,.\s]|$)`)

// inLog and inVectors are beginnings of lines of the logs: of vmware.log in its two forms, of vmkernel.log, and of the client's
// messages. The first is texts alone, which are found without an expression.
var (
	inLog     = pattern.New(`(?i)PCIPassthru|after reset|pending transactions|PCIEHP|IntrVector|DevicePowerOn|AMDIommu|passthrough|SR-IOV|systemId|IOMMU|sched\.mem|virtual machine|the current system|currently at|powering on|ESX host|deviceId, and`)
	inVectors = pattern.New(`(?i)MSIX?\b`)
)

// candidates are in one pass the messages that a line may be.
var candidates = sync.OnceValue(func() *pattern.Set { return pattern.NewSet(messageTexts()...) })

func messageOf(line string) (m message, ok bool) {
	if !inLog().MatchString(line) && !inVectors().MatchString(line) {
		return message{}, false
	}
	may := candidates().In(line)
	for i := range may.Within(0, len(messages())) {
		if m := messages()[i]; m.text.MatchString(line) {
			return m, true
		}
	}
	return message{}, false
}

func messageTexts() (all []*pattern.Regexp) {
	for _, m := range messages() {
		all = append(all, m.text)
	}
	return all
}

func logForm() form {
	return form{
		name: "messages of virtual machines", log: true, opens: messageTexts(),
		begins: func(line string, _ place) bool {
			m, ok := messageOf(line)
			return ok && (m.kind != "" || !strings.HasPrefix(m.text.String(), `(?i)^(?:the current`))
		},
		goesOn: func(line string) bool { _, ok := messageOf(line); return ok },
		read:   readLog,
	}
}

// readLog keeps each message that says why. The name of the virtual machine may stand in another line of the same error.
func readLog(b *build, s section) {
	from := 0
	if b.e != nil {
		from = len(b.e.Refusals)
	}
	name := ""
	for i, line := range s.lines {
		m, _ := messageOf(line) // which the line has: it is of this section
		found := m.text.FindStringSubmatch(line)
		if v := vmName().FindStringSubmatch(line); v != nil {
			name = v[1]
		}
		r := fabric.PowerOnRefusal{Kind: m.kind, Text: fabric.Printable(cut(strings.TrimSpace(line))), Line: s.numbers[i]}
		for n, group := range m.text.SubexpNames() {
			switch {
			case found[n] == "":
			case group == "device":
				r.Device = hexAddress(found[n])
			case group == "decimal":
				r.Device = decimalAddress(found[n])
			case group == "needed":
				r.Needed = digits(found[n])
			case group == "limit":
				r.Limit = digits(found[n])
			}
		}
		b.bar(line)
		if m.kind == "" && b.e == nil {
			continue
		}
		if m.kind == "" {
			if last := len(b.e.Refusals) - 1; last >= from && b.e.Refusals[last].Kind == fabric.RefusedIdentity && b.e.Refusals[last].Device == "" {
				b.e.Refusals[last].Device = r.Device // the message goes on in this line
			}
			continue
		}
		same := func(o fabric.PowerOnRefusal) bool {
			return o.Kind == r.Kind && o.Device == r.Device && o.Needed == r.Needed
		}
		if !slices.ContainsFunc(b.esx().Refusals[from:], same) && len(b.e.Refusals) < maxEntries {
			b.e.Refusals = append(b.e.Refusals, r)
		}
	}
	if b.e == nil {
		return
	}
	for i := from; i < len(b.e.Refusals); i++ {
		b.e.Refusals[i].VM = firstOf(b.e.Refusals[i].VM, name)
	}
	b.specific(from)
	if from < len(b.e.Refusals) {
		b.out.Proven = b.out.Proven || strings.Contains(strings.Join(s.lines, "\n"), "PCIPassthru") || strings.Contains(strings.Join(s.lines, "\n"), "DevicePowerOn")
	}
}

var barLine = pattern.New(`PCIPassthru: Device (` + sbdf + `) barIndex ([0-5]) type [0-9]+ realaddr 0x[0-9a-f]+ size ([0-9]+)`)

// bar keeps a memory region that the host mapped.
func (b *build) bar(line string) {
	m := barLine().FindStringSubmatch(line)
	if m == nil || digits(m[3]) == 0 {
		return
	}
	e := b.esx()
	b.out.Proven = true
	bar := fabric.DeviceBAR{Device: hexAddress(m[1]), Number: digits(m[2]), Bytes: digits(m[3])}
	if !slices.Contains(e.BARs, bar) && len(e.BARs) < maxEntries {
		e.BARs = append(e.BARs, bar)
	}
}

// specific leaves out a refusal without a reason where the same error has one.
func (b *build) specific(from int) {
	list := b.e.Refusals[from:]
	if !slices.ContainsFunc(list, func(r fabric.PowerOnRefusal) bool { return r.Kind != fabric.RefusedPowerOn }) {
		return
	}
	list = slices.DeleteFunc(list, func(r fabric.PowerOnRefusal) bool { return r.Kind == fabric.RefusedPowerOn })
	b.e.Refusals = b.e.Refusals[:from+len(list)]
}
