package eos

import (
	"regexp"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// eosShow is where a text is in the output of a show command.
type eosShow struct {
	command string // as typed, in full words
	table   string // of which rows follow
	port    string
}

// showWords completes the abbreviations that people type.
var showWords = map[string]string{
	"sh": "show", "sho": "show", "run": "running-config", "int": "interfaces", "interface": "interfaces", "inter": "interfaces", "eth": "ethernet", "et": "ethernet", "stat": "status",
}

// showCommand returns a show command in full words.
func showCommand(c string) (string, bool) {
	f := strings.Fields(c)
	if len(f) < 2 || f[0] != "show" && f[0] != "sh" && f[0] != "sho" {
		return "", false
	}
	for i, w := range f {
		if full := showWords[strings.ToLower(w)]; full != "" {
			f[i] = full
		}
	}
	return strings.Join(f, " "), true
}

// headings begin tables.
var headings = []struct {
	table, form string
	line        func() *regexp.Regexp
}{
	{"ecn", "show qos interfaces ecn", pattern.Plain(`^Tx-Queue Threshold ECN Min`)},
	{"pfc", "show priority-flow-control", pattern.Plain(`^Port Enabled Priorities Active`)},
	{"pfc-status", "show priority-flow-control status", pattern.Plain(`^Port Status Priorities`)},
	{"status", "show interfaces status", pattern.Plain(`^Port Name Status Vlan Duplex Speed`)},
	{"cos-tc", "show qos maps", pattern.Plain(`^(?i:cos ?- ?tc map:)`)},
	{"dscp-tc", "show qos maps", pattern.Plain(`^(?i:dscp ?- ?tc map:)`)},
	{"tc-queue", "show qos maps", pattern.Plain(`^(?i:tc ?- ?(?:uc-)?tx-queue map:)`)},
	{"other", "show qos maps", pattern.Plain(`^(?i:[a-z]+ ?- ?[a-z-]+ ?(?:map|drop precedence map):)`)},
	{"queues", "show qos interfaces", pattern.Plain(`^Queue \(percent\)`)},
	{"queues", "show qos interfaces", pattern.Plain(`^Tx Bandwidth (?:Bandwidth |Shape )`)},
	{"port", "show qos interfaces", pattern.Plain(`^(?:Ethernet|Et|Port-Channel|Po)\d[\d/]*:$`)},
	{"port", "show interfaces", pattern.Plain(`^(?:Ethernet|Port-Channel)\d[\d/]* is (?:up|down|administratively down)`)},
	{"port", "show qos interfaces", pattern.Plain(`^Trust Mode: `)},
	{"legend", "", pattern.Plain(`^(?:Legend:|E: PFC Enabled|The hardware supports PFC|PFC receive processing|The PFC watchdog|Number of (?:Traffic|Transmit))`)},
}

var (
	rule    = pattern.Plain(`^[-= ]+$`)
	ecnRow  = pattern.Plain(`^(\d+) (\w+|-) (\d+|-) (\d+|-)(?: (\d+|-))?(?: .*)?$`)
	pfcRow  = pattern.Plain(`^((?:Ethernet|Et|Port-Channel|Po)[\d/]+) (Yes|No)(?: ([\d ,-]+?))? (Yes|No)(?: .*)?$`)
	flagRow = pattern.Plain(`^((?:Ethernet|Et|Port-Channel|Po)[\d/]+) ([EDAW](?: [EDAW-])*)(?: ([\d ,-]+?))?(?: (?:drop|errdisable|no-drop|-).*)?(?: DCBX.*)?$`)
	status  = pattern.Plain(`^((?:Et|Po|Ma)[\d/]+)(?: .*?)? (connected|notconnect|disabled|errdisabled|inactive|sub-intf-parent) (routed|trunk|in Po\d+|inactive|tap|tool|monitoring|dot1q|unassigned|\d+) \S+ (?:a-)?(\d+(?:\.\d+)?)([GM])\b`)
	status2 = pattern.Plain(`^((?:Et|Po|Ma)[\d/]+)(?: .*?)? (connected|notconnect|disabled|errdisabled|inactive)\b`)
	qRow    = pattern.Plain(`^(\d) (\d+|-) (.*?)(?: ?)(SP|RR)\S* (?:/ \S+ )?([LWDT-]+)$`)
	mtuLine = pattern.Plain(`^(?:IP|Ethernet) MTU (\d+) bytes`)
)

// showLine reads a line that a show command printed; false: it may be of a configuration.
func (r *reader) showLine(l switchtext.CLILine) bool {
	w := &r.show
	if isConfiguration(w.command) {
		return false
	}
	if r.heading(l) {
		return true
	}
	if w.table == "" && (w.command == "" || eosFirst(l.Command, "qos map")) { // a command is one, wherever it is printed
		return false
	}
	if w.command == "" && l.Indent == 0 && (eosGlobal(l.Command) || w.table != "legend" && w.table != "port" && !eosRow().MatchString(l.Command)) {
		*w = eosShow{} // a configuration that follows without a prompt
		return false
	}
	known := rule().MatchString(l.Command) || r.showRow(l) || w.table == "legend" || w.table == "other" ||
		w.table == "" && eosFirst(w.command, otherShows...) || strings.Contains(w.command, "counters") || strings.Contains(w.command, "summary") ||
		w.table == "port" && strings.HasPrefix(w.command, "show interfaces")
	if !known {
		r.unread(l)
	}
	return true
}

// otherShows are commands of which nothing has a bearing on RoCE.
var otherShows = []string{"show version", "show lldp", "show clock", "show inventory", "show hostname", "show ip", "show vlan", "show mac", "show logging", "show boot", "show dcbx", "show bgp", "show users"}

// isConfiguration reports whether a show command prints lines of a configuration.
func isConfiguration(command string) bool {
	return strings.HasPrefix(command, "show running-config") || strings.HasPrefix(command, "show startup-config") ||
		strings.HasPrefix(command, "show qos profile") && !strings.HasSuffix(command, "summary")
}

// heading reads the heading of a table.
func (r *reader) heading(l switchtext.CLILine) bool {
	w := &r.show
	for _, h := range headings {
		if h.line().MatchString(l.Command) {
			if w.command == "" && h.form != "" && (len(r.forms) == 0 || r.forms[len(r.forms)-1] != h.form) {
				r.forms = append(r.forms, h.form)
			}
			w.table = h.table
			if h.table == "port" {
				r.showPort(l)
			}
			r.stack = nil
			return true
		}
	}
	return false
}

// eosRow is how rows of tables begin: with a number, a port, a word with a colon, or a continued heading.
var eosRow = pattern.Plain(`^(?:\d|(?:Ethernet|Et|Port-Channel|Po|Ma)\d|[a-z0-9 -]+:|[- =]+$|Unit |Queue |RR |SP |% |- |ECN)`)

// showPort reads the line that names a port, or how it trusts.
func (r *reader) showPort(l switchtext.CLILine) {
	word, rest, _ := strings.Cut(l.Command, " ")
	if word != "Trust" {
		kind, n, ok := interfaces(strings.TrimSuffix(word, ":"))
		if ok && len(n) == 1 {
			r.show.port = kind + n[0]
		}
		if strings.HasPrefix(rest, "is administratively down") {
			name, at := r.show.port, l.Line
			r.later(name, at, func(p *portSaid) { first(&p.up, &fabric.Said[bool]{Is: false, At: at}) })
		}
		return
	}
	mode, _, _ := strings.Cut(strings.TrimPrefix(rest, "Mode: "), " ")
	is, ok := map[string]string{"DSCP": "dscp", "COS": "pcp", "UNTRUSTED": "none"}[strings.ToUpper(mode)]
	if ok {
		r.later(r.showedPort(), l.Line, func(p *portSaid) { p.shown.trust = &fabric.Said[string]{Is: is, At: l.Line} })
	}
}

// later does something to a port once all configurations are read.
func (r *reader) later(port string, at fabric.Line, f func(p *portSaid)) {
	if port == "" {
		r.said.unread = append(r.said.unread, at)
		return
	}
	r.shown = append(r.shown, func() { f(r.said.port(port, at)) })
}

// showedPort is the port that the output, or the command before it, names.
func (r *reader) showedPort() string {
	if r.show.port != "" {
		return r.show.port
	}
	if m := commandPort().FindString(r.show.command); m != "" {
		if kind, n, ok := interfaces(m); ok && len(n) == 1 {
			return kind + n[0]
		}
	}
	return ""
}

var commandPort = pattern.Plain(`(?i)\b(?:ethernet|et|port-channel|po) ?\d[\d/]*`)

// showRow reads a row of the table that the output is in.
func (r *reader) showRow(l switchtext.CLILine) bool {
	switch r.show.table {
	case "ecn":
		return eosFirst(l.Command, "Unit") || r.showECN(l)
	case "pfc", "pfc-status":
		return r.showPFC(l)
	case "status":
		return r.showStatus(l)
	case "cos-tc", "dscp-tc", "tc-queue":
		return r.showMap(l)
	case "queues":
		return eosFirst(l.Command, "Queue", "ECN/WRED:", "RR", "SP", "-", "%", "Legend") || r.showQueue(l)
	case "port":
		if m := mtuLine().FindStringSubmatch(l.Command); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				r.later(r.showedPort(), l.Line, func(p *portSaid) { first(&p.mtu, &fabric.Said[int]{Is: n, At: l.Line}) })
			}
			return true
		}
		return eosFirst(l.Command, "Default", "Port", "Tx", "Queue")
	}
	return false
}

