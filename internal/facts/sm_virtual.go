package facts

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// smVirtualTool is what says whether a subnet manager knows virtual ports: show ib sm virt of MLNX-OS, or opensm.conf.
const smVirtualTool = "show ib sm virt"

var (
	smVirtualAsks = pattern.New(`[#>] ?show ib sm virt$`)
	smVirtualSays = pattern.New(`^\s*(Enabled|Disabled|Ignored|enabled|disabled|ignored)$`)
	openSMVirtual = pattern.New(`^virt_enabled\s+([0-2])$`)
)

func isSMVirtual(line string) bool {
	line = strings.TrimRight(line, " \r\n")
	return strings.Contains(line, "virt") && (smVirtualAsks().MatchString(line) || openSMVirtual().MatchString(line))
}

func isSMVirtualGoingOn(line string) bool {
	return smVirtualSays().MatchString(strings.TrimRight(line, " \r\n"))
}

func knowsSMVirtual(text string) bool { return hasLine(text, isSMVirtual) }

// parseSMVirtual takes what stands behind the command, or the last line of the file, which counts.
func parseSMVirtual(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	asked := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if m := openSMVirtual().FindStringSubmatch(line); m != nil {
			f.SMVirtual, asked = m[1], false
			continue
		}
		if m := smVirtualSays().FindStringSubmatch(line); m != nil && asked {
			f.SMVirtual = strings.ToUpper(m[1][:1]) + m[1][1:]
		}
		asked = smVirtualAsks().MatchString(line)
	}
	if f.SMVirtual == "" {
		return f, errForeignText
	}
	return f, nil
}
