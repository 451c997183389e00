package check

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func firewall() Rule {
	return Rule{
		ID:        "firewall",
		Title:     "No firewall keeps the hosts of the fabric apart",
		Doc:       "follows a new TCP connection from the fabric to each fabric NIC through the packet filters of the host: MPI, the bootstrap of NCCL and RCCL, and perftest listen on ports that the kernel picks. RoCE itself passes the filters by; the network of the bootstrap may be another one, which this rule does not know",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseFirewall,
		Reference: "Broadcom RoCE guide 957608-AN209, 2.6 no. 13; nft(8), iptables(8); AMD, single-node network configuration",
		Facts:     []string{fabric.FactFirewall, fabric.FactNICAddresses},
		Scope:     []Condition{withAddresses(), withIP(), withHardware(), withRDMA()},
		Node:      judgeFirewall,
	}
}

func judgeFirewall(in NodeInput) []Verdict {
	names := in.ethernet()
	if len(names) == 0 {
		return in.asNode(Verdict{Why: in.why("no NIC of the fabric of "+in.Facts.Node+" was seen", fabric.FactNICs, fabric.FactHCAs)})
	}
	open := in.firewallOpen()
	return in.each(names, func(nic *fabric.NIC) Verdict { return in.judgeFilters(nic, open) })
}

// firewallOpen is what keeps the filters that were read from being all; empty: they are.
func (in NodeInput) firewallOpen() string {
	f := in.Facts.Firewall
	what := "packet filters of its host were not read whole" // without its name, so that all hosts have one reason
	read := func(tool string) bool { return f != nil && slices.Contains(f.Read, tool) }
	missed := in.why(what, fabric.FactFirewall, fabric.FactFirewall+" legacy")
	_, broken := in.missing(fabric.FactFirewall, fabric.FactFirewall+" legacy")
	switch {
	case broken, !read("nft"), f.Legacy == nil:
		return missed
	case *f.Legacy && !read("iptables-legacy"):
		return missed + "; there are tables of the older iptables, which nft does not list"
	}
	return ""
}

func (in NodeInput) judgeFilters(nic *fabric.NIC, open string) Verdict {
	const want = "accepted: a new TCP connection from the fabric, on any port"
	name := in.Facts.Node + ":" + nic.Name
	sources := in.fabricSubnets(nic)
	if len(sources) == 0 {
		return Verdict{Expected: want, Why: in.why(name+" has no IPv4 address that was seen", fabric.FactNICAddresses)}
	}
	worst, seen := accepted, []fabric.Evidence(nil)
	for _, from := range sources {
		got, by := in.filtered(nic, from)
		if got == dropped || got != accepted && worst == accepted {
			worst = got
		}
		seen = append(seen, by...)
	}
	switch {
	case worst == dropped:
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: seen,
			Why:  "A packet filter of " + in.Facts.Node + " drops new connections from " + sources[0].String() + " to " + nic.Name + ".",
			Cost: "the bootstrap of MPI, NCCL or RCCL, and perftest, cannot connect: jobs fail, or hang until a timeout",
			Fix:  onNode("ufw allow from "+sources[0].String()+", or firewall-cmd --permanent --zone=trusted --add-source="+sources[0].String()+" && firewall-cmd --reload; the same for the network of the bootstrap", in.Facts.Node),
		}
	case open != "":
		return Verdict{Expected: want, Evidence: seen, Why: open}
	case worst != accepted:
		return Verdict{Expected: want, Evidence: seen, Why: "whether filters of " + in.Facts.Node + " let all new connections from the fabric to " + nic.Name + " in depends on conditions that are not evaluated"}
	}
	if len(seen) == 0 {
		seen = []fabric.Evidence{saw("nft list ruleset", "no filter for packets that come in")}
	}
	return pass(want, seen...)
}

// fabricSubnets are where connections to a NIC come from: with a plan the least subnet that holds all planned addresses, else
// the NIC's own subnets.
func (in NodeInput) fabricSubnets(nic *fabric.NIC) (subnets []netip.Prefix) {
	var own []netip.Prefix
	for _, p := range nic.Addresses {
		if p.Addr().Is4() {
			own = append(own, p.Masked())
		}
	}
	if in.Plan == nil || len(own) == 0 {
		return own
	}
	if whole := in.Plan.index.span; whole.IsValid() {
		return []netip.Prefix{whole}
	}
	return own
}

