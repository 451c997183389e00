package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/bench"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/results"
)

// sparkPlan is the plan of an example of the cluster file.
func sparkPlan(t *testing.T, example string, nodes int) *fabric.Plan {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := intent.Example(example, nodes, cat)
	if err != nil {
		t.Fatal(err)
	}
	c, err := intent.Parse(example, text, cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// benchTest is the first test of a kind of a plan.
func benchTest(t *testing.T, p *fabric.Plan, kind fabric.BenchKind) fabric.BenchResult {
	t.Helper()
	tests, err := bench.Tests(p, bench.Suites(), bench.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range tests {
		if one.Kind == kind {
			return fabric.BenchResult{BenchTest: one}
		}
	}
	t.Fatalf("no test of kind %s", kind)
	return fabric.BenchResult{}
}

func read(t *testing.T, r *fabric.BenchResult, texts ...string) {
	t.Helper()
	for _, text := range texts {
		found, err := results.Read("output", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r.Read = append(r.Read, found...)
	}
}

func writeText(mtu int, gbps float64) string {
	return fmt.Sprintf("                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : rocep1s0f1\n Mtu             : %d[B]\n Link type       : Ethernet\n"+
		" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      420000           0.00               %.2f\t\t     %.6f\n", mtu, gbps, gbps*1e3/8/65536)
}

// links are the PCIe links of both ends of all links of a test, of one width.
func links(r *fabric.BenchResult, width int) {
	for _, l := range r.Links {
		r.PCIe = append(r.PCIe, fabric.TrainedLink{At: l.A, PCI: "0000:01:00.1", GTs: 32, Width: 4}, fabric.TrainedLink{At: l.B, PCI: "0002:01:00.1", GTs: 32, Width: width})
	}
}

// The same figure means different things: the physics decides, not the word.
func TestJudgeBandwidth(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   fabric.BenchKind
		mtu    int
		gbps   []float64
		width  int
		want   fabric.Status
		cause  fabric.CauseID
		says   string
		wanted int // MTU of the plan; 0: 9000
	}{
		{name: "the document's rate", kind: fabric.TwinBandwidth, mtu: 4096, gbps: []float64{111.71}, width: 4, want: fabric.Pass},
		{name: "with one queue pair", kind: fabric.TwinBandwidth, mtu: 4096, gbps: []float64{109.27}, width: 4, want: fabric.Pass},
		{name: "at the path MTU of 1500", kind: fabric.TwinBandwidth, mtu: 1024, gbps: []float64{111.71}, width: 4, want: fabric.Fail, cause: fabric.CauseMTUMismatch, says: "path MTU of 1024"},
		{name: "one queue pair at 1024", kind: fabric.TwinBandwidth, mtu: 1024, gbps: []float64{92.57}, width: 4, want: fabric.Fail, cause: fabric.CauseMTUMismatch},
		{name: "1024 where the plan has 1500", kind: fabric.TwinBandwidth, mtu: 1024, gbps: []float64{92.57}, width: 4, want: fabric.Pass, wanted: 1500},
		{name: "slow at the planned MTU", kind: fabric.TwinBandwidth, mtu: 4096, gbps: []float64{92.57}, width: 4, want: fabric.Fail, cause: fabric.CauseSlowLink},
		{name: "x2", kind: fabric.TwinBandwidth, mtu: 4096, gbps: []float64{55.2}, width: 2, want: fabric.Fail, cause: fabric.CausePCIeDowngraded, says: "x2"},
		{name: "half without a narrow link", kind: fabric.TwinBandwidth, mtu: 4096, gbps: []float64{55.2}, width: 4, want: fabric.Fail, cause: fabric.CauseSlowLink},
		{name: "degraded", kind: fabric.TwinBandwidth, mtu: 4096, gbps: []float64{13.4}, width: 4, want: fabric.Fail, cause: fabric.CauseNICDegradedInit, says: "restart|power"},
		{name: "degraded at the top", kind: fabric.TwinBandwidth, mtu: 4096, gbps: []float64{25}, width: 4, want: fabric.Fail, cause: fabric.CauseNICDegradedInit},
		{name: "more than PCIe carries", kind: fabric.TwinBandwidth, mtu: 4096, gbps: []float64{190}, width: 4, want: fabric.Unknown, says: "more than"},
		{name: "both twins", kind: fabric.PortBandwidth, mtu: 4096, gbps: []float64{98.04, 98.03}, width: 4, want: fabric.Pass},
		{name: "both twins of the guide at 1024", kind: fabric.PortBandwidth, mtu: 1024, gbps: []float64{92.57, 92.56}, width: 4, want: fabric.Fail, cause: fabric.CauseMTUMismatch},
		{name: "both no faster than one", kind: fabric.PortBandwidth, mtu: 4096, gbps: []float64{55.5, 55.5}, width: 4, want: fabric.Fail, cause: fabric.CauseHalfPortTwin},
		{name: "both degraded", kind: fabric.PortBandwidth, mtu: 4096, gbps: []float64{6.67, 6.67}, width: 4, want: fabric.Fail, cause: fabric.CauseNICDegradedInit},
		{name: "one of both at x2", kind: fabric.PortBandwidth, mtu: 4096, gbps: []float64{98, 55}, width: 2, want: fabric.Fail, cause: fabric.CausePCIeDowngraded},
		{name: "the row of one is missing", kind: fabric.PortBandwidth, mtu: 4096, gbps: []float64{98}, width: 4, want: fabric.Unknown, says: "1 of 2"},
		{name: "no path MTU", kind: fabric.TwinBandwidth, mtu: 0, gbps: []float64{111.7}, width: 4, want: fabric.Unknown, says: "path MTU"},
		{name: "no output", kind: fabric.TwinBandwidth, mtu: 4096, width: 4, want: fabric.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sparkPlan(t, "spark-pair", 2)
			if c.wanted != 0 {
				p.MTU = c.wanted
			}
			r := benchTest(t, p, c.kind)
			links(&r, c.width)
			for _, g := range c.gbps {
				read(t, &r, writeText(c.mtu, g))
			}
			v := newBenchJudge(p).judge(r)
			words := v.Why + v.Fix
			said := c.says == "" || strings.Contains(words, strings.Split(c.says, "|")[0])
			if v.Status != c.want || v.Cause != c.cause || !said || v.Status != fabric.Pass && v.Why == "" {
				t.Errorf("%+v", v)
			}
			if len(v.Evidence) == 0 {
				t.Error("no evidence of the PCIe links")
			}
		})
	}
}

// A missing tool is unknown with its reason, whatever else was read.
func TestJudgeMissing(t *testing.T) {
	p := sparkPlan(t, "spark-mesh", 3)
	for _, kind := range []fabric.BenchKind{fabric.TwinBandwidth, fabric.TwinLatency, fabric.PortBandwidth, fabric.LibraryFits, fabric.GatherAll} {
		r := benchTest(t, p, kind)
		read(t, &r, writeText(4096, 111), writeText(4096, 98), gatherTable(3, 20))
		r.Missing = []fabric.Missing{{What: "spark2", Source: "ssh", Reason: "connection refused"}}
		if v := newBenchJudge(p).judge(r); v.Status != fabric.Unknown || !strings.Contains(v.Why, "connection refused") {
			t.Errorf("%s: %+v", kind, v)
		}
	}
}

func TestReasons(t *testing.T) {
	of := func(pairs ...string) (all []fabric.Missing) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, fabric.Missing{What: pairs[i], Reason: pairs[i+1]})
		}
		return all
	}
	for _, c := range []struct {
		in   []fabric.Missing
		want string
	}{
		{nil, ""},
		{of("a1", "x is not on a1: get it", "a2", "x is not on a2: get it", "a2", "x is not on a2: get it"), "x is not on a1, a2: get it"},
		{of("a1:eth1", "eth1 of a1 is down", "a2:eth2", "eth2 of a2 is down"), "eth1 of a1 is down; eth2 of a2 is down"},
		{of("a1", "refused", "a2", "refused"), "refused"},
		{of("a1", "not on a10", "a10", "not on a10"), "not on a10; not on a10"},
		{of("a1", "on a1 as on a1", "a2", "on a2 as on a2"), "on a1 as on a1; on a2 as on a2"},
	} {
		if got := strings.Join(reasons(c.in), "; "); got != c.want {
			t.Errorf("%v: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestJudgeLatency(t *testing.T) {
	for _, c := range []struct {
		us   string
		want fabric.Status
	}{{"1.47", fabric.Pass}, {"1.90", fabric.Pass}, {"0.30", fabric.Unknown}, {"12.5", fabric.Fail}, {"x", fabric.Unknown}} {
		p := sparkPlan(t, "spark-pair", 2)
		r := benchTest(t, p, fabric.TwinLatency)
		read(t, &r, "                    RDMA_Write Latency Test\n Mtu             : 4096[B]\n"+
			" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n"+
			" 2       10000          1.42           1.93         "+c.us+"                1.47            0.00            1.57                    1.93\n")
		if v := newBenchJudge(p).judge(r); v.Status != c.want {
			t.Errorf("%s: %+v", c.us, v)
		}
	}
}

func gatherTable(ranks int, busbw ...float64) string {
	var b strings.Builder
	b.WriteString("# Collective test starting: all_gather_perf\n# nThread 1 nGpus 1 minBytes 536870912 maxBytes 4294967296 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n")
	for i := range ranks {
		fmt.Fprintf(&b, "#  Rank  %d Group  0 Pid    10%d on     spark%d device  0 [000f:01:00] NVIDIA GB10\n", i, i, i+1)
	}
	b.WriteString("#\n#                                                              out-of-place                       in-place\n" +
		"#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n" +
		"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n")
	sum := 0.0
	for i, bw := range busbw {
		size := int64(512<<20) << i
		alg := bw * float64(ranks) / float64(ranks-1)
		us := float64(size) / alg / 1e3
		fmt.Fprintf(&b, "  %d %d float none -1 %.0f %.2f %.2f 0 %.0f %.2f %.2f 0\n", size, size/8, us, alg, bw, us, alg, bw)
		sum += bw
	}
	fmt.Fprintf(&b, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %.4f\n#\n", sum/float64(max(len(busbw), 1)))
	return b.String()
}

func judgeAfter(p *fabric.Plan, raw []fabric.BenchVerdict) *benchJudge {
	j := newBenchJudge(p)
	j.raw = raw
	return j
}

const usingBoth = "spark1:101:101 [0] NCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE [1]roceP2p1s0f1:1/RoCE [RO]; OOB enp1s0f1np1:10.64.0.1<0>\nspark1:101:101 [0] NCCL INFO Using network IB\n"

func TestJudgeGather(t *testing.T) {
	usingOne := strings.ReplaceAll(usingBoth, " [1]roceP2p1s0f1:1/RoCE", "")
	healthy := []fabric.BenchVerdict{{Status: fabric.Pass}}
	degraded := []fabric.BenchVerdict{{Status: fabric.Fail, Cause: fabric.CauseNICDegradedInit}}
	for _, c := range []struct {
		name  string
		text  string
		raw   []fabric.BenchVerdict
		want  fabric.Status
		cause fabric.CauseID
		says  string
	}{
		{"healthy", usingBoth + gatherTable(2, 23.6, 23.74, 23.7), nil, fabric.Pass, "", ""},
		{"healthy at MTU 1500", usingBoth + gatherTable(2, 22.0, 22.0, 22.0), nil, fabric.Pass, "", ""},
		{"one twin", usingOne + gatherTable(2, 13.5, 13.6, 13.6), nil, fabric.Fail, fabric.CauseHalfPortTwin, "roceP2p1s0f1"},
		{"one twin's rate with both", usingBoth + gatherTable(2, 13.5, 13.6, 13.6), nil, fabric.Fail, fabric.CauseSlowLink, ""},
		{"3 GB/s and a degraded NIC", usingBoth + gatherTable(2, 2.82, 2.83, 2.82), degraded, fabric.Fail, fabric.CauseNICDegradedInit, "ib_write_bw is as slow"},
		{"3 GB/s and a healthy NIC", usingBoth + gatherTable(2, 3.04, 3.04, 3.04), healthy, fabric.Fail, fabric.CauseLibraryBuild, "build-nccl.sh"},
		{"3 GB/s alone", usingBoth + gatherTable(2, 3.04, 3.04, 3.04), nil, fabric.Fail, "", "tells them apart"},
		{"one good row", usingBoth + gatherTable(2, 3.0, 23.7, 3.1), healthy, fabric.Fail, fabric.CauseLibraryBuild, ""},
		{"sockets", strings.ReplaceAll(usingBoth, "Using network IB", "Using network Socket") + gatherTable(2, 2.1, 2.1, 2.1), nil, fabric.Fail, fabric.CauseSocketFallback, "TCP"},
		{"more than a port, of a pair", usingBoth + gatherTable(2, 31, 31, 31), nil, fabric.Unknown, "", "more than"},
		{"wrong data", usingBoth + strings.Replace(gatherTable(2, 23.7, 23.7), " 0 2", " 7 2", 1), nil, fabric.Fail, "", "wrong values"},
		{"cut", usingBoth + strings.Split(gatherTable(2, 23.7, 23.7), "# Out of bounds")[0], nil, fabric.Unknown, "", "complete table"},
		{"one rank", usingBoth + gatherTable(1, 100, 100), nil, fabric.Unknown, "", "1 ranks"},
		{"nothing", usingBoth, nil, fabric.Unknown, "", "complete table"},
		{"no path", usingBoth + "spark1:101:101 [0] misc/ibvwrap.cc:294 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out\n", nil, fabric.Fail, fabric.CauseMiscabled, "ping"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sparkPlan(t, "spark-pair", 2)
			r := benchTest(t, p, fabric.GatherAll)
			read(t, &r, c.text)
			v := judgeAfter(p, c.raw).judge(r)
			if v.Status != c.want || v.Cause != c.cause || !strings.Contains(v.Why+v.Fix, c.says) {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestJudgeLibrary(t *testing.T) {
	for _, c := range []struct {
		name    string
		example string
		nodes   int
		version []string
		subnets bool
		noTrees bool
		want    fabric.Status
	}{
		{"pair, old", "spark-pair", 2, []string{"2.28.9+cuda13.0"}, false, false, fabric.Pass},
		{"switch, old", "spark-switch", 4, []string{"2.28.9+cuda13.0"}, false, false, fabric.Pass},
		{"pair, two releases", "spark-pair", 2, []string{"2.28.9+cuda13.0", "2.30.7+cuda13.0"}, true, false, fabric.Fail},
		{"pair, no version", "spark-pair", 2, []string{""}, true, false, fabric.Unknown},
		{"mesh, old", "spark-mesh", 3, []string{"2.29.7+cuda13.0"}, false, false, fabric.Fail},
		{"mesh, a fork that knows it", "spark-mesh", 3, []string{"2.28.9+cuda13.0"}, true, false, fabric.Pass},
		{"mesh, release", "spark-mesh", 3, []string{"2.30.7+cuda13.0"}, true, false, fabric.Pass},
		{"ring of four, release", "spark-mesh", 4, []string{"2.30.7+cuda13.0"}, true, false, fabric.Unknown},
		{"ring of four, changed", "spark-mesh", 4, []string{"2.30.7+cuda13.0"}, true, true, fabric.Pass},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sparkPlan(t, c.example, c.nodes)
			r := benchTest(t, p, fabric.LibraryFits)
			for i, n := range r.Nodes {
				r.Libs = append(r.Libs, fabric.NCCLLibrary{Node: n, Path: "/x", Version: c.version[min(i, len(c.version)-1)], Subnets: c.subnets, NoTrees: c.noTrees})
			}
			if v := newBenchJudge(p).judge(r); v.Status != c.want || v.Status != fabric.Pass && v.Why == "" {
				t.Errorf("%+v", v)
			}
			r.Libs = r.Libs[1:]
			if v := newBenchJudge(p).judge(r); v.Status != fabric.Unknown {
				t.Errorf("one machine did not answer: %+v", v)
			}
		})
	}
}

// What is healthy depends on the wiring.
func TestJudgeGatherByWiring(t *testing.T) {
	for _, c := range []struct {
		example string
		nodes   int
		busbw   float64
		want    fabric.Status
	}{
		{"spark-switch", 4, 21.3, fabric.Pass}, {"spark-switch", 4, 13.7, fabric.Fail},
		{"spark-mesh", 3, 21, fabric.Pass}, {"spark-mesh", 3, 2.1, fabric.Fail}, {"spark-mesh", 3, 60, fabric.Unknown},
		{"spark-mesh", 4, 13.7, fabric.Pass}, {"spark-mesh", 4, 6, fabric.Fail},
	} {
		p := sparkPlan(t, c.example, c.nodes)
		r := benchTest(t, p, fabric.GatherAll)
		read(t, &r, gatherTable(c.nodes, c.busbw, c.busbw, c.busbw))
		if v := newBenchJudge(p).judge(r); v.Status != c.want {
			t.Errorf("%s of %d, %g GB/s: %+v", c.example, c.nodes, c.busbw, v)
		}
	}
}
