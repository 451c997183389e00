package results

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// mostLogs is how many debug logs of one call are explained each by itself. More are those of the ranks of one run, as
// NCCL_DEBUG_FILE=%h.%p writes them, and only together they tell what its hosts chose.
const mostLogs = 8

// JoinLogs puts the debug logs of a call together where there are more than mostLogs in files without a measurement. The
// joined log stands under the folder of its files.
func JoinLogs(all []fabric.Result) []fabric.Result {
	measured := map[string]bool{}
	for _, r := range all {
		measured[r.File] = measured[r.File] || r.Kind != fabric.NCCLDebugLog
	}
	var logs, others []fabric.Result
	for _, r := range all {
		if r.Kind == fabric.NCCLDebugLog && !measured[r.File] {
			logs = append(logs, r)
		} else {
			others = append(others, r)
		}
	}
	if len(logs) <= mostLogs {
		return all
	}
	j := joined{log: fabric.NCCLLog{Env: map[string]string{}}, hosts: map[string]int{}, lines: map[string]int{}, gpus: map[int]bool{}, connections: map[fabric.LogConnection]int{}}
	for _, r := range logs {
		j.add(r.Content.(*fabric.NCCLLog))
	}
	name := fmt.Sprintf("%d logs in %s", len(logs), filepath.Dir(logs[0].File))
	return append(others, fabric.Result{File: name, Kind: fabric.NCCLDebugLog, Content: j.finish()})
}

// joined is several logs of one run.
type joined struct {
	log         fabric.NCCLLog
	hosts       map[string]int // places in ByHost
	lines       map[string]int // places in Lines by what they say
	gpus        map[int]bool
	connections map[fabric.LogConnection]int
}

// add adds a log. Of what each rank prints alike, that of the first is kept.
func (j *joined) add(l *fabric.NCCLLog) {
	out := &j.log
	out.Library, out.Version = cmp.Or(out.Library, l.Library), cmp.Or(out.Version, l.Version)
	out.Bootstrap, out.Net = cmp.Or(out.Bootstrap, l.Bootstrap), cmp.Or(out.Net, l.Net)
	out.Ranks, out.Nodes, out.Channels, out.NVLS = max(out.Ranks, l.Ranks), max(out.Nodes, l.Nodes), max(out.Channels, l.Channels), max(out.NVLS, l.NVLS)
	out.Ready, out.Cut = out.Ready || l.Ready, out.Cut || l.Cut
	if len(out.HCAs) == 0 {
		out.HCAs = l.HCAs
	}
	if len(out.Paths) == 0 {
		out.Paths, out.Graphs, out.Tuning, out.Chosen = l.Paths, l.Graphs, l.Tuning, l.Chosen
	}
	for _, h := range l.Hosts {
		if _, known := j.hosts[h]; !known && len(out.Hosts) < maxLogHosts {
			j.hosts[h] = -1
			out.Hosts = append(out.Hosts, h)
		}
	}
	for _, g := range l.GPUs {
		if !j.gpus[g.Rank] {
			j.gpus[g.Rank] = true
			out.GPUs = append(out.GPUs, g)
		}
	}
	for _, c := range l.Connections {
		n := c.Count
		c.Count = 0
		j.connections[c] += n
	}
	for name, value := range l.Env {
		if _, set := out.Env[name]; !set && len(out.Env) < maxLogEnv {
			out.Env[name] = value
			if slices.Contains(l.Pasted, name) {
				out.Pasted = append(out.Pasted, name)
			}
		}
	}
	j.choices(l.ByHost)
	j.say(l.Lines)
}

// choices adds what hosts chose; ranks of one host add up.
func (j *joined) choices(hosts []fabric.LogHost) {
	for _, h := range hosts {
		at, known := j.hosts[h.Host]
		if !known || at < 0 {
			j.hosts[h.Host] = len(j.log.ByHost)
			h.Env = maps.Clone(h.Env)
			j.log.ByHost = append(j.log.ByHost, h)
			continue
		}
		old := &j.log.ByHost[at]
		old.Library, old.Net, old.Plugin = both(old.Library, h.Library), both(old.Net, h.Net), both(old.Plugin, h.Plugin)
		old.Direct, old.Bounced = old.Direct+h.Direct, old.Bounced+h.Bounced
		if len(old.HCAs) == 0 {
			old.HCAs = h.HCAs
		}
		for name, value := range h.Env {
			if _, set := old.Env[name]; !set {
				if old.Env == nil {
					old.Env = map[string]string{}
				}
				old.Env[name] = value
			}
		}
	}
}

// both is what two ranks of a host chose: one thing, or each of two.
func both(a, b string) string {
	if a == "" || b == "" || a == b || strings.Contains(a, " and "+b) || strings.HasPrefix(a, b+" and ") {
		return cmp.Or(a, b)
	}
	return a + " and " + b
}

// say adds lines: each message once per host, with how often it stands there.
func (j *joined) say(lines []fabric.LogLine) {
	for _, l := range lines {
		key := cmp.Or(l.Message, l.Text) + " " + l.Host
		at, known := j.lines[key]
		switch {
		case known:
			j.log.Lines[at].Count += max(1, l.Count)
		case len(j.log.Lines) < 2*maxLogFaults || l.Level == fabric.LineError && len(j.log.Lines) < 4*maxLogFaults:
			j.lines[key] = len(j.log.Lines)
			j.log.Lines = append(j.log.Lines, l)
		default:
			j.log.Cut = true
		}
	}
}

// finish sorts what was counted.
func (j *joined) finish() *fabric.NCCLLog {
	out := &j.log
	for c, n := range j.connections {
		c.Count = n
		out.Connections = append(out.Connections, c)
	}
	slices.SortFunc(out.Connections, func(a, b fabric.LogConnection) int {
		return cmp.Or(cmp.Compare(a.Via, b.Via), cmp.Compare(a.HCA, b.HCA), cmp.Compare(boolOrder(a.GDR), boolOrder(b.GDR)), cmp.Compare(boolOrder(a.Proxy), boolOrder(b.Proxy)))
	})
	slices.SortFunc(out.GPUs, func(a, b fabric.LogGPU) int { return cmp.Compare(a.Rank, b.Rank) })
	slices.SortFunc(out.ByHost, func(a, b fabric.LogHost) int { return cmp.Compare(a.Host, b.Host) })
	if len(out.Env) == 0 {
		out.Env = nil
	}
	slices.Sort(out.Pasted)
	return out
}
