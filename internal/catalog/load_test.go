package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func embedded(t *testing.T) *Catalog {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The figures are those of the documents; the comment says where each stands there.
func TestEmbeddedFigures(t *testing.T) {
	c := embedded(t)
	for what, pair := range map[string][2]any{
		"957608-AN209 B.1, card model":             {c.GPUs["mi300x"].PCIID, []string{"1002:74a1"}},
		"957608-AN209 1.3, GPUs":                   {c.Machines["xe9680-mi300x-thor2"].GPUs.Value, 8.0},
		"957608-AN209 1.3, NICs":                   {c.Machines["xe9680-mi300x-thor2"].NICs.Value, 8.0},
		"957608-AN209 2.4.1, netplan":              {c.Machines["xe9680-mi300x-thor2"].NICNames, "eth[1-8]"},
		"957608-AN209 table 1, Gb/s":               {c.NICs["thor2"].PortRate.Value, 400.0},
		"957608-AN209 8.3, vendor_part_id":         {c.NICs["thor2"].PCIID, []string{"14e4:1760"}},
		"VCF E.6, device":                          {c.NICs["connectx7"].PCIID, []string{"15b3:1021"}},
		"VCF appendix I, GPU":                      {c.GPUs["h100-sxm"].PCIID, []string{"10de:2330"}},
		"VCF appendix I, GT/s":                     {c.GPUs["h100-sxm"].PCIeLink.Speed, 32.0},
		"VCF appendix I, lanes":                    {c.GPUs["h100-sxm"].PCIeLink.Width, 16},
		"VCF 2.2, half of 900 GB/s":                {c.GPUs["h100-sxm"].ScaleUp.Value, 450.0},
		"VCF table 1, GB":                          {c.GPUs["h100-sxm"].Memory.Value, 80.0},
		"VCF table 1, Gb/s of the switch":          {c.Switches["qm9700"].PortRate.Value, 400.0},
		"vSphere 8, ibnodes: 65 less port 0":       {c.Switches["qm9700"].Ports.Value, 64.0},
		"vSphere 8, ibstat: MT4126 is 0x101e":      {c.NICs["connectx7-vf"].PCIID, []string{"15b3:101e"}},
		"DRA, node pool":                           {c.Machines["a4-highgpu-8g"].GPU, "b200"},
		"DraNet, resource slices":                  {c.Machines["a4-highgpu-8g"].NICs.Value, 8.0},
		"DGX Spark Networking, twins":              {c.NICs["connectx7-spark"].PCIeLink.Width, 4},
		"DGX Spark Networking, single cable, Gb/s": {c.NICs["connectx7-spark"].PortRate.Value, 200.0},
		"DGX Spark Networking, ibdev2netdev":       {c.Machines["dgx-spark"].NICs.Value, 4.0},
		"DGX Spark Networking, Gb/s of a twin":     {c.NICs["connectx7-spark"].Rate(), 100.0},
		"DGX Spark Networking, RoCE twins":         {c.Machines["dgx-spark"].Fabrics, []string{"roce"}},
		"957608-AN209 1.3, GPUs of a PCIe switch":  {c.Machines["xe9680-mi300x-thor2"].GPUsPerSwitch.Value, 2.0},
		"957608-AN209 2.8.2, GCN Arch":             {c.GPUs["mi300x"].Arch, "gfx942"},
		"957608-AN209 2.8.2, Mtu":                  {c.Fabrics["roce"].MTU.Value, 4096.0},
		"957608-AN209 table 1, P2200G, ports":      {c.NICs["bcm957608-p2200g"].Ports, 2},
		"957608-AN209 table 1, P2200G, Gb/s":       {c.NICs["bcm957608-p2200g"].Rate(), 200.0},
		"957608-AN209 table 1, P2200G as one":      {c.NICs["bcm957608-p2200g-1x400"].Rate(), 400.0},
		"VCF 2.2, NV18":                            {c.GPUs["h100-sxm"].ScaleUpLinks.Value, 18.0},
		"VCF appendix I, sm":                       {c.GPUs["h100-sxm"].Arch, "sm_90"},
		"VCF appendix I, vendor of the CPU":        {c.Machines["hgx-h100"].CPU, "intel"},
		"vSphere 8, perftest, Mtu":                 {c.Fabrics["ib"].MTU.Value, 4096.0},
	} {
		t.Run(what, func(t *testing.T) {
			if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
				t.Errorf("(-document +catalog)\n%s", diff)
			}
		})
	}
}

