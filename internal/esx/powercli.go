package esx

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// PowerCLI, Get-PassthroughDevice | Format-List: numbers are decimal, and ids signed numbers of 16 bits.
var (
	powerBegins = pattern.New(`^(?:Bus|ClassId)\s+: -?[0-9]+$`)
	powerLine   = pattern.New(`^([A-Z]\w{1,30})\s*: ?(.*)$`)
)

func powerCLIForm() form {
	return form{
		name: "Get-PassthroughDevice", ours: true, opens: []*pattern.Regexp{powerBegins()},
		begins: func(line string, _ place) bool { return powerBegins().MatchString(strings.TrimSpace(line)) },
		goesOn: func(line string) bool { return powerLine().MatchString(strings.TrimSpace(line)) },
		read:   readPowerCLI,
	}
}

func readPowerCLI(b *build, s section) {
	r := record{}
	add := func() {
		if len(r) == 0 {
			return
		}
		at := decimalAddress(fmt.Sprintf("%s:%s.%s", r["bus"], r["slot"], r["function"]))
		vendor, ok := identity(r["vendorid"])
		device, ok2 := identity(r["deviceid"])
		if at == "" || !ok || !ok2 {
			b.missed(devicesPath, "Get-PassthroughDevice", "a device without its bus, slot, function and ids")
			b.esx()
		} else {
			d := b.device(at)
			d.Vendor, d.Device, d.Name = vendor, device, firstOf(r["name"], d.Name)
			switch r["state"] {
			case "Active":
				d.Active = new(true)
			case "Inactive", "NotActive", "Disabled":
				d.Active = new(false)
			}
			b.listed(devicesPath, false)
		}
		r = record{}
	}
	for _, line := range s.lines {
		m := powerLine().FindStringSubmatch(strings.TrimSpace(line))
		key := fieldName(m[1])
		if _, twice := r[key]; twice {
			add()
		}
		r[key] = strings.TrimSpace(m[2])
	}
	add()
}
