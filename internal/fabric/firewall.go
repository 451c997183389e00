package fabric

import (
	"net/netip"
	"slices"
	"strings"
)

// Firewall is what of a host's packet filters decides on new TCP connections over IPv4 that come in. Rules that no such
// connection meets (of other protocols, of connections that exist, of the loopback) are left out.
type Firewall struct {
	Read   []string `json:"read,omitempty"`   // tools whose rules are in Chains, whole: nft, iptables, iptables-legacy, ufw
	Legacy *bool    `json:"legacy,omitempty"` // the kernel has tables of the older iptables, which nft does not list
	Chains []Filter `json:"chains,omitempty"`
}

// Filter is a chain of rules.
type Filter struct {
	Tool   string       `json:"tool"`
	Name   string       `json:"name"`             // with its table: inet filter input
	Hook   string       `json:"hook,omitempty"`   // input, prerouting, ingress; empty: other chains jump to it
	Policy string       `json:"policy,omitempty"` // of a chain with a hook, for what no rule decides: accept, drop
	Rules  []FilterRule `json:"rules,omitempty"`
}

// FilterRule is a rule of a chain. All of its conditions must hold.
type FilterRule struct {
	NICs []string       `json:"nics,omitempty"` // that the packet comes in by, one of; NAME* is a prefix; empty: any
	From []netip.Prefix `json:"from,omitempty"` // one of; empty: anywhere
	To   []netip.Prefix `json:"to,omitempty"`   // likewise
	Part bool           `json:"part,omitempty"` // it has more conditions: some of these connections meet them, or which do is unknown
	Do   string         `json:"do"`             // accept, drop, return, jump NAME, goto NAME
}

// String writes a rule in one line.
func (r FilterRule) String() string {
	var words []string
	add := func(name string, texts ...string) {
		if len(texts) > 0 {
			words = append(words, name+" "+strings.Join(texts, ","))
		}
	}
	prefixes := func(all []netip.Prefix) (texts []string) {
		for _, p := range all {
			texts = append(texts, p.String())
		}
		return texts
	}
	add("in", r.NICs...)
	add("from", prefixes(r.From)...)
	add("to", prefixes(r.To)...)
	if r.Part {
		words = append(words, "partly")
	}
	return strings.Join(append(words, r.Do), " ")
}

// String writes a chain in one line.
func (f Filter) String() string {
	words := []string{f.Tool + " " + f.Name}
	if f.Hook != "" {
		words[0] += " (" + f.Hook + ", policy " + f.Policy + ")"
	}
	for _, r := range f.Rules {
		words = append(words, r.String())
	}
	return strings.Join(words, "; ")
}

// Meets reports whether all connections from a subnet to an address of a NIC meet the conditions of a rule, or none does.
func (r FilterRule) Meets(nic string, from netip.Prefix, to netip.Addr) (all, none bool) {
	byNIC := len(r.NICs) == 0 || slices.ContainsFunc(r.NICs, func(n string) bool {
		prefix, wild := strings.CutSuffix(n, "*")
		return n == nic || wild && strings.HasPrefix(nic, prefix)
	})
	whole, some := len(r.From) == 0, len(r.From) == 0
	for _, p := range r.From {
		whole = whole || p.Bits() <= from.Bits() && p.Contains(from.Addr())
		some = some || p.Overlaps(from)
	}
	reaches := len(r.To) == 0 || slices.ContainsFunc(r.To, func(p netip.Prefix) bool { return p.Contains(to) })
	return byNIC && whole && reaches && !r.Part, !byNIC || !some || !reaches
}