func (r *reader) showECN(l switchtext.CLILine) bool {
	m := ecnRow().FindStringSubmatch(l.Command)
	if m == nil {
		return false
	}
	q, ok := eosNumber(m[1], 7)
	if !ok {
		return true // a queue of multicast packets
	}
	marks := &fabric.QueueProfile{ECN: fabric.Said[bool]{At: l.Line}}
	if m[2] != "-" {
		low, ok := threshold(m[3], m[2], l.Line)
		high, ok2 := threshold(m[4], m[2], l.Line)
		if !ok || !ok2 {
			return false
		}
		marks.ECN.Is, marks.Min, marks.Max = true, low, high
		if n, err := strconv.Atoi(m[5]); err == nil && n <= 100 {
			marks.Percent = &fabric.Said[int]{Is: n, At: l.Line}
		}
	}
	r.later(r.showedPort(), l.Line, func(p *portSaid) { p.shown.queue(q).Marks = marks })
	return true
}

func (w *eosShown) queue(n int) *fabric.QueueConfig {
	if w.queues[n] == nil {
		w.queues[n] = &fabric.QueueConfig{}
	}
	return w.queues[n]
}

func (r *reader) showPFC(l switchtext.CLILine) bool {
	m := pfcRow().FindStringSubmatch(l.Command)
	var on, watched bool
	if m != nil {
		on = m[2] == "Yes"
	} else if m = flagRow().FindStringSubmatch(l.Command); m != nil {
		on, watched = strings.Contains(m[2], "E"), strings.Contains(m[2], "W")
	}
	if m == nil {
		return false
	}
	kind, n, ok := interfaces(m[1])
	list, listed := eosNumbers(m[3], 7)
	if !ok || len(n) != 1 || on && !listed && strings.Trim(m[3], "- ") != "" {
		return false
	}
	if !on || list == nil {
		list = []int{}
	}
	said := watched || r.show.table == "pfc-status"
	r.later(kind+n[0], l.Line, func(p *portSaid) {
		p.shown.pfc = &fabric.Said[[]int]{Is: list, At: l.Line}
		if said {
			p.shown.wd = &fabric.WatchdogConfig{On: &fabric.Said[bool]{Is: watched, At: l.Line}}
		}
	})
	return true
}

