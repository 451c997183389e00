package launch

import (
	"strconv"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// Reader follows the log of one pod.
type Reader struct {
	pod     string
	scan    *scanner
	lives   []*life
	now     *life
	lines   int
	clock   time.Time // of the last line that had one
	engine  string
	version string
	seq     *int // shared by all readers of a watch: the order in which lines came
	hits    []int32

	network  string
	nccl     string
	sockets  bool
	seen     map[int]bool // ranks that vLLM named at the start
	world    int
	nodeRank int

	wrapped wrapped
	frame   traced
	crash   crashed
	aside   int // the line behind which an exception is ignored; 0: none
}

// crashed is the rank whose traceback is printed: only its first line has a tag.
type crashed struct {
	of   *process
	line int
}

// traced is the last frame of a traceback that tells a stage.
type traced struct {
	stage, line int
}

// wrapped is a line that lacks figures: where terminals and documents wrap lines, they are in the next one.
type wrapped struct {
	form *form
	of   *process
	text string
}

func newReader(pod string, s *scanner, seq *int) *Reader {
	r := &Reader{pod: pod, scan: s, seq: seq, seen: map[int]bool{}, nodeRank: -1}
	r.begin()
	return r
}

// begin starts another life of the pod.
func (r *Reader) begin() {
	r.now = newLife()
	r.lives = append(r.lives, r.now)
	r.network, r.sockets, r.world = "", false, 0
	r.seen = map[int]bool{}
}

// Restart tells that the pod was started again: what it printed so far is kept.
func (r *Reader) Restart() {
	if r.now.lines > 0 || r.now.exit != "" {
		r.begin()
	}
}

// Exit tells with which code a pod ended, and why, as Kubernetes has it.
func (r *Reader) Exit(code int, reason string, at time.Time) {
	*r.seq++
	r.now.exit, r.now.exitCode = strings.TrimSpace(strconv.Itoa(code)+" "+reason), code
	r.now.last = moment{*r.seq, at}
}

// Line reads one line, of whatever form.
func (r *Reader) Line(at time.Time, text string) {
	r.lines++
	before := r.now.progress.seq
	pieces(text, func(piece string) { r.piece(at, piece) })
	r.now.lastCame = at
	if r.now.progress.seq != before {
		r.now.progressCame = at
	}
}

func (r *Reader) piece(at time.Time, text string) {
	*r.seq++
	r.now.lines++
	r.hits = r.scan.find(text, r.hits[:0])
	r.unwrap(text)
	if len(r.hits) == 0 {
		r.plain(at, text)
		return
	}
	t := untag(text)
	if isException(t.body) {
		r.now.open = opened{}
	}
	when := r.moment(at, t.at)
	r.now.last, r.now.lastText = when, text
	if r.bar(at, text, when) {
		return
	}
	p := r.processOf(t)
	var worst *form
	stage := fabric.LaunchStage("")
	for _, h := range r.hits {
		f := &r.scan.forms[h]
		if f.engine != "" && r.engine == "" {
			r.engine = f.engine
		}
		if f.does == restart {
			p = r.restarted(t, p)
			worst = nil
		}
		r.figures(p, f, text)
		if f.does >= root && f.does <= hint {
			worst = worse(worst, f, t)
			if f.stage != "" && (stage == "" || ordinal(f.stage) > ordinal(stage)) {
				stage = f.stage
			}
			continue
		}
		if f.does == frame && !isFrame(text) {
			continue
		}
		r.mark(p, f, when, text, t.body)
		if f.does == restart {
			return // a configuration quotes whatever was asked for
		}
	}
	if worst != nil {
		if worst.stage == "" && stage != "" { // another text of the line tells the stage
			staged := *worst
			staged.stage, worst = stage, &staged
		}
		r.fail(worst, when, t, p)
	}
}

// plain is a line of which nothing is known. It may still tell the time.
func (r *Reader) plain(at time.Time, text string) {
	m := moment{*r.seq, r.clock}
	if len(text) > 20 && (text[0] == '[' || text[0] == '(' || text[0] >= '0' && text[0] <= '9' || text[0] == 'I' || text[0] == 'W' || text[0] == 'E') {
		if t := untag(text); !t.at.IsZero() {
			m = r.moment(at, t.at)
		}
	}
	if m.at.IsZero() {
		m.at = at
	}
	r.now.last, r.now.lastText = m, text
}

func (r *Reader) moment(at, printed time.Time) moment {
	switch {
	case !printed.IsZero():
		if printed.Year() == 0 && r.clock.Year() > 1 {
			printed = printed.AddDate(r.clock.Year(), 0, 0)
		}
		if r.clock.Year() == 0 && printed.Year() > 1 {
			r.now.dated(printed.Year())
		}
		r.clock = printed
	case r.clock.IsZero():
		return moment{*r.seq, at}
	}
	return moment{*r.seq, r.clock}
}

func (r *Reader) processOf(t tagged) *process {
	if t.rank != "" {
		return r.now.process(t.rank, true)
	}
	return r.now.process(t.role, false)
}

// restarted begins another life where the one so far went on long enough to have been one: several processes print their
// configuration at the start.
func (r *Reader) restarted(t tagged, p *process) *process {
	if r.now.stage() < ordinal(fabric.StageInit) && len(r.now.failures) == 0 || r.now.stage() < ordinal(fabric.StageWeights) && !r.now.severe && len(r.now.failures) == 0 {
		return p
	}
	lines := r.now.lines
	r.begin()
	r.now.lines = 1
	r.lives[len(r.lives)-2].lines = lines - 1
	return r.processOf(t)
}

// mark moves the state of a process.
func (r *Reader) mark(p *process, f *form, when moment, text, body string) {
	l := r.now
	stage := ordinal(f.stage)
	switch f.does {
	case restart:
		r.versionOf(body)
		p.enter(ordinal(fabric.StageStart), when)
		l.progress = when
	case begins:
		if l.severe && f.stage == fabric.StageInit && p.spans[stage].begin.is() { // the head of the next start is not in the log
			r.begin()
			l, p = r.now, r.now.process(p.name, p.isRank)
		}
		p.enter(stage, when)
		l.progress = when
	case inside:
		if stage >= p.stage {
			p.enter(stage, when)
		}
		l.progress = when
		r.versionOf(body)
	case ends:
		p.end(stage, when)
		l.progress = when
	case isReady:
		if !stands(text, f.text) {
			return
		}
		r.listening(f.text, when)
		p.enter(ordinal(fabric.StageReady), when)
		l.progress = when
	case isServed:
		if r.engine == sglang && !l.listens.is() && stage == ordinal(fabric.StageReady) {
			return // "Prefill batch" of a log that begins in the middle says nothing of the server
		}
		r.served(p, stage, when, !strings.Contains(text, "\"POST /generate"))
	case facts:
		p.atLeast(stage, when)
	case beat:
		p.atLeast(stage, when)
		r.beat(f.text, text)
	case opens:
		l.open = opened{line: r.lines, rank: p.name, when: when, text: shown(body)}
	case frame:
		r.traceback(stage)
	case aside:
		r.aside = r.lines
	case remark:
		p.atLeast(stage, when)
		r.remark(f.kind, text)
	}
	r.named(f.text, text)
}

// end is the end of a stage, which its first line may have missed.
func (p *process) end(stage int, when moment) {
	if stage >= p.stage { // SGLang may commit the weights after the graphs
		p.enter(stage, when)
	}
	s := &p.spans[stage]
	if !s.begin.is() {
		s.begin = when
	}
	if !s.end.is() {
		s.end = when
	}
	s.last = when
}

// remark keeps the first line of a kind that is worth saying though nothing failed.
func (r *Reader) remark(kind, text string) {
	if _, there := r.now.texts[kind]; !there {
		r.now.texts[kind] = fabric.LaunchRemark{Kind: kind, Pod: r.pod, Line: r.lines, Said: shown(text)}
	}
	if kind == "nccl-sockets" {
		r.sockets = true
	}
}

// served takes the sign that a request was answered. SGLang's own first request is no sign that it takes others.
func (r *Reader) served(p *process, stage int, when moment, foreign bool) {
	l := r.now
	up := l.listens.is() || l.startup.is() || l.ready.is()
	switch {
	case stage == ordinal(fabric.StageServing) && (foreign || l.ready.is()):
		p.enter(stage, when)
		if !l.served.is() {
			l.served = when
		}
	case up:
		p.enter(max(p.stage, ordinal(fabric.StageReady)), when)
	default:
		return
	}
	l.progress = when
}

// stands reports whether a text is what a line says, and not what it quotes or waits for: it begins the line or stands behind
// a prefix, and ends as the program ends it.
func stands(line, text string) bool {
	before, after, _ := strings.Cut(line, text)
	before = strings.TrimRight(before, " ")
	if before != "" && strings.IndexByte(":])|", before[len(before)-1]) < 0 {
		return false
	}
	return !strings.HasPrefix(text, "Application") || after == "" || after[0] == '.' || after[0] == ' '
}

func (r *Reader) listening(text string, when moment) {
	l := r.now
	first := func(m *moment) {
		if !m.is() {
			*m = when
		}
	}
	switch {
	case strings.HasPrefix(text, "The server is fired up"):
		first(&l.ready)
	case strings.HasPrefix(text, "Uvicorn running"):
		first(&l.listens)
	default:
		first(&l.startup)
	}
}

// enter moves a process into a stage.
func (p *process) enter(stage int, when moment) {
	if stage < 0 {
		return
	}
	p.stage = stage
	if s := &p.spans[stage]; !s.begin.is() {
		s.begin = when
	}
}

// beat counts a line that says that a process waits, and takes what it waits for.
func (r *Reader) beat(form, text string) {
	l := r.now
	if l.beatsOf != l.progress.seq {
		l.beats, l.beatsOf = 0, l.progress.seq
	}
	l.beats++
	if strings.HasPrefix(form, "Waiting for * local") {
		if n, ok := number(text, field{key: " remote core", last: true}); ok {
			l.remote = int(n)
		}
	}
}

// gloo takes how many ranks Gloo connected, where it expected more.
func (r *Reader) gloo(text string) {
	got, ok := number(text, field{key: "is connected to "})
	want, ok2 := number(text, field{key: "peer ranks is : "})
	if ok && ok2 {
		r.now.peers = [2]int{int(got), int(want)}
	}
}

// atLeast moves a process that is not so far into a stage.
func (p *process) atLeast(stage int, when moment) {
	if stage > p.stage {
		p.enter(stage, when)
	}
}
