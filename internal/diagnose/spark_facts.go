package diagnose

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// noteFacts reads what a text tells beside numbers.
func (o *observer) noteFacts(n *fabric.Notes) {
	for _, f := range factsOf(n, "setting") {
		name, value, _ := strings.Cut(f.Value, " ")
		v := setting{name: name, value: value, source: noteSource(f.Line)}
		if !slices.ContainsFunc(o.s.settings, func(s setting) bool { return s.name == v.name && s.value == v.value }) {
			o.s.settings = append(o.s.settings, v)
		}
	}
	o.noteOverrides(n)
	o.noteMesh(n)
	o.noteBootstrap(n)
	o.noteAddresses(n)
	o.noteMemory(n)
	o.noteSockets(n)
	o.oneRank(n)
	o.noteLibraries(n)
	o.noteRemarks(n)
	o.noteLinks(n)
	o.noteCrossed(n)
}

// mesh reports whether the machines are cabled to each other without a switch, more than two of them.
func (o *observer) mesh(n *fabric.Notes) bool {
	if len(factsOf(n, "mesh")) > 0 {
		return true
	}
	if o.bothPorts(n) && slices.ContainsFunc(factsOf(n, "gids"), differentCables) {
		return true
	}
	return slices.ContainsFunc(o.s.settings, func(s setting) bool {
		return s.name == "NCCL_IB_SUBNET_AWARE_ROUTING" && s.value == "1" || s.name == "NCCL_IB_MERGE_NICS" && s.value == "0" && o.bothPorts(n)
	})
}

// bothPorts reports whether NCCL lists twins of both ports.
func (o *observer) bothPorts(n *fabric.Notes) bool {
	ports := map[int]bool{}
	for _, name := range o.listedHCAs(n) {
		if port, _, ok := twinOf(name); ok {
			ports[port] = true
		}
	}
	return len(ports) == 2
}

// listedHCAs are the devices that NCCL found or was told.
func (o *observer) listedHCAs(n *fabric.Notes) []string {
	for _, l := range o.s.logs {
		if len(l.HCAs) > 0 {
			return l.HCAs
		}
	}
	for _, f := range factsOf(n, "hcas") {
		if m := logHCA().FindAllStringSubmatch(f.Value, maxHCAs); m != nil {
			names := make([]string, 0, len(m))
			for _, h := range m {
				names = append(names, h[1])
			}
			return names
		}
	}
	for _, s := range o.s.settings {
		if s.name == "NCCL_IB_HCA" {
			return strings.Split(strings.TrimLeft(s.value, "="), ",")
		}
	}
	return nil
}

// noteOverrides reads which devices a patched NCCL replaces by others. A second twin that is replaced by a first one carries
// nothing; one port for the other is routing.
func (o *observer) noteOverrides(n *fabric.Notes) {
	var lost []string
	hcas := o.listedHCAs(n)
	for _, f := range factsOf(n, "override") {
		was, is, _ := strings.Cut(f.Value, " ")
		a, errA := strconv.Atoi(was)
		b, errB := strconv.Atoi(is)
		if errA != nil || errB != nil || sparkLink(hcas, a) == sparkLink(hcas, b) {
			continue
		}
		lost = append(lost, was)
	}
	if lost == nil {
		return
	}
	slices.Sort(lost)
	why := fmt.Sprintf("NCCL replaces device %s by one on the other PCIe link: those twins carry nothing, and a port is left with half", strings.Join(slices.Compact(lost), " and "))
	o.s.showText("second twins replaced", "log", why, fabric.Subject{})
	o.misset(why)
}

// sparkLink is on which PCIe link a device of NCCL's list is, 0 or 1. Without the list: NCCL sorts them by name, and the
// devices of the second link come last.
func sparkLink(hcas []string, i int) int {
	if i >= 0 && i < len(hcas) {
		if _, twin, ok := twinOf(hcas[i]); ok {
			return twin
		}
	}
	return min(1, max(0, i)/2)
}

