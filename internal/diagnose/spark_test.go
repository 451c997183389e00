package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/results"
)

// explainPaste explains a text as people paste it, with the real model.
func explainPaste(t *testing.T, text string) []fabric.Explained {
	t.Helper()
	found, err := results.Read("text", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return explain(found, Input{Predict: predictor(t)}).Results
}

// run is the output of ib_write_bw on one device.
func run(device string, gbps float64, mtu int, endless bool) string {
	row := fmt.Sprintf(" 65536      20000            %.2f             %.2f             %.6f\n", gbps, gbps, gbps*1000/8/65536)
	if endless {
		row += row + row
	}
	return fmt.Sprintf("RDMA_Write BW Test\n Dual-port       : OFF          Device         : %s\n Mtu             : %d[B]\n Link type       : Ethernet\n"+
		"---------------------------------------------------------------------------------------\n"+
		" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n%s"+
		"---------------------------------------------------------------------------------------\n", device, mtu, row)
}

// What a twin or a port carries decides, not the words around it: the same text with another number has another verdict.
func TestSparkRates(t *testing.T) {
	const gpu = "|   0  NVIDIA GB10    On  |   0000000F:01:00.0 Off |\n"
	tests := []struct {
		name, text string
		verdict    fabric.Verdict
		first      fabric.CauseID
	}{
		{"a twin alone", gpu + run("rocep1s0f1", 109.2, 4096, false), fabric.VerdictHealthy, fabric.CauseHealthy},
		{"a twin alone with one queue pair, at its share of the port", gpu + run("roceP2p1s0f0", 97.97, 4096, false), fabric.VerdictHealthy, fabric.CauseHealthy},
		{"a twin alone at a small path MTU, at full rate", gpu + run("rocep1s0f1", 111.7, 1024, false), fabric.VerdictHealthy, fabric.CauseHealthy},
		{"the same name in a container", gpu + run("mlx5_2", 109.2, 4096, false), fabric.VerdictHealthy, fabric.CauseHealthy},
		{"a degraded adapter", gpu + run("rocep1s0f1", 13.4, 4096, false), fabric.VerdictDegraded, fabric.CauseNICDegradedInit},
		{"a degraded adapter, at its upper end", gpu + run("roceP2p1s0f0", 24.1, 4096, false), fabric.VerdictDegraded, fabric.CauseNICDegradedInit},
		{"a link of two lanes", gpu + run("roceP2p1s0f1", 56.8, 4096, false), fabric.VerdictDegraded, fabric.CausePCIeDowngraded},
		{"a small path MTU", gpu + run("rocep1s0f1", 92.6, 1024, false), fabric.VerdictDegraded, fabric.CauseMTUMismatch},
		{"both twins at once, each at half of the port", gpu + run("rocep1s0f1", 92.6, 1024, true) + run("roceP2p1s0f1", 93.1, 1024, true), fabric.VerdictHealthy, fabric.CauseHealthy},
		{"both at once on a port of half the rate", gpu + run("rocep1s0f1", 46.3, 1024, true) + run("roceP2p1s0f1", 46.3, 1024, true), fabric.VerdictDegraded, ""},
		{"both at once, throttled together", gpu + run("rocep1s0f1", 6.7, 4096, true) + run("roceP2p1s0f1", 6.7, 4096, true), fabric.VerdictDegraded, ""},
		{"twins of different ports are two ports", gpu + run("rocep1s0f0", 92.6, 1024, true) + run("roceP2p1s0f1", 93.1, 1024, true), fabric.VerdictDegraded, fabric.CauseMTUMismatch},
		{"a name alone", run("rocep1s0f1", 13.4, 4096, false), fabric.VerdictUnknown, ""},
		{"a name alone at the rate of a twin", run("rocep1s0f1", 109.2, 4096, false), fabric.VerdictHealthy, fabric.CauseHealthy},
		{"another machine with this name", "CPU: x86_64\n" + run("rocep1s0f1", 13.4, 4096, false), fabric.VerdictUnknown, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := explainPaste(t, tt.text)[0]
			if r.Verdict != tt.verdict || tt.first != "" && firstCause(r) != tt.first {
				t.Errorf("%s: %s %v, want %s %s", r.Verdict, r.Why, ids(r.Causes), tt.verdict, tt.first)
			}
		})
	}
}

