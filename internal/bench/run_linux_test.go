package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// fakeNode is a machine whose programs are shell scripts. What surrounds a command, the time limit and the watch over standard
// input, is the real one.
type fakeNode struct {
	name     string
	programs map[string]string // script by program; absent: there is no such program

	mu   sync.Mutex
	seen []string
}

func (f *fakeNode) Start(ctx context.Context, c host.Command) (*host.Process, error) {
	argv := slices.Clone(c.Argv)
	rest := argv[6:] // sh -c SCRIPT sh LIMIT OWNER
	if rest[0] == "env" {
		for rest = rest[1:]; strings.Contains(rest[0], "="); {
			rest = rest[1:]
		}
	}
	f.mu.Lock()
	f.seen = append(f.seen, strings.Join(rest, " "))
	f.mu.Unlock()
	name := rest[0]
	switch {
	case name == "sh" && rest[2] == twinsScript:
		name = "twins"
	case name == "sh" && rest[2] == libraryScript:
		name = "library"
	case name == "cat":
		name = rest[1]
	}
	script, ok := f.programs[name]
	if !ok {
		script = "exit 127"
	}
	return host.Local{}.Start(ctx, host.Command{Argv: append(append(argv[:6:6], "sh", "-c", script, name), rest[1:]...)})
}

func (f *fakeNode) commands(program string) (found []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, line := range f.seen {
		if strings.HasPrefix(line, program) {
			found = append(found, line)
		}
	}
	return found
}

// bandwidthText is what ib_write_bw prints for a device.
func bandwidthText(device string, mtu int, gbps float64) string {
	return fmt.Sprintf(`---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : %s
 Number of qps   : 4		Transport type : IB
 Connection type : RC		Using SRQ      : OFF
 Mtu             : %d[B]
 Link type       : Ethernet
 GID index       : 3
 rdma_cm QPs	 : OFF
 Data ex. method : Ethernet
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      420000           0.00               %.2f		     %.6f
---------------------------------------------------------------------------------------
`, device, mtu, gbps, gbps*1e3/8/65536)
}

func printing(text string) string { return "printf '%s' '" + text + "'" }

// healthyNode answers as a machine of a pair does, by port 1.
func healthyNode(name string) *fakeNode {
	return &fakeNode{name: name, programs: map[string]string{
		"/proc/net/tcp": printing("  sl  local_address rem_address   st\n   0: 0100007F:4853 00000000:0000 0A 00000000:00000000\n   1: 0100007F:4854 0100007F:1234 01 0:0\n"),
		"/proc/meminfo": printing("MemTotal:       125829120 kB\nMemFree: 1 kB\nMemAvailable:   110000000 kB\n"),
		"twins":         printing("enp1s0f1np1 0000:01:00.1 4 32.0_GT/s_PCIe mlx5_1\nenP2p1s0f1np1 0002:01:00.1 2 32.0_GT/s_PCIe roceP2p1s0f1\n"),
		"library":       printing("test /opt/railwright/nccl-tests/build/all_gather_perf\nlibrary /opt/railwright/nccl/build/lib/libnccl.so.2\nIB_SUBNET_AWARE_ROUTING\nNCCL version 2.30.7+cuda13.0\n"),
		"ib_write_bw":   bandwidthScript(),
		"mpirun":        `echo "$@" | grep -q -- "-x NCCL_IB_HCA==" || exit 3; printf '%s' '` + gatherText + `'`,
	}}
}

// bandwidthScript is a server without an address as its last argument, else a client.
func bandwidthScript() string {
	return `for last; do :; done
case $last in *.*.*.*) ;; *) sleep 0.3; exit 0;; esac
` + printing(bandwidthText("mlx5_1", 4096, 111.71))
}

const gatherText = `# nccl-tests version 2.19.6 nccl-headers=23007 nccl-library=23007
# Collective test starting: all_gather_perf
# nThread 1 nGpus 1 minBytes 536870912 maxBytes 4294967296 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid    101 on     spark1 device  0 [000f:01:00] NVIDIA GB10
#  Rank  1 Group  0 Pid    102 on     spark2 device  0 [000f:01:00] NVIDIA GB10
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
   536870912      67108864     float    none      -1    11340   47.34   23.67       0    11345   47.32   23.66       0
  1073741824     134217728     float    none      -1    22650   47.41   23.70       0    22652   47.40   23.70       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 23.6825
#
`

func machines(nodes ...*fakeNode) Machines {
	m := Machines{Nodes: make(map[string]host.Runner), Settle: 10 * time.Millisecond, Perftest: 3 * time.Second, Gather: 3 * time.Second, Grace: 3 * time.Second}
	for _, n := range nodes {
		m.Nodes[n.name] = n
	}
	return m
}

