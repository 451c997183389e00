package facts

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// lsmodLine is "nvidia_peermem         16384  0" and with those that use it behind; a size is of whole pages.
var lsmodLine = pattern.New(`^([a-zA-Z0-9_]+) {2,}([0-9]{4,9}) {1,6}-?[0-9]{1,5}(?: +[a-zA-Z0-9_,\[\]-]+)?$`)

func isLsmodLine(line string) bool {
	if strings.HasPrefix(line, "Module ") && strings.HasSuffix(strings.TrimSpace(line), "Used by") {
		return true
	}
	if name := strings.IndexByte(line, ' '); name < 1 || !strings.HasPrefix(line[name:], "  ") {
		return false
	}
	m := lsmodLine().FindStringSubmatch(strings.TrimRight(line, " \r\n"))
	if m == nil {
		return false
	}
	size := number(m[2])
	return size != nil && *size%4096 == 0 && isModuleName(m[1])
}

func knowsLsmod(text string) bool { return hasLine(text, isLsmodLine) }

// parseLsmod reads lsmod, whole or what grep left of it. Versions are not in it.
func parseLsmod(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if m := lsmodLine().FindStringSubmatch(line); m != nil && isLsmodLine(line) {
			f.Modules = append(f.Modules, fabric.Module{Name: m[1]})
		}
	}
	if len(f.Modules) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}