// spanOf is the least subnet with every address of version 4; invalid where there is none.
func spanOf(addresses iter.Seq[netip.Addr]) netip.Prefix {
	var low, high netip.Addr
	for a := range addresses {
		if !a.Is4() {
			continue
		}
		if !low.IsValid() || a.Less(low) {
			low = a
		}
		if !high.IsValid() || high.Less(a) {
			high = a
		}
	}
	if !low.IsValid() {
		return netip.Prefix{}
	}
	p := netip.PrefixFrom(low, low.BitLen())
	for !p.Contains(high) {
		p = netip.PrefixFrom(low, p.Bits()-1).Masked()
	}
	return p
}

// outcome is what may become of connections: one bit for each end.
type outcome int

const (
	accepted outcome = 1 << iota
	dropped
	passedOn // no rule of the chain decides
)

// maxJumps bounds chains that call each other: the kernel allows 16 (nft(8), iptables(8): chains may not loop).
const maxJumps = 16

// filtered follows connections from a subnet through all chains with a hook: one that drops them is enough.
func (in NodeInput) filtered(nic *fabric.NIC, from netip.Prefix) (result outcome, by []fabric.Evidence) {
	result = accepted
	if in.Facts.Firewall == nil {
		return result, nil
	}
	f := in.Facts.Firewall
	w := walk{chains: map[string]*fabric.Filter{}, nic: nic, from: from}
	for i := range f.Chains {
		w.chains[f.Chains[i].Tool+" "+f.Chains[i].Name] = &f.Chains[i]
	}
	for i := range f.Chains {
		c := &f.Chains[i]
		if c.Hook == "" || in.toldBetter(c) {
			continue
		}
		got := w.chain(c, 0)
		if got&passedOn != 0 {
			got = got&^passedOn | map[bool]outcome{true: accepted, false: dropped}[c.Policy == "accept"]
		}
		if got == accepted {
			continue
		}
		by = append(by, saw(c.Tool, c.Name+", hook "+c.Hook+", policy "+c.Policy+": "+fabric.Count(len(c.Rules), "rule")))
		if result |= got; got == dropped {
			return dropped, by
		}
	}
	return result, by
}

// toldBetter reports whether a chain that nft lists is what iptables made and told itself, with every condition.
func (in NodeInput) toldBetter(c *fabric.Filter) bool {
	f := in.Facts.Firewall
	return c.Tool == "nft" && c.Name == "ip filter INPUT" && slices.Contains(f.Read, "iptables")
}

// walk follows connections through chains.
type walk struct {
	chains map[string]*fabric.Filter // by tool and name
	nic    *fabric.NIC
	from   netip.Prefix
}

func (w walk) chain(c *fabric.Filter, depth int) (result outcome) {
	if depth > maxJumps {
		return accepted | dropped
	}
	for _, r := range c.Rules {
		all, none := w.meets(r)
		if none {
			continue
		}
		var got outcome
		switch word, target, _ := strings.Cut(r.Do, " "); word {
		case "accept":
			got = accepted
		case "drop":
			got = dropped
		case "return":
			result |= passedOn
			if all {
				return result
			}
			continue
		default:
			if got = w.jump(c.Tool+" "+target, depth); word == "goto" && all {
				return result | got
			}
		}
		result |= got &^ passedOn
		if strings.HasPrefix(r.Do, "goto ") {
			result |= got & passedOn
		}
		if all && got&passedOn == 0 {
			return result
		}
	}
	return result | passedOn
}

// jump follows another chain; one that was not read may do anything.
func (w walk) jump(name string, depth int) outcome {
	c, known := w.chains[name]
	if !known {
		return accepted | dropped | passedOn
	}
	return w.chain(c, depth+1)
}

// meets joins what a rule says of each address of the NIC.
func (w walk) meets(r fabric.FilterRule) (all, none bool) {
	all, none = true, true
	for _, p := range w.nic.Addresses {
		if p.Addr().Is4() {
			a, n := r.Meets(w.nic.Name, w.from, p.Addr())
			all, none = all && a, none && n
		}
	}
	return all, none
}
