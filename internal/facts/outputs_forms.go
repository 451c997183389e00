package facts

import (
	"slices"
	"strings"
	"sync"

	"railwright.dev/railwright/internal/esx"
	"railwright.dev/railwright/internal/nic"
	"railwright.dev/railwright/internal/pattern"
)

// outputForm is how the output of a tool begins and goes on in a text that holds other things too.
type outputForm struct {
	tool     string   // as people call it
	reader   string   // name of the text for FromText; empty: nothing is read of it
	signs    []string // a line has one of these, of three bytes or more, where the output begins; nil: it may be any
	begins   func(line string) bool
	goesOn   func(line string) bool
	searched bool                        // messages of programs stand in it
	asked    bool                        // its text does not say what it is about: the command does
	of       func(command string) string // the device that such a command asks about; without one nothing begins. Nil: any command
}

// grepTool is lspci behind a grep for its links.
const grepTool = "lspci link"

// routeTool is ip route, whose table stands in its command only.
const routeTool = "ip route"

// topoTool is nvidia-smi topo -m.
const topoTool = "nvidia-smi topo"

// outputForms are tried in this order. Each beginning is cheap to refuse: all lines that no result claims come here.
func outputForms() []outputForm {
	forms := systemForms()
	for _, r := range nic.Readers() {
		forms = append(forms, outputForm{tool: r.Name, reader: r.Name, signs: r.Signs, begins: r.Begins, goesOn: r.GoesOn, asked: true})
	}
	return append(forms, outputForm{tool: nic.BnxtReConf, reader: nic.BnxtReConf, begins: nic.IsBnxtReConf, goesOn: nic.IsBnxtReConf})
}

