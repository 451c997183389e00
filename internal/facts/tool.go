package facts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const (
	// toolTime is for all runs of one tool. They answer within some hundred milliseconds; nvidia-smi takes
	// some seconds where the driver has to wake the GPUs first.
	toolTime = 5 * time.Second
	// toolsTime is for all tools together, so that a driver on which each of them hangs costs one node's
	// collecting no more than this.
	toolsTime = 15 * time.Second
	// toolGrace is how long a killed tool may take to be gone. One that waits inside a driver cannot be killed.
	toolGrace = time.Second
	// maxToolText is in bytes: lspci -vvv of a node of 250 functions prints less than 1 MiB.
	maxToolText = 10 << 20
	// maxDevices bounds each list of devices that a text lists: 64 NICs of 256 virtual functions.
	maxDevices = 1 << 14
)

// tool is a program that reports what the kernel did not. Its parts are facts with nothing in them but what the
// text says; merger puts them in.
type tool struct {
	name  string   // as Missing and evidence name it: the command without its device
	gives []string // paths of facts that are unknown where the tool cannot be run
	runs  func(h host.Host, f *fabric.Facts) []toolRun
	knows func(text string) bool                          // whether a text is what this tool prints
	parse func(text, device string) (fabric.Facts, error) // device: of toolRun
}

// toolRun is one command; device is what it is asked about, where its text may not name it.
type toolRun struct {
	argv   []string
	device string
}

// tools are in order of trust: where two of them report one fact, the first is kept.
func tools(f *fabric.Facts) []tool {
	return append(systemTools(f), settingsTools(f)...)
}

func systemTools(f *fabric.Facts) []tool {
	return []tool{
		{"lspci", []string{fabric.FactPCI, fabric.FactGPUs}, lspciRuns, knowsLspci, parseLspciText},
		{"ip address", []string{fabric.FactNICs, fabric.FactNICAddresses}, ipAddressRuns, knowsIPAddress, parseIPAddress},
		{"ip rule", []string{fabric.FactRules}, ipRuleRuns, knowsIPRule, parseIPRule},
		{"ip route", []string{fabric.FactRoutes}, ipRouteRuns, knowsIPRoute, parseIPRoute},
		{"ibv_devinfo", []string{fabric.FactPortActiveMTU, fabric.FactPortMaxMTU}, ibvDevinfoRuns, knowsIbvDevinfo, parseIbvDevinfo},
		{"ibstat", []string{fabric.FactHCAs}, ibstatRuns, knowsIbstat, parseIbstat},
		{"rdma link", []string{fabric.FactPortGIDNetDev}, rdmaLinkRuns, knowsRDMALink, parseRDMALink},
		{"ibdev2netdev", []string{fabric.FactPortGIDNetDev}, ibdev2netdevRuns, knowsIbdev2netdev, parseIbdev2netdev},
		{"ethtool", []string{fabric.FactNICSpeed, fabric.FactNICAutoneg}, ethtoolRuns(), knowsEthtool, parseEthtool},
		{"ethtool -i", []string{fabric.FactNICFirmware, fabric.FactNICDriverVersion}, ethtoolRuns("-i"), knowsEthtoolDriver, parseEthtoolDriver},
		{"ethtool --show-fec", []string{fabric.FactNICFEC}, ethtoolRuns("--show-fec"), knowsEthtoolFEC, parseEthtoolFEC},
		{"nvidia-smi", append(gpuPaths(f, "nvidia"), fabric.FactGPUHealth), nvidiaSMIRuns, knowsNvidiaSMI, parseNvidiaSMI},
		{"rocm-smi", gpuPaths(f, "amd"), rocmSMIRuns, knowsRocmSMI, parseRocmSMI},
		{"amd-smi", nil, nil, knowsAMDSMI, parseAMDSMI},
		{"gpud", nil, nil, knowsGpud, parseGpud},
		{"systemctl show", []string{fabric.FactFabricManager}, fabricManagerRuns, knowsUnitShow, parseUnitShow},
		{"nv-fabricmanager", []string{fabric.FactFabricManagerVersion}, fabricManagerVersionRuns, knowsFabricManager, parseFabricManager},
		{nvrmTool, nil, nil, knowsNVRM, parseNVRM},
		{"kallsyms", []string{fabric.FactKernelPeerMemory, fabric.FactKernelDMABuf}, nil, knowsSymbols, parseSymbols},
		{"ibstatus", nil, nil, knowsIbstatus, parseIbstatus},
		{"show_gids", nil, nil, knowsShowGIDs, parseShowGIDs},
		{"lsmod", nil, nil, knowsLsmod, parseLsmod},
		{"ulimit", nil, nil, knowsUlimit, parseUlimit},
		{"/proc/cmdline", nil, nil, knowsCommandLine, parseCommandLine},
		{"uname", nil, nil, knowsUname, parseUname},
		{"modinfo", []string{fabric.FactModuleOnDisk}, modinfoRuns, knowsModinfo, parseModinfo},
		{"dkms status", []string{fabric.FactModuleDKMS}, dkmsRuns, knowsDKMS, func(text, _ string) (fabric.Facts, error) {
			return parseDKMS(text, f.Kernel.Release)
		}},
		{"providers", []string{fabric.FactProviders}, providersRuns, knowsProviders, parseProviders},
		{packagesTool, []string{fabric.FactPackages}, packagesRuns, knowsPackages, parsePackages},
		{"dmesg", []string{fabric.FactKernelLog}, dmesgRuns, knowsDmesg, parseDmesg},
		{nvlinkTool, []string{fabric.FactGPUNVLink}, nvlinkRuns, knowsNVLink, parseNVLink},
		{nftTablesTool, nil, nftTablesRuns, knowsNftTables, parseNftTables},
		{nftTool, []string{fabric.FactFirewall}, nftRuns, knowsNft, parseNft},
		{iptablesTool, []string{fabric.FactFirewall}, iptablesRuns, knowsIptables, parseIptables},
		{ufwTool, nil, nil, knowsUFW, parseUFW},
		{ipBriefTool, nil, nil, knowsIPBrief, parseIPBrief},
		{ethtoolPart, nil, nil, knowsEthtoolPart, parseEthtoolPart},
		{smVirtualTool, nil, nil, knowsSMVirtual, parseSMVirtual},
		{fmpmTool, nil, nil, knowsFMPM, parseFMPM},
		{modulesTool, nil, nil, knowsModules, parseModules},
		{regionsTool, nil, nil, knowsRegions, parseRegions},
		{addressTool, nil, nil, knowsAddressList, parseAddressList},
		{nmcliTool, nil, nil, knowsNmcli, parseNmcli},
		{netplanTool, []string{fabric.FactNetworkFiles}, nil, knowsNetplan, parseNetplan},
		{portsTool, nil, nil, knowsPorts, parsePorts},
		{autoTool, nil, nil, knowsAuto, parseAuto},
		{hotPlugTool, nil, nil, knowsHotPlug, parseHotPlug},
		{kubeObjectTool, nil, nil, knowsKubeObjects, parseKubeObjects},
		{kubeTableTool, nil, nil, knowsKubeTable, parseKubeTable},
	}
}

