package check

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func rpFilter() Rule {
	return Rule{
		ID:    "rp-filter",
		Title: "Reverse path filtering drops nothing on fabric NICs",
		Doc: "reads rp_filter of every fabric NIC: strict (1) drops packets that arrive on a NIC other than the one that the return route uses. " +
			"It is harmless where a source rule routes the NIC's own address through that NIC",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRouteMissing,
		Reference: "RFC 3704, 2.2; kernel documentation, networking/ip-sysctl, rp_filter (loose mode with policy routing)",
		Facts:     []string{fabric.FactNICs, fabric.FactNICRPFilter, fabric.FactNICAddresses, fabric.FactRules, fabric.FactRoutes},
		Scope:     []Condition{onRoCE(), withRDMA()},
		DependsOn: []string{"nic-present", "source-rule", "rail-route"},
		Node:      judgeRPFilter,
	}
}

func judgeRPFilter(in NodeInput) []Verdict {
	return in.each(in.ethernet(), func(nic *fabric.NIC) Verdict {
		const want = "0 or 2, or a return route through the same NIC"
		name := in.Facts.Node + ":" + nic.Name
		if nic.RPFilter == nil {
			return Verdict{Why: in.why("rp_filter of "+name+" was not read", fabric.FactNICRPFilter+" "+nic.Name, fabric.FactNICRPFilter)}
		}
		seen := []fabric.Evidence{saw("/proc/sys/net/ipv4/conf/{all,"+nic.Name+"}/rp_filter, the higher", strconv.Itoa(*nic.RPFilter))}
		if *nic.RPFilter != 1 {
			return pass(want, seen...)
		}
		a, ok := in.addressOf(nic)
		if !ok {
			return Verdict{Evidence: seen, Why: in.why("no address of "+name+" was seen, so the return route is unknown", fabric.FactNICAddresses)}
		}
		if in.Plan != nil && in.Plan.Ports != nil {
			return pass(want, append(seen, saw("the plan", "nothing comes to it from outside its subnet"))...)
		}
		back, via := in.wayBack(a)
		if _, cut := in.missing(fabric.FactRules, fabric.FactRoutes); cut || len(in.Facts.Rules) == 0 {
			return Verdict{Evidence: seen, Why: in.why("rules and routes of "+in.Facts.Node+" were not read, so the return route of "+name+" is unknown", fabric.FactRules, fabric.FactRoutes)}
		}
		seen = append(seen, saw("ip route get from "+a.String(), via))
		if len(back) == 1 && back[0] == nic.Name {
			return pass(want, seen...)
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: seen,
			Why:  name + " filters strictly (rp_filter 1), and the return route from " + a.String() + " uses " + orWord(strings.Join(back, ", "), "no NIC") + ": packets from outside its subnet are dropped.",
			Cost: "other rails cannot reach this NIC: no address resolution for RDMA, no ping",
			Fix:  in.untilBoot("sysctl -w net.ipv4.conf." + fabric.ShellWord(strings.ReplaceAll(nic.Name, ".", "/")) + ".rp_filter=2"),
		}
	})
}

func neighbourTable() Rule {
	return Rule{
		ID:        "neighbour-table",
		Title:     "The neighbour table has room for all planned neighbours",
		Doc:       "compares gc_thresh3, the size limit of the kernel's neighbour table, with the number of addresses planned in the node's subnets",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseNeighbourOverflow,
		Reference: "kernel documentation, networking/ip-sysctl, neigh/default/gc_thresh3; the plan",
		Facts:     []string{fabric.FactSysctls + ".net.ipv4.neigh.default.gc_thresh3"},
		Scope:     []Condition{withPlan(), withAddresses(), withHardware(), withOwnAddresses()},
		Node:      judgeNeighbourTable,
	}
}

func judgeNeighbourTable(in NodeInput) []Verdict {
	const key, path = "net.ipv4.neigh.default.gc_thresh3", "/proc/sys/net/ipv4/neigh/default/gc_thresh3"
	text, read := in.Facts.Sysctls[key]
	have, err := strconv.Atoi(text)
	if !read || err != nil {
		return in.asNode(Verdict{Why: in.why(key+" of "+in.Facts.Node+" was not read", fabric.FactSysctls+"."+key)})
	}
	want := in.Plan.neighbours()
	expected := "at least " + strconv.Itoa(want)
	seen := saw(path, text)
	if have >= want {
		return in.asNode(pass(expected, seen))
	}
	// Room for the neighbours outside the fabric, and up to a power of two.
	room := 1024
	for room < 2*want {
		room *= 2
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
		Why:  fmt.Sprintf("The neighbour table of %s holds %d entries, its planned subnets have %d neighbours.", in.Facts.Node, have, want),
		Cost: fmt.Sprintf("%d of %d neighbours cannot be reached at any one time (\"neighbour table overflow\" in the kernel's log)", want-have, want),
		Fix: in.untilBoot(fmt.Sprintf("sysctl -w net.ipv4.neigh.default.gc_thresh3=%d net.ipv4.neigh.default.gc_thresh2=%d net.ipv4.neigh.default.gc_thresh1=%d",
			room, room/2, room/4)),
	})
}