func systemForms() []outputForm {
	return []outputForm{
		{tool: "dmesg", reader: "dmesg", begins: isKernelLine, goesOn: isKernelLine, searched: true},
		{tool: "lspci", reader: "lspci", begins: isLspciHead, goesOn: orIndented(isLspciHead), searched: true},
		{tool: "lspci -t", signs: []string{"-[0", "-+-[", "\\-["}, begins: begins("-[0000", "-+-[", " \\-[", "-[00"), goesOn: isTreeLine},
		{tool: grepTool, signs: []string{"LnkSta:", "LnkCap:"}, begins: isLinkLine, goesOn: isLinkLine, searched: true},
		{tool: "ip address", reader: "ip address", signs: []string{": <"}, begins: isIPLink, goesOn: orIndented(isIPLink)},
		{tool: ipBriefTool, reader: ipBriefTool, signs: []string{" UP", "OWN"}, begins: isIPBrief, goesOn: isIPBrief},
		{tool: nmcliTool, reader: nmcliTool, signs: []string{"DEVICE"}, begins: isNmcliHead, goesOn: isNmcliLine},
		{tool: netplanTool, reader: netplanTool, signs: []string{"network:", "ethernets:", "renderer:"}, begins: isNetplanHead, goesOn: isNetplanGoingOn},
		{tool: portsTool, reader: portsTool, signs: []string{"pci="}, begins: isPortsLine, goesOn: isPortsLine},
		{tool: addressTool, reader: addressTool, signs: []string{"address ", "cable "}, begins: isAddressRow, goesOn: isAddressRow},
		{tool: hotPlugTool, reader: hotPlugTool, begins: knowsHotPlug, goesOn: never},
		{tool: autoTool, reader: autoTool, signs: []string{"Detected "}, begins: isAutoHead, goesOn: isAutoLine},
		{tool: "ip rule", reader: "ip rule", signs: []string{"from", "not"}, begins: isIPRule, goesOn: isRuleGoingOn},
		{tool: routeTool, reader: routeTool, signs: []string{"via", "dev", "proto", "table", "scope", "metric", "src", "nhid"}, begins: isIPRoute, goesOn: isRouteGoingOn, asked: true},
		{tool: "ibv_devinfo", reader: "ibv_devinfo", signs: []string{"hca_id:"}, begins: begins("hca_id:"), goesOn: orIndented(begins("hca_id:"))},
		{tool: "ibstat", reader: "ibstat", signs: []string{"CA '"}, begins: begins("CA '"), goesOn: orIndented(begins("CA '"))},
		{tool: "ibstatus", reader: "ibstatus", signs: []string{ibstatusHead}, begins: begins(ibstatusHead), goesOn: orIndented(begins(ibstatusHead))},
		{tool: "rdma link", reader: "rdma link", signs: []string{" physical_state "}, begins: isRDMALinkLine, goesOn: orIndented(isRDMALinkLine)},
		{tool: "ibdev2netdev", reader: "ibdev2netdev", signs: []string{" ==> "}, begins: isIbdevLine, goesOn: isIbdevLine},
		{tool: "show_gids", reader: "show_gids", signs: []string{"INDEX"}, begins: isGIDsHead, goesOn: isGIDsLine},
		{tool: "ethtool", reader: "ethtool", signs: []string{ethtoolHead}, begins: begins(ethtoolHead), goesOn: orIndented(begins(ethtoolHead))},
		{tool: smVirtualTool, reader: smVirtualTool, signs: []string{"virt"}, begins: isSMVirtual, goesOn: isSMVirtualGoingOn},
		{tool: fmpmTool, reader: fmpmTool, signs: pattern.Literals(fmpmHead(), fmpmField()), begins: beginsFMPM, goesOn: isFMPMLine, searched: true},
		{tool: modulesTool, reader: modulesTool, signs: []string{"Module Id"}, begins: isModuleLine, goesOn: isModuleLine, searched: true},
		{tool: regionsTool, reader: regionsTool, signs: []string{"Region "}, begins: isRegionLine, goesOn: isRegionLine, searched: true, asked: true, of: regionsOf},
		{tool: ethtoolPart, reader: ethtoolPart, signs: []string{"Speed: ", "Duplex: ", "Lanes: ", "Auto-negotiation: ", "Port: ", "Link detected: "}, begins: isEthtoolPart, goesOn: isEthtoolPart, asked: true, of: ethtoolOf},
		{tool: "ethtool -i", reader: "ethtool -i", signs: []string{ethtoolDriverHead}, begins: begins(ethtoolDriverHead), goesOn: isDriverLine},
		{tool: "ethtool --show-fec", reader: "ethtool --show-fec", signs: []string{ethtoolFECHead}, begins: begins(ethtoolFECHead), goesOn: begins(ethtoolFECHead, "Configured FEC", "Supported/Configured FEC", "Active FEC")},
		{tool: "nvidia-smi -q", reader: "nvidia-smi -q", signs: []string{nvidiaLogHead}, begins: begins(nvidiaLogHead), goesOn: isNvidiaLogLine},
		{tool: "nvidia-smi -q (a part)", reader: "nvidia-smi -q (a part)", signs: nvidiaParts(), begins: isNvidiaPart, goesOn: isNvidiaPartLine, searched: true},
		{tool: "nvidia-smi", reader: "nvidia-smi", signs: []string{"| NVIDIA-SMI "}, begins: isNvidiaTableHead, goesOn: begins("|", "+")},
		{tool: "nvidia-smi (a GPU that is lost)", reader: "nvidia-smi (a GPU that is lost)", signs: []string{"Unable to determine the device handle"}, begins: noHandle().MatchString, goesOn: noHandle().MatchString, searched: true},
		{tool: topoTool, signs: []string{"GPU0"}, begins: isTopoHead, goesOn: isTopoLine},
		{tool: nvlinkTool, reader: nvlinkTool, signs: []string{"(UUID: GPU-"}, begins: isNVLinkHead, goesOn: isNVLinkGoingOn},
		{tool: "nvidia-smi --query-gpu", reader: "nvidia-smi --query-gpu", signs: nvidiaColumns(), begins: isNvidiaCSV, goesOn: func(line string) bool { return strings.Contains(line, ", ") }},
		{tool: "systemctl show", reader: "systemctl show", signs: []string{loadState}, begins: begins(loadState), goesOn: begins("ActiveState=", "SubState=", "UnitFileState=")},
		{tool: "nvidia-fabricmanager", reader: "nvidia-fabricmanager", signs: []string{"abric"}, begins: isFabricManagerLine, goesOn: isFabricManagerGoingOn},
		{tool: "gpud", reader: "gpud", signs: []string{"| GPU UUID ", " checked fabric state"}, begins: isGpudLine, goesOn: begins("|", "+")},
		{tool: nvrmTool, reader: nvrmTool, signs: []string{"NVRM version: "}, begins: isNVRMLine, goesOn: begins("GCC version:")},
		{tool: "amd-smi", reader: "amd-smi", signs: []string{amdSMIHead}, begins: isAMDSMILine, goesOn: orIndented(isAMDSMILine)},
		{tool: "rocm-smi", reader: "rocm-smi", signs: []string{"GPU[", "====="}, begins: isRocmLine, goesOn: func(line string) bool { return isRocmLine(line) || begins("=====", "Driver version: ")(line) }},
		{tool: "modinfo", reader: "modinfo", signs: []string{modinfoHead}, begins: begins(modinfoHead), goesOn: isModinfoLine},
		{tool: "lsmod", reader: "lsmod", begins: isLsmodLine, goesOn: isLsmodLine},
		{tool: "ulimit", reader: "ulimit", begins: isUlimitLine, goesOn: isUlimitLine},
		{tool: "kernel command line", reader: "cmdline", signs: []string{commandLineHead}, begins: begins(commandLineHead), goesOn: never},
		{tool: "uname", reader: "uname", signs: []string{"Linux ", "VMkernel "}, begins: isUnameLine, goesOn: never},
		{tool: "kallsyms", reader: "kallsyms", signs: []string{peerMemorySymbol}, begins: isPeerSymbol, goesOn: isPeerSymbol, searched: true},
		{tool: "RDMA provider libraries", reader: "providers", signs: []string{"-rdmav"}, begins: isProviderLine, goesOn: isLibraryLine},
		{tool: "dpkg, rpm", reader: "packages", signs: packageSigns(), begins: func(line string) bool { return isPackageRow(line) || isDpkgHead(line) }, goesOn: isPackageLine},
		{tool: nftTablesTool, reader: nftTablesTool, signs: []string{"{\"nftables\":"}, begins: knowsNftTables, goesOn: never},
		{tool: nftTool, reader: nftTool, signs: []string{"table"}, begins: isNftTable, goesOn: isNftGoingOn},
		{tool: iptablesTool, reader: iptablesTool, signs: []string{"-P ", "-A "}, begins: isIptablesLine, goesOn: begins("-P ", "-N ", "-A ")},
		{tool: ufwTool, reader: ufwTool, signs: []string{"Status: "}, begins: isUFWHead, goesOn: isUFWLine},
		{tool: kubeTableTool, reader: kubeTableTool, signs: []string{"NAME"}, begins: isKubeHead, goesOn: isKubeRow, searched: true},
		{tool: "p2pBandwidthLatencyTest", signs: []string{"P2P"}, begins: isP2PLine, goesOn: isP2PMatrix},
	}
}

