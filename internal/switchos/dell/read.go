package dell

import (
	"regexp"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// strong are lines that only this CLI and its show commands have.
var strong = pattern.Plain(`(?m)^[ \t]*(?:[\w.-]*(?:\([^)\n]*\))?[#$>][ \t]*)?(?:no )?(?:` +
	`qos (?:map (?:dscp-tc|dot1p-tc|tc-queue|tc-pg|tc-dscp|tc-dot1p|pfc-priority-[a-z]+)|wred-policy|scheduler-policy) \S` +
	`|qos-map (?:tc-queue|tc-pg|tc-dscp|tc-dot1p|pfc-priority-[a-z]+) \S` +
	`|queue \d+ wred-policy \S|standalone-link-training\s*$|unreliable-los |interface breakout port |interface-naming standard` +
	`|priority-flow-control (?:asymmetric|watchdog (?:on|off|action|detect-time|restore-time|polling-interval|counter-poll))` +
	`|buffer (?:init|pool ingress_\w+|profile \S+ \w+gress_\w+) ?|roce (?:enable|disable)` +
	`|(?:DSCP-TC|DOT1P-TC|TC-[A-Za-z0-9-]+|PFC-[Pp][A-Za-z-]+)-MAP: *\S|green-(?:min|max)-threshold +:|ecn +: +ecn_|[Ss]cheduler [Pp]olicy: *\S)` +
	`|^\S+\(conf(?:ig)?-(?:(?:s-)?if-(?:Eth|Vlan|PortChannel)|dscp-tc|dot1p-tc|tc-|pfc-priority|sched|wred-|router-bgp)`)

// weak are lines that others may have too: two of them make a text of this CLI.
var weak = []func() *regexp.Regexp{
	pattern.Plain(`(?m)^[ \t]*(?:\S+[#$>][ \t]*)?interface (?:range )?Eth ?\d+/\d+`),
	pattern.Plain(`(?m)^[ \t]*(?:\S+[#$>][ \t]*)?fec (?:RS|FC)\s*$`),
	pattern.Plain(`(?m)^[ \t]*(?:\S+[#$>][ \t]*)?speed \d{4,6}\s*$`),
	pattern.Plain(`(?m)^[ \t]*(?:\S+[#$>][ \t]*)?switchport (?:access|trunk allowed) Vlan \d`),
	pattern.Plain(`(?m)^[ \t]*(?:\S+[#$>][ \t]*)?priority-flow-control priority \d(?:[,-]\d)*\s*$`),
	pattern.Plain(`(?m)^[ \t]*(?:\S+[#$>][ \t]*)?qos-map (?:dscp-tc|dot1p-tc) \S+\s*$`),
	pattern.Plain(`(?m)^[ \t]*(?:\S+[#$>][ \t]*)?cable-length \d+m\s*$`),
	pattern.Plain(`(?m)^[ \t]*(?:\S+[#$>][ \t]*)?ip anycast-address `),
}

// others are lines of the Dell CLI before this one, which shares words with it.
var others = pattern.Plain(`(?m)^\s*(?:priority-flow-control mode (?:on|off)|ets mode |trust-map |class-map type |interface ethernet ?\d+/\d+/\d+)`)

// Recognizes reports whether a text is of sonic-cli.
func (OS) Recognizes(text []byte) bool {
	text = switchtext.ANSI().ReplaceAll(text, nil)
	if strong().Match(text) {
		return true
	}
	if others().Match(text) {
		return false
	}
	n := 0
	for _, sign := range weak {
		if sign().Match(text) {
			n++
		}
	}
	return n >= 2
}

// shows are the commands of sonic-cli that tell most. The others are what the running configuration says in other words.
var shows = []string{
	"show running-configuration | no-more", "show qos map dscp-tc", "show qos map dot1p-tc", "show qos map tc-queue", "show qos map tc-pg",
	"show qos map pfc-priority-queue", "show qos map pfc-priority-pg", "show qos wred-policy", "show qos scheduler-policy",
}

// Shows are shows twice: who logs in as admin is in a shell of Linux, which starts sonic-cli for one command by -c; others are
// in sonic-cli itself. Each refuses the form of the other.
func (OS) Shows() []string {
	var all []string
	for _, command := range shows {
		command, _, _ = strings.Cut(command, " |")
		all = append(all, `sonic-cli -c "`+command+` | no-more"`)
	}
	return append(all, shows...)
}

// Read reads all texts of one switch.
func (OS) Read(name string, texts []switchtext.Text) *fabric.SwitchConfig {
	r := &reader{
		out:   &fabric.SwitchConfig{Name: name, OS: "dell-sonic"},
		maps:  make(map[dellName]*dellMap),
		wreds: make(map[string]*wred), scheds: make(map[string]*dellSched),
		ports: make(map[string]*dellPort), vlans: make(map[int]int),
		sharedTold: make(map[dellName]bool), groups: make(map[string]uint32), peers: make(map[string]int), breakouts: make(map[string]fabric.Said[int]),
	}
	for _, t := range texts {
		r.text(t)
	}
	r.finish()
	return r.out
}

// reader gathers what the texts say; finish makes the model of it.
type reader struct {
	out       *fabric.SwitchConfig
	maps      map[dellName]*dellMap
	mapOrder  []*dellMap
	wreds     map[string]*wred
	wredOrder []*wred
	scheds    map[string]*dellSched
	schOrder  []*dellSched
	ports     map[string]*dellPort
	portOrder []*dellPort
	vlans     map[int]int                 // index in out.VLANs
	breakouts map[string]fabric.Said[int] // ports of a cage such as 1/1
	groups    map[string]uint32           // AS number of a BGP peer group
	peers     map[string]int              // index in out.BGP.Neighbours
	inherits  []inherit

	sharedTold map[dellName]bool

	whole, qos bool // some text is whole; some text configures QoS
	anyConfig  bool // some text has configuration
	lossless   bool // buffers were made lossless
	place      place
	form       []string
	full       bool // the text is what the switch prints of its configuration, so that a port's block is all of it
	shown      bool // something was read that is output of a show command
	textWhole  bool
	signs      [4]bool // of a whole configuration: its hostname, interface-naming, interface Management, line vty
	configured bool    // something was read that is configuration
}

// text reads one text from its beginning.
func (r *reader) text(t switchtext.Text) {
	lines := switchtext.CLILines(t)
	r.place, r.form, r.full, r.shown, r.textWhole, r.configured = place{}, nil, false, false, false, false
	r.signs = [4]bool{}
	unread := len(r.out.Unread)
	for i, l := range lines {
		r.line(l)
		// A file ends with the end of a line: a last one that nobody understands and that has none is half a line.
		if i == len(lines)-1 && len(r.out.Unread) > unread && r.out.Unread[len(r.out.Unread)-1] == l.Line && !strings.HasSuffix(string(t.Bytes), "\n") {
			r.out.Unread = r.out.Unread[:len(r.out.Unread)-1]
			r.problem(fabric.TextCut, "", l.Line, "the text ends in the middle of a line", "what followed is unknown")
		}
	}
	signs := 0
	for _, seen := range r.signs {
		if seen {
			signs++
		}
	}
	r.textWhole = r.textWhole || signs >= 2 // an excerpt may have one of them
	form := "configuration"
	if len(r.form) > 0 && (!r.configured || r.full) {
		form = strings.Join(r.form, ", ")
	} else if r.shown && !r.configured {
		form = "show output"
	}
	r.whole, r.anyConfig = r.whole || r.textWhole, r.anyConfig || r.configured
	r.out.Texts = append(r.out.Texts, fabric.SwitchText{File: t.File, Form: form, Lines: len(lines), Whole: r.textWhole})
}

func (r *reader) problem(kind, port string, at fabric.Line, what, then string) {
	r.out.Problems = append(r.out.Problems, fabric.TextProblem{Kind: kind, Port: port, At: at, What: what, Then: then})
}

// command is a line, split.
type command struct {
	switchtext.CLILine
	no    bool
	words []string
}

// is reports whether the words from i on are these, each written out or cut after two letters at least.
func (c command) is(i int, words ...string) bool {
	if len(c.words) < i+len(words) {
		return false
	}
	for j, w := range words {
		if !abbreviates(c.words[i+j], w) {
			return false
		}
	}
	return true
}

// word returns a word, or nothing.
func (c command) word(i int) string {
	if i < len(c.words) {
		return c.words[i]
	}
	return ""
}

func abbreviates(short, word string) bool {
	return len(short) >= min(3, len(word)) && len(short) <= len(word) && strings.EqualFold(short, word[:len(short)])
}

// line reads one line.
func (r *reader) line(l switchtext.CLILine) {
	c := r.prompt(l)
	if c.Command == "" || strings.HasPrefix(c.Command, "!") || strings.HasPrefix(c.Command, "#") || strings.Trim(c.Command, "-= ") == "" {
		return
	}
	if strings.HasPrefix(c.Command, "%Error") || strings.HasPrefix(c.Command, "% Error") {
		r.problem(fabric.TextForeign, "", c.Line, "the switch answered "+c.Command, "it refused the command above")
		return
	}
	c.words = strings.Fields(c.Command)
	if strings.EqualFold(c.words[0], "do") && len(c.words) > 1 {
		c.words = c.words[1:]
	}
	if strings.EqualFold(c.words[0], "no") && len(c.words) > 1 {
		c.no, c.words = true, c.words[1:]
	}
	dedented := r.place.kind != top && r.place.member > r.place.head && c.Indent <= r.place.head && c.Prompt == ""
	if r.place.kind != top && r.place.member == 0 {
		r.place.member = c.Indent
	}
	handlers := []func(command) bool{r.inBlock, r.top, r.output}
	if dedented {
		handlers = []func(command) bool{r.top, r.output, r.inBlock}
	}
	for _, handle := range handlers {
		if handle(c) {
			return
		}
	}
	if k := r.place.kind; (k == inOther || k == inShow) && !dedented {
		return
	}
	r.out.Unread = append(r.out.Unread, c.Line)
}

// dellMode is a prompt without a blank after it, or without a name before it.
var dellMode = pattern.Plain(`^([A-Za-z][\w.-]*)?(\(conf[^)]*\))[#$>]\s*(.*)$`)

// promptPort is the interface that a prompt names.
var promptPort = pattern.Plain(`^conf(?:ig)?-(?:s-)?if-((?:Eth|Ethernet|PortChannel|po)\d+(?:/\d+)*)$`)

// prompt takes the prompt off a line and believes what it says of the block: configuration mode and none of its blocks end
// the block. The name of a block in a prompt counts where no command named it: manuals print prompts loosely.
func (r *reader) prompt(l switchtext.CLILine) command {
	c := command{CLILine: l}
	mode := ""
	if l.Prompt == "" {
		m := dellMode().FindStringSubmatch(l.Command)
		if m == nil {
			return c
		}
		c.Prompt, c.Command, mode = m[1]+m[2]+"#", m[3], strings.Trim(m[2], "()")
	} else if _, rest, ok := strings.Cut(l.Prompt, "("); ok {
		mode, _, _ = strings.Cut(rest, ")")
	}
	if mode == "" || mode == "config" || mode == "config-s" {
		r.place = place{}
	} else {
		r.believe(mode, c)
	}
	return c
}

// promptBlock is the map or policy that a prompt names.
var promptBlock = pattern.Plain(`^conf(?:ig)?-(?:s-)?(?:([a-z0-9-]+)-map|(wred)|(sched-policy))-(\S+)$`)

// believe enters the block that a prompt names, where no command entered the one that the text is in, or that was a port.
func (r *reader) believe(mode string, c command) {
	k := r.place.kind
	if m := promptPort().FindStringSubmatch(mode); m != nil {
		name, ok := portName(m[1])
		there := k == inPort && (len(r.place.ports) > 1 || r.place.ports[0].name == name)
		if ok && !there {
			r.enterPorts(c, []string{name})
		}
		return
	}
	m := promptBlock().FindStringSubmatch(mode)
	open := k == top || k == inLost || k == inShow || k == inPort || r.place.byPrompt
	if m == nil || !open {
		return
	}
	queue := r.place.queue // of a scheduler policy stays
	defer func() {
		r.place.byPrompt = true
		if m[3] != "" && k == inSched {
			r.place.queue = queue
		}
	}()
	if m[1] != "" {
		if kind, ok := mapKindOf(m[1]); ok {
			r.openMap(dellName{kind, m[4]}, c, false)
		}
	} else if m[2] != "" {
		r.openWRED(m[4], c, false)
	} else {
		r.openSched(m[4], c, false)
	}
}

// inBlock reads a line as one of the block it stands in.
func (r *reader) inBlock(c command) bool {
	switch r.place.kind {
	case inPort:
		return r.portLine(c)
	case inVLAN:
		return r.vlanLine(c)
	case inMap:
		return r.mapLine(c)
	case inWRED:
		return r.wredLine(c)
	case inSched:
		return r.schedLine(c)
	case inBGP:
		return r.bgpLine(c)
	case inShowPort:
		return r.showPortLine(c)
	case inClick:
		return r.clickLine(c)
	}
	return false
}

// blocks are words that open a block without bearing on lossless RoCE.
var blocks = []string{"class-map", "policy-map", "line", "hardware", "route-map", "mst", "bfd", "ars", "mclag", "tam", "flow", "copp-action", "evpn", "telemetry", "switch-resource", "link", "mirror-session", "vrf", "crypto", "threshold", "as-notation", "router"}

// ignored are commands of one line without bearing on lossless RoCE.
var ignored = []string{
	"aaa", "alarm", "alias", "arp", "authentication", "auto-tech-support", "banner", "bgp", "clock", "configure", "core", "crm", "debug", "default",
	"dhcp", "dns", "errdisable", "event", "fips", "hostname", "igmp", "image", "interface-naming", "ip", "ipv6", "ipv4", "kdump", "key", "ldap-server", "led",
	"lldp", "location", "locator-led", "logger", "logging", "login", "lst", "mac", "management", "mvrp", "nat", "ntp", "password", "pim", "pki", "port-group",
	"portchannel", "ptp", "radius-server", "rest", "rmon", "sag", "service", "sflow", "snmp-server", "sonic-cli", "spanning-tree", "ssh", "ssh-server",
	"static", "stp", "switch-profile", "syslog", "system", "tacacs-server", "terminal", "tpcm", "track", "udld", "user", "username", "users", "vrrp", "watermark",
	"web", "write", "copy", "ztp", "banner-motd", "tech-support", "counters", "network-policy", "uplink-failure-detection", "vxlan",
}

// top reads a line that stands in no block.
func (r *reader) top(c command) bool {
	word := strings.ToLower(c.words[0])
	switch word {
	case "hostname":
		if !c.no && len(c.words) == 2 {
			r.out.Hostname = &fabric.Said[string]{Is: strings.Trim(c.words[1], `"`), At: c.Line}
			r.place, r.configured, r.signs[0] = place{}, true, true
			return true
		}
	case "exit", "end":
		if word == "exit" && r.place.kind == inSched && r.place.queue >= 0 {
			r.place.queue = -1
		} else {
			r.place = place{}
		}
		return true
	case "show":
		return r.show(c)
	case "qos":
		return r.define(c)
	case "interface":
		return r.enterInterface(c)
	case "router":
		if c.is(1, "bgp") {
			return r.enterBGP(c)
		}
	case "vlan":
		if id, ok := dellNumber(c.word(1), 1, 4094); ok {
			r.vlan(id, c)
			r.place = place{kind: inVLAN, head: c.Indent, vlans: []int{id}}
			return true
		}
	case "buffer":
		return r.buffer(c)
	case "roce":
		r.configured, r.lossless = true, r.lossless || !c.no
		return !c.no && c.is(1, "enable")
	case "priority-flow-control":
		r.configured = true
		return c.is(1, "watchdog") && (c.is(2, "polling-interval") || c.is(2, "counter-poll"))
	}
	return r.topOther(word, c)
}

// topOther reads a line that has no bearing on which packets are lossless.
func (r *reader) topOther(word string, c command) bool {
	switch {
	case (word == "ip" || word == "ipv6") && c.is(1, "address"):
		return false // of an interface, and not in a form that is known
	case slices.Contains(blocks, word) || (word == "ip" || word == "ipv6" || word == "mac") && c.is(1, "access-list"):
		r.signs[3] = r.signs[3] || word == "line" && c.is(1, "vty")
		r.place = place{kind: inOther, head: c.Indent}
		r.configured = true
		return true
	case slices.Contains(ignored, word):
		r.signs[1] = r.signs[1] || word == "interface-naming"
		return true // the block stays open: in a text without indentation, a line of it may begin with one of these words
	}
	return false
}
