package facts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const (
	dmiFolder      = "/sys/class/dmi/id"
	cpuinfoFile    = "/proc/cpuinfo"
	iommuFolder    = "/sys/kernel/iommu_groups"
	numaOnlineFile = "/sys/devices/system/node/online"
	limitsFile     = "/proc/self/limits"
	devFolder      = "/dev"
)

func readMachine(_ context.Context, h host.Host, f *fabric.Facts) {
	m := &f.Machine
	m.Vendor = optional(h, f, fabric.FactMachineVendor, dmiFolder+"/sys_vendor")
	m.Product = optional(h, f, fabric.FactMachineProduct, dmiFolder+"/product_name")
	m.BIOS = optional(h, f, fabric.FactMachineBIOS, dmiFolder+"/bios_version")
	var err error
	if m.Hypervisor, err = hypervisor(h); err != nil {
		miss(f, fabric.FactMachineHypervisor, cpuinfoFile, err)
	}
	readIOMMU(h, f)
	if m.NUMANodes, err = countOf(h, numaOnlineFile); err != nil {
		miss(f, fabric.FactMachineNUMANodes, numaOnlineFile, err)
	}
	readProcessors(h, f)
	readMemory(h, f)
	if m.RDMACharDevs, err = rdmaCharDevices(h); err != nil {
		miss(f, fabric.FactMachineRDMACharDevices, devFolder+"/infiniband", err)
	}
	if m.MemlockLimit, err = memlock(h); err != nil {
		miss(f, fabric.FactMachineMemlockLimit, limitsFile, err)
	}
	if m.NetworkManager, err = networkOwner(h); err != nil {
		miss(f, fabric.FactMachineNetworkOwner, ownerFolders, err)
	}
	if m.ACSUnit, err = acsUnit(h); err != nil {
		miss(f, fabric.FactMachineACSUnit, fabric.ACSUnitFile+", "+fabric.ACSResultFile, err)
	}
}

// hypervisor looks for the CPU flag that every x86 hypervisor sets for its guests. Arm has no such flag.
func hypervisor(h host.Host) (*bool, error) {
	b, err := h.ReadFile(cpuinfoFile)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		key, flags, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "flags" {
			found := slices.Contains(strings.Fields(flags), "hypervisor")
			return &found, nil
		}
	}
	return nil, errors.New("no flags line: this processor does not report it")
}

// readIOMMU counts the groups and reads how the kernel lets devices address memory.
func readIOMMU(h host.Host, f *fabric.Facts) {
	groups, err := h.ReadDir(iommuFolder)
	if err != nil {
		miss(f, fabric.FactMachineIOMMUGroups, iommuFolder, err)
		miss(f, fabric.FactMachineIOMMUMode, iommuFolder, err)
		return
	}
	n := len(groups)
	f.Machine.IOMMUGroups = &n
	mode, err := iommuMode(h, groups)
	if err != nil {
		miss(f, fabric.FactMachineIOMMUMode, iommuFolder+"/*/type", err)
		return
	}
	f.Machine.IOMMUMode = &mode
}

// iommuMode is one word for all groups. Where groups differ, no one word is true.
func iommuMode(h host.Host, groups []string) (string, error) {
	if len(groups) == 0 {
		return "off", nil
	}
	count := make(map[string]int)
	for _, g := range groups {
		kind, err := host.ReadString(h, iommuFolder+"/"+g+"/type")
		if err != nil {
			return "", err
		}
		switch kind {
		case "DMA", "DMA-FQ":
			count["translated"]++
		case "identity":
			count["passthrough"]++
		default:
			return "", fmt.Errorf("group %s is of type %q", fabric.Printable(g), fabric.Printable(kind))
		}
	}
	modes := slices.Sorted(maps.Keys(count))
	if len(modes) > 1 {
		return "", fmt.Errorf("groups differ: %d passthrough, %d translated", count["passthrough"], count["translated"])
	}
	return modes[0], nil
}

// countOf counts the numbers of a file such as 0-1,4.
func countOf(h host.Host, file string) (*int, error) {
	text, err := host.ReadString(h, file)
	if err != nil {
		return nil, err
	}
	n, err := countList(text)
	if err != nil {
		return nil, err
	}
	return &n, nil
}

func countList(text string) (int, error) {
	n := 0
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err1 != nil || err2 != nil || to < from {
			return 0, fmt.Errorf("invalid list of numbers %q", fabric.Printable(text))
		}
		n += int(to-from) + 1
	}
	return n, nil
}

// memlock returns the soft limit of locked memory in bytes, or unlimited.
func memlock(h host.Host) (*string, error) {
	b, err := h.ReadFile(limitsFile)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		rest, ok := strings.CutPrefix(line, "Max locked memory")
		if fields := strings.Fields(rest); ok && len(fields) > 0 {
			limit := fabric.Printable(fields[0])
			return &limit, nil
		}
	}
	return nil, errors.New("no line for locked memory")
}
