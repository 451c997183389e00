package prepare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const (
	mlxconfig = "/opt/mellanox/bin/mlxconfig"
	driver    = "nmlx5_core"
	recovery  = "mst_recovery"
)

// nics sets what is stored in each NIC that there is. It returns which NICs are as they have to be after the next start: only
// these may be passed through, since mst shows a NIC that is passed through no longer.
func (r *run) nics() (settled map[string]bool) {
	settled = make(map[string]bool)
	devices := r.devices(r.goal.NIC)
	if len(r.goal.NICSettings) == 0 {
		for _, d := range devices {
			settled[d.Address] = true
		}
		return settled
	}
	var hidden []string
	for _, d := range devices {
		config, name := r.config(d.Address)
		switch {
		case config != nil:
			settled[d.Address] = r.store(d.Address, name, *config)
		case (is(d.Active) || is(d.Enabled)) && (r.goal.Mode == fabric.Passthrough || !r.moved):
			r.out.Hidden = append(r.out.Hidden, d.Address)
			r.unknown(hiddenText(d.Address))
		case r.moved:
			r.after("the settings of NICs are read and set: before the start nothing shows them")
		case r.esx.MST == nil:
			r.unknown("mst status was not read, so the settings of NIC " + d.Address + " are unknown")
		case name != "":
			r.unknown("the settings of NIC " + d.Address + " (" + name + ") were not read")
		default:
			hidden = append(hidden, d.Address)
		}
	}
	r.recover(hidden, devices)
	return settled
}

func (r *run) after(what string) {
	if !slices.Contains(r.later, what) {
		r.later = append(r.later, what)
	}
}

// config finds the settings of a NIC, and how mst calls it.
func (r *run) config(address string) (*fabric.NICConfig, string) {
	name := ""
	for _, m := range r.esx.MST {
		if m.Address == address && !strings.Contains(m.Name, "pci_cr") && (name == "" || len(m.Name) < len(name)) {
			name = m.Name
		}
	}
	for i, c := range r.esx.NICConfigs {
		if c.Address == address || c.Device == address || name != "" && strings.TrimPrefix(c.Device, "/dev/mst/") == name {
			if name == "" {
				name = c.Device
			}
			return &r.esx.NICConfigs[i], name
		}
	}
	return nil, name
}

// store sets what differs, and reports whether all of it was known. What mlxconfig lists only after another setting was made is read
// then, so that it can be taken back.
func (r *run) store(address, name string, config fabric.NICConfig) bool {
	known, start := true, false
	var locked []string
	var set, was, unlock, unlockWas []fabric.Option
	for _, o := range r.goal.NICSettings {
		has, listed := config.Settings[o.Name]
		next := has.Next
		if next == "" {
			next = has.Current
		}
		switch {
		case (!listed || next == "") && len(unlock) > 0:
			locked = append(locked, o.Name)
		case !listed || next == "":
			r.unknown("setting " + o.Name + " of NIC " + address + " was not read")
			known = false
		case plain(next) != plain(o.Value) && o.Name == advanced:
			unlock, unlockWas = append(unlock, o), append(unlockWas, fabric.Option{Name: o.Name, Value: plain(next)})
			start = start || plain(has.Current) != plain(o.Value)
		case plain(next) != plain(o.Value):
			start = start || plain(has.Current) != plain(o.Value)
			set, was = append(set, o), append([]fabric.Option{{Name: o.Name, Value: plain(next)}}, was...)
		case has.Current != "" && plain(has.Current) != plain(o.Value):
			r.pending("setting " + o.Name + " of NIC " + address + " was stored as " + plain(next) + ", and " + plain(has.Current) + " is in force")
		}
	}
	if len(locked) > 0 {
		s := r.nicStep("nic-unlock "+address, "let more firmware settings of NIC "+address+" be set", address, name, unlock, unlockWas)
		s.Starts, s.Check.Started = true, nil
		r.unlock = append(r.unlock, s)
		r.unlocked = append(r.unlocked, "the firmware of NIC "+address+" is set: mlxconfig lists "+strings.Join(locked, ", ")+" only after "+advanced)
		return false
	}
	set, was = append(unlock, set...), append(was, unlockWas...)
	if len(set) > 0 {
		r.when(start, r.nicStep("nic "+address, "set the firmware of NIC "+address, address, name, set, was))
	}
	return known
}

