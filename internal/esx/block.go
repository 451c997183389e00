package esx

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// block is an entry that esxcli prints as indented lines of names and values.
type block struct {
	kind   string
	begins *pattern.Regexp
	named  string // the line that begins it is the value of this field; empty: it is a field itself, or a title
}

var (
	pairLine = pattern.New(`^\s*([A-Z][\w /()-]{0,40}?)\s*:(?:\s+(.*))?$`)
	listLine = pattern.New(`^\s*[\w.-]+_(?:bootbank|locker)_[\w.~+-]+(?:, [\w.~+-]+)*,?$`)
)

func blocks() []block {
	ex := pattern.MustCompile
	return []block{
		{"esxcli hardware pci list", ex(`^\s*(?:Address: )?` + sbdf + `$`), "address"},
		{"esxcli system version get", ex(`^\s*Product: VMware ESX`), ""},
		{"esxcli hardware platform get", ex(`^\s*Platform Information$`), ""},
		{"esxcli system settings advanced list", ex(`^\s*Path: /\w+/\w+$`), ""},
		{"esxcli system module get", ex(`^\s*Module: \w+$`), ""},
		{"esxcli network nic get", ex(`^\s*Advertised Auto Negotiation: (?:true|false)$`), ""},
		{"esxcli software", ex(`^\s*(?:Installation|Update|Removal|Profile Update) Result$`), ""},
	}
}

func (k block) form() form {
	return form{
		name: k.kind, ours: true, opens: []*pattern.Regexp{k.begins},
		begins: func(line string, at place) bool {
			if k.named != "" && !at.esx && !strings.Contains(line, ": ") {
				return false // an address alone in a line
			}
			return k.begins.MatchString(line)
		},
		goesOn: func(line string) bool {
			return !k.begins.MatchString(line) && (pairLine().MatchString(line) || listLine().MatchString(line)) || isElision(strings.TrimSpace(line))
		},
		read: func(b *build, s section) { k.read(b, s) },
	}
}

// read adds the entry. A list of devices is a section for each.
func (k block) read(b *build, s section) {
	r := record{}
	last := ""
	for i, line := range s.lines {
		if i == 0 && k.named != "" && !strings.Contains(line, ": ") {
			r[k.named] = strings.TrimSpace(line)
			continue
		}
		m := pairLine().FindStringSubmatch(line)
		switch {
		case m != nil:
			last = fieldName(m[1])
			if _, twice := r[last]; !twice {
				r[last] = strings.TrimSpace(m[2])
			}
		case last != "" && listLine().MatchString(line):
			r[last] = strings.TrimSuffix(strings.TrimSpace(r[last]+" "+strings.TrimSpace(line)), ",")
		}
	}
	kind := kindOf(k.kind)
	if !kind.add(b, r, s) {
		for i := range s.lines {
			b.lost(s, i)
		}
		return
	}
	if kind.gives != "" {
		b.listed(kind.gives, isWhole(s.command, kind.pick...) || s.command == "" && r["deviceclass"] == hostBridge)
		emptyList(b, kind.gives)
	}
}

// hostBridge is the class of what every list of all PCI devices begins with: 0600 (PCI Code and ID Assignment 1.11, 1.7).
const hostBridge = "0x0600"

// singles are outputs of one line, or of lines that need no other.
func singles() []form {
	return []form{
		single("vmware -v", true, vmwareLine(), anywhere, readVMware),
		single("uname -a", true, unameLine(), anywhere, readUname),
		single("esxcli system maintenanceMode get", true, maintenance(), func(at place) bool { return at.calls("esxcli", "system", "maintenanceMode", "get") }, readMaintenance),
		single("esxcfg-module -g", true, moduleOptions(), anywhere, readModuleOptions),
		single("vmkload_mod", true, loadedHead(), func(at place) bool { return at.esx || at.calls("vmkload_mod") || at.calls("esxcfg-module") }, readLoaded),
		single("vmkload_mod", true, loadedRow(), func(at place) bool { return at.calls("vmkload_mod") || at.calls("esxcfg-module") }, readLoaded),
		weak(single("VIB ids", true, vibIDs(), anywhere, readIDs)),
		single("vsish", true, digitsOnly(), func(at place) bool { return at.calls("vsish") && strings.Contains(at.command, "vectorList") }, readVectors),
		single("esxcli error", false, shellError(), func(at place) bool { return at.esx }, readShellError),
	}
}

