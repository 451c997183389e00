package esx

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// mlxconfig prints settings in one to three columns: with -e the default, the current value and that of the next boot; without it
// the next boot alone; versions before 4.15 call the column Current; a set shows the next boot and what it becomes.
var (
	configHead    = pattern.New(`^Configurations:\s*(.*)$`)
	configDevice  = pattern.New(`^(?:Device|PCI [Dd]evice):\s*(\S+)$`)
	configType    = pattern.New(`^Device type:\s*(\S+)$`)
	configSetting = pattern.New(`^\*?\s*(?:RO\s+|\(RO\)\s+)?\*?\s*([A-Z][A-Z0-9_]{2,60}(?:\[[0-9.]+\])?)\s+(?:\(RO\)\s+)?(\S.*)$`)
	configAlone   = pattern.New(`^\*?\s*([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\s+\w+\(-?[0-9]+\)(?:\s+\w+\(-?[0-9]+\)){0,2}$`)
	configMore    = pattern.New(`^(?:Name|Description|Device #[0-9]+|Device type|Device|PCI [Dd]evice|Configurations)\s*:|^The '\*' |^Apply new Configuration|^Applying\.\.\.|^-[IEW]- |^\(y/n\)|^parameters? with values`)
)

func configForm() form {
	is := func(line string) bool {
		text := strings.TrimSpace(line)
		return configMore().MatchString(text) || isRule(text) || isElision(text)
	}
	return form{
		name: "mlxconfig",
		begins: func(line string, at place) bool {
			text := strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(text, "Device #") && strings.HasSuffix(text, ":"), configAlone().MatchString(text):
				return true
			case at.calls("mlxconfig"), at.calls("mstconfig"):
				return configMore().MatchString(text) || configSetting().MatchString(text)
			}
			return false
		},
		goesOn: func(line string) bool {
			return is(line) || configSetting().MatchString(strings.TrimSpace(line))
		},
		read: readConfig,
	}
}

// configText is what the lines of a section say.
type configText struct {
	b       *build
	s       section
	at      int // in NICConfigs; -1: none yet
	columns []string
	changed []string // settings of a set
	applied bool
}

func readConfig(b *build, s section) {
	c := &configText{b: b, s: s, at: -1}
	for i, line := range s.lines {
		c.line(i, strings.TrimSpace(line))
	}
	c.finish()
}

func (c *configText) finish() {
	if c.at < 0 || !c.applied {
		return
	}
	// applied: what the column New says is what the next boot has
	for _, change := range c.changed {
		name, value, _ := strings.Cut(change, "=")
		v := c.b.e.NICConfigs[c.at].Settings[name]
		v.Next = value
		c.b.e.NICConfigs[c.at].Settings[name] = v
	}
}

func (c *configText) line(i int, text string) {
	if m := configHead().FindStringSubmatch(text); m != nil {
		c.columns = columnsOf(m[1])
		return
	}
	switch {
	case isRule(text), isElision(text):
		return
	case strings.HasPrefix(text, "Device #"):
		c.finish()
		c.at, c.changed, c.applied, c.columns = -1, nil, false, nil
		return
	case strings.HasPrefix(text, "-E-"):
		c.b.missed(fabric.FactESXNICConfigs, "mlxconfig", text)
		c.b.esx()
		return
	case strings.HasPrefix(text, "-I-"):
		if strings.Contains(strings.ToLower(text), "reboot") || strings.Contains(text, "power cycle") || strings.Contains(text, "reset") {
			c.b.reboot("mlxconfig", text)
		}
		return
	case strings.HasPrefix(text, "Applying..."):
		c.applied = strings.Contains(text, "Done")
		return
	}
	if m := configDevice().FindStringSubmatch(text); m != nil {
		c.b.e.NICConfigs[c.config()].Device = mstBase(m[1])
		return
	}
	if m := configType().FindStringSubmatch(text); m != nil {
		c.b.e.NICConfigs[c.config()].Type = m[1]
		return
	}
	if configMore().MatchString(text) {
		return
	}
	if m := configSetting().FindStringSubmatch(text); m == nil || !c.setting(m[1], m[2]) {
		c.b.lost(c.s, i)
	}
}

