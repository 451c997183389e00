package routeros

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// signs are lines that RouterOS alone has: of an export or a script, at a prompt, or printed by a command.
var signs = pattern.Plain(`(?m)^(?:# .* by RouterOS \d|\[\S+@[^\]\r\n]+\] ?(?:/[\w/ -]*)?> ?|/(?:interface|ip|ipv6|system|routing|queue)(?:[ /][a-z]|[ \r]*$)|` +
	`[ \t]*(?:Flags: [A-Z] - [A-Za-z-]+|Columns: [A-Z]{2}|status: (?:link-ok|no-link)(?: +(?:link-ok|no-link))*[ \r]*$)|[ \t]*\d+ .*\bdefault-name="|[ \t]*[A-Z]* *(?:;;; .*)?name="[^"]*" default-name=")`)

// Recognizes reports whether a text is an export or a script of RouterOS, or output of one of its commands.
func (OS) Recognizes(text []byte) bool { return signs().Match(text) }

// Shows are the commands whose output tells most. None changes anything.
func (OS) Shows() []string {
	return []string{
		"/export", "/interface bridge port print detail", "/interface ethernet print detail", "/interface ethernet monitor [find running=yes] once",
		"/interface ethernet switch qos port print detail", "/interface ethernet switch qos tx-manager queue print detail",
	}
}

// Read reads all texts of one switch as one.
func (OS) Read(name string, texts []switchtext.Text) *fabric.SwitchConfig {
	s := newStore()
	c := &fabric.SwitchConfig{Name: name, OS: "routeros"}
	b := build{store: s}
	var shown []func()
	for _, t := range texts {
		r := reader{store: s, top: map[string]bool{}}
		r.text(t)
		shown = append(shown, r.shown...)
		whole := r.whole()
		b.whole = b.whole || whole
		b.model += r.model
		b.since723 = b.since723 || r.since723
		c.Texts = append(c.Texts, fabric.SwitchText{File: t.File, Form: r.form(), Lines: r.lines, Whole: whole})
	}
	for _, f := range shown { // what a configuration says counts before what a command prints
		f()
	}
	b.config(c)
	return c
}

// reader goes through one text.
type reader struct {
	*store
	context  string // menu of the lines that follow
	header   bool   // it begins as an export does
	export   string // menu of which a prompt says that it was exported; all: everything
	model    string
	since723 bool
	top      map[string]bool // first words of the menus of its commands
	commands bool
	lines    int
	forms    []string
	block    []line // output of a command, gathered until it ends
	printed  string // menu whose output is printed
	command  string // that printed it
	shown    []func()
}

// form says what a text is.
func (r *reader) form() string {
	if r.commands || len(r.forms) == 0 {
		return strings.Join(append([]string{"configuration"}, r.forms...), ", ")
	}
	return strings.Join(r.forms, ", ")
}

// whole reports whether a text is an export of everything. The heading of an export does not say which menu was exported, so
// that one with lines of a single first word, such as /interface, may be a part; one at a prompt says it.
func (r *reader) whole() bool {
	return r.export == "all" || r.header && r.export == "" && len(r.top) > 1
}

func (r *reader) text(t switchtext.Text) {
	for _, l := range lines(t) {
		r.lines++
		if l.open {
			r.problem(fabric.TextCut, "", l.Line, "is the last command, and goes on", "What follows is unknown.")
		}
		r.line(l)
	}
	r.flush()
}

func (r *reader) line(l line) {
	if command, path, prompted := prompt(l.command); prompted {
		r.flush()
		r.context, r.printed = path, ""
		if command != "" {
			l.command = command
			r.typed(l)
		}
		return
	}
	if strings.HasPrefix(l.command, "#") && !heading(l.command) {
		r.comment(l)
		return
	}
	if r.printing(l) {
		r.block = append(r.block, l)
		return
	}
	r.flush()
	r.typed(l)
}

