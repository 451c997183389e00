package facts

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// ipRouteRuns asks ip only where the kernel's own answer could not be had.
func ipRouteRuns(_ host.Host, f *fabric.Facts) []toolRun {
	return ipRuns(f, fabric.FactRoutes, "route", "show", "table", "all")
}

func knowsIPRoute(text string) bool {
	return hasLine(text, isRouteLine) || isIPJSON(text, `"dst"`, `"dev"`)
}

// isRouteLine knows "default via 10.0.0.1 dev eth1 proto static" and "10.0.0.0/31 dev eth1 scope link".
func isRouteLine(line string) bool {
	words := strings.Fields(line)
	if len(words) > 0 && words[0] == "unicast" {
		words = words[1:]
	}
	if len(words) < 3 || !slices.Contains([]string{"via", "dev", "proto", "table", "scope", "metric", "src", "nhid"}, words[1]) {
		return false
	}
	if words[0] == "default" {
		return true
	}
	_, err := ipPrefix(words[0])
	return err == nil
}

// routePrompt is a command line that was copied along with what it printed.
var routePrompt = pattern.New(`^\s*[$#>].*\bip\b.*\bro?u?t?e?\b.*\btable ([0-9]+)\s*$`)

// ipRoute is a route as ip prints it, in text or JSON.
type ipRoute struct {
	Type     string `json:"type"`
	Dst      string `json:"dst"`
	Gateway  string `json:"gateway"`
	Via      ipVia  `json:"via"`
	Dev      string `json:"dev"`
	Table    ipWord `json:"table"`
	Protocol ipWord `json:"protocol"`
	Prefsrc  string `json:"prefsrc"`
	Metric   int    `json:"metric"`
	NextHops []struct {
		Gateway string `json:"gateway"`
		Via     ipVia  `json:"via"`
		Dev     string `json:"dev"`
	} `json:"nexthops"`
}

type ipVia struct {
	Host string `json:"host"`
}

// ipWord is a name, or a number where the machine has no name for it.
type ipWord string

// UnmarshalJSON takes a string or a number.
func (w *ipWord) UnmarshalJSON(b []byte) error {
	var n json.Number
	if json.Unmarshal(b, &n) == nil {
		*w = ipWord(n)
		return nil
	}
	return json.Unmarshal(b, (*string)(w))
}

// parseIPRoute reads ip route, as text or JSON: IPv4 unicast routes, as readRoutes gives them. Without the
// word table, the routes of a text are of the main table only where the kernel's own, of connected
// addresses, are among them; else it may be any table that was asked for.
func parseIPRoute(text, _ string) (fabric.Facts, error) {
	routes, table, err := ipRoutes(text)
	if err != nil {
		return fabric.Facts{}, err
	}
	if table == "" {
		for _, r := range routes {
			if r.Table != "" || r.Protocol == "kernel" {
				table = "main"
			}
		}
	}
	var f fabric.Facts
	for _, r := range routes {
		if r.Table == "" {
			r.Table = ipWord(table)
		}
		routes, err := r.routes()
		if err != nil {
			miss(&f, fabric.FactRoutes+" "+fabric.Printable(r.Dst), "ip route", err)
		}
		f.Routes = append(f.Routes, routes...)
	}
	return f, nil
}

// ipRoutes returns the routes of a text and the table that its command line names.
func ipRoutes(text string) (routes []ipRoute, table string, err error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if err := json.Unmarshal([]byte(text), &routes); err != nil {
			return nil, "", fmt.Errorf("ip: %w", err)
		}
		return routes, "", nil
	}
	found, goesOn := false, false // goesOn: the line before was a route, of which this may be a next hop
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		wentOn := goesOn
		goesOn = false
		switch {
		case routePrompt().MatchString(line):
			table = routePrompt().FindStringSubmatch(line)[1]
		case isRouteLine(line):
			found = true
			r := routeOfWords(words)
			if r.Table == "" {
				r.Table = ipWord(table)
			}
			routes, goesOn = append(routes, r), true
		case len(words) > 2 && words[0] == "nexthop" && wentOn:
			goesOn = true
			hop := routeOfWords(append([]string{"default"}, words[1:]...))
			last := &routes[len(routes)-1]
			last.NextHops = append(last.NextHops, struct {
				Gateway string `json:"gateway"`
				Via     ipVia  `json:"via"`
				Dev     string `json:"dev"`
			}{hop.Gateway, hop.Via, hop.Dev})
		case len(words) > 1 && isOtherRoute(words[0]):
			found = true
		}
	}
	if !found {
		return nil, "", errForeignText
	}
	return routes, "", nil
}

