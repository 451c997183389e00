package diagnose

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
)

func logOf(l fabric.NCCLLog) fabric.Result {
	return fabric.Result{File: "run", Kind: fabric.NCCLDebugLog, Content: &l}
}

func TestLogs(t *testing.T) {
	direct := []fabric.LogConnection{{Via: "NET/IB", HCA: 0, GDR: true, Count: 16}}
	bounced := []fabric.LogConnection{{Via: "NET/IB", HCA: 0, Count: 16}}
	tests := []struct {
		name    string
		log     fabric.NCCLLog
		hw      fabric.Hardware
		verdict fabric.Verdict
		cause   fabric.CauseID
	}{
		{"all direct", fabric.NCCLLog{Net: "IB", Nodes: 2, Bootstrap: "eno8303", Connections: direct}, roce400(), fabric.VerdictUnknown, ""},
		{"none direct", fabric.NCCLLog{Net: "IB", Nodes: 2, Connections: bounced}, roce400(), fabric.VerdictDegraded, fabric.CauseGDRDisabled},
		{"none direct on a Spark, which has none", fabric.NCCLLog{Net: "IB", Nodes: 2, Connections: bounced}, fabric.Hardware{GPU: "gb10"}, fabric.VerdictUnknown, ""},
		{"TCP", fabric.NCCLLog{Net: "Socket", Nodes: 2}, roce400(), fabric.VerdictDegraded, fabric.CauseSocketFallback},
		{"TCP named on one machine, where it is not used", fabric.NCCLLog{Net: "Socket", Nodes: 1}, fabric.Hardware{Nodes: 1}, fabric.VerdictUnknown, ""},
		{"two of eight NICs", fabric.NCCLLog{Net: "IB", Nodes: 2, HCAs: []string{"mlx5_0:1/IB", "mlx5_1:1/IB"}, Connections: direct}, roce400(), fabric.VerdictDegraded, fabric.CauseHCASubset},
		{"RDMA off", fabric.NCCLLog{Nodes: 2, Env: map[string]string{"NCCL_IB_DISABLE": "1"}, Net: "Socket"}, roce400(), fabric.VerdictDegraded, fabric.CauseSocketFallback},
		{"an error", fabric.NCCLLog{Nodes: 2, Hosts: []string{"a", "b"}, Lines: []fabric.LogLine{{Line: 4, Level: fabric.LineError, Text: "NCCL WARN Call to ibv_reg_mr failed: Cannot allocate memory"}}}, roce400(), fabric.VerdictFailed, fabric.CauseMemlock},
		{"flat in a virtual machine", fabric.NCCLLog{Nodes: 2, HCAs: []string{"mlx5_0:1/IB"}, Paths: []fabric.LogLine{{Text: "GPU/0-60 :GPU/0-60 (0/5000.0/LOC) NET/0-0 (3/12.0/PHB)"}}}, fabric.Hardware{VM: true, Nodes: 2}, fabric.VerdictDegraded, fabric.CauseVMTopologyMissing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := explain([]fabric.Result{logOf(tt.log)}, Input{Hardware: tt.hw}).Results[0]
			if r.Verdict != tt.verdict || firstCause(r) != tt.cause || tt.cause == "" && r.Next == "" {
				t.Errorf("%s: %s: %s %v, want %s %s", tt.name, r.Verdict, r.Why, ids(r.Causes), tt.verdict, tt.cause)
			}
		})
	}
}

// firstCause is the first cause of a result; empty: it has none.
func firstCause(r fabric.Explained) fabric.CauseID {
	if len(r.Causes) == 0 {
		return ""
	}
	return r.Causes[0].ID
}

// A table alone has candidates; the log of the same call names the cause.
func TestLogSharpensTable(t *testing.T) {
	hw := fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib"}
	table := fabric.Result{File: "run", Kind: fabric.NCCLTests, Content: curve(16, 200)}
	log := logOf(fabric.NCCLLog{Net: "IB", Nodes: 2, Connections: []fabric.LogConnection{{Via: "NET/IB", Count: 8}}})
	alone := explain([]fabric.Result{table}, Input{Predict: predictor(t), Hardware: hw}).Results[0]
	both := explain([]fabric.Result{table, log}, Input{Predict: predictor(t), Hardware: hw}).Results[0]
	if alone.Causes[0].Confidence > surely {
		t.Errorf("the table alone is too sure: %v", alone.Causes[0])
	}
	if both.Causes[0].ID != fabric.CauseGDRDisabled || both.Causes[0].Confidence <= alone.Causes[0].Confidence {
		t.Errorf("with the log: %v", both.Causes)
	}
}

// A log without fault beside a healthy table of the same file is healthy with it; alone it is unknown.
func TestLogFollowsTable(t *testing.T) {
	hw := fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib"}
	log := logOf(fabric.NCCLLog{Net: "IB", Nodes: 2, Connections: []fabric.LogConnection{{Via: "NET/IB", GDR: true, Count: 8}}})
	out := explain([]fabric.Result{log, {File: "run", Kind: fabric.NCCLTests, Content: curve(16, 468)}}, Input{Predict: predictor(t), Hardware: hw}).Results
	if out[0].Verdict != fabric.VerdictHealthy || out[1].Verdict != fabric.VerdictHealthy {
		t.Errorf("log %s: %s; table %s: %s", out[0].Verdict, out[0].Why, out[1].Verdict, out[1].Why)
	}
}

