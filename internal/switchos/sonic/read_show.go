package sonic

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// show is a line of what commands printed.
type show struct {
	at  fabric.Line
	raw string
}

// sonicShow is a command that prints a table with a row for each port (sonic-utilities: scripts/intfutil, pfc/main.py,
// pfcwd/main.py, scripts/pfcstat; Python's tabulate aligns the columns).
type sonicShow struct {
	command string
	sign    func() *regexp.Regexp // its header
	row     func(r *reader, at fabric.Line, cell map[string]string)
}

var sonicShows = []sonicShow{
	{"show interfaces status", pattern.Plain(`(?m)^\s*Interface\s+Lanes\s+Speed\s+MTU\s`), showInterface},
	{"show pfc priority", pattern.Plain(`(?m)^\s*Interface\s+Lossless priorities\s*$`), showPriority},
	{"show pfc asymmetric", pattern.Plain(`(?m)^\s*Interface\s+Asymmetric\s*$`), showAsymmetric},
	{"show pfcwd config", pattern.Plain(`(?m)^\s*PORT\s+ACTION\s+DETECTION TIME\s+RESTORATION TIME`), showWatchdog},
	{"show pfc counters", pattern.Plain(`(?m)^\s*Port [RT]x\s+PFC0\s+PFC1\s`), nil},
	{"show interfaces fec status", pattern.Plain(`(?m)^\s*Interface\s+FEC Oper\s+FEC Admin\s*$`), showFEC},
	{"show vlan config", pattern.Plain(`(?m)^\s*Name\s+VID\s+Member\s+Mode\s*$`), showVLAN},
	{"show ip interfaces", pattern.Plain(`(?m)^\s*Interface\s+(?:Master\s+)?IPv4 [Aa]ddress/[Mm]ask\s+(?:Master\s+)?Admin/Oper\s`), showAddress},
	{"show interfaces description", pattern.Plain(`(?m)^\s*Interface\s+Oper\s+Admin\s+Alias\s+Description\s*$`), nil},
	{"show queue watermark", pattern.Plain(`(?m)^\s*Port\s+UC0\s+UC1\s`), nil},
}

// sonicProfile begins a profile of show ecn (scripts/ecnconfig), whose documentation prints the name in bold, and a profile
// or a pool of show mmu and show buffer configuration (scripts/mmuconfig).
var (
	sonicProfile = pattern.Plain(`^\s*(Profile|Pool): +\**([\w.@-]+?)\**\s*$`)
	block        = pattern.Plain(`(?m)^\s*(?:Profile|Pool): +\S+[ \t\r]*\n\s*-{2,}\s+-+\s*$`)
	trafficBlock = pattern.Plain(`^\s*Lossless traffic pattern:\s*$`)
)

var (
	dashes     = pattern.Plain(`^\s*-{2,}(?:\s+-+)*\s*$`)
	dashRun    = pattern.Plain(`-+`)
	gap        = pattern.Plain(`\s{2,}`)
	pollEvery  = pattern.Plain(`^Changed polling interval to (\d+)ms`)
	bigRed     = pattern.Plain(`^BIG_RED_SWITCH status is (\w+)`)
	showName   = pattern.Plain(`^[\w./:-]*$`) // of a port; empty where a row goes on
	plainShell = pattern.Plain(`^[$#]\s+(?:sudo\s+)?[a-z]`)
	typed      = pattern.Plain(`^\S*[$#>]\s*(?:sudo\s+)?(?:config\s+(?:interface|qos|ecn|pfcwd|mmu|buffer|vlan|portchannel|load|reload|apply-patch|replace)\b|` +
		`(?:redis-cli|sonic-db-cli)\s.*\b(?i:hset|hmset|hdel|del)\b|ecnconfig\s+-[pq]|pfcwd\s+(?:start|stop)|pfc\s+config|mmuconfig\s+-p)`) // a setting, which is not read from what was typed
	showNoise = pattern.Plain(`^(?:(?:sudo )?(?:show [a-z -]+|ecnconfig -l)|Namespace \w*|Running command: .*|Command: .*|Last cached time was .*|\*{3,}.*)$`)
)

// showState is where in the output of show commands the reader is.
type showState struct {
	header  string
	at      fabric.Line // of a header that has no rows yet
	spans   [][2]int    // of the columns
	names   []string
	of      *sonicShow
	profile *sonicRow // or pool, until its closing dashes
	pool    bool
	inside  bool // of a profile's dashes
}

