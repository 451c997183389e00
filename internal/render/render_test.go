package render

import (
	"bytes"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/fabric"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// node returns the addresses of one node by hand, so that these tests do not depend on package plan.
func node(scheme fabric.Scheme, names ...string) fabric.NodeAddresses {
	n := fabric.NodeAddresses{Node: "host1"}
	for i, name := range names {
		a := fabric.NICAddress{NIC: name, Rail: i + 1, Table: 101 + i}
		switch scheme {
		case fabric.P2P31:
			a.Gateway = netip.AddrFrom4([4]byte{10, 64, 0, byte(2 * i)})
			a.Address = netip.PrefixFrom(a.Gateway.Next(), 31)
		case fabric.Rail24:
			a.Address = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, byte(i), 1}), 24)
			a.Gateway = netip.AddrFrom4([4]byte{10, 64, byte(i), 254})
		case fabric.Flat:
			a.Address = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, 0, byte(i + 1)}), 16)
		}
		n.NICs = append(n.NICs, a)
	}
	return n
}

func eight() []string {
	var names []string
	for i := range 8 {
		names = append(names, fmt.Sprintf("eth%d", i+1))
	}
	return names
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	none := fabric.NodeAddresses{Node: "host1"}
	two := node(fabric.P2P31, "eth1", "eth2")
	for name, a := range map[string]fabric.Artifact{
		"netplan-p2p31.yaml":    Netplan(9000, fabric.P2P31, two),
		"netplan-rail24.yaml":   Netplan(9000, fabric.Rail24, node(fabric.Rail24, "eth1", "eth2")),
		"netplan-flat.yaml":     Netplan(9000, fabric.Flat, node(fabric.Flat, "eth1", "eth2")),
		"netplan-none.yaml":     Netplan(9000, fabric.P2P31, none),
		"sysctl-p2p31.conf":     Sysctl(fabric.P2P31, 2, two),
		"sysctl-flat-4096.conf": Sysctl(fabric.Flat, 4096*16-4, node(fabric.Flat, "eth1", "eth2.7")),
		"sysctl-none.conf":      Sysctl(fabric.None, 0, none),
		"system.conf":           ServiceLimits("host1"),
		"limits.conf":           LoginLimits("host1"),
		"wait-online.conf":      WaitOnline(two),
		"acs.service":           ACSUnit(fabric.RoCE, fabric.Node{Name: "host1", NICs: []string{"eth1", "eth2.7"}}),
		"acs-ib.service":        ACSUnit(fabric.InfiniBand, fabric.Node{Name: "host1", NICs: eight()}),
		"acs-wanted.conf":       ACSWanted("host1"),
		"grub-amd.cfg":          KernelCommandLine("host1", fabric.KernelWords("amd", "amd")),
		"keyfile-p2p31":         Keyfile(9000, fabric.P2P31, "host1", two.NICs[1]),
		"keyfile-rail24":        Keyfile(9000, fabric.Rail24, "host1", node(fabric.Rail24, "eth1").NICs[0]),
		"keyfile-flat":          Keyfile(4200, fabric.Flat, "host1", node(fabric.Flat, "eth1").NICs[0]),
		"unmanaged.conf":        Unmanaged(two),
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, a.Content)
			if a.Target != "host1" || a.SHA256 != sum(a.Content) || !filepath.IsAbs(a.Path) {
				t.Errorf("target %q path %q sha256 %q", a.Target, a.Path, a.SHA256)
			}
			want := uint32(0o644)
			if strings.HasPrefix(a.Path, "/etc/netplan/") || strings.HasSuffix(a.Path, ".nmconnection") {
				want = 0o600
			}
			if a.Mode != want {
				t.Errorf("mode %o, want %o", a.Mode, want)
			}
		})
	}
}

// The structs that the netplan text stands for.
type (
	netplanFile struct {
		Network struct {
			Version   int
			Ethernets map[string]ethernet
		}
	}
	ethernet struct {
		Renderer  string
		DHCP4     bool
		DHCP6     bool
		AcceptRA  bool     `yaml:"accept-ra"`
		LinkLocal []string `yaml:"link-local"`
		MTU       int
		Addresses []string
		Routes    []route
		Rules     []rule `yaml:"routing-policy"`
	}
	route struct {
		To    string
		Via   string
		Scope string
		Table int
	}
	rule struct {
		From     string
		To       string
		Priority int
		Table    int
	}
)

func wantEthernet(mtu int, scheme fabric.Scheme, a fabric.NICAddress) ethernet {
	e := ethernet{Renderer: "networkd", LinkLocal: []string{}, MTU: mtu, Addresses: []string{a.Address.String()}}
	if scheme != fabric.Flat {
		e.Routes = append(e.Routes, route{To: "default", Via: a.Gateway.String(), Table: a.Table})
	}
	if scheme != fabric.P2P31 {
		e.Routes = append(e.Routes, route{To: a.Address.Masked().String(), Scope: "link", Table: a.Table})
	}
	e.Rules = []rule{{From: a.Address.Addr().String() + "/32", Priority: 10000 + a.Table, Table: a.Table}}
	return e
}

var nastyNames = []string{
	"eth1", "yes", "null", "0x10", "1e3", "~", "a: b", "a\n    evil: true", `"`, `\`, `a"b\`, "#x", "- x", "&a", "*a", "!!int",
	"{x}", "[x]", "%s", "$HOME", "${X}", "'", "é", "\u2028x", "\u0085y", "\t", "\r", "a;reboot", "`id`", "\U0001f600",
}

