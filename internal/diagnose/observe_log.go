package diagnose

import (
	"fmt"
	"slices"
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
	o.planned()
	for _, line := range l.Lines {
		o.logLine(l, line)
	}
	if l.Cut {
		o.note("log", "the log has more lines than are read")
	}
}

// logLine reads a line of a log. One that speaks of a fault counts whatever it says and whether or not it is known;
// what a single machine does not use is left out of the others.
func (o *observer) logLine(l *fabric.NCCLLog, line fabric.LogLine) {
	source := "log"
	if line.Line > 0 {
		source = fmt.Sprintf("log, line %d", line.Line)
	}
	text := withoutHost(line.Text)
	alone := singleNode(l, o.s.hw)
	switch {
	case line.Level == "" && (!o.words.mayShowFault(line.Text) || alone && ofNetwork(line.Text)):
		return
	case line.Level == "": // its words are those of every run: only a message that is known says something
		if weights := o.words.messageWeights(text); len(weights) > 0 && len(o.s.statements) < maxTexts {
			o.s.statements = append(o.s.statements, statement{own: true, text: text, source: source, lines: weights})
		}
	case alone && line.Level != fabric.LineError && o.words.fallback(text):
		return // TCP costs nothing where no network is used
	case alone && line.Level == fabric.LineWarning && ofNetwork(line.Text), line.Level == fabric.LineSuspect && len(o.words.messageWeights(text)) == 0:
		o.fault(line.Level, source, line.Text) // its words name no cause
	default:
		o.readText(text, source)
		o.fault(line.Level, source, line.Text)
	}
}

// fault keeps a line that speaks of a fault.
func (o *observer) fault(level fabric.LineLevel, source, text string) {
	e := fabric.Evidence{Source: source, Value: text}
	switch level {
	case fabric.LineError:
		o.s.broken = append(o.s.broken, e)
	case fabric.LineWarning:
		e.Value = "a warning that a healthy run does not print: " + text
		o.s.doubts = append(o.s.doubts, e)
	case fabric.LineSuspect:
		e.Value = "a line of unknown meaning may be a fault: " + text
		o.s.doubts = append(o.s.doubts, e)
	}
}

// fallback reports whether a text is known to say no more than that TCP is used.
func (r *reader) fallback(text string) bool {
	weights := r.messageWeights(text)
	return len(weights) > 0 && !slices.ContainsFunc(weights, func(w causeWeight) bool { return w.cause != fabric.CauseSocketFallback })
}

// singleNode reports whether a log is known to be of one machine, where no network is used: by its own count, or by
// what is stated where it names no second host and no connection over the network.
func singleNode(l *fabric.NCCLLog, hw fabric.Hardware) bool {
	if l.Nodes > 0 {
		return l.Nodes == 1
	}
	return hw.Nodes == 1 && !networked(l, hw)
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