// forms is that list, made once.
var forms = sync.OnceValue(outputForms)

// signSet finds in one pass what a line may be: the beginning of an output of an ESX host, whose places come first, or of one of
// forms, a setting of NCCL, a row of an addressTable, a heading with the path of a file.
type signSet struct {
	*pattern.Set
	form    int // the place of the first form
	setting int
	address int
	joined  int
	netplan int
}

var lineSigns = sync.OnceValue(newSigns)

// Signs are what Outputs look for in each line. Who looks for other things in the same lines adds them behind.
func Signs() *pattern.Set { return newSigns().Set }

func newSigns() *signSet {
	set := &signSet{Set: esx.Beginnings(), form: -1}
	for _, f := range forms() {
		if place := set.Add(f.signs...); set.form < 0 {
			set.form = place
		}
	}
	set.setting = set.Add(settingSign)
	set.address, set.joined = set.Add(interfaceSign), set.Add(joints...)
	set.netplan = set.Add(pattern.Literals(netplanPath())...)
	return set
}

// beginningForm returns whose output a line begins; nil: nobody's. may is what lineSigns find in it.
func beginningForm(line string, may *pattern.Members) *outputForm {
	all, first := forms(), lineSigns().form
	for place := range may.Within(first, first+len(all)) {
		if i := place - first; all[i].begins(line) {
			return &all[i]
		}
	}
	return nil
}

