package facts

import (
	"errors"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// commandLineHead begins /proc/cmdline wherever a boot loader wrote it.
const commandLineHead = "BOOT_IMAGE="

func knowsCommandLine(text string) bool { return hasLine(text, startsWith(commandLineHead)) }

// parseCommandLine reads the text of /proc/cmdline.
func parseCommandLine(text, _ string) (fabric.Facts, error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, commandLineHead) {
			line = fabric.Printable(line)
			return fabric.Facts{Kernel: fabric.Kernel{CommandLine: &line}}, nil
		}
	}
	return fabric.Facts{}, errForeignText
}

// unameLine is what uname -a prints: "Linux node1 5.15.0-91-generic #101-Ubuntu SMP ...".
var unameLine = pattern.New(`^Linux [\w.-]+ ([0-9]+\.[0-9]+\S*) #`)

// esxLine is what it prints on ESX: "VMkernel esx1 8.0.3 #1 SMP Release build-24280767 ... x86_64 ESXi".
var esxLine = pattern.New(`^VMkernel [\w.-]+ ([0-9]+\.[0-9]+\S*) #.* ESXi?\s*$`)

func isUnameLine(line string) bool {
	return strings.HasPrefix(line, "Linux ") && unameLine().MatchString(line) || strings.HasPrefix(line, "VMkernel ") && esxLine().MatchString(line)
}

func knowsUname(text string) bool { return hasLine(text, isUnameLine) }

// parseUname reads the release of the kernel. ESX names itself here, and has no os-release.
func parseUname(text, _ string) (fabric.Facts, error) {
	for line := range strings.Lines(text) {
		if m := unameLine().FindStringSubmatch(line); m != nil {
			return fabric.Facts{Kernel: fabric.Kernel{Release: m[1]}}, nil
		}
		if m := esxLine().FindStringSubmatch(line); m != nil {
			os := "VMware ESXi " + m[1]
			return fabric.Facts{Kernel: fabric.Kernel{Release: m[1], OS: &os}}, nil
		}
	}
	return fabric.Facts{}, errForeignText
}

// ulimitLine is a line of ulimit -a of bash: "max locked memory           (kbytes, -l) 64".
var ulimitLine = pattern.New(`^[a-z][a-z /-]+\((?:[a-z0-9-]+(?: bytes)?, )?-[a-zA-Z]\) +(unlimited|[0-9]{1,19})$`)

func isUlimitLine(line string) bool {
	if line == "" || line[0] < 'a' || line[0] > 'z' {
		return false // cheap: all lines that nobody claims come here
	}
	return strings.HasPrefix(strings.TrimLeft(line, "abcdefghijklmnopqrstuvwxyz /-"), "(") && ulimitLine().MatchString(strings.TrimRight(line, " \r\n"))
}

func knowsUlimit(text string) bool { return hasLine(text, isUlimitLine) }

// parseUlimit reads the limit of locked memory, in bytes or unlimited; bash prints KiB.
func parseUlimit(text, _ string) (fabric.Facts, error) {
	for line := range strings.Lines(text) {
		m := ulimitLine().FindStringSubmatch(strings.TrimRight(line, " \r\n"))
		if m == nil || !strings.Contains(line, "-l)") {
			continue
		}
		limit := m[1]
		if kib, err := strconv.ParseUint(limit, 10, 53); err == nil {
			limit = strconv.FormatUint(kib<<10, 10)
		} else if limit != "unlimited" {
			return fabric.Facts{}, errors.New("max locked memory: no number")
		}
		return fabric.Facts{Machine: fabric.Machine{MemlockLimit: &limit}}, nil
	}
	return fabric.Facts{}, errors.New("no limit of locked memory in the text")
}
