package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// maxFactsSize is in bytes: what the facts of a large node may take as JSON. Of that 17 KiB are the
// functions on the paths to its GPUs and NICs, 7 KiB what nine NICs do with traffic classes and have stored, and 3 KiB what its
// eight GPUs say of themselves and of their links.
const maxFactsSize = 50 << 10

// bigNode is the captured form of a machine of 8 GPUs, 8 NICs of two ports and 64 bridges: two root ports and
// six ports of switches above each pair.
func bigNode() fakeHost {
	h := fakeHost{files: machineFiles(), links: map[string]string{}}
	port := newSpace(4096, 0x60).express(0x60, 0).extended(0x100, extendedACS, 0, 0x5f, 0x1d)
	add := func(above, address, class, vendor, driver string, numa int) string {
		folder := pciDevices + "/" + address
		h.links[folder] = "../../../devices/pci0000:00" + above + "/" + address
		h.links[folder+"/driver"] = "../../../bus/pci/drivers/" + driver
		h.links[folder+"/iommu_group"] = "../../../kernel/iommu_groups/" + strconv.Itoa(len(h.links))
		for file, text := range map[string]string{"class": class, "vendor": vendor, "device": "0x2330", "numa_node": strconv.Itoa(numa), "config": string(port)} {
			h.files[folder+"/"+file] = text
		}
		return above + "/" + address
	}
	for i := range 8 {
		bus := 0x10 * (i + 1)
		at := func(n int) string { return fmt.Sprintf("0000:%02x:00.0", bus+n) }
		path := ""
		for n := range 6 { // root port and switches of both, one below the other
			path = add(path, at(n), "0x060400", "0x1000", "pcieport", i/4)
		}
		gpu := add(path, at(6), "0x060400", "0x1000", "pcieport", i/4)
		add(gpu, at(8), "0x030200", "0x10de", "nvidia", i/4)
		h.files[nvidiaProc+"/"+at(8)+"/information"] = h100Information
		nic := add(path, at(7), "0x060400", "0x1000", "pcieport", i/4)
		add(nic, at(9), "0x020700", "0x15b3", "mlx5_core", i/4)
		name := fmt.Sprintf("mlx5_%d", i)
		h.links[infinibandClass+"/"+name] = "../../devices/pci0000:00" + nic + "/" + at(9) + "/infiniband/" + name
		for file, value := range map[string]string{"node_guid": "0200:00ff:fe00:0101", "sys_image_guid": "0200:00ff:fe00:0101", "fw_ver": "28.39.1002", "board_id": "MT_0000000838", "hca_type": "MT4129"} {
			h.files[infinibandClass+"/"+name+"/"+file] = value + "\n"
		}
		h.port(name, 1, map[string]string{
			"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "link_layer": "Ethernet", "lid": "0x1f", "sm_lid": "0x1", "pkeys/0": "0xffff",
			"gids/0": localGID, "gids/1": localGID, "gids/2": roceGID, "gids/3": roceGID,
			"gid_attrs/types/0": "IB/RoCE v1", "gid_attrs/types/1": "RoCE v2", "gid_attrs/types/2": "IB/RoCE v1", "gid_attrs/types/3": "RoCE v2",
			"gid_attrs/ndevs/0": "eth1", "gid_attrs/ndevs/1": "eth1", "gid_attrs/ndevs/2": "eth1", "gid_attrs/ndevs/3": "eth1",
			"counters/symbol_error": "12", "counters/link_downed": "1", "hw_counters/out_of_sequence": "123456", "hw_counters/np_cnp_sent": "123456789", "hw_counters/rp_cnp_handled": "123456789",
		})
	}
	h.files["/proc/modules"] = strings.Join(append(versionedModules(), strings.Split(strings.Repeat("some_module ", 180), " ")...), " 1 0 - Live 0x0\n")
	for _, name := range sysctls() {
		h.files["/proc/sys/"+strings.ReplaceAll(name, ".", "/")] = "4096 131072 6291456\n"
	}
	h.files[symbolsFile] = "ffffffff81000000 T _text\nffffffffc0a01230 T ib_umem_dmabuf_get\n"
	return h
}

