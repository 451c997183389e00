package esx

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// worldForm reads esxcli vm process list: the virtual machines that run, each with the id by which other tools call it.
func worldForm() form {
	return form{
		name: "esxcli vm process list", begins: func(line string, at place) bool {
			return at.calls("esxcli", "vm", "process", "list") || worldLine().MatchString(line)
		},
		goesOn: func(string) bool { return true }, read: readWorlds,
	}
}

var worldLine = pattern.New(`^\s+World ID: \d+$`)

func readWorlds(b *build, s section) {
	if !slices.ContainsFunc(s.lines, worldLine().MatchString) {
		for i := range s.lines {
			b.lost(s, i)
		}
		return
	}
	b.esx()
	b.out.Proven = true
	if b.worlds == nil {
		b.worlds = map[string]string{}
	}
	_, filter := base(s.command)
	b.running = b.running || s.command != "" && filter == ""
	id := ""
	for _, line := range s.lines {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "World ID":
			id = value
		case "Display Name":
			if id != "" && len(b.worlds) < maxEntries {
				b.worlds[id] = value
				b.vm(fabric.VM{Name: value, Power: "on"})
			}
			id = ""
		}
	}
}

// placeWorlds gives virtual functions the names of their owners, and virtual machines that do not run their power state.
func (b *build) placeWorlds() {
	for i := range b.e.VFs {
		if name := b.worlds[b.e.VFs[i].Owner]; name != "" {
			b.e.VFs[i].Owner = name
		}
	}
	for i := range b.e.VMs {
		if vm := &b.e.VMs[i]; b.running && vm.Name != "" && vm.Power == "" {
			vm.Power = "off"
		}
	}
}

// placeOwners gives devices the names of the virtual machines that have them: one that runs before one that does not.
func (b *build) placeOwners() {
	for _, state := range []string{"on", "suspended", "", "off"} {
		for _, vm := range b.e.VMs {
			if vm.Power != state || vm.Name == "" {
				continue
			}
			for _, d := range vm.Devices {
				i := slices.IndexFunc(b.e.Devices, func(p fabric.PassthroughPCI) bool {
					return d.Address != "" && d.Kind != "sriov" && p.Address == d.Address
				})
				if i >= 0 && b.e.Devices[i].Owner == "" {
					b.e.Devices[i].Owner = vm.Name
				}
			}
		}
	}
}
