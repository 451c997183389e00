package facts

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

const ufwTool = "ufw"

func knowsUFW(text string) bool { return hasLine(text, isUFWHead) }

func isUFWHead(line string) bool { return line == "Status: active" || line == "Status: inactive" }

func isUFWLine(line string) bool {
	return begins("Logging: ", "Default: ", "New profiles: ", "To  ", "--  ")(line) || ufwRule().MatchString(strings.TrimRight(line, " \r\n"))
}

var (
	ufwDefault = pattern.New(`^Default: (allow|deny|reject) \(incoming\)`)
	ufwRule    = pattern.New(`^(\S.*?)\s{2,}(ALLOW|DENY|REJECT|LIMIT)(?: IN)?\s{2,}(\S.*?)\s*(?:#.*)?$`)
)

// parseUFW reads ufw status verbose (ufw(8)) as one chain. Where ufw is inactive there is none; whether something else
// filters it does not say.
func parseUFW(text, _ string) (fabric.Facts, error) {
	firewall := &fabric.Firewall{Read: []string{ufwTool}}
	chain := fabric.Filter{Tool: ufwTool, Name: "status", Hook: "input"}
	active, inactive := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		active, inactive = active || line == "Status: active", inactive || line == "Status: inactive"
		if m := ufwDefault().FindStringSubmatch(line); m != nil {
			chain.Policy = map[bool]string{true: "accept", false: "drop"}[m[1] == "allow"]
		}
		if m := ufwRule().FindStringSubmatch(line); m != nil && m[1] != "To" && !strings.Contains(line, "(v6)") {
			if rule := ufwLine(m[1], m[2], m[3]); !rule.never {
				chain.Rules = append(chain.Rules, rule.FilterRule)
			}
		}
	}
	switch {
	case active == inactive:
		return fabric.Facts{}, errForeignText
	case active && chain.Policy == "":
		return fabric.Facts{}, errors.New("the default for incoming connections is not in it: use ufw status verbose")
	case active && len(chain.Rules) > maxFilterRules:
		return fabric.Facts{}, errors.New("too many rules: not evaluated")
	case active:
		firewall.Chains = append(firewall.Chains, chain)
	}
	return fabric.Facts{Firewall: firewall}, nil
}

// ufwLine reads the columns To, Action and From: "22/tcp on eth0", "ALLOW", "10.0.0.0/8".
func ufwLine(to, action, from string) filterRule {
	var r filterRule
	r.Do = map[bool]string{true: "accept", false: "drop"}[action == "ALLOW" || action == "LIMIT"]
	r.Part = action == "LIMIT"
	place, nic, onNIC := strings.Cut(to, " on ")
	if onNIC {
		r.nics([]string{strings.TrimSpace(nic)}, false)
	}
	r.ufwPlace(&r.To, strings.TrimSpace(place))
	r.ufwPlace(&r.From, strings.TrimSpace(from))
	return r
}

// ufwPlace reads an address, a port with its protocol, or both; words of an application's profile leave it open.
func (r *filterRule) ufwPlace(into *[]netip.Prefix, place string) {
	for _, word := range strings.Fields(place) {
		isPrefix := strings.Count(word, ".") == 3 || strings.Count(word, ":") > 1
		port, protocol, both := strings.Cut(word, "/")
		switch {
		case word == "Anywhere":
		case isPrefix:
			r.prefixes(into, word, false)
		case strings.Trim(port, "0123456789,:-") == "" && (!both || slices.Contains([]string{"tcp", "udp"}, protocol)):
			if both {
				r.protocols(protocol, false)
			}
			r.ports(port, false)
		default:
			r.Part = true
		}
	}
}
