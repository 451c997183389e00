package results

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// ncclLog reads debug logs of NCCL and RCCL (NCCL_DEBUG=VERSION, WARN or INFO), of all ranks that wrote into
// one file. A second run in the same file, which begins with a banner of nccl-tests, is a second log.
type ncclLog struct {
	budget *budget
	found  []fabric.Result
	cur    *logRun
	line   int // where the log begins
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
	said        map[string]bool // lines that were kept, without their process prefix
	faults      map[string]bool // those that speak of a fault
	errors      int
	warnings    int
}

// Limits of what is kept of a log. A system of 8 GPUs and 8 NICs is dumped in some 60 lines.
const (
	maxLogRanks   = 16384
	maxLogHosts   = 4096
	maxLogFaults  = 192 // each of errors and of what is less
	maxLogInfos   = 128
	maxLogPaths   = 1024
	maxLogPath    = 4096 // bytes of a line: the paths of a GPU to all of 30 devices are some 1,000
	maxLogGraphs  = 64
	maxLogChoices = 2048
	maxLogEnv     = 256
	maxLogHCAs    = 64
	maxLogKinds   = 512 // of connections
)

func newNCCLLog(b *budget) *ncclLog { return &ncclLog{budget: b} }

func (r *ncclLog) read(l line) bool {
	if l.log == nil {
		text := strings.TrimSpace(l.text)
		if r.cur != nil && r.cur.ready && isBanner(text) {
			r.close()
		}
		r.bare(l, text)
		return false
	}
	run := r.run(l)
	run.host(l.log.host)
	switch l.log.level {
	case "WARN":
		run.warn(l)
	case "ABORT":
		run.keepFault(l.number, l.log.message, entryText(l), fabric.LineError)
	default:
		run.info(l)
	}
	return strings.TrimSpace(l.text) == ""
}

func (r *ncclLog) run(l line) *logRun {
	if r.cur == nil {
		r.line = l.number
		r.cur = &logRun{
			budget: r.budget,
			hosts:  map[string]bool{}, gpus: map[int]fabric.LogGPU{}, connections: map[fabric.LogConnection]int{}, vias: map[string]fabric.LogConnection{}, chosen: map[string]bool{},
			dumper: map[string]string{}, graphs: map[string]bool{}, said: map[string]bool{}, faults: map[string]bool{},
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

// bare reads the lines of a log that have no prefix: the versions.
func (r *ncclLog) bare(l line, text string) {
	if strings.Contains(text, "CCL version") {
		if m := libraryVersion().FindStringSubmatch(text); m != nil {
			r.run(l).version(m[1], m[2])
			return
		}
	}
	if r.cur != nil && (strings.HasPrefix(text, "HIP version") || strings.HasPrefix(text, "ROCm version")) {
		r.cur.keepInfo(l, text)
	}
}

// rest reads a line that no format claims: a fault that a program around the library printed. A launcher's prefix may
// be the name of the program, so the line counts with it too. It reports whether the line says something of the run.
func (r *ncclLog) rest(l line) bool {
	if r.cur != nil && r.cur.full() {
		return false
	}
	text := strings.TrimSpace(l.text)
	level := faultLevel(text)
	if level == "" && l.source != "" && l.log == nil {
		level = faultLevel(l.raw)
	}
	if level == "" {
		return false
	}
	if l.log == nil {
		r.run(l).keepFault(l.number, text, l.raw, level)
	} else { // what another process had written before the entry
		r.run(l).keepFault(l.number, text, text, level)
	}
	return true
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

func (g *logRun) version(library, version string) {
	if g.log.Version == "" {
		g.log.Library, g.log.Version = strings.Clone(library), keep(version)
	}
}

// warn keeps a warning of the library.
func (g *logRun) warn(l line) {
	if !g.full() && !g.faults[faultKey(l.log.message)] {
		g.keepFault(l.number, l.log.message, entryText(l), warning(l.log.message))
	}
}

// full reports whether no further fault is kept. The log is cut then, and has as many errors as fit.
func (g *logRun) full() bool { return g.log.Cut && g.errors >= maxLogFaults || g.budget.faults < 0 }

// faultKey is by what two lines are the same fault.
func faultKey(message string) string {
	message = strings.TrimSpace(message)
	return message[:min(len(message), maxShown)]
}

// keepFault keeps a line that speaks of a fault once, however many ranks print it. Faults have a budget of their own,
// and errors within it: no number of other lines pushes them out.
func (g *logRun) keepFault(number int, message, text string, level fabric.LineLevel) {
	key := faultKey(message)
	if g.faults[key] {
		return
	}
	of := &g.warnings
	if level == fabric.LineError {
		of = &g.errors
	}
	if *of >= maxLogFaults || !g.budget.fault() {
		g.log.Cut = true
		return
	}
	*of++
	g.faults[strings.Clone(key)] = true
	g.log.Lines = append(g.log.Lines, fabric.LogLine{Line: number, Text: keep(text), Level: level})
}

// keepInfo keeps a line that rules search for.
func (g *logRun) keepInfo(l line, message string) {
	key := keep(message)
	if g.said[key] {
		return
	}
	if len(g.said) >= maxLogInfos || !g.room(2*maxShown) {
		g.log.Cut = true
		return
	}
	g.said[key] = true
	g.log.Lines = append(g.log.Lines, fabric.LogLine{Line: l.number, Text: keep(entryText(l))})
}

// entryText is a line without what preceded the entry of the log on it: a row.
func entryText(l line) string {
	if l.log != nil && strings.TrimSpace(l.text) != "" {
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
	out.Tuning = g.tuning.cells
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