// noteMesh reads failed connections of a cluster that is cabled without a switch: by miswired cables, by an NCCL that pairs
// devices by their index, or by subnets that it cannot tell apart.
func (o *observer) noteMesh(n *fabric.Notes) {
	same, crossed := 0, 0
	for _, f := range factsOf(n, "cable") {
		if w := strings.Fields(f.Value); len(w) == 4 && w[1] == w[3] {
			same++
			o.s.showText("cable between equal ports", noteSource(f.Line), fmt.Sprintf("port %s of %s leads to port %s of %s: in a ring each cable joins a port 0 and a port 1", w[1], w[0], w[3], w[2]), fabric.Subject{})
		} else if len(w) == 4 {
			crossed++
		}
	}
	if same == 0 && crossed >= 3 {
		o.s.showText("cables join port 0 and port 1", "text", fmt.Sprintf("all %d cables join a port 0 and a port 1", crossed), fabric.Subject{})
	}
	for _, f := range factsOf(n, "gids") {
		if local, remote, _ := strings.Cut(f.Value, " "); differentCables(f) {
			o.s.showText("ends on different cables", noteSource(f.Line), fmt.Sprintf("a queue pair from %s to %s: the two addresses are of different cables, which no port joins", local, remote), fabric.Subject{})
			break
		}
	}
	if failed := factsOf(n, "qp-timeout"); len(failed) > 0 {
		o.s.broken = append(o.s.broken, fabric.Evidence{Source: noteSource(failed[0].Line), Value: failed[0].Text})
		shows := "a queue pair times out between two"
		if o.mesh(n) {
			shows = "a queue pair times out in a mesh"
		}
		o.s.showText(shows, noteSource(failed[0].Line), failed[0].Text, fabric.Subject{})
		for _, v := range n.Numbers {
			if v.Test == fabric.NotedCollective && v.Gbps > 0.5*portRate(0) && len(factsOf(n, "development")) == 0 {
				o.s.showText("another NCCL is fast on the same cables", noteSource(v.Line), v.Text, fabric.Subject{})
				break
			}
		}
	}
	for _, f := range factsOf(n, "no-mesh-build") {
		o.s.showText("an NCCL without mesh", noteSource(f.Line), f.Text, fabric.Subject{})
	}
	if len(factsOf(n, "development")) > 0 {
		o.s.showText("a development build of NCCL", noteSource(factsOf(n, "development")[0].Line), factsOf(n, "development")[0].Text, fabric.Subject{})
	}
	o.mergedInMesh(n)
}

// mergedInMesh finds devices that are merged although their ports lead to different machines. Rings of four ran with it, so
// that it is a fault where something failed.
func (o *observer) mergedInMesh(n *fabric.Notes) {
	if !o.mesh(n) {
		return
	}
	for _, s := range o.s.settings {
		if s.name == "NCCL_IB_MERGE_NICS" && s.value == "1" {
			why := "NCCL_IB_MERGE_NICS=1 joins ports that lead to different machines: in a mesh it is 0"
			o.s.showText("devices merged in a mesh", s.source, why, fabric.Subject{})
			if len(factsOf(n, "mixed", "socket")) > 0 {
				o.misset(why)
			}
			return
		}
	}
}

// maxHCAs bounds how many devices are read of a line.
const maxHCAs = 64

// differentCables reports whether the two ends of a queue pair have addresses of different cables.
func differentCables(f fabric.NotedFact) bool {
	local, remote, _ := strings.Cut(f.Value, " ")
	return apart(local, remote)
}

// apart reports whether two addresses are of different networks of 24 bits, as NCCL compares them.
func apart(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	if errX != nil || errY != nil || !x.Is4() || !y.Is4() {
		return false
	}
	const compared = 24 // NCCL_IB_SUBNET_PREFIX_LEN
	p, err := x.Prefix(compared)
	return err == nil && !p.Contains(y)
}

// qsfp finds interfaces of the two QSFP ports.
var qsfp = pattern.New(`\benp1s0f[01]np[01]\b|\benP2p1s0f[01]np[01]\b`)

// rendezvous are the variables that name an interface for the rendezvous.
var rendezvous = []string{"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES", "OMPI_MCA_btl_tcp_if_include", "MN_IF_NAME"}

// noteBootstrap finds a rendezvous that some of the machines cannot reach: over a cable that leads to one of them only, or at
// the address of the machine itself.
func (o *observer) noteBootstrap(n *fabric.Notes) {
	if o.mesh(n) {
		for _, s := range o.s.settings {
			if slices.Contains(rendezvous, s.name) && !strings.HasPrefix(s.value, "^") && qsfp().MatchString(s.value) && !o.twice(s) {
				o.cableBootstrap(s.source, s.name+"="+s.value)
			}
		}
		for _, f := range factsOf(n, "oob") {
			if qsfp().MatchString(f.Value) {
				o.cableBootstrap(noteSource(f.Line), "OOB "+f.Value)
			}
		}
	}
	for _, f := range factsOf(n, "loopback") {
		if len(factsOf(n, "machines")) == 0 && !o.mesh(n) {
			return // of one machine it is right
		}
		if who, _, _ := strings.Cut(f.Value, " "); who != "" {
			why := fmt.Sprintf("%s: the other machines cannot reach the loopback address of this one", f.Text)
			o.s.showText("head at the loopback address", noteSource(f.Line), why, fabric.Subject{})
			o.misset(why)
			return
		}
	}
}

// twice reports whether a text sets a variable to different values: a guide for several kinds of cluster.
func (o *observer) twice(v setting) bool {
	return slices.ContainsFunc(o.s.settings, func(s setting) bool { return s.name == v.name && s.value != v.value })
}

func (o *observer) cableBootstrap(source, what string) {
	why := what + ": in a mesh a QSFP port leads to one of the machines only, so the rendezvous belongs on the 10G port (enP7s7) alone"
	o.s.showText("rendezvous over a cable of a mesh", source, why, fabric.Subject{})
	o.misset(why)
}