// asked runs one test and returns what it found, unjudged.
func asked(t *testing.T, p *fabric.Plan, kind fabric.BenchKind, m Machines) fabric.BenchResult {
	t.Helper()
	tests, err := Tests(p, Suites(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tests, func(b fabric.BenchTest) bool { return b.Kind == kind })
	none := func(fabric.BenchResult) fabric.BenchVerdict { return fabric.BenchVerdict{} }
	return Run(t.Context(), tests[i:i+1], m, none)[0]
}

func TestRunPerftest(t *testing.T) {
	a, b := healthyNode("spark1"), healthyNode("spark2")
	r := asked(t, sparks(2, []int{1}, false, false), fabric.PortBandwidth, machines(a, b))
	if len(r.Missing) > 0 || len(r.Read) != 2 || len(r.Output) != 4 {
		t.Fatalf("%+v", r)
	}
	run, ok := r.Read[0].Content.(*fabric.Perftest)
	if !ok || len(run.Rows) != 1 || *run.Rows[0].AverageGbps != 111.71 || run.MTU != 4096 {
		t.Errorf("%+v", r.Read[0])
	}
	// 18515 (0x4853) is taken, the device is called otherwise than in the plan, and both ends of a twin use the same port.
	servers, clients := b.commands("ib_write_bw"), a.commands("ib_write_bw")
	slices.Sort(servers)
	slices.Sort(clients)
	want := []string{"ib_write_bw -d mlx5_1 -F -q 4 -D 6 --report_gbits -p 18516", "ib_write_bw -d roceP2p1s0f1 -F -q 4 -D 6 --report_gbits -p 18517"}
	if !slices.Equal(servers, want) || !slices.Equal(clients, []string{want[0] + " 10.64.0.2", want[1] + " 10.64.1.2"}) {
		t.Errorf("servers %q, clients %q", servers, clients)
	}
	if len(r.PCIe) != 4 || r.PCIe[1].Width != 2 || r.PCIe[1].GTs != 32 || r.PCIe[0].PCI != "0000:01:00.1" {
		t.Errorf("%+v", r.PCIe)
	}
}

func TestRunGather(t *testing.T) {
	a, b := healthyNode("spark1"), healthyNode("spark2")
	b.programs["/proc/meminfo"] = printing("MemAvailable:   26214400 kB\n") // 25 GiB: buffers of 3 x 2 GiB are a quarter of 24
	r := asked(t, sparks(2, []int{1}, false, false), fabric.GatherAll, machines(a, b))
	if len(r.Missing) > 0 || len(r.Read) == 0 || len(r.Libs) != 2 || r.Libs[1].Version != "2.30.7+cuda13.0" || !r.Libs[1].Subnets || r.Libs[1].NoTrees {
		t.Fatalf("%+v", r)
	}
	// One twin of both is called otherwise than in the plan.
	if lines := a.commands("mpirun"); len(lines) != 1 || !strings.Contains(lines[0], "-b 536870912 -e 2147483648 -f 2") || !strings.Contains(lines[0], "-x NCCL_IB_HCA==mlx5_1,roceP2p1s0f1 ") {
		t.Errorf("%q", lines)
	}
	if len(b.commands("mpirun")) > 0 {
		t.Error("mpirun ran on both")
	}
}

// What cannot be run or read is missing with its reason, never a result.
func TestRunMissing(t *testing.T) {
	pair := sparks(2, []int{1}, false, false)
	for _, c := range []struct {
		name   string
		kind   fabric.BenchKind
		change func(a, b *fakeNode, m *Machines)
		want   string
	}{
		{"a machine that cannot be reached", fabric.TwinBandwidth, func(_, _ *fakeNode, m *Machines) {
			delete(m.Nodes, "spark2")
			m.Absent = map[string]string{"spark2": "connection refused"}
		}, "connection refused"},
		{"a program that is not there", fabric.TwinBandwidth, func(a, _ *fakeNode, _ *Machines) { delete(a.programs, "ib_write_bw") }, "ib_write_bw is not installed on spark1: sudo apt-get install perftest"},
		{"nor at the server", fabric.TwinBandwidth, func(a, b *fakeNode, _ *Machines) {
			a.programs["ib_write_bw"] = "echo \"Couldn't connect to 10.64.0.2:18516\"; exit 1"
			delete(b.programs, "ib_write_bw")
		}, "ib_write_bw is not installed on spark2"},
		{"an interface that is not there", fabric.TwinBandwidth, func(a, _ *fakeNode, _ *Machines) { a.programs["twins"] = "echo enp1s0f1np1 absent" }, "without a cable DGX OS takes the NIC off PCI"},
		{"both twins are not there", fabric.TwinBandwidth, func(a, _ *fakeNode, _ *Machines) {
			a.programs["twins"] = "echo enp1s0f1np1 absent; echo enP2p1s0f1np1 absent"
		}, "enp1s0f1np1, enP2p1s0f1np1 of spark1 are not there: without a cable"},
		{"an interface of no device, as in a lab", fabric.TwinBandwidth, func(_, b *fakeNode, _ *Machines) { b.programs["twins"] = "echo enp1s0f1np1 virtual" }, "the interfaces of spark2 are virtual, of no PCI device: they have no RDMA"},
		{"an interface without an RDMA device", fabric.GatherAll, func(a, _ *fakeNode, _ *Machines) {
			a.programs["twins"] = "echo enp1s0f1np1 0000:01:00.1 4 32.0_GT/s_PCIe -"
		}, "has no RDMA device"},
		{"a client that hangs", fabric.TwinBandwidth, func(a, _ *fakeNode, m *Machines) {
			a.programs["ib_write_bw"] = "sleep 60"
			m.Perftest = time.Second
		}, "did not end in time and was ended"},
		{"a client that is killed", fabric.TwinBandwidth, func(a, _ *fakeNode, _ *Machines) { a.programs["ib_write_bw"] = "kill -KILL $$" }, "ended"},
		{"a client that fails", fabric.TwinBandwidth, func(a, _ *fakeNode, _ *Machines) {
			a.programs["ib_write_bw"] = "echo 'Failed to modify QP to RTR' >&2; exit 1"
		}, "ib_write_bw on spark1: exit status 1: Failed to modify QP to RTR"},
		{"a list of ports that is not one", fabric.TwinBandwidth, func(_, b *fakeNode, _ *Machines) { delete(b.programs, "/proc/net/tcp") }, "spark2"},
		{"no nccl-tests", fabric.GatherAll, func(_, b *fakeNode, _ *Machines) { b.programs["library"] = "echo no test" }, "is not on spark2: sudo /etc/railwright/build-nccl.sh"},
		{"a test without a library", fabric.LibraryFits, func(_, b *fakeNode, _ *Machines) { b.programs["library"] = "echo test /x; echo no library" }, "loads no libnccl.so.2"},
		{"a cut answer", fabric.LibraryFits, func(_, b *fakeNode, _ *Machines) { b.programs["library"] = "echo test /x" }, "cut off"},
		{"another library on one machine", fabric.GatherAll, func(_, b *fakeNode, _ *Machines) {
			b.programs["library"] = "echo test /opt/railwright/nccl-tests/build/all_gather_perf; echo library /usr/lib/libnccl.so.2"
		}, "/usr/lib/libnccl.so.2 here"},
		{"memory that is taken", fabric.GatherAll, func(_, b *fakeNode, _ *Machines) { b.programs["/proc/meminfo"] = "echo 'MemAvailable: 4194304 kB'" }, "has 4 GiB free"},
		{"memory that is not read", fabric.GatherAll, func(_, b *fakeNode, _ *Machines) { b.programs["/proc/meminfo"] = "echo 'MemFree: 4194304 kB'" }, "no line MemAvailable"},
		{"no mpirun", fabric.GatherAll, func(a, _ *fakeNode, _ *Machines) { delete(a.programs, "mpirun") }, "mpirun is not installed on spark1: sudo apt-get install openmpi-bin"},
		{"an all-gather that hangs", fabric.GatherAll, func(a, _ *fakeNode, m *Machines) {
			a.programs["mpirun"] = "echo starting; sleep 60"
			m.Gather = time.Second
		}, "mpirun on spark1 did not end in time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := healthyNode("spark1"), healthyNode("spark2")
			m := machines(a, b)
			c.change(a, b, &m)
			started := time.Now()
			r := asked(t, pair, c.kind, m)
			var all []string
			for _, missing := range r.Missing {
				all = append(all, missing.What+": "+missing.Reason)
			}
			if !strings.Contains(strings.Join(all, "\n"), c.want) {
				t.Errorf("missing %q, want %q", all, c.want)
			}
			if took := time.Since(started); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// An interrupted bench leaves what did not have its turn missing, and ends what runs.
func TestInterrupted(t *testing.T) {
	a, b := healthyNode("spark1"), healthyNode("spark2")
	a.programs["ib_write_bw"] = "sleep 60"
	tests, err := Tests(sparks(2, []int{1}, false, false), []string{"perftest"}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	started := time.Now()
	found := Run(ctx, tests, machines(a, b), func(fabric.BenchResult) fabric.BenchVerdict { return fabric.BenchVerdict{} })
	if len(found) != len(tests) || time.Since(started) > 15*time.Second {
		t.Errorf("%d of %d in %s", len(found), len(tests), time.Since(started))
	}
	for i, r := range found {
		if len(r.Missing) == 0 || i > 0 && !strings.Contains(r.Missing[0].Reason, "interrupted") {
			t.Errorf("%s: %+v", r.ID, r.Missing)
		}
	}
}
