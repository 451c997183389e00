package facts

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"railwright.dev/railwright/internal/esx"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/nic"
	"railwright.dev/railwright/internal/pattern"
)

// Outputs finds the output of tools in texts that hold anything: what a person pasted behind the prompts of a shell, a
// log with dmesg at its end, a folder with a file per command. It is for one call and one goroutine.
type Outputs struct {
	sets   []*outputSet
	byHost map[string]*outputSet // the set in which the outputs of a host are gathered

	file    string
	folder  string // whose outputs a file has where nothing else says it
	prompt  string // host of the last prompt
	command string // of the last prompt
	path    string // of a file of netplan that a heading names
	table   addressTable
	env     map[string]map[string]string // settings of NCCL by host, for the sets that exist at the end
	holds   []string

	esx      esx.Scanner
	esxCalls string // a command line whose output, if any, is in the next lines

	open  *outputForm
	into  *outputSet
	begun bool // the next line is its first
	depth int  // of the prefixes that the open output has
}

// outputSet is what tools printed on a host, once. A second reading of the same device is a set of its own: it may be of
// another time, and where no name is given of another host.
type outputSet struct {
	host  string
	named bool // a prompt or a prefix names the host
	again bool // not the first of its host
	texts map[string]*strings.Builder
	heads map[string]bool
	whole map[string]bool // tools whose command lists all devices
	links []fabric.PCIDevice
	topo  strings.Builder // of nvidia-smi topo -m, which FromText has no fact for
	key   string
}

// NewOutputs starts an empty collection.
func NewOutputs() *Outputs {
	return &Outputs{byHost: map[string]*outputSet{}, env: map[string]map[string]string{}}
}

// File begins a file. folder is the name of the folder that it lies in, which people call like the host; empty: none.
func (o *Outputs) File(name, folder string) {
	o.file, o.folder, o.prompt, o.command, o.path, o.holds = name, folder, "", "", "", nil
	o.table = addressTable{}
	o.end()
	o.esx, o.esxCalls = esx.Scanner{}, ""
}

// Holds are the tools whose outputs were found in the file so far.
func (o *Outputs) Holds() []string { return o.holds }

func (o *Outputs) end() { o.open, o.into = nil, nil }

// Line takes a line of the file. host printed it, where a prefix says so; texts are the line as it stands there, then
// without one prefix after the other. may is what Signs find in it; nil: it was not searched. taken says that it belongs to
// something else, which ends an output. searched says of a line that was claimed that messages of programs may stand in it.
func (o *Outputs) Line(host string, texts []string, may *pattern.Members, taken bool) (isClaimed, searched bool) {
	whole := texts[len(texts)-1]
	switch {
	case taken:
		o.setting(host, whole)
		o.end()
		o.esx.End()
		return false, false
	case strings.TrimSpace(whole) == "":
		return true, false // between devices
	}
	if may == nil {
		may = new(lineSigns().In(texts[0])) // which has all the others in it
	}
	if may.Has(lineSigns().setting) {
		o.setting(host, whole)
	}
	if claimed, searched, whole := o.lineOfESX(host, whole, may); whole {
		return claimed, searched
	} else if claimed {
		defer func() { isClaimed = true }()
	}
	if o.open != nil && o.depth < len(texts) {
		if line := texts[o.depth]; o.open.goesOn(line) && !o.anotherBegins(line, may) {
			return true, o.add(host, line)
		}
	}
	if rows := o.table.line(whole, may); rows != nil {
		o.end()
		o.addTable(rows)
		return true, true
	}
	for depth, line := range texts {
		if form := beginningForm(line, may); form != nil && (form.of == nil || form.of(o.command) != "") {
			o.open, o.depth, o.into, o.begun = form, depth, nil, true
			return true, o.add(host, line)
		}
	}
	o.end()
	return o.shell(whole, may), false
}

// anotherBegins reports whether the output of another tool begins inside one that takes nearly any line.
func (o *Outputs) anotherBegins(line string, may *pattern.Members) bool {
	if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
		return false
	}
	form := beginningForm(line, may)
	return form != nil && form.tool != o.open.tool
}

// add keeps a line of the open output.
func (o *Outputs) add(host, line string) (searched bool) {
	form := o.open
	if form.begins(line) && (o.begun || form.tool != netplanTool || strings.TrimSpace(line) == "network:") {
		o.into = o.setFor(host, form, line)
	}
	if o.into == nil {
		o.into = o.setFor(host, form, line)
	}
	if !slices.Contains(o.holds, form.tool) {
		o.holds = append(o.holds, form.tool)
	}
	if d, ok := grepLink(line); ok && form.tool == grepTool && len(o.into.links) < maxDevices {
		o.into.links = append(o.into.links, d)
	}
	if form.tool == topoTool && o.into.topo.Len() < maxToolText {
		o.into.topo.WriteString(line + "\n")
	}
	if form.reader != "" {
		text := o.into.texts[form.reader]
		if text == nil {
			text = &strings.Builder{}
			o.into.texts[form.reader] = text
		}
		if form.tool == netplanTool && form.begins(line) && o.path != "" {
			text.WriteString("# " + o.path + "\n")
			o.path = ""
		}
		if o.begun && o.command != "" && form.asked {
			text.WriteString("$ " + o.command + "\n") // which names the table, or the interface
		}
		o.begun = false
		if text.Len() <= maxToolText { // one that is longer is an error of its reader
			text.WriteString(line)
			text.WriteByte('\n')
		}
	}
	return form.searched || speaksUp(line)
}

