package facts

import (
	"context"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// legacyTables lists the tables of the older iptables, one a line; only root may read it. It is absent where the kernel has
// none of that code.
const legacyTables = "/proc/net/ip_tables_names"

// readFirewall reads whether there are filters that nft does not list. The filters themselves come from tools.
func readFirewall(_ context.Context, h host.Host, f *fabric.Facts) {
	text, err := host.ReadString(h, legacyTables)
	if host.IsAbsent(err) {
		if _, err = h.ReadDir(path.Dir(legacyTables)); host.IsAbsent(err) {
			return // nothing of the network was there to be read: unknown, as the tools say
		}
	}
	if err != nil {
		miss(f, fabric.FactFirewall, legacyTables, err)
		return
	}
	legacy := slices.Contains(strings.Fields(text), "filter")
	f.Firewall = &fabric.Firewall{Legacy: &legacy}
}

// maxFilterRules bounds the rules that are kept of one tool: firewalld and ufw need some forty. More are not read, so that the
// facts of a node keep their size.
const maxFilterRules = 120

// mergeFirewall adds the chains of a tool that was not read yet.
func (m *merger) mergeFirewall(parts *fabric.Firewall) {
	if parts == nil {
		return
	}
	if m.f.Firewall == nil {
		m.f.Firewall = &fabric.Firewall{}
	}
	for _, tool := range parts.Read {
		if slices.Contains(m.f.Firewall.Read, tool) {
			continue
		}
		m.f.Firewall.Read = append(m.f.Firewall.Read, tool)
		for _, c := range parts.Chains {
			if c.Tool == tool {
				m.f.Firewall.Chains = append(m.f.Firewall.Chains, c)
			}
		}
	}
}

// filterRule is a rule while it is read. never says that no new TCP connection over IPv4 from another host meets it.
type filterRule struct {
	fabric.FilterRule
	never bool
}

// ephemeral are the ports from which Linux picks those of programs that name none (ip-sysctl, ip_local_port_range): what MPI,
// NCCL and perftest listen on.
const ephemeralFirst, ephemeralLast = 32768, 60999

// ports narrows a rule to destination ports: 22, 5000-6000, 5000:6000, several with commas.
func (r *filterRule) ports(list string, not bool) {
	covered, touched := false, false
	for _, one := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(strings.ReplaceAll(strings.TrimSpace(one), ":", "-"), "-")
		a, errA := strconv.Atoi(strings.TrimSpace(first))
		b, errB := a, error(nil)
		if isRange {
			b, errB = strconv.Atoi(strings.TrimSpace(last))
		}
		switch {
		case errA == nil && errB == nil:
		case isRange || !isServiceName(first): // a set by its name, a value of several parts
			r.Part = true
			return
		default: // services with a name have lower ports
			a, b = 1, 1
		}
		covered = covered || a <= ephemeralFirst && b >= ephemeralLast
		touched = touched || a <= ephemeralLast && b >= ephemeralFirst
	}
	if not {
		covered, touched = !touched, !covered
	}
	r.never = r.never || !touched
	r.Part = r.Part || !covered
}

func isServiceName(word string) bool {
	return word != "" && strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// states narrows a rule to states of connections; those here are new.
func (r *filterRule) states(list string, not bool) {
	isNew := slices.ContainsFunc(strings.Split(list, ","), func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), "new") })
	r.never = r.never || isNew == not
}

// protocols narrows a rule to protocols above IP.
func (r *filterRule) protocols(list string, not bool) {
	isTCP := slices.ContainsFunc(strings.Split(list, ","), func(s string) bool {
		return slices.Contains([]string{"tcp", "6", "all", "0"}, strings.ToLower(strings.TrimSpace(s)))
	})
	r.never = r.never || isTCP == not
}

// nics narrows a rule to interfaces that packets come in by. Of a negation only that of the loopback is decided.
func (r *filterRule) nics(names []string, not bool) {
	onlyLoopback := !slices.ContainsFunc(names, func(n string) bool { return n != "lo" })
	switch {
	case not && onlyLoopback:
	case not:
		r.Part = true
	case onlyLoopback:
		r.never = true
	default:
		r.NICs = append(r.NICs, names...)
	}
}

// prefixes narrows a rule to addresses. A set by name, a range and a negation are not decided.
func (r *filterRule) prefixes(into *[]netip.Prefix, list string, not bool) {
	for _, one := range strings.Split(list, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(one))
		if a, addrErr := netip.ParseAddr(strings.TrimSpace(one)); addrErr == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		switch {
		case err != nil || not:
			*into, r.Part = nil, true
			return
		case !p.Addr().Is4():
			r.never = true
		default:
			*into = append(*into, p.Masked())
		}
	}
}

// reachable keeps the chains with a hook and those that their rules jump to, and drops rules without an effect. Too many are
// reported by ok.
func reachable(chains []fabric.Filter) (kept []fabric.Filter, ok bool) {
	at := make(map[string]int, len(chains))
	var queue []string
	for i, c := range chains {
		at[c.Name] = i
		if c.Hook != "" {
			queue = append(queue, c.Name)
		}
	}
	seen, rules := map[string]bool{}, 0
	for ; len(queue) > 0; queue = queue[1:] {
		i, known := at[queue[0]]
		if !known || seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		kept = append(kept, chains[i])
		if rules += len(chains[i].Rules) + 1; rules > maxFilterRules {
			return nil, false
		}
		for _, r := range chains[i].Rules {
			if _, target, jumps := strings.Cut(r.Do, " "); jumps {
				queue = append(queue, target)
			}
		}
	}
	return kept, true
}