// wholeQoS is what mlnx_qos says of a NIC that trusts DSCP: a priority for each of the 64 values.
func wholeQoS() *fabric.QoS {
	q := &fabric.QoS{
		Trust: "dscp", DSCP: map[int]int{}, PFC: &[]int{3}, Queues: []int{0, 1, 2, 3, 4, 5, 6, 7}, RoCE: &fabric.Marking{DSCP: new(26), Priority: new(3)},
		CNP: &fabric.Marking{DSCP: new(48), Priority: new(7)}, ECN: &[]int{0, 1, 2, 3, 4, 5, 6, 7}, DCBX: "host", Pause: new(false), Sources: []string{"mlnx_qos", "mlx5 files", "cma_roce_tos"},
	}
	for v := range 64 {
		q.DSCP[v] = v / 8
	}
	for range 8 {
		q.Schedulers = append(q.Schedulers, fabric.Scheduler{Algorithm: "ets", Percent: new(12)})
	}
	return q
}

// TestFactsSize collects a large node with a full log and what its network tells.
func TestFactsSize(t *testing.T) {
	log := "[    0.000000] Linux version 6.8\n"
	for i := range 300 {
		log += fmt.Sprintf("[    1.000000] mlx5_core 0000:42:00.0: message %d %s\n", i, strings.Repeat("x", 40))
	}
	h := toolHost{fakeHost: bigNode(), output: func(_ context.Context, argv []string) ([]byte, error) {
		if argv[0] == "dmesg" {
			return []byte(log), nil
		}
		return nil, host.ErrNotSupported
	}}
	f := Collect(context.Background(), h, testTime())
	for i := range 9 {
		f.NICs = append(f.NICs, fabric.NIC{
			Name: fmt.Sprintf("eth%d", i), Index: i, MAC: "02:00:00:00:00:01", MTU: 9000, OperState: "up", SpeedMbps: new(400000), Driver: "mlx5_core", PCI: "0000:19:00.0",
			ARPIgnore: new(1), ARPAnnounce: new(2), RPFilter: new(2), Carrier: new(true), Firmware: "28.39.1002", DriverVersion: "24.10-1.1.4", FEC: "RS", Autoneg: new(true),
			QoS: wholeQoS(), Options: map[string]string{"SRIOV_EN": "False(0)", "NUM_OF_VFS": "0", "ATS_ENABLED": "True(1)", "ROCE_CC_PRIO_MASK_P1": "255", "LINK_TYPE_P1": "ETH(2)", "PCI_WR_ORDERING": "per_mkey(0)"},
		})
		f.LLDP = append(f.LLDP, fabric.LLDPNeighbour{NIC: fmt.Sprintf("eth%d", i), System: "leaf1.example.com", Port: "Ethernet1/1", PortText: "host1 eth1", Source: "lldpd"})
		f.Routes = append(f.Routes, fabric.Route{Table: 100 + i, Destination: anyIPv4(), NIC: fmt.Sprintf("eth%d", i), Protocol: 4})
		f.Rules = append(f.Rules, fabric.Rule{Priority: i, Table: 100 + i})
		f.Neighbours = append(f.Neighbours, fabric.Neighbour{NIC: fmt.Sprintf("eth%d", i), MAC: "02:00:00:00:00:02", State: "REACHABLE"})
	}
	for i := range f.GPUs {
		f.GPUs[i].Index, f.GPUs[i].Health, f.GPUs[i].NVLink = new(i), wholeHealth(), wholeLinks()
	}
	f.FabricManager = &fabric.FabricManager{State: "active", Version: "550.90.07", Mode: new(0)}
	f.Missing = slices.DeleteFunc(f.Missing, func(m fabric.Missing) bool { // of what was put in above
		list, _, _ := strings.Cut(m.What, ".")
		return slices.Contains([]string{"nics", "routes", "rules", "neighbours", "gpus", "fabric_manager", "lldp"}, list)
	})
	if len(f.PCI) != 80 || len(f.GPUs) != 8 || len(f.HCAs) != 8 || f.GPUs[7].UUID == "" || len(f.KernelLog.Lines) < 20 || !f.KernelLog.Cut || *f.Kernel.PeerMemory || !*f.Kernel.DMABuf {
		t.Fatalf("%d functions, %d GPUs, %d RDMA devices, %d lines; %+v", len(f.PCI), len(f.GPUs), len(f.HCAs), len(f.KernelLog.Lines), f.Kernel)
	}
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		name string
		v    any
	}{{"pci", f.PCI}, {"hcas", f.HCAs}, {"nics", f.NICs}, {"modules", f.Modules}, {"kernel_log", f.KernelLog}, {"missing", f.Missing}} {
		p, err := json.Marshal(part.v)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", part.name, len(p))
	}
	if t.Logf("all: %d bytes", len(b)); len(b) > maxFactsSize {
		t.Errorf("the facts of a node take %d bytes, at most %d", len(b), maxFactsSize)
	}
}

