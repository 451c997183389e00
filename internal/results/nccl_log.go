package results

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/envtext"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
	"railwright.dev/railwright/internal/pattern"
)

// ncclLog reads debug logs of NCCL and RCCL (NCCL_DEBUG=VERSION, WARN or INFO), of all ranks that wrote into
// one file. A second run in the same file, which begins with a banner of nccl-tests, is a second log.
type ncclLog struct {
	budget *budget
	found  []fabric.Result
	cur    *logRun
	line   int // where the log begins

	helping bool     // a rule of dashes began a help text
	help    []string // its lines
	judged  judgedForms
	pasted  envtext.Reader
}

// logRun is what the log of one run contains so far.
type logRun struct {
	budget      *budget
	log         fabric.NCCLLog
	hosts       map[string]bool
	gpus        map[int]fabric.LogGPU
	ready       bool // a communicator was completed
	connections map[fabric.LogConnection]int
	vias        map[string]fabric.LogConnection // by what the log prints of them
	tuning      tuningTable
	chosen      map[string]bool   // by their text: every rank repeats them in every iteration
	dumper      map[string]string // the thread of each host whose System dump is kept
	dumping     bool
	graphs      map[string]bool
	kept        keptLines
	at          hostChoices
	ranksOf     map[string]int // by process and device
}

// Limits of what is kept of a log. A system of 8 GPUs and 8 NICs is dumped in some 60 lines.
const (
	maxLogRanks   = 16384
	maxLogHosts   = 4096
	maxLogPaths   = 1024
	maxLogPath    = 4096 // bytes of a line: the paths of a GPU to all of 30 devices are some 1,000
	maxLogGraphs  = 64
	maxLogChoices = 2048
	maxLogEnv     = 256 // of the log, and of each host
	maxLogHCAs    = 64
	maxLogKinds   = 512 // of connections
)

func newNCCLLog(b *budget) *ncclLog { return &ncclLog{budget: b, judged: judgedForms{}} }

func (r *ncclLog) read(l line) bool {
	if l.log == nil {
		text := l.trimmed()
		if r.cur != nil && r.cur.ready && l.may(ofBanner) && isBanner(text) {
			r.close()
		}
		r.bare(l, text)
		r.wrapped(l, text) // before a table ends at the rule that begins it
		return false
	}
	run := r.run(l)
	run.host(l.log.host)
	switch l.log.level {
	case "WARN", "ABORT":
		run.warn(l)
	default:
		run.info(l)
	}
	return l.trimmed() == ""
}

func (r *ncclLog) run(l line) *logRun {
	if r.cur == nil {
		r.line = l.number
		r.cur = &logRun{
			budget: r.budget,
			hosts:  map[string]bool{}, gpus: map[int]fabric.LogGPU{}, connections: map[fabric.LogConnection]int{}, vias: map[string]fabric.LogConnection{}, chosen: map[string]bool{},
			dumper: map[string]string{}, graphs: map[string]bool{},
			kept: newKeptLines(), at: newHostChoices(), ranksOf: map[string]int{},
		}
	}
	return r.cur
}

func (r *ncclLog) close() {
	if r.cur == nil {
		return
	}
	log := r.cur.finish()
	r.cur = nil
	if r.budget.result() {
		r.found = append(r.found, fabric.Result{Kind: fabric.NCCLDebugLog, Line: r.line, Content: log})
	}
}

func (r *ncclLog) results() []fabric.Result {
	r.close()
	return r.found
}

// printedSetting finds a setting as the library says it, in a line without a prefix.
var printedSetting = pattern.New(`^((?:NCCL|RCCL)_[A-Z0-9_]+) (?:set by environment|set) to (\S.*?)\.?$`)

// bare reads lines of a log that have no prefix: the version, and settings that were pasted by themselves.
func (r *ncclLog) bare(l line, text string) {
	if l.may(ofSetting) || r.pasted.Open() {
		if m := printedSetting().FindStringSubmatch(text[:min(len(text), maxSettingLine)]); m != nil && choice(m[1]) {
			r.run(l).env(l.host, m[1], strings.Trim(m[2], `"'`))
		}
		r.paste(l)
	}
	if l.may(ofVersion) {
		if m := libraryVersion().FindStringSubmatch(text); m != nil {
			r.run(l).version("", m[1], m[2])
		}
	}
}

// paste reads what a script, a command or a manifest sets.
func (r *ncclLog) paste(l line) {
	text := l.trimmed()
	for _, s := range r.pasted.Line(text[:min(len(text), maxSettingLine)]) {
		if choice(s.Name) {
			r.run(l).paste(l.host, s)
		}
	}
}

