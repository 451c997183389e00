package platform

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// printed is the plan of the two hosts and the leaf that Broadcom 957608-AN209 prints (2.4.1, 2.4.2, 2.5), with its addresses
// moved to 10.0.0.0/8: 1.1.101.15/31 is 10.1.101.15/31 here, 192.168.3.2/24 is 10.168.3.2/24.
func printed(scheme fabric.Scheme, os string) *fabric.Plan {
	p := &fabric.Plan{Name: "printed", Platform: "baremetal", Transport: fabric.RoCE, MTU: 9000, Addressing: fabric.Addressing{Scheme: scheme},
		Machines: []fabric.NominalMachine{{ID: "xe9680-mi300x-thor2", NIC: "thor2", NICDriver: "bnxt_en", GPU: "mi300x", GPUVendor: "amd", CPU: "intel"}},
		Traffic:  documentTraffic()}
	leaf := fabric.Switch{Name: "leaf1", Role: fabric.Leaf, OS: os, MTU: 9100}
	for h := 1; h <= 2; h++ {
		node := fabric.Node{Name: fmt.Sprintf("host%d", h), Machine: "xe9680-mi300x-thor2"}
		addresses := fabric.NodeAddresses{Node: node.Name}
		for r := 1; r <= 8; r++ {
			nic := fabric.NICAddress{NIC: fmt.Sprintf("eth%d", r), Rail: r, Table: 100 + r}
			port := fabric.SwitchPort{Name: fmt.Sprintf("Ethernet%d", 8*len(leaf.Ports)), RateGbps: 400, Peer: fabric.Endpoint{Node: node.Name, NIC: nic.NIC}}
			if scheme == fabric.P2P31 {
				nic.Gateway = netip.AddrFrom4([4]byte{10, 1, byte(100 + h), byte(10*r + 4)})
				nic.Address = netip.PrefixFrom(nic.Gateway.Next(), 31)
				port.Address = netip.PrefixFrom(nic.Gateway, 31)
			} else {
				nic.Gateway = netip.AddrFrom4([4]byte{10, 168, byte(r), 254})
				nic.Address = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 168, byte(r), byte(h)}), 24)
			}
			node.NICs = append(node.NICs, nic.NIC)
			addresses.NICs = append(addresses.NICs, nic)
			leaf.Ports = append(leaf.Ports, port)
		}
		p.Nodes = append(p.Nodes, node)
		p.Addressing.Nodes = append(p.Addressing.Nodes, addresses)
	}
	p.Switches = []fabric.Switch{leaf}
	return p
}

// documentTraffic is the intent of the document: the NIC's defaults (2.2.1.3), and the thresholds and times of 2.5.2.
func documentTraffic() *fabric.Traffic {
	return &fabric.Traffic{Share: 50, CableM: 5, Watchdog: &fabric.PFCWatchdog{DetectMs: 200, RestoreMs: 400}, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 48, Priority: 7},
		{Name: "roce", DSCP: 26, Priority: 3, Lossless: true, ECN: &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}},
	}}
}