// comment reads the heading of an export.
func (r *reader) comment(l line) {
	if _, version, ok := strings.Cut(l.command, " by RouterOS "); ok {
		r.flush()
		r.header, r.printed = true, ""
		major, minor, _ := strings.Cut(version, ".")
		digits := 0
		for digits < len(minor) && minor[digits] >= '0' && minor[digits] <= '9' {
			digits++
		}
		n, good := number(minor[:digits], 0, 1000)
		r.since723 = good && major == "7" && n >= 23
	}
	if model, ok := strings.CutPrefix(l.command, "# model = "); ok {
		r.model = strings.TrimSpace(model)
	}
	if strings.HasPrefix(l.command, "#error exporting") || strings.HasPrefix(l.command, "# error exporting") {
		if !quietMenu(strings.ReplaceAll(strings.Trim(l.command[strings.Index(l.command, "exporting")+len("exporting"):], ` "/`), "/", " ")) {
			r.unread = append(r.unread, l.Line)
		}
	}
}

// prompt takes [admin@switch] /interface/bridge> from the beginning of a line.
func prompt(text string) (command, path string, ok bool) {
	end := strings.IndexByte(text, ']')
	if !strings.HasPrefix(text, "[") || end < 0 || !strings.Contains(text[:end], "@") {
		return "", "", false
	}
	rest := text[end+1:]
	if at := strings.IndexByte(rest, '>'); at >= 0 && !strings.ContainsAny(rest[:at], `="`) {
		command, rest = strings.TrimSpace(rest[at+1:]), rest[:at]
	} else { // documents print [admin@switch] /interface/bridge/port/print
		return strings.TrimSpace(rest), "", strings.HasPrefix(strings.TrimSpace(rest), "/")
	}
	for p := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == ' ' || r == '/' }) {
		path = strings.TrimSpace(path + " " + full(path, p))
	}
	return command, path, true
}

// typed reads a line of commands.
func (r *reader) typed(l line) {
	all, next, ok := split(l, r.context)
	r.context = next
	if !ok {
		r.commands = true
		if l.open {
			return
		}
		r.unread = append(r.unread, l.Line)
		return
	}
	for _, c := range all {
		switch c.verb {
		case "print", "monitor", "get":
			r.printed, r.command = c.path, "/"+strings.TrimSpace(c.path+" "+c.verb)
			if c.verb == "monitor" && c.path == ethernetMenu {
				r.printed = monitorMenu
			}
			continue
		case "export":
			r.export = c.path
			if r.export == "" {
				r.export = "all"
			}
			continue
		}
		r.commands = true
		top, _, _ := strings.Cut(c.path, " ")
		r.top[top] = true
		r.apply(c)
	}
}

// printing reports whether a line is output of a command rather than a command.
func (r *reader) printing(l line) bool {
	trimmed := strings.TrimSpace(l.raw)
	if strings.HasPrefix(trimmed, "/") && !strings.HasPrefix(l.raw, " ") {
		return false
	}
	if r.printed != "" || len(r.block) > 0 {
		first, _, _ := strings.Cut(trimmed, " ")
		return first != "add" && first != "set" || strings.HasPrefix(l.raw, " ")
	}
	return begins().MatchString(l.raw)
}

// begins are first lines of output: legends, headings of tables, entries, and lines of a monitor.
var begins = pattern.Plain(`^\s*(?:Flags: [A-Z] - |Columns?: [A-Z]|#\s+[A-Z]|\d+ +(?:[A-Z]+ +)?(?:;;; |[a-z][a-z0-9-]*=)|[A-Z]{1,4} +[a-z][a-z-]*="|[a-z][a-z0-9.-]*: )`)

// heading reports whether a line is the heading of a table: words in capitals behind #.
func heading(text string) bool {
	fields := strings.Fields(text)
	if len(fields) < 2 || fields[0] != "#" {
		return false
	}
	for _, f := range fields[1:] {
		if f != strings.ToUpper(f) || strings.ContainsAny(f, "=:,") || f[0] < 'A' || f[0] > 'Z' {
			return false
		}
	}
	return true
}
