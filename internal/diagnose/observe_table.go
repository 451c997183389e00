package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// table observes a curve: against itself, and against what its hardware should give.
func (o *observer) table(t *fabric.Table) {
	job := Job{Collective: t.Collective, Env: withEnv(o.in.Env, envOf(t.Config)), Processes: processes(t), Version: o.version(t.Library)}
	if o.by.ran != nil {
		job.Tuning = o.by.ran.Tuning
	}
	for _, name := range slices.Sorted(maps.Keys(job.Env)) {
		o.s.settings = append(o.s.settings, setting{name: name, value: job.Env[name], source: "configuration of the table"})
	}
	for _, name := range slices.Sorted(maps.Keys(t.Replaced)) {
		o.note("settings", fmt.Sprintf("%s is set more than once: %s, then %s, which counts", name, fabric.Printable(strings.Join(t.Replaced[name], ", ")), fabric.Printable(orText(job.Env[name], "not at all"))))
	}
	o.hardware(t)
	ranks := t.Ranks
	if ranks == 0 && t.Copies < 2 {
		ranks = o.s.hw.Nodes * o.s.hw.GPUsPerNode
	}
	o.s.shape, o.s.copies = newShape(t, ranks), t.Copies
	sh := &o.s.shape
	if ranks == 0 && sh.ranks > 0 {
		ranks = sh.ranks
		o.assume(fmt.Sprintf("%d ranks, from bus over algorithm bandwidth", ranks), "the rows")
		o.spread(ranks)
	}
	o.tableNotes(t, ranks)
	if t.Config["dtype"] != "" {
		job.DType = t.Config["dtype"]
	} else if len(t.Rows) > 0 {
		job.DType = t.Rows[len(t.Rows)-1].Type
	}
	o.mayJudge(t, ranks)
	o.curve(t, job, ranks)
}

// version is that of the library: as the table says it, else the log of its run, else the flag.
func (o *observer) version(said string) string {
	if said == "" && o.by.ran != nil {
		said = o.by.ran.Version
	}
	return cmp.Or(said, o.in.Version)
}

// spread derives the GPUs of a node from the ranks where only one of them is missing.
func (o *observer) spread(ranks int) {
	if hw := &o.s.hw; ranks > 0 && hw.Nodes > 0 && hw.GPUsPerNode == 0 && hw.Machine == "" && ranks%hw.Nodes == 0 {
		hw.GPUsPerNode = ranks / hw.Nodes
	}
}

// tableNotes returns what the table says of itself.
func (o *observer) tableNotes(t *fabric.Table, ranks int) {
	sh := &o.s.shape
	for _, m := range sh.misprints {
		o.note("misprint", m)
	}
	if f := footer(t, sh); f != "" {
		o.note("footer", f)
	}
	for _, h := range sh.holes {
		o.note("hole", h)
	}
	if sh.cliff != "" {
		o.note("cliff", sh.cliff)
	}
	if banner := len(t.Devices) > 0 || t.Library != "" || t.Ranks > 0; o.s.kind == fabric.NCCLTests && !t.Complete && banner && !leftOut(t) {
		// rows that somebody pasted have neither banner nor footer: nothing of a run is missing
		o.s.cutShort = true
		o.note("truncated", "the table has no footer: it was cut off, or the run did not end")
		if planned, err := strconv.ParseInt(t.Config["maximum_bytes"], 10, 64); err == nil && len(t.Rows) > 0 && t.Rows[len(t.Rows)-1].Size < planned {
			o.doubt("rows", fmt.Sprintf("the table ends at %s of %s and has no footer: the run did not end, or its output was cut", bytesText(t.Rows[len(t.Rows)-1].Size), bytesText(planned)))
		}
	}
	if o.s.kind == fabric.NCCLTests && !t.Checked {
		o.note("check", "the results were not validated")
	}
	for _, u := range t.Unread[:min(len(t.Unread), 20)] {
		if leftOut(t) {
			break // which the verdict says
		}
		o.note(fmt.Sprintf("line %d", u.Line), u.Reason)
	}
	if ranks > 0 && sh.ranks > 0 && ranks != sh.ranks {
		o.note("ranks", fmt.Sprintf("the header has %d ranks, but bus over algorithm bandwidth is %.4f, that of %d ranks", ranks, sh.factor, sh.ranks))
	}
	if sh.wrong > 0 || t.OutOfBound != nil && *t.OutOfBound > 0 {
		o.s.failed = append(o.s.failed, fabric.Evidence{Source: "table", Value: fmt.Sprintf("%d wrong results in the rows, %s in the footer", sh.wrong, countText(t.OutOfBound))})
	}
	o.aloneNotes(t, ranks)
}

// leftOut reports whether a table has its banner and its footer, and its rows were left out by who copied it.
func leftOut(t *fabric.Table) bool {
	return len(t.Rows) == 0 && t.Average != nil && t.OutOfBound != nil && len(t.Unread) <= 1 && t.Copies < 2
}

// aloneNotes finds ranks that measured only themselves. One rank by itself is no fault: between GPUs nothing was measured.
func (o *observer) aloneNotes(t *fabric.Table, ranks int) {
	sh := &o.s.shape
	if one := sh.alone && t.Copies < 2 && ranks == 1 && o.s.hw.Nodes < 2; one {
		sh.alone = false
		o.s.unusable = "one rank by itself: its bus bandwidth is 0 by definition, and nothing is measured between GPUs"
	}
	if sh.alone || t.Copies > 1 {
		o.s.failed = append(o.s.failed, fabric.Evidence{Source: "table", Value: fmt.Sprintf("every rank measured only itself: bus bandwidth 0, banner printed %d times", max(1, t.Copies))})
	}
}