// Numbers in sentences and tables are judged by the same physics.
func TestSparkNotes(t *testing.T) {
	tests := []struct {
		name, text string
		verdict    fabric.Verdict
		causes     []fabric.CauseID // all of them, in any place
		not        []fabric.CauseID
	}{
		{"good in all", "two GB10: ib_write_bw 97.9 + 97.8 = 195.7 Gb/s\nall_gather busbw: 22.9 GB/s", fabric.VerdictHealthy, nil, nil},
		{"RDMA as slow as TCP", "GB10, ib_write_bw 12.9 Gb/s\niperf3: 12.1 Gb/s", fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseNICDegradedInit}, []fabric.CauseID{fabric.CauseMTUMismatch}},
		{"TCP alone says nothing of RDMA", "GB10, iperf3: 12.1 Gb/s", fabric.VerdictUnknown, nil, nil},
		{"TCP behind a link of 25 Gb/s", "GB10\nSpeed: 25000Mb/s\niperf3: 23.1 Gb/s", fabric.VerdictUnknown, nil, []fabric.CauseID{fabric.CauseNICDegradedInit}},
		{"a slow collective alone has three reasons", "GB10 all_reduce busbw: 2.9 GB/s", fabric.VerdictDegraded,
			[]fabric.CauseID{fabric.CauseNICDegradedInit, fabric.CauseLibraryBuild, fabric.CauseSocketFallback}, nil},
		{"good RDMA clears the adapter", "GB10 ib_write_bw 109.2 Gb/s\nall_reduce busbw: 2.9 GB/s", fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseLibraryBuild}, []fabric.CauseID{fabric.CausePCIeDowngraded}},
		{"bits are no bytes", "GB10 all_reduce busbw: 23.5 Gb/s", fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseNICDegradedInit}, nil},
		{"bytes", "GB10 all_reduce busbw: 23.5 GB/s", fabric.VerdictHealthy, nil, nil},
		{"half", "GB10 all_reduce busbw: 12.6 GB/s", fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseHalfPortTwin}, nil},
		{"a small message is no plateau", "GB10 all_reduce 1 MiB: 8.6 GB/s", fabric.VerdictUnknown, nil, []fabric.CauseID{fabric.CauseHalfPortTwin}},
		{"sizes that still rise", "GB10 all_gather 256 MiB: 13.1 GB/s, 1 GiB: 19.8 GB/s, 4 GiB: 21.7 GB/s", fabric.VerdictHealthy, nil, []fabric.CauseID{fabric.CauseHalfPortTwin}},
		{"sizes at their plateau", "GB10 all_gather 256 MiB: 12.3 GB/s, 1 GiB: 12.6 GB/s, 4 GiB: 12.6 GB/s", fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseHalfPortTwin}, nil},
		{"cured", "GB10 all_reduce: 2.9 GB/s\nafter reboot:\nall_reduce: 22.8 GB/s", fabric.VerdictHealthy, nil, nil},
		{"not cured", "GB10 all_reduce: 2.9 GB/s\nafter reboot:\nall_reduce: 2.8 GB/s", fabric.VerdictDegraded, nil, nil},
		{"another release", "GB10, NCCL dev branch all_reduce: 3.0 GB/s", fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseLibraryBuild}, nil},
		{"a second cable", "GB10\n| path | alone | all at once |\n|---|---|---|\n| rocep1s0f0 | 109 Gb/s | 54.6 Gb/s |\n| roceP2p1s0f0 | 109.2 Gb/s | 54.6 Gb/s |\n| rocep1s0f1 | 109.1 Gb/s | 54.6 Gb/s |\n| roceP2p1s0f1 | 109.2 Gb/s | 54.6 Gb/s |",
			fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseMiscabled}, []fabric.CauseID{fabric.CausePCIeDowngraded}},
		{"a container without devices", "GB10, container without /dev/infiniband: all_reduce: 2.0 GB/s", fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseSocketFallback}, nil},
		{"one twin is set", "GB10 NCCL_IB_HCA=roceP2p1s0f1", fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseHalfPortTwin}, nil},
		{"both twins are set", "GB10 NCCL_IB_HCA=rocep1s0f1,roceP2p1s0f1", fabric.VerdictUnknown, nil, []fabric.CauseID{fabric.CauseHalfPortTwin}},
		{"two ports, one twin each", "GB10 NCCL_IB_HCA=rocep1s0f0,rocep1s0f1", fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseHalfPortTwin}, nil},
		{"both twins by other names", "GB10 NCCL_IB_HCA=mlx5_1,mlx5_3", fabric.VerdictUnknown, nil, []fabric.CauseID{fabric.CauseHalfPortTwin}},
		{"two first twins by other names", "GB10 NCCL_IB_HCA=mlx5_0,mlx5_1", fabric.VerdictDegraded, []fabric.CauseID{fabric.CauseHalfPortTwin}, nil},
		{"a test that froze a machine", "GB10 all_gather_perf -b 16G -e 16G: the node freezes", fabric.VerdictFailed, nil, nil},
		{"a narrow link", "mlx5_core 0002:01:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x2 link at 0002:00:00.0 (capable of 126.028 Gb/s with 32.0 GT/s PCIe x4 link)\nall_gather busbw 13.9 GB/s",
			fabric.VerdictDegraded, []fabric.CauseID{fabric.CausePCIeDowngraded}, nil},
		{"a full link", "mlx5_core 0002:01:00.0: 126.028 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)\nall_gather busbw 22.9 GB/s", fabric.VerdictHealthy, nil, nil},
		{"a GPU without a link", "pci 000f:01:00.0: 0.000 Gb/s available PCIe bandwidth, limited by Unknown x0 link at 000f:00:00.0\nGB10 all_gather busbw 22.9 GB/s", fabric.VerdictHealthy, nil, nil},
		{"a warning of power is none", "mlx5_core 0002:01:00.0: Detected insufficient power on the PCIe slot (27W).\nib_write_bw 109.2 Gb/s", fabric.VerdictHealthy, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := explainPaste(t, tt.text)[0]
			have := ids(r.Causes)
			missing := slices.ContainsFunc(tt.causes, func(c fabric.CauseID) bool { return !slices.Contains(have, c) })
			blamed := slices.ContainsFunc(tt.not, func(c fabric.CauseID) bool { return slices.Contains(have, c) })
			if r.Verdict != tt.verdict || missing || blamed {
				t.Errorf("%s: %s %v, want %s %v and not %v", r.Verdict, r.Why, have, tt.verdict, tt.causes, tt.not)
			}
		})
	}
}

