package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// warmUpOpen is said where SGLang listens and has not told the end of its own first request.
const warmUpOpen = "the line that ends its own first request is not there"

// mostListed is how many failures a launch lists.
const mostListed = 20

// engine is the one that any pod named.
func (g *group) engine() string {
	for _, m := range g.members {
		if m.engine != "" {
			return m.engine
		}
	}
	return ""
}

// current are the lives that the pods of a group are in.
func (g *group) current() []*life {
	out := make([]*life, len(g.members))
	for i, m := range g.members {
		out[i] = m.now
	}
	return out
}

// launch says how far a group is.
func (g *group) launch(now time.Time) fabric.Launch {
	lives := g.current()
	out := fabric.Launch{Group: g.name, Engine: g.engine()}
	for _, m := range g.members {
		out.Version = cmp.Or(out.Version, m.version)
		out.Lines += m.lines
		out.Pods = append(out.Pods, m.summary())
	}
	out.Stages, out.Numbers, out.Network = g.stages(lives), g.numbers(lives), g.network()
	out.Missing, out.World = g.missing(lives)
	if len(out.Missing) == out.World {
		out.Missing = nil
	}
	out.Remarks = append(g.remarks(lives), overlong(out.Numbers)...)
	out.Remarks = append(out.Remarks, g.unplanned(&out)...)
	if ready, _ := g.ready(lives); ready.is() && out.Engine == "" {
		out.Remarks = append(out.Remarks, fabric.LaunchRemark{Kind: "engine-unknown", Text: "no line is of SGLang or vLLM: this is the server of another program, or the head of the log is missing"})
	}
	all := append(g.failures(0), g.cut(lives, now, out.Engine)...)
	dead := g.ended(lives)
	ready, by := g.ready(lives)
	why := cause(unsurvived(all, out.Engine), dead)
	if ready.is() {
		why = g.afterReady(all, ready, dead)
	}
	for _, f := range all {
		if len(out.Failures) < mostListed && f.form.does != effect {
			out.Failures = append(out.Failures, f.report(len(f.of.failures)))
		}
	}
	g.earlier(&out)
	g.verdict(&out, why, ready, by, lives, now, all)
	return out
}

// verdict sets the outcome: what died is not ready, and what was not seen to be ready is open.
func (g *group) verdict(out *fabric.Launch, why *found, ready moment, by string, lives []*life, now time.Time, all []found) {
	out.Stage = g.stageOf(lives)
	switch {
	case why != nil:
		f := why.report(g.starts(why.pod))
		if f.Kind == "effect" {
			f.Kind, f.Title, f.Means = "unknown", "the cause is not in these logs", "Processes ended because another one failed; what it printed is missing."
			f.Fix = "the whole log of every pod, also of the previous container (kubectl logs --previous)"
		}
		g.lateRank(&f, why, lives)
		out.Cause, out.Outcome, out.Status, out.Hopeless = &f, fabric.LaunchDied, fabric.Fail, true
		if f.Stage != "" {
			out.Stage = f.Stage
		}
		out.Why = f.Title
	case ready.is():
		out.Outcome, out.Status = fabric.LaunchReady, fabric.Pass
		if out.Stage != fabric.StageServing {
			out.Stage = fabric.StageReady
		}
		out.Why = "the server takes requests: " + by
		if out.Engine == sglang && !g.warm(lives) {
			out.Why += "; " + warmUpOpen
		}
	default:
		out.Outcome, out.Status = fabric.LaunchOpen, fabric.Unknown
		out.Stall = g.stall(out.Stage, lives, hintsOf(unsurvived(all, out.Engine)), now)
		out.Why = openWords(out, now)
		switch {
		case out.Stall.Passed:
			out.Outcome = fabric.LaunchStalled
		case now.IsZero() && waiting(lives):
			out.Outcome = fabric.LaunchStalled
			out.Why = fmt.Sprintf("the logs end while the engine waits in stage %s: %.0f s without progress", cmp.Or(string(out.Stage), "unknown"), out.Stall.Seconds)
		}
	}
}