// shows reads what commands printed.
func (r *reader) shows(lines []show) {
	var s showState
	for _, l := range lines {
		raw := strings.TrimRight(switchtext.ANSI().ReplaceAllString(l.raw, ""), "\r\n \t")
		text := strings.TrimSpace(raw)
		switch {
		case text == "":
			r.headless(&s)
			s = showState{profile: s.profile, pool: s.pool, inside: s.inside}
		case dashes().MatchString(raw):
			r.rule(&s, raw)
		case s.inside:
			r.profileField(s.profile, l.at, text)
		case s.spans != nil && !begins(raw):
			r.showRow(&s, l.at, raw)
		case sonicProfile().MatchString(raw):
			m := sonicProfile().FindStringSubmatch(raw)
			s = showState{profile: &sonicRow{key: m[2], at: l.at}, pool: m[1] == "Pool"}
		case trafficBlock().MatchString(raw):
			s = showState{profile: &sonicRow{at: l.at}}
		default:
			s.spans = nil
			r.showLine(&s, l.at, text)
		}
	}
	r.headless(&s)
	if s.profile != nil {
		r.problem(fabric.TextCut, "", s.profile.at, "the output ends inside of a profile", "nothing of the profile is read")
	}
}

// begins reports whether a line begins the output of a command.
func begins(raw string) bool {
	return sonicProfile().MatchString(raw) || trafficBlock().MatchString(raw) ||
		slices.ContainsFunc(sonicShows, func(s sonicShow) bool { return s.sign().MatchString(raw + "\n") })
}

// headless tells a header without rows.
func (r *reader) headless(s *showState) {
	if s.at.Number > 0 && s.spans == nil {
		r.problem(fabric.TextCut, "", s.at, "the output ends before its rows", "")
	}
}

// rule is a line of dashes: it begins and ends a profile, and stands below the header of a table.
func (r *reader) rule(s *showState, raw string) {
	if s.profile != nil {
		if s.inside {
			r.block(s)
			*s = showState{}
			return
		}
		s.inside = true
		return
	}
	for i := range sonicShows {
		if sonicShows[i].sign().MatchString(s.header) {
			s.of = &sonicShows[i]
			r.form(s.of.command)
		}
	}
	s.spans, s.names = nil, gap().Split(strings.TrimSpace(s.header), -1)
	for _, m := range dashRun().FindAllStringIndex(raw, -1) {
		s.spans = append(s.spans, [2]int{m[0], m[1]})
	}
}

// block takes a profile or a pool: those of buffers say how large they are.
func (r *reader) block(s *showState) {
	switch {
	case s.profile.key == "":
		return
	case s.pool:
		r.form("show buffer configuration")
		r.merge("BUFFER_POOL", s.profile)
	case s.profile.get("pool") != nil || s.profile.get("size") != nil:
		r.form("show buffer configuration")
		r.merge("BUFFER_PROFILE", s.profile)
	default:
		r.form("show ecn")
		r.merge("WRED_PROFILE", s.profile)
	}
}

func (r *reader) profileField(row *sonicRow, at fabric.Line, text string) {
	if f := strings.Fields(text); len(f) == 2 {
		row.fields = append(row.fields, sonicField{f[0], f[1], at})
		return
	}
	r.c.Unread = append(r.c.Unread, at)
}

// showRow reads a row of a table by its columns, which are as wide as their dashes.
func (r *reader) showRow(s *showState, at fabric.Line, raw string) {
	if prompted(raw) {
		*s = showState{}
		return
	}
	cells := gap().Split(strings.TrimSpace(raw), -1)
	if len(cells) != len(s.spans) {
		cells = cells[:0]
		for _, span := range s.spans {
			cells = append(cells, strings.TrimSpace(raw[min(span[0], len(raw)):min(span[1], len(raw))]))
		}
	}
	if s.of == nil || len(s.names) != len(s.spans) || !showName().MatchString(cells[0]) {
		r.c.Unread = append(r.c.Unread, at)
		return
	}
	if s.of.row == nil {
		return
	}
	cell := make(map[string]string, len(cells))
	for i, name := range s.names {
		cell[name] = cells[i]
	}
	s.of.row(r, at, cell)
}

func prompted(text string) bool {
	text = strings.TrimSpace(text)
	return switchtext.Prompt().MatchString(text) || plainShell().MatchString(text)
}

