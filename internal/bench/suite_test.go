package bench

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// twins are those of a port of a DGX Spark.
func twins(port int, bare bool) []fabric.Twin {
	return []fabric.Twin{
		{PCI: fmt.Sprintf("0000:01:00.%d", port), NIC: fmt.Sprintf("enp1s0f%[1]dnp%[1]d", port), HCA: fmt.Sprintf("rocep1s0f%d", port)},
		{PCI: fmt.Sprintf("0002:01:00.%d", port), NIC: fmt.Sprintf("enP2p1s0f%[1]dnp%[1]d", port), HCA: fmt.Sprintf("roceP2p1s0f%d", port), Bare: bare},
	}
}

// sparks is a plan of machines: cabled in a ring by both ports, or by port 1 to a switch or to each other.
func sparks(n int, ports []int, onSwitch, bare bool) *fabric.Plan {
	p := &fabric.Plan{Name: "sparks", Platform: "spark", Transport: fabric.RoCE, MTU: 9000, Addressing: fabric.Addressing{Scheme: fabric.Twin24}}
	if onSwitch {
		p.Switches = []fabric.Switch{{Name: "leaf1"}}
	}
	for i := range n {
		name := fmt.Sprintf("spark%d", i+1)
		p.Nodes = append(p.Nodes, fabric.Node{Name: name, Machine: "dgx-spark", Management: "enP7s7"})
		of := fabric.NodeAddresses{Node: name}
		for _, number := range ports {
			port := fabric.NodePort{Node: name, Number: number, Twins: twins(number, bare)}
			p.Ports = append(p.Ports, port)
			cable := 0 // the one that the port is an end of
			if len(ports) == 2 {
				cable = (i + n - number) % n
			}
			for k, t := range port.Twins {
				if !t.Bare {
					of.NICs = append(of.NICs, fabric.NICAddress{NIC: t.NIC, Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, byte(2*cable + k), byte(i + 1)}), 24)})
				}
				to := fabric.Endpoint{Node: "leaf1", NIC: fmt.Sprintf("qsfp%d", i+1)}
				switch {
				case onSwitch:
				case len(ports) == 1 && i == 0:
					to = fabric.Endpoint{Node: "spark2", NIC: t.NIC}
				case len(ports) == 2 && number == 0:
					to = fabric.Endpoint{Node: fmt.Sprintf("spark%d", (i+1)%n+1), NIC: twins(1, false)[k].NIC}
				default:
					continue
				}
				p.Cabling.Links = append(p.Cabling.Links, fabric.Link{A: fabric.Endpoint{Node: name, NIC: t.NIC}, B: to, Rail: k + 1})
			}
		}
		p.Addressing.Nodes = append(p.Addressing.Nodes, of)
	}
	return p
}

func wirings() map[string]*fabric.Plan {
	return map[string]*fabric.Plan{
		"pair": sparks(2, []int{1}, false, false), "pair-bare": sparks(2, []int{1}, false, true), "pair-two-cables": sparks(2, []int{0, 1}, false, false),
		"switch": sparks(4, []int{1}, true, false), "switch-of-two": sparks(2, []int{1}, true, false),
		"mesh": sparks(3, []int{0, 1}, false, false), "ring-of-four": sparks(4, []int{0, 1}, false, false),
	}
}