// Users write these ids into cluster files: an id may be added, never lost.
func TestEmbeddedIDs(t *testing.T) {
	c := embedded(t)
	for folder, test := range map[string]struct{ want, got []string }{
		"gpu": {[]string{
			"a100-40-sxm", "a100-80-sxm", "a100-pcie", "a10g", "a40", "a800-sxm", "b200", "b300", "gb10", "gb200", "gb300", "gh200",
			"h100-pcie", "h100-sxm", "h20", "h200-sxm", "h800", "l4", "l40", "l40s", "mi250x-gcd", "mi300x", "mi325x", "mi350x", "mi355x",
			"rtx-6000-ada", "rtx-a6000", "rtx-pro-6000-server", "rtx3090", "rtx4090", "rtx5090", "v100-pcie", "v100-sxm2",
		}, slices.Sorted(maps.Keys(c.GPUs))},
		"nic": {[]string{
			"bcm957608-p2200g", "bcm957608-p2200g-1x400", "cassini", "connectx5", "connectx5-ex", "connectx6", "connectx7",
			"connectx7-spark", "connectx7-vf", "connectx8", "connectx8-2x400", "efa", "gvnic", "pollara400", "thor2",
		}, slices.Sorted(maps.Keys(c.NICs))},
		"machine": {[]string{
			"a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g", "azure-nd-h100-v5", "dgx-spark",
			"gb200-nvl72-tray", "gb300-nvl72-tray", "hgx-a100", "hgx-a100-40", "hgx-b200", "hgx-b300", "hgx-h100", "hgx-h200", "mi250x-ss11", "oam8-mi325x",
			"oam8-mi355x", "p4de-24xlarge", "p5-48xlarge", "vsphere8-cx7-vf", "xe9680-mi300x-thor2",
		}, slices.Sorted(maps.Keys(c.Machines))},
		"switch": {[]string{"7060dx4-32", "crs520-4xs-16xq", "crs804-4ddq", "crs812-ddq", "qfx5240", "qm9700", "z9664f"}, slices.Sorted(maps.Keys(c.Switches))},
		"fabric": {[]string{"efa", "efa1", "ib", "roce", "ss11", "tcp", "tcpx", "tcpxo"}, slices.Sorted(maps.Keys(c.Fabrics))},
	} {
		t.Run(folder, func(t *testing.T) {
			for _, id := range test.want {
				if !slices.Contains(test.got, id) {
					t.Errorf("%s is gone", id)
				}
			}
		})
	}
}

func TestUnknownIDListsKnown(t *testing.T) {
	c := embedded(t)
	_, err := c.Machine("hgx-h1000")
	want := `machine "hgx-h1000" is not in the catalog; did you mean "hgx-h100", "hgx-a100" or "hgx-h200"? known: ` + strings.Join(slices.Sorted(maps.Keys(c.Machines)), ", ")
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = c.Switch("")
	want = `switch "" is not in the catalog; known: 7060dx4-32, crs520-4xs-16xq, crs804-4ddq, crs812-ddq, qfx5240, qm9700, sse-t8032, z9664f`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if m, err := c.Machine("hgx-h100"); err != nil || m.NIC != "connectx7" {
		t.Errorf("hgx-h100: %+v, %v", m, err)
	}
}

func TestPortNames(t *testing.T) {
	c := embedded(t)
	for _, test := range []struct {
		model, os string
		port      int
		want      string
	}{
		{"z9664f", "sonic", 0, "Ethernet0"}, // port_config.ini
		{"z9664f", "sonic", 1, "Ethernet4"},
		{"z9664f", "sonic", 63, "Ethernet252"},
		{"z9664f", "dell-sonic", 0, "Eth1/1"}, // 957608-AN209 2.4.1.3
		{"z9664f", "dell-sonic", 15, "Eth1/16"},
		{"7060dx4-32", "eos", 0, "Ethernet1/1"}, // 957608-AN209 2.5.1
		{"7060dx4-32", "eos", 1, "Ethernet2/1"},
		{"7060dx4-32", "eos", 31, "Ethernet32/1"},
		{"qfx5240", "junos", 0, "et-0/0/0:0"},
		{"qfx5240", "junos", 2, "et-0/0/1:0"}, // 957608-AN209 2.4.2.4
		{"qfx5240", "junos", 3, "et-0/0/1:1"},
		{"qfx5240", "junos", 127, "et-0/0/63:1"},
		{"qm9700", "mlnx-os", 0, "1/1/1"},
		{"qm9700", "mlnx-os", 4, "1/3/1"}, // MLNX-OS manual: ib 1/3/1, ib 1/3/2
		{"qm9700", "mlnx-os", 5, "1/3/2"},
		{"qm9700", "mlnx-os", 63, "1/32/2"},
		{"crs812-ddq", "routeros", 0, "qsfp56-1-1"},
		{"crs812-ddq", "routeros", 5, "qsfp56-dd-2-5"},
		{"crs804-4ddq", "routeros", 7, "qsfp56-dd-4-5"},
		{"crs520-4xs-16xq", "routeros", 15, "qsfp28-16-1"},
	} {
		t.Run(fmt.Sprintf("port %d of %s with %s", test.port, test.model, test.os), func(t *testing.T) {
			if got := c.Switches[test.model].OS[test.os].Port(test.port); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