func TestNetplanTextIsTheStruct(t *testing.T) {
	for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Rail24, fabric.Flat} {
		t.Run(string(scheme), func(t *testing.T) {
			for _, names := range [][]string{eight(), nastyNames} {
				n := node(scheme, names...)
				got := parseNetplan(t, Netplan(9000, scheme, n).Content)
				want := make(map[string]ethernet)
				for _, a := range n.NICs {
					want[a.NIC] = wantEthernet(9000, scheme, a)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", scheme, diff)
				}
			}
		})
	}
}

func parseNetplan(t *testing.T, text []byte) map[string]ethernet {
	t.Helper()
	var f netplanFile
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if f.Network.Version != 2 {
		t.Errorf("version %d, want 2", f.Network.Version)
	}
	return f.Network.Ethernets
}

func TestSelectorsDistinct(t *testing.T) {
	for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Rail24, fabric.Flat} {
		t.Run(string(scheme), func(t *testing.T) {
			selectors, priorities := make(map[string]string), make(map[int]string)
			for name, e := range parseNetplan(t, Netplan(9000, scheme, node(scheme, eight()...)).Content) {
				for _, r := range e.Rules {
					p, err := netip.ParsePrefix(r.From)
					if err != nil || !p.IsSingleIP() || r.To != "" {
						t.Errorf("%s %s: rule from %q to %q, want from one address", scheme, name, r.From, r.To)
					}
					if other, ok := selectors[r.From]; ok {
						t.Errorf("%s: %s and %s share the selector %s", scheme, name, other, r.From)
					}
					if other, ok := priorities[r.Priority]; ok {
						t.Errorf("%s: %s and %s share the priority %d", scheme, name, other, r.Priority)
					}
					selectors[r.From], priorities[r.Priority] = name, name
				}
			}
			if len(selectors) != 8 {
				t.Errorf("%s: %d selectors, want 8", scheme, len(selectors))
			}
		})
	}
}

func TestSysctlThresholds(t *testing.T) {
	n := node(fabric.Rail24, "eth1")
	for _, c := range []struct {
		neighbours int
		want       string
	}{
		{8, ""}, {512, ""}, {513, "1024 2048 4096"}, {896, "1024 2048 4096"}, {897, "2048 4096 8192"}, {1048512, "2097152 4194304 8388608"},
	} {
		t.Run(fmt.Sprintf("%d neighbours", c.neighbours), func(t *testing.T) {
			var got []string
			for line := range strings.Lines(string(Sysctl(fabric.Rail24, c.neighbours, n).Content)) {
				if _, value, ok := strings.Cut(line, " = "); ok && strings.Contains(line, "gc_thresh") {
					got = append(got, strings.TrimSpace(value))
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%d neighbours: thresholds %q, want %q", c.neighbours, s, c.want)
			}
		})
	}
}

func TestCheckNICName(t *testing.T) {
	for _, name := range []string{"eth1", "enP2p1s0f1np1", "rail_0", "eth1.100", "x-y"} {
		if err := CheckNICName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "all", "default", "a/b", "a b", "a=b", "a\nb", "*", "eth[1]", "a;b", "a#b", "é", "\xff", "sixteen-bytes-16"} {
		if CheckNICName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Sysctl renders %q", name)
				}
			}()
			Sysctl(fabric.Flat, 0, node(fabric.Flat, name))
		}()
	}
}

func TestSystemdQuote(t *testing.T) {
	for in, want := range map[string]string{
		"eth1": `"eth1"`, `a"b`: `"a\"b"`, "a b": `"a b"`, "100%n": `"100%%n"`, "$HOME": `"$$HOME"`, "a\nb": `"a\nb"`, "é": `"\u00e9"`,
	} {
		if got := systemdQuote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	for _, name := range nastyNames {
		lines := strings.Count(string(WaitOnline(node(fabric.Flat, name)).Content), "\n")
		if want := strings.Count(string(WaitOnline(node(fabric.Flat, "eth1")).Content), "\n"); lines != want {
			t.Errorf("%q: %d lines, want %d", name, lines, want)
		}
	}
}

func TestIndex(t *testing.T) {
	a := []fabric.Artifact{LoginLimits("b"), ServiceLimits("b"), LoginLimits("a")}
	index, err := NewIndex(slices.Values(a))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range index.Artifacts {
		if x.Content != nil || x.SHA256 == "" {
			t.Errorf("%s: content kept or no sum", x.Path)
		}
		got = append(got, x.Target+":"+filepath.Base(filepath.Dir(x.Path)))
	}
	if want := []string{"a:limits.d", "b:limits.d", "b:system.conf.d"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	text, first, err := EncodeIndex(index)
	if err != nil || sum(text) != first {
		t.Fatalf("sum %s, want that of the text: %v", first, err)
	}
	slices.Reverse(a)
	again, err := NewIndex(slices.Values(a))
	if err != nil {
		t.Fatal(err)
	}
	if _, second, _ := EncodeIndex(again); second != first {
		t.Errorf("another order gives another sum: %s, %s", first, second)
	}
	if a[0].Content == nil {
		t.Error("the caller's artifact lost its content")
	}
	if _, err := NewIndex(slices.Values(append(a, a[0]))); err == nil {
		t.Error("one path rendered twice is accepted")
	}
}

func FuzzNetplanName(f *testing.F) {
	for _, name := range nastyNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if len(name) > 10*maxNICName { // no interface; YAML itself ends a key at 1,024 characters
			return
		}
		n := node(fabric.P2P31, name)
		got := parseNetplan(t, Netplan(9000, fabric.P2P31, n).Content)
		if len(got) != 1 {
			t.Fatalf("%q makes %d interfaces", name, len(got))
		}
		for _, e := range got {
			if diff := cmp.Diff(wantEthernet(9000, fabric.P2P31, n.NICs[0]), e); diff != "" {
				t.Errorf("%q: %s", name, diff)
			}
		}
	})
}
