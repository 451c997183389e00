package diagnose

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// A message that a program prints names its causes, the likeliest first.
func TestLines(t *testing.T) {
	words := newReader()
	for _, tt := range []struct {
		line string
		want fabric.CauseID // empty: it says nothing
	}{
		{"transport/nvls.cc:244 NCCL WARN Cuda failure 1 'invalid argument'", fabric.CauseFabricManager},
		{"NCCL WARN socketStartConnect: Connect to 10.0.0.5<3827> failed : Connection refused", fabric.CauseFirewall},
		{"NET/OFI Selected Provider is tcp;ofi_rxm", fabric.CauseSocketFallback},
		{"NET/OFI Selected Provider is efa", ""},
		{"graph/xml.cc:118 NCCL WARN XML Parse error : unexpected end", fabric.CauseTopoXMLWrong},
		{"NCCL WARN Call to ibv_modify_qp failed with error Network is unreachable", fabric.CauseRouteMissing},
		{"NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out", fabric.CauseGIDIndex},
		{"NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory", fabric.CauseMemlock},
		{"HW Thermal Slowdown : Active", fabric.CauseGPUThrottled},
		{"HW Thermal Slowdown : Not Active", ""},
		{"LnkSta: Speed 16GT/s (downgraded), Width x16 (ok)", fabric.CausePCIeDowngraded},
		{"LnkSta: Speed 32GT/s (ok), Width x16 (ok)", ""},
		{"ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir-", ""},
		{"ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+", fabric.CauseACSRedirect},
		{"rx_discards_phy: 18833412", fabric.CauseRoCELossy},
		{"rx_discards_phy: 0", ""},
		{"NVRM: Xid (PCI:0000:4e:00): 74, NVLink: fatal error", fabric.CauseNVLinkDegraded},
		{"NVRM: Xid (PCI:0000:4e:00): 79, GPU has fallen off the bus.", fabric.CauseGPUDriver},
		{"NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", ""},
	} {
		t.Run(tt.line, func(t *testing.T) {
			best := causeWeight{}
			for _, l := range words.messageWeights(tt.line) {
				if l.weight > best.weight {
					best = l
				}
			}
			if best.cause != tt.want {
				t.Errorf("%q: %q, want %q", tt.line, best.cause, tt.want)
			}
		})
	}
}

// Two numbers of one sentence are compared where it says of what each is.
func TestContrasts(t *testing.T) {
	for _, tt := range []struct {
		fact string
		vm   bool
		want fabric.CauseID
	}{
		{"within one leaf 365 GB/s, across two leaves 180 GB/s", false, fabric.CauseOversubscription},
		{"within one leaf 365 GB/s, across two leaves 360 GB/s", false, fabric.CauseHealthy}, // no fault is named
		{"ib_write_bw: host memory 240 Gb/s, GPU memory 330 Gb/s", false, fabric.CauseHostMemoryInterleaving},
		{"seven NICs give 393 Gb/s in ib_write_bw, mlx5_6 gives 120 Gb/s", false, fabric.CauseSlowLink},
		{"31 nodes run at 360 GB/s, with node 19 it is 150", false, fabric.CauseSlowNode},
		{"bare metal gives 390 Gb/s to GPU memory, the VM 190 Gb/s", true, fabric.CauseATSDisabled},
	} {
		t.Run(tt.fact, func(t *testing.T) {
			o := fabric.Observations{Hardware: fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib", VM: tt.vm}, Observed: []fabric.Observation{{Fact: tt.fact}}}
			e := Explain([]fabric.Result{{Kind: fabric.ObservationFile, Content: &o}}, Input{Predict: predictor(t)}).Results[0]
			if tt.want == fabric.CauseHealthy {
				if e.Verdict != fabric.VerdictUnknown {
					t.Errorf("%q: %s, want unknown", tt.fact, e.Verdict)
				}
				return
			}
			if len(e.Causes) == 0 || e.Causes[0].ID != tt.want {
				t.Errorf("%q: %s %v, want %s first", tt.fact, e.Verdict, ids(e.Causes), tt.want)
			}
			if e.Verdict == fabric.VerdictHealthy {
				t.Errorf("%q alone is called healthy", tt.fact)
			}
		})
	}
}

// Numbers within their band explain no error and no hang away, and a bandwidth that is merely called low they do.
func TestComplaints(t *testing.T) {
	busbw := 467.0
	for fact, want := range map[string]fabric.Verdict{
		"every few hours the job hangs":               fabric.VerdictUnknown,
		"training is slower than last month":          fabric.VerdictUnknown,
		"one node is slow":                            fabric.VerdictDegraded,
		"I expected 900 GB/s, this looks low":         fabric.VerdictHealthy,
		"no errors, no hangs, GDRDMA on all channels": fabric.VerdictHealthy,
	} {
		o := fabric.Observations{Hardware: fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib"},
			Observed: []fabric.Observation{{Test: "nccl", Collective: fabric.AllReduce, Nodes: 2, BusBWGBs: &busbw}, {Fact: fact}}}
		e := Explain([]fabric.Result{{Kind: fabric.ObservationFile, Content: &o}}, Input{Predict: predictor(t)}).Results[0]
		if e.Verdict != want {
			t.Errorf("%q: %s: %s, want %s", fact, e.Verdict, e.Why, want)
		}
	}
}
