package intent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func switches(t *testing.T) string {
	return strings.Join(slices.Sorted(maps.Keys(load(t).Switches)), ", ")
}

func machines(t *testing.T) string {
	return strings.Join(slices.Sorted(maps.Keys(load(t).Machines)), ", ")
}

func TestMeaning(t *testing.T) {
	names := `"host[1-2]"`
	nics := `"eth[1-8]"`
	tests := []struct {
		name, old, replacement string
		want                   string
	}{
		{"range", names, `"host[2-1]"`, `c:6:11: nodes[0].names: "host[2-1]": range "2-1" is reversed: want 1-2`},
		{"host twice", names, `"host[1-2],HOST2"`, `c:6:11: nodes[0].names: host "HOST2" is listed twice in this group`},
		{"host in two groups", "fabric:\n", "- {names: \"a,Host2\", nics: eth1}\nfabric:\n", `c:7:11: nodes[1].names: host "Host2" is already in nodes[0]`},
		{"host name", names, `"host_1"`, `c:6:11: nodes[0].names: host name "host_1" has the character '_': allowed are letters, digits and '.' '-'`},
		{"host label", names, `"host-"`, `c:6:11: nodes[0].names: host name "host-" has a label that begins or ends with '-' (RFC 1123)`},
		{"host with a shell character", names, `"host$(reboot)"`, `c:6:11: nodes[0].names: host name "host$(reboot)" has the character '$': allowed are letters, digits and '.' '-'`},
		{"host that files for the API server are filed under", names, `"kubernetes"`, `c:6:11: nodes[0].names: host name "kubernetes" is what rendered files for the API server of Kubernetes are filed under: use another, such as kubernetes1`},
		{"host that scripts are filed under", names, `"host1,Workstation"`, `c:6:11: nodes[0].names: host name "Workstation" is what rendered files for your own machine are filed under: use another, such as workstation1`},
		{"hosts that begin so", names, `"kubernetes[1-2],workstation.lab"`, ``},
		{"too many hosts", "fabric:\n", "- {names: \"a[1-99999]\", nics: eth1}\nfabric:\n", `c:7:11: nodes[1].names: the groups together hold more than 100000 hosts`},
		{"NIC twice", nics, `"eth[1-8],eth3"`, `c:6:60: nodes[0].nics: NIC "eth3" is listed twice`},
		{"NIC with a YAML character", nics, `"eth1: x"`, `c:6:60: nodes[0].nics: NIC name "eth1: x" has the character ':': allowed are letters, digits and '.' '_' '-'`},
		{"NIC with a slash", nics, `"../eth1"`, `c:6:60: nodes[0].nics: NIC name "../eth1" has the character '/': allowed are letters, digits and '.' '_' '-'`},
		{"NIC with white space", nics, `"eth 1"`, `c:6:60: nodes[0].nics: NIC name "eth 1" has the character ' ': allowed are letters, digits and '.' '_' '-'`},
		{"NIC too long", nics, `"enp1s0f1np1abcde"`, `c:6:60: nodes[0].nics: NIC name "enp1s0f1np1abcde" has 16 bytes: Linux allows at most 15`},
		{"NIC dots", nics, `".."`, `c:6:60: nodes[0].nics: NIC name ".." is a directory, which Linux refuses`},
		{"NIC reserved", nics, `"all"`, `c:6:60: nodes[0].nics: NIC name "all" is reserved: lo is the loopback, all and default are sysctl directories`},
		{"NIC option", nics, `"-h"`, `c:6:60: nodes[0].nics: NIC name "-h" begins with '-', which commands read as an option`},
		{"too many NICs", nics, `"eth[1-9]"`, `c:6:60: nodes[0].nics: 9 NICs: machine xe9680-mi300x-thor2 has 8`},
		{"no NICs", "machine: xe9680-mi300x-thor2, nics: \"eth[1-8]\", ", "", `c:6:3: nodes[0].nics: required field is missing: no machine of the catalog gives the interface names; for example eth[1-8]`},
		{"machine", "xe9680-mi300x-thor2", "xe9680-mi300x", `c:6:33: nodes[0].machine: machine "xe9680-mi300x" is not in the catalog; did you mean "xe9680-mi300x-thor2"? known: ` + machines(t)},
		{"host bits", "10.64.0.0/16", "10.64.1.0/10", `c:9:37: fabric.addressing.pool: 10.64.1.0/10 has host bits set: the network is 10.64.0.0/10`},
		{"loopback", "10.64.0.0/16", "126.0.0.0/7", `c:9:37: fabric.addressing.pool: 126.0.0.0/7 overlaps 127.0.0.0/8, loopback (RFC 1122, 3.2.1.3): use a unicast range such as 10.64.0.0/16`},
		{"multicast", "10.64.0.0/16", "239.0.0.0/8", `c:9:37: fabric.addressing.pool: 239.0.0.0/8 overlaps 224.0.0.0/4, multicast (RFC 5771): use a unicast range such as 10.64.0.0/16`},
		{"pool of p2p31", "10.64.0.0/16", "10.64.0.0/28", `c:9:37: fabric.addressing.pool: 10.64.0.0/28 is too small: 2 hosts of 8 NICs with scheme p2p31 need 32 addresses: use a /27 or larger`},
		{"pool of rail24", "p2p31, pool: 10.64.0.0/16", "rail24, pool: 10.64.0.0/22", `c:9:38: fabric.addressing.pool: 10.64.0.0/22 is too small: 2 hosts of 8 NICs with scheme rail24 need 2048 addresses: use a /21 or larger`},
		{"pool of flat", "p2p31, pool: 10.64.0.0/16", "flat, pool: 10.64.0.0/28", `c:9:36: fabric.addressing.pool: 10.64.0.0/28 is too small: 2 hosts of 8 NICs with scheme flat need 19 addresses: use a /27 or larger`},
		{"rail24 without a leaf", "p2p31, pool: 10.64.0.0/16}\n  leaf: {model: z9664f, os: sonic}", "rail24}\n", ``},
		{"none on roce", "scheme: p2p31, pool: 10.64.0.0/16", "scheme: none", `c:9:24: fabric.addressing.scheme: none is for infiniband and gke only: use p2p31, rail24 or flat`},
		{"leaf of the other kind", "{model: z9664f, os: sonic}", "{model: qm9700}", `c:10:17: fabric.leaf.model: switch qm9700 is an infiniband switch, but fabric.kind is roce: use one of 7060dx4-32, crs520-4xs-16xq, crs804-4ddq, crs812-ddq, qfx5240, sse-t8032, z9664f`},
		{"leaf system", "os: sonic", "os: junos", `c:10:29: fabric.leaf.os: "junos": unknown on switch z9664f; known: dell-sonic, sonic`},
		{"one dscp, two priorities", "dscp: 26", "dscp: 48", `c:11:12: fabric.traffic: dscp 48 is mapped to priority 3 (roce) and to priority 7 (cnp): a switch maps a DSCP value to one priority`},
		{"roce and cnp in one priority", "roce: {dscp: 26, priority: 3}", "roce: {dscp: 26, priority: 7}, cnp: {dscp: 48, priority: 7}", `c:11:70: fabric.traffic.cnp.priority: 7 is the priority of roce: PFC would pause congestion notifications with the data; use another`},
		{"roce in the default priority of cnp", "priority: 3", "priority: 7", `c:11:40: fabric.traffic.roce.priority: 7 is the default priority of cnp: PFC would pause congestion notifications with the data; use another`},
		{"one dscp, one priority", "roce: {dscp: 26, priority: 3}", "roce: {dscp: 48, priority: 7}, cnp: {dscp: 48, priority: 7}", `c:11:70: fabric.traffic.cnp.priority: 7 is the priority of roce: PFC would pause congestion notifications with the data; use another`},
		{"lossless priority 0", "priority: 3", "priority: 0", `c:11:40: fabric.traffic.roce.priority: 0 is the priority of all other traffic, which PFC would pause with RoCE: use 1 to 7`},
		{"priority 0 of CNP", "priority: 3}", "priority: 3}, cnp: {dscp: 48, priority: 0}", `c:11:70: fabric.traffic.cnp.priority: 0 is the priority of all other traffic, which would share the strict queue of congestion notifications: use 1 to 7`},
		{"lossy priority 0", "priority: 3}", "priority: 0}, pfc: false", `c:11:40: fabric.traffic.roce.priority: 0 is the priority of all other traffic, which would share RoCE's queue: use 1 to 7`},
		{"lossy in one priority", "priority: 3}", "priority: 7}, pfc: false", `c:11:40: fabric.traffic.roce.priority: 7 is the default priority of cnp: congestion notifications would wait behind the data; use another`},
		{"DSCP 0 of RoCE", "dscp: 26", "dscp: 0", `c:11:26: fabric.traffic.roce.dscp: 0 is the DSCP of all other packets: use 1 to 63`},
		{"DSCP 0 of CNP", "priority: 3}", "priority: 3}, cnp: {dscp: 0, priority: 6}", `c:11:56: fabric.traffic.cnp.dscp: 0 is the DSCP of all other packets: use 1 to 63`},
		{"ECN the wrong way round", "priority: 3}", "priority: 3}, ecn: {min_kib: 2048, max_kib: 1024}", `c:11:59: fabric.traffic.ecn.min_kib: 2048 KiB is above max_kib, 1024 KiB: marking begins at min_kib and is complete at max_kib`},
		{"ECN minimum above the default maximum", "priority: 3}", "priority: 3}, ecn: {min_kib: 4096}", `c:11:59: fabric.traffic.ecn.min_kib: 4096 KiB is above max_kib, which is 2048 unless it is given: give both`},
		{"ECN maximum below the default minimum", "priority: 3}", "priority: 3}, ecn: {max_kib: 512}", `c:11:59: fabric.traffic.ecn.max_kib: 512 KiB is below min_kib, which is 1024 unless it is given: give both`},
		{"ECN at one length", "priority: 3}", "priority: 3}, ecn: {min_kib: 2048}", ``},
		{"watchdog that restores first", "priority: 3}", "priority: 3}, watchdog: {detect_ms: 500}", ``},
		{"watchdog without PFC", "priority: 3}", "priority: 3}, pfc: false, watchdog: {}", `c:11:66: fabric.traffic.watchdog: pfc is false, and without PFC there is no deadlock to break: remove the field`},
		{"MTU of the standard", "  leaf:", "  mtu: 1500\n  leaf:", `c:10:8: fabric.mtu: 1500 bytes is too small for packets of 4096 bytes with their headers, RoCE would send smaller ones: use at least 4192, such as 9000`},
		{"MTU without the headers", "  leaf:", "  mtu: 4096\n  leaf:", `c:10:8: fabric.mtu: 4096 bytes is too small for packets of 4096 bytes with their headers, RoCE would send smaller ones: use at least 4192, such as 9000`},
		{"MTU a byte too small", "  leaf:", "  mtu: 4191\n  leaf:", `c:10:8: fabric.mtu: 4191 bytes is too small for packets of 4096 bytes with their headers, RoCE would send smaller ones: use at least 4192, such as 9000`},
		{"smallest MTU", "  leaf:", "  mtu: 4192\n  leaf:", ``},
		{"launcher on gke", "platform: baremetal", "platform: gke\nlauncher: ssh", "c:5:11: launcher: launcher ssh does not work on platform gke: use kubernetes\n" +
			`c:10:15: fabric.addressing: on gke the VPC assigns the addresses: remove the field`},
		{"infiniband", "kind: roce", "kind: infiniband", "c:9:15: fabric.addressing: infiniband needs no addresses, the subnet manager assigns LIDs: remove the field\n" +
			"c:10:17: fabric.leaf.model: switch z9664f is an ethernet switch, but fabric.kind is infiniband: use one of qm9700\n" +
			`c:11:12: fabric.traffic: only RoCE has traffic classes: remove the field`},
		{"the scheme of a server on a Spark", "platform: baremetal", "platform: spark", `c:9:24: fabric.addressing.scheme: p2p31 does not work on platform spark: the two twins of a port need subnets of their own, use twin24`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := edit(t, tt.old, tt.replacement)
			if tt.want != "" {
				wantProblems(t, text, strings.Split(tt.want, "\n"))
			} else if _, err := Parse("c", []byte(text), load(t)); err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSparkHasNoInfiniBand(t *testing.T) {
	wantProblems(t, "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nplatform: spark\nnodes: [{names: a, nics: ib0}]\nfabric: {kind: infiniband}\n",
		[]string{`c:6:16: fabric.kind: platform spark has no infiniband: use roce`})
}

// A default pool is judged too; its place is then the section that it was left out of.
func TestRail24LimitOfALeaf(t *testing.T) {
	text := "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nplatform: baremetal\nnodes: [{names: \"a[1-254]\", nics: eth0}]\nfabric:\n  kind: roce\n  addressing: {scheme: rail24}\n"
	wantProblems(t, text, []string{
		`c:8:24: fabric.addressing.scheme: scheme rail24 holds at most 253 hosts per leaf, not 254: name a fabric.leaf with fewer ports, or use scheme p2p31`})
	if _, err := Parse("c", []byte(strings.Replace(text, "254", "253", 1)), load(t)); err != nil {
		t.Error(err)
	}
}

func TestLeafCount(t *testing.T) {
	for _, tt := range []struct{ hosts, nics, ports, leaves, perLeaf int }{
		{2, 8, 64, 1, 2},
		{8, 8, 64, 1, 8},
		{9, 8, 64, 8, 32},
		{32, 8, 64, 8, 32},
		{33, 8, 64, 16, 32},
		{16384, 8, 64, 4096, 32},
		{16384, 8, 128, 2048, 64},
		{1, 8, 4, 8, 2},
		{2, 1, 1, 0, 0},
		{0, 8, 64, 0, 0},
		{1, 0, 64, 0, 0},
	} {
		t.Run(fmt.Sprintf("%d hosts x %d NICs on %d ports", tt.hosts, tt.nics, tt.ports), func(t *testing.T) {
			if leaves, perLeaf := LeafCount(tt.hosts, tt.nics, tt.ports); leaves != tt.leaves || perLeaf != tt.perLeaf {
				t.Errorf("%d leaves of %d hosts, want %d of %d", leaves, perLeaf, tt.leaves, tt.perLeaf)
			}
		})
	}
}

func TestNeededPrefix(t *testing.T) {
	for _, tt := range []struct {
		scheme            fabric.Scheme
		hosts, nics, down int
		want              int // 0: an error
	}{
		{fabric.P2P31, 1, 1, 0, 31},
		{fabric.P2P31, 2, 8, 0, 27},
		{fabric.P2P31, 3, 8, 0, 26},
		{fabric.P2P31, 1, 5, 0, 28},
		{fabric.P2P31, 16384, 8, 32, 14},
		{fabric.P2P31, 1 << 24, 1 << 10, 0, 0},
		{fabric.Rail24, 2, 1, 0, 24},
		{fabric.Rail24, 253, 8, 0, 21},
		{fabric.Rail24, 254, 8, 0, 0},
		{fabric.Rail24, 33, 8, 32, 20},
		{fabric.Rail24, 16384, 8, 32, 12},
		{fabric.Flat, 1, 5, 0, 29},
		{fabric.Flat, 1, 6, 0, 28},
		{fabric.None, 1, 1, 0, 0},
		{fabric.P2P31, 0, 8, 0, 0},
		{fabric.P2P31, 1, 0, 0, 0},
	} {
		t.Run(fmt.Sprintf("%s for %d hosts of %d NICs, %d per leaf", tt.scheme, tt.hosts, tt.nics, tt.down), func(t *testing.T) {
			got, err := NeededPrefix(tt.scheme, tt.hosts, tt.nics, tt.down)
			if got != tt.want || (err != nil) != (tt.want == 0) {
				t.Errorf("/%d (%v), want /%d", got, err, tt.want)
			}
		})
	}
}
