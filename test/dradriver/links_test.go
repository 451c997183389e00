package dradriver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// link is what the kernel says of an interface.
type link struct {
	MTU       int // bytes
	Up        bool
	Addresses []string // but those of the link
	Routes    []string // but those that the kernel makes itself
	Rules     []string // for its addresses
}

// links are the interfaces of a namespace that are not its own, once all that are up have their carrier: the kernel says
// so a moment later.
func (n *node) links(namespace string) map[string]link {
	n.Helper()
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		links, settled := n.linksNow(namespace)
		if settled {
			return links
		}
		if time.Since(start) > 10*time.Second {
			n.Fatalf("links of %s do not come up: %v", namespace, links)
		}
	}
}

func (n *node) linksNow(namespace string) (found map[string]link, settled bool) {
	n.Helper()
	var seen []struct {
		IfName, OperState string
		MTU               int
		Flags             []string
		AddrInfo          []struct {
			Local, Scope string
			PrefixLen    int
		} `json:"addr_info"`
	}
	n.ip(namespace, &seen, "address")
	found, settled = map[string]link{}, true
	for _, s := range seen {
		if s.IfName == "lo" {
			continue
		}
		l := link{MTU: s.MTU, Up: slices.Contains(s.Flags, "UP")}
		settled = settled && (!l.Up || s.OperState == "UP")
		for _, a := range s.AddrInfo {
			if a.Scope == "global" {
				l.Addresses = append(l.Addresses, fmt.Sprintf("%s/%d", a.Local, a.PrefixLen))
				l.Rules = append(l.Rules, n.rules(namespace, a.Local)...)
			}
		}
		l.Routes = n.routes(namespace, s.IfName)
		found[s.IfName] = l
	}
	return found, settled
}

func (n *node) routes(namespace, name string) (all []string) {
	n.Helper()
	var seen []struct{ Dst, Gateway, Table, Protocol string }
	n.ip(namespace, &seen, "-4", "route", "show", "table", "all", "dev", name)
	for _, r := range seen {
		if r.Protocol != "kernel" && r.Table != "local" {
			all = append(all, strings.Join([]string{r.Dst, r.Gateway, r.Table}, " "))
		}
	}
	return all
}

func (n *node) rules(namespace, address string) (all []string) {
	n.Helper()
	var seen []struct {
		Src, Table string
		Priority   int
	}
	n.ip(namespace, &seen, "-4", "rule")
	for _, r := range seen {
		if r.Src == address {
			all = append(all, fmt.Sprint(r.Priority, " ", r.Table))
		}
	}
	return all
}

// ip reads what ip prints as JSON.
func (n *node) ip(namespace string, into any, argv ...string) {
	n.Helper()
	out := strings.TrimSpace(n.sh("ip -json -details -netns " + namespace + " " + strings.Join(argv, " ")))
	if out == "" {
		return // no route at all
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		n.Fatalf("ip %v: %v in %s", argv, err, out)
	}
}