// What the document's two hosts and their leaf get, in both of its schemes. docs/roce.md says what differs from the print.
func TestPrintedHosts(t *testing.T) {
	for _, c := range []struct {
		scheme fabric.Scheme
		os     string
	}{{fabric.P2P31, "sonic"}, {fabric.P2P31, "eos"}, {fabric.Rail24, "sonic"}} {
		name := "printed-" + string(c.scheme) + "-" + c.os
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			for a := range artifacts(t, printed(c.scheme, c.os)) {
				if c.os == "eos" && a.Target != "leaf1" {
					continue // the hosts are the same
				}
				content := string(a.Content)
				if a.Mode == 0o755 { // its head; the rest is the same on every host
					head, _, _ := strings.Cut(content, "\nsys=/sys\n")
					content = head[:min(len(head), 1200)] + "\n...\n"
				}
				fmt.Fprintf(&got, "-- %s%s %04o --\n%s", a.Target, a.Path, a.Mode, content)
			}
			file := filepath.Join("testdata", name+".txtar")
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// byPath returns the files of a target, by path.
func byPath(t *testing.T, p *fabric.Plan, target string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for a := range artifacts(t, p) {
		if a.Target == target {
			files[a.Path] = string(a.Content)
		}
	}
	return files
}

// bnxt_re.conf of the default intent is byte for byte the healthy form of the document (2.2.1.3).
func TestBnxtConf(t *testing.T) {
	const want = "ENABLE_FC=1\nFC_MODE=3\nROCE_PRI=3\nROCE_DSCP=26\nCNP_PRI=7\nCNP_DSCP=48\nROCE_BW=50\nUTILITY=4\n"
	p := printed(fabric.P2P31, "sonic")
	if got := byPath(t, p, "host1")["/etc/bnxt_re/bnxt_re.conf"]; got != want {
		t.Errorf("got:\n%s", got)
	}
	for _, c := range []struct {
		lossless, ecn bool
		want          string
	}{{true, false, "ENABLE_FC=1\nFC_MODE=1\n"}, {false, true, "ENABLE_FC=1\nFC_MODE=2\n"}, {false, false, "ENABLE_FC=0\nFC_MODE=1\n"}} {
		p.Traffic = documentTraffic()
		p.Traffic.Classes[1].Lossless = c.lossless
		if !c.ecn {
			p.Traffic.Classes[1].ECN = nil
		}
		if got := byPath(t, p, "host1")["/etc/bnxt_re/bnxt_re.conf"]; !strings.HasPrefix(got, c.want) {
			t.Errorf("PFC %t, ECN %t:\n%s", c.lossless, c.ecn, got)
		}
	}
}

// Each field of the intent reaches every end that has it: the NIC's file, its script, the environment of collectives and all
// switch systems. No end is left on the default.
func TestIntentReachesEveryEnd(t *testing.T) {
	const conf, script, env = "/etc/bnxt_re/bnxt_re.conf", "/usr/local/sbin/railwright-nic-qos", "/etc/railwright/nccl.env"
	const sonic, eos, dell, junos, mikrotik = "sonic", "eos", "dell-sonic", "junos", "routeros"
	class := func(name string, change func(*fabric.TrafficClass)) func(*fabric.Traffic) {
		return func(t *fabric.Traffic) {
			for i := range t.Classes {
				if t.Classes[i].Name == name {
					change(&t.Classes[i])
				}
			}
		}
	}
	for _, c := range []struct {
		field  string
		change func(*fabric.Traffic)
		ends   map[string]string // what each end then has, and does not have before
	}{
		{"roce.dscp", class("roce", func(c *fabric.TrafficClass) { c.DSCP = 24 }), map[string]string{
			conf: "ROCE_DSCP=24\n", script: "roce_dscp=24 ", env: "NCCL_IB_TC=96\n", sonic: `"24": "3"`, eos: "qos map dscp 24 to traffic-class 3\n", dell: "dscp 24 traffic-class 3\n", junos: "code-points 011000;", mikrotik: "name=RAILWRIGHT-roce dscp=24 "}},
		{"roce.priority", class("roce", func(c *fabric.TrafficClass) { c.Priority = 4 }), map[string]string{
			conf: "ROCE_PRI=4\n", script: "roce_priority=4 ", sonic: `"pfc_enable": "4"`, eos: "priority-flow-control priority 4 no-drop\n", dell: "priority-flow-control priority 4\n", junos: "no-loss pfc-priority 4;", mikrotik: "name=RAILWRIGHT traffic-class=4 rx=yes"}},
		{"cnp.dscp", class("cnp", func(c *fabric.TrafficClass) { c.DSCP = 46 }), map[string]string{
			conf: "CNP_DSCP=46\n", script: "cnp_dscp=46 ", sonic: `"46": "7"`, eos: "qos map dscp 46 to traffic-class 7\n", dell: "dscp 46 traffic-class 7\n", junos: "code-points 101110;", mikrotik: "name=RAILWRIGHT-cnp dscp=46 "}},
		{"cnp.priority", class("cnp", func(c *fabric.TrafficClass) { c.Priority = 6 }), map[string]string{
			conf: "CNP_PRI=6\n", script: "cnp_priority=6\n", sonic: `"48": "6"`, eos: "uc-tx-queue 6\n      priority strict\n", dell: "dscp 48 traffic-class 6\n", junos: "class RAILWRIGHT-cnp queue-num 6;", mikrotik: "traffic-class=6 ] schedule=strict-priority"}},
		{"pfc", class("roce", func(c *fabric.TrafficClass) { c.Lossless = false }), map[string]string{
			conf: "FC_MODE=2\n", script: "lossless=0 ", sonic: `"pfc_enable": ""`, eos: "qos trust dscp\n   !\n", dell: "", junos: "", mikrotik: "pfc=disabled\n"}},
		{"ecn", class("roce", func(c *fabric.TrafficClass) { c.ECN = nil }), map[string]string{
			conf: "FC_MODE=1\n", script: "ecn=0 ", sonic: "", eos: "", dell: "", junos: "", mikrotik: "traffic-class=3 ] schedule=high-priority-group weight=1 use-shared-buffers=yes wred=no ecn=no"}},
		{"ecn.min_kib", class("roce", func(c *fabric.TrafficClass) { c.ECN.MinBytes = 512 << 10 }), map[string]string{
			sonic: `"green_min_threshold": "524288"`, eos: "minimum-threshold 524288 bytes ", dell: "green minimum-threshold 524 ", junos: "fill-level [ 1 "}},
		{"ecn.max_kib", class("roce", func(c *fabric.TrafficClass) { c.ECN.MaxBytes = 4 << 20 }), map[string]string{
			sonic: `"green_max_threshold": "4194304"`, eos: "maximum-threshold 4194304 bytes ", dell: "maximum-threshold 4194 ", junos: "fill-level [ 2 6 ];"}},
		{"ecn.probability", class("roce", func(c *fabric.TrafficClass) { c.ECN.Percent = 20 }), map[string]string{
			sonic: `"green_drop_probability": "20"`, eos: "max-mark-probability 20 ", dell: "drop-probability 20\n", junos: "drop-probability [ 0 20 ];"}},
		{"share", func(t *fabric.Traffic) { t.Share = 90 }, map[string]string{
			conf: "ROCE_BW=90\n", script: "share=90 ", sonic: `"weight": "90"`, eos: "bandwidth percent 90\n", dell: "weight 90\n", junos: "transmit-rate percent 90;", mikrotik: "weight=9 "}},
		{"watchdog.detect_ms", func(t *fabric.Traffic) { t.Watchdog.DetectMs = 300 }, map[string]string{
			sonic: `"detection_time": "300"`, eos: "default timeout 0.30\n", dell: "detect-time 300\n", junos: "poll-interval 150;"}},
		{"watchdog.restore_ms", func(t *fabric.Traffic) { t.Watchdog.RestoreMs = 900 }, map[string]string{
			sonic: `"restoration_time": "900"`, eos: "default recovery-time 0.90\n", dell: "restore-time 900\n", junos: "recovery 900;"}},
		{"cable_m", func(t *fabric.Traffic) { t.CableM = 40 }, map[string]string{sonic: `"40m"`, dell: "cable-length 40m\n", junos: "cable-length 40;"}},
	} {
		t.Run(c.field, func(t *testing.T) {
			before, after := endsOf(t, documentTraffic()), documentTraffic()
			c.change(after)
			changed := endsOf(t, after)
			for end, want := range c.ends {
				if before[end] == changed[end] || !strings.Contains(changed[end], want) || want != "" && strings.Contains(before[end], want) {
					t.Errorf("%s does not follow %s: want %q", end, c.field, want)
				}
			}
			for end := range before {
				if _, ok := c.ends[end]; !ok && before[end] != changed[end] {
					t.Errorf("%s changes with %s, which this table does not say", end, c.field)
				}
			}
		})
	}
}

// endsOf returns the files of a host and of its leaf, under all switch systems, that have to do with traffic classes.
func endsOf(t *testing.T, traffic *fabric.Traffic) map[string]string {
	t.Helper()
	ends := make(map[string]string)
	for _, os := range []string{"sonic", "dell-sonic", "eos", "junos", "routeros"} {
		p := printed(fabric.P2P31, os)
		p.Traffic = traffic
		p.Switches[0].BufferBytes = 165_000_000 // of a QFX5240: Junos has thresholds in percent of it
		for path, content := range byPath(t, p, "host1") {
			ends[path] = content
		}
		for _, content := range byPath(t, p, "leaf1") {
			ends[os] = content
		}
	}
	return ends
}

// Nodes whose NICs are unknown get no settings, and the reason is said once for each kind of machine.
func TestUnknownNICs(t *testing.T) {
	p := printed(fabric.P2P31, "sonic")
	p.Nodes[1].Machine = ""
	p.Machines = append(p.Machines, fabric.NominalMachine{ID: "odd", NICDriver: "efa"})
	for i := range 1000 {
		n := p.Nodes[0]
		n.Name, n.Machine = "odd"+strconv.Itoa(i), "odd"
		a := p.Addressing.Nodes[0]
		a.Node = n.Name
		p.Nodes, p.Addressing.Nodes = append(p.Nodes, n), append(p.Addressing.Nodes, a)
	}
	for path := range byPath(t, p, "host2") {
		if strings.Contains(path, "nic-qos") || strings.Contains(path, "nccl") {
			t.Errorf("%s for NICs that the plan does not know", path)
		}
	}
	want := []fabric.Missing{
		{What: "nodes without a machine", Source: "nic-settings", Reason: "the plan does not say which NICs there are: give the machine of the catalog (nodes, machine)"},
		{What: "nodes of machine odd", Source: "nic-settings", Reason: `NIC driver "efa": no settings are rendered for it in this version; known: bnxt_en, mlx5_core, ionic`},
	}
	if diff := cmp.Diff(want, Missing(p)); diff != "" {
		t.Error(diff)
	}
}
