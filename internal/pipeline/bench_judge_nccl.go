package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// subnetsSince is the first release with NCCL_IB_SUBNET_AWARE_ROUTING (NVIDIA/nccl, src/transport/net_ib/connect.cc: in v2.30.7-1,
// not in v2.30.4-1). Builds of others have it earlier, so the library itself is asked.
const subnetsSince = "2.30.7"

// library judges the NCCL of all machines: that it is the same, and that it can do the wiring.
func (j *benchJudge) library(r fabric.BenchResult) fabric.BenchVerdict {
	if len(r.Libs) != len(r.Nodes) || len(r.Missing) > 0 {
		return unknownBench(r, "not every machine answered")
	}
	first := r.Libs[0]
	var parts []string
	for _, l := range r.Libs {
		parts = append(parts, l.Node+" "+cmp.Or(l.Version, "of unknown version"))
	}
	v := fabric.BenchVerdict{Measured: strings.Join(parts, ", ")}
	for _, l := range r.Libs {
		v.Evidence = append(v.Evidence, fabric.Evidence{Source: l.Node + " " + l.Path, Value: "NCCL " + cmp.Or(l.Version, "?")})
	}
	const build = "sudo /etc/railwright/build-nccl.sh on every machine"
	switch {
	case slices.ContainsFunc(r.Libs, func(l fabric.NCCLLibrary) bool { return l.Version == "" }):
		v.Why = "a library does not say its version"
	case slices.ContainsFunc(r.Libs, func(l fabric.NCCLLibrary) bool { return l.Version != first.Version }):
		v.Status, v.Cause, v.Fix = fabric.Fail, fabric.CauseLibraryBuild, build
		v.Why = "the machines load different releases of NCCL"
	case j.crossed() && slices.ContainsFunc(r.Libs, func(l fabric.NCCLLibrary) bool { return !l.Subnets }):
		v.Status, v.Cause, v.Fix = fabric.Fail, fabric.CauseLibraryBuild, build
		v.Expected = subnetsSince + " or later"
		v.Why = "this NCCL does not know NCCL_IB_SUBNET_AWARE_ROUTING, without which it pairs ports that no cable joins (ibv_modify_qp: Connection timed out)"
	case j.longRing() && slices.ContainsFunc(r.Libs, func(l fabric.NCCLLibrary) bool { return !l.NoTrees }):
		v.Why = fmt.Sprintf("in a ring of %d an NCCL that connects trees needs machines that no cable joins; NVIDIA supports rings of three. all_gather_perf tells whether it runs", len(j.plan.Nodes))
	default:
		v.Status = fabric.Pass
	}
	return v
}

// crossed: cables lead from port 0 to port 1.
func (j *benchJudge) crossed() bool {
	w := j.plan.Wiring()
	return w == fabric.WiredRing || w == fabric.WiredPair && len(j.plan.Ports) > len(j.plan.Nodes)
}

func (j *benchJudge) longRing() bool {
	return j.plan.Wiring() == fabric.WiredRing && len(j.plan.Nodes) > 3
}

// gatherRead is what an all-gather printed.
func gatherRead(r fabric.BenchResult) (table *fabric.Table, log *fabric.NCCLLog) {
	for _, one := range r.Read {
		switch c := one.Content.(type) {
		case *fabric.Table:
			table = c
		case *fabric.NCCLLog:
			log = c
		}
	}
	return table, log
}

// gather judges an all-gather by the median of its sizes, which are all large.
func (j *benchJudge) gather(r fabric.BenchResult) fabric.BenchVerdict {
	table, log := gatherRead(r)
	if failed, why := ncclFailed(log); failed {
		return j.gatherFailed(r, why)
	}
	if table == nil || len(table.Rows) == 0 || !table.Complete || len(r.Missing) > 0 {
		return unknownBench(r, "all_gather_perf printed no complete table")
	}
	if table.Ranks != len(r.Nodes) {
		return unknownBench(r, fmt.Sprintf("%d ranks took part, not %d: was nccl-tests built with MPI=1?", table.Ranks, len(r.Nodes)))
	}
	var rates []float64
	for _, row := range table.Rows {
		if row.Wrong != nil && *row.Wrong > 0 {
			return fabric.BenchVerdict{Status: fabric.Fail, Why: fmt.Sprintf("%d wrong values at %d bytes: data is corrupted on the way", *row.Wrong, row.Size)}
		}
		if row.BusBW == nil {
			return unknownBench(r, fmt.Sprintf("the row of %d bytes could not be read", row.Size))
		}
		rates = append(rates, *row.BusBW)
	}
	slices.Sort(rates)
	value := rates[len(rates)/2]
	want, ok := gatherRate(j.gathers, table.Rows[len(table.Rows)-1].Size)
	if !ok {
		return unknownBench(r, fmt.Sprintf("nothing to compare with: %v", j.none))
	}
	v := fabric.BenchVerdict{Value: &value, Low: &want.low, High: &want.bound, Bound: &want.bound, Element: want.element,
		Measured: fmt.Sprintf("%.2f GB/s bus bandwidth", value), Expected: fmt.Sprintf("%.1f to %.1f GB/s (%s)", want.low, want.bound, want.formula)}
	if log != nil {
		v.Evidence = append(v.Evidence, fabric.Evidence{Source: "NCCL", Value: fmt.Sprintf("version %s, %s over %s", cmp.Or(log.Version, table.Library, "unknown"), log.Net, strings.Join(log.HCAs, " "))})
	}
	j.explainGather(&v, r, value, want, log)
	return v
}

