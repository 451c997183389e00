package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// limitShare is the share of the free choice under which a setting counts as a fault: measuring with one
// algorithm is everyday and costs up to a third on healthy machines.
const limitShare = 0.6

// checkLimitingSettings asks whether a result is as it should be only because a setting made it slow: the same prediction
// without the settings is then far above.
func (o *observer) checkLimitingSettings(p point, job Job) {
	if p.quality != good || len(job.Env) == 0 || o.s.limitedBy != "" {
		return
	}
	var names []string
	for _, name := range librarySettings(job.Env) {
		names = append(names, name+"="+job.Env[name])
	}
	if socketsPerConnection(job.Env) {
		o.doubt("prediction", "several sockets per connection are set: the model has one, and does not know what its channels carry then")
		return
	}
	if len(names) == 0 || p.algorithm != "" && len(names) == 1 {
		return
	}
	free := job
	free.Env = nil
	if p.algorithm != "" {
		free.Env = map[string]string{"NCCL_ALGO": p.algorithm}
	}
	if want, ok := o.expectedOf(p, free); ok && p.busbw < limitShare*want && p.busbw <= beside*p.expected.High {
		o.s.limitedBy = fmt.Sprintf("%s GB/s as the settings allow, %s GB/s without %s", number(p.busbw), number(want), strings.Join(names, " "))
	}
}

// expectedOf is what is expected of a point where its job was another one, GB/s; ok is false where nothing is predicted.
func (o *observer) expectedOf(p point, job Job) (busbw float64, ok bool) {
	if o.in.Predict == nil {
		return 0, false
	}
	hw := o.s.hw
	hw.Nodes = p.nodes
	pred, err := o.in.Predict(hw, job, []int64{sizeOf(SizeRate{Size: p.size})})
	if err != nil || pred == nil || len(pred.Rows) != 1 || !sane(pred.Rows) {
		return 0, false
	}
	return pred.Rows[0].BusBW, true
}

// socketsPerConnection reports whether settings give each connection over TCP more sockets. The model has one of them, so
// that it does not know how many channels are enough then.
func socketsPerConnection(env map[string]string) bool {
	return env["NCCL_NSOCKS_PERTHREAD"] != "" || env["NCCL_SOCKET_NTHREADS"] != ""
}

// inForce is a job without the settings that it was hardly measured with: far more was measured than with them is
// predicted, and without each of them more is. A script may set what a container, a launcher or a spelling keeps from the run.
func (o *observer) inForce(t *fabric.Table, p point, job Job, sizes []int64, factor float64) Job {
	names := librarySettings(job.Env)
	if len(names) == 0 {
		return job
	}
	with, ok := o.trial(t, p, o.s.hw, job, sizes, factor)
	if !ok || with.quality != above && with.busbw <= contradicts*with.expected.High {
		return job
	}
	without := func(some []string) (Job, point, bool) {
		free := job
		free.Env = maps.Clone(job.Env)
		maps.DeleteFunc(free.Env, func(name, _ string) bool { return slices.Contains(some, name) })
		stands, ok := o.trial(t, p, o.s.hw, free, sizes, factor)
		return free, stands, ok
	}
	costly := slices.DeleteFunc(names, func(name string) bool {
		_, free, ok := without([]string{name})
		return !ok || free.expected.BusBW <= (1+moved)*with.expected.BusBW
	})
	free, stands, ok := without(costly)
	if len(costly) == 0 || !ok || stands.quality == above || stands.busbw > contradicts*stands.expected.High {
		return job // so much would be too much without them as well: something else was misread
	}
	for _, name := range costly {
		o.s.overruled = append(o.s.overruled, name)
		o.doubt("settings", fmt.Sprintf("%s=%s was hardly in force: which settings the run had is unknown", name, job.Env[name]))
		o.note("settings", fmt.Sprintf("with %s=%s at most %s GB/s are predicted at %s, and %s were measured: it was hardly in force, and the table is judged without it",
			name, job.Env[name], number(min(with.expected.High, with.bound.BusBW)), bytesText(with.size), number(with.busbw)))
	}
	return free
}

// checkReplaced doubts a table before which a setting has several values, where another one than the last would be predicted
// to leave something else: which of them its run had is unknown.
func (o *observer) checkReplaced(t *fabric.Table, p point, job Job) {
	for _, name := range slices.Sorted(maps.Keys(t.Replaced)) {
		for _, value := range t.Replaced[name] {
			other := job
			other.Env = withEnv(job.Env, map[string]string{name: value})
			if a, ok := o.expectedOf(p, other); ok && min(a, p.expected.BusBW) < (1-moved)*max(a, p.expected.BusBW) {
				o.doubt("settings", fmt.Sprintf("%s is set to %s, with which %s GB/s are expected, and then to %s, with which %s are: which of them the run had is unknown",
					name, fabric.Printable(value), number(a), fabric.Printable(orText(job.Env[name], "nothing")), number(p.expected.BusBW)))
			}
		}
	}
}

// librarySettings are the names of settings of NCCL and RCCL in an environment, sorted.
func librarySettings(env map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(env)), func(name string) bool {
		return !strings.HasPrefix(name, "NCCL_") && !strings.HasPrefix(name, "RCCL_")
	})
}