// A failing finding raises its cause, one that passed lowers it.
func TestFindings(t *testing.T) {
	hw := fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib"}
	explain := func(findings ...fabric.Finding) fabric.Explained {
		return explain([]fabric.Result{{Kind: fabric.NCCLTests, Content: curve(16, 210)}}, Input{Predict: predictor(t), Hardware: hw, Findings: findings}).Results[0]
	}
	of := func(r fabric.Explained, id fabric.CauseID) float64 {
		i := slices.IndexFunc(r.Causes, func(c fabric.Cause) bool { return c.ID == id })
		if i < 0 {
			return 0
		}
		return r.Causes[i].Confidence
	}
	finding := func(s fabric.Status) fabric.Finding {
		return fabric.Finding{ID: "pcie-link", Status: s, Cause: fabric.CausePCIeDowngraded, Subject: fabric.NICSubject("host1", "eth1"), Title: "PCIe link", Why: "16 GT/s of 32"}
	}
	bare, failed, passed := explain(), explain(finding(fabric.Fail)), explain(finding(fabric.Pass))
	if failed.Causes[0].ID != fabric.CausePCIeDowngraded || of(failed, fabric.CausePCIeDowngraded) <= of(bare, fabric.CausePCIeDowngraded) {
		t.Errorf("failed: %v", failed.Causes)
	}
	if of(passed, fabric.CausePCIeDowngraded) >= of(bare, fabric.CausePCIeDowngraded) {
		t.Errorf("passed: %v, before %v", passed.Causes, bare.Causes)
	}
}

// What every healthy run prints at level INFO is no fault, whatever its words.
func TestEverydayInfo(t *testing.T) {
	for _, text := range []string{
		"NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)",
		"Connected all rings, use ring PXN 0 GDR 1",
		"Failed to initialize NET plugin IB",
		"TUNER/Plugin: Failed to find ncclTunerPlugin_v4 symbol.",
		"GIN/Plugin: Failed to initialize any GIN plugin",
		"GPU Direct RDMA Enabled for GPU 0 / HCA 0 (distance 4 <= 5), read 1 mode Default",
	} {
		t.Run(text, func(t *testing.T) {
			log := fabric.NCCLLog{Net: "IB", Nodes: 2, Lines: []fabric.LogLine{{Line: 9, Text: "node1:1:2 [0] NCCL INFO " + text}}}
			if r := explain([]fabric.Result{logOf(log)}, Input{Hardware: roce400()}).Results[0]; r.Verdict != fabric.VerdictUnknown || firstCause(r) != "" {
				t.Errorf("%s: %s %v", r.Verdict, r.Why, ids(r.Causes))
			}
		})
	}
}

// On one machine that TCP would be used says nothing; a fault of the network's libraries still does.
func TestNetworkLinesOfOneMachine(t *testing.T) {
	hw := fabric.Hardware{Machine: "hgx-h100", Nodes: 1}
	predict := predictor(t)
	for _, tt := range []struct {
		text  string
		level fabric.LineLevel
		want  fabric.Verdict
	}{
		{"NCCL WARN Failed to open libibverbs.so[.1]", fabric.LineWarning, fabric.VerdictHealthy},
		{"NCCL WARN NET/IB : Unable to do something nobody knows", fabric.LineWarning, fabric.VerdictUnknown},
		{"NCCL WARN NET/IB : mlx5_0:1 Got async event : port error", fabric.LineError, fabric.VerdictFailed},
		{"the launcher said that something failed", fabric.LineSuspect, fabric.VerdictUnknown},
	} {
		t.Run(tt.text, func(t *testing.T) {
			log := logOf(fabric.NCCLLog{Nodes: 1, Lines: []fabric.LogLine{{Line: 3, Level: tt.level, Text: "node1:1:2 [0] " + tt.text}}})
			table := fabric.Result{File: "run", Kind: fabric.NCCLTests, Content: asPredicted(t, predict, hw, largeFrom(1))}
			out := explain([]fabric.Result{log, table}, Input{Predict: predict, Hardware: hw}).Results
			if out[0].Verdict != tt.want || out[1].Verdict != fabric.VerdictHealthy {
				t.Errorf("log %s: %s; table %s: %s", out[0].Verdict, out[0].Why, out[1].Verdict, out[1].Why)
			}
			if tt.want != fabric.VerdictHealthy && !strings.Contains(out[0].Why, tt.text) {
				t.Errorf("the line is not quoted: %s", out[0].Why)
			}
		})
	}
}

// Outputs of tools without a fault are not called a log, and what would judge settings is named.
func TestOutputsWithoutFault(t *testing.T) {
	r := explain([]fabric.Result{logOf(fabric.NCCLLog{})}, Input{}).Results[0]
	if r.Verdict != fabric.VerdictUnknown || !strings.Contains(r.Why, "railwright check -f") || strings.HasPrefix(r.Why, "a log") {
		t.Errorf("%s: %s", r.Verdict, r.Why)
	}
}

// What a virtual function refuses is named as harmless, and no warning of a fault.
func TestVirtualFunctionRefusesManagement(t *testing.T) {
	catalogue, err := messages.Load()
	if err != nil {
		t.Fatal(err)
	}
	o := observer{in: Input{Catalogue: catalogue}}
	for text, want := range map[string]bool{
		"ibwarn: [4711] _do_madrpc: send failed; Operation not permitted":    true,
		"ibwarn: [4711] _do_madrpc: recv failed: Connection timed out":       false,
		"PCIPassthru: total number of pages needed (9) exceeds limit (8)":    false,
		"a line that is no message of the catalogue and tells of no failure": false,
	} {
		if got := o.isHarmless(fabric.LogLine{Text: text}); got != want {
			t.Errorf("%q: harmless is %v, want %v", text, got, want)
		}
	}
}