func countText(n *int) string {
	if n == nil {
		return "no number"
	}
	return strconv.Itoa(*n)
}

// mayJudge finds what forbids a verdict on the numbers: a contradiction, or something unknown.
func (o *observer) mayJudge(t *fabric.Table, ranks int) {
	sh := &o.s.shape
	hw := o.s.hw
	switch {
	case o.s.unusable != "":
	case sh.absurd != "":
		o.s.unusable = "the table has an impossible number: " + sh.absurd
	case leftOut(t): // its average is judged
	case len(t.Rows) == 0 && len(t.Unread) > 0:
		o.s.unusable = "no row of the table can be read: " + t.Unread[0].Reason
	case len(t.Rows) == 0:
		o.s.unusable = "the table has no rows"
	case ranks > 0 && sh.ranks > 0 && !sameRanks(t.Collective, ranks, sh.factor):
		o.s.unusable = fmt.Sprintf("the header has %d ranks and the rows %d", ranks, sh.ranks)
	case ranks > 0 && hw.Nodes > 0 && hw.GPUsPerNode > 0 && o.s.workers == nil && hw.Nodes*hw.GPUsPerNode != ranks:
		o.s.unusable = fmt.Sprintf("%d nodes of %d GPUs are not %d ranks", hw.Nodes, hw.GPUsPerNode, ranks)
	case sh.isTorn(len(t.Rows)):
		o.s.unusable = fmt.Sprintf("the cells of %d of %d rows do not belong together: bandwidth is not size over time", sh.torn, len(t.Rows))
	case len(sh.misprints)*4 > len(t.Rows) && len(t.Rows) > 0:
		o.s.unusable = fmt.Sprintf("%d cells of %d rows contradict the others of their row", len(sh.misprints), len(t.Rows))
	}
	if t.Collective == "" && len(t.Rows) > 0 && o.s.unusable == "" {
		o.need(collectiveNeeded(t))
	}
	if ranks == 0 && !sh.alone {
		o.need("how many ranks took part: --nodes N and --gpus N")
	}
}

// collectiveNeeded asks for the collective, among those that the columns may be of.
func collectiveNeeded(t *fabric.Table) string {
	if some := t.Config["possible_collectives"]; some != "" {
		return fmt.Sprintf("the collective, which is %s by the columns: its command line or its banner", some)
	}
	return "the collective: its command line or its banner, such as all_reduce_perf"
}

// sameRanks reports whether a factor, which is printed with limited digits, is that of so many ranks.
func sameRanks(c fabric.Collective, ranks int, factor float64) bool {
	want := c.BusFactor(ranks)
	return want == 0 || factor == 0 || !off(100*factor, 100*want) // cells near 100 GB/s decide
}

func scopeOf(nodes int) scope {
	switch {
	case nodes == 1:
		return scopeNode
	case nodes > 1:
		return scopeNet
	default:
		return scopeUnknown
	}
}

func sourceOf(p point) string {
	parts := []string{strings.TrimSpace(string(p.collective) + " " + p.algorithm)}
	switch {
	case p.nodes == 1:
		parts = append(parts, "1 node")
	case p.nodes > 1:
		parts = append(parts, fmt.Sprintf("%d nodes", p.nodes))
	}
	return strings.Join(parts, ", ")
}

// hardwareNeeded returns which flags are missing for a prediction.
func hardwareNeeded(hw fabric.Hardware) string {
	var flags []string
	if hw.GPU == "" && hw.Machine == "" {
		flags = append(flags, "--machine MACHINE")
	}
	if hw.Nodes == 0 {
		flags = append(flags, "--nodes N")
	}
	if hw.Nodes != 1 && hw.Machine == "" && (hw.NICsPerNode == 0 || hw.NICGbps == 0 || hw.Net == "") {
		flags = append(flags, "--nics N --rate GBPS --net FABRIC (or --machine, which sets all three)")
	}
	if len(flags) == 0 {
		return "hardware in the catalog: --machine MACHINE"
	}
	return "the hardware: " + strings.Join(flags, " ")
}

// envOf are the keys of a table's configuration that are environment variables.
func envOf(config map[string]string) map[string]string {
	env := map[string]string{}
	for k, v := range config {
		if k == strings.ToUpper(k) && strings.Contains(k, "_") {
			env[k] = strings.TrimSuffix(v, "?")
		}
	}
	return env
}

// processes is how many processes a node has: from the banner, the configuration, or what it says of the
// launch; 0: unknown.
func processes(t *fabric.Table) int {
	if n, err := strconv.Atoi(t.Config["procs"]); err == nil {
		return n
	}
	type process struct {
		host string
		pid  int
	}
	if n, err := strconv.Atoi(t.Config["ngpus"]); err == nil && n > 0 && t.Nodes > 0 && t.Ranks > 0 {
		return max(1, t.Ranks/t.Nodes/n) // each thread of a process launches for its own GPUs
	}
	seen, hosts := map[process]bool{}, map[string]bool{}
	for _, d := range t.Devices {
		if d.PID > 0 {
			seen[process{d.Host, d.PID}] = true
			hosts[d.Host] = true
		}
	}
	if len(hosts) > 0 {
		return max(1, len(seen)/len(hosts))
	}
	if launch := t.Config["launch"]; strings.Contains(launch, "-g ") || strings.Contains(launch, "process per node") {
		return 1
	}
	return 0
}