func openWords(out *fabric.Launch, now time.Time) string {
	s := out.Stall
	where := "before any known stage"
	if out.Stage != "" {
		where = "in stage " + string(out.Stage)
	}
	switch {
	case s.Passed:
		return fmt.Sprintf("no progress %s for %.0f s, and it may take %.0f s", where, s.Seconds, s.Bound)
	case now.IsZero():
		return fmt.Sprintf("the logs end %s; nothing failed, and no line says that the server takes requests", where)
	}
	return fmt.Sprintf("%s, no failure; last progress %.0f s ago", where, s.Seconds)
}

// lateRank says of a rank that gave up waiting after its own weights were there what it waited for.
func (g *group) lateRank(f *fabric.LaunchFailure, why *found, lives []*life) {
	if why.form.does != waits || f.Stage != fabric.StageWeights || f.Kind != "nccl-timeout" && f.Kind != "store-timeout" && f.Kind != "gloo-timeout" {
		return
	}
	if !g.anyLoaded(lives) {
		return
	}
	k := kindOf("rank-late")
	f.Kind, f.Title, f.Means, f.Fix = "rank-late", k.title, k.means, k.fix
}

// ended reports whether a container of the group ended with an error.
func (g *group) ended(lives []*life) bool {
	return slices.ContainsFunc(lives, func(l *life) bool { return l.exitCode > 0 && l.exitCode != 143 })
}

// ready finds the line that says that the group takes requests: that of its leader. A worker of SGLang runs a server of its
// own, which only answers health checks.
func (g *group) ready(lives []*life) (moment, string) {
	engine := g.engine()
	for i, m := range g.members {
		l := lives[i]
		at := l.readyAt(engine)
		if !at.is() {
			continue
		}
		worker := m.index > 0 || m.nodeRank > 0
		unsure := len(g.members) > 1 && m.index < 0 && engine == sglang
		if (worker || unsure) && !l.ready.is() && !l.served.is() {
			continue
		}
		what := "uvicorn listens"
		switch {
		case l.ready.is():
			what = "its own first request was answered"
		case l.served.is():
			what = "a request was answered"
		case l.startup.is() && engine != sglang:
			what = "application startup complete"
		}
		if t := stamp(at.at); t != "" {
			what += " at " + t
		}
		return at, what
	}
	return moment{}, ""
}

func (g *group) warm(lives []*life) bool {
	return slices.ContainsFunc(lives, func(l *life) bool { return l.ready.is() || l.served.is() })
}

// afterReady finds what ended a server that was up: only where its engine says that it died.
func (g *group) afterReady(all []found, ready moment, dead bool) *found {
	engine := g.engine()
	var after []found
	severe := dead
	for _, f := range all {
		if f.survived(engine) || f.when.seq < ready.seq && (ready.at.IsZero() || !f.when.at.After(ready.at)) {
			continue
		}
		after = append(after, f)
		severe = severe || f.form.does == effect && f.form.weight > 0 || f.form.kind == "warm-up"
	}
	if !severe {
		return nil
	}
	return cause(after, dead)
}

// failures are those of the lives that are so many starts back.
func (g *group) failures(back int) (all []found) {
	for _, m := range g.members {
		i := len(m.lives) - 1 - back
		if i < 0 {
			continue
		}
		l := m.lives[i]
		for _, f := range l.failures {
			all = append(all, found{failure: f, pod: m.pod, life: i, of: l})
		}
		if l.exitCode > 0 && l.exitCode != 143 {
			all = append(all, found{failure: exitFailure(l), pod: m.pod, life: i, of: l})
		}
	}
	slices.SortStableFunc(all, inTime)
	return all
}

// cut are the failures of logs that end inside a traceback.
func (g *group) cut(lives []*life, now time.Time, engine string) (all []found) {
	for i, m := range g.members {
		if f, is := m.cut(now, engine); is {
			all = append(all, found{failure: f, pod: m.pod, life: len(m.lives) - 1, of: lives[i]})
		}
	}
	return all
}

