package nic

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// publicOutputs holds outputs that people published, and mutants of them. They are not ours to keep here.
const publicOutputs = "../../../shared/data/roce-configs"

func publicText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(publicOutputs, name+".txt"))
	if os.IsNotExist(err) {
		t.Skipf("%s: no published outputs on this machine", publicOutputs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readerNamed(t testing.TB, name string) Reader {
	t.Helper()
	for _, r := range Readers() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no reader %s", name)
	return Reader{}
}

func list(priorities ...int) *[]int {
	if priorities == nil {
		priorities = []int{}
	}
	return &priorities
}

func dscp(n int) *fabric.Marking { return &fabric.Marking{DSCP: &n} }

func ets(percent int) fabric.Scheduler {
	return fabric.Scheduler{Algorithm: "ets", Percent: &percent}
}

// blocksOf8 is the default map of ConnectX: eight DSCP values for each priority.
func blocksOf8() map[int]int {
	out := map[int]int{}
	for d := range 64 {
		out[d] = d / 8
	}
	return out
}

func vendorQoS() fabric.QoS {
	vendor := fabric.Scheduler{Algorithm: "vendor"}
	return fabric.QoS{
		Trust: "dscp", DSCP: blocksOf8(), PFC: list(3), DCBX: "host", Queues: []int{1, 0, 2, 3, 4, 5, 6, 7},
		Schedulers: []fabric.Scheduler{vendor, vendor, vendor, vendor, vendor, vendor, vendor, vendor},
	}
}

func firmwareQoS(trust string, pfc *[]int) fabric.QoS {
	return fabric.QoS{
		Trust: trust, DSCP: blocksOf8(), PFC: pfc, DCBX: "firmware", Queues: []int{0, 0, 0, 3, 0, 0, 6, 0},
		Schedulers: []fabric.Scheduler{ets(50), {}, {}, ets(50), {}, {}, {Algorithm: "vendor"}},
	}
}

func allZero() map[int]int {
	out := map[int]int{}
	for d := range 64 {
		out[d] = 0
	}
	return out
}

func TestPublicOutputs(t *testing.T) {
	strict := fabric.Scheduler{Algorithm: "strict"}
	share := func(s fabric.Scheduler, n int) fabric.Scheduler { s.Percent = &n; return s }
	eight := func(first ...fabric.Scheduler) []fabric.Scheduler {
		for len(first) < 8 {
			first = append(first, share(strict, 0))
		}
		return first
	}
	lldp47 := fabric.QoS{PFC: list(1, 2, 5, 7), Queues: []int{0, 1, 2, 3, 4, 5, 6, 7}, Schedulers: []fabric.Scheduler{ets(12), ets(12), ets(12), ets(12), ets(13), ets(13), ets(13), ets(13)}}
	lldp48 := fabric.QoS{PFC: list(0), Queues: make([]int, 8), Schedulers: eight(ets(100))}
	lldpOff := lldp48
	lldpOff.PFC = list()
	allPriorities := list(0, 1, 2, 3, 4, 5, 6, 7)
	for _, tt := range []struct {
		file, reader, device string
		want                 []Reading
	}{
		{"37", "mlnx_qos", "eth1", []Reading{{Interface: "eth1", QoS: firmwareQoS("dscp", list(3))}}},
		{"m49", "mlnx_qos", "eth1", []Reading{{Interface: "eth1", QoS: firmwareQoS("dscp", list(4))}}},
		{"m50", "mlnx_qos", "eth1", []Reading{{Interface: "eth1", QoS: firmwareQoS("pcp", list(3))}}},
		{"38", "mlnx_qos", "", []Reading{{Interface: "eth4", QoS: vendorQoS()}}},
		{"38", "cma_roce_tos", "", []Reading{{RDMA: "mlx5_2", QoS: fabric.QoS{RoCE: dscp(26)}}}},
		{"38", "mlx5 files", "", []Reading{{RDMA: "mlx5_2", QoS: fabric.QoS{RoCE: dscp(26)}}}},
		{"m51", "mlx5 files", "", []Reading{{RDMA: "mlx5_2", QoS: fabric.QoS{RoCE: dscp(24)}}}},
		{"m51", "cma_roce_tos", "", []Reading{{RDMA: "mlx5_2", QoS: fabric.QoS{RoCE: dscp(26)}}}},
		{"m61", "mlx5 files", "", []Reading{{RDMA: "mlx5_2", QoS: fabric.QoS{RoCE: dscp(26)}}}},
		{"39", "mlnx_qos", "eth1", []Reading{{Interface: "eth1", QoS: fabric.QoS{Trust: "dscp", PFC: list(3), Schedulers: []fabric.Scheduler{ets(0), ets(0), ets(0), ets(100), ets(0), ets(0), ets(0), ets(0)}}}}},
		{"40", "mlnx_qos", "eth0", []Reading{{Interface: "eth0", QoS: fabric.QoS{Trust: "dscp", PFC: list(5)}}}},
		{"40", "mlx5 files", "", []Reading{{Interface: "eth0", QoS: fabric.QoS{ECN: allPriorities, CNP: dscp(48)}}, {RDMA: "mlx5_0", QoS: fabric.QoS{RoCE: dscp(40)}}}},
		{"m52", "mlx5 files", "", []Reading{{Interface: "eth0", QoS: fabric.QoS{ECN: allPriorities, CNP: dscp(0)}}, {RDMA: "mlx5_0", QoS: fabric.QoS{RoCE: dscp(40)}}}},
		{"42", "dcb", "", []Reading{{Interface: "ens6", QoS: fabric.QoS{PFC: list(3)}}, {Interface: "ens6", QoS: fabric.QoS{Trust: "dscp", DSCP: map[int]int{26: 3}}}}},
		{"m53", "dcb", "", []Reading{{Interface: "ens6", QoS: fabric.QoS{PFC: list(3)}}, {Interface: "ens6", QoS: fabric.QoS{Trust: "dscp", DSCP: map[int]int{26: 4}}}}},
		{"43", "dcb", "", []Reading{{Interface: "ens6", QoS: fabric.QoS{PFC: list()}}, {Interface: "ens6", QoS: fabric.QoS{Trust: "pcp"}}}},
		{"44", "nicctl", "", []Reading{{Card: "0000:06:00.0", QoS: fabric.QoS{Trust: "dscp", DSCP: allZero(), PFC: list(), Queues: make([]int, 8), Schedulers: []fabric.Scheduler{ets(0)}}}}},
		{"m55", "nicctl", "", nil},
		{"45", "niccli", "eth1", []Reading{{Interface: "eth1", QoS: fabric.QoS{Trust: "pcp", PFC: list(7), Schedulers: []fabric.Scheduler{ets(33), ets(33), ets(34)}}}}},
		{"47", "lldptool", "eth1", []Reading{{Interface: "eth1", QoS: lldp47}}},
		{"48", "lldptool", "eth1", []Reading{{Interface: "eth1", QoS: lldp48}}},
		{"m57", "lldptool", "eth1", []Reading{{Interface: "eth1", QoS: lldpOff}}},
	} {
		t.Run(tt.file+" "+tt.reader, func(t *testing.T) {
			got, err := readerNamed(t, tt.reader).Read(publicText(t, tt.file), tt.device)
			if (err != nil) != (tt.want == nil) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPublicFiles reads the driver's file, and hands counters to every reader: none may take them for settings.
func TestPublicFiles(t *testing.T) {
	for name, want := range map[string][2]string{"46": {"7", "46"}, "m54": {"3", "46"}} {
		got, err := ReadBnxtReConf(publicText(t, name))
		if err != nil || len(got) != 8 || got[SettingCNPPriority] != want[0] || got[SettingCNPDSCP] != want[1] {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	counters := publicText(t, "49")
	for _, r := range Readers() {
		if got, err := r.Read(counters, "eth1"); err == nil {
			t.Errorf("%s read counters as %+v", r.Name, got)
		}
	}
}

// TestNoDevice refuses texts that do not say which interface they are about.
func TestNoDevice(t *testing.T) {
	for name, reader := range map[string]string{"37": "mlnx_qos", "45": "niccli", "47": "lldptool"} {
		_, err := readerNamed(t, reader).Read(publicText(t, name), "")
		if err == nil || !strings.Contains(err.Error(), "does not say which") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
