package prepare

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Check is a command, and what it prints once the step is done. The lists are regular expressions that all have to match, line by
// line and whatever the case; an empty one asks nothing.
type Check struct {
	Command string   `json:"command,omitempty"`
	Want    string   `json:"want,omitempty"`    // in words
	Of      string   `json:"of,omitempty"`      // the lines that it is about
	Now     []string `json:"now,omitempty"`     // after the step
	Started []string `json:"started,omitempty"` // after the start that follows it
	Back    []string `json:"back,omitempty"`    // after its undo; before its start
}

// Lacks compares what a command printed with patterns of a check. Empty: all of them match. Else it is what was printed instead.
func (c Check) Lacks(printed string, patterns []string) (string, error) {
	for _, p := range patterns {
		re, err := regexp.Compile("(?mi)" + p)
		if err != nil {
			return "", fmt.Errorf("check %q: %w", p, err)
		}
		if !re.MatchString(printed) {
			return c.about(printed)
		}
	}
	return "", nil
}

// about is the lines of an output that a check is about, for people.
func (c Check) about(printed string) (string, error) {
	of, err := regexp.Compile("(?i)" + c.Of)
	if err != nil {
		return "", fmt.Errorf("check %q: %w", c.Of, err)
	}
	const most = 4 // lines
	var lines []string
	for line := range strings.Lines(printed) {
		if line = strings.TrimSpace(line); line != "" && of.MatchString(line) && len(lines) < most {
			lines = append(lines, fabric.Quote(strings.Join(strings.Fields(line), " ")))
		}
	}
	if len(lines) == 0 {
		return "nothing of it", nil
	}
	return strings.Join(lines, ", "), nil
}

// kernelCheck is of esxcli system settings kernel list: Name, Type, Configured, Runtime, Default.
func kernelCheck(name, was, want string) Check {
	row := func(columns ...string) []string {
		for i, c := range columns {
			columns[i] = regexp.QuoteMeta(c)
		}
		return []string{`^` + regexp.QuoteMeta(name) + `\s+\S+\s+` + strings.Join(columns, `\s+`) + `\s`}
	}
	return Check{Command: "esxcli system settings kernel list -o " + fabric.ShellWord(name), Want: "Configured " + want + "; Runtime too after the start",
		Of: `^` + regexp.QuoteMeta(name), Now: row(want), Started: row(want, want), Back: row(was)}
}

// nicCheck is of mlxconfig -e: Default, Current, Next Boot.
func nicCheck(tool string, was, want []fabric.Option) Check {
	names := make([]string, 0, len(want))
	rows := func(of []fabric.Option, columns int) (all []string) {
		for _, o := range of {
			value := `(?:\w*\(` + regexp.QuoteMeta(o.Value) + `\)|` + regexp.QuoteMeta(o.Value) + `)`
			all = append(all, `^[*\s]*`+regexp.QuoteMeta(o.Name)+`\s.*`+strings.Repeat(`\s`+value, columns)+`\s*$`)
		}
		return all
	}
	for _, o := range want {
		names = append(names, o.Name)
	}
	return Check{Command: tool, Want: "Next Boot is as set; Current too after the start", Of: `\b(?:` + strings.Join(names, "|") + `)\b`,
		Now: rows(want, 1), Started: spaced(rows(want, 2)), Back: rows(was, 1)}
}

// spaced lets columns be any number of blanks apart.
func spaced(rows []string) []string {
	for i, r := range rows {
		rows[i] = strings.ReplaceAll(r, `)\s(`, `)\s+(`)
	}
	return rows
}

// parametersCheck is of esxcfg-module -g, which quotes the parameters as they were given.
func parametersCheck(was, want string) Check {
	row := func(options string) []string {
		return []string{`^` + driver + `\s.*options = '` + regexp.QuoteMeta(options) + `'`}
	}
	return Check{Command: "esxcfg-module -g " + driver, Want: "options = " + quoted(want), Of: `^` + driver, Now: row(want), Started: row(want), Back: row(was)}
}

// enabledCheck is of a list of names with true or false behind them.
func enabledCheck(command, name string, on bool) Check {
	row := func(on bool) []string {
		return []string{fmt.Sprintf(`^\s*%s\s+%t\b`, regexp.QuoteMeta(name), on)}
	}
	return Check{Command: command, Want: fmt.Sprintf("%s %t", name, on), Of: regexp.QuoteMeta(name), Now: row(on), Started: row(on), Back: row(!on)}
}

// ruleCheck is of the lines of passthru.map for a device.
func ruleCheck(rule fabric.ResetRule, was, want string) Check {
	row := func(method string) []string {
		if method == "" {
			return nil
		}
		return []string{fmt.Sprintf(`^\s*%04x\s+%04x\s+%s\b`, rule.Vendor, rule.Device, regexp.QuoteMeta(method))}
	}
	return Check{Command: "cat " + passthruMap, Want: "the line of the GPUs says " + want, Of: fmt.Sprintf(`^\s*%04x\s`, rule.Vendor), Now: row(want), Started: row(want), Back: row(was)}
}

// vibCheck is of the image that runs, and of the one of the next start.
func vibCheck(names []string) Check {
	var rows []string
	for _, n := range names {
		rows = append(rows, `^`+regexp.QuoteMeta(n)+`(?:-oem)?\s`)
	}
	return Check{Command: image + `echo "$l"`, Want: strings.Join(names, " and ") + " are listed",
		Of: strings.Join(rows, "|"), Now: rows, Started: rows}
}

// hiddenText is what is said of a NIC that mst does not show any more.
func hiddenText(address string) string {
	return "NIC " + address + " is passed through, so mst does not show it: its settings are read in its virtual machine, or after it is taken out"
}

// HiddenBy are the unknown facts, less those of NICs whose settings are known to have been made: mst does not show a NIC that is passed
// through.
func (p Preparation) HiddenBy(made func(address string) bool) []string {
	return slices.DeleteFunc(slices.Clone(p.Unknown), func(text string) bool {
		return slices.ContainsFunc(p.Hidden, func(address string) bool { return text == hiddenText(address) && made(address) })
	})
}

// powerCheck is of an advanced setting; static is the short name of High Performance.
func powerCheck(command, was, want string) Check {
	row := func(v string) []string {
		if strings.EqualFold(v, "High Performance") {
			v = "(?:High Performance|static)"
		} else {
			v = regexp.QuoteMeta(v)
		}
		return []string{`^\s*String Value: ` + v + `\s*$`}
	}
	return Check{Command: command, Want: "String Value: " + want, Of: `^String Value`, Now: row(want), Started: row(want), Back: row(was)}
}
