package esx

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// table is a list that esxcli prints with a head, a rule of dashes below it, and a row per entry. The rule says where columns
// begin. Where a text was copied without its spaces the shape of a row says it, as far as the cells leave no doubt.
type table struct {
	kind  string
	head  *pattern.Regexp
	row   *pattern.Regexp // a whole row, with a group for each field
	lone  bool            // a row is known without a head
	under []string        // words of the command behind which a row is known without a head
	more  *pattern.Regexp // what may stand below a row
}

func (t *table) form() form {
	return form{
		name: t.kind, ours: true, opens: t.opens(),
		begins: func(line string, at place) bool {
			if t.head.MatchString(line) {
				return true
			}
			return (t.lone || t.under != nil && at.calls(t.under...)) && t.row.MatchString(line)
		},
		goesOn: func(line string) bool {
			return t.row.MatchString(line) || isRule(line) || isElision(strings.TrimSpace(line)) || t.more != nil && t.more.MatchString(line)
		},
		read: func(b *build, s section) { t.read(b, s) },
	}
}

// opens are the head, and a row where one is known without it.
func (t *table) opens() []*pattern.Regexp {
	if t.lone || t.under != nil {
		return []*pattern.Regexp{t.head, t.row}
	}
	return []*pattern.Regexp{t.head}
}

// read adds the rows of a table.
func (t *table) read(b *build, s section) {
	k := kindOf(t.kind)
	var head, rule string
	elided, rows := false, 0
	for i, line := range s.lines {
		switch {
		case t.head.MatchString(line):
			head = line
		case isRule(line):
			rule = line
		case isElision(strings.TrimSpace(line)):
			elided = true
		default:
			r := positions(head, rule, line, k.keys)
			if r != nil && k.add(b, r, s) {
				rows++
				continue
			}
			if r = t.groups(line); r != nil && k.add(b, r, s) {
				rows++
				continue
			}
			if t.more == nil || !t.more.MatchString(line) {
				b.lost(s, i)
				elided = true
			}
		}
	}
	t.noteList(b, k, s, head != "" && !elided, rows)
}

// noteList notes whether a list is whole: the command says so, or what every host has is in it.
func (t *table) noteList(b *build, k kind, s section, head bool, rows int) {
	if k.gives == "" {
		return
	}
	whole := head && isWhole(s.command, k.pick...)
	if s.command == "" {
		whole = head && hasWhat(b, k.gives, rows)
	}
	b.listed(k.gives, whole)
	emptyList(b, k.gives)
}

// hasWhat reports whether a list whose command is unknown has what no host is without: the package esx-base, the module vmkernel,
// and of the settings more than somebody looks for at a time.
func hasWhat(b *build, list string, rows int) bool {
	const many = 40 // settings; ESX 6.5 has 100 and more
	e := b.esx()
	switch list {
	case vibsPath:
		return slices.ContainsFunc(e.VIBs, func(v vib) bool { return v.Name == "esx-base" })
	case modulesPath:
		return e.Module("vmkernel") != nil
	case settingsPath:
		return rows >= many
	}
	return true
}

// groups reads a row by its shape.
func (t *table) groups(line string) record {
	m := t.row.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	r := record{byShape: "true"}
	for i, name := range t.row.SubexpNames() {
		if name != "" {
			r[name] = strings.TrimSpace(m[i])
		}
	}
	return r
}

// positions reads a row by the rule of its table. Nil: there is none, or a word lies across two columns.
func positions(head, rule, line string, need []string) record {
	if head == "" || rule == "" || strings.ContainsAny(rule+head+line, "\t") {
		return nil
	}
	var starts []int
	for i := range rule {
		if rule[i] == '-' && (i == 0 || rule[i-1] != '-') {
			starts = append(starts, i)
		}
	}
	r := record{}
	for i, at := range starts {
		end := len(line)
		if i+1 < len(starts) {
			end = min(starts[i+1], len(line))
		}
		if at > 0 && at < len(line) && line[at-1] != ' ' && line[at] != ' ' {
			return nil
		}
		cell := ""
		if at < end {
			cell = strings.TrimSpace(line[at:end])
		}
		name := ""
		if at < len(head) {
			e := len(head)
			if i+1 < len(starts) {
				e = min(starts[i+1], len(head))
			}
			name = fieldName(strings.TrimSpace(head[at:e]))
		}
		r[name] = cell
	}
	if len(starts) > 0 && starts[0] > 0 && strings.TrimSpace(line[:min(starts[0], len(line))]) != "" {
		return nil // something stands before the first column
	}
	for _, key := range need {
		if _, ok := r[key]; !ok {
			return nil
		}
	}
	return r
}