// config is the entry that lines go to.
func (c *configText) config() int {
	if c.at >= 0 {
		return c.at
	}
	e := c.b.esx()
	e.NICConfigs = append(e.NICConfigs, fabric.NICConfig{Settings: map[string]fabric.NICStored{}})
	c.at = len(e.NICConfigs) - 1
	if device := option(c.s.command, "-d", "dev"); device != "" && !strings.ContainsAny(device, "$*{") {
		e.NICConfigs[c.at].Device = mstBase(device)
	}
	c.b.listed(fabric.FactESXNICConfigs, false) // whether all NICs were asked, only the list of NICs says
	return c.at
}

func columnsOf(head string) []string {
	var out []string
	rest := strings.Join(strings.Fields(head), " ")
	for rest != "" {
		name := ""
		for _, n := range []string{"Next Boot", "Next boot", "Default", "Current", "New"} {
			if strings.HasPrefix(rest, n) {
				name = n
			}
		}
		if name == "" {
			return nil
		}
		out = append(out, strings.ToLower(name))
		rest = strings.TrimSpace(strings.TrimPrefix(rest, name))
	}
	return out
}

// setting keeps the values of a setting. Without a head one value is of an unknown column: a plain query prints that of the next
// boot, and three are those of -e.
func (c *configText) setting(name, values string) bool {
	words := strings.Fields(values)
	columns := c.columns
	if columns == nil {
		switch len(words) {
		case 1:
			columns = []string{"next boot"}
		case 3:
			columns = []string{"default", "current", "next boot"}
		default:
			return false
		}
	}
	if len(words) != len(columns) {
		if len(columns) != 1 {
			return false
		}
		words = []string{strings.Join(words, " ")}
	}
	var v fabric.NICStored
	for i, column := range columns {
		switch column {
		case "default":
			v.Default = words[i]
		case "current":
			v.Current = words[i]
		case "next boot":
			v.Next = words[i]
		case "new":
			c.changed = append(c.changed, name+"="+words[i])
		}
	}
	at := c.config()
	settings := c.b.e.NICConfigs[at].Settings
	if len(settings) < maxEntries {
		settings[name] = v
	}
	return true
}

// flint query.
var (
	flintHead = pattern.New(`^Image type:\s+\S`)
	flintLine = pattern.New(`^(?:Image type|FW Version(?:\(Running\))?|FW Release Date|Product Version|Rom Info|Description|Base GUID|Base MAC|Image VSD|Device VSD|PSID|Orig PSID|Security Attributes|Security Ver|GUID Description|Part Number|MIC Version|Security version|Encryption|Life cycle|Secure boot fused|EFUSE Security Ver|Image Security Ver|Running FW Version)\s*:|^type=\w+ version=`)
)

func flintForm() form {
	return form{name: "flint", opens: []*pattern.Regexp{flintHead()}, begins: func(line string, _ place) bool { return flintHead().MatchString(strings.TrimSpace(line)) },
		goesOn: func(line string) bool { return flintLine().MatchString(strings.TrimSpace(line)) }, read: readFlint}
}

func readFlint(b *build, s section) {
	f := fabric.NICFirmware{Device: mstBase(option(s.command, "-d", "device"))}
	for _, line := range s.lines {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "FW Version":
			f.Version = value
		case "FW Release Date":
			f.Released = value
		case "PSID":
			f.PSID = value
		case "Orig PSID":
			f.OriginalPSID = value
		}
	}
	e := b.esx()
	if len(e.Firmware) < maxEntries && !slices.Contains(e.Firmware, f) {
		e.Firmware = append(e.Firmware, f)
	}
}
