package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const (
	releaseFile     = "/proc/sys/kernel/osrelease"
	commandLineFile = "/proc/cmdline"
	modulesFile     = "/proc/modules"
	osReleaseFile   = "/etc/os-release"
)

func readKernel(_ context.Context, h host.Host, f *fabric.Facts) {
	if release := optional(h, f, fabric.FactKernelRelease, releaseFile); release != nil {
		f.Kernel.Release = *release
	}
	f.Kernel.CommandLine = optional(h, f, fabric.FactKernelCommandLine, commandLineFile)
	var err error
	if f.Kernel.OS, err = distribution(h); err != nil {
		miss(f, fabric.FactKernelOS, osReleaseFile, err)
	}
}

// distribution returns PRETTY_NAME of os-release(5), whose values may stand in quotes.
func distribution(h host.Host) (*string, error) {
	b, err := h.ReadFile(osReleaseFile)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			name := fabric.Printable(strings.Trim(value, `"'`))
			return &name, nil
		}
	}
	return nil, errors.New("no PRETTY_NAME")
}

// versionedModules are the drivers whose version matters for GPUDirect RDMA.
func versionedModules() []string {
	return []string{
		"amdgpu", "bnxt_en", "bnxt_re", "efa", "gdrdrv", "ib_core", "ib_peer_mem", "ice", "idpf", "ionic",
		"ionic_rdma", "irdma", "mlx5_core", "mlx5_ib", "nvidia", "nvidia_peermem", "rdma_rxe",
	}
}

// readModules lists the loaded modules, sorted, with the version of those that have one and matter.
func readModules(_ context.Context, h host.Host, f *fabric.Facts) {
	text, err := host.ReadString(h, modulesFile)
	if err != nil {
		miss(f, fabric.FactModules, modulesFile, err)
		return
	}
	versioned := versionedModules()
	foreign := 0
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, " ")
		if !isModuleName(name) {
			foreign++
			continue
		}
		m := fabric.Module{Name: name}
		if slices.Contains(versioned, name) {
			m.Version = moduleVersion(h, f, name)
		}
		f.Modules = append(f.Modules, m)
	}
	if foreign > 0 {
		miss(f, fabric.FactModules, modulesFile, fmt.Errorf("%s without the name of a module", fabric.Count(foreign, "line")))
	}
	slices.SortFunc(f.Modules, func(a, b fabric.Module) int { return strings.Compare(a.Name, b.Name) })
}

// moduleVersion is empty for a module that was built without one, as the kernel's own are.
func moduleVersion(h host.Host, f *fabric.Facts, name string) string {
	file := "/sys/module/" + name + "/version"
	text, err := host.ReadString(h, file)
	if err != nil && !host.IsAbsent(err) {
		miss(f, fabric.FactModuleVersion+" "+name, file, err)
	}
	return fabric.Printable(text)
}

func isModuleName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