// setFor is the set of a host that a line belongs to. A line that begins a device which the set has is of a new one.
func (o *Outputs) setFor(host string, form *outputForm, line string) *outputSet {
	key, name, named := o.keyOf(host)
	head := form.reader + " " + strings.TrimSpace(line)
	if form.tool == netplanTool {
		head += " of " + o.path // a host has several files
	}
	if form.asked && form.tool != routeTool {
		head += " of " + o.command // the first line is the same for every device
	}
	repeats := !form.searched && form.reader != "" && form.begins(line)
	return o.set(key, name, named, head, repeats, form)
}

// keyOf is by whom the outputs of a host are gathered, and its name. named: the text itself names it.
func (o *Outputs) keyOf(host string) (key, name string, named bool) {
	switch {
	case host != "":
		return host, host, true
	case o.prompt != "":
		return o.prompt, o.prompt, true
	case o.folder != "":
		return o.folder, o.folder, false
	}
	return "file " + o.file, path.Base(filepath.ToSlash(o.file)), false
}

// set finds the set of a key, or makes a new one where the set has that head already.
func (o *Outputs) set(key, name string, named bool, head string, repeats bool, form *outputForm) *outputSet {
	set := o.byHost[key]
	if set == nil || repeats && set.heads[head] {
		const mostSets = 4096 // hosts of one call
		if len(o.sets) >= mostSets {
			return &outputSet{texts: map[string]*strings.Builder{}, heads: map[string]bool{}, whole: map[string]bool{}}
		}
		again := set != nil
		set = &outputSet{key: strings.Clone(key), host: strings.Clone(name), named: named, again: again, texts: map[string]*strings.Builder{}, heads: map[string]bool{}, whole: map[string]bool{}}
		o.sets = append(o.sets, set)
		o.byHost[strings.Clone(key)] = set
	}
	if repeats {
		set.heads[strings.Clone(head)] = true
	}
	set.whole[form.tool] = set.whole[form.tool] || listsAll(o.command)
	return set
}

// shell takes the lines around outputs: rules, prompts, fences of documents, names of commands as headings.
func (o *Outputs) shell(line string, may *pattern.Members) bool {
	trimmed := strings.TrimSpace(line)
	if !strings.ContainsFunc(trimmed, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return true
	}
	if nic.IsHeading(trimmed) {
		return true
	}
	if strings.HasPrefix(trimmed, "```") && !strings.Contains(trimmed[3:], " ") {
		return true
	}
	if isHotPlugCommand(o.command) && hotPlugOf(trimmed) != nil {
		o.write(o.setFor("", &outputForm{tool: hotPlugTool, searched: true}, trimmed), hotPlugTool, hotPlugTool+": "+trimmed)
		o.command = ""
		return true
	}
	if host, command, ok := promptOf(trimmed); ok {
		if host != "" {
			o.prompt = strings.Clone(host)
		}
		o.command, o.path = strings.Clone(command), strings.Clone(netplanPath().FindString(command))
		return true
	}
	path := ""
	if may.Has(lineSigns().netplan) {
		path = netplanPath().FindString(trimmed)
	}
	if path != "" {
		o.path = strings.Clone(path)
	}
	if host := headingHost(trimmed); host != "" {
		o.prompt, o.command = strings.Clone(host), ""
		return o.path != "" || strings.HasPrefix(trimmed, "#")
	}
	if strings.HasPrefix(trimmed, "#") && path != "" {
		return true
	}
	if isCommand(trimmed) {
		o.command = strings.Clone(trimmed)
		return true
	}
	return false
}

// TextFacts are the facts of a host that outputs of tools give. They are a part of what the host has: a device that
// is not among them may be there.
type TextFacts struct {
	Facts  *fabric.Facts
	Named  bool               // the text names the host
	Again  bool               // the host has facts before these
	Whole  map[string]bool    // tools that were asked for all devices, as far as the command shows
	Unread []fabric.Missing   // outputs that were recognized and could not be read
	Matrix *GPUMatrix         // of nvidia-smi topo -m, whole
	Links  []fabric.PCIDevice // of which the text has the link alone, without class and place
}

// Facts returns what was found, a set for each host and time, in the order in which they begin.
func (o *Outputs) Facts() []TextFacts {
	var out []TextFacts
	for _, set := range o.sets {
		texts := make(map[string][]byte, len(set.texts))
		for tool, text := range set.texts {
			texts[tool] = []byte(text.String())
		}
		found := TextFacts{Named: set.named, Again: set.again, Whole: maps.Clone(set.whole), Links: set.links}
		if m, ok := parseGPUMatrix(set.topo.String()); ok {
			found.Matrix = &m
		}
		if len(texts) == 0 && len(set.links) == 0 && found.Matrix == nil { // settings alone are no facts of a host
			continue
		}
		host := set.host
		if set.again {
			host += ", again"
		}
		found.Facts = FromText(host, texts)
		if env := o.env[set.key]; len(env) > 0 {
			found.Facts.NCCL = maps.Clone(env)
		}
		found.Unread = unread(found.Facts)
		out = append(out, found)
	}
	return out
}
