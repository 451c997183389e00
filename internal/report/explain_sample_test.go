package report

import (
	"math"

	"railwright.dev/railwright/internal/fabric"
)

// healthyBW is a published table of two nodes of eight H100 with eight NICs of 400 Gb/s, from 8 B to 16 GiB
// (nccl-tests, issue 309): it stands for the prediction too, with a band around it.
func healthyBW() []float64 {
	return []float64{0.0006, 0.0012, 0.0024, 0.0047, 0.0093, 0.018, 0.035, 0.063, 0.136, 0.254, 0.478, 0.938, 1.802, 3.631, 6.339, 10.099, 14.653, 27.333,
		51.576, 83.326, 118.617, 169.672, 234.843, 269.962, 336.307, 392.358, 426.974, 448.899, 461.24, 466.52, 468.46, 469.211}
}

// sickBW is a published table of the same machines at a third of that, from 8 MiB on (nccl-tests, issue 290).
func sickBW() []float64 {
	return []float64{73.055, 119.655, 143.215, 137.009, 159.722, 166.226, 144.14, 149.852, 153.094, 154.739, 155.57}
}

func samplePrediction() *fabric.Prediction {
	x := &fabric.Prediction{
		Meta: fabric.NewMeta("Prediction"), Collective: fabric.AllReduce, Ranks: 16, Nodes: 2,
		Hardware: fabric.Hardware{Machine: "hgx-h100", GPU: "h100-sxm", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib", CPU: "intel"},
		Assumptions: []fabric.Assumption{
			{What: "NICs of 400 Gb/s carry 49 GB/s of payload each", Source: "16-rank table of nccl-tests issue 309: 0.98 of the line"},
			{What: "CPU is Intel", Source: "catalog, hgx-h100"},
			{What: "NCCL 2.26 or later with NVLS", Source: "default of the model"},
			{What: "every NIC reaches every GPU of its rail over one PCIe switch", Source: "catalog, hgx-h100"},
			{What: "the spine carries what the hosts offer", Source: "nothing says otherwise"},
			{What: "one process a GPU", Source: "default of nccl-tests with MPI"},
		},
	}
	for i, busbw := range healthyBW() {
		size := int64(8) << i
		r := fabric.PredictionRow{Size: size, BusBW: busbw, AlgBW: busbw / 1.875, TimeUS: float64(size) / (busbw / 1.875) / 1e3, Algorithm: "NVLSTree", Protocol: "Simple",
			Bound: fabric.Bound{BusBW: 735, Element: "8 NICs of 400 Gb/s"}}
		if size < 1<<20 {
			r.Algorithm, r.Protocol = "Tree", "LL"
		}
		r.Band = [2]float64{busbw * 0.92, busbw * 1.05}
		r.NICGBs = r.AlgBW / 8
		x.Rows = append(x.Rows, r)
	}
	return x
}

// against holds a table that begins at a size against the prediction.
func against(from int64, busbw []float64) (rows []fabric.RowVerdict) {
	x := samplePrediction()
	for i, v := range busbw {
		r := x.Rows[int(math.Log2(float64(from)))-3+i]
		rows = append(rows, fabric.RowVerdict{Size: r.Size, BusBW: v, Expected: r.BusBW, Low: r.Band[0], High: r.Band[1], Bound: r.Bound.BusBW})
	}
	return rows
}

func sickResult() fabric.Explained {
	return fabric.Explained{
		File: "P14_h100_2n_ar_290_sick.json", Line: 1, Kind: fabric.TableFile, Verdict: fabric.VerdictDegraded,
		Why:      "all_reduce of 16 ranks on 2 nodes stops at a third of what these machines give, and stays flat from 128 MiB on.",
		Measured: &fabric.Measured{BusBW: 155.57, Size: 8 << 30, NICGBs: 10.4, NICLine: 50},
		Expected: &fabric.Expected{BusBW: 468.46, Low: 455, High: 480},
		Bound:    &fabric.Bound{BusBW: 735, Element: "8 NICs of 400 Gb/s"},
		Rows:     against(8<<20, sickBW()),
		Notes:    []fabric.Evidence{{Source: "rows 64 MiB and 512 MiB", Value: "busbw falls by 4 % and by 13 % where it should rise"}},
		Causes: []fabric.Cause{
			{ID: fabric.CauseGDRDisabled, Subject: fabric.ClusterSubject(), Confidence: 0.46,
				Evidence: []fabric.Evidence{{Source: "8 GiB", Value: "155 GB/s is 0.33 of healthy: GPU memory goes over the host on both ends"}, {Source: "rows", Value: "flat from 128 MiB on, so a rate and no latency"}},
				Against:  []fabric.Evidence{{Source: "not given", Value: "no NCCL log shows connections without GDRDMA"}},
				Confirm:  "NCCL_DEBUG=INFO all_reduce_perf -b 1G -e 1G 2>&1 | grep -c GDRDMA", Fix: "modprobe nvidia-peermem"},
			{ID: "hca-subset", Subject: fabric.ClusterSubject(), Confidence: 0.3,
				Evidence: []fabric.Evidence{{Source: "8 GiB", Value: "155 GB/s is what 3 of 8 NICs carry"}},
				Confirm:  "NCCL_DEBUG=INFO all_reduce_perf -b 1G -e 1G 2>&1 | grep 'NET/IB : Using'", Fix: "unset NCCL_IB_HCA"},
			{ID: fabric.CauseACSRedirect, Subject: fabric.ClusterSubject(), Confidence: 0.2, Evidence: []fabric.Evidence{{Source: "8 GiB", Value: "0.33 of the bound; ACS gives 0.45 to 0.6"}},
				Confirm: "lspci -vvv | grep ACSCtl", Fix: "setpci -s BRIDGE ECAP_ACS+6.w=0"},
			{ID: "socket-fallback", Subject: fabric.ClusterSubject(), Confidence: 0.05, Confirm: "NCCL_DEBUG=INFO all_reduce_perf 2>&1 | grep NET/"},
		},
		Assumed: samplePrediction().Assumptions,
	}
}

func healthyResult() fabric.Explained {
	busbw := healthyBW()
	busbw[5] = 0.005 // 256 B, first use
	return fabric.Explained{
		File: "P11_hgx_h100_2n_ar.json", Line: 1, Kind: fabric.TableFile, Verdict: fabric.VerdictHealthy,
		Why:      "all_reduce of 16 ranks on 2 nodes gives what these machines should.",
		Measured: &fabric.Measured{BusBW: 469.211, Size: 16 << 30, NICGBs: 31.3, NICLine: 50},
		Expected: &fabric.Expected{BusBW: 468, Low: 455, High: 480},
		Bound:    &fabric.Bound{BusBW: 735, Element: "8 NICs of 400 Gb/s"},
		Rows:     against(8, busbw),
		Notes:    []fabric.Evidence{{Source: "row 256 B", Value: "94.4 us, four times its neighbours: first use"}},
		Causes:   []fabric.Cause{{ID: "healthy", Confidence: 1}},
		Assumed:  samplePrediction().Assumptions[:2],
	}
}

func observedResult() fabric.Explained {
	return fabric.Explained{
		File: "vm-h100.yaml", Line: 3, Kind: fabric.ObservationFile, Verdict: fabric.VerdictDegraded,
		Why:      "One node gives 474 GB/s and host memory fills the wire, yet two nodes give 155 GB/s: the path between GPU and NIC is slow.",
		Measured: &fabric.Measured{BusBW: 155, NICGBs: 10.3, NICLine: 50},
		Expected: &fabric.Expected{BusBW: 468, Low: 440, High: 485},
		Bound:    &fabric.Bound{BusBW: 735, Element: "8 NICs of 400 Gb/s"},
		Causes: []fabric.Cause{
			{ID: fabric.CauseATSDisabled, Subject: fabric.ClusterSubject(), Confidence: 0.81,
				Evidence: []fabric.Evidence{{Source: "line 4", Value: "one node is healthy, 474 GB/s"}, {Source: "line 5", Value: "ib_write_bw from host memory 395 Gb/s of 400"}, {Source: "line 1", Value: "the GPUs are in a virtual machine"}},
				Confirm:  "lspci -vvv -s NIC | grep ATSCtl", Fix: "mlxconfig -d DEVICE set ATS_ENABLED=1"},
			{ID: "vm-topology-missing", Subject: fabric.ClusterSubject(), Confidence: 0.44,
				Evidence: []fabric.Evidence{{Source: "line 1", Value: "the GPUs are in a virtual machine"}},
				Confirm:  "railwright topo show", Fix: "railwright topo nccl > topo.xml; export NCCL_TOPO_FILE=topo.xml"},
		},
		Assumed: []fabric.Assumption{{What: "the size is 8 GiB", Source: "no size is told"}},
	}
}

func unknownResult() fabric.Explained {
	return fabric.Explained{File: "-", Line: 1, Kind: fabric.NCCLTests, Verdict: fabric.VerdictUnknown,
		Why: "all_reduce of 16 ranks gives 260 GB/s, and nothing says on which machines.", Measured: &fabric.Measured{BusBW: 260.1, Size: 8 << 30}}
}

func perftestResult() fabric.Explained {
	return fabric.Explained{File: "ib.txt", Line: 14, Kind: fabric.PerftestOutput, Verdict: fabric.VerdictFailed,
		Why: "ib_write_bw from GPU memory fails with completion error 12.", Measured: &fabric.Measured{Gbps: 195.8, Size: 65536}, Expected: &fabric.Expected{Gbps: 392, Low: 380, High: 400},
		Bound:  &fabric.Bound{BusBW: 49.2, Element: "1 NIC of 400 Gb/s"},
		Causes: []fabric.Cause{{ID: fabric.CauseMTUMismatch, Subject: fabric.NICSubject("host2", "mlx5_3"), Confidence: 0.9, Evidence: []fabric.Evidence{{Source: "line 31", Value: "status 12"}}, Fix: "ip link set dev eth3 mtu 9000"}}}
}
