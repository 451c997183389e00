package check

import (
	"fmt"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func mtu() Rule {
	return Rule{
		ID:        "mtu",
		Title:     "NICs have the planned MTU",
		Doc:       "compares each planned NIC's MTU with the plan: it determines the RoCE payload per packet, and connections between different MTUs fail. The MTU of an interface over InfiniBand (2044, 4092, 65520) is not that of the port: see rdma-mtu",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseMTUMismatch,
		Reference: "the plan; Broadcom RoCE guide 2.6 no. 10 and 5.1 no. 2",
		Facts:     []string{fabric.FactNICs},
		Scope:     []Condition{withPlan(), onRoCE()},
		DependsOn: []string{"nic-present"},
		Node:      judgeMTU,
	}
}

func judgeMTU(in NodeInput) []Verdict {
	want := in.Plan.MTU
	expected := strconv.Itoa(want) + " bytes"
	return in.eachPlanned(func(nic *fabric.NIC) Verdict {
		seen := saw("ip link show dev "+nic.Name, "mtu "+strconv.Itoa(nic.MTU))
		switch {
		case nic.MTU <= 0 || want <= 0:
			return Verdict{Evidence: []fabric.Evidence{seen}, Why: in.why("MTU of "+in.Facts.Node+":"+nic.Name+" was not read", fabric.FactNICs)}
		case nic.MTU == want:
			return pass(expected, seen)
		}
		return Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
			Why:  fmt.Sprintf("%s:%s has MTU %d, the plan says %d.", in.Facts.Node, nic.Name, nic.MTU, want),
			Cost: mtuCost(in.Plan.Transport, nic.MTU, want),
			Fix:  in.untilBoot("ip link set dev " + fabric.ShellWord(nic.Name) + " mtu " + strconv.Itoa(want)),
		}
	})
}

// Bytes of a RoCE v2 packet over IPv4 beside its payload. First what the kernel sets aside when it derives
// the payload from the MTU (include/rdma/ib_addr.h, iboe_get_mtu), then what is on the wire.
const (
	roceSetAside = 40 + 8 + 12 + 4 + 28 + 4 // GRH, UDP, BTH, XRC, atomic header, ICRC

	wireEthernet = 8 + 14 + 4 + 12 // preamble, header, FCS, gap: IEEE 802.3
	wireRoCE     = 20 + 8 + 12 + 4 // IPv4 RFC 791, UDP RFC 768, BTH and ICRC InfiniBand Architecture 1.4, 9.2 and annex A17
	wireHeaders  = wireEthernet + wireRoCE
)

// rocePayload is the largest RDMA payload, in bytes, that an interface MTU in bytes allows; 0: none.
func rocePayload(mtu int) int {
	for _, p := range []int{4096, 2048, 1024, 512, 256} { // the five path MTUs of InfiniBand
		if mtu-roceSetAside >= p {
			return p
		}
	}
	return 0
}

// mtuCost describes what a wrong MTU costs; empty where the fabric is not RoCE.
func mtuCost(t fabric.Transport, have, want int) string {
	h, w := rocePayload(have), rocePayload(want)
	switch {
	case t != fabric.RoCE:
		return ""
	case h == 0 || w == 0:
		return fmt.Sprintf("RoCE needs at least %d bytes: no RDMA on this NIC", 256+roceSetAside)
	case h == w:
		return fmt.Sprintf("none for RDMA (payload %d bytes in both cases); IP packets between %d and %d bytes are lost",
			h, min(have, want), max(have, want))
	}
	share := func(p int) float64 { return 100 * float64(p) / float64(p+wireHeaders) }
	return fmt.Sprintf("RoCE payload %d instead of %d bytes per packet: %.1f instead of %.1f %% of the line rate "+
		"(payload / (payload + %d bytes of headers)) and %.2g times as many packets; where the two ends differ, completion error 12",
		h, w, share(h), share(w), wireHeaders, float64(w)/float64(h))
}

func mtuEqual() Rule {
	return Rule{
		ID:        "mtu-equal",
		Title:     "All NICs of the fabric have the same MTU",
		Doc:       "compares the MTU of all fabric NICs of all nodes: two ends that differ lose large packets",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseMTUMismatch,
		Reference: "Broadcom RoCE guide 2.6 no. 10 and 5.1 no. 2",
		Facts:     []string{fabric.FactNICs},
		Scope:     []Condition{withoutPlan("mtu compares each planned NIC"), onRoCE()},
		DependsOn: []string{"spark-mtu"},
		Cluster:   judgeMTUEqual,
	}
}

