package launch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Watch joins the logs of pods to launches.
type Watch struct {
	scan    *scanner
	seq     int
	readers map[string]*Reader
	names   []string          // in the order in which they came
	last    map[string]string // by log: the pod of its last prefix, whose bars and wrapped lines have none
	expect  *Expectation
}

// New returns a watch. What was computed for the launch may be nil: then figures are compared with nothing.
func New(expect *Expectation) *Watch {
	return &Watch{scan: known(), readers: map[string]*Reader{}, last: map[string]string{}, expect: expect}
}

// known is the automaton of all forms. Nothing changes it.
var known = sync.OnceValue(func() *scanner { return newScanner(allForms()) })

// Expect gives what was computed for the launch, once the logs told what to compute.
func (w *Watch) Expect(e *Expectation) { w.expect = e }

// Line reads a line. A prefix of kubectl, stern or docker compose names its pod; without one it is that of the line.
func (w *Watch) Line(l Line) {
	text := l.Text
	if strings.IndexByte(text[:min(len(text), 64)], 0x1b) >= 0 {
		text = plain(text)
	}
	if pod, code, ok := exited(text); ok {
		w.Exited(pod, code, "", l.At)
		return
	}
	pod, text := origin(text)
	if pod != "" {
		w.last[l.Pod] = pod
	}
	w.reader(cmp.Or(pod, w.last[l.Pod], l.Pod)).Line(l.At, text)
}

// Exited tells that a container of a pod ended.
func (w *Watch) Exited(pod string, code int, reason string, at time.Time) {
	w.reader(pod).Exit(code, reason, at)
}

// Restarted tells that a pod was started again, or replaced by another one of its name. What it printed is kept.
func (w *Watch) Restarted(pod string) { w.reader(pod).Restart() }

func (w *Watch) reader(pod string) *Reader {
	r := w.readers[pod]
	if r == nil {
		r = newReader(pod, w.scan, &w.seq)
		w.readers[pod] = r
		w.names = append(w.names, pod)
	}
	return r
}

// Result says how far the launches are, at a time. The zero time is that of the last line: of logs that were saved it is
// unknown how long they have been silent.
func (w *Watch) Result(now time.Time) *fabric.Launches {
	out := &fabric.Launches{Meta: fabric.NewMeta("Launches"), Groups: []fabric.Launch{}}
	for _, g := range w.groups() {
		out.Groups = append(out.Groups, g.launch(now))
	}
	return out
}

// Settled reports whether every launch is ready or cannot become ready any more, so that there is nothing to wait for.
func (w *Watch) Settled(now time.Time) (settled bool, result *fabric.Launches) {
	result = w.Result(now)
	settled = len(result.Groups) > 0
	for _, g := range result.Groups {
		settled = settled && (g.Hopeless || g.Status == fabric.Pass && g.Outcome == fabric.LaunchReady && !strings.Contains(g.Why, warmUpOpen))
	}
	return settled, result
}

// member is a pod of a group.
type member struct {
	*Reader
	index int // the leader is 0; -1: unknown
}

// group is the pods that start one model together.
type group struct {
	name    string
	members []member
	expect  *Expectation
}

// groups sorts pods by name: LeaderWorkerSet calls the leader of group G NAME-G and its workers NAME-G-1, NAME-G-2. The pods of
// a JobSet with a job for the leader and one for the workers are SET-leader-0-0-abcde and SET-workers-0-0-fghij. Pods NAME-0, NAME-1 without such workers are those of a StatefulSet, and one group unless two of them have the same rank. All
// other logs are of one group: that is why they were given together.
func (w *Watch) groups() []group {
	byName := map[string]*group{}
	var order []string
	add := func(name string, r *Reader, index int) {
		g := byName[name]
		if g == nil {
			g = &group{name: name, expect: w.expect}
			byName[name] = g
			order = append(order, name)
		}
		g.members = append(g.members, member{r, index})
	}
	var workers []string // NAME-G that have workers, or lead a group of the plan
	sets := false
	for _, n := range w.names {
		if _, _, ok := jobSetPod(n); ok {
			sets = true
			continue
		}
		if w.expect.leads(n) {
			workers = append(workers, n)
		}
		if base, _, ok := numbered(n); ok {
			if _, _, ok := numbered(base); ok {
				workers = append(workers, base)
			}
		}
	}
	var loose []string
	for _, n := range w.names {
		r := w.readers[n]
		if r.lines == 0 && r.now.exit == "" || w.last[n] != "" && r.says() == 0 { // what stands before the first prefix of a log
			continue
		}
		set, rank, ofSet := jobSetPod(n)
		base, index, ok := numbered(n)
		switch {
		case ofSet:
			add(set, r, rank)
		case ok && slices.Contains(workers, base):
			add(base, r, index)
		case slices.Contains(workers, n):
			add(n, r, 0)
		default:
			loose = append(loose, n)
		}
	}
	w.addLoose(loose, sets || len(workers) > 0, add)
	out := make([]group, 0, len(order))
	for _, n := range order {
		g := byName[n]
		slices.SortStableFunc(g.members, func(a, b member) int { return cmp.Compare(a.index, b.index) })
		out = append(out, *g)
	}
	return out
}

