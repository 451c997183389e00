package facts

import (
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// Headings by which people say whose output follows: "On node 1:", "# node15", "**Spark-1 (HOST)**", "Create
// /etc/netplan/40-cx7.yaml on spark2:", "# /etc/netplan/40-cx7.yaml — GX10-001".
var (
	headingNumber = pattern.New(`(?i)(?:^|[\s(*` + "`" + `])((?:[a-z][a-z0-9]*-)*(?:spark|node|gx10|gb10|dgx|host)(?:[-_ ]?[0-9]{1,3}|[-_ ][a-z])(?:-[0-9]{1,3})?)(?:[\s):*,` + "`" + `（(]|$)`)
	// headingFar is what stands before the name of the machine at the other end of a cable: "# Link to Node B"
	headingFar = pattern.New(`(?i)\b(?:to|towards?|from|with|peer|neighbou?r)[\s:*` + "`" + `(]+$`)
	headingOn  = pattern.New(`\bon ([a-z][\w-]{0,30}):\s*\**$`)
)

// headingHost is the host that a heading names; empty: the line is no heading, or names none. Words in a sentence are none.
func headingHost(line string) string {
	text := strings.TrimSpace(line)
	marked := strings.HasPrefix(text, "#") || strings.HasPrefix(text, "**") || strings.HasSuffix(text, ":")
	const most = 12 // words
	if !marked || len(strings.Fields(text)) > most || strings.HasPrefix(text, "#!") {
		return ""
	}
	if m := headingOn().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	text = strings.TrimLeft(text, "#* ")
	if at := headingNumber().FindStringSubmatchIndex(text); at != nil && !headingFar().MatchString(text[:at[2]]) {
		return strings.ToLower(strings.ReplaceAll(text[at[2]:at[3]], " ", ""))
	}
	return ""
}