func judgeMTUEqual(in ClusterInput) []Verdict {
	counts, total := map[int]int{}, 0
	in.fabricNICs(func(_ *Digest, n *NICDigest) {
		if n.MTU > 0 && !n.OverIB {
			counts[n.MTU]++
			total++
		}
	})
	if total == 0 {
		return in.judgeAlikeMTU()
	}
	if total < 2 {
		return []Verdict{unknown(fabric.ClusterSubject(), "nothing to compare: "+strconv.Itoa(total)+" Ethernet NICs with an RDMA device were seen")}
	}
	want := commonMTU(counts)
	expected := strconv.Itoa(want) + " bytes on every NIC"
	var out []Verdict
	in.fabricNICs(func(d *Digest, n *NICDigest) {
		name := d.Node + ":" + n.Name
		v := Verdict{
			Subject: fabric.NICSubject(d.Node, n.Name), Expected: expected,
			Evidence: []fabric.Evidence{saw("ip link show dev "+n.Name, "mtu "+strconv.Itoa(n.MTU))},
		}
		switch {
		case n.MTU == want || n.OverIB:
			return
		case n.MTU <= 0:
			v.Why = "MTU of " + name + " was not read"
		default:
			v.Status = fabric.Fail
			v.Why = fmt.Sprintf("%s has MTU %d, %d of the fabric's %d NICs have %d.", name, n.MTU, counts[want], total, want)
			v.Cost = mtuCost(fabric.Transport(""), n.MTU, want) // only a plan determines what runs on it
			v.Fix = untilBoot("ip link set dev "+fabric.ShellWord(n.Name)+" mtu "+strconv.Itoa(want), d.Node, false)
		}
		out = append(out, v)
	})
	if len(out) == 0 {
		v := pass(expected, saw("ip link show", strconv.Itoa(total)+" NICs"))
		v.Subject = fabric.ClusterSubject()
		return []Verdict{v}
	}
	return out
}

// judgeAlikeMTU compares interfaces of one name where nothing says which belong to the fabric: of those that differ it
// is unknown which is right, or whether it matters.
func (in ClusterInput) judgeAlikeMTU() []Verdict {
	counts := map[string]map[int]int{}
	visit := func(each func(*Digest, *NICDigest)) {
		for i := range in.Nodes {
			for k := range in.Nodes[i].NICs {
				if n := &in.Nodes[i].NICs[k]; !in.Nodes[i].Nominal && !n.OverIB {
					each(&in.Nodes[i], n)
				}
			}
		}
	}
	visit(func(_ *Digest, n *NICDigest) {
		if counts[n.Name] == nil {
			counts[n.Name] = map[int]int{}
		}
		counts[n.Name][n.MTU]++
	})
	var out []Verdict
	unread := false
	visit(func(d *Digest, n *NICDigest) {
		want := commonMTU(counts[n.Name])
		if n.MTU != want || n.MTU <= 0 {
			s := fabric.NICSubject(d.Node, n.Name)
			out = append(out, unknown(s, fmt.Sprintf("%s has MTU %d, other nodes have %d on %s, and without a cluster file it is unknown whether it belongs to the fabric",
				s, n.MTU, want, n.Name), saw("ip link show dev "+n.Name, "mtu "+strconv.Itoa(n.MTU))))
		}
	})
	for i := range in.Nodes {
		unread = unread || !in.Nodes[i].NoRDMA
	}
	switch {
	case len(out) > 0:
		return out
	case unread:
		return []Verdict{unknown(fabric.ClusterSubject(), "nothing to compare: no NIC with an RDMA device was seen")}
	}
	return []Verdict{{Status: fabric.NotApplicable, Subject: fabric.ClusterSubject(), Why: "no node has an RDMA device (see rdma-device)"}}
}

// commonMTU is the MTU that most NICs have; of two equally common ones the larger, since the default is the smaller.
func commonMTU(counts map[int]int) int {
	best := 0
	for mtu, n := range counts {
		if n > counts[best] || n == counts[best] && mtu > best {
			best = mtu
		}
	}
	return best
}

func (in ClusterInput) fabricNICs(visit func(*Digest, *NICDigest)) {
	for i := range in.Nodes {
		d := &in.Nodes[i]
		for k := range d.NICs {
			if n := &d.NICs[k]; n.Fabric && !d.Nominal {
				visit(d, n)
			}
		}
	}
}