// advanced lets mlxconfig list and set more.
const advanced = "ADVANCED_PCI_SETTINGS"

// nicStep is one question to mlxconfig. Its undo and the check of that find the NIC by its address: mst numbers the NICs that it shows.
func (r *run) nicStep(id, title, address, name string, set, was []fabric.Option) Step {
	words := func(options []fabric.Option) string {
		var b strings.Builder
		for _, o := range options {
			b.WriteString(" " + o.Name + "=" + fabric.ShellWord(o.Value))
		}
		return b.String()
	}
	const query = " -e q"
	return Step{ID: id, Title: title + ":" + words(set), Commands: []string{mlxconfig + " -d " + fabric.ShellWord(name) + " -y set" + words(set)},
		Undo: []string{find(address) + mlxconfig + ` -d "$d" -y set` + words(was)}, Check: nicCheck(find(address)+mlxconfig+` -d "$d"`+query, was, set), Source: vcf + "8.3; " + vs8 + "3"}
}

// find sets $d to the name that mst has for the NIC at an address, and fails where it has none.
func find(address string) string {
	const blank = "[[:space:]]"
	row := blank + `\(0000:\)*` + strings.ReplaceAll(strings.TrimPrefix(address, "0000:"), ".", "[.]")
	return `d=$(/opt/mellanox/bin/mst status` + ` -vv | grep -i -e '` + row + blank + `' -e '` + row + `$' | grep -o 'mt[0-9]*_pciconf[0-9.]*' | head -n 1); test -n "$d" || { echo "mst does not show the NIC at ` + address + `" >&2; exit 1; }; `
}

// plain is a value as it is set: True(1) is 1.
func plain(value string) string {
	if _, in, ok := strings.Cut(strings.TrimSuffix(value, ")"), "("); ok {
		value = in
	}
	switch strings.ToLower(value) {
	case "true":
		return "1"
	case "false":
		return "0"
	}
	return value
}

// recover brings NICs to light that mst does not show, by a start in recovery mode, and ends that mode where it has done its work.
func (r *run) recover(hidden []string, devices []fabric.PassthroughPCI) {
	m := r.esx.Module(driver)
	on := m != nil && plain(m.Parameters[recovery]) == "1"
	switch {
	case len(hidden) > 0 && r.esx.VIBs == nil:
		r.unknown("mst shows nothing of " + strings.Join(hidden, ", ") + ", and whether its tools are installed was not read")
	case len(hidden) > 0 && (m == nil || m.Parameters == nil):
		r.unknown("mst shows nothing of " + strings.Join(hidden, ", ") + ", and the parameters of " + driver + " were not read")
	case len(hidden) > 0 && m.Enabled != nil && !*m.Enabled:
		r.moved = true
		r.add(Step{ID: "module", Title: "load " + driver + " at the start", Commands: []string{"esxcli system module set -m " + driver + " -e true"}, Undo: []string{"esxcli system module set -m " + driver + " -e false"},
			Check: Check{Command: "esxcli system module list", Want: driver + " is loaded and enabled", Of: `^` + driver, Now: []string{`^` + driver + `\s+\S+\s+true`}, Started: []string{`^` + driver + `\s+true\s+true`}, Back: []string{`^` + driver + `\s+\S+\s+false`}}, Source: vs8 + "troubleshooting"})
		r.after("the NICs are looked for again")
	case len(hidden) > 0 && on:
		r.unknown("recovery mode is set, and mst shows nothing of " + strings.Join(hidden, ", ") + ": the host was not started since, or the NIC does not answer")
	case len(hidden) > 0 && r.carries():
		r.conflict("recovery-cuts-uplinks", "mst does not show "+strings.Join(hidden, ", ")+", and recovery mode takes every NIC of "+driver+" from ESX, of which some are uplinks with a link", "start the host in recovery mode at its console, or give its management network an uplink of another driver")
	case len(hidden) > 0:
		r.moved = true
		r.parameters("recovery-on", "start "+driver+" in recovery mode, in which mst shows NICs that it did not", map[string]string{recovery: "1"}, vs8+"2.4")
		r.after("the settings of NICs are read and set, and recovery mode ends")
	case on && len(devices) > 0:
		r.parameters("recovery-off", "start "+driver+" in its normal mode again", map[string]string{recovery: "0"}, vs8+"2.4")
	}
}

