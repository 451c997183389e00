package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
	for name := range maps.Keys(job.Env) {
		if strings.HasPrefix(name, "NCCL_") || strings.HasPrefix(name, "RCCL_") {
			names = append(names, name+"="+job.Env[name])
		}
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
	hw := o.s.hw
	hw.Nodes = p.nodes
	size := p.size
	if size <= 0 {
		size = plateau / 2
	}
	if o.in.Predict == nil {
		return
	}
	pred, err := o.in.Predict(hw, free, []int64{size})
	if err != nil || pred == nil || len(pred.Rows) != 1 || !sane(pred.Rows) {
		return
	}
	if want := pred.Rows[0].BusBW; p.busbw < limitShare*want {
		slices.Sort(names)
		o.s.limitedBy = fmt.Sprintf("%s GB/s as the settings allow, %s GB/s without %s", number(p.busbw), number(want), strings.Join(names, " "))
	}
}

// socketsPerConnection reports whether settings give each connection over TCP more sockets. The model has one of them, so
// that it does not know how many channels are enough then.
func socketsPerConnection(env map[string]string) bool {
	return env["NCCL_NSOCKS_PERTHREAD"] != "" || env["NCCL_SOCKET_NTHREADS"] != ""
}