const typeNames = `(?:(?i:bool|u?int(?:8|16|32|64)?|u?short|u?long|char|string|array of [\w*]+))`

// allTables is that list.
func allTables() []*table {
	address := `[0-9a-fA-F]{4,5}:[0-9a-fA-F]{2,3}:[0-9a-fA-F]{2}\.[0-7]`
	ex := pattern.MustCompile
	return []*table{
		{kind: "esxcli system settings kernel list", head: ex(`^\s*Name\s+Type\s+.*\bConfigured\s+Runtime\s+Default\b`), lone: true,
			row: ex(`^\s*(?P<name>[A-Za-z][\w.]*)\s+(?P<type>Bool|Int8|Int16|Int32|Int64|Uint8|Uint16|Uint32|Uint64|String)\s+(?P<configured>\S+)\s+(?P<runtime>\S+)\s+(?P<default>\S+)(?:\s+(?P<description>.*))?$`)},
		{kind: "esxcli software vib list", head: ex(`^\s*Name\s+Version\s+Vendor\s+Acceptance Level\s+Install Date`), lone: true,
			row: ex(`^\s*(?P<name>[\w.+-]+)\s+(?P<version>[\w.~+-]*\d[\w.~+-]*)\s+(?P<vendor>\S.*?)\s+(?P<acceptancelevel>VMware(?:Certified|Accepted)|PartnerSupported|CommunitySupported)\s+(?P<installdate>\d{4}-\d{2}-\d{2})(?:\s.*)?$`)},
		{kind: "esxcli system module list", head: ex(`^\s*Name\s+Is Loaded\s+Is Enabled`), under: []string{"esxcli", "module", "list"},
			row: ex(`^\s*(?P<name>[\w.-]+)\s+(?P<isloaded>true|false)\s+(?P<isenabled>true|false)$`)},
		{kind: "esxcli system module parameters list", head: ex(`^\s*Name\s+Type\s+Value\s+Description`), under: []string{"esxcli", "module", "parameters", "list"},
			row: ex(`^\s*(?P<name>\w+)\s+(?P<type>` + typeNames + `)(?:\s+(?P<description>.*))?$`), more: ex(`\S`)},
		{kind: "esxcli hardware pci pcipassthru list", head: ex(`^\s*Device ID\s+Enabled`), under: []string{"esxcli", "pcipassthru", "list"},
			row: ex(`^\s*(?P<deviceid>` + sbdf + `)\s+(?P<enabled>true|false)$`)},
		{kind: "esxcli network nic list", head: ex(`^\s*Name\s+PCI Device\s+Driver\s+(?:Admin Status\s+)?Link`), lone: true,
			row: ex(`^\s*(?P<name>vm[a-z]+\d+)\s+(?P<pcidevice>` + address + `)\s+(?P<driver>\w+)\s+(?:(?P<adminstatus>Up|Down)\s+)?(?P<linkstatus>Up|Down)\s+(?P<speed>\d+)\s+(?P<duplex>\w+)\s+(?P<macaddress>[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5})\s+(?P<mtu>\d+)(?:\s+(?P<description>.*))?$`)},
		{kind: "esxcli network sriovnic vf list", head: ex(`^\s*VF ID\s+Active\s+PCI Address`), under: []string{"esxcli", "sriovnic", "vf", "list"},
			row: ex(`^\s*(?P<vfid>\d+)\s+(?P<active>true|false)\s+(?P<pciaddress>[0-9a-fA-F:.]+)(?:\s+(?P<ownerworldid>\S+))?$`)},
		{kind: "esxcli rdma device list", head: ex(`^\s*Name\s+Driver\s+State\s+MTU\s+Speed\s+Paired Uplink`), lone: true,
			row: ex(`^\s*(?P<name>vmrdma\w+)\s+(?P<driver>\w+)\s+(?P<state>\w+)\s+(?P<mtu>\d+)\s+(?P<speed>[\d.]+ [GMK]bps|\S+)\s+(?P<paireduplink>vmnic\d+|-|N/A)(?:\s+(?P<description>.*))?$`)},
		{kind: "esxcli rdma device vmknic list", head: ex(`^\s*Device\s+Vmknic\s+NetStack`), under: []string{"esxcli", "rdma", "vmknic", "list"},
			row: ex(`^\s*(?P<device>vmrdma\w+)\s+(?P<vmknic>vmk\d+)(?:\s+(?P<netstack>\S+))?$`)},
		{kind: maxVFsTable, head: ex(`^\s*nic\s+slot\s+sbdf\s+MAX_VFS$`),
			row: ex(`^\s*(?P<nic>vmnic\d+)\s+(?P<slot>\S+)\s+(?P<sbdf>` + sbdf + `)\s+(?P<maxvfs>\d+)$`)},
	}
}