func isOtherRoute(kind string) bool {
	switch kind {
	case "local", "broadcast", "multicast", "anycast", "unreachable", "blackhole", "prohibit", "throw":
		return true
	}
	return false
}

func routeOfWords(words []string) ipRoute {
	if words[0] == "unicast" {
		words = words[1:]
	}
	r := ipRoute{Dst: words[0]}
	for i := 1; i+1 < len(words); i++ {
		value := words[i+1]
		switch words[i] {
		case "via":
			if value == "inet6" && i+2 < len(words) {
				r.Via.Host = words[i+2]
				i++
			} else {
				r.Gateway = value
			}
		case "dev":
			r.Dev = value
		case "table":
			r.Table = ipWord(value)
		case "proto":
			r.Protocol = ipWord(value)
		case "src":
			r.Prefsrc = value
		case "metric":
			if n := number(value); n != nil {
				r.Metric = *n
			}
		default:
			continue
		}
		i++
	}
	return r
}

// routes returns one route per next hop; none for another family or kind.
func (r ipRoute) routes() ([]fabric.Route, error) {
	if r.Type != "" && r.Type != "unicast" {
		return nil, nil
	}
	out := fabric.Route{Destination: anyIPv4(), Metric: r.Metric, Protocol: ipProtocol(string(r.Protocol))}
	if r.Dst != "default" {
		p, err := ipPrefix(r.Dst)
		if err != nil {
			return nil, err
		}
		if !p.Addr().Is4() {
			return nil, nil
		}
		out.Destination = p
	} else if a, err := netip.ParseAddr(r.Gateway); err == nil && a.Is6() {
		return nil, nil // the default route of IPv6
	}
	if r.Table == "" {
		return nil, errors.New("the text does not say of which table it is")
	}
	var err error
	if out.Table, err = ipTable(string(r.Table)); err != nil {
		return nil, err
	}
	if r.Prefsrc != "" {
		if out.Source, err = ipAddress(r.Prefsrc); err != nil {
			return nil, err
		}
	}
	if len(r.NextHops) == 0 {
		return r.hop(out, r.Gateway+r.Via.Host, r.Dev, nil)
	}
	var all []fabric.Route
	for _, hop := range r.NextHops {
		if all, err = r.hop(out, hop.Gateway+hop.Via.Host, hop.Dev, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (r ipRoute) hop(out fabric.Route, gateway, dev string, all []fabric.Route) ([]fabric.Route, error) {
	if !isInterfaceName(dev) {
		return nil, errors.New("no interface: the route names a next hop object only")
	}
	out.NIC = dev
	if gateway != "" {
		var err error
		if out.Gateway, err = ipAddress(gateway); err != nil {
			return nil, err
		}
	}
	return append(all, out), nil
}

// ipProtocol returns the number of a routing protocol (linux/rtnetlink.h), 0 for a name that the machine gave
// it itself.
func ipProtocol(name string) int {
	switch name {
	case "redirect":
		return 1
	case "kernel":
		return 2
	case "boot":
		return 3
	case "static":
		return 4
	case "ra":
		return 9
	case "zebra":
		return 11
	case "bird":
		return 12
	case "dhcp":
		return 16
	case "bgp":
		return 186
	case "isis":
		return 187
	case "ospf":
		return 188
	}
	if n := number(name); n != nil {
		return *n
	}
	return 0
}
