package facts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const (
	cpuFolder   = "/sys/devices/system/cpu"
	cpuPolicies = cpuFolder + "/cpufreq"
	nodeFolder  = "/sys/devices/system/node"
	meminfoFile = "/proc/meminfo"
)

func readProcessors(h host.Host, f *fabric.Facts) {
	m := &f.Machine
	var err error
	if m.CPUModel, err = cpuModel(h); err != nil {
		miss(f, fabric.FactMachineCPUModel, cpuinfoFile, err)
	}
	if m.CPU, err = cpuID(h); err != nil {
		miss(f, fabric.FactMachineCPU, cpuinfoFile, err)
	}
	if m.NUMA, err = numaMasks(h); err != nil {
		miss(f, fabric.FactMachineNUMA, nodeFolder+"/node*/cpumap", err)
	}
	if m.CPUsOnline, err = countOf(h, cpuFolder+"/online"); err != nil {
		miss(f, fabric.FactMachineCPUsOnline, cpuFolder+"/online", err)
	}
	if m.CPUsPresent, err = countOf(h, cpuFolder+"/present"); err != nil {
		miss(f, fabric.FactMachineCPUsPresent, cpuFolder+"/present", err)
	}
	m.SMT = optional(h, f, fabric.FactMachineSMT, cpuFolder+"/smt/control")
	if m.Governor, err = governor(h); err != nil {
		miss(f, fabric.FactMachineGovernor, cpuPolicies+"/policy*/scaling_governor", err)
	}
}

// cpuModel is what the first processor calls itself. On Arm /proc/cpuinfo has numbers only.
func cpuModel(h host.Host) (*string, error) {
	b, err := h.ReadFile(cpuinfoFile)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := keyValue(line); ok && key == "model name" {
			value = fabric.Printable(value)
			return &value, nil
		}
	}
	return nil, errors.New("no model name: this processor does not report it")
}

// cpuID is the first processor's vendor, family and model. Only x86 has them.
func cpuID(h host.Host) (*fabric.CPUID, error) {
	b, err := h.ReadFile(cpuinfoFile)
	if err != nil {
		return nil, err
	}
	found := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		key, value, ok := keyValue(line)
		if _, again := found[key]; ok && !again {
			found[key] = value
		}
	}
	family, familyErr := strconv.Atoi(found["cpu family"])
	model, modelErr := strconv.Atoi(found["model"])
	if found["vendor_id"] == "" || familyErr != nil || modelErr != nil {
		return nil, errors.New("no vendor_id, cpu family and model: this processor does not report it")
	}
	return &fabric.CPUID{Vendor: fabric.Printable(found["vendor_id"]), Family: family, Model: model}, nil
}

// numaMasks reads which CPUs each NUMA node has.
func numaMasks(h host.Host) ([]fabric.NUMA, error) {
	names, err := h.ReadDir(nodeFolder)
	if err != nil {
		return nil, err
	}
	var out []fabric.NUMA
	for _, name := range names {
		number, err := strconv.Atoi(strings.TrimPrefix(name, "node"))
		if !strings.HasPrefix(name, "node") || err != nil {
			continue
		}
		mask, err := host.ReadString(h, nodeFolder+"/"+name+"/cpumap")
		if err != nil {
			return nil, err
		}
		out = append(out, fabric.NUMA{Number: number, CPUs: fabric.Printable(mask)})
	}
	slices.SortFunc(out, func(a, b fabric.NUMA) int { return cmp.Compare(a.Number, b.Number) })
	return out, nil
}

// noGovernor says that the kernel sets no clock: its firmware does.
const noGovernor = "none"

// governor is one word for all frequency policies, mixed where they differ.
func governor(h host.Host) (*string, error) {
	names, err := h.ReadDir(cpuPolicies)
	if err != nil && !host.IsAbsent(err) {
		return nil, err
	}
	found := ""
	for _, name := range names {
		if !strings.HasPrefix(name, "policy") {
			continue
		}
		text, err := host.ReadString(h, cpuPolicies+"/"+name+"/scaling_governor")
		switch {
		case err != nil:
			return nil, err
		case found != "" && found != text:
			mixed := "mixed"
			return &mixed, nil
		}
		found = text
	}
	if found == "" {
		return withoutPolicy(h)
	}
	found = fabric.Printable(found)
	return &found, nil
}

// withoutPolicy asks the first processor too: a list of policies that is empty may have been lost.
func withoutPolicy(h host.Host) (*string, error) {
	const first = cpuFolder + "/cpu0"
	names, err := h.ReadDir(first)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(names, "cpufreq"):
		return nil, errors.New("no frequency policy is listed, but the first processor has one")
	case !slices.Contains(names, "topology"): // which every processor has: the list is whole
		return nil, errors.New("no frequency policy is listed, and the files of the first processor were not all listed")
	}
	none := noGovernor
	return &none, nil
}

func readMemory(h host.Host, f *fabric.Facts) {
	b, err := h.ReadFile(meminfoFile)
	if err != nil {
		miss(f, fabric.FactMachineMemory, meminfoFile, err)
		miss(f, fabric.FactMachineSwap, meminfoFile, err)
		return
	}
	if f.Machine.MemoryKiB, err = memoryLine(string(b), "MemTotal"); err != nil {
		miss(f, fabric.FactMachineMemory, meminfoFile, err)
	}
	if f.Machine.CMAKiB, err = memoryLine(string(b), "CmaTotal"); err != nil { // a kernel without CONFIG_CMA has no such line
		f.Machine.CMAKiB = nil
		if f.Machine.CPU == nil { // the x86 kernels of servers have none, and need none
			miss(f, fabric.FactMachineCMA, meminfoFile, err)
		}
	}
	if f.Machine.SwapKiB, err = memoryLine(string(b), "SwapTotal"); err != nil {
		miss(f, fabric.FactMachineSwap, meminfoFile, err)
	}
}

// memoryLine reads "MemTotal:       2113456789 kB"; the kernel's kB are KiB.
func memoryLine(text, name string) (*int, error) {
	for line := range strings.Lines(text) {
		key, value, ok := keyValue(line)
		if !ok || key != name {
			continue
		}
		number, unit, _ := strings.Cut(value, " ")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || unit != "kB" {
			return nil, fmt.Errorf("%q is not a number of kB", fabric.Printable(value))
		}
		return &n, nil
	}
	return nil, fmt.Errorf("no line %s", name)
}

// rdmaCharDevices counts /dev/infiniband/uverbs*. Where /dev is there and has no such folder, there are none;
// a capture without /dev does not tell.
func rdmaCharDevices(h host.Host) (*int, error) {
	names, err := h.ReadDir(devFolder + "/infiniband")
	if host.IsAbsent(err) {
		_, err = h.ReadDir(devFolder)
	}
	if err != nil {
		return nil, err
	}
	n := 0
	for _, name := range names {
		if strings.HasPrefix(name, "uverbs") {
			n++
		}
	}
	return &n, nil
}