// carries reports whether ESX reaches the world over NICs of the driver, as far as is known: what is not known carries.
func (r *run) carries() bool {
	return r.esx.Uplinks == nil || slices.ContainsFunc(r.esx.Uplinks, func(u fabric.Uplink) bool {
		return u.Driver == "" || u.Driver == driver && (u.Up == nil || *u.Up)
	})
}

// parameters changes some parameters of the driver. esxcli replaces all of them, so the others are set again; a second change
// before the start is made to the first.
func (r *run) parameters(id, title string, change map[string]string, source string) {
	m := r.esx.Module(driver)
	next := maps.Clone(m.Parameters)
	for i, s := range r.now.Steps {
		if was, ok := strings.CutPrefix(s.ID, "module-parameters "); ok {
			next, id, title = parse(s.Commands[0]), was+", "+id, s.Title+"; "+title
			r.now.Steps = slices.Delete(r.now.Steps, i, i+1)
			break
		}
	}
	maps.Copy(next, change)
	set := func(p map[string]string) string {
		return "esxcli system module parameters set -m " + driver + " -p " + quoted(options(p))
	}
	r.add(Step{ID: "module-parameters " + id, Title: title, Commands: []string{set(next)}, Undo: []string{set(m.Parameters)},
		Check: parametersCheck(options(m.Parameters), options(next)), Source: source})
}

// options are parameters as esxcli takes them.
func options(p map[string]string) string {
	words := make([]string, 0, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		words = append(words, name+"="+p[name])
	}
	return strings.Join(words, " ")
}

// quoted is a word in quotes, whatever is in it.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// parse reads parameters from a command of parameters.
func parse(command string) map[string]string {
	_, text, _ := strings.Cut(command, " -p ")
	out := make(map[string]string)
	for _, word := range strings.Fields(strings.Trim(text, "'")) {
		name, value, _ := strings.Cut(word, "=")
		out[name] = value
	}
	return out
}

// functions sets how many virtual functions the driver makes of each NIC: a list in the order of addresses, of all its NICs.
func (r *run) functions() {
	m := r.esx.Module(driver)
	ours := r.devices(r.goal.NIC)
	if m == nil || m.Parameters == nil {
		if len(ours) > 0 {
			r.unknown("the parameters of " + driver + " were not read")
		}
		return
	}
	was := m.Parameters["max_vfs"]
	if r.goal.MaxVFs == 0 && was == "" {
		return
	}
	if r.esx.Uplinks == nil {
		r.unknown("the NICs of ESX were not read, so which entry of max_vfs is whose is unknown")
		return
	}
	var all []string
	for _, d := range ours {
		all = append(all, d.Address)
	}
	for _, u := range r.esx.Uplinks {
		if u.Driver == driver && u.Address != "" && !slices.Contains(all, u.Address) {
			all = append(all, u.Address)
		}
	}
	slices.Sort(all)
	had := strings.Split(was, ",")
	if was != "" && len(had) != len(all) {
		r.unknown(fmt.Sprintf("max_vfs has %d entries and %s has %d NICs: which entry is whose is unknown", len(had), driver, len(all)))
		return
	}
	want := make([]string, len(all))
	for i, address := range all {
		switch {
		case slices.ContainsFunc(ours, func(d fabric.PassthroughPCI) bool { return d.Address == address }):
			want[i] = fmt.Sprint(r.goal.MaxVFs)
		case was != "":
			want[i] = had[i]
		default:
			want[i] = "0"
		}
	}
	if list := strings.Join(want, ","); list != was {
		r.parameters("max_vfs", "make virtual functions: max_vfs="+list, map[string]string{"max_vfs": list}, vs8+"3")
	}
}