// gpuPaths are what the tools of GPU vendors give and the driver's own files left open.
func gpuPaths(f *fabric.Facts, vendor string) []string {
	if len(f.GPUs) > 0 && !gpuOpen(f, vendor) {
		return nil
	}
	return []string{fabric.FactGPUName, fabric.FactGPUUUID, fabric.FactGPUDriverVersion, fabric.FactGPUVBIOS}
}

// readTools runs what the kernel left open.
func readTools(ctx context.Context, h host.Host, f *fabric.Facts) {
	ctx, cancel := context.WithTimeout(ctx, toolsTime)
	defer cancel()
	m := newMerger(f)
	for _, t := range tools(f) {
		if t.runs != nil {
			readTool(ctx, h, m, t, t.runs(h, f))
		}
	}
}

// readTool asks one tool about each device. It is asked once: where it is absent or did not answer in time,
// it is not asked about the next.
func readTool(ctx context.Context, h host.Host, m *merger, t tool, runs []toolRun) {
	ctx, cancel := context.WithTimeout(ctx, toolTime)
	defer cancel()
	for _, r := range runs {
		text, err := runTool(ctx, h, r.argv)
		exit, ended := errors.AsType[*host.ExitError](err)
		if ended && t.name == packagesTool && noSuchPackage(exit) {
			if len(text) == 0 {
				continue // a whole answer: none of them is installed
			}
			ended, err = false, nil
		}
		if err != nil && !ended {
			m.missTool(t, "", err)
			return
		}
		if ended && len(text) == 0 {
			m.missTool(t, r.device, exit)
			continue
		}
		parts, parseErr := t.read(string(text), r.device)
		if parseErr == nil {
			m.merge(t, parts)
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			parseErr = errors.Join(parseErr, errors.New("its output is cut: the last line has no end"))
		}
		if err := errors.Join(parseErr, err); err != nil {
			m.missTool(t, r.device, err)
		}
	}
}

// read parses a text within bounds.
func (t tool) read(text, device string) (fabric.Facts, error) {
	if len(text) > maxToolText {
		return fabric.Facts{}, fmt.Errorf("printed more than %d bytes", maxToolText)
	}
	parts, err := t.parse(text, device)
	if err != nil {
		return fabric.Facts{}, err
	}
	if n := max(len(parts.PCI), len(parts.NICs), len(parts.HCAs), len(parts.GPUs)); n > maxDevices {
		return fabric.Facts{}, fmt.Errorf("lists %d devices, more than %d", n, maxDevices)
	}
	return parts, nil
}

// runTool returns what a tool printed, with the error of its exit status.
func runTool(ctx context.Context, h host.Host, argv []string) ([]byte, error) {
	c, ok := h.(host.Commander)
	if !ok {
		return nil, host.ErrNotSupported
	}
	type answer struct {
		text []byte
		err  error
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.New("not run: no time left")
	}
	answers := make(chan answer, 1)
	host.Go(func() { // left behind where the process cannot be killed
		text, err := c.Output(ctx, host.Command{Argv: argv, Env: []string{"LC_ALL=C"}})
		answers <- answer{text, err}
	})
	deadline, _ := ctx.Deadline()
	late := time.NewTimer(time.Until(deadline) + toolGrace)
	defer late.Stop()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-late.C:
		return nil, fmt.Errorf("no answer, and it cannot be stopped: %w", context.DeadlineExceeded)
	}
}

// errForeignText says that a text is not what its tool prints in the C locale.
var errForeignText = errors.New("not in the form that this tool prints")

// hasLine reports whether one of the first lines satisfies a condition; what is before it may be a prompt
// that was copied along, or a warning.
func hasLine(text string, is func(line string) bool) bool {
	const first = 64
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > first {
			return false
		}
		if is(strings.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}
