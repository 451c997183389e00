package esx

import (
	"path"
	"slices"
	"strings"
	"sync"

	"railwright.dev/railwright/internal/pattern"
)

// form is how the output of a tool begins and goes on, and what it says.
type form struct {
	name   string
	ours   bool              // only ESX prints it
	log    bool              // messages of programs; a line that begins it goes on with it
	weak   bool              // what another output takes is not its beginning
	opens  []*pattern.Regexp // a line that begins it matches one of these; nil: its place may be enough
	begins func(line string, at place) bool
	goesOn func(line string) bool
	read   func(b *build, s section)
}

// place is what is known of where a line stands.
type place struct {
	command string   // behind the last prompt, or on the line before
	words   []string // of the command, as base has them
	ours    bool     // and it is one whose output is read here
	esx     bool     // the text is of an ESX host: its prompt says so, or something before
}

// section is lines that one form takes, or none of them: of a command that printed nothing that is read.
type section struct {
	form    *form
	command string // behind the last prompt, or the line before; empty: nobody knows
	lines   []string
	numbers []int // of lines, from 1
	named   bool  // the command is that of the text's name
}

// Scanner finds outputs in a text that may hold anything, line by line. It keeps none of their lines: a log may have millions.
type Scanner struct {
	at     place
	number int
	open   *form // whose output the last line was; nil: nobody's

	keeps    bool      // lines, for their readers
	sections []section // the last is the open one
}

// ask says that what follows is what a command printed.
func (s *Scanner) ask(shell string) {
	s.end()
	s.at.command = strings.TrimSpace(strings.Trim(shell, "*` ")) // of a document
	s.at.words, _ = base(s.at.command)
	s.at.ours = isOurs(s.at.command)
	s.at.esx = s.at.esx || onlyESX(s.at.command)
	if s.keeps {
		s.sections = append(s.sections, section{command: s.at.command})
	}
}

func (s *Scanner) end() { s.open = nil }

// End says that the next line belongs to no output that is open.
func (s *Scanner) End() { s.end() }

// Claim is what a line is to a Scanner.
type Claim struct {
	Read    bool // it belongs to an output
	Ours    bool // which only ESX prints
	Log     bool // of messages, in which other readers may find theirs
	Command bool // it calls a program whose output is read here
	OnlyESX bool // which is on ESX only
	Shell   bool // it is a prompt, a rule, a remark
}

// Line takes the next line. may is what Beginnings find in it; nil: it was not searched.
func (s *Scanner) Line(line string, may *pattern.Members) Claim {
	s.number++
	if len(line) > maxLine {
		s.end()
		return Claim{}
	}
	whole := line
	if line = plain(line); may == nil || !strings.HasPrefix(whole, line) {
		found := beginnings().In(line)
		may = &found
	}
	text := strings.TrimSpace(line)
	if text == "" {
		return Claim{Shell: true}
	}
	if command, ok := promptOf(text); ok {
		s.at.esx = s.at.esx || shellOfESX().MatchString(text)
		s.ask(command)
		return Claim{Shell: true, Command: isOurs(command), OnlyESX: onlyESX(command)}
	}
	next := formOf(line, s.at, may)
	if s.open != nil && s.open.takes(line, next) {
		return s.read(line)
	}
	s.end()
	if next != nil {
		s.begin(next)
		return s.read(line)
	}
	if isOurs(text) {
		s.ask(text)
		return Claim{Shell: true, Command: true, OnlyESX: onlyESX(text)}
	}
	return Claim{Shell: isRule(text) || isElision(text) || strings.HasPrefix(text, "```") || strings.HasPrefix(text, "<?xml") || strings.HasPrefix(text, "#") || loneAddress().MatchString(text)}
}

// takes reports whether a line goes on with an open output; next is the form that it begins, nil: none.
func (f *form) takes(line string, next *form) bool {
	if f.log && next == f {
		return true
	}
	return (next == nil || next == f || next.weak || !next.ours && f.ours) && f.goesOn(line)
}