func TestCommands(t *testing.T) {
	for name, p := range wirings() {
		t.Run(name, func(t *testing.T) {
			tests, err := Tests(p, Suites(), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			ids := make(map[string]bool)
			for _, test := range tests {
				if ids[test.ID] {
					t.Errorf("%s: twice", test.ID)
				}
				ids[test.ID] = true
				fmt.Fprintf(&text, "%s  %s\n", test.ID, test.Title)
				for _, c := range test.Commands {
					fmt.Fprintf(&text, "  %s %v %q %q\n", c.Node, c.Wait, c.Env, c.Argv)
				}
			}
			golden := filepath.Join("testdata", "commands-"+name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Every server has its client at the other end of the same cable, on the same TCP port, with the address of that end.
func TestPairsOfCommands(t *testing.T) {
	for name, p := range wirings() {
		tests, err := Tests(p, []string{"perftest"}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		tested := make(map[fabric.Endpoint]int)
		for _, test := range tests {
			if n := len(test.Links); len(test.Commands) != 2*n {
				t.Fatalf("%s: %s: %d commands for %d links", name, test.ID, len(test.Commands), n)
			}
			for i, l := range test.Links {
				server, client := test.Commands[i], test.Commands[i+len(test.Links)]
				if !server.Wait || client.Wait || server.Node != l.B.Node || client.Node != l.A.Node {
					t.Errorf("%s: %s: server on %s, client on %s for %v", name, test.ID, server.Node, client.Node, l)
				}
				if diff := cmp.Diff(server.Argv[3:], client.Argv[3:len(client.Argv)-1]); diff != "" {
					t.Errorf("%s: %s: %s", name, test.ID, diff)
				}
				to, _ := p.PortOf(l.B)
				if !slices.ContainsFunc(p.Addressing.ByNode()[l.B.Node].NICs, func(a fabric.NICAddress) bool {
					port, ok := p.PortOf(fabric.Endpoint{Node: l.B.Node, NIC: a.NIC})
					return ok && port.Number == to.Number && a.Address.Addr().String() == client.Argv[len(client.Argv)-1]
				}) {
					t.Errorf("%s: %s: %s is no address of %s", name, test.ID, client.Argv[len(client.Argv)-1], portName(to))
				}
				if test.Kind == fabric.TwinBandwidth {
					tested[l.A]++
					tested[l.B]++
				}
			}
		}
		for _, port := range p.Ports {
			for _, twin := range port.Twins {
				if tested[fabric.Endpoint{Node: port.Node, NIC: twin.NIC}] == 0 {
					t.Errorf("%s: %s of %s is in no test", name, twin.NIC, port.Node)
				}
			}
		}
	}
}

// mpirun gets every variable by -x, with the same values as MPI's own options, and host keys stay checked.
func TestMpirun(t *testing.T) {
	for name, p := range wirings() {
		tests, err := Tests(p, []string{"nccl"}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		argv := tests[len(tests)-1].Commands[0].Argv
		env, mca := make(map[string]string), make(map[string]string)
		for i, word := range argv {
			switch word {
			case "-x":
				k, v, ok := strings.Cut(argv[i+1], "=")
				if !ok || env[k] != "" {
					t.Errorf("%s: -x %q", name, argv[i+1])
				}
				env[k] = v
			case "--mca":
				mca[argv[i+1]] = argv[i+2]
			}
		}
		want := []string{"LD_LIBRARY_PATH", "NCCL_NET", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "UCX_NET_DEVICES", "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include",
			"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"}
		crossed := p.Wiring() == fabric.WiredRing || name == "pair-two-cables"
		for _, k := range []string{"NCCL_IB_MERGE_NICS", "NCCL_IB_SUBNET_AWARE_ROUTING", "NCCL_NET_PLUGIN"} {
			if crossed {
				want = append(want, k)
			} else if env[k] != "" {
				t.Errorf("%s: %s is set", name, k)
			}
		}
		for _, k := range want {
			if env[k] == "" {
				t.Errorf("%s: no -x %s", name, k)
			}
		}
		if (env["NCCL_ALGO"] == "Ring") != (name == "ring-of-four") {
			t.Errorf("%s: NCCL_ALGO %q", name, env["NCCL_ALGO"])
		}
		if mca["btl_tcp_if_include"] != env["OMPI_MCA_btl_tcp_if_include"] || mca["oob_tcp_if_include"] != env["OMPI_MCA_oob_tcp_if_include"] {
			t.Errorf("%s: %v against %v", name, mca, env)
		}
		hosts := argv[slices.Index(argv, "-H")+1]
		if n := strings.Count(hosts, ":1"); n != len(p.Nodes) || argv[slices.Index(argv, "-np")+1] != fmt.Sprint(n) {
			t.Errorf("%s: hosts %s", name, hosts)
		}
		line := strings.Join(argv, " ")
		if strings.Contains(line, "StrictHostKeyChecking") || strings.Contains(line, "UserKnownHostsFile") || env["NCCL_IB_GID_INDEX"] != "" {
			t.Errorf("%s: %s", name, line)
		}
		ring := p.Wiring() == fabric.WiredRing
		if (env["NCCL_SOCKET_IFNAME"] == "=enP7s7") != ring || strings.HasPrefix(hosts, "spark1:1,spark2:1") != ring {
			t.Errorf("%s: bootstrap %s, hosts %s", name, env["NCCL_SOCKET_IFNAME"], hosts)
		}
	}
}

func TestRefusedSuites(t *testing.T) {
	if _, err := Tests(sparks(2, []int{1}, false, false), []string{"nccl", "perftset"}, Limits{}); err == nil || !strings.Contains(err.Error(), "perftest") {
		t.Errorf("%v", err)
	}
	if _, err := Tests(&fabric.Plan{Name: "pod1"}, Suites(), Limits{}); err == nil || !strings.Contains(err.Error(), "platform spark") {
		t.Errorf("%v", err)
	}
	noName := sparks(3, []int{0, 1}, false, false)
	noName.Nodes[1].Management = ""
	if _, err := Tests(noName, []string{"nccl"}, Limits{}); err == nil || !strings.Contains(err.Error(), "ordinary network") {
		t.Errorf("%v", err)
	}
	if _, err := Tests(sparks(2, []int{1}, false, false), []string{"nccl"}, Limits{GatherMost: 1 << 20}); err == nil {
		t.Error("an all-gather of 1 MiB is accepted")
	}
}

// A pair may be cabled by port 0 of one and port 1 of the other: all ranks get both names.
func TestPairOfDifferentPorts(t *testing.T) {
	if have := joined("=a,b", "=b,c"); have != "=a,b,c" {
		t.Error(have)
	}
	if have := joined("IB", "IB"); have != "IB" {
		t.Error(have)
	}
	if have := joined("=enp1s0f1np1", "=enp1s0f1np1"); have != "=enp1s0f1np1" {
		t.Error(have)
	}
}

func TestGatherWithin(t *testing.T) {
	const gib = int64(1) << 30
	for _, c := range []struct{ free, most, want int64 }{
		{110 * gib, 4 * gib, 4 * gib}, {48 * gib, 4 * gib, 4 * gib}, {47 * gib, 4 * gib, 2 * gib}, {12 * gib, 4 * gib, gib},
		{6 * gib, 4 * gib, gib / 2}, {5 * gib, 4 * gib, 0}, {0, 4 * gib, 0}, {-1, 4 * gib, 0}, {110 * gib, gib / 4, 0}, {1 << 62, 16 * gib, 16 * gib},
	} {
		if have := GatherWithin(c.free, c.most); have != c.want {
			t.Errorf("free %d, most %d: %d, want %d", c.free, c.most, have, c.want)
		}
		if have := GatherWithin(c.free, c.most); have*buffers*memoryShare > max(c.free, 0) {
			t.Errorf("free %d: %d takes too much", c.free, have)
		}
	}
}
