package diagnose

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func perftest(memory string, gbps float64) fabric.Result {
	return fabric.Result{File: memory, Kind: fabric.PerftestOutput, Content: &fabric.Perftest{
		Test: "ib_write_bw", Memory: memory, MTU: 4096, LinkType: "Ethernet", Gbits: true,
		Rows: []fabric.PerftestRow{{Bytes: 1 << 20, PeakGbps: f(gbps), AverageGbps: f(gbps), MsgRateMpps: f(gbps * 1000 / 8 / (1 << 20))}},
	}}
}

func roce400() fabric.Hardware {
	return fabric.Hardware{GPU: "mi300x", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "roce"}
}

func TestPerftestResults(t *testing.T) {
	tests := []struct {
		name    string
		results []fabric.Result
		hw      fabric.Hardware
		verdict fabric.Verdict
		cause   fabric.CauseID
	}{
		{"line rate", []fabric.Result{perftest("cuda", 392)}, roce400(), fabric.VerdictHealthy, fabric.CauseHealthy},
		{"rate unknown", []fabric.Result{perftest("host", 392)}, fabric.Hardware{}, fabric.VerdictUnknown, ""},
		{"host slower than GPU", []fabric.Result{perftest("host", 235), perftest("rocm", 320)}, roce400(), fabric.VerdictDegraded, fabric.CauseHostMemoryInterleaving},
		{"GPU slower than host", []fabric.Result{perftest("cuda", 210), perftest("host", 392)}, roce400(), fabric.VerdictDegraded, fabric.CauseACSRedirect},
		{"in a virtual machine", []fabric.Result{perftest("cuda", 210), perftest("host", 392)}, fabric.Hardware{NICGbps: 400, Net: "ib", VM: true}, fabric.VerdictDegraded, fabric.CauseATSDisabled},
		{"a port at half its rate", []fabric.Result{perftest("host", 195)}, roce400(), fabric.VerdictDegraded, fabric.CausePortRateLow},
		{"a PCIe 4 link", []fabric.Result{perftest("host", 220)}, roce400(), fabric.VerdictDegraded, fabric.CausePCIeDowngraded},
		{"a little short", []fabric.Result{perftest("host", 330)}, roce400(), fabric.VerdictDegraded, fabric.CauseNICProfile},
		{"a Spark that came up degraded", []fabric.Result{perftest("host", 13)}, fabric.Hardware{GPU: "gb10", NICGbps: 100, NICsPerNode: 2, Net: "roce"}, fabric.VerdictDegraded, fabric.CauseNICDegradedInit},
		{"more than the wire", []fabric.Result{perftest("host", 450)}, roce400(), fabric.VerdictUnknown, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := explain(tt.results, Input{Hardware: tt.hw}).Results[0]
			if r.Verdict != tt.verdict || firstCause(r) != tt.cause {
				t.Errorf("%s: %s: %s %v, want %s %s", tt.name, r.Verdict, r.Why, ids(r.Causes), tt.verdict, tt.cause)
			}
		})
	}
}

func TestPerftestFiles(t *testing.T) {
	r := explain(read(t, "testdata/files/bidirectional.txt"), Input{Hardware: roce400()}).Results[0]
	var dips []string
	for _, n := range r.Notes {
		if n.Source == "dip" {
			dips = append(dips, n.Value)
		}
	}
	if r.Verdict != fabric.VerdictHealthy || len(dips) != 2 || !strings.HasPrefix(dips[0], "4 KiB") || !strings.HasPrefix(dips[1], "64 KiB") {
		t.Errorf("774.99 of 800 both ways: %s: %s %q", r.Verdict, r.Why, dips)
	}
	spark := explain(read(t, "testdata/files/spark.txt"), Input{Hardware: fabric.Hardware{GPU: "gb10", NICsPerNode: 2, NICGbps: 100, Net: "roce"}}).Results
	if len(spark) != 2 {
		t.Fatalf("%d results", len(spark))
	}
	if bw := spark[0]; bw.Verdict != fabric.VerdictHealthy || !slices.Contains(ids(bw.Causes), fabric.CauseMTUMismatch) {
		t.Errorf("111.71 Gb/s with Mtu 1024: %s: %s %v", bw.Verdict, bw.Why, ids(bw.Causes))
	}
	if lat := spark[1]; lat.Verdict != fabric.VerdictHealthy || lat.Measured.US != 1.47 {
		t.Errorf("latency: %s: %s", lat.Verdict, lat.Why)
	}
}

// Status 12 is a packet that never arrives: the address or the MTU first.
func TestPerftestStatus12(t *testing.T) {
	r := explain([]fabric.Result{{Kind: fabric.PerftestOutput, Content: &fabric.Perftest{Test: "ib_write_bw",
		Errors: []fabric.LogLine{{Line: 20, Text: "Failed status 12: wr_id 0 syndrom 0xa"}}}}}, Input{Hardware: roce400()}).Results[0]
	if r.Verdict != fabric.VerdictFailed || len(r.Causes) < 3 || !slices.Contains(ids(r.Causes)[:3], fabric.CauseMTUMismatch) || !slices.Contains(ids(r.Causes)[:3], fabric.CauseGIDIndex) {
		t.Errorf("%s %v", r.Verdict, ids(r.Causes))
	}
}

// A table whose rows contradict themselves, or cannot be read, decides nothing.
func TestPerftestMisprinted(t *testing.T) {
	crooked := perftest("host", 396)
	perftestOf(crooked).Rows = append(perftestOf(crooked).Rows, fabric.PerftestRow{Bytes: 65536, AverageGbps: f(395.98), MsgRateMpps: f(0.377632)})
	unread := perftest("host", 396)
	perftestOf(unread).Unread = []fabric.Unread{{Line: 3, Text: "512 8.71", Reason: "no bandwidth"}}
	for _, r := range explain([]fabric.Result{crooked, unread}, Input{Hardware: roce400()}).Results {
		if r.Verdict != fabric.VerdictUnknown {
			t.Errorf("%s: %s", r.Verdict, r.Why)
		}
	}
}
