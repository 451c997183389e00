package check

import (
	"fmt"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func nicEqual() Rule {
	return Rule{
		ID:    "nic-equal",
		Title: "NICs of one kind are in the same state",
		Doc: "looks, where no cluster file names the NICs of the fabric, for a NIC that is down or has another MTU than those of the same driver, and that no other rule " +
			"judges because it has no RDMA device: whether it belongs to the fabric is unknown",
		Severity:  fabric.SeverityWarning,
		Reference: "RFC 2863, ifOperStatus; Broadcom RoCE guide 2.6 no. 8 and 10",
		Facts:     []string{fabric.FactNICs, fabric.FactNICPCI, fabric.FactNICDriver},
		Scope:     []Condition{withoutPlan("nic-present, link-up and mtu judge each planned NIC")},
		Node:      judgeNICEqual,
	}
}

func judgeNICEqual(in NodeInput) []Verdict {
	var out []Verdict
	compared := 0
	for _, alike := range in.alikes() {
		mtus := map[int]int{}
		for _, nic := range alike {
			mtus[nic.MTU]++
		}
		common := commonMTU(mtus)
		for _, nic := range alike {
			compared++
			if slices.Contains(in.view.nics, nic.Name) {
				continue // link-up and mtu-equal judge it
			}
			name := in.Facts.Node + ":" + nic.Name
			why := ""
			switch {
			case isDown(nic):
				why = fmt.Sprintf("%s is %s", name, nic.OperState)
			case nic.MTU != common:
				why = fmt.Sprintf("%s has MTU %d, %d of the %d NICs of its kind have %d", name, nic.MTU, mtus[common], len(alike), common)
			}
			if why != "" {
				out = append(out, unknown(fabric.NICSubject(in.Facts.Node, nic.Name), why+", and without a cluster file it is unknown whether it belongs to the fabric",
					saw("ip link show dev "+nic.Name, "operstate "+nic.OperState+", mtu "+strconv.Itoa(nic.MTU))))
			}
		}
	}
	switch {
	case len(out) > 0:
		return out
	case len(in.Facts.NICs) == 0:
		return in.asNode(Verdict{Why: in.why("no interface of "+in.Facts.Node+" was seen", fabric.FactNICs)})
	}
	return in.asNode(pass("up, with one MTU, or judged by link-up and mtu-equal", saw("ip link show", strconv.Itoa(compared)+" of "+fabric.Count(len(in.Facts.NICs), "interface")+" have equals")))
}

// alikes groups the interfaces that could belong to the fabric by driver and kind. Where the fabric is known, only the
// groups that have a part in it are kept: the others are management.
func (in NodeInput) alikes() [][]*fabric.NIC {
	groups := map[string][]*fabric.NIC{}
	var order []string
	for _, name := range in.candidates() {
		nic, _ := in.nic(name)
		kind := nic.Driver + " " + nic.Kind
		if groups[kind] == nil {
			order = append(order, kind)
		}
		groups[kind] = append(groups[kind], nic)
	}
	var out [][]*fabric.NIC
	for _, kind := range order {
		isFabric := func(n *fabric.NIC) bool { return slices.Contains(in.view.nics, n.Name) }
		if len(in.view.nics) == 0 || slices.ContainsFunc(groups[kind], isFabric) {
			out = append(out, groups[kind])
		}
	}
	return out
}
