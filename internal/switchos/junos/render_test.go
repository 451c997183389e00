package junos

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// junosLeaf has two cages that are split in two, and a whole one, all routed.
func junosLeaf() fabric.Switch {
	s := leaf(true)
	s.Model, s.OS, s.MTU, s.BufferBytes = "qfx5240", "junos", 9100, 165_200_000
	for i := range s.Ports {
		s.Ports[i].Name, s.Ports[i].Cage, s.Ports[i].Breakout = fmt.Sprintf("et-0/0/%d:%d", i/2, i%2), fmt.Sprint(i/2), 2
	}
	return s
}

// junosRails has two rails, each a VLAN with the switch as its gateway.
func junosRails() fabric.Switch {
	s := junosLeaf()
	for i := range 2 {
		s.VLANs = append(s.VLANs, fabric.VLAN{ID: 101 + i, Name: fmt.Sprintf("rail%d", i+1), Rail: i + 1, Gateway: netip.MustParsePrefix(fmt.Sprintf("10.64.%d.254/24", i))})
	}
	for i := range s.Ports {
		s.Ports[i].Address, s.Ports[i].VLAN = netip.Prefix{}, 101+i%2
	}
	return s
}

// uplinks has two uplinks, each with a neighbour.
func uplinks(s fabric.Switch) fabric.Switch {
	s.BGP = &fabric.BGP{ASN: 4200000001, RouterID: netip.MustParseAddr("10.255.0.1"), Networks: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/24")}}
	for i := range 2 {
		s.Ports = append(s.Ports, fabric.SwitchPort{
			Name: fmt.Sprintf("et-0/0/%d", 60+i), Breakout: 1, RateGbps: 800, Uplink: true,
			Peer: fabric.Endpoint{Node: fmt.Sprintf("spine%d", i+1), NIC: "et-0/0/0"}, Address: netip.MustParsePrefix(fmt.Sprintf("10.127.0.%d/31", 2*i)),
		})
		s.BGP.Neighbours = append(s.BGP.Neighbours, fabric.BGPNeighbour{Address: netip.MustParseAddr(fmt.Sprintf("10.127.0.%d", 2*i+1)), ASN: 4200000100})
	}
	return s
}

func withoutBuffer(s fabric.Switch) fabric.Switch {
	s.BufferBytes = 0
	return s
}

var cases = []struct {
	name    string
	s       fabric.Switch
	traffic *fabric.Traffic
}{
	{"routed with all", junosLeaf(), classes(true, true)},
	{"rails", junosRails(), classes(true, false)},
	{"uplinks", uplinks(junosLeaf()), classes(true, true)},
	{"lossy", junosLeaf(), lossy()},
	{"no classes", junosRails(), nil},
	{"unknown buffer", withoutBuffer(junosLeaf()), classes(true, false)},
}

func TestJunosGolden(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := OS{}.Render(c.s, c.traffic)
			if again := (OS{}).Render(c.s, c.traffic); !bytes.Equal(got.Text, again.Text) {
				t.Error("two renders differ")
			}
			text := string(got.Text) + "-- not in it --\n" + strings.Join(got.Omits, "\n") + "\n"
			file := filepath.Join("testdata", ""+strings.ReplaceAll(c.name, " ", "-")+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// Partitions total 100 in each direction, whatever the cable and the buffer are.
func TestJunosBuffersTotal100(t *testing.T) {
	for _, cable := range []int{0, 1, 5, 40, 300, 10_000} {
		for _, bytes := range []int64{0, 16 << 20, 165_200_000} {
			for _, lossless := range []bool{true, false} {
				s, traffic := junosLeaf(), classes(true, false)
				s.BufferBytes, traffic.CableM, traffic.Classes[1].Lossless = bytes, cable, lossless
				read := OS{}.Read("leaf1", []switchtext.Text{{File: "f", Bytes: OS{}.Render(s, traffic).Text}})
				sum := map[string]float64{}
				for _, b := range read.Buffers {
					sum[b.Direction] += b.Percent
				}
				if sum["ingress"] != 100 || sum["egress"] != 100 || len(read.Problems) > 0 {
					t.Errorf("cable %d, buffer %d: %v, %v", cable, bytes, sum, read.Problems)
				}
			}
		}
	}
}

// A longer cable reserves more headroom once the document's share is too small.
func TestJunosHeadroom(t *testing.T) {
	s := junosLeaf()
	s.BufferBytes = 4 << 20
	near, far := *classes(false, false), *classes(false, false)
	far.CableM = 300
	// 4 ports x (2 x 300 m x 5 ns x 50 GB/s + 2 x 9114 + 7680) = 703,632 bytes of 4 MiB: 16.8 %
	if a, b := junosHeadroom(s, near), junosHeadroom(s, far); a != 10 || b != 22 {
		t.Errorf("%d, %d", a, b)
	}
}

// A change of a threshold reaches the file: one percent of what a queue holds is its smallest step.
func TestJunosThresholds(t *testing.T) {
	for _, c := range []struct {
		name        string
		min, max    int64 // KiB
		least, most int
	}{
		{"default", 1024, 2048, 2, 3}, {"larger", 16384, 32768, 25, 51}, {"equal", 1024, 1024, 2, 3}, {"tiny", 1, 2, 1, 2}, {"beyond the buffer", 1 << 20, 1 << 21, 98, 99},
	} {
		t.Run(c.name, func(t *testing.T) {
			traffic := classes(true, false)
			traffic.Classes[1].ECN = &fabric.ECN{MinBytes: c.min << 10, MaxBytes: c.max << 10, Percent: 5}
			read := OS{}.Read("leaf1", []switchtext.Text{{File: "f", Bytes: OS{}.Render(junosLeaf(), traffic).Text}})
			m := read.Ports[0].Queues[3].Marks
			if m.Min.Value != float64(c.least) || m.Max.Value != float64(c.most) || m.Min.Unit != "percent" || m.Percent.Is != 5 || !m.ECN.Is || len(read.Problems) > 0 {
				t.Errorf("%v to %v %s, %d %%, problems %v", m.Min.Value, m.Max.Value, m.Min.Unit, m.Percent.Is, read.Problems)
			}
		})
	}
}

func TestJunosWatchdogBounds(t *testing.T) {
	for _, c := range []struct{ detect, restore, wantDetect, wantRestore, omitted int }{
		{200, 200, 200, 200, 0}, {200, 400, 200, 400, 0}, {300, 600, 300, 600, 0}, {250, 300, 250, 300, 0}, {777, 1000, 777, 1000, 0}, {100, 100, 200, 200, 2},
		{9973, 5000, 9970, 1000, 2}, {60000, 200, 10000, 200, 1},
	} {
		traffic := classes(true, true)
		traffic.Watchdog = &fabric.PFCWatchdog{DetectMs: c.detect, RestoreMs: c.restore}
		got := OS{}.Render(junosLeaf(), traffic)
		read := OS{}.Read("leaf1", []switchtext.Text{{File: "f", Bytes: got.Text}})
		w := read.Ports[0].Watchdog
		if !w.On.Is || w.DetectMs.Is != c.wantDetect || w.RestoreMs.Is != c.wantRestore || strings.Count(strings.Join(got.Omits, "\n"), "PFC watchdog") != c.omitted || len(read.Problems) > 0 {
			t.Errorf("%d and %d ms are %d and %d; %v", c.detect, c.restore, w.DetectMs.Is, w.RestoreMs.Is, got.Omits)
		}
	}
}

// An MTU that no frame of Junos has is left out and listed.
func TestJunosMTU(t *testing.T) {
	for _, c := range []struct{ mtu, want int }{{9000, 9000}, {9202, 9202}, {9203, 0}, {16000, 0}} {
		s := junosRails()
		s.MTU = c.mtu
		got := OS{}.Render(s, nil)
		read := OS{}.Read("leaf1", []switchtext.Text{{File: "f", Bytes: got.Text}})
		is := 0
		if m := read.Ports[0].MTU; m != nil {
			is = m.Is
		}
		if is != c.want || strings.Contains(strings.Join(got.Omits, "\n"), "mtu: a frame") == (c.want > 0) {
			t.Errorf("%d is %d; %q", c.mtu, is, got.Omits)
		}
	}
}

// Names of people and of nodes cannot break out of their statement.
func TestJunosStrings(t *testing.T) {
	s := junosRails()
	s.VLANs[0].Name = `rail 1"; } evil { x`
	s.Ports[0].Peer = fabric.Endpoint{Node: "gpu\n1;}", NIC: `e"th#1`}
	read := OS{}.Read("leaf1", []switchtext.Text{{File: "f", Bytes: OS{}.Render(s, classes(true, true)).Text}})
	if len(read.Problems)+len(read.Unread) > 0 || len(read.Ports) != 4 || read.Ports[0].VLAN.Is != 101 {
		t.Errorf("%v %v", read.Problems, read.Unread)
	}
}

// jnprsr is a parser of the curly form that knows braces, brackets and semicolons, and no statement: it takes any word. What it
// complains of it prints, and ends with status 0 all the same.
func TestJunosOtherParser(t *testing.T) {
	if _, err := exec.LookPath("jnprsr-pretty"); err != nil {
		t.Skip("jnprsr is not installed (PyPI): no parser but ours has read the structure; none that is public knows the statements")
	}
	complaint := regexp.MustCompile(`(?m)^line \d+:\d+ `)
	refuses := func(t *testing.T, text string) bool {
		out, err := host.Output(context.Background(), host.Local{}, host.Command{Argv: []string{"sh", "-c", "exec jnprsr-pretty 2>&1"}, Stdin: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		return complaint.Match(out)
	}
	for _, c := range cases {
		if refuses(t, string(OS{}.Render(c.s, c.traffic).Text)) {
			t.Errorf("%s was refused", c.name)
		}
	}
	good := string(OS{}.Render(junosLeaf(), classes(true, true)).Text)
	for name, bad := range map[string]string{
		"no semicolon": strings.Replace(good, "host-name leaf1;", "host-name leaf1", 1), "no closing brace": good[:strings.LastIndex(good, "}")],
		"a brace too many": good + "}\n", "no closing bracket": strings.Replace(good, " ]", " ", 1),
	} {
		if !refuses(t, bad) {
			t.Errorf("%s was accepted", name)
		}
	}
}
