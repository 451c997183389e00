package launch

import (
	"strconv"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// worse chooses which form of a line is meant: the one that says more, of equals the longer text.
func worse(a, b *form, t tagged) *form {
	if b.kind == "exception" && !isException(t.body) {
		return a
	}
	if a == nil {
		return b
	}
	ra, rb := rankOfForm(a, t.level), rankOfForm(b, t.level)
	if rb > ra || rb == ra && len(b.text) > len(a.text) {
		return b
	}
	return a
}

// rankOfForm orders forms of one line: an effect hides a general exception, and is hidden by what is known better; of a warning a hint says most.
func rankOfForm(f *form, l level) int {
	switch f.does {
	case effect:
		return 3
	case waits:
		return 8
	case hint:
		if l == warning {
			return 9
		}
		return 5
	default:
		return 2*(f.weight+1) - 1 // 3 (yields to an effect by its length only), 5, 7
	}
}

// isException reports whether a text begins with the name of an exception: "torch.OutOfMemoryError: CUDA ...".
func isException(body string) bool {
	body = strings.TrimLeft(body, " |+-")
	if strings.HasPrefix(body, "terminate called") || strings.HasPrefix(body, "what():") {
		return true
	}
	end := 0
	for end < len(body) && (body[end] == '.' || body[end] == '_' || body[end] >= '0' && body[end] <= '9' || body[end] >= 'A' && body[end] <= 'Z' || body[end] >= 'a' && body[end] <= 'z') {
		end++
	}
	name := body[:end]
	rest := body[end:]
	if rest != "" && rest[0] != ':' && rest[0] != '|' && rest[0] != '(' {
		return false
	}
	if name == "Exception" || strings.HasSuffix(name, "_ERROR") {
		return true
	}
	for _, suffix := range []string{"Error", "Exception", "Timeout", "Interrupt"} {
		if strings.HasSuffix(name, suffix) && len(name) > len(suffix) {
			return true
		}
	}
	return false
}

// mostFailures is how many lines of one kind are kept per process, and how many of a pod.
const (
	mostOfKind   = 3
	mostFailures = 400
)

// fail keeps a line that may be a cause, unless its program says that it is none.
func (r *Reader) fail(f *form, when moment, t tagged, p *process) {
	l := r.now
	f = asSaid(f, t)
	if f == nil || f.text == "Killed" && (l.severe || !killedLine(t.body)) { // an engine that gives up kills its own processes
		return
	}
	if f.kind == "warm-up" { // SGLang then ends its own processes
		l.severe = true
	}
	if f.does == effect && f.weight > 0 {
		l.severe = true
		if p.isRank {
			r.crash = crashed{of: p, line: r.lines}
		}
	} else if c := r.crash; !p.isRank && t.role == "" && c.of != nil && r.lines-c.line < framed {
		p = c.of
	}
	key := f.kind + " " + p.name
	if r.ignored(f) || !l.keeps(f, key) {
		return
	}
	l.kept[key]++
	l.failures = append(l.failures, failure{form: f, when: when, rank: p.name, line: r.lines, text: shown(t.body), stage: r.stageFor(f, p)})
}

// asSaid is the form of a line by what else it says: how a process ended, its level, and which folder is full. It is nil for a
// line that is no failure.
func asSaid(f *form, t tagged) *form {
	if f.does == effect || f.kind == "killed" || f.kind == "crash" {
		if f = ended(f, t.body); f == nil {
			return nil
		}
	}
	switch {
	case t.level == quiet && f.does != hint:
		return nil
	case t.level == warning && f.does != hint:
		weak := *f
		weak.does = hint
		f = &weak
	}
	if f.kind == "shared-memory" || f.kind == "disk-full" {
		return whichFull(f, t.body)
	}
	return f
}

// keeps reports whether one more line of a kind is kept of a process: of what only follows from a failure, one.
func (l *life) keeps(f *form, key string) bool {
	if f.does == effect {
		return l.kept[key] == 0
	}
	return l.kept[key] < mostOfKind && len(l.failures) < mostFailures
}

// opened is the last line of a traceback so far.
type opened struct {
	line int // 0: none is open
	rank string
	when moment
	text string
}

// cut is the failure of a log that ends inside a traceback: its process failed, and of what is missing. While the log is
// followed the rest may still come.
func (r *Reader) cut(now time.Time, engine string) (f failure, is bool) {
	const behind = 3 // code and a line of ^^^ stand under a frame
	const rest = 10 * time.Second
	l := r.now
	switch {
	case l.open.line == 0, r.lines-l.open.line > behind, l.readyAt(engine).is():
		return f, false
	case !now.IsZero() && now.Sub(l.lastCame) < rest:
		return f, false
	}
	form := &form{text: "Traceback", does: effect, kind: "effect", weight: 1}
	return failure{form: form, when: l.open.when, rank: l.open.rank, line: l.open.line, text: l.open.text, stage: r.stageFor(form, l.process(l.open.rank, false))}, true
}

// isFrame reports whether a line is a frame of a traceback: File "x.py", line 3, in load.
func isFrame(text string) bool { return strings.Contains(text, ", line ") }

// framed is how many lines a traceback has at most.
const framed = 150

// traceback takes the stage of a frame. What was printed as the head of this traceback gets it too.
func (r *Reader) traceback(stage int) {
	r.frame = traced{stage: stage, line: r.lines}
	if n := len(r.now.failures); n > 0 {
		if f := &r.now.failures[n-1]; f.form.does == effect && f.stage < stage && r.lines-f.line < framed {
			f.stage = stage
		}
	}
}

// ignored reports whether an exception is one that Python prints and ignores.
func (r *Reader) ignored(f *form) bool {
	const lines = 20 // of such a traceback
	if r.aside == 0 || f.does != root || f.weight > 1 || r.lines-r.aside > lines {
		return false
	}
	r.aside = 0
	return true
}

// killedLine reports whether a shell says that a process was killed: "Killed", or "run.sh: line 3: 77 Killed  python".
func killedLine(body string) bool {
	return strings.TrimSpace(body) == "Killed" || strings.Contains(body, ": line ")
}

// stageFor is the stage in which a process fails: that of its rank, or of the pod for a line that names none. What fails after
// the weights are there, or the cache, fails in the next stage; a rank that waits for others waits for them in its own.
func (r *Reader) stageFor(f *form, p *process) int {
	if !p.isRank || p.stage < 0 {
		for _, name := range r.now.order {
			q := r.now.processes[name]
			if q.stage > p.stage || q.stage == p.stage && q.stage >= 0 && !q.spans[q.stage].end.is() {
				p = q
			}
		}
	}
	if r.frame.line > 0 && r.lines-r.frame.line < framed && r.frame.stage >= p.stage {
		return r.frame.stage
	}
	if p.stage < 0 || f.does == waits {
		return p.stage
	}
	ended := p.spans[p.stage].end.is()
	switch fabric.LaunchStages()[p.stage] {
	case fabric.StageWeights, fabric.StageCompile:
		if ended {
			return ordinal(fabric.StageKV)
		}
	case fabric.StageKV:
		if ended {
			return ordinal(fabric.StageGraphs)
		}
	}
	return p.stage
}

// ended says of a process that ended what its exit code tells: a signal that it got names the kind. SGLang explains -9 beside every
// code of a scheduler (entrypoints/engine.py, _scheduler_died_error); of an engine that ends its own processes it returns nil.
func ended(f *form, body string) *form {
	if strings.Contains(body, "ending SIGKILL") { // vLLM: v1/executor/multiproc_executor.py; SGLang: entrypoints/engine.py
		return nil
	}
	code, told := exitCodeOf(body)
	switch kind := kindOfSignal(code); {
	case told && kind != "":
		return &form{text: f.text, does: root, kind: kind, weight: 2}
	case told && f.does == root:
		return &form{text: f.text, does: effect, kind: "effect", weight: 1}
	}
	return f
}

// kindOfSignal is what the signal of an exit code means: -N of Python's processes, 128+N of a shell. "" for others, such as those
// with which processes are asked to end.
func kindOfSignal(code int) string {
	switch code {
	case -9, 137: // SIGKILL
		return "killed"
	case -11, 139, -6, 134, -4, 132, -8, 136: // SIGSEGV, SIGABRT, SIGILL, SIGFPE
		return "crash"
	case -7, 135: // SIGBUS
		return "bus-error"
	}
	return ""
}

// exitCodeOf reads the first exit code that a line tells: "(exit code: -3)", "exitcode=-9", "exited with code 137".
func exitCodeOf(body string) (code int, told bool) {
	lower := strings.ToLower(body)
	for _, key := range []string{"exit code", "exitcode", "exited with code"} {
		_, after, ok := strings.Cut(lower, key)
		if !ok {
			continue
		}
		after = strings.TrimLeft(after, " :=")
		end := 0
		for end < len(after) && end < 6 && (after[end] >= '0' && after[end] <= '9' || end == 0 && after[end] == '-') {
			end++
		}
		if n, err := strconv.Atoi(after[:end]); err == nil {
			return n, true
		}
	}
	return 0, false
}

// whichFull tells a full /dev/shm from a full disk.
func whichFull(f *form, body string) *form {
	if f.kind == "disk-full" && (strings.Contains(body, "/dev/shm") || strings.Contains(body, "shared memory")) {
		g := *f
		g.kind, g.stage = "shared-memory", fabric.StageInit
		return &g
	}
	return f
}
