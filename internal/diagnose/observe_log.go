package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
)

// log observes a debug log of NCCL or RCCL.
func (o *observer) log(l *fabric.NCCLLog) {
	o.s.logs = append(o.s.logs, l)
	for _, name := range slices.Sorted(maps.Keys(l.Env)) { // notes are in one order
		o.s.settings = append(o.s.settings, setting{name: name, value: l.Env[name], source: "log", pasted: slices.Contains(l.Pasted, name)})
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

// logLine reads a line of a log. What a single machine does not use is left out where it is no error.
func (o *observer) logLine(l *fabric.NCCLLog, line fabric.LogLine) {
	source := "log"
	if line.Line > 0 {
		source = fmt.Sprintf("log, line %d", line.Line)
	}
	if line.Level != fabric.LineError && singleNode(l, o.s.hw) && o.ofNetwork(line) {
		return
	}
	o.message(line, source, false)
	o.fault(line, source)
}

// message keeps a line whose message the catalogue knows, and how the run went by it.
func (o *observer) message(line fabric.LogLine, source string, quoted bool) {
	m, ok := o.catalogued(line)
	if !ok || spark(o.s.hw) && m.Feature == messages.GPUDirect { // GPU and CPU share one memory: GPUDirect RDMA is never used
		return
	}
	if line.Level == "" && (m.Level == messages.Error || m.Level == messages.Fatal) {
		return // printed as information: the program handled it, and healthy runs print it too
	}
	seen := evidence.Seen{Source: source, Text: line.Text, Host: line.Host, Rank: line.Rank, Own: true}
	o.s.seen = append(o.s.seen, evidence.Message{Seen: seen, ID: m.ID, Feature: string(m.Feature), Quoted: quoted})
	if how := outcomeOf(m); how != "" && line.Level != "" && !quoted { // what a program prints as information it handled itself
		o.s.seen = append(o.s.seen, evidence.Outcome{Seen: seen, How: how, Printed: true})
	}
}

// outcomeOf is how a run went in which a message was printed; empty: the message does not say.
func outcomeOf(m *messages.Message) evidence.How {
	switch {
	case m.Outcome != "":
		return evidence.How(m.Outcome)
	case m.Level != messages.Error && m.Level != messages.Fatal:
		return ""
	case m.Feature == messages.Bootstrap || m.Feature == messages.Launch || m.Feature == messages.Config || m.Feature == messages.Topology:
		return evidence.Refused
	default:
		return evidence.Crash
	}
}

// catalogued returns the message of a line. A line that was read elsewhere than in a log is looked up here.
func (o *observer) catalogued(line fabric.LogLine) (*messages.Message, bool) {
	switch {
	case o.in.Catalogue == nil:
		return nil, false
	case line.Message == "":
		return o.in.Catalogue.Find(line.Text)
	default:
		return o.in.Catalogue.ByID(line.Message)
	}
}

// ofNetwork reports whether a line is a message of the library about what a single machine does not use.
func (o *observer) ofNetwork(line fabric.LogLine) bool {
	m, ok := o.catalogued(line)
	return ok && slices.Contains([]string{"nccl", "rccl", "aws-ofi-nccl"}, m.Program) &&
		slices.Contains([]messages.Feature{messages.Network, messages.GPUDirect, messages.Plugin, messages.Tuner}, m.Feature)
}

// fault keeps a line that speaks of a fault. One that no message of the catalogue knows is said to be so.
func (o *observer) fault(line fabric.LogLine, source string) {
	e := fabric.Evidence{Source: source, Value: line.Text}
	switch {
	case line.Level == fabric.LineError:
		o.s.broken = append(o.s.broken, e)
	case line.Level == "":
	case o.isHarmless(line):
		e.Value = "probably harmless, and this text does not show whether traffic flows: " + line.Text
		o.s.doubts = append(o.s.doubts, e)
	case o.isKnown(line):
		e.Value = "a warning that a healthy run does not print: " + line.Text
		o.s.doubts = append(o.s.doubts, e)
	default:
		e.Value = "unrecognised message, which may be a fault: " + line.Text
		o.s.doubts = append(o.s.doubts, e)
	}
}

func (o *observer) isKnown(line fabric.LogLine) bool {
	_, ok := o.catalogued(line)
	return ok
}

// isHarmless reports whether the message of a line speaks strongly for a cause that is no fault of the machines.
func (o *observer) isHarmless(line fabric.LogLine) bool {
	m, ok := o.catalogued(line)
	if !ok {
		return false
	}
	for cause, strength := range m.Signs {
		if harmless(cause) && strength.Ratio() >= messages.Strong.Ratio() {
			return true
		}
	}
	return false
}

// singleNode reports whether a log is known to be of one machine, where no network is used: by its own count, or by
// what is stated where it names no second host and no connection over the network.
func singleNode(l *fabric.NCCLLog, hw fabric.Hardware) bool {
	if l.Nodes > 0 {
		return l.Nodes == 1
	}
	return hw.Nodes == 1 && !networked(l, hw)
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
