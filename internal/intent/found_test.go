package intent

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func hca(name, pci, layer, state string, netdevs ...string) fabric.HCA {
	port := fabric.Port{Number: 1, LinkLayer: layer, State: state}
	for i, n := range netdevs {
		port.GIDs = append(port.GIDs, fabric.GID{Index: 2 * i, NetDev: n}, fabric.GID{Index: 2*i + 1, NetDev: n})
	}
	return fabric.HCA{Name: name, PCI: pci, Ports: []fabric.Port{port}}
}

func text(s string) *string { return &s }

func TestFromFacts(t *testing.T) {
	f := &fabric.Facts{
		Node:    "gpu1",
		Machine: fabric.Machine{Vendor: text("Dell Inc.\nplatform: gke"), Product: text("XE9680")},
		NICs: []fabric.NIC{
			{Name: "eno1", PCI: "0000:01:00.0", MTU: 1500},
			{Name: "eth2", PCI: "0000:aa:00.0", MTU: 1500},
			{Name: "eth1", PCI: "0000:1b:00.0", MTU: 9000},
			{Name: "eth3", PCI: "0000:bb:00.0", MTU: 9000},
		},
		HCAs: []fabric.HCA{
			hca("bnxt_re1", "0000:aa:00.0", "Ethernet", "ACTIVE", "eth2"),
			hca("bnxt_re0", "0000:1b:00.0", "Ethernet", "ACTIVE"), // no GID names an interface: by PCI address
			hca("bnxt_re2", "0000:bb:00.0", "Ethernet", "DOWN", "eth3"),
			hca("mlx5_0", "0000:cc:00.0", "InfiniBand", "ACTIVE", "ib0"),
			hca("mlx5_1", "0000:dd:00.0", "InfiniBand", "ACTIVE"),
			hca("siw0", "", "", "ACTIVE"),
		},
	}
	got, err := FromFacts("pod1", f)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "found.yaml", got)
	c, err := Parse("found.yaml", got, load(t))
	if err != nil {
		t.Fatal(err)
	}
	if g := c.Nodes[0]; g.Names != "gpu1" || g.NICs != "eth1,eth2" || c.Fabric.Kind != fabric.RoCE || c.Platform != Baremetal {
		t.Errorf("got %+v, %s, %s", g, c.Fabric.Kind, c.Platform)
	}
}

// Whatever the platform and the kind of fabric, what is written is accepted.
// A host of NetworkManager gets keyfiles; of two services its owner decides.
func TestFromFactsNetwork(t *testing.T) {
	for owner, want := range map[string]struct {
		network fabric.Network
		text    string
	}{
		"": {"", ""}, "networkd": {"", ""}, "NetworkManager": {fabric.ByNetworkManager, "network: networkmanager"},
		"networkd, NetworkManager": {"", "# What configures interfaces here: networkd, NetworkManager."}, "wicked": {"", "here: wicked."},
		"a\nplatform: gke": {"", "here: a?platform: gke."},
	} {
		f := &fabric.Facts{Node: "a", HCAs: []fabric.HCA{hca("mlx5_0", "0000:01:00.0", "Ethernet", "ACTIVE", "x0")}}
		if owner != "" {
			f.Machine.NetworkManager = &owner
		}
		got, err := FromFacts("pod1", f)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse("f", got, load(t))
		if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		if c.Nodes[0].Network != want.network || !strings.Contains(string(got), want.text) || want.text == "" && strings.Contains(string(got), "network:") {
			t.Errorf("%q: network %q\n%s", owner, c.Nodes[0].Network, got)
		}
	}
}

func TestFromFactsParses(t *testing.T) {
	for _, tt := range []struct {
		vendor, product, layer string
		platform               Platform
		kind                   fabric.Transport
		mtu                    int
	}{
		{"VMware, Inc.", "VMware20,1", "InfiniBand", VSphere, fabric.InfiniBand, 4092},
		{"VMware, Inc.", "VMware20,1", "Ethernet", VSphere, fabric.RoCE, 9000},
		{"Google", "Google Compute Engine", "Ethernet", GKE, fabric.RoCE, 8896},
		{"Supermicro", "X13", "InfiniBand", Baremetal, fabric.InfiniBand, 4092},
	} {
		f := &fabric.Facts{Node: "a", Machine: fabric.Machine{Vendor: &tt.vendor, Product: &tt.product},
			HCAs: []fabric.HCA{hca("mlx5_0", "0000:01:00.0", tt.layer, "DOWN", "x0")}}
		got, err := FromFacts("pod1", f)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse("f", got, load(t))
		if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		if c.Platform != tt.platform || c.Fabric.Kind != tt.kind || c.Fabric.MTU != tt.mtu || c.Nodes[0].NICs != "x0" {
			t.Errorf("%s %s %s: got\n%s", tt.vendor, tt.product, tt.layer, got)
		}
	}
}

func TestFromFactsRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    fabric.Facts
		want []string
	}{
		{"nothing", fabric.Facts{Node: "a", NICs: make([]fabric.NIC, 2), Missing: []fabric.Missing{
			{What: "hcas", Source: "/sys/class/infiniband", Reason: "no such file or directory"}, {What: "lldp", Source: "networkd", Reason: "not running"}}},
			[]string{`host "a" has no network interface with RDMA: 2 network interfaces and 0 RDMA devices were found; hcas could not be read from "/sys/class/infiniband": no such file or directory; start from an example instead: roce-mi300x`}},
		{"no interface", fabric.Facts{Node: "a", HCAs: []fabric.HCA{hca("mlx5_0", "", "InfiniBand", "ACTIVE")}},
			[]string{"mlx5_0: has no network interface"}},
		{"as many of each", fabric.Facts{Node: "a", HCAs: []fabric.HCA{
			hca("mlx5_0", "", "InfiniBand", "ACTIVE", "ib0"), hca("mlx5_1", "", "Ethernet", "ACTIVE", "eth0")}},
			[]string{"as many InfiniBand as RoCE interfaces"}},
		{"host name", fabric.Facts{Node: "a b"}, []string{`host name "a b" has the character ' '`}},
		{"NIC name", fabric.Facts{Node: "a", HCAs: []fabric.HCA{hca("mlx5_0", "", "Ethernet", "ACTIVE", "e\"0")}},
			[]string{`has the character '"'`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := FromFacts("pod1", &tt.f)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v: want %s", err, want)
				}
			}
		})
	}
	if _, err := FromFacts("Pod 1", &fabric.Facts{Node: "a"}); err == nil {
		t.Error("a cluster name with a blank was taken")
	}
}
