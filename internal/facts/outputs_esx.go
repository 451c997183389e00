package facts

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/esx"
	"railwright.dev/railwright/internal/pattern"
)

// lineOfESX keeps a line of an ESX host's shell for its readers. whole: the line is theirs alone. mlxconfig and mst are on Linux
// too, and commands say for other readers what follows: such a line goes on to them.
func (o *Outputs) lineOfESX(host, line string, may *pattern.Members) (claimed, searched, whole bool) {
	c := o.esx.Line(line, may)
	if name := esx.PromptHost(line); name != "" && name != "localhost" {
		o.prompt = strings.Clone(name)
	}
	switch {
	case c.Read:
		if !slices.Contains(o.holds, esxTool) {
			o.holds = append(o.holds, esxTool)
		}
		o.keepESX(host, o.esxCalls)
		o.keepESX(host, line)
		o.esxCalls = ""
		if c.Ours {
			o.end()
		}
		return true, c.Log || speaksUp(line), c.Ours || c.Log // a message is a fact of its host, and says a cause
	case c.OnlyESX:
		o.end()
		o.keepESX(host, o.esxCalls)
		o.keepESX(host, line)
		o.esxCalls = ""
		return true, false, true
	case c.Command:
		o.esxCalls = strings.Clone(line)
	case c.Shell && o.isOfESX(host): // it ends the output of the command before, which may have none
		o.keepESX(host, line)
	}
	return false, false, false
}

// isOfESX reports whether the host of a line has texts of ESX.
func (o *Outputs) isOfESX(host string) bool {
	key, _, _ := o.keyOf(host)
	set := o.byHost[key]
	return set != nil && set.texts[esxTool] != nil
}

func (o *Outputs) keepESX(host, line string) {
	if line == "" {
		return
	}
	key, name, named := o.keyOf(host)
	o.write(o.set(key, name, named, "", false, &outputForm{tool: esxTool}), esxTool, line)
}