// A cluster without a switch: the same message has other causes as cables and settings differ.
func TestSparkMesh(t *testing.T) {
	const using = "NET/IB : Using [0]rocep1s0f0:1/RoCE [1]rocep1s0f1:1/RoCE [2]roceP2p1s0f0:1/RoCE [3]roceP2p1s0f1:1/RoCE [RO]; OOB enP7s7:10.0.0.1<0>\n"
	const failed = "NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev rocep1s0f1:1, local GID ::ffff:10.1.1.1, remote GID ::ffff:10.1.%d.2\n"
	const right = "mesh of three: n1 p0 <-> n2 p1, n2 p0 <-> n3 p1, n3 p0 <-> n1 p1\n"
	tests := []struct {
		name, text string
		verdict    fabric.Verdict
		first      fabric.CauseID
	}{
		{"ends on different cables", using + fmt.Sprintf(failed, 9), fabric.VerdictFailed, fabric.CauseMiscabled},
		{"the same on cables that are right", using + right + fmt.Sprintf(failed, 9), fabric.VerdictFailed, fabric.CauseLibraryBuild},
		{"equal ports joined", using + strings.Replace(right, "n2 p1", "n2 p0", 1) + fmt.Sprintf(failed, 1), fabric.VerdictFailed, fabric.CauseMiscabled},
		{"another NCCL is fast there", using + "mesh\n" + fmt.Sprintf(failed, 1) + "nccl-tests on the host: all_gather 21.2 GB/s\n", fabric.VerdictFailed, fabric.CauseLibraryBuild},
		{"rendezvous over a cable", "GB10 mesh\nNCCL_SOCKET_IFNAME=enp1s0f0np0\n", fabric.VerdictDegraded, fabric.CauseBootstrapInterface},
		{"rendezvous over a cable of a pair", "GB10\nNCCL_SOCKET_IFNAME=enp1s0f0np0\n", fabric.VerdictUnknown, ""},
		{"rendezvous beside the cables", "GB10 mesh\nNCCL_SOCKET_IFNAME=enP7s7\n", fabric.VerdictUnknown, ""},
		{"rendezvous over a cable by the log", "mesh\n" + strings.Replace(using, "OOB enP7s7", "OOB enp1s0f1np1", 1), fabric.VerdictDegraded, fabric.CauseBootstrapInterface},
		{"merged devices, and data that belongs to nothing", "GB10 mesh\nNCCL_IB_MERGE_NICS=1\nNCCL WARN NET/IB: ncclIbTest: Recv comm could not retreive a request found for a successful completion (comm=0x1)\n", fabric.VerdictFailed, fabric.CauseNCCLSettings},
		{"merged devices alone", "GB10 mesh\nNCCL_IB_MERGE_NICS=1\n", fabric.VerdictUnknown, ""},
		{"merged devices of a pair", "GB10\nNCCL_IB_MERGE_NICS=1\n", fabric.VerdictUnknown, ""},
		{"second twins replaced", using + "NET/IB: overriding dev 2 with dev 0\nNET/IB: overriding dev 3 with dev 0\n", fabric.VerdictDegraded, fabric.CauseHalfPortTwin},
		{"another port of the same link", using + "NET/IB: overriding dev 0 with dev 1\nNET/IB: overriding dev 2 with dev 3\n", fabric.VerdictUnknown, ""},
		{"a head that nobody reaches", "GB10 hosts: 127.0.0.1, 10.0.0.2, 10.0.0.3\n", fabric.VerdictDegraded, fabric.CauseBootstrapInterface},
		{"heads that are reached", "GB10 hosts: 10.0.0.1, 10.0.0.2, 10.0.0.3\n", fabric.VerdictUnknown, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := explainPaste(t, tt.text)
			if len(all) == 0 {
				if tt.verdict != fabric.VerdictUnknown {
					t.Error("no result")
				}
				return
			}
			r := all[0]
			if r.Verdict != tt.verdict || tt.first != "" && firstCause(r) != tt.first {
				t.Errorf("%s: %s %v, want %s %s", r.Verdict, r.Why, ids(r.Causes), tt.verdict, tt.first)
			}
		})
	}
}

