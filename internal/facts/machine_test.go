package facts

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

func machineFiles() map[string]string {
	return map[string]string{
		"/sys/class/dmi/id/sys_vendor":                             "Dell Inc.\n",
		"/sys/class/dmi/id/product_name":                           "PowerEdge XE9680\n",
		"/proc/cpuinfo":                                            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) Platinum 8480C\nflags\t\t: fpu vme hypervisor lahf_lm\n\nprocessor\t: 1\nmodel name\t: other\nflags\t\t: fpu\n",
		"/sys/kernel/iommu_groups/0/type":                          "identity\n",
		"/sys/kernel/iommu_groups/12/type":                         "identity\n",
		"/sys/devices/system/node/online":                          "0-1,4\n",
		"/sys/devices/system/node/node1/cpumap":                    "ffff0000,00000000\n",
		"/sys/devices/system/node/node0/cpumap":                    "00000000,0000ffff\n",
		"/proc/self/limits":                                        "Limit                     Soft Limit           Hard Limit           Units     \nMax processes             62797                62797                processes \nMax locked memory         unlimited            unlimited            bytes     \n",
		"/run/systemd/netif/state":                                 "OPER_STATE=routable\n",
		fabric.ACSUnitFile:                                         "[Unit]\n",
		fabric.ACSResultFile:                                       clearedACS,
		"/sys/class/dmi/id/bios_version":                           "2.1.3\n",
		"/proc/meminfo":                                            "MemTotal:       2113456789 kB\nMemFree:        1 kB\nSwapTotal:      0 kB\n",
		"/sys/devices/system/cpu/online":                           "0-110\n",
		"/sys/devices/system/cpu/present":                          "0-111\n",
		"/sys/devices/system/cpu/smt/control":                      "on\n",
		"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "performance\n",
		"/sys/devices/system/cpu/cpufreq/policy1/scaling_governor": "performance\n",
		"/dev/infiniband/uverbs0":                                  "", "/dev/infiniband/uverbs1": "", "/dev/infiniband/rdma_cm": "",
		"/etc/os-release":                       "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\n",
		"/proc/sys/kernel/osrelease":            "6.8.0-60-generic\n",
		"/proc/cmdline":                         "quiet iommu=pt\n",
		"/proc/modules":                         "nvidia_peermem 16384 0 - Live 0x0\nmlx5_core 2400000 1 mlx5_ib, Live 0x0\nxfs 1 0 - Live 0x0\nib_core 1 0 - Live 0x0\n",
		"/sys/module/mlx5_core/version":         "24.10-1.1.4\n",
		"/sys/module/nvidia_peermem/version":    "550.90.07\n",
		"/sys/module/xfs/version":               "1\n",
		"/proc/sys/kernel/numa_balancing":       "1\n",
		"/proc/sys/net/ipv4/tcp_rmem":           "4096\t131072\t6291456\n",
		"/proc/sys/net/ipv4/conf/all/rp_filter": "2\n",
	}
}

func TestReadMachine(t *testing.T) {
	h := fakeHost{files: machineFiles()}
	var f fabric.Facts
	readKernel(context.Background(), h, &f)
	readModules(context.Background(), h, &f)
	readMachine(context.Background(), h, &f)
	if len(f.Missing) > 0 {
		t.Error(f.Missing)
	}
	want := fabric.Machine{
		Vendor: new("Dell Inc."), Product: new("PowerEdge XE9680"), BIOS: new("2.1.3"), Hypervisor: new(true),
		IOMMUGroups: new(2), IOMMUMode: new("passthrough"), NUMANodes: new(3), MemlockLimit: new("unlimited"), NetworkManager: new("networkd"),
		MemoryKiB: new(2113456789), SwapKiB: new(0), CPUModel: new("Intel(R) Xeon(R) Platinum 8480C"), CPU: &fabric.CPUID{Vendor: "GenuineIntel", Family: 6, Model: 143},
		NUMA: []fabric.NUMA{{Number: 0, CPUs: "00000000,0000ffff"}, {Number: 1, CPUs: "ffff0000,00000000"}}, CPUsOnline: new(111), CPUsPresent: new(112),
		SMT: new("on"), Governor: new("performance"), RDMACharDevs: new(2), ACSUnit: &fabric.ACSUnit{Installed: true, State: "cleared", Bridges: 18},
	}
	if diff := cmp.Diff(want, f.Machine); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}
	kernel := fabric.Kernel{Release: "6.8.0-60-generic", CommandLine: new("quiet iommu=pt"), OS: new("Ubuntu 22.04.4 LTS")}
	if diff := cmp.Diff(kernel, f.Kernel); diff != "" {
		t.Errorf("kernel (-want +got):\n%s", diff)
	}
	modules := []fabric.Module{{Name: "ib_core"}, {Name: "mlx5_core", Version: "24.10-1.1.4"}, {Name: "nvidia_peermem", Version: "550.90.07"}, {Name: "xfs"}}
	if diff := cmp.Diff(modules, f.Modules); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
}

