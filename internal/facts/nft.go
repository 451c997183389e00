package facts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const nftTool = "nft"

// nftTablesTool says of a ruleset without rules that it has none: as text nft prints nothing of it, as it does when it breaks.
const nftTablesTool = "nft list tables"

func nftTablesRuns(host.Host, *fabric.Facts) []toolRun {
	return []toolRun{{argv: []string{"nft", "-j", "list", "tables"}}}
}

func knowsNftTables(text string) bool {
	return strings.HasPrefix(text, `{"nftables":`) && strings.Contains(text, `"metainfo"`) && !strings.Contains(text, `"chain"`)
}

// parseNftTables reads the list of tables as JSON (libnftables-json(5)). With a table in it nothing is known yet.
func parseNftTables(text, _ string) (fabric.Facts, error) {
	var list struct {
		Nftables []struct {
			Metainfo *struct {
				Schema int `json:"json_schema_version"`
			} `json:"metainfo"`
			Table *struct {
				Family string `json:"family"`
			} `json:"table"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return fabric.Facts{}, fmt.Errorf("list of tables: %w", err)
	}
	if len(list.Nftables) == 0 || list.Nftables[0].Metainfo == nil {
		return fabric.Facts{}, errForeignText
	}
	if len(list.Nftables) > 1 {
		return fabric.Facts{}, nil
	}
	return fabric.Facts{Firewall: &fabric.Firewall{Read: []string{nftTool}}}, nil
}

// nftRuns asks for the rules where there are tables.
func nftRuns(_ host.Host, f *fabric.Facts) []toolRun {
	if f.Firewall != nil && slices.Contains(f.Firewall.Read, nftTool) {
		return nil
	}
	return []toolRun{{argv: []string{"nft", "list", "ruleset"}}}
}

func knowsNft(text string) bool { return hasLine(text, isNftTable) }

// isNftGoingOn knows the lines of a table: indented, or the brace that ends it.
func isNftGoingOn(line string) bool {
	return line[0] == ' ' || line[0] == '\t' || strings.TrimSpace(line) == "}" || isNftTable(line)
}

// isNftTable knows "table inet firewalld { # progname firewalld".
func isNftTable(line string) bool {
	if !strings.HasPrefix(strings.TrimSpace(line), "table") {
		return false
	}
	words := strings.Fields(line)
	return len(words) >= 4 && words[0] == "table" && slices.Contains([]string{"ip", "ip6", "inet", "arp", "bridge", "netdev"}, words[1]) && words[3] == "{"
}

// nftReader reads nft list ruleset (nft(8)): tables with chains, whose first line is that of their hook. No output at all is
// never what it prints of tables that are there.
type nftReader struct {
	table  string // family and name
	open   []string
	chain  *fabric.Filter
	chains []fabric.Filter
}

func parseNft(text, _ string) (fabric.Facts, error) {
	var r nftReader
	for line := range strings.Lines(text) {
		if err := r.line(strings.TrimSpace(line)); err != nil {
			return fabric.Facts{}, err
		}
	}
	if r.table == "" {
		return fabric.Facts{}, errForeignText
	}
	if len(r.open) > 0 {
		return fabric.Facts{}, errors.New("its output is cut: " + r.open[len(r.open)-1] + " has no end")
	}
	chains, ok := reachable(r.chains)
	if !ok {
		return fabric.Facts{}, fmt.Errorf("more than %d rules that new connections may meet: not evaluated", maxFilterRules)
	}
	return fabric.Facts{Firewall: &fabric.Firewall{Read: []string{nftTool}, Chains: chains}}, nil
}

func (r *nftReader) line(line string) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	opens := strings.HasSuffix(strings.TrimSpace(cutComment(line)), "{")
	switch {
	case len(r.open) == 0 && isNftTable(line):
		words := strings.Fields(line)
		r.table = words[1] + " " + fabric.Printable(words[2])
		r.open = append(r.open, "table "+r.table)
	case len(r.open) == 0:
		return errForeignText
	case line == "}":
		r.close()
	case len(r.open) == 1 && opens:
		words := strings.Fields(line)
		r.open = append(r.open, fabric.Printable(strings.Join(words[:len(words)-1], " ")))
		if words[0] == "chain" && len(words) > 2 && !slices.Contains([]string{"ip6", "arp", "bridge"}, strings.Fields(r.table)[0]) {
			r.chain = &fabric.Filter{Tool: nftTool, Name: r.table + " " + fabric.Printable(words[1])}
		}
	case r.chain != nil && len(r.open) == 2:
		if strings.Count(line, "{") != strings.Count(line, "}") {
			return errors.New("a rule is cut, or goes on in the next line: " + fabric.Quote(line))
		}
		r.rule(line)
	case opens: // inside a set
		r.open = append(r.open, "braces")
	default: // elements of a set may stand over several lines
		r.braces(line)
	}
	return nil
}

// cutComment leaves out what nft writes behind a brace.
func cutComment(line string) string {
	before, _, _ := strings.Cut(line, " #")
	return before
}

func (r *nftReader) close() {
	r.open = r.open[:len(r.open)-1]
	if len(r.open) == 1 && r.chain != nil {
		r.chains = append(r.chains, *r.chain)
		r.chain = nil
	}
}

// braces follows those of sets, whose elements are not read.
func (r *nftReader) braces(line string) {
	for range strings.Count(line, "{") - strings.Count(line, "}") {
		r.open = append(r.open, "braces")
	}
	for range strings.Count(line, "}") - strings.Count(line, "{") {
		if len(r.open) > 2 {
			r.open = r.open[:len(r.open)-1]
		}
	}
}

// rule reads a line of a chain: the hook, or a rule.
func (r *nftReader) rule(line string) {
	words := nftWords(line)
	if len(words) > 3 && words[0] == "type" {
		r.hook(words)
		return
	}
	if slices.Contains(words, "vmap") {
		r.verdictMap(words)
		return
	}
	rule, effect := nftRule(words, r.table)
	if effect && !rule.never {
		r.chain.Rules = append(r.chain.Rules, rule.FilterRule)
	}
}

// verdictMap reads a rule whose verdict depends on a value. Which connections get which is not decided, but for a map of
// states that has none for new ones.
func (r *nftReader) verdictMap(words []string) {
	at := slices.Index(words, "vmap")
	if at == 2 && words[0] == "ct" && words[1] == "state" && at+1 < len(words) && !strings.HasPrefix(words[at+1], "@") && !strings.Contains(words[at+1], "new") {
		return
	}
	r.chain.Rules = append(r.chain.Rules, fabric.FilterRule{Part: true, Do: "accept"}, fabric.FilterRule{Part: true, Do: "drop"})
}

// hook reads "type filter hook input priority filter; policy drop;".
func (r *nftReader) hook(words []string) {
	at := slices.Index(words, "hook")
	if at < 0 || at+1 == len(words) || !slices.Contains([]string{"input", "prerouting", "ingress"}, words[at+1]) {
		return
	}
	r.chain.Hook, r.chain.Policy = words[at+1], "accept"
	if at = slices.Index(words, "policy"); at > 0 && at+1 < len(words) && words[at+1] == "drop" {
		r.chain.Policy = "drop"
	}
}

// nftWords splits a rule into words; a text in quotes, and a set in braces with commas between its elements, are one.
func nftWords(line string) []string {
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " \t;") {
		switch line[0] {
		case '"':
			end := strings.IndexByte(line[1:], '"')
			if end < 0 {
				end = len(line) - 2
			}
			words = append(words, line[1:1+max(end, 0)])
			line = line[min(len(line), end+2):]
		case '{':
			end := strings.IndexByte(line, '}')
			if end < 0 {
				return append(words, "?")
			}
			set := strings.NewReplacer(`"`, "", " ", "").Replace(line[1:end])
			words = append(words, set)
			line = line[end+1:]
		default:
			end := strings.IndexAny(line, " \t;")
			if end < 0 {
				end = len(line)
			}
			words = append(words, line[:end])
			line = line[end:]
		}
	}
	return words
}

