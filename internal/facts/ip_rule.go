package facts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/linux"
)

// ipRuleRuns asks ip only where the kernel's own answer could not be had.
func ipRuleRuns(_ host.Host, f *fabric.Facts) []toolRun {
	return ipRuns(f, fabric.FactRules, "rule")
}

func ipRuns(f *fabric.Facts, what string, arguments ...string) []toolRun {
	if _, missing := f.MissingReason(what); !missing {
		return nil
	}
	return []toolRun{{argv: append([]string{"ip", "-details"}, arguments...)}}
}

func knowsIPRule(text string) bool {
	return hasLine(text, isRuleLine) || isIPJSON(text, `"priority"`, `"src"`)
}

// isRuleLine knows "32766:  from all lookup main" and "0: not from all fwmark 0x1 lookup 100".
func isRuleLine(line string) bool {
	priority, rest, ok := strings.Cut(line, ":")
	words := strings.Fields(rest)
	return ok && number(priority) != nil && len(words) > 2 && (words[0] == "from" || words[0] == "not")
}

// isIPJSON tells what ip -j prints by the names of its fields.
func isIPJSON(text string, names ...string) bool {
	if !strings.HasPrefix(strings.TrimSpace(text), "[{") {
		return false
	}
	for _, name := range names {
		if !strings.Contains(text, name+":") {
			return false
		}
	}
	return true
}

// parseIPRule reads ip rule, as text or JSON. As of the kernel's own answer, a rule that does more than a
// fabric.Rule can say is left out and named by its priority.
func parseIPRule(text, _ string) (fabric.Facts, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return parseIPRuleJSON(text)
	}
	var f fabric.Facts
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !isRuleLine(line) {
			continue
		}
		found = true
		priority, rest, _ := strings.Cut(line, ":")
		addRule(&f, *number(priority), ruleFields(rest))
	}
	if !found {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

// ruleFields pairs the words of a rule: selector and value. A word that has no value has an empty one.
func ruleFields(text string) map[string]string {
	words := strings.Fields(text)
	fields := make(map[string]string)
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "not", "[detached]", "unreachable", "blackhole", "prohibit":
			fields[words[i]] = ""
		default:
			if i+1 < len(words) {
				fields[words[i]] = words[i+1]
			} else {
				fields[words[i]] = ""
			}
			i++
		}
	}
	return fields
}

func parseIPRuleJSON(text string) (fabric.Facts, error) {
	rules, err := ipObjects(text)
	if err != nil {
		return fabric.Facts{}, err
	}
	var f fabric.Facts
	for _, r := range rules {
		fields := make(map[string]string)
		for key, value := range r {
			switch key {
			case "priority", "srclen", "dstlen", "flags":
			case "src", "dst":
				fields[map[string]string{"src": "from", "dst": "to"}[key]] = withLength(value, r[key+"len"])
			case "table":
				fields["lookup"] = value
			case "protocol":
				fields["proto"] = value
			default:
				fields[key] = value
			}
		}
		priority := number(r["priority"])
		if priority == nil {
			return fabric.Facts{}, errors.New("rule without a priority")
		}
		addRule(&f, *priority, fields)
	}
	return f, nil
}

func withLength(address, length string) string {
	if length == "" {
		return address
	}
	return address + "/" + length
}

// ipObjects reads a list of objects whose values are texts or numbers; other values are kept as their JSON.
func ipObjects(text string) ([]map[string]string, error) {
	var raw []map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&raw); err != nil {
		return nil, fmt.Errorf("ip: %w", err)
	}
	var out []map[string]string
	for _, one := range raw {
		object := make(map[string]string, len(one))
		for key, value := range one {
			var s string
			if json.Unmarshal(value, &s) != nil {
				s = string(value)
			}
			object[key] = s
		}
		out = append(out, object)
	}
	return out, nil
}

func addRule(f *fabric.Facts, priority int, fields map[string]string) {
	r, err := ruleOfFields(priority, fields)
	if err != nil {
		miss(f, fmt.Sprintf("rules %d", priority), "ip rule", err)
		return
	}
	f.Rules = append(f.Rules, r)
}

func ruleOfFields(priority int, fields map[string]string) (fabric.Rule, error) {
	r := fabric.Rule{Priority: priority}
	var err error
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch value := fields[key]; key {
		case "from":
			r.From, err = ipSelector(value)
		case "to":
			r.To, err = ipSelector(value)
		case "iif":
			r.NIC = fabric.Printable(value)
		case "lookup", "table":
			r.Table, err = ipTable(value)
		case "proto", "protocol":
		default:
			err = errors.New("does more than from, to, iif and lookup: " + fabric.Printable(key))
		}
		if err != nil {
			return fabric.Rule{}, err
		}
	}
	if r.Table == 0 {
		return fabric.Rule{}, errors.New("is not a table lookup")
	}
	return r, nil
}

// ipSelector is the zero Prefix for all.
func ipSelector(text string) (netip.Prefix, error) {
	if text == "all" {
		return netip.Prefix{}, nil
	}
	return ipPrefix(text)
}

// ipPrefix reads an address with or without its length.
func ipPrefix(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p, nil
	}
	a, err := ipAddress(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// ipAddress reads an address without a zone: ip names the interface beside it, and a zone may hold any text.
func ipAddress(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("invalid address %q", fabric.Printable(text))
	}
	return a, nil
}

// ipTable reads a number or one of the kernel's names; names of rt_tables are the machine's own.
func ipTable(text string) (int, error) {
	switch text {
	case "main":
		return linux.RT_TABLE_MAIN, nil
	case "local":
		return linux.RT_TABLE_LOCAL, nil
	case "default":
		return linux.RT_TABLE_DEFAULT, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("table %q: its number is in rt_tables of that machine", fabric.Printable(text))
	}
	return int(n), nil
}