func never(string) bool { return false }

func begins(heads ...string) func(string) bool {
	return func(line string) bool {
		return slices.ContainsFunc(heads, func(head string) bool { return strings.HasPrefix(line, head) })
	}
}

func orIndented(is func(string) bool) func(string) bool {
	return func(line string) bool { return line[0] == ' ' || line[0] == '\t' || is(line) }
}

// isKernelLine knows a line of dmesg, and one of syslog whose program is the kernel.
func isKernelLine(line string) bool {
	if strings.HasPrefix(line, "kernel: ") {
		return true
	}
	line = strings.TrimLeft(line, " ") // of a quotation
	if len(line) > 10 && digitStart(line) && line[2] == ':' {
		return clockLine().MatchString(line)
	}
	if line == "" || line[0] != '[' && line[0] != '<' && !fromFacility(line) {
		return false
	}
	_, stamped := logText(line)
	return stamped
}

// fromFacility reports whether a line begins with a facility of syslog, as one of dmesg -x does.
func fromFacility(line string) bool {
	for _, name := range [...]string{"kern", "daemon", "user", "syslog"} {
		if strings.HasPrefix(line, name) {
			return true
		}
	}
	return false
}

// clockLine is a line of journalctl -k of which somebody kept the clock alone: "11:33:11 mlx5_core 0000:01:00.0: firmware version".
var clockLine = pattern.New(`^[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)? (?:pci|pcieport|mlx5_core|mlx5_ib|nvidia|NVRM|cx7-pcie-hotplug|infiniband)[ :]`)

// hexStart reports whether a line begins with two hexadecimal digits, as each PCI address does.
func hexStart(line string) bool { return len(line) > 8 && isHexDigit(line[0]) && isHexDigit(line[1]) }