func (r *reader) showStatus(l switchtext.CLILine) bool {
	m := status().FindStringSubmatch(l.Command)
	if m == nil {
		return status2().MatchString(l.Command)
	}
	kind, n, ok := interfaces(m[1])
	if !ok || kind == "Management" {
		return ok
	}
	rate, err := strconv.ParseFloat(m[4], 64)
	if m[5] == "M" {
		rate /= 1000
	}
	r.later(kind+n[0], l.Line, func(p *portSaid) {
		first(&p.up, &fabric.Said[bool]{Is: m[2] != "disabled", At: l.Line})
		if err == nil && m[2] == "connected" {
			first(&p.rate, &fabric.Said[float64]{Is: rate, At: l.Line})
		}
		if id, err := strconv.Atoi(m[3]); err == nil || m[3] == "routed" {
			p.shown.vlan = &fabric.Said[int]{Is: id, At: l.Line}
		}
	})
	return true
}

// showMap reads a row of a map: `cos: 0 1 2`, `tc: 1 0 2` and, for DSCP, `1 : 1 1 1` with the tens before the colon.
func (r *reader) showMap(l switchtext.CLILine) bool {
	head, row, ok := strings.Cut(l.Command, ":")
	head = strings.TrimSpace(head)
	if !ok {
		return false
	}
	if head == "d1" || r.show.table != "tc-queue" && head == "cos" || r.show.table == "tc-queue" && head == "tc" {
		return true // the numbers of the columns
	}
	to, ok := eosNumbers(row, 7)
	if !ok {
		return false
	}
	var places []*fabric.Said[int]
	from := 0
	s := r.said
	switch {
	case r.show.table == "cos-tc" && head == "tc":
		places = s.cosTC[:]
	case r.show.table == "tc-queue" && strings.Contains(head, "queue"):
		places = s.tcQueue[:]
	case r.show.table == "dscp-tc" && isNumber(head):
		tens, _ := eosNumber(head, 6)
		from, places = 10*tens, s.dscpTC[:]
	default:
		return false
	}
	if from+len(to) > len(places) {
		return false
	}
	r.shown = append(r.shown, func() {
		for i, n := range to {
			first(&places[from+i], &fabric.Said[int]{Is: n, At: l.Line})
		}
	})
	return true
}

// showQueue reads a queue of a port: share, strict or round robin, ECN.
func (r *reader) showQueue(l switchtext.CLILine) bool {
	m := qRow().FindStringSubmatch(l.Command)
	if m == nil {
		return false
	}
	q, ok := eosNumber(m[1], 7)
	if !ok {
		return false
	}
	r.later(r.showedPort(), l.Line, func(p *portSaid) {
		c := p.shown.queue(q)
		c.Algorithm = algorithm(&fabric.Said[bool]{Is: m[4] == "SP", At: l.Line})
		if n, err := strconv.Atoi(m[2]); err == nil {
			c.Weight = &fabric.Said[int]{Is: n, At: l.Line}
		}
		if m[5] == "D" && c.Marks == nil {
			c.Marks = &fabric.QueueProfile{ECN: fabric.Said[bool]{At: l.Line}}
		}
	})
	return true
}