// begin opens an output.
func (s *Scanner) begin(f *form) {
	s.open, s.at.esx = f, s.at.esx || f.ours
	if s.keeps {
		named := len(s.sections) > 0 && s.sections[len(s.sections)-1].named
		s.sections = append(s.sections, section{form: f, command: s.at.command, named: named})
	}
}

// read takes a line of the open output.
func (s *Scanner) read(line string) Claim {
	if s.keeps {
		s.sections[len(s.sections)-1].add(s.number, line)
	}
	return Claim{Read: true, Ours: s.open.ours, Log: s.open.log}
}

// signs are what a line has that may begin an output where nothing tells of ESX or of a command: a form of a few words, such as
// "Failed to load", is one of many programs.
func signs() []string {
	return []string{
		"Name ", "Name\t", "VF ID", "Device ID", "Vmknic", "MAX_VFS", "Bool", "Int", "Uint", "String", "VMware", "Supported", "vmnic", "vmrdma", "Address: ", "Platform Information",
		"Path: /", "Module: ", "Advertised Auto", "Module mst", " Result", ",Name,", ",Version,", "ESX", "[vm", "VMkernel", "enabled = ", "_bootbank_", "_locker_", "PF_", "Class ", "pciPassthru", "PCIPassthru",
		"vmkernel", "passthru", "MST", "mst", "(rev:", "mt4", "PCI devices:", "Device #", "True(1)", "False(0)", "(0)", "(1)", "(2)", "Image type:", "= \"", "(vim.", "(vmodl.",
		"Bus ", "ClassId", "Vmid", "World ID", "IntrVector", "MSI", "PCIEHP", "DevicePowerOn", "AMDIommu", "assthrough", "SR-IOV", "systemId", "IOMMU", "sched.mem", "irtual machine",
		"relaxACS", "RelaxACS", "bridge", "flr", "d3d0", "Adapter", "msg.pci", "unresponsive", "pending trans", "powering on VM", "required by VM", "V pci", "P pci", "/   /",
	}
}

// Beginnings are in one pass which forms a line may begin, by what their expressions need, and whether it has a sign. Who looks
// for other things in the same lines adds them behind.
func Beginnings() *pattern.Set {
	set := pattern.NewSet()
	for _, f := range forms() {
		set.Add(pattern.Literals(f.opens...)...)
	}
	set.Add(append(signs(), manifestSigns()...)...)
	return set
}

var beginnings = sync.OnceValue(Beginnings)

var loneAddress = pattern.New(`^` + sbdf + `$`)

func (s *section) add(number int, line string) {
	s.lines = append(s.lines, strings.Clone(line))
	s.numbers = append(s.numbers, number)
}

// formOf returns the form that a line begins; nil: none.
func formOf(line string, at place, may *pattern.Members) *form {
	all := forms()
	if hasSign := may.Has(len(all)); !at.esx && !at.ours && !hasSign {
		return nil
	}
	for i := range may.Within(0, len(all)) {
		if all[i].begins(line, at) {
			return &all[i]
		}
	}
	return nil
}

// escapes are what a terminal makes colours of.
var escapes = pattern.New(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07`)

// plain takes a line without its end, without colours, and without the backslashes by which documents keep a _ from being italic.
func plain(line string) string {
	line = trimEnd(line, "\r\n")
	if strings.ContainsRune(line, '\x1b') {
		line = escapes().ReplaceAllString(line, "")
	}
	if strings.Contains(line, `\_`) && !strings.Contains(line, `\\_`) {
		line = strings.ReplaceAll(line, `\_`, "_")
	}
	return trimEnd(strings.ReplaceAll(line, "\u00a0", " "), " \t")
}

// trimEnd is strings.TrimRight of a line that most often ends in none of the characters.
func trimEnd(line, characters string) string {
	if line == "" || strings.IndexByte(characters, line[len(line)-1]) < 0 {
		return line
	}
	return strings.TrimRight(line, characters)
}

// Prompts: of the shell of ESX and of documents about it, of older ESX, and a sign alone.
var (
	promptESX   = pattern.New(`^\[?(?:[\w.-]+@[\w.-]+:[^\]]*|ESXi?|[\w.-]+@[\w.-]+ [^\]]*)\]\s?[#$%]?\s*(.*)$`)
	promptOld   = pattern.New(`^(?:~|/[\w./-]*) [#$] (.*)$`)
	promptBare  = pattern.New(`^[#$>] ?(\S.*)$`)
	promptHost  = pattern.New(`^[\w.-]+@[\w.-]+:[^#$ ]* ?[#$] ?(.*)$`)
	promptPower = pattern.New(`^(?:PS [^>]*|PowerCLI [^>]*)> ?(.*)$`)
	debugLine   = pattern.New(`^DEBUG: .*?((?:Get|Set|New)-\w+)$`)
)

