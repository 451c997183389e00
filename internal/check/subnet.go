package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func oneSubnet() Rule {
	return Rule{
		ID:    "one-subnet",
		Title: "No two NICs of a node answer ARP for each other",
		Doc: "looks for NICs of one node in overlapping IPv4 subnets without arp_ignore: with the kernel's defaults each of them " +
			"answers for the address of another, and RDMA maps a remote address to the wrong NIC",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseARPFlux,
		Reference: "Broadcom RoCE guide 2.4; kernel documentation, networking/ip-sysctl, arp_ignore",
		Facts:     []string{fabric.FactNICs, fabric.FactNICAddresses, fabric.FactNICARPIgnore},
		Scope:     []Condition{onRoCE()},
		DependsOn: []string{"spark-subnets", "nic-present"},
		Node:      judgeOneSubnet,
	}
}

// overlap is an address of one NIC whose subnet overlaps that of another NIC of the node.
type overlap struct {
	own   netip.Prefix
	other *fabric.NIC
	its   netip.Prefix
}

func judgeOneSubnet(in NodeInput) []Verdict {
	names := in.ethernet()
	if len(names) == 0 {
		names = in.candidates()
	}
	return in.each(names, func(nic *fabric.NIC) Verdict {
		seen := saw("ip address show dev "+nic.Name, prefixes(nic.Addresses))
		const want = "IPv4 subnets that no other NIC of the node shares, or arp_ignore 1 or 2 in effect"
		if _, cut := in.missing(fabric.FactNICAddresses); cut {
			return Verdict{Evidence: []fabric.Evidence{seen}, Why: in.why("addresses of "+in.Facts.Node+":"+nic.Name+" were not read", fabric.FactNICAddresses)}
		}
		found := in.overlaps(nic, names)
		if len(found) == 0 {
			return pass(want, seen)
		}
		v := in.judgeOverlaps(nic, found)
		v.Expected = want
		v.Evidence = append([]fabric.Evidence{seen}, v.Evidence...)
		return v
	})
}

// judgeOverlaps judges a NIC by the first overlap that is not harmless.
func (in NodeInput) judgeOverlaps(nic *fabric.NIC, found []overlap) Verdict {
	worst := Verdict{Status: fabric.Pass, Evidence: []fabric.Evidence{arpIgnore(nic)}}
	for _, o := range found {
		v := in.judgeOverlap(nic, o)
		if v.Status == fabric.Fail {
			return v
		}
		if v.Status == fabric.Unknown && worst.Status == fabric.Pass {
			worst = v
		}
	}
	return worst
}

func (in NodeInput) judgeOverlap(nic *fabric.NIC, o overlap) Verdict {
	name, other := in.Facts.Node+":"+nic.Name, in.Facts.Node+":"+o.other.Name
	seen := []fabric.Evidence{saw("ip address show dev "+o.other.Name, o.its.String()), arpIgnore(nic), arpIgnore(o.other)}
	port, twins := in.twinsOf(nic.Name, o.other.Name)
	switch {
	case twins && in.planned(nic, o.own) && !in.planned(o.other, o.its):
		return Verdict{Evidence: seen, Why: "not evaluated while one-subnet fails on " + other + ", its twin on " + port}
	case twins: // arp_ignore does not help: routes pick either
		return Verdict{
			Status: fabric.Fail, Evidence: seen,
			Why: fmt.Sprintf("Both twins of %s are in one subnet: %s has %s and %s has %s. The kernel sends to that subnet by one of them alone, and ARP finds either.",
				port, nic.Name, o.own, o.other.Name, o.its),
			Cost: "half of the port, and RDMA connections that come in on the wrong twin fail",
			Fix:  in.oneSubnetFix(nic, o.own),
		}
	case guarded(nic) && guarded(o.other):
		return Verdict{Status: fabric.Pass, Evidence: seen}
	case !exposed(nic) && !exposed(o.other):
		return Verdict{Evidence: seen, Why: in.why(name+" and "+other+" share a subnet and arp_ignore was not read",
			fabric.FactNICARPIgnore+" "+nic.Name, fabric.FactNICARPIgnore+" "+o.other.Name)}
	case in.planned(nic, o.own) && !in.planned(o.other, o.its):
		return Verdict{Evidence: seen, Why: "not evaluated while one-subnet fails on " + other + ", which is in the subnet planned for " + name}
	}
	return Verdict{
		Status: fabric.Fail, Evidence: seen,
		Why: name + " has " + o.own.String() + " and " + other + " has " + o.its.String() +
			": both are in one subnet, and each answers ARP requests for the other's address.",
		Cost: "peers send to the wrong NIC: pairs fail, or two rails share one link at 1/2 of its rate each",
		Fix:  in.oneSubnetFix(nic, o.own),
	}
}

// oneSubnetFix replaces an unplanned address with the planned one; for a planned one it sets the sysctls instead.
func (in NodeInput) oneSubnetFix(nic *fabric.NIC, own netip.Prefix) string {
	if in.Plan != nil && !in.planned(nic, own) {
		if a, ok := in.Plan.address(nic.Name); ok && !slices.Contains(nic.Addresses, a.Address) {
			return in.untilBoot(replaceAddresses(nic, a.Address))
		}
		return in.untilBoot("ip address del " + own.String() + " dev " + fabric.ShellWord(nic.Name))
	}
	return in.untilBoot("sysctl -w net.ipv4.conf.all.arp_ignore=2 net.ipv4.conf.all.arp_announce=1")
}

func (in NodeInput) planned(nic *fabric.NIC, p netip.Prefix) bool {
	if in.Plan == nil {
		return false
	}
	a, ok := in.Plan.address(nic.Name)
	return ok && a.Address == p
}

// overlaps lists the other NICs whose IPv4 subnets overlap those of nic; loopback and link-local do not count.
func (in NodeInput) overlaps(nic *fabric.NIC, names []string) []overlap {
	var found []overlap
	for i := range in.Facts.NICs {
		other := &in.Facts.NICs[i]
		if other.Name == nic.Name || !slices.Contains(names, other.Name) {
			continue
		}
		for _, own := range nic.Addresses {
			for _, its := range other.Addresses {
				if own.Addr().Is4() && own.Addr().IsGlobalUnicast() && its.Addr().IsGlobalUnicast() && own.Overlaps(its) {
					found = append(found, overlap{own, other, its})
				}
			}
		}
	}
	return found
}

// guarded reports whether arp_ignore is a value with which a NIC answers only for its own addresses (1, 2) or
// for none (8). 3 withholds only addresses of scope host; 4 to 7 are reserved (ip-sysctl).
func guarded(nic *fabric.NIC) bool {
	return nic.ARPIgnore != nil && (*nic.ARPIgnore == 1 || *nic.ARPIgnore == 2 || *nic.ARPIgnore == 8)
}

func exposed(nic *fabric.NIC) bool { return nic.ARPIgnore != nil && !guarded(nic) }

func arpIgnore(nic *fabric.NIC) fabric.Evidence {
	value := "not read"
	if nic.ARPIgnore != nil {
		value = strconv.Itoa(*nic.ARPIgnore)
	}
	return saw("/proc/sys/net/ipv4/conf/{all,"+nic.Name+"}/arp_ignore, the higher", value)
}