// single is an output of lines of one form, in places of which a function is true.
func single(name string, ours bool, is *pattern.Regexp, where func(place) bool, read func(b *build, line string, s section) bool) form {
	return form{
		name: name, ours: ours, opens: []*pattern.Regexp{is},
		begins: func(line string, at place) bool { return where(at) && is.MatchString(strings.TrimSpace(line)) },
		goesOn: never,
		read: func(b *build, s section) {
			for i, l := range s.lines {
				if !read(b, strings.TrimSpace(l), s) {
					b.lost(s, i)
				}
			}
		},
	}
}

func anywhere(place) bool { return true }

// weak is a form of lines that another output may have too.
func weak(f form) form {
	f.weak = true
	return f
}

func never(string) bool { return false }

var (
	vmwareLine    = pattern.New(`^VMware ESXi? (?:[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2} build-[0-9]+|[0-9]{1,2}\.[0-9]{1,2}(?:\.[0-9]{1,2}){0,2} (?:Update [0-9]+|GA|Patch [0-9]+))$`)
	vmwareBuild   = pattern.New(`^VMware ESXi? ([0-9.]+) build-([0-9]+)$`)
	unameLine     = pattern.New(`^VMkernel \S+ ([0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}) .*build-([0-9]+) `)
	moduleOptions = pattern.New(`^(\w+) enabled = ([01]) options = '([^']*)'$`)
	loadedHead    = pattern.New(`^\s*Name\s+Used\s+Size ?\(kb\)$`)
	loadedRow     = pattern.New(`^\s*([\w.-]+)\s+(\d+)\s+(\d+)$`)
	vibIDs        = pattern.New(`^(?:VIBs Installed: *)?[\w.-]+_(?:bootbank|locker)_[\w.~+-]+(?:, ?[\w.~+-]+_(?:bootbank|locker)_[\w.~+-]+)*,?$`)
	maintenance   = pattern.New(`^(?:Enabled|Disabled)$`)
	digitsOnly    = pattern.New(`^[0-9]{1,6}$`)
	shellError    = pattern.New(`^(?:-sh: |sh: |/bin/sh: )?[\w./ -]+: (?:not found|No such file or directory|Permission denied)$|^Unknown command or namespace|^Unable to find (?:a )?(?:setting|module)|^Invalid (?:option|data constraint)`)
)

func readVMware(b *build, line string, _ section) bool {
	if m := vmwareBuild().FindStringSubmatch(line); m != nil {
		return b.version(m[1], m[2])
	}
	b.esx() // VMware ESXi 8.0 Update 3: the line before has the version
	return true
}

func readUname(b *build, line string, _ section) bool {
	m := unameLine().FindStringSubmatch(line)
	return b.version(m[1], m[2])
}

func readMaintenance(b *build, line string, _ section) bool {
	b.esx().Maintenance = new(line == "Enabled")
	return true
}

// readModuleOptions reads nmlx5_core enabled = 1 options = 'max_vfs=4,4'.
func readModuleOptions(b *build, line string, _ section) bool {
	m := moduleOptions().FindStringSubmatch(line)
	mod := b.module(m[1])
	mod.Enabled = new(m[2] == "1")
	mod.Parameters = map[string]string{}
	for _, word := range strings.Fields(m[3]) {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return false
		}
		mod.Parameters[name] = value
	}
	b.listed(fabric.FactESXModules, false)
	return true
}

// readLoaded reads a row of vmkload_mod -l: a module that is loaded.
func readLoaded(b *build, line string, s section) bool {
	b.esx().Modules = some(b.e.Modules)
	if loadedHead().MatchString(line) {
		b.listed(fabric.FactESXModules, false)
		return true
	}
	m := loadedRow().FindStringSubmatch(line)
	b.module(m[1]).Loaded = new(true)
	b.listed(fabric.FactESXModules, isWhole(s.command) && (calls(s.command, "vmkload_mod", "-l") || calls(s.command, "vmkload_mod", "--list") || calls(s.command, "esxcfg-module", "-l")))
	return true
}

func readIDs(b *build, line string, _ section) bool {
	for _, id := range strings.Split(strings.TrimPrefix(line, "VIBs Installed:"), ",") {
		if v, ok := vibOf(id); ok {
			b.vib(v)
		}
	}
	b.listed(fabric.FactESXVIBs, false)
	return true
}

func readVectors(b *build, line string, _ section) bool {
	b.esx().Vectors = new(digits(line))
	return true
}

// readShellError keeps what the shell says of a command that it could not run.
func readShellError(b *build, line string, s section) bool {
	what := fabric.FactESX
	for _, c := range Commands() {
		if c.Shell == s.command && c.Gives != "" {
			what = c.Gives
		}
	}
	words, _ := base(s.command)
	b.missed(what, strings.Join(words[:min(len(words), 5)], " "), line)
	return true
}