// nftRule reads conditions up to the verdict. What it does not know leaves open which connections the rule is for.
func nftRule(words []string, table string) (rule filterRule, effect bool) {
	if slices.Contains(words, ".") { // several values at once: only the verdict is read
		before := words[:max(0, slices.Index(words, ".")-2)] // which may say that no such connection meets it
		for len(before) > 0 {
			used, _ := rule.nftWord(before, table)
			before = before[min(used, len(before)):]
		}
		words = words[max(0, slices.IndexFunc(words, isVerdict)):]
		rule.Part = true
	}
	for len(words) > 0 {
		used, verdict := rule.nftWord(words, table)
		if verdict {
			return rule, true
		}
		words = words[min(used, len(words)):]
	}
	return rule, false
}

func isVerdict(word string) bool {
	return slices.Contains([]string{"accept", "drop", "return", "reject", "queue", "jump", "goto"}, word)
}

// nftValue is what stands behind a key, which may be negated, and how many words that took.
func nftValue(words []string, key int) (value string, not bool, used int) {
	rest := words[min(key, len(words)):]
	used = key + 1
	if len(rest) > 1 && (rest[0] == "!=" || rest[0] == "==") {
		return rest[1], rest[0] == "!=", used + 1
	}
	if len(rest) == 0 {
		return "?", false, used
	}
	return rest[0], false, used
}

