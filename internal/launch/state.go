package launch

import (
	"slices"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// number of a stage in the order of a launch; -1: none.
func ordinal(s fabric.LaunchStage) int { return slices.Index(fabric.LaunchStages(), s) }

const stages = 8 // fabric.LaunchStages

// moment is a place in the logs: the order of reading, and the time that the log gives.
type moment struct {
	seq int // from 1; 0: not there
	at  time.Time
}

func (m moment) is() bool { return m.seq > 0 }

// span is a stage of one process.
type span struct {
	begin, end moment // first line, first end
	last       moment // last end: a draft model has its own
}

// process is what one rank, or another process of a pod, has printed in one life of the pod.
type process struct {
	name    string // rank or role; "" for lines without a tag
	isRank  bool
	stage   int // ordinal of the stage that it is in; -1: none
	spans   [stages]span
	figures map[string]*figure
}

// figure is a number that a process printed, each time.
type figure struct {
	unit   string
	values []float64
}

// mostValues is how often a figure is kept per process: main and draft models print each a few times.
const mostValues = 8

func (p *process) put(what, unit string, value float64) {
	if p.figures == nil {
		p.figures = map[string]*figure{}
	}
	f := p.figures[what]
	if f == nil {
		f = &figure{unit: unit}
		p.figures[what] = f
	}
	if len(f.values) < mostValues {
		f.values = append(f.values, value)
	}
}

// once keeps a figure that is printed again with every redrawing of a bar.
func (p *process) once(what, unit string, value float64) {
	if f := p.figures[what]; f != nil && f.values[len(f.values)-1] == value {
		return
	}
	p.put(what, unit, value)
}

// life is one start of a pod: what it printed until it was started again.
type life struct {
	processes map[string]*process
	order     []string // of processes, as they came
	failures  []failure
	kept      map[string]int // failures by kind and process
	texts     map[string]fabric.LaunchRemark
	lines     int
	severe    bool   // an effect that only a dying engine prints
	ready     moment // the server takes requests
	listens   moment // uvicorn says so; SGLang has yet to run its own first request
	startup   moment // "Application startup complete"
	served    moment
	progress  moment // last sign that it goes on
	last      moment
	// When these came, where the caller tells it.
	progressCame, lastCame time.Time
	percent                int
	beats                  int    // lines since the last progress that say that a process waits
	beatsOf                int    // the progress since which these are counted
	remote                 int    // engines of other nodes that are waited for; -1: not printed
	peers                  [2]int // of Gloo: connected and expected, where fewer are
	barStage               int
	done                   int // of the bar
	total                  int
	barSecs                float64
	open                   opened // a traceback whose exception did not come
	exit                   string
	exitCode               int
	lastText               string
}

func newLife() *life {
	return &life{processes: map[string]*process{}, kept: map[string]int{}, texts: map[string]fabric.LaunchRemark{}, percent: -1, barStage: -1, exitCode: -1, remote: -1}
}

func (l *life) process(name string, isRank bool) *process {
	p := l.processes[name]
	if p == nil {
		p = &process{name: name, isRank: isRank, stage: -1}
		l.processes[name] = p
		l.order = append(l.order, name)
	}
	return p
}

// dated gives the year to what came before the first time that has one.
func (l *life) dated(year int) {
	all := []*moment{&l.ready, &l.listens, &l.startup, &l.served, &l.progress, &l.last}
	for _, p := range l.processes {
		for i := range p.spans {
			all = append(all, &p.spans[i].begin, &p.spans[i].end, &p.spans[i].last)
		}
	}
	for i := range l.failures {
		all = append(all, &l.failures[i].when)
	}
	for _, m := range all {
		if !m.at.IsZero() && m.at.Year() == 0 {
			m.at = m.at.AddDate(year, 0, 0)
		}
	}
}

// stage is the furthest of all processes.
func (l *life) stage() int {
	most := -1
	for _, p := range l.processes {
		most = max(most, p.stage)
	}
	return most
}

// isReady reports whether the server of this life takes requests: SGLang says so itself after its own first request, and
// uvicorn before that; vLLM's server is up when its application is. A request that was answered proves either.
func (l *life) readyAt(engine string) moment {
	best := moment{}
	for _, m := range []moment{l.ready, l.served} {
		if m.is() && (!best.is() || m.seq < best.seq) {
			best = m
		}
	}
	if best.is() {
		return best
	}
	if engine != sglang && l.startup.is() {
		return l.startup
	}
	return l.listens
}

// failure is a line that may be a cause.
type failure struct {
	form  *form
	when  moment
	rank  string
	line  int
	text  string
	stage int // of the process when it came
}
