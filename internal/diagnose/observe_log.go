package diagnose

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// log observes a debug log of NCCL or RCCL.
func (o *observer) log(l *fabric.NCCLLog) {
	o.s.logs = append(o.s.logs, l)
	for name, value := range l.Env {
		o.s.settings = append(o.s.settings, setting{name, value, "log"})
	}
	if o.s.hw.Nodes == 0 {
		o.s.hw.Nodes = l.Nodes
	}
	for _, line := range l.Lines {
		if o.words.mayShowFault(line.Text) && (networked(l, o.s.hw) || !ofNetwork(line.Text)) {
			o.readText(withoutHost(line.Text), fmt.Sprintf("log, line %d", line.Line))
		}
	}
	if l.Cut {
		o.note("log", "the log has more lines than are read")
	}
}

// withoutHost cuts the name of the host off a line, which may be any word: gib-test-3:12:34 [0] NCCL WARN ...
func withoutHost(line string) string {
	if first, rest, ok := strings.Cut(line, " "); ok && strings.Contains(first, ":") && !strings.Contains(first, "/") {
		return strings.TrimSpace(rest)
	}
	return line
}

// harmlessLines are lines of a log that hold a word of trouble and mean none: a plugin that is optional, a
// rendezvous over TCP, a file that need not be there.
var harmlessLines = []string{"could not find: libnccl", "no plugin found", "libnccl-net.so", "libnccl-tuner", "libnccl-profiler",
	"could not find: libnccl-tuner", "using internal net plugin", "using internal network plugin", "using internal tuner", "bootstrap", "could not find real path",
	"could not read", "net/ib : using", "ignoring, using", "no environment plugin", "libnccl-env", "libnccl-gin"}

// tellingLines are the lines of NCCL INFO that say something of a fault; what else is one is a warning.
var tellingLines = []string{"direct rdma disabled", "direct rdma (dmabuf) disabled", "xml", "ignoring element", "net/socket", "using network", "no device found",
	"failed", "error", "gdr", "peermem", "numa", "mtu", "nvls", "timeout", "refused", "abort"}

// ofNetwork reports whether a line speaks of what a single machine does not use.
func ofNetwork(line string) bool {
	line = strings.ToLower(line)
	return strings.Contains(line, "net/") || strings.Contains(line, "plugin") || strings.Contains(line, "using network") || strings.Contains(line, "gdr") || strings.Contains(line, "direct rdma")
}

// mayShowFault reports whether a line of a log may say something of a fault.
func (r *reader) mayShowFault(line string) bool {
	line = strings.ToLower(line)
	for _, e := range harmlessLines {
		if strings.Contains(line, e) {
			return false
		}
	}
	if !strings.Contains(line, "nccl info") {
		return true
	}
	for _, t := range tellingLines {
		if strings.Contains(line, t) {
			return true
		}
	}
	return len(r.messageWeights(line)) > 0
}

// networked reports whether a log is of more than one machine, as far as it tells.
func networked(l *fabric.NCCLLog, hw fabric.Hardware) bool {
	if l.Nodes > 0 {
		return l.Nodes > 1
	}
	if len(l.Hosts) > 1 || hw.Nodes > 1 {
		return true
	}
	for _, c := range l.Connections {
		if strings.HasPrefix(strings.ToUpper(c.Via), "NET") {
			return true
		}
	}
	return false
}
