package facts

import (
	"path"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// Prompts of shells with a name of the host: user@host:/path# and [user@host path]$.
var (
	promptColon   = pattern.New(`^(?:\([\w.-]+\) ?)?[\w.-]+@([\w.-]+)[: ][^#$%>]{0,80}[#$%>] ?(.*)$`)
	promptBracket = pattern.New(`^(?:\([\w.-]+\) ?)?\[[\w.-]+@([\w.-]+) [^\]]{0,80}\] ?[#$%] ?(.*)$`)
)

// promptOf takes a line with a prompt apart. A dollar alone is a prompt, and so is a number sign before a command
// that is known; neither names a host.
func promptOf(line string) (host, command string, ok bool) {
	if strings.Contains(line, "@") {
		for _, form := range []*pattern.Regexp{promptBracket(), promptColon()} {
			if m := form.FindStringSubmatch(line); m != nil {
				return m[1], strings.TrimSpace(m[2]), true
			}
		}
	}
	if command, ok := strings.CutPrefix(line, "$ "); ok {
		return "", strings.TrimSpace(command), true
	}
	if command, ok := strings.CutPrefix(line, "# "); ok && isCommand(command) {
		return "", strings.TrimSpace(command), true
	}
	return "", "", false
}

// isProgram knows the programs whose name at the beginning of a line, with nothing behind it but options, is a heading.
func isProgram(name string) bool {
	switch name {
	case "lspci", "nvidia-smi", "rocm-smi", "amd-smi", "ibstat", "ibstatus", "ibv_devinfo", "ibdev2netdev", "show_gids", "ethtool", "ip", "rdma", "dmesg",
		"lsmod", "modinfo", "ulimit", "uname", "journalctl", "p2pBandwidthLatencyTest", "ibv_devices", "lstopo", "numactl", "mlxlink", "mlxconfig", "mstconfig", "cat",
		"niccli", "nicctl", "mlnx_qos", "dcb", "lldptool", "cma_roce_tos":
		return true
	}
	return false
}

var plainCommand = pattern.New(`^[\w ./=|"',*:-]{2,120}$`)

// isCommand reports whether a line is a command of a known tool and nothing else: "nvidia-smi topo -m", "ibstat:".
func isCommand(line string) bool {
	text := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSpace(line), ":"), "sudo ")
	program, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if !isProgram(path.Base(program)) || !plainCommand().MatchString(strings.TrimSpace(line)) {
		return false // nearly every line
	}
	words := strings.Fields(text)
	if len(words) > 12 {
		return false
	}
	return !slices.ContainsFunc(words[1:], isProse)
}

// isProse knows words that no command line has.
func isProse(word string) bool {
	return slices.Contains([]string{"is", "the", "of", "shows", "says", "and", "on", "in", "output", "works", "a", "for", "not", "from"}, word)
}

// listsAll reports whether a command asks a tool about all devices and nothing takes lines out of what it prints.
func listsAll(command string) bool {
	command = strings.TrimPrefix(strings.TrimSpace(command), "sudo ")
	return slices.Contains([]string{
		"ibstat", "ibv_devinfo", "ibv_devinfo -v", "ibv_devinfo -vv", "ibdev2netdev", "ibdev2netdev -v", "rdma link", "rdma link show", "nvidia-smi", "nvidia-smi -q",
		"nvidia-smi -L", "show_gids", "ibstatus",
	}, command)
}
