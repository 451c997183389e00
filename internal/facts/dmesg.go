package facts

import (
	"errors"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

const (
	maxLogLines = 100 // fabric.KernelLog
	maxLogLine  = 200 // bytes
	// maxLogText is for all lines, in bytes: a twentieth of what the facts of a node may take (50 KiB).
	maxLogText = 2 << 10
)

// dmesgRuns asks every host: /dev/kmsg gives its lines to each reader once, and a capture has none.
func dmesgRuns(host.Host, *fabric.Facts) []toolRun {
	return []toolRun{{argv: []string{"dmesg"}}}
}

// What may precede the text of a line: "kern  :info  : " (dmesg -x), "<6>" (-r), "[   12.345678] ",
// "[Tue May 27 11:30:40 2025] " (-T), "2025-05-27T11:30:40,123456+02:00 " (--time-format iso), and behind it
// "[T1234] " or "[   C3] ", the caller.
var (
	logFacility = pattern.New(`^(?:<[0-9]{1,3}>|[a-z0-9]+ *:[a-z]+ *: )`)
	logTime     = pattern.New(`^(?:\[ *[0-9]+\.[0-9]+\]|\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8}(?: [0-9]{4})?\]|\[ *\+?[0-9]+\.[0-9]+\]|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8},[0-9]+[+-][0-9:]+|[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?) ?`)
	logCaller   = pattern.New(`^\[ *[TC][0-9]+\] ?`)
)

// logText removes what precedes the text; stamped reports whether that had a time.
func logText(line string) (text string, stamped bool) {
	line = strings.Trim(line, " \r\n") // a quotation is indented
	if !strings.HasPrefix(line, "[") {
		line = without(logFacility(), line)
	}
	line, fromService := strings.CutPrefix(line, "kernel: ") // journald and syslog, whose time is before it
	text = without(logTime(), line)
	stamped = len(text) < len(line) || fromService
	if strings.HasPrefix(text, "[") {
		text = without(logCaller(), text)
	}
	return text, stamped
}

// without is a text without what a form finds at its beginning.
func without(form *pattern.Regexp, text string) string {
	if at := form.FindStringIndex(text); at != nil {
		return text[at[1]:]
	}
	return text
}

func knowsDmesg(text string) bool {
	return hasLine(text, func(line string) bool {
		text, stamped := logText(line)
		return stamped || strings.HasPrefix(text, "Linux version ")
	})
}

// logTopics are the words of which a kept line has at least one, in lower case.
func logTopics() []string {
	return []string{
		"nvrm", "nvidia", "nvlink", "nvswitch", "xid", "amdgpu", "xgmi", "kfd",
		"mlx5", "mlx4", "bnxt_", "infiniband", "ib_core", "ib_uverbs", "ib_peer_mem", "ib_umem", "ib_modify_qp", "peermem", "peer_memory",
		"rdma", "roce", "irdma", "ionic", "gdrdrv", " ice ", " idpf ", " efa ",
		"cx7-pcie-hotplug", "aer:", "pcieport", "pcie bus error", "available pcie bandwidth", "pciehp",
		"dmar", "amd-vi", "iommu:", "io_page_fault",
	}
}

// parseDmesg keeps the last lines about GPUs, NICs, PCI Express and RDMA, without their time. Of equal
// lines the last is kept: a storm of one message would push out all others.
func parseDmesg(text, _ string) (fabric.Facts, error) {
	if strings.TrimSpace(text) == "" {
		return fabric.Facts{}, errors.New("the kernel's log is empty: it was cleared, or it belongs to another namespace")
	}
	if !knowsDmesg(text) {
		return fabric.Facts{}, errForeignText
	}
	topics := logTopics()
	all := strings.Split(text, "\n")
	seen := make(map[string]bool)
	log := &fabric.KernelLog{Lines: []string{}}
	size := 0
	for _, line := range slices.Backward(all) {
		line, _ = logText(line)
		line = shorten(fabric.Printable(line), maxLogLine)
		lower := strings.ToLower(line)
		if seen[line] || !slices.ContainsFunc(topics, func(t string) bool { return strings.Contains(lower, t) }) {
			continue
		}
		if size += len(line); len(log.Lines) == maxLogLines || size > maxLogText {
			log.Cut = true
			break
		}
		seen[line] = true
		log.Lines = append(log.Lines, line)
	}
	slices.Reverse(log.Lines)
	return fabric.Facts{KernelLog: log, Machine: fabric.Machine{HotPlug: hotPlugEvents(log.Lines)}}, nil
}

// shorten cuts a text to so many bytes, at a character.
func shorten(text string, most int) string {
	const mark = " ..."
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}