// TestReadMachineUnknown changes one file of a machine; its fact is then unknown, with the reason.
func TestReadMachineUnknown(t *testing.T) {
	for name, tt := range map[string]struct {
		change map[string]string
		want   []string
	}{
		"Arm": {map[string]string{"/proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd\n"}, []string{
			"machine.hypervisor: no flags line: this processor does not report it",
			"machine.cpu_model: no model name: this processor does not report it",
			"machine.cpu: no vendor_id, cpu family and model: this processor does not report it", "machine.cma_kib: no line CmaTotal",
		}},
		"groups differ":     {map[string]string{"/sys/kernel/iommu_groups/12/type": "DMA-FQ\n"}, []string{"machine.iommu_mode: groups differ: 1 passthrough, 1 translated"}},
		"another kind":      {map[string]string{"/sys/kernel/iommu_groups/12/type": "blocked\n"}, []string{`machine.iommu_mode: group 12 is of type "blocked"`}},
		"nodes are no list": {map[string]string{"/sys/devices/system/node/online": "0-\n"}, []string{`machine.numa_nodes: invalid list of numbers "0-"`}},
		"no limit":          {map[string]string{"/proc/self/limits": "Limit\n"}, []string{"machine.memlock_limit: no line for locked memory"}},
		"ACS result is cut": {map[string]string{fabric.ACSResultFile: clearedACS[:90]}, []string{"machine.acs_unit: line 1: unexpected end of JSON input"}},
		"memory in pages":   {map[string]string{"/proc/meminfo": "MemTotal: 5 pages\n"}, []string{`machine.memory_kib: "5 pages" is not a number of kB`, "machine.swap_kib: no line SwapTotal"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := machineFiles()
			maps.Copy(files, tt.change)
			var f fabric.Facts
			readMachine(context.Background(), fakeHost{files: files}, &f)
			if diff := cmp.Diff(tt.want, missingText(&f)); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIOMMUOff(t *testing.T) {
	var f fabric.Facts
	readIOMMU(fakeHost{files: map[string]string{"/sys/kernel/iommu_groups/": ""}}, &f)
	if *f.Machine.IOMMUGroups != 0 || *f.Machine.IOMMUMode != "off" || len(f.Missing) > 0 {
		t.Errorf("%+v, missing %v", f.Machine, f.Missing)
	}
}

func TestReadSysctls(t *testing.T) {
	var f fabric.Facts
	readSysctls(context.Background(), fakeHost{files: machineFiles()}, &f)
	want := map[string]string{"kernel.numa_balancing": "1", "net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.conf.all.rp_filter": "2"}
	if diff := cmp.Diff(want, f.Sysctls); diff != "" {
		t.Errorf("sysctls (-want +got):\n%s", diff)
	}
	if len(f.Missing) != len(sysctls())-len(want) {
		t.Errorf("%d sysctls of %d missing", len(f.Missing), len(sysctls()))
	}
}

// TestGovernor differs between CPUs, and is nobody's where a hypervisor decides.
func TestGovernor(t *testing.T) {
	files := machineFiles()
	files["/sys/devices/system/cpu/cpufreq/policy1/scaling_governor"] = "powersave\n"
	if g, err := governor(fakeHost{files: files}); err != nil || *g != "mixed" {
		t.Errorf("%v, %v", g, err)
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  string // empty: unknown
	}{
		"no policy, and the processor was not listed": {map[string]string{cpuPolicies + "/": ""}, ""},
		"no policy, the processor has one":            {map[string]string{cpuPolicies + "/": "", cpuFolder + "/cpu0/topology/core_id": "0", cpuFolder + "/cpu0/cpufreq": ""}, ""},
		"no policy, half a processor":                 {map[string]string{cpuFolder + "/cpu0/cache/index0": ""}, ""},
		"the firmware sets the clock":                 {map[string]string{cpuPolicies + "/": "", cpuFolder + "/cpu0/topology/core_id": "0"}, "none"},
		"a kernel without cpufreq":                    {map[string]string{cpuFolder + "/cpu0/topology/core_id": "0"}, "none"},
		"a policy without a governor":                 {map[string]string{cpuPolicies + "/policy0/related_cpus": "0", cpuFolder + "/cpu0/topology/core_id": "0"}, ""},
	} {
		g, err := governor(fakeHost{files: tt.files})
		if (err == nil) != (tt.want != "") || g != nil && *g != tt.want {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
}

// TestRDMACharDevices tells none from not captured.
func TestRDMACharDevices(t *testing.T) {
	if n, err := rdmaCharDevices(fakeHost{files: map[string]string{"/dev/null": ""}}); err != nil || *n != 0 {
		t.Errorf("with /dev: %v, %v", n, err)
	}
	if n, err := rdmaCharDevices(fakeHost{}); err == nil {
		t.Errorf("without /dev: %d, want unknown", *n)
	}
}
