package check

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func address() Rule {
	return Rule{
		ID:        "address",
		Title:     "NICs have the planned address",
		Doc:       "looks for the planned address and prefix length on each planned NIC: peers and routes depend on it",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseAddressMissing,
		Reference: "the plan; Broadcom RoCE guide 2.4.1, 2.4.2 and 2.6 no. 9",
		Facts:     []string{fabric.FactNICs, fabric.FactNICAddresses},
		Scope:     []Condition{withPlan(), withAddresses()},
		DependsOn: []string{"link-up", "one-subnet"},
		Node:      judgeAddress,
	}
}

func judgeAddress(in NodeInput) []Verdict {
	return in.eachAddress(func(a fabric.NICAddress, nic *fabric.NIC) Verdict {
		name, want := in.Facts.Node+":"+nic.Name, a.Address.String()
		seen := saw("ip address show dev "+nic.Name, prefixes(nic.Addresses))
		if slices.Contains(nic.Addresses, a.Address) {
			return pass(want, saw("ip address show dev "+nic.Name, want))
		}
		if _, cut := in.missing(fabric.FactNICAddresses); cut {
			return Verdict{Evidence: []fabric.Evidence{seen}, Why: in.why("addresses of "+name+" were not read", fabric.FactNICAddresses)}
		}
		if v, crossed := in.judgeCrossed(a, nic); crossed {
			v.Expected, v.Evidence = want, append([]fabric.Evidence{seen}, v.Evidence...)
			return v
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
			Why: in.ofPort(nic.Name) + name + " has " + in.describe(fabric.Endpoint{Node: in.Facts.Node, NIC: nic.Name}, nic.Addresses) + ", planned is " + want + ".",
			Fix: in.untilBoot(replaceAddresses(nic, a.Address)),
		}
	})
}

// describe lists the addresses of a NIC and the other NICs that they are planned for.
func (in NodeInput) describe(at fabric.Endpoint, have []netip.Prefix) string {
	if len(have) == 0 {
		return "no address"
	}
	words := make([]string, 0, len(have))
	for _, p := range have {
		w := p.String()
		if e, ok := in.Plan.index.ownerOf(p.Addr()); ok && e != at {
			w += " (planned for " + e.String() + ")"
		}
		words = append(words, w)
	}
	return strings.Join(words, ", ")
}

// replaceAddresses is the command that leaves a NIC with one address of the planned family: link-local
// ones stay.
func replaceAddresses(nic *fabric.NIC, want netip.Prefix) string {
	command := ""
	for _, p := range nic.Addresses {
		if p.Addr().IsGlobalUnicast() && p.Addr().Is4() == want.Addr().Is4() {
			command += "ip address del " + p.String() + " dev " + fabric.ShellWord(nic.Name) + " && "
		}
	}
	return command + "ip address add " + want.String() + " dev " + fabric.ShellWord(nic.Name)
}

// eachAddress judges every NIC that has a planned address.
func (in NodeInput) eachAddress(judge func(fabric.NICAddress, *fabric.NIC) Verdict) []Verdict {
	names := make([]string, 0, len(in.Plan.Addresses))
	for _, a := range in.Plan.Addresses {
		names = append(names, a.NIC)
	}
	return in.each(names, func(nic *fabric.NIC) Verdict {
		a, _ := in.Plan.address(nic.Name)
		return judge(a, nic)
	})
}

func prefixes(list []netip.Prefix) string {
	if len(list) == 0 {
		return "none"
	}
	words := make([]string, 0, len(list))
	for _, p := range list {
		words = append(words, p.String())
	}
	return strings.Join(words, " ")
}

func duplicateAddress() Rule {
	return Rule{
		ID:        "duplicate-address",
		Title:     "No address is in use twice",
		Doc:       "compares the addresses of all nodes: two NICs with the same address receive each other's traffic",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseAddressConflict,
		Reference: "RFC 5227",
		Facts:     []string{fabric.FactNICs, fabric.FactNICAddresses},
		Scope:     []Condition{withAddresses(), withIP()},
		DependsOn: []string{"address"},
		Cluster:   judgeDuplicateAddress,
	}
}

// holder is a NIC with an address that another NIC has too.
type holder struct {
	at      fabric.Endpoint
	address netip.Addr
}

