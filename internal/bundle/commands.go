package bundle

import (
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// Bounds of a bundle, so that a driver on which a tool hangs costs minutes and a log that never ends costs megabytes.
const (
	// commandTime is for one command: tools answer within a second or two, nvidia-smi -q within some seconds a GPU.
	commandTime = 30 * time.Second
	// allTime is for all commands together. A server with 8 NICs takes about half a minute.
	allTime = 5 * time.Minute
	// maxPiece is what is kept of one output, in bytes: lspci -vvv of a node of 250 functions prints less than 1 MiB, the
	// kernel's log and the journal some MiB.
	maxPiece = 4 << 20
	// maxPieces is what is kept of all of them, in bytes.
	maxPieces = 64 << 20
	// maxNICs is of how many interfaces each is asked about: physical ones, of which the largest servers have some ten.
	maxNICs = 32
)

// journalUnits are the services whose log tells about the fabric.
func journalUnits() []string {
	return []string{"lldpd", "NetworkManager", "systemd-networkd", "nvidia-fabricmanager", "nvidia-persistenced", "opensmd", "openibd", "firewalld", "ufw", "railwright-acs"}
}

// modules are the drivers of NICs and GPUs with what lies between them.
func modules() []string {
	return []string{"bnxt_en", "bnxt_re", "ib_peer_mem", "mlx5_core", "mlx5_ib", "ionic", "ionic_rdma", "ib_core", "ib_uverbs", "amdgpu", "nvidia", "nvidia_peermem"}
}

// commands are what support of NIC, GPU and system asks for first (Broadcom 957608-AN209, 2.6, 5.1, 5.2 and chapter 7;
// linux-rdma and NVIDIA bug report forms). Each only reads.
func commands() []string {
	fixed := []string{
		"uname -a", "lscpu", "numactl --hardware",
		"lspci -vvv", "lspci -tv", "lspci -nn",
		"dmesg", "lsmod", "dkms status",
		"ip -details address", "ip -s -s link", "ip rule", "ip route show table all", "ip neighbour",
		"rdma dev show", "rdma -d link show", "rdma statistic show", "rdma system show",
		"ibv_devinfo -v", "ibstat", "ibstatus", "ibdev2netdev", "show_gids",
		"nvidia-smi -q", "nvidia-smi topo -m", "nvidia-smi nvlink --status",
		"rocm-smi --showallinfo", "rocm-smi --showtopo", "rocm-smi --showbus --showproductname --showuniqueid --showvbios --showdriverversion",
		"amd-smi version", "amd-smi static", "amd-smi topology", "amd-smi firmware", "amd-smi bad-pages",
		"niccli --list_devices", "ofed_info -s", "mst status -v",
		"nft list ruleset", "iptables -S", "ufw status verbose", "firewall-cmd --state",
		"lldpcli -f json0 show neighbors details",
		"dpkg -l", "rpm -qa",
		// Chosen by name: others hold keys (tcp_fastopen_key, stable_secret).
		`sysctl -a -r ^(kernel\.numa|kernel\.osrelease|net\.core\.[rw]mem|net\.ipv4\.(conf|neigh)\.|vm\.(zone|swappiness|nr_hugepages|overcommit))`,
		"journalctl --no-pager --boot --lines 20000 --unit " + strings.Join(journalUnits(), " --unit "),
	}
	for _, m := range modules() {
		fixed = append(fixed, "modinfo "+m)
	}
	return fixed
}

// lists are the programs that print a list in which no line is a message of a program.
func lists() []string { return []string{"lscpu", "numactl", "dpkg", "rpm", "sysctl"} }

// filesToRead are settings of host software.
func filesToRead() []string {
	return []string{
		"/etc/os-release", "/proc/cmdline", "/proc/meminfo", "/proc/interrupts", "/etc/bnxt_re/bnxt_re.conf",
		"/etc/security/limits.conf", "/usr/lib/udev/rules.d/60-rdma-persistent-naming.rules", "/etc/libibverbs.d/bnxt_re.driver",
		"/proc/driver/nvidia/version", "/proc/driver/nvidia/params", "/sys/module/amdgpu/version",
	}
}

// ask is a command of the bundle.
type ask struct{ argv []string }

func asks(f *fabric.Facts) (all []ask, leftOut []string) {
	for _, line := range commands() {
		all = append(all, ask{strings.Fields(line)})
	}
	n := 0
	for i := range f.NICs {
		nic := &f.NICs[i]
		if nic.PCI == "" || nic.Name == "" || strings.HasPrefix(nic.Name, "-") {
			continue
		}
		if n++; n > maxNICs {
			leftOut = append(leftOut, nic.Name)
			continue
		}
		all = append(all, nicAsks(nic)...)
	}
	return all, leftOut
}

// nicAsks are the commands about one interface.
func nicAsks(nic *fabric.NIC) []ask {
	var out []ask
	for _, option := range []string{"", "-i", "-S", "-m", "-a", "-g", "--show-fec", "--show-priv-flags"} {
		argv := []string{"ethtool", option, nic.Name}
		out = append(out, ask{slices.DeleteFunc(argv, func(a string) bool { return a == "" })})
	}
	switch nic.Driver {
	case "bnxt_en":
		out = append(out, broadcomAsks(nic.PCI)...)
	case "mlx5_core":
		out = append(out, ask{[]string{"mlnx_qos", "-i", nic.Name}}, ask{[]string{"mlxlink", "-d", nic.PCI}}, ask{[]string{"mlxconfig", "-d", nic.PCI, "query"}})
	}
	return out
}

// broadcomAsks are niccli's (Broadcom 957608-AN209, 2.2.1.2, 2.2.1.3, 2.2.3 and 5.1 no. 9), in the syntax of NIC release 2.34.
func broadcomAsks(pci string) []ask {
	device := strings.TrimPrefix(pci, "0000:") // niccli takes bus:device.function
	function := pci[strings.LastIndexByte(pci, '.')+1:]
	of := func(words ...string) ask { return ask{append([]string{"niccli", "--dev", device}, words...)} }
	out := []ask{of("show", "-p"), of("qos", "--ets", "--show")}
	for _, option := range []string{"performance_profile", "pcie_relaxed_ordering", "enable_sriov"} {
		out = append(out, of("nvm", "--getoption", option))
	}
	for _, option := range []string{"support_rdma", "dcbx_mode", "lldp_nearest_bridge", "lldp_nearest_non_tpmr_bridge", "default_evb_mode"} {
		out = append(out, of("nvm", "--getoption", option, "--scope", function))
	}
	return out
}

// NotRun is a vendor's own collecting tool, which a person runs where support asks for it: each takes minutes, writes files
// of its own, and nothing redacts those.
type NotRun struct {
	Command string `json:"command"`
	Why     string `json:"why"`
	Source  string `json:"source"`
}

func notRun() []NotRun {
	return []NotRun{
		{"bcm_sosreport", "Broadcom's collector; install its package from the NIC release first", "Broadcom 957608-AN209, 5.2"},
		{"rocm_techsupport.sh", "AMD's collector, from github.com/amddcgpuce/rocmtechsupport", "Broadcom 957608-AN209, chapter 7"},
		{"nvidia-bug-report.sh", "NVIDIA's collector, installed with its driver; it may hang on a GPU that fell off the bus: --safe-mode", "NVIDIA GPU debug guidelines"},
	}
}