// noteAddresses finds fast ports that a DHCP server serves.
func (o *observer) noteAddresses(n *fabric.Notes) {
	for _, f := range factsOf(n, "dhcp") {
		why := fmt.Sprintf("DHCP puts the fast ports into %s: all twins in one subnet, and nothing sets their MTU", f.Value)
		o.s.showText("fast ports by DHCP", noteSource(f.Line), why, fabric.Subject{})
		o.misset(why)
		return
	}
}

// unified is the memory of a DGX Spark that GPU and system share, GiB (product page: 128 GB).
const unified = 119

// noteMemory finds a test that takes the memory of a machine: nccl-tests holds a buffer to send and one to receive, and on
// this machine both are taken from what the system runs in.
func (o *observer) noteMemory(n *fabric.Notes) {
	largest := 0
	for _, f := range factsOf(n, "size") {
		if v, err := strconv.Atoi(strings.TrimRight(f.Value, " GgMm")); err == nil && strings.ContainsAny(f.Value, "Gg") {
			largest = max(largest, v)
		}
	}
	const harmful = 16 // GiB: the size that froze machines
	if largest < harmful {
		return
	}
	text := fmt.Sprintf("a test of %d GiB takes at least %d GiB of the %d that GPU and system share", largest, 2*largest, unified)
	o.note("memory", text+", and can freeze the machine (gpu-memory): -e 4G shows the same bandwidth")
	if frozen := factsOf(n, "frozen"); len(frozen) > 0 {
		o.s.showText("a test froze a machine", noteSource(frozen[0].Line), frozen[0].Text+": "+text, fabric.Subject{})
		o.s.failed = append(o.s.failed, fabric.Evidence{Source: noteSource(frozen[0].Line), Value: frozen[0].Text})
	}
}

// noteSockets finds a container without the devices of RDMA.
func (o *observer) noteSockets(n *fabric.Notes) {
	no, used := factsOf(n, "no-rdma"), factsOf(n, "socket")
	switch {
	case len(no) > 0:
		o.s.showText("no RDMA devices in the container", noteSource(no[0].Line), no[0].Text, fabric.Subject{})
		o.misset(no[0].Text + ": NCCL falls back to TCP without an error")
	case len(used) > 0:
		o.s.showText("sockets between nodes", noteSource(used[0].Line), used[0].Text, fabric.Subject{})
		o.misset(used[0].Text + ": NCCL runs on TCP, which needs no error to do so")
	}
}

// oneRank finds a test of one rank: it copies in the memory of its machine and uses no network.
func (o *observer) oneRank(n *fabric.Notes) {
	ranks := map[string]bool{}
	for _, f := range factsOf(n, "rank") {
		ranks[f.Value] = true
	}
	if len(ranks) == 1 && ranks["0"] && o.s.kind != fabric.NCCLTests && o.s.unusable == "" {
		o.s.unusable = "one rank by itself: its bandwidth is that of copies in the machine's own memory, and no cable carries it"
	}
}

// noteLibraries finds that a text names several releases of NCCL: that of the machine and that of a container.
func (o *observer) noteLibraries(n *fabric.Notes) {
	var releases []string
	for _, f := range factsOf(n, "nccl") {
		if !slices.Contains(releases, f.Value) {
			releases = append(releases, f.Value)
		}
	}
	if len(releases) > 1 {
		o.s.showText("several releases of NCCL", "text", "NCCL "+strings.Join(releases, " and ")+": which of them a process has loaded stands in /proc/PID/maps", fabric.Subject{})
	}
	if tree := factsOf(n, "tree"); len(tree) > 0 && o.mesh(n) {
		o.s.showText("trees in a ring without a switch", noteSource(tree[0].Line), tree[0].Text, fabric.Subject{})
	}
}

// noteRemarks says what looks odd on this machine and is none, and what its limits are.
func (o *observer) noteRemarks(n *fabric.Notes) {
	rates := map[string]bool{}
	for _, f := range factsOf(n, "rate") {
		if name, rate, _ := strings.Cut(f.Value, " "); rate == "200000" {
			rates[name] = true
		}
	}
	if len(rates) > 1 {
		o.note("nccl", "NCCL takes 200000 Mb/s for each twin, the rate of the port that they share: its own model of this network is twice too high")
	}
	if len(factsOf(n, "power")) > 0 {
		o.note("power", "healthy machines print the line about 27 W at each start as well: only a measured bandwidth tells")
	}
	if f := factsOf(n, "registration"); len(f) > 0 {
		o.note("memory", "RDMA gets no memory: CmaTotal in /proc/meminfo is 0 kB with kernels that reserve none, whatever the limit of locked memory says")
	}
	if f := factsOf(n, "no-area"); len(f) > 0 {
		o.s.showText("no memory reserved for DMA", noteSource(f[0].Line), f[0].Text, fabric.Subject{})
	}
}
