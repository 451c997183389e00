package nic

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Options of Broadcom's NICs that matter for RoCE with GPUs (Broadcom RoCE guide 957608-AN209, 2.2.3).
const (
	OptionRDMA            = "support_rdma"                 // by function; 1: on
	OptionProfile         = "performance_profile"          // 1: RoCE
	OptionRelaxedOrdering = "pcie_relaxed_ordering"        // 1: on
	OptionDCBX            = "dcbx_mode"                    // by function; 0: the firmware does not negotiate
	OptionLLDPNearest     = "lldp_nearest_bridge"          // by function; 0: the firmware sends none
	OptionLLDPNonTPMR     = "lldp_nearest_non_tpmr_bridge" // as the one before
)

// niccliOptionNames are the options that are read, in the order in which they are asked for.
func niccliOptionNames() []string {
	return []string{OptionRDMA, OptionProfile, OptionRelaxedOrdering, OptionDCBX, OptionLLDPNearest, OptionLLDPNonTPMR}
}

// niccliByFunction are the options that each PCI function has of its own.
func niccliByFunction(option string) bool {
	return slices.Contains([]string{OptionRDMA, OptionDCBX, OptionLLDPNearest, OptionLLDPNonTPMR}, option)
}

var niccliOptionLine = pattern.Plain(`^\s*([a-z][a-z0-9_]{2,40})\s*[=:]\s*(\S[^=]{0,60}?)\s*$`)

// niccliOptionRuns asks for each option of a function.
func niccliOptionRuns(n fabric.NIC) []Run {
	var out []Run
	for _, option := range niccliOptionNames() {
		argv := []string{niccliProgram, "-i", niccliDevice(n.PCI), "nvm", "--getoption", option}
		if niccliByFunction(option) {
			argv = append(argv, "--scope", n.PCI[len(n.PCI)-1:])
		}
		out = append(out, Run{Argv: argv, Option: option})
	}
	return out
}

// niccliOption returns the known option that a line states.
func niccliOption(line string) string {
	m := niccliOptionLine().FindStringSubmatch(line)
	if m == nil || !slices.Contains(niccliOptionNames(), m[1]) {
		return ""
	}
	return m[1]
}

// niccliOptions reads lines such as "support_rdma = True"; nil: there is none.
func niccliOptions(lines []string) map[string]string {
	var options map[string]string
	for _, line := range lines {
		if option := niccliOption(line); option != "" {
			if options == nil {
				options = map[string]string{}
			}
			options[option] = fabric.Printable(strings.TrimSpace(niccliOptionLine().FindStringSubmatch(line)[2]))
		}
	}
	return options
}
