package results

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
)

// Limits of the lines that are kept of a log.
const (
	maxLogFaults    = 512 // each of errors and of what is less
	maxLogSaid      = 512 // of known messages without a fault
	maxMessageHosts = 64  // hosts of which one message is kept: what all hosts print pushes nothing else out
)

// keptLines are which lines of a log are kept, and what there is of them.
type keptLines struct {
	at       map[lineKey]int           // their places in the log
	hosts    map[*messages.Message]int // of how many hosts a message is kept
	process  map[int]string            // who printed a line, by its place, to find its rank at the end
	errors   int
	warnings int
	said     int
}

// lineKey is by what two lines are the same: a known message of a host, or an unknown text.
type lineKey struct {
	message    *messages.Message
	host, text string
}

func newKeptLines() keptLines {
	return keptLines{at: map[lineKey]int{}, hosts: map[*messages.Message]int{}, process: map[int]string{}}
}

// textKey is the part of a text by which two lines of an unknown message are the same.
func textKey(text string) string {
	text = strings.TrimSpace(text)
	return text[:min(len(text), maxShown)]
}

// warn keeps a warning of the library.
func (g *logRun) warn(l line) {
	if g.full() {
		return
	}
	if s := l.log.says(); !s.nothing() {
		g.keepLine(l, s, l.log.message, entryText(l))
	}
}

// full reports whether no further fault is kept. The log is cut then, and has as many errors as fit.
func (g *logRun) full() bool {
	return g.log.Cut && g.kept.errors >= maxLogFaults || g.budget.faults < 0
}

// keepLine keeps a line that says something: once for each message and host, or each text of an unknown message, with the
// number of lines that are the same. Faults have a budget of their own, and errors within it: no number of other lines
// pushes them out.
func (g *logRun) keepLine(l line, s said, message, text string) {
	from := originOf(l)
	key := lineKey{message: s.message, host: from.host, text: workOf(text)}
	if s.message == nil {
		key = lineKey{text: textKey(message)}
	}
	if at, again := g.kept.at[key]; again {
		g.log.Lines[at].Count++
		return
	}
	if !g.mayKeep(s) {
		g.log.Cut = true
		return
	}
	key.host, key.text = strings.Clone(key.host), strings.Clone(key.text)
	at := len(g.log.Lines)
	g.kept.at[key] = at
	if s.message != nil {
		g.kept.hosts[s.message]++
	}
	kept := fabric.LogLine{Line: l.number, Text: keep(text), Level: s.level, Message: s.id(), Host: keepUpTo(from.host, longestHost), Rank: from.rank, Count: 1}
	if from.rank == nil && from.process != "" {
		g.kept.process[at] = from.process
	}
	g.log.Lines = append(g.log.Lines, kept)
}

// workOf is the collective that a line of PyTorch's watchdog names: ranks that wait for different ones say different things.
func workOf(text string) string {
	at := strings.Index(text, "WorkNCCL(SeqNum=")
	if at < 0 {
		return ""
	}
	work, _, _ := strings.Cut(text[at:], ", Timeout")
	return work[:min(len(work), maxShown)]
}

// mayKeep requests the room of a line.
func (g *logRun) mayKeep(s said) bool {
	if s.message != nil && g.kept.hosts[s.message] >= maxMessageHosts {
		return false
	}
	switch s.level {
	case "":
		g.kept.said++
		return g.kept.said <= maxLogSaid && g.room(2*maxShown)
	case fabric.LineError:
		g.kept.errors++
		return g.kept.errors <= maxLogFaults && g.budget.fault()
	}
	g.kept.warnings++
	return g.kept.warnings <= maxLogFaults && g.budget.fault()
}

// rankLines gives the kept lines the ranks of the processes that printed them: a rank is named before or after.
func (g *logRun) rankLines() {
	for at, process := range g.kept.process {
		if rank, known := g.ranksOf[process]; known {
			g.log.Lines[at].Rank = &rank
		}
	}
}

// origin is who printed a line.
type origin struct {
	host    string
	process string // host:pid and device, by which ranks are known; empty: lost
	rank    *int   // nil: no prefix names it
}

func originOf(l line) origin {
	if l.log == nil {
		return origin{host: l.host, rank: l.rank}
	}
	return origin{host: l.log.host, process: processOf(l.log), rank: l.rank}
}

// processOf names the GPU of a process: host:pid and the number of the device in it. Its threads write as one.
func processOf(e *logEntry) string {
	if e.thread == "" {
		return ""
	}
	return e.thread[:strings.LastIndexByte(e.thread, ':')] + " " + e.device
}