func judgeDuplicateAddress(in ClusterInput) []Verdict {
	order, shared, total := in.sharedAddresses()
	if total == 0 {
		return []Verdict{unknown(fabric.ClusterSubject(), "no address was seen on "+strconv.Itoa(len(in.Nodes))+" nodes")}
	}
	out := in.judgeHolders(order, shared)
	for _, d := range in.Nodes {
		if d.Unread != "" {
			out = append(out, unknown(fabric.NodeSubject(d.Node), d.Unread))
		}
	}
	if len(out) == 0 {
		v := pass("each address on one NIC", saw("ip address show", strconv.Itoa(total)+" addresses"))
		v.Subject = fabric.ClusterSubject()
		return []Verdict{v}
	}
	return out
}

// sharedAddresses finds the addresses that several NICs have, with their NICs; total counts all addresses.
func (in ClusterInput) sharedAddresses() (order []holder, shared map[netip.Addr][]fabric.Endpoint, total int) {
	first := map[netip.Addr]fabric.Endpoint{}
	shared = map[netip.Addr][]fabric.Endpoint{}
	visit := func(e fabric.Endpoint, a netip.Addr) {
		one, used := first[a]
		switch {
		case !used:
			first[a] = e
			return
		case one == e: // twice on one NIC, with two prefix lengths
			return
		case shared[a] == nil:
			shared[a] = []fabric.Endpoint{one}
			order = append(order, holder{one, a})
		}
		shared[a] = append(shared[a], e)
		order = append(order, holder{e, a})
	}
	for _, d := range in.Nodes {
		if d.Nominal {
			continue
		}
		for _, n := range d.NICs {
			for _, a := range n.Addresses {
				visit(fabric.Endpoint{Node: d.Node, NIC: n.Name}, a)
			}
		}
	}
	return order, shared, len(first)
}

// judgeHolders returns one verdict per NIC, the worst of its shared addresses.
func (in ClusterInput) judgeHolders(order []holder, shared map[netip.Addr][]fabric.Endpoint) []Verdict {
	var out []Verdict
	at := map[fabric.Endpoint]int{}
	for _, h := range order {
		v := in.judgeHolder(h, shared[h.address])
		i, again := at[h.at]
		switch {
		case !again:
			at[h.at] = len(out)
			out = append(out, v)
		case out[i].Status != fabric.Fail:
			out[i] = v
		}
	}
	return out
}

// judgeHolder fails every NIC except the one that the address is planned for.
func (in ClusterInput) judgeHolder(h holder, all []fabric.Endpoint) Verdict {
	subject := fabric.NICSubject(h.at.Node, h.at.NIC)
	seen := saw("ip address show dev "+h.at.NIC, h.address.String())
	rest := otherHolders(h.at, all)
	if owner, planned := in.index.ownerOf(h.address); planned && owner == h.at {
		return unknown(subject, "not evaluated while duplicate-address fails on "+rest+": "+h.address.String()+
			" is planned for "+h.at.String(), seen)
	}
	return Verdict{
		Status: fabric.Fail, Subject: subject, Expected: "each address on one NIC",
		Evidence: []fabric.Evidence{seen, saw("ip address show", h.address.String()+" on "+rest)},
		Why:      h.at.String() + " has " + h.address.String() + ", and so has " + rest + ".",
		Fix:      untilBoot("ip address flush to "+h.address.String()+" dev "+fabric.ShellWord(h.at.NIC), h.at.Node, in.Plan != nil),
	}
}

// mostNamed is how many others a finding names: with the names of all of them, N nodes made from one image
// would take N² names.
const mostNamed = 8

// otherHolders names the first NICs but one, and counts the rest.
func otherHolders(but fabric.Endpoint, all []fabric.Endpoint) string {
	names := make([]string, 0, mostNamed+1)
	for _, e := range all {
		if len(names) == mostNamed {
			break
		}
		if e != but {
			names = append(names, e.String())
		}
	}
	return andMore(names, len(all)-1)
}

// andMore joins the first names of total, and counts the rest.
func andMore(names []string, total int) string {
	text := strings.Join(names, ", ")
	if n := total - len(names); n > 0 {
		text += " and " + strconv.Itoa(n) + " more"
	}
	return text
}