// choice reports whether a setting is one of the run: what is printed is none.
func choice(name string) bool {
	return (strings.HasPrefix(name, "NCCL_") || strings.HasPrefix(name, "RCCL_")) && !strings.HasPrefix(name, "NCCL_DEBUG")
}

// rest reads a line that no format claims, of a program around the library: a known message, or a fault in its form. A
// launcher's prefix may be the name of the program, so the line counts with it too. It reports
// whether the line is understood.
func (r *ncclLog) rest(l line) bool {
	text := l.trimmed()
	if text == "" || r.cur != nil && r.cur.full() {
		return false
	}
	s := saysOf(text, l.known(text), r.judged, l.mayFault())
	if s.level == "" && l.source != "" && l.log == nil {
		if whole := saysOf(l.raw, knownIn(l.raw), r.judged, l.mayFault()); whole.level != "" {
			s = whole
		}
	}
	choice := s.level == "" && s.message != nil && s.message.Level == messages.Choice
	if s.nothing() || choice && r.cur == nil { // a choice alone makes no log
		return s.message != nil
	}
	if l.log == nil {
		r.run(l).keepLine(l, s, text, l.raw)
	} else { // what another process had written before the entry
		r.run(l).keepLine(l, s, text, text)
	}
	return true
}

// Bounds of a help text.
const (
	maxHelpLines = 24
	helpRule     = "--------------------"
)

// wrapped looks for messages that are broken into several lines: Open MPI and PRRTE print help between two rules of dashes,
// 76 columns wide.
func (r *ncclLog) wrapped(l line, text string) {
	switch {
	case !strings.HasPrefix(text, helpRule):
		if text != "" && r.helping && len(r.help) < maxHelpLines {
			r.help = append(r.help, strings.Clone(text))
		}
	case !r.helping:
		r.helping = true
	default:
		whole := strings.Join(r.help, " ")
		r.helping, r.help = len(r.help) == 0, nil // two rules may stand between two texts
		if s := saysOf(whole, knownIn(whole), r.judged, true); s.message != nil && !s.nothing() {
			r.run(l).keepLine(l, s, whole, whole)
		}
	}
}

// room requests the bytes of what is about to be kept.
func (g *logRun) room(bytes int) bool {
	if !g.budget.room(bytes) {
		g.log.Cut = true
		return false
	}
	return true
}

func (g *logRun) host(name string) {
	if name != "" && !g.hosts[name] && len(g.hosts) < maxLogHosts && g.room(2*len(name)+32) {
		name = strings.Clone(name)
		g.hosts[name] = true
		g.log.Hosts = append(g.log.Hosts, name)
	}
}

func (g *logRun) version(host, library, version string) {
	if at := g.choices(host); at.Library == "" && g.room(len(version)) {
		at.Library = keep(version)
	}
	if g.log.Version == "" {
		g.log.Library, g.log.Version = strings.Clone(library), keep(version)
	}
}

// entryText is a line without what preceded the entry of the log on it: a row.
func entryText(l line) string {
	if l.log != nil && l.trimmed() != "" {
		return strings.TrimPrefix(l.raw, l.text)
	}
	return l.raw
}

// finish sorts the counts.
func (g *logRun) finish() *fabric.NCCLLog {
	out := &g.log
	for _, gpu := range g.gpus {
		out.GPUs = append(out.GPUs, gpu)
	}
	slices.SortFunc(out.GPUs, func(a, b fabric.LogGPU) int { return cmp.Compare(a.Rank, b.Rank) })
	for c, n := range g.connections {
		c.Count = n
		out.Connections = append(out.Connections, c)
	}
	slices.SortFunc(out.Connections, func(a, b fabric.LogConnection) int {
		return cmp.Or(cmp.Compare(a.Via, b.Via), cmp.Compare(a.HCA, b.HCA), cmp.Compare(boolOrder(a.GDR), boolOrder(b.GDR)), cmp.Compare(boolOrder(a.Proxy), boolOrder(b.Proxy)))
	})
	out.Tuning, out.Ready = g.tuning.cells, g.ready
	out.ByHost = g.at.sorted()
	g.rankLines()
	return out
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// saysVersionOnly reports whether a log has nothing but the version of the library.
func saysVersionOnly(log *fabric.NCCLLog) bool {
	rest := *log
	rest.Library, rest.Version, rest.Hosts = "", "", nil
	return reflect.ValueOf(rest).IsZero()
}