// layTree writes a tree of network controllers under root ports, as many functions as asked for.
func layTree(tb testing.TB, functions int) (root string, tree *host.Tree) {
	tb.Helper()
	root = tb.TempDir()
	list := filepath.Join(root, pciDevices)
	config := newSpace(4096, 0x60).express(0x60, 0).extended(0x100, extendedACS, 0, 0x5f, 0x1d)
	if err := os.MkdirAll(list, 0o755); err != nil {
		tb.Fatal(err)
	}
	put := func(path, address, class string) string {
		folder := filepath.Join(root, "sys/devices/pci0000:00", path, address)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			tb.Fatal(err)
		}
		for file, text := range map[string]string{"class": class, "vendor": "0x15b3", "device": "0x1021", "numa_node": "0", "config": string(config)} {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
				tb.Fatal(err)
			}
		}
		if err := os.Symlink("../../../devices/pci0000:00"+path+"/"+address, filepath.Join(list, address)); err != nil {
			tb.Fatal(err)
		}
		return path + "/" + address
	}
	for i := range functions / 5 {
		path := ""
		for n := range 5 {
			address := fmt.Sprintf("%04x:%02x:%02x.%d", i>>13, i>>5&0xff, i&0x1f, n)
			class := "0x060400"
			if n == 4 {
				class = "0x020000"
			}
			path = put(path, address, class)
		}
	}
	tree, err := host.OpenTree("laid", root)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tree.Close() })
	return root, tree
}

// TestManyFunctions ends with its context, whatever a tree lists.
func TestManyFunctions(t *testing.T) {
	_, tree := layTree(t, 500)
	var f fabric.Facts
	start := time.Now()
	readPCI(context.Background(), tree, &f)
	t.Logf("%d functions in %s", len(f.PCI), time.Since(start))
	if len(f.PCI) != 500 {
		t.Errorf("%d functions, want 500: %v", len(f.PCI), f.Missing)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f = fabric.Facts{}
	readPCI(ctx, tree, &f)
	if m, ok := f.MissingReason("pci"); !ok || len(f.PCI) > 0 || m.Reason != context.Canceled.Error() {
		t.Errorf("%d functions read after the context ended: %+v", len(f.PCI), f.Missing)
	}
}

// TestBadTree reads links in a circle, files without an end and folders instead of files.
func TestBadTree(t *testing.T) {
	root, tree := layTree(t, 5)
	for link, target := range map[string]string{
		pciDevices + "/0000:ff:00.0":              "0000:ff:00.0",
		pciDevices + "/0000:fe:00.0":              "../../../../../../../../dev",
		pciDevices + "/0000:00:00.4/driver":       "driver",
		"/sys/class/infiniband/mlx5_0":            "mlx5_1",
		"/sys/class/infiniband/mlx5_1":            "mlx5_0",
		"/proc/cpuinfo":                           "cpuinfo",
		"/sys/devices/system/cpu/cpufreq/policy0": "policy0",
	} {
		if err := os.MkdirAll(filepath.Dir(root+link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, root+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(root+"/proc/meminfo", 0o755); err != nil {
		t.Fatal(err)
	}
	f := Collect(context.Background(), tree, testTime())
	if len(f.PCI) != 5 {
		t.Errorf("%d functions, want 5", len(f.PCI))
	}
	for _, what := range []string{"pci 0000:ff:00.0", "pci 0000:fe:00.0", "hcas.ports mlx5_0", "machine.cpu_model", "machine.governor", "machine.memory_kib"} {
		if m, ok := f.MissingReason(what); !ok {
			t.Errorf("%s is not among what is missing: %v", what, missingText(f))
		} else {
			t.Logf("%s: %s", what, m.Reason)
		}
	}
}

func BenchmarkReadPCI250(b *testing.B) {
	_, tree := layTree(b, 250)
	for b.Loop() {
		var f fabric.Facts
		readPCI(context.Background(), tree, &f)
		if len(f.PCI) != 250 {
			b.Fatal(f.Missing)
		}
	}
}

func BenchmarkCollectTree(b *testing.B) {
	_, tree := capturedTree(b)
	for b.Loop() {
		if f := Collect(context.Background(), tree, testTime()); len(f.PCI) != 32 {
			b.Fatal(f.Missing)
		}
	}
}