// A first twin that talks to a second one is said, whatever it carries; twins of one link are not.
func TestSparkTwinsCrossed(t *testing.T) {
	const gid = " GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:01:%d\n"
	for device, crossed := range map[string]bool{"roceP2p1s0f0": true, "rocep1s0f0": false} {
		out := strings.Replace(run("rocep1s0f0", 109.2, 4096, false), "----\n #bytes", "----\n"+fmt.Sprintf(gid, 10)+fmt.Sprintf(gid, 20)+" #bytes", 1)
		r := explainPaste(t, "GB10\n"+device+" 192.168.1.20\n"+out)[0]
		said := slices.ContainsFunc(r.Notes, func(e fabric.Evidence) bool { return e.Source == "twins" })
		if said != crossed || r.Verdict != fabric.VerdictHealthy {
			t.Errorf("%s: %s %v %v", device, r.Verdict, r.Why, r.Notes)
		}
	}
}

// Four paths over both ports are two cables to one machine, also where their rows were pasted twice.
func TestPathsPastedTwice(t *testing.T) {
	table := "| path | alone | all four at once |\n|---|---|---|\n| `rocep1s0f1` | 109.2 Gb/s | 54.6 Gb/s |\n| `roceP2p1s0f1` | 109.1 Gb/s | 54.5 Gb/s |\n" +
		"| `rocep1s0f0` | 109.3 Gb/s | 54.6 Gb/s |\n| `roceP2p1s0f0` | 109.2 Gb/s | 54.6 Gb/s |\n"
	for name, text := range map[string]string{"once": table, "twice": table + "\n" + table} {
		got := explainPaste(t, text)
		if len(got) != 1 || got[0].Verdict != fabric.VerdictDegraded || len(got[0].Causes) == 0 || got[0].Causes[0].ID != fabric.CauseMiscabled {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