// nftWord reads the condition or verdict at the beginning of words.
func (r *filterRule) nftWord(words []string, table string) (used int, verdict bool) {
	two := words[0]
	if len(words) > 1 {
		two += " " + words[1]
	}
	switch words[0] {
	case "accept", "drop", "return":
		r.Do = words[0]
		return 1, true
	case "reject", "queue":
		r.Do, r.Part = "drop", r.Part || words[0] == "queue"
		return 1, true
	case "jump", "goto":
		if len(words) > 1 {
			r.Do = words[0] + " " + table + " " + fabric.Printable(words[1])
		}
		return 2, true
	case "counter":
		if len(words) > 4 && words[1] == "packets" {
			return 5, false
		}
		return 1, false
	case "comment":
		return 2, false
	case "notrack":
		return 1, false
	case "log":
		return nftLog(words), false
	case "iif", "iifname":
		value, not, used := nftValue(words, 1)
		r.nics(strings.Split(value, ","), not)
		return used, false
	case "ip6", "icmp", "icmpv6", "udp", "udplite", "sctp", "dccp", "esp", "ah", "igmp", "arp", "vlan":
		r.never = true
		return 3, false
	case "pkttype":
		value, not, used := nftValue(words, 1)
		r.never = r.never || (value == "host" || value == "unicast") == not
		return used, false
	}
	return r.nftPair(two, words)
}

// nftPair reads conditions whose key is two words.
func (r *filterRule) nftPair(key string, words []string) (used int, verdict bool) {
	value, not, used := nftValue(words, 2)
	switch key {
	case "ip saddr":
		r.prefixes(&r.From, value, not)
	case "ip daddr":
		r.prefixes(&r.To, value, not)
	case "ip protocol", "meta l4proto":
		r.protocols(value, not)
	case "meta nfproto":
		r.never = r.never || (value == "ipv4") == not
	case "meta iifname", "meta iif":
		r.nics(strings.Split(value, ","), not)
	case "meta pkttype":
		r.never = r.never || (value == "host" || value == "unicast") == not
	case "tcp dport", "th dport":
		r.ports(value, not)
	case "ct state":
		r.states(value, not)
	case "ct status": // of translated connections: those here are not
		r.never = r.never || !not
	case "fib daddr":
		if len(words) > 3 && words[2] == "type" {
			value, not, used = nftValue(words, 3)
			r.never = r.never || slices.Contains(strings.Split(value, ","), "local") == not
			return used, false
		}
		r.Part = true
		return 1, false
	default:
		r.Part = true
		return 1, false
	}
	return used, false
}

// nftLog is how many words a log statement takes: log prefix "text" group 2 level info flags all.
func nftLog(words []string) int {
	n := 1
	for n+1 < len(words) && slices.Contains([]string{"prefix", "level", "group", "snaplen", "queue-threshold", "flags"}, words[n]) {
		n += 2
		if words[n-2] == "flags" && n < len(words) && strings.Contains("tcp ip", words[n-1]) {
			n++
		}
	}
	return n
}