// says counts what was understood of a log.
func (r *Reader) says() (n int) {
	for _, l := range r.lives {
		n += len(l.processes) + len(l.failures)
	}
	return n
}

// addLoose adds pods whose names do not tell leader and workers.
func (w *Watch) addLoose(names []string, others bool, add func(string, *Reader, int)) {
	if len(names) == 0 {
		return
	}
	bases := map[string]bool{}
	ordinals := true
	for _, n := range names {
		base, _, ok := numbered(n)
		ordinals = ordinals && ok
		bases[base] = true
	}
	if ordinals && len(names) > 1 {
		for base := range bases {
			if w.sameRank(names, base) { // replicas, each a group of its own
				for _, n := range names {
					if b, _, _ := numbered(n); b == base {
						add(n, w.readers[n], 0)
					}
				}
				names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { b, _, _ := numbered(n); return b == base })
			}
		}
	}
	for _, n := range names {
		index := w.readers[n].nodeRank
		if base, i, ok := numbered(n); ok && ordinals && len(names) > 1 && index < 0 {
			_ = base
			index = i
		}
		name := names[0]
		if len(names) > 1 && !others {
			name = common(names)
		}
		if others { // beside groups of LeaderWorkerSets a pod alone is a group alone
			name = n
		}
		add(name, w.readers[n], index)
	}
}

// sameRank reports whether two pods of a name have a rank in common.
func (w *Watch) sameRank(names []string, base string) bool {
	seen := map[string]bool{}
	for _, n := range names {
		if b, _, _ := numbered(n); b != base {
			continue
		}
		own := map[string]bool{}
		for _, l := range w.readers[n].lives {
			for name, p := range l.processes {
				if p.isRank && !strings.HasPrefix(name, "pid ") {
					own[name] = true
				}
			}
			if l.ready.is() || l.startup.is() {
				own["server"] = true
			}
		}
		for name := range own {
			if seen[name] {
				return true
			}
			seen[name] = true
		}
	}
	return false
}

// numbered cuts the number off a name: vllm-0-1 is vllm-0 and 1.
func numbered(name string) (base string, n int, ok bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 1 || !digits(name[i+1:]) || len(name)-i > 6 {
		return "", 0, false
	}
	n, err := strconv.Atoi(name[i+1:])
	return name[:i], n, err == nil
}

// jobSetPod takes the name of a pod of a JobSet apart that has a job for its leader and one for its workers, as railwright renders
// them: into the name of the JobSet and the pod's number in the group. What the Job puts behind the name has five letters of
// those that Kubernetes makes random names of (apimachinery, util/rand).
func jobSetPod(name string) (set string, rank int, ok bool) {
	if m := jobSetName().FindStringSubmatch(name); m != nil {
		n, err := strconv.Atoi(m[3])
		if m[2] != fabric.LeaderJob {
			return m[1], n + 1, err == nil
		}
		return m[1], 0, n == 0
	}
	return "", 0, false
}

var jobSetName = pattern.Plain(`^(.+)-(` + fabric.LeaderJob + `|` + fabric.WorkersJob + `)-0-(\d{1,4})(?:-[bcdfghjklmnpqrstvwxz2456789]{5})?$`)

// common is what all names begin with, without a dash at its end.
func common(names []string) string {
	head := names[0]
	for _, n := range names[1:] {
		for !strings.HasPrefix(n, head) {
			head = head[:len(head)-1]
		}
	}
	if head = strings.TrimRight(head, "-_. "); head == "" {
		return strconv.Itoa(len(names)) + " logs"
	}
	return head
}
