package facts

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

const dkmsFolder = "/var/lib/dkms"

// dkmsRuns runs dkms only where DKMS has state and a module is loaded that it may have built: dkms is a script
// that takes seconds where there are many kernels.
func dkmsRuns(h host.Host, f *fabric.Facts) []toolRun {
	names, err := h.ReadDir(dkmsFolder)
	kept := slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, "dkms_") })
	if err != nil || !kept || len(modinfoRuns(h, f)) == 0 {
		return nil
	}
	return []toolRun{{argv: []string{"dkms", "status"}}}
}

// dkmsLine is a line of dkms 3 and of dkms 2:
//
//	amdgpu/6.8.5-2009582.22.04, 5.15.0-119-generic, x86_64: installed
//	nvidia, 535.183.01, 6.8.0-60-generic, x86_64: installed (original_module exists)
//	bnxt_en/1.10.3: added
var dkmsLine = pattern.New(`^([\w.+-]+)(?:/|, )([\w.+:~-]+?)(?:, ([\w.+~-]+), ([\w-]+))?: (added|built|installed)\b`)

func knowsDKMS(text string) bool {
	return hasLine(text, func(line string) bool { return dkmsLine().MatchString(strings.TrimSpace(line)) })
}

// parseDKMS reads dkms status for a kernel. A module that is built for other kernels only is no more than
// added for this one. Where the kernel is unknown, only a module of one state everywhere has one.
func parseDKMS(text, release string) (fabric.Facts, error) {
	states := make(map[string]string)
	var order []string
	found := false
	for line := range strings.Lines(text) {
		m := dkmsLine().FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		found = true
		name, kernel, state := m[1], m[3], m[5]
		if release != "" && kernel != release {
			state = "added"
		}
		for _, module := range dkmsModules(name) {
			old, seen := states[module]
			switch {
			case !seen:
				order = append(order, module)
				states[module] = state
			case release == "" && old != state:
				states[module] = ""
			case release != "" && dkmsRank(state) > dkmsRank(old):
				states[module] = state
			}
		}
	}
	if !found {
		return fabric.Facts{}, errForeignText
	}
	var f fabric.Facts
	for _, module := range order {
		f.Modules = append(f.Modules, fabric.Module{Name: module, DKMS: states[module]})
	}
	return f, nil
}

func dkmsRank(state string) int { return slices.Index([]string{"added", "built", "installed"}, state) }

// dkmsModules returns the modules that a package builds: most build one of their own name.
func dkmsModules(name string) []string {
	switch name {
	case "mlnx-ofed-kernel":
		return []string{"ib_core", "mlx5_core", "mlx5_ib"}
	case "nvidia", "nvidia-open", "nvidia-srv", "nvidia-srv-open":
		return []string{"nvidia", "nvidia_peermem"}
	case "netxtreme-peer-mem":
		return []string{"ib_peer_mem"}
	default:
		return []string{strings.ReplaceAll(name, "-", "_")}
	}
}