// PromptHost is the host that a prompt of the shell of ESX names; empty: the line is none.
func PromptHost(line string) string {
	if !strings.Contains(line, "[") || !strings.Contains(line, "@") {
		return ""
	}
	if m := promptName().FindStringSubmatch(strings.TrimSpace(plain(line))); m != nil {
		return m[1]
	}
	return ""
}

var promptName = pattern.New(`^\[[\w.-]+@([\w.-]+):[^\]]*\]`)

// shellOfESX is a prompt that no other shell has by default: a colon between host and folder, within brackets.
var shellOfESX = pattern.New(`^\[(?:[\w.-]+@[\w.-]+:[^\]]*|ESXi?)\]`)

func promptOf(text string) (shell string, ok bool) {
	text = strings.TrimLeft(text, "*` ")
	if text == "" {
		return "", false
	}
	if !strings.Contains("[~/#$>", text[:1]) && !strings.Contains(text[:min(len(text), 64)], "@") && !strings.HasPrefix(text, "P") && !strings.HasPrefix(text, "DEBUG:") {
		return "", false
	}
	for _, p := range []struct {
		form func() *pattern.Regexp
		may  bool // what each must have: a line of a log begins with a bracket too
	}{
		{promptESX, text[0] == '[' && strings.Contains(text, "]") || strings.Contains(text, "@") || strings.HasPrefix(text, "ESX")},
		{promptOld, text[0] == '~' || text[0] == '/'},
		{promptHost, strings.Contains(text, "@")},
		{promptPower, text[0] == 'P'},
		{debugLine, text[0] == 'D'},
	} {
		if !p.may {
			continue
		}
		if m := p.form().FindStringSubmatch(text); m != nil {
			return strings.TrimSpace(m[1]), true
		}
	}
	if !strings.Contains("#$>", text[:1]) {
		return "", false
	}
	if m := promptBare().FindStringSubmatch(text); m != nil && isOurs(m[1]) {
		return strings.TrimSpace(m[1]), true
	}
	return "", false
}

// isProgram knows those of which output is read here.
func isProgram(name string) bool {
	switch name {
	case "esxcli", "localcli", "vmkload_mod", "esxcfg-module", "esxcfg-info", "esxcfg-nics", "vim-cmd", "vmware", "vmkchdev", "lspci", "mst", "mlxconfig", "mstconfig",
		"flint", "mlxfwmanager", "vsish", "mlxburn", "Get-PassthroughDevice":
		return true
	}
	return false
}

// isOurs reports whether a line is a call of one of them, with a change of folder before it or not.
func isOurs(text string) bool {
	if strings.HasPrefix(strings.TrimSpace(text), "cd ") {
		if folder, rest, ok := strings.Cut(text, "&&"); ok && strings.HasPrefix(strings.TrimSpace(folder), "cd ") {
			text = strings.TrimSpace(rest)
		}
	}
	first, _, _ := strings.Cut(text, " ")
	if !slices.Contains([]string{"cd", "cat", "grep", "vi", "reboot", "uname"}, first) && !isProgram(path.Base(first)) && !strings.Contains(first, "\t") {
		return false // nearly every line
	}
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return false
	case words[0] == "cd" && len(words) == 2:
		return strings.Contains(words[1], "mellanox") || strings.Contains(words[1], "vmware") || strings.Contains(words[1], "mlnx")
	case words[0] == "cat" || words[0] == "grep" || words[0] == "vi":
		return strings.Contains(text, "passthru.map") || strings.Contains(text, ".vmx") || strings.Contains(text, "vmkernel.log") || strings.Contains(text, "vmware.log")
	case words[0] == "reboot" && len(words) == 1, words[0] == "uname":
		return true
	}
	program := path.Base(words[0])
	if !isProgram(program) {
		return false
	}
	return len(words) == 1 && !strings.Contains(text, ":") || len(words) > 1 && !isSentence(words) && !strings.Contains(words[0], ":")
}

