package facts

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const (
	iptablesTool       = "iptables"
	iptablesLegacyTool = "iptables-legacy"
)

// legacyRun marks the run that asks for the tables of the older iptables.
const legacyRun = "legacy"

// iptablesRuns asks for the older tables, which nft does not list, only where there are some: the tool loads modules. And it
// asks where iptables made the rules that nft lists: of those it knows every condition, nft does not.
func iptablesRuns(_ host.Host, f *fabric.Facts) (runs []toolRun) {
	if f.Firewall == nil {
		return nil
	}
	if slices.ContainsFunc(f.Firewall.Chains, func(c fabric.Filter) bool { return c.Name == iptablesInNft }) {
		runs = append(runs, toolRun{argv: []string{iptablesTool, "-S"}})
	}
	if f.Firewall.Legacy != nil && *f.Firewall.Legacy {
		runs = append(runs, toolRun{argv: []string{iptablesLegacyTool, "-S"}, device: legacyRun})
	}
	return runs
}

// iptablesInNft is the chain in which nft shows what iptables made.
const iptablesInNft = "ip filter INPUT"

func knowsIptables(text string) bool { return hasLine(text, isIptablesLine) }

func isIptablesLine(line string) bool {
	if !strings.HasPrefix(strings.TrimSpace(line), "-") {
		return false
	}
	words := strings.Fields(line)
	return len(words) == 3 && words[0] == "-P" && slices.Contains([]string{"INPUT", "FORWARD", "OUTPUT"}, words[1]) || len(words) > 3 && words[0] == "-A" && strings.Contains(line, " -j ")
}

// parseIptables reads iptables -S: the policies, the chains, then their rules (iptables(8)).
func parseIptables(text, run string) (fabric.Facts, error) {
	tool := iptablesTool
	if run == legacyRun {
		tool = iptablesLegacyTool
	}
	at := map[string]int{}
	var chains []fabric.Filter
	chain := func(name string) *fabric.Filter {
		i, known := at[name]
		if !known {
			i = len(chains)
			at[name] = i
			chains = append(chains, fabric.Filter{Tool: tool, Name: "filter " + fabric.Printable(name)})
		}
		return &chains[i]
	}
	for line := range strings.Lines(text) {
		words := nftWords(strings.TrimSpace(line))
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "-P" && len(words) == 3:
			if c := chain(words[1]); words[1] == "INPUT" {
				c.Hook, c.Policy = "input", map[bool]string{true: "accept", false: "drop"}[words[2] == "ACCEPT"]
			}
		case words[0] == "-N" && len(words) == 2:
			chain(words[1])
		case words[0] == "-A" && len(words) > 2:
			if rule, effect := iptablesRule(words[2:]); effect && !rule.never {
				c := chain(words[1])
				c.Rules = append(c.Rules, rule.FilterRule)
			}
		default:
			return fabric.Facts{}, errForeignText
		}
	}
	if i, known := at["INPUT"]; !known || chains[i].Hook == "" {
		return fabric.Facts{}, fmt.Errorf("no policy of INPUT in it: %w", errForeignText)
	}
	kept, ok := reachable(chains)
	if !ok {
		return fabric.Facts{}, fmt.Errorf("more than %d rules that new connections may meet: not evaluated", maxFilterRules)
	}
	return fabric.Facts{Firewall: &fabric.Firewall{Read: []string{tool}, Chains: kept}}, nil
}

// iptablesRule reads the options of a rule.
func iptablesRule(words []string) (rule filterRule, effect bool) {
	not := false
	for len(words) > 0 {
		option, value := words[0], "?"
		if len(words) > 1 {
			value = words[1]
		}
		if option == "!" {
			not, words = true, words[1:]
			continue
		}
		if option == "-j" || option == "-g" {
			return rule, rule.iptablesTarget(option, value)
		}
		words = words[min(rule.iptablesOption(option, value, words, not), len(words)):]
		not = false
	}
	return rule, false // it only counts
}

// iptablesTarget reads what is done; targets that only log or mark have no effect here.
func (r *filterRule) iptablesTarget(option, target string) (effect bool) {
	switch target {
	case "ACCEPT", "RETURN":
		r.Do = strings.ToLower(target)
	case "DROP", "REJECT", "TARPIT":
		r.Do = "drop"
	case "QUEUE", "NFQUEUE":
		r.Do, r.Part = "drop", true
	case "LOG", "NFLOG", "ULOG", "AUDIT", "MARK", "CONNMARK", "CONNSECMARK", "SECMARK", "TRACE", "SET", "CLASSIFY", "CT", "NOTRACK", "TCPMSS":
		return false
	default:
		r.Do = map[bool]string{true: "goto ", false: "jump "}[option == "-g"] + "filter " + fabric.Printable(target)
	}
	return true
}

// iptablesOption reads one condition and says how many words it took.
func (r *filterRule) iptablesOption(option, value string, words []string, not bool) int {
	switch option {
	case "-s", "--source":
		r.prefixes(&r.From, value, not)
	case "-d", "--destination":
		r.prefixes(&r.To, value, not)
	case "-i", "--in-interface":
		name, wild := strings.CutSuffix(value, "+")
		r.nics([]string{name + map[bool]string{true: "*", false: ""}[wild]}, not)
	case "-p", "--protocol":
		r.protocols(value, not)
	case "--dport", "--dports", "--destination-port", "--destination-ports":
		r.ports(value, not)
	case "--ctstate", "--state":
		r.states(value, not)
	case "--comment":
	case "-m":
		if !slices.Contains([]string{"tcp", "udp", "conntrack", "state", "comment", "multiport", "addrtype"}, value) {
			r.Part = true // limit, recent, set, owner and others
		}
	case "--syn":
		r.never = r.never || not
		return 1
	case "--tcp-flags": // MASK COMP: a new connection has SYN alone
		if len(words) < 3 {
			return len(words)
		}
		masked := slices.Contains(strings.Split(value, ","), "SYN") || value == "ALL"
		isSYN := words[2] == "SYN" && masked || words[2] == "NONE" && !masked
		r.never = r.never || isSYN == not
		return 3
	case "--dst-type":
		r.never = r.never || slices.Contains(strings.Split(value, ","), "LOCAL") == not
	case "-f", "--fragment":
		r.never = r.never || !not
		return 1
	default:
		r.Part = true
		return 1
	}
	return 2
}
