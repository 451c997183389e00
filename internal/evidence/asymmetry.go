package evidence

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Asymmetries compares what the hosts of one run chose. Ranks of one job are started alike, so that a host that differs
// has another installation, another environment, or other hardware. Hosts of which nothing is known are left out.
func Asymmetries(hosts []fabric.LogHost, seen Seen) []Evidence {
	var out []Evidence
	add := func(what string, groups map[string][]string) {
		if len(groups) < 2 {
			return
		}
		a := Asymmetry{Seen: seen, What: what}
		var parts []string
		for _, value := range sortedKeys(groups) {
			parts = append(parts, fmt.Sprintf("%s: %s", listed(groups[value]), value))
		}
		a.Text = what + " differs: " + strings.Join(parts, "; ")
		common := largest(groups)
		a.With = groups[common]
		for value, of := range groups {
			if value != common {
				a.Without = append(a.Without, of...)
			}
		}
		slices.Sort(a.Without)
		out = append(out, a)
	}
	add("version", grouped(hosts, func(h fabric.LogHost) string { return h.Library }))
	add("plugin", grouped(hosts, func(h fabric.LogHost) string { return h.Plugin }))
	add("net", grouped(hosts, func(h fabric.LogHost) string { return h.Net }))
	add("hcas", grouped(hosts, func(h fabric.LogHost) string { return strings.Join(h.HCAs, " ") }))
	add("gdr", grouped(hosts, func(h fabric.LogHost) string {
		switch {
		case h.Direct > 0 && h.Bounced == 0:
			return "with GDRDMA"
		case h.Direct == 0 && h.Bounced > 0:
			return "without GDRDMA"
		}
		return ""
	}))
	known := environments(hosts)
	for _, name := range names(hosts) {
		if harmlessSetting(name) {
			continue
		}
		texts, unset := map[string]string{}, name+" unset" // one text for all hosts that have it
		add("env "+name, grouped(known, func(h fabric.LogHost) string {
			v, ok := h.Env[name]
			if !ok {
				return unset
			}
			if texts[v] == "" {
				texts[v] = name + "=" + v
			}
			return texts[v]
		}))
	}
	return out
}

// harmlessSetting reports whether hosts may differ in a variable without a fault: what is printed, and names that are a
// host's own.
func harmlessSetting(name string) bool {
	return strings.HasPrefix(name, "NCCL_DEBUG") || name == "NCCL_HOSTID" || strings.HasSuffix(name, "_IFNAME") || strings.HasSuffix(name, "_FILE")
}

// environments are the hosts whose environment is in the log at all: one that prints no setting may log less.
func environments(hosts []fabric.LogHost) []fabric.LogHost {
	return slices.DeleteFunc(slices.Clone(hosts), func(h fabric.LogHost) bool { return h.Library == "" && len(h.Env) == 0 && h.Net == "" })
}

func grouped(hosts []fabric.LogHost, of func(fabric.LogHost) string) map[string][]string {
	groups := map[string][]string{}
	for _, h := range hosts {
		if value := of(h); value != "" {
			groups[value] = append(groups[value], h.Host)
		}
	}
	return groups
}

func names(hosts []fabric.LogHost) []string {
	seen := map[string]bool{}
	for _, h := range hosts {
		for name := range h.Env {
			seen[name] = true
		}
	}
	var out []string
	for name := range seen {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func sortedKeys(groups map[string][]string) []string {
	var out []string
	for k := range groups {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// largest is the value that most hosts have; of two that are even, the first by name.
func largest(groups map[string][]string) string {
	best := ""
	for _, k := range sortedKeys(groups) {
		if best == "" || len(groups[k]) > len(groups[best]) {
			best = k
		}
	}
	return best
}

// listed names some hosts.
func listed(hosts []string) string {
	const most = 4
	text := strings.Join(hosts[:min(len(hosts), most)], " ")
	if more := len(hosts) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