// onlyESX reports whether a command exists on ESX only. MFT lies in /opt there, and in /usr/bin on Linux.
func onlyESX(command string) bool {
	words, _ := base(command)
	if len(words) == 0 {
		return false
	}
	return slices.Contains([]string{"esxcli", "localcli", "vmkload_mod", "esxcfg-module", "esxcfg-info", "esxcfg-nics", "vim-cmd", "vmkchdev", "vsish"}, words[0]) ||
		strings.Contains(command, "/opt/mellanox/bin/") || strings.Contains(command, "/opt/mlnx/bin/") || strings.Contains(command, "/etc/vmware/")
}

// isSentence knows a line of prose that begins with the name of a program.
func isSentence(words []string) bool {
	return slices.ContainsFunc(words[1:], func(w string) bool {
		return slices.Contains([]string{"is", "are", "the", "was", "shows", "does", "and", "or", "not", "says", "prints", "enabled"}, w)
	})
}

func isRule(text string) bool {
	const rule = "-=+ \t|"
	return len(text) > 2 && strings.IndexByte(rule, text[0]) >= 0 && strings.Trim(text, rule) == ""
}

// isElision knows what a person puts where lines were left out.
func isElision(text string) bool {
	return text == "..." || text == "…" || text == "[...]" || text == "--" || text == "<snip>"
}

// base is the program and the words of a command: without its folder, and without what takes lines out of the output.
func base(command string) (words []string, filter string) {
	if at := strings.Index(command, "   ("); at > 0 { // a remark behind it
		command = command[:at]
	}
	call, filter, _ := strings.Cut(command, "|")
	if folder, rest, ok := strings.Cut(call, "&&"); ok && strings.HasPrefix(strings.TrimSpace(folder), "cd ") {
		call = rest
	}
	words = strings.Fields(call)
	if len(words) > 0 {
		words[0] = path.Base(words[0])
	}
	return words, strings.TrimSpace(filter)
}

// calls reports whether a command is a call of a program with these words, in their order.
func calls(command string, want ...string) bool {
	words, _ := base(command)
	return isCall(words, want...)
}

// calls is that of the command of a place.
func (p place) calls(want ...string) bool { return isCall(p.words, want...) }

func isCall(words []string, want ...string) bool {
	if len(words) == 0 || words[0] != want[0] && (want[0] != "esxcli" || words[0] != "localcli") {
		return false
	}
	at := 1
	for _, w := range want[1:] {
		i := slices.Index(words[at:], w)
		if i < 0 {
			return false
		}
		at += i + 1
	}
	return true
}

// option is the value of an option of a command: -m X, -mX, --module=X, --module X.
func option(command, short, long string) string {
	words, _ := base(command)
	for i, w := range words {
		if v, ok := strings.CutPrefix(w, "--"+long+"="); ok {
			return strings.Trim(v, `"'`)
		}
		if (w == short || w == "--"+long) && i+1 < len(words) {
			return strings.Trim(words[i+1], `"'`)
		}
	}
	return ""
}

// isWhole reports whether a command prints all of a list: it has no filter behind it, and no option that picks entries.
func isWhole(command string, pick ...string) bool {
	words, filter := base(command)
	return len(words) > 0 && filter == "" && !slices.ContainsFunc(words, func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return slices.Contains(pick, name)
	})
}
