package facts

import "strings"

// mostSettings bounds what is kept of a text: NCCL knows some 150 variables.
const mostSettings = 256

// settingSign is in every line with a setting of NCCL.
const settingSign = "NCCL_"

// setting keeps a setting of NCCL for the host that the line belongs to. The line stays whose it is.
func (o *Outputs) setting(host, line string) {
	if !strings.Contains(line, settingSign) || len(line) > 512 {
		return
	}
	key, _, _ := o.keyOf(host)
	for name, value := range ncclSettings(line) {
		if o.env[key] == nil {
			o.env[strings.Clone(key)] = map[string]string{}
		}
		if len(o.env[key]) < mostSettings {
			o.env[key][name] = value
		}
	}
}

// write adds a line to a text of a set, for its reader.
func (o *Outputs) write(set *outputSet, reader, line string) {
	text := set.texts[reader]
	if text == nil {
		text = &strings.Builder{}
		set.texts[reader] = text
	}
	if text.Len() <= maxToolText {
		text.WriteString(line + "\n")
	}
}

// addTable gives each host of a table its rows. Hosts that a table names are hosts of the text.
func (o *Outputs) addTable(rows []tableRow) {
	for _, r := range rows {
		key, name, named := o.keyOf(r.host)
		set := o.set(key, name, named, "", false, &outputForm{tool: addressTool})
		o.write(set, addressTool, r.line)
	}
	for _, held := range o.holds {
		if held == addressTool {
			return
		}
	}
	if len(rows) > 0 {
		o.holds = append(o.holds, addressTool)
	}
}
