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
		Doc:       "compares each planned NIC's MTU with the plan: it determines the RoCE payload per packet, and connections between different MTUs fail",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseMTUMismatch,
		Reference: "the plan; Broadcom RoCE guide 2.6 no. 10 and 5.1 no. 2",
		Scope:     []Condition{withPlan()},
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
		Scope:     []Condition{withRDMA()},
		DependsOn: []string{"mtu"},
		Cluster:   judgeMTUEqual,
	}
}

func judgeMTUEqual(in ClusterInput) []Verdict {
	counts, total := map[int]int{}, 0
	in.fabricNICs(func(_ *Digest, n *NICDigest) {
		if n.MTU > 0 {
			counts[n.MTU]++
			total++
		}
	})
	if total < 2 {
		return []Verdict{unknown(fabric.ClusterSubject(), "nothing to compare: "+strconv.Itoa(total)+
			" NICs with an RDMA device or in a cluster file were seen")}
	}
	want, transport := commonMTU(counts), fabric.Transport("") // only the plan determines what runs on it
	if in.Plan != nil {
		want, transport = in.Plan.MTU, in.Plan.Transport
	}
	expected := strconv.Itoa(want) + " bytes on every NIC"
	var out []Verdict
	in.fabricNICs(func(d *Digest, n *NICDigest) {
		name := d.Node + ":" + n.Name
		v := Verdict{
			Subject: fabric.NICSubject(d.Node, n.Name), Expected: expected,
			Evidence: []fabric.Evidence{saw("ip link show dev "+n.Name, "mtu "+strconv.Itoa(n.MTU))},
		}
		switch {
		case n.MTU == want:
			return
		case n.MTU <= 0:
			v.Why = "MTU of " + name + " was not read"
		default:
			v.Status = fabric.Fail
			v.Why = fmt.Sprintf("%s has MTU %d, %d of the fabric's %d NICs have %d.", name, n.MTU, counts[want], total, want)
			v.Cost = mtuCost(transport, n.MTU, want)
			v.Fix = untilBoot("ip link set dev "+fabric.ShellWord(n.Name)+" mtu "+strconv.Itoa(want), d.Node, in.Plan != nil)
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
