package facts

import (
	"path"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// modinfoRuns asks once for all loaded modules whose version matters: what is installed may be newer than
// what runs.
func modinfoRuns(_ host.Host, f *fabric.Facts) []toolRun {
	argv := []string{"modinfo"}
	versioned := versionedModules()
	for _, m := range f.Modules {
		if slices.Contains(versioned, m.Name) {
			argv = append(argv, m.Name)
		}
	}
	if len(argv) == 1 {
		return nil
	}
	return []toolRun{{argv: argv}}
}

const modinfoHead = "filename:"

func knowsModinfo(text string) bool {
	return hasLine(text, func(line string) bool {
		return strings.HasPrefix(line, modinfoHead) && moduleOfFile(line) != ""
	})
}

// moduleOfFile takes mlx5_core from "filename: /lib/modules/6.8.0/updates/dkms/mlx5_core.ko.zst". Of a module
// that is built in the kernel there is no file: "(builtin)".
func moduleOfFile(line string) string {
	_, file, _ := keyValue(line)
	name, _, ok := strings.Cut(path.Base(file), ".ko")
	name = strings.ReplaceAll(name, "-", "_")
	if !ok || !isModuleName(name) {
		return ""
	}
	return name
}

// parseModinfo reads modinfo of one or more modules.
func parseModinfo(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	known := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, modinfoHead) {
			name := moduleOfFile(line)
			if known = name != ""; known {
				f.Modules = append(f.Modules, fabric.Module{Name: name})
			}
			continue
		}
		if key, value, ok := keyValue(line); ok && known && key == "version" {
			f.Modules[len(f.Modules)-1].OnDisk = fabric.Printable(value)
		}
	}
	if len(f.Modules) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}