func isHexDigit(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isLspciHead(line string) bool {
	return hexStart(line) && strings.Contains(line[:min(len(line), 16)], ".") && lspciHead().MatchString(line) && !strings.Contains(line, "LnkCap") && !strings.Contains(line, "LnkSta")
}

func isTreeLine(line string) bool {
	text := strings.TrimLeft(line, " |")
	return strings.HasPrefix(text, "+-") || strings.HasPrefix(text, `\-`) || strings.HasPrefix(text, "-[") || text == ""
}

func digitStart(line string) bool { return line[0] >= '0' && line[0] <= '9' }

// isIPLink knows a line that was copied with the indentation of a document too.
func isIPLink(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return line != "" && digitStart(line) && strings.Contains(line, ": <") && ipLinkHead().MatchString(line)
}

func isIPRule(line string) bool {
	return digitStart(line) && isRuleLine(line)
}

// isRuleGoingOn knows a line that was copied from a page too, where one may be indented.
func isRuleGoingOn(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return line != "" && isIPRule(line)
}

// isIPRoute leaves out ip route get, which prints the one route that a packet of a user takes: it ends with that user.
func isIPRoute(line string) bool {
	return (digitStart(line) || strings.HasPrefix(line, "default ") || strings.HasPrefix(line, "unicast ") || strings.HasPrefix(line, "fe80:")) && !strings.Contains(line, " uid ") && isRouteLine(line)
}

// isRouteGoingOn knows what stands among routes: those of other types, which no rule reads, and the next hops of one.
func isRouteGoingOn(line string) bool {
	return isIPRoute(line) || begins(" ", "\t", "local ", "broadcast ", "multicast ", "unreachable ", "blackhole ", "prohibit ", "anycast ")(line)
}

func isRDMALinkLine(line string) bool {
	return strings.Contains(line, " physical_state ") && isRDMALink(line)
}

func isIbdevLine(line string) bool {
	return strings.Contains(line, " ==> ") && ibdev2netdevLine().MatchString(line)
}

func isDriverLine(line string) bool {
	return begins(ethtoolDriverHead, "version:", "firmware-version:", "expansion-rom-version:", "bus-info:", "supports-")(line)
}

func isNvidiaLogLine(line string) bool {
	return line[0] == ' ' || line[0] == '\t' || line[0] == '=' || strings.HasPrefix(line, "GPU ") || strings.Contains(line, " : ")
}

// isNvidiaPartLine knows what stands in blocks that were cut out of the log: pairs, the titles in them, what grep puts between.
func isNvidiaPartLine(line string) bool {
	text := strings.TrimSpace(line)
	return strings.Contains(line, " : ") || isNvidiaPart(line) || text == "--" ||
		slices.Contains([]string{"Health", "Volatile", "Aggregate", "Single Bit", "Double Bit", "Bank Remap Availability Histogram", "Aggregate Uncorrectable SRAM Sources"}, text)
}

// isNVLinkHead knows a GPU of nvidia-smi -L and of nvlink, which begin alike.
func isNVLinkHead(line string) bool {
	return strings.HasPrefix(line, "GPU ") && strings.Contains(line, "(UUID: GPU-")
}

func isNVLinkGoingOn(line string) bool {
	return isNVLinkHead(line) || isNVLinkLine(line) || (line[0] == ' ' || line[0] == '\t') && (strings.Contains(line, "Link ") || strings.Contains(line, "MIG "))
}

// isFabricManagerGoingOn knows the rest of systemctl status and of the log of Fabric Manager.
func isFabricManagerGoingOn(line string) bool {
	return isFabricManagerLine(line) || (line[0] == ' ' || line[0] == '\t') || begins("Build Info - ")(line)
}

func isNvidiaTableHead(line string) bool { return strings.HasPrefix(line, "| NVIDIA-SMI ") }

// topoHead is the first line of nvidia-smi topo -m, whose columns are the devices.
var topoHead = pattern.New(`^\s*(?:\x1b\[4m)?GPU0\s+(?:GPU[0-9]+|NIC[0-9]+|mlx[0-9]_[0-9]+|CPU Affinity)`)

func isTopoHead(line string) bool {
	return strings.Contains(line, "GPU0") && strings.Contains(line, "Affinity") && topoHead().MatchString(line)
}

func isTopoLine(line string) bool {
	text := strings.TrimLeft(line, " \t")
	switch {
	case begins("GPU", "NIC", "mlx", "Legend:", "bnxt_", "ibp", "roce")(text):
		return true
	}
	return begins("X ", "SYS ", "NODE ", "PHB ", "PXB ", "PIX ", "NV# ")(text) && strings.Contains(text, "=")
}

func isRocmLine(line string) bool {
	return strings.HasPrefix(line, "GPU[") && rocmLine().MatchString(strings.TrimSpace(line)) || strings.HasPrefix(line, "=====") && strings.Contains(line, " ROCm System Management Interface ")
}

func isModinfoLine(line string) bool {
	key, _, ok := strings.Cut(line, ":")
	return ok && len(key) < 24 && !strings.Contains(key, " ")
}

func isP2PLine(line string) bool {
	return strings.HasPrefix(line, "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]") || isP2PTitle(line)
}

func isP2PTitle(line string) bool {
	return strings.Contains(line, "P2P=") && (strings.Contains(line, "Matrix (GB/s)") || strings.Contains(line, "Latency Matrix (us)")) ||
		strings.HasPrefix(line, "P2P Connectivity Matrix")
}

// isP2PMatrix knows the titles and the rows of p2pBandwidthLatencyTest of the CUDA samples.
func isP2PMatrix(line string) bool {
	text := strings.TrimSpace(line)
	return isP2PTitle(text) || begins("Device: ", "Device=", `D\D`, "GPU ", "CPU ", "***NOTE", "So you can see", "NOTE: The CUDA Samples")(text) || digitStart(text)
}

// speaksUp reports whether a line that a tool prints in its ordinary form says that something failed.
func speaksUp(line string) bool {
	for _, word := range []string{"ERR!", "Unknown Error", "requires reset", "GPU is lost", "libibverbs: Warning", "rror: "} {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}
