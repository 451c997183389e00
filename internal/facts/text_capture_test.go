package facts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// texts reads files of testdata/tools under names that say nothing.
func texts(t *testing.T, names ...string) map[string][]byte {
	t.Helper()
	out := make(map[string][]byte)
	for i, name := range names {
		b, err := os.ReadFile(filepath.Join("testdata", "tools", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		out[string(rune('a'+i))] = b
	}
	return out
}

// TestFromText puts a host together from what tools printed of it.
func TestFromText(t *testing.T) {
	f := FromText("host1", texts(t, "dmesg", "ibv_devinfo", "ibstat", "ethtool-i", "ip-address", "lspci", "rdma-link", "foreign-ip", "kallsyms"))
	if f.Source != "captured" || f.Node != "host1" || f.Kind != "Facts" {
		t.Errorf("head: %+v", f)
	}
	if len(f.PCI) != 5 || len(f.GPUs) != 1 || len(f.NICs) != 3 || len(f.HCAs) != 3 || len(f.KernelLog.Lines) != 5 || !*f.Kernel.PeerMemory {
		t.Errorf("%d functions, %d GPUs, %d NICs, %d HCAs, %+v, %+v", len(f.PCI), len(f.GPUs), len(f.NICs), len(f.HCAs), f.KernelLog, f.Kernel)
	}
	if n := f.NICs[2]; n.Name != "eth2" || n.Firmware != "28.39.1002" || n.Driver != "mlx5_core" || n.MTU != 1500 {
		t.Errorf("ethtool -i was not put with the interface of its bus address: %+v", n)
	}
	h := f.HCAs[0]
	want := fabric.HCA{
		Name: "mlx5_0", NodeGUID: "0200:00ff:fe00:0101", SystemGUID: "0200:00ff:fe00:0101", Firmware: "28.39.1002", BoardID: "MT_0000000838", Type: "MT4129",
		Ports: []fabric.Port{{
			Number: 1, State: "ACTIVE", PhysState: "LinkUp", RateGbps: new(400.0), LinkLayer: "InfiniBand", LID: new(35), SMLID: new(1),
			ActiveMTU: new(4096), MaxMTU: new(4096), GIDs: []fabric.GID{{Index: 0, GID: "fe80:0000:0000:0000:0200:00ff:fe00:0101"}},
		}},
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("mlx5_0 (-want +got):\n%s", diff)
	}
	if g := f.HCAs[1].Ports[0].GIDs; f.HCAs[1].Name != "bnxt_re0" || g[0].NetDev != "enp28s0np0" || g[1].NetDev != "" {
		t.Errorf("rdma link names the device of entry 0 only: %+v", f.HCAs[1])
	}
	missing := strings.Join(missingText(f), "\n")
	for _, want := range []string{
		"text h: not the output of a known tool in the C locale",
		"kernel.dma_buf: not the whole list: it has no _text",
		"pci.acs 0000:42:00.0: access denied",
		"routes: not among the captured texts", "rules: not among", "modules.on_disk: not among", "nics.fec: not among",
		"sysctls: only the kernel reports it", "hcas.ports.pkeys: only the kernel reports it", "machine: only the kernel reports it",
	} {
		if !strings.Contains(missing, want) {
			t.Errorf("missing lacks %q", want)
		}
	}
	for _, not := range []string{"pci: ", "nics: ", "hcas: ", "kernel_log"} {
		if strings.Contains("\n"+missing, "\n"+not) {
			t.Errorf("%q is missing, and is there:\n%s", not, missing)
		}
	}
}

// TestFromTextDisagrees keeps the first of two that say different things.
func TestFromTextDisagrees(t *testing.T) {
	in := texts(t, "ibv_devinfo")
	in["z"] = []byte("CA 'mlx5_0'\n\tFirmware version: 28.40.1000\n\tPort 1:\n\t\tState: Active\n\t\tRate: 200\n\t\tLink layer: InfiniBand\n")
	f := FromText("host1", in)
	want := []fabric.Disagreement{
		{What: "hcas.firmware mlx5_0", Said: []fabric.Evidence{{Source: "ibv_devinfo", Value: "28.39.1002"}, {Source: "ibstat", Value: "28.40.1000"}}},
		{What: "hcas.ports.rate mlx5_0/1", Said: []fabric.Evidence{{Source: "ibv_devinfo", Value: "400"}, {Source: "ibstat", Value: "200"}}},
	}
	if diff := cmp.Diff(want, f.Disagree); diff != "" || f.HCAs[0].Firmware != "28.39.1002" || *f.HCAs[0].Ports[0].RateGbps != 400 {
		t.Errorf("%+v, disagreements (-want +got):\n%s", f.HCAs[0], diff)
	}
}

// TestFromTextLarge holds that no text takes long: each is as large as it may be, or tells more than can be.
func TestFromTextLarge(t *testing.T) {
	var interfaces, routes strings.Builder
	for i := range 60000 {
		fmt.Fprintf(&interfaces, "%d: v%d: <UP> mtu 1500 state UP\n", i+1, i)
		fmt.Fprintf(&routes, "10.%d.%d.0/24 dev eth1 table main proto static\n", i>>8&0xff, i&0xff)
	}
	in := texts(t, "dmesg", "ibv_devinfo", "lspci", "rocm-smi", "ip-rule")
	for name, text := range in {
		in[name] = bytes.Repeat(text, (1<<20)/len(text))
	}
	in["interfaces"], in["routes"], in["z"] = []byte(interfaces.String()), []byte(routes.String()), bytes.Repeat([]byte("[    0.000000] x\n"), maxToolText/10)
	start := time.Now()
	f := FromText("host1", in)
	if took := time.Since(start); took > 4*time.Minute { // a second or two; under -race on a busy machine 84 seconds were seen
		t.Errorf("took %s", took)
	}
	if m, ok := f.MissingReason("nics"); !ok || len(f.NICs) > 0 || m.Reason != "lists 60000 devices, more than 16384" {
		t.Errorf("%d interfaces, missing %+v", len(f.NICs), m)
	}
	if m, ok := f.MissingReason("kernel_log"); !ok || m.Reason != "printed more than 10485760 bytes" {
		t.Errorf("missing %+v", m)
	}
	if len(f.Routes) != 60000 || len(f.PCI) != 5 || f.KernelLog == nil {
		t.Errorf("%d routes, %d functions, log %v", len(f.Routes), len(f.PCI), f.KernelLog)
	}
}

func TestFromTextNothing(t *testing.T) {
	f := FromText("host1", nil)
	for _, what := range []string{"pci", "gpus", "nics", "hcas", "routes", "rules", "kernel_log", "kernel.peer_memory", "machine", "sysctls"} {
		if _, ok := f.MissingReason(what); !ok {
			t.Errorf("%s is empty without a reason", what)
		}
	}
}

// TestFromTextCapturedMachine reads what the tools printed on the captured machine of 64 functions.
func TestFromTextCapturedMachine(t *testing.T) {
	in := make(map[string][]byte)
	for _, name := range []string{"lspci-vvvnn-D.txt", "ibv_devinfo-v.txt", "rdma-link.txt"} {
		in[name] = shared(t, "data", "fixtures", "qemu-pcie", name)
	}
	f := FromText("guest", in)
	if len(f.PCI) != 32 || len(f.HCAs) != 10 {
		t.Errorf("%d functions, %d RDMA devices", len(f.PCI), len(f.HCAs))
	}
	p := f.HCAs[0].Ports[0]
	want := fabric.Port{
		Number: 1, State: "ACTIVE", PhysState: "LinkUp", RateGbps: new(2.5), LinkLayer: "Ethernet", NetDev: "eth0", LID: new(0), SMLID: new(0), ActiveMTU: new(1024), MaxMTU: new(4096),
		GIDs: []fabric.GID{
			{Index: 0, GID: "fe80:0000:0000:0000:5054:00ff:fe12:3457", Type: "RoCE v2", NetDev: "eth0"},
			{Index: 1, GID: "0000:0000:0000:0000:0000:ffff:0a09:0101", Type: "RoCE v2"},
		},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("rxe0 (-want +got):\n%s", diff)
	}
	if len(f.Disagree) > 0 {
		t.Error(f.Disagree)
	}
}

func TestFromTextSimulatedFabric(t *testing.T) {
	for _, fabric := range []string{"hgx128x8", "hgx16-miscabled"} {
		t.Run(fabric, func(t *testing.T) {
			f := FromText("sim", map[string][]byte{"x": shared(t, "data", "fixtures", "ibsim", fabric, "ibstat.txt")})
			if len(f.HCAs) == 0 || f.HCAs[0].Name != "ibsim0" || f.HCAs[0].NodeGUID != "0000:0000:0010:0000" || f.HCAs[0].Ports[0].LinkLayer != "InfiniBand" || *f.HCAs[0].Ports[0].RateGbps != 10 {
				t.Errorf("%s: %+v", fabric, f.HCAs)
			}
		})
	}
}

// TestPrintedSamples reads what guides print of the tools, copied with the prompt and with what the copying
// did to it.
func TestPrintedSamples(t *testing.T) {
	roce := string(shared(t, "reference", "003_03d58f2633c76061.txt"))
	vsphere := string(shared(t, "reference", "001_62093432e425cd40.txt"))
	spark := string(shared(t, "reference", "004_a2952d4f257fccb9.txt"))

	rules := FromText("roce", map[string][]byte{"x": sample(t, roce, "$ ip rule show", "$ ip route")})
	if len(rules.Rules) != 11 || rules.Rules[1].From.String() != "192.168.7.1/32" || rules.Rules[1].Table != 107 {
		t.Errorf("rules: %+v", rules.Rules)
	}
	routes := FromText("roce", map[string][]byte{"x": sample(t, roce, "$ ip route list table 101", "Host 2")})
	if len(routes.Routes) != 8 || routes.Routes[7].Table != 108 || routes.Routes[7].NIC != "eth8" || routes.Routes[7].Gateway.String() != "192.168.8.254" {
		t.Errorf("routes: %+v", routes.Routes)
	}
	links := FromText("roce", map[string][]byte{"x": sample(t, roce, "$ rdma link show\nlink", "$ tcpdump")})
	if len(links.HCAs) != 8 || links.HCAs[7].Name != "bnxt_re7" || links.HCAs[7].Ports[0].State != "ACTIVE" {
		t.Errorf("rdma link: %+v", links.HCAs)
	}
	bus := FromText("roce", map[string][]byte{"x": sample(t, roce, "$ rocm-smi --showbus", "$ rdma link")})
	if len(bus.GPUs) < 8 || bus.GPUs[0].PCI != "0000:1c:00.0" || bus.GPUs[7].PCI != "0000:e6:00.0" {
		t.Errorf("rocm-smi: %+v", bus.GPUs)
	}
	kernel := FromText("roce", map[string][]byte{"x": sample(t, roce, "$ cat /proc/kallsyms", "4. How to")}).Kernel
	if kernel.PeerMemory == nil || !*kernel.PeerMemory || kernel.DMABuf != nil {
		t.Errorf("kallsyms: %+v", kernel)
	}
	ib := FromText("vs8", map[string][]byte{"x": sample(t, vsphere, "$ ibstat", "```")})
	if len(ib.HCAs) != 1 || ib.HCAs[0].Name != "mlx5_0" || ib.HCAs[0].Firmware != "28.39.1002" || *ib.HCAs[0].Ports[0].RateGbps != 400 || *ib.HCAs[0].Ports[0].SMLID != 1 {
		t.Errorf("ibstat: %+v", ib.HCAs)
	}
	twins, err := parseIbdev2netdev(string(sample(t, spark, "$ ibdev2netdev", "In this case")), "")
	if err != nil || len(twins.HCAs) != 4 || twins.HCAs[3].Name != "roceP2p1s0f1" || twins.HCAs[3].Ports[0].GIDs[0].NetDev != "enP2p1s0f1np1" {
		t.Errorf("ibdev2netdev: %+v, %v", twins.HCAs, err)
	}
}

// sample cuts a text out of a document.
func sample(t *testing.T, document, from, to string) []byte {
	t.Helper()
	_, rest, ok := strings.Cut(document, from)
	text, _, ends := strings.Cut(rest, to)
	if !ok || !ends {
		t.Fatalf("the document has nothing from %q to %q", from, to)
	}
	return []byte(from + text)
}

// shared reads a file that is kept beside the checkout.
func shared(t *testing.T, elements ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "..", "shared"}, elements...)...))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the shared captures are not beside this checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}