func (j *benchJudge) explainGather(v *fabric.BenchVerdict, r fabric.BenchResult, value float64, want rate, log *fabric.NCCLLog) {
	absent := lacking(r, log)
	one, _ := writeRate(j.plan.PortsOf(r.Nodes[0])[0].Twins[:1], topology.RDMAPayload(j.plan.MTU))
	switch {
	case value > want.bound*1.005: // rounding
		v.Why = "more than a port can carry: something else was measured"
	case log != nil && strings.EqualFold(log.Net, "Socket"):
		v.Status, v.Cause, v.Why = fabric.Fail, fabric.CauseSocketFallback, "NCCL went over TCP"
	case value >= want.low:
		v.Status = fabric.Pass
	case len(absent) > 0 && value*8 <= one.bound:
		v.Status, v.Cause = fabric.Fail, fabric.CauseHalfPortTwin
		v.Why = "NCCL did not take " + strings.Join(absent, ", ") + ": each twin is half of its port"
		v.Fix = "railwright check -f FILE says what is wrong with it; NCCL leaves out a device whose port is down"
	case value*8 < degradedGbps && j.rawFailed(fabric.CauseNICDegradedInit):
		v.Status, v.Cause = fabric.Fail, fabric.CauseNICDegradedInit
		v.Why = "ib_write_bw is as slow: the NIC came up degraded"
		v.Fix = "restart the machines with the cables in, then run this again"
	case value*8 < degradedGbps && j.rawPassed():
		v.Status, v.Cause = fabric.Fail, fabric.CauseLibraryBuild
		v.Why = "ib_write_bw is healthy on the same cables: it is not the NIC; a development build of NCCL does this, or many changes of the network since the last restart"
		v.Fix = "sudo /etc/railwright/build-nccl.sh on every machine; if it stays, restart them"
	case value*8 < degradedGbps:
		v.Status = fabric.Fail
		v.Why = "a degraded NIC, or a development build of NCCL: railwright bench -f FILE --suite perftest tells them apart"
	default:
		v.Status, v.Cause = fabric.Fail, fabric.CauseSlowLink
		v.Why = "less than the port allows"
		v.Fix = "railwright bench -f FILE --suite perftest says which twin is slow"
	}
}

func (j *benchJudge) rawFailed(cause fabric.CauseID) bool {
	return slices.ContainsFunc(j.raw, func(v fabric.BenchVerdict) bool { return v.Cause == cause })
}

func (j *benchJudge) rawPassed() bool {
	return len(j.raw) > 0 && !slices.ContainsFunc(j.raw, func(v fabric.BenchVerdict) bool { return v.Status != fabric.Pass })
}

// lacking are the RDMA devices that NCCL was given and does not have in its list. Nothing where there is no list.
func lacking(r fabric.BenchResult, log *fabric.NCCLLog) (names []string) {
	if log == nil || len(log.HCAs) == 0 {
		return nil
	}
	for _, word := range r.Commands[0].Argv {
		list, ok := strings.CutPrefix(word, "NCCL_IB_HCA=")
		if !ok {
			continue
		}
		for name := range strings.SplitSeq(strings.TrimPrefix(list, "="), ",") {
			if !slices.ContainsFunc(log.HCAs, func(h string) bool { return h == name || strings.HasPrefix(h, name+":") }) {
				names = append(names, name)
			}
		}
	}
	return names
}

// ncclFailed returns the first error that NCCL itself reports.
func ncclFailed(log *fabric.NCCLLog) (bool, string) {
	if log == nil {
		return false, ""
	}
	for _, l := range log.Lines {
		if l.Level == fabric.LineError {
			return true, l.Text
		}
	}
	return false, ""
}

// gatherFailed is a run that NCCL ended with an error.
func (j *benchJudge) gatherFailed(r fabric.BenchResult, why string) fabric.BenchVerdict {
	v := fabric.BenchVerdict{Status: fabric.Fail, Why: "NCCL: " + why}
	if !strings.Contains(why, "ibv_modify_qp") {
		return v
	}
	switch {
	case j.crossed() && slices.ContainsFunc(r.Libs, func(l fabric.NCCLLibrary) bool { return !l.Subnets }):
		v.Cause, v.Fix = fabric.CauseLibraryBuild, "sudo /etc/railwright/build-nccl.sh on every machine: this NCCL does not know NCCL_IB_SUBNET_AWARE_ROUTING"
	case j.longRing():
		v.Cause, v.Fix = fabric.CauseLibraryBuild, "in a ring of more than three only an NCCL that connects no trees runs, or a switch"
	default:
		v.Cause, v.Fix = fabric.CauseMiscabled, "railwright bench -f FILE --suite ping says which cable is not where the plan has it"
	}
	return v
}
