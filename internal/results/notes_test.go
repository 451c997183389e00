package results

import (
	"math"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// notesOf reads a text that has notes; nil where it has none.
func notesOf(t *testing.T, text string) *fabric.Notes {
	t.Helper()
	for _, r := range Scan("text", strings.NewReader(text), Claims{}).Results {
		if n, ok := r.Content.(*fabric.Notes); ok {
			return n
		}
	}
	return nil
}

// A number is read with its unit, of what it is, and in what state of the machines.
func TestNotedNumbers(t *testing.T) {
	const machine = "two GB10\n"
	type number struct {
		test     fabric.NotedTest
		gbps     float64
		together bool
		state    fabric.NotedState
		device   string
	}
	tests := []struct {
		name, text string
		want       []number
	}{
		{"bits", "ib_write_bw: 109.2 Gb/s", []number{{fabric.NotedRDMA, 109.2, false, "", ""}}},
		{"bits in other words", "iperf3 gave 93.1 Gbits/sec", []number{{fabric.NotedTCP, 93.1, false, "", ""}}},
		{"bytes", "all_gather busbw 23.5 GB/s", []number{{fabric.NotedCollective, 188, false, "", ""}}},
		{"bits of a collective are no bytes", "all-reduce 1 GiB: 23.5 Gb/s", []number{{fabric.NotedCollective, 23.5, false, "", ""}}},
		{"thousandths", "NCCL all_reduce: 2900 MB/s", []number{{fabric.NotedCollective, 23.2, false, "", ""}}},
		{"a sum with its total", "ib_write_bw 97.5 + 98.5 = 196 Gb/s", []number{{fabric.NotedRDMA, 196, true, "", ""}}},
		{"a sum without", "RDMA of both twins: 97.5 + 98.5 Gb/s", []number{{fabric.NotedRDMA, 196, true, "", ""}}},
		{"an arrow", "RDMA write 12.5 -> 108.5 Gb/s", []number{{fabric.NotedRDMA, 12.5, false, fabric.NotedBefore, ""}, {fabric.NotedRDMA, 108.5, false, fabric.NotedAfter, ""}}},
		{"two tests in one sentence", "ib_write_bw gives 109 Gb/s, but nccl all_gather only 2.5 GB/s",
			[]number{{fabric.NotedRDMA, 109, false, "", ""}, {fabric.NotedCollective, 20, false, "", ""}}},
		{"two devices in one sentence", "ib_write_bw at once: rocep1s0f1 97.5 Gb/s, roceP2p1s0f1 97.6 Gb/s",
			[]number{{fabric.NotedRDMA, 97.5, true, "", "rocep1s0f1"}, {fabric.NotedRDMA, 97.6, true, "", "roceP2p1s0f1"}}},
		{"a heading", "after the reboot:\nall-reduce 1 GiB: 180.5 Gb/s", []number{{fabric.NotedCollective, 180.5, false, fabric.NotedAfter, ""}}},
		{"a command before", "$ iperf3 -c peer\nResult: 95.5 Gbit/s", []number{{fabric.NotedTCP, 95.5, false, "", ""}}},
		{"the end of iperf3", "[  5]   0.00-1.00   sec  1.4 GBytes  12.5 Gbits/sec\n[SUM]   0.00-10.00  sec  14 GBytes  12.1 Gbits/sec  receiver",
			[]number{{fabric.NotedTCP, 12.1, false, "", ""}}},
		{"a table with its unit in the header", "| Test | Gb/s |\n|---|---|\n| RDMA write | 104.5 |", []number{{fabric.NotedRDMA, 104.5, false, "", ""}}},
		{"a table of two states", "| Test | Before | After |\n|---|---|---|\n| RDMA | 12.9 Gbps | **104 Gbps** |",
			[]number{{fabric.NotedRDMA, 12.9, false, fabric.NotedBefore, ""}, {fabric.NotedRDMA, 104, false, fabric.NotedAfter, ""}}},
		{"a rate by which a port is called", "RDMA over the 200 Gb/s port", nil},
		{"what was expected", "ib_write_bw: expected 109.2 Gb/s", nil},
		{"what a link could do", "mlx5_core 0000:01:00.0: 126.028 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)", nil},
		{"memory", "memory bandwidth 273.5 GB/s", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []number
			if n := notesOf(t, machine+tt.text); n != nil {
				for _, v := range n.Numbers {
					got = append(got, number{v.Test, math.Round(100*v.Gbps) / 100, v.Together, v.State, v.Device})
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// Names that other machines have as well, and parts that the machine does not have, recognise nothing.
func TestNotesNeedTheMachine(t *testing.T) {
	const number = "\nib_write_bw: 13.5 Gb/s"
	tests := []struct {
		text  string
		basis fabric.NotedBasis
	}{
		{"NVIDIA GB10", fabric.NotedNamed},
		{"two DGX Spark", fabric.NotedNamed},
		{"roceP2p1s0f1 port 1 ==> enP2p1s0f1np1 (Up)", fabric.NotedDevices},
		{"mlx5_core 0002:01:00.0: firmware version: 28.45.4028", fabric.NotedDevices},
		{"rocep1s0f1 port 1 ==> enp1s0f1np1 (Up)", fabric.NotedNames},
		{"user@spark-1: rocep1s0f1", fabric.NotedDevices},
		{"rocep1s0f1 in an x86_64 machine", ""},
		{"rocep1s0f1, vendor_part_id: 4121", ""},
		{"roceP2p1s0f1 of a ConnectX-5", ""},
		{"DGX H100 at a switch with RouterOS", ""},
		{"eight H100 and mlx5_0", ""},
	}
	for _, tt := range tests {
		var got fabric.NotedBasis
		if n := notesOf(t, tt.text+number); n != nil {
			got = n.Basis
		}
		if got != tt.basis {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.basis)
		}
	}
}

// Facts stand beside numbers, by what programs print and people write.
func TestNotedFacts(t *testing.T) {
	tests := []struct{ text, what, value string }{
		{"NET/IB: Subnet-aware routing: overriding dev 3 with dev 1", "override", "3 1"},
		{"NET/IB : Using [0]rocep1s0f0:1/RoCE [RO]; OOB enP7s7:10.0.0.1<0>", "oob", "enP7s7"},
		{"local GID index 3, local GID ::ffff:10.1.2.3, remote GID ::ffff:10.1.4.3", "gids", "10.1.2.3 10.1.4.3"},
		{"Call to ibv_modify_qp failed with 110 Connection timed out", "qp-timeout", "ibv_modify_qp"},
		{"- `a.port0` -> `b.port1` (two subnets)", "cable", "a 0 b 1"},
		{"cables: n1 p0 <-> n3 p0", "cable", "n1 0 n3 0"},
		{"mpirun -np 2 all_gather_perf -b 1M -e 16G", "size", "16 G"},
		{"hosts: 127.0.0.1, 10.0.0.2", "loopback", "hosts 127.0.0.1"},
		{"-x UCX_NET_DEVICES=enp1s0f1np1 -x A=b", "setting", "UCX_NET_DEVICES enp1s0f1np1"},
		{"NCCL_IB_MERGE_NICS set by environment to 0.", "setting", "NCCL_IB_MERGE_NICS 0"},
		{"docker run without --device /dev/infiniband", "no-rdma", "/dev/infiniband"},
	}
	for _, tt := range tests {
		n := notesOf(t, "GB10 roceP2p1s0f0\n"+tt.text+"\nib_write_bw: 13.5 Gb/s")
		if n == nil || !slices.ContainsFunc(n.Facts, func(f fabric.NotedFact) bool { return f.What == tt.what && f.Value == tt.value && f.Line == 2 }) {
			t.Errorf("%q: %+v, want %s %q", tt.text, n, tt.what, tt.value)
		}
	}
	for _, text := range []string{"/etc/hosts: 127.0.0.1 localhost", "vllm serve --host 127.0.0.1", "QSFP port 1 = enp1s0f0np0", "NCCL subnet"} {
		if n := notesOf(t, "GB10\n"+text+"\nib_write_bw: 13.5 Gb/s"); n == nil || len(n.Facts) > 0 {
			t.Errorf("%q: %+v, want no facts", text, n)
		}
	}
}

// Notes are bounded, whatever a text repeats.
func TestNotesAreBounded(t *testing.T) {
	n := notesOf(t, "GB10\n"+strings.Repeat("ib_write_bw: 13.5 Gb/s, NCCL_IB_HCA=a\n", 3*maxNoted))
	if len(n.Numbers) > maxNoted || len(n.Facts) > maxNoted {
		t.Errorf("%d numbers, %d facts", len(n.Numbers), len(n.Facts))
	}
}