// showLine reads a line outside of tables.
func (r *reader) showLine(s *showState, at fabric.Line, text string) {
	s.header = strings.ReplaceAll(text, "\t", "  ")
	switch m := pollEvery().FindStringSubmatch(text); {
	case m != nil:
		r.merge("PFC_WD", openRow("GLOBAL", at, "POLL_INTERVAL", m[1]))
		return
	case bigRed().MatchString(text):
		r.merge("PFC_WD", openRow("GLOBAL", at, "BIG_RED_SWITCH", bigRed().FindStringSubmatch(text)[1]))
		return
	case typed().MatchString(text):
		r.c.Unread = append(r.c.Unread, at)
		return
	case prompted(text) || text == "$" || text == "#" || showNoise().MatchString(text):
		return
	}
	if begins(text) {
		s.at = at
		return
	}
	r.c.Unread = append(r.c.Unread, at)
}

// openRow is a row of which a command has printed some fields. N/A stands for a field that is not set.
func openRow(key string, at fabric.Line, fields ...string) *sonicRow {
	row := &sonicRow{key: key, at: at}
	for i := 0; i+1 < len(fields); i += 2 {
		if v := fields[i+1]; v != "" && v != "N/A" {
			row.fields = append(row.fields, sonicField{fields[i], v, at})
		}
	}
	return row
}

func showInterface(r *reader, at fabric.Line, cell map[string]string) {
	name := cell["Interface"]
	if !physical(name) {
		return
	}
	row := openRow(name, at, "speed", megabits(cell["Speed"]), "mtu", cell["MTU"], "fec", cell["FEC"], "admin_status", cell["Admin"],
		"pfc_asym", cell["Asym PFC"])
	r.merge("PORT", row)
	if cell["Vlan"] == "routed" {
		r.routed[name] = at
	}
}

// megabits turns 100G into 100000; a speed of another form is unknown.
func megabits(speed string) string {
	factor := 1.0
	switch {
	case strings.HasSuffix(speed, "G"):
		factor = 1000
	case !strings.HasSuffix(speed, "M"):
		return ""
	}
	v, err := strconv.ParseFloat(speed[:len(speed)-1], 64)
	if err != nil || !(v > 0 && v < 1e6) {
		return ""
	}
	return strconv.FormatFloat(v*factor, 'f', -1, 64)
}

func showPriority(r *reader, at fabric.Line, cell map[string]string) {
	if physical(cell["Interface"]) {
		row := openRow(cell["Interface"], at, "pfc_enable", cell["Lossless priorities"])
		if len(row.fields) == 0 { // N/A: pfc_enable is not set, so that no priority has PFC
			row.fields = []sonicField{{"pfc_enable", "", at}}
		}
		r.merge("PORT_QOS_MAP", row)
	}
}

func showAsymmetric(r *reader, at fabric.Line, cell map[string]string) {
	if physical(cell["Interface"]) {
		r.merge("PORT", openRow(cell["Interface"], at, "pfc_asym", cell["Asymmetric"]))
	}
}

func showFEC(r *reader, at fabric.Line, cell map[string]string) {
	if physical(cell["Interface"]) {
		r.merge("PORT", openRow(cell["Interface"], at, "fec", cell["FEC Admin"]))
	}
}

func showWatchdog(r *reader, at fabric.Line, cell map[string]string) {
	row := openRow(cell["PORT"], at, "action", cell["ACTION"], "detection_time", cell["DETECTION TIME"])
	if v := cell["RESTORATION TIME"]; v != "infinite" {
		row.fields = append(row.fields, openRow("", at, "restoration_time", v).fields...)
	}
	r.merge("PFC_WD", row)
}

func showVLAN(r *reader, at fabric.Line, cell map[string]string) {
	r.merge("VLAN", openRow(cell["Name"], at, "vlanid", cell["VID"]))
	if cell["Member"] != "" {
		r.merge("VLAN_MEMBER", openRow(cell["Name"]+"|"+cell["Member"], at, "tagging_mode", cell["Mode"]))
	}
}

// showAddress reads an interface's first address: those below it have no name beside them.
func showAddress(r *reader, at fabric.Line, cell map[string]string) {
	address := cell["IPv4 address/mask"]
	if name := cell["Interface"]; address != "" && address != "N/A" {
		switch {
		case physical(name):
			r.merge("INTERFACE", openRow(name+"|"+address, at))
		case strings.HasPrefix(name, "Vlan"):
			r.merge("VLAN_INTERFACE", openRow(name+"|"+address, at))
		}
	}
}