// exitFailure is the end of a container as a failure: 137 is signal 9.
func exitFailure(l *life) failure {
	f := &form{text: l.exit, does: root, kind: "exit", weight: 1}
	if l.exitCode == 137 {
		f.kind, f.weight = "killed", 2
	}
	return failure{form: f, when: l.last, text: "the container ended with exit code " + l.exit, stage: l.stage()}
}

func unsurvived(all []found, engine string) []found {
	return slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.survived(engine) })
}

func hintsOf(all []found) []found {
	return slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.form.does != hint })
}

// earlier adds the first failure of each start before the current one.
func (g *group) earlier(out *fabric.Launch) {
	most := 0
	for _, m := range g.members {
		most = max(most, len(m.lives))
	}
	for back := most - 1; back > 0; back-- {
		all := g.failures(back)
		if f := cause(unsurvived(all, out.Engine), false); f != nil {
			out.Died = append(out.Died, f.report(g.starts(f.pod)))
		}
	}
}

func (g *group) starts(pod string) int {
	for _, m := range g.members {
		if m.pod == pod {
			return len(m.lives)
		}
	}
	return 1
}

// network is what NCCL uses between nodes, as far as it was printed.
func (g *group) network() string {
	for _, m := range g.members {
		if m.network != "" {
			return m.network
		}
	}
	for _, m := range g.members {
		if m.sockets {
			return "Socket"
		}
	}
	return ""
}

func (g *group) remarks(lives []*life) (out []fabric.LaunchRemark) {
	texts := map[string]string{
		"nccl-sockets":   "NCCL uses sockets between nodes: TCP instead of RDMA, which costs much of the bandwidth",
		"no-rdma-device": "NCCL found no RDMA device in the container",
		"no-libibverbs":  "libibverbs is not in the image, so NCCL cannot use RDMA",
	}
	sockets := g.network() == "Socket"
	for _, l := range lives {
		for _, kind := range []string{"no-libibverbs", "no-rdma-device", "nccl-sockets"} {
			r, there := l.texts[kind]
			if !there || slices.ContainsFunc(out, func(o fabric.LaunchRemark) bool { return o.Kind == kind }) || kind == "nccl-sockets" && !sockets {
				continue
			}
			r.Text = texts[kind]
			out = append(out, r)
		}
	}
	return out
}

// overlong notes a context of which the KV cache does not hold one request: SGLang starts all the same.
func overlong(numbers []fabric.LaunchNumber) []fabric.LaunchRemark {
	var cache, context float64
	for _, n := range numbers {
		switch n.What {
		case "kv_tokens":
			cache = n.Min
		case "context":
			context = n.Max
		case "concurrency": // of vLLM, which refuses such a context itself, and counts the tokens of some layers only
			return nil
		}
	}
	if cache <= 0 || context <= cache {
		return nil
	}
	return []fabric.LaunchRemark{{Kind: "context-over-cache", Text: fmt.Sprintf("a request of the full context, %s tokens, never fits the KV cache of %s", fabric.Thousands(int64(context)), fabric.Thousands(int64(cache)))}}
}

// summary is a pod of the group.
func (m member) summary() fabric.LaunchPod {
	l := m.now
	p := fabric.LaunchPod{Name: m.pod, Index: m.index, Starts: len(m.lives), Lines: m.lines, Last: stamp(l.last.at), Exit: l.exit, LastLine: shown(l.lastText)}
	if s := l.stage(); s >= 0 {
		p.Stage = fabric.LaunchStages()[s]
		if l.barStage == s && l.percent >= 0 && l.percent < 100 {
			p.Percent = l.percent
		}
	}
	for _, name := range l.order {
		if l.processes[name].isRank && !strings.HasPrefix(name, "pid ") {
			p.Ranks = append(p.Ranks, name)
		}
	}
	slices.SortFunc(p.Ranks, byNumbers)
	return p
}

// byNumbers orders TP2 before TP10.
func byNumbers(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
