package routeros

import (
	"slices"
	"strings"
)

// Menus whose entries are read. Each is written as an export does.
const (
	ethernetMenu = "interface ethernet"
	bridgeMenu   = "interface bridge"
	memberMenu   = "interface bridge port"
	vlanMenu     = "interface bridge vlan"
	layer3Menu   = "interface vlan"
	bondMenu     = "interface bonding"
	switchMenu   = "interface ethernet switch"
	limitMenu    = "interface ethernet switch port"
	profileMenu  = "interface ethernet switch qos profile"
	mapMenu      = "interface ethernet switch qos map"
	ipMapMenu    = "interface ethernet switch qos map ip"
	tagMapMenu   = "interface ethernet switch qos map vlan"
	qosPortMenu  = "interface ethernet switch qos port"
	txMenu       = "interface ethernet switch qos tx-manager"
	queueMenu    = "interface ethernet switch qos tx-manager queue"
	pfcMenu      = "interface ethernet switch qos priority-flow-control"
	settingsMenu = "interface ethernet switch qos settings"
	dhcpMenu     = "ip dhcp-server"
	addressMenu  = "ip address"
	listMenu     = "ip firewall address-list"
	identityMenu = "system identity"
	instanceMenu = "routing bgp instance"
	templateMenu = "routing bgp template"
	sessionMenu  = "routing bgp connection"
	monitorMenu  = "interface ethernet monitor" // what a link does: printed, never set
)

// menu is what is known of a menu: the properties that are read, and those that have no bearing on RoCE.
type menu struct {
	keys  []string
	quiet []string // a name that ends with * stands for all that begin so
	id    string   // property by which an entry is named; the first of keys
	built bool     // entries are there from the beginning: a command that sets one need not have added it
	one   bool     // settings: no entries
}

// menus are those that are read: MikroTik's manual and its CLI reference, RouterOS 7.
var menus = map[string]menu{
	ethernetMenu: {built: true, id: "default-name", keys: []string{"default-name", "name", "mtu", "l2mtu", "disabled", "auto-negotiation", "speed", "advertise", "fec-mode", "rx-flow-control", "tx-flow-control", "bandwidth"},
		quiet: []string{"comment", "mac-address", "orig-mac-address", "arp", "arp-timeout", "loop-protect*", "disable-running-check", "full-duplex", "sfp-*", "poe-*", "power-cycle-*", "combo-mode", "mdix-enable", "cable-settings",
			"switch", "running", "slave", "actual-mtu", "max-l2mtu", "default-cable-settings", "passthrough-interface", "passthrough-mode"}},
	bridgeMenu: {id: "name", keys: []string{"name", "vlan-filtering", "pvid", "mtu", "disabled", "frame-types"},
		quiet: []string{"comment", "admin-mac", "auto-mac", "ageing-time", "arp", "arp-timeout", "dhcp-snooping", "fast-forward", "forward-delay", "igmp-*", "max-*", "mvrp", "port-cost-mode", "priority", "protocol-mode", "transmit-hold-count",
			"ingress-filtering", "multicast-*", "querier-*", "query-*", "startup-query-*", "last-member-*", "membership-interval", "mld-version", "ether-type", "region-*", "add-dhcp-option82", "actual-mtu", "l2mtu", "mac-address", "running", "forward-reserved-addresses"}},
	memberMenu: {built: true, id: "interface", keys: []string{"interface", "bridge", "hw", "pvid", "disabled", "frame-types", "horizon", "hw-offload", "inactive"},
		quiet: []string{"comment", "auto-isolate", "bpdu-guard", "broadcast-flood", "edge", "fast-leave", "ingress-filtering", "internal-path-cost", "learn", "multicast-router", "path-cost", "point-to-point", "priority", "restricted-*", "tag-stacking",
			"trusted", "unknown-*", "mvrp-*", "dynamic", "status", "role", "port-number", "port-id", "designated-*", "root-path-cost", "sending-rstp", "learning", "forwarding", "edge-port*", "external-fdb*", "actual-path-cost", "hw-offload-group",
			"bpdu-*", "debug-info", "path-cost-*"}},
	vlanMenu: {id: "vlan-ids", keys: []string{"vlan-ids", "bridge", "tagged", "untagged", "disabled"}, quiet: []string{"comment", "mvrp-forbidden", "current-*", "dynamic"}},
	layer3Menu: {id: "name", keys: []string{"name", "interface", "vlan-id", "mtu", "disabled"},
		quiet: []string{"comment", "arp", "arp-timeout", "loop-protect*", "mvrp", "use-service-tag", "l2mtu", "mac-address", "running", "l3-hw-offloading"}},
	bondMenu: {id: "name", keys: []string{"name", "slaves", "mtu", "disabled"},
		quiet: []string{"comment", "mode", "lacp-*", "transmit-hash-policy", "arp*", "down-delay", "up-delay", "link-monitoring", "mii-interval", "min-links", "primary", "forced-mac-address", "mac-address", "running", "l2mtu", "mlag-id"}},
	switchMenu: {built: true, id: "name", keys: []string{"name", "qos-hw-offloading", "l3-hw-offloading", "type"}, quiet: []string{"comment", "mirror-*", "rspan*", "cpu-flow-control", "switch-all-ports", "invalid"}},
	limitMenu: {built: true, id: "name", keys: []string{"name", "egress-rate", "ingress-rate"},
		quiet: []string{"switch", "l3-hw-offloading", "limit-*", "mirror-*", "storm-rate", "running", "invalid"}},
	profileMenu: {built: true, id: "name", keys: []string{"name", "dscp", "pcp", "traffic-class", "automap"}, quiet: []string{"color", "comment", "hw", "hw-offload*"}},
	mapMenu:     {built: true, id: "name", keys: []string{"name"}, quiet: []string{"comment"}},
	ipMapMenu:   {id: "dscp", keys: []string{"dscp", "profile", "map", "disabled"}, quiet: []string{"comment", "switch", "hw-offload*", "dynamic"}},
	tagMapMenu:  {id: "pcp", keys: []string{"pcp", "profile", "map", "dei-only", "disabled"}, quiet: []string{"comment", "switch", "hw-offload*", "dynamic"}},
	qosPortMenu: {built: true, id: "name", keys: []string{"name", "profile", "map", "trust-l2", "trust-l3", "tx-manager", "pfc", "egress-rate-queue0", "egress-rate-queue1", "egress-rate-queue2", "egress-rate-queue3", "egress-rate-queue4",
		"egress-rate-queue5", "egress-rate-queue6", "egress-rate-queue7"}, quiet: []string{"comment", "switch", "running", "hw-offload*", "inactive"}},
	txMenu:       {built: true, id: "name", keys: []string{"name"}, quiet: []string{"comment", "queue-buffers", "hw-offload*"}},
	queueMenu:    {built: true, id: "traffic-class", keys: []string{"traffic-class", "tx-manager", "schedule", "weight", "use-shared-buffers", "wred", "ecn"}, quiet: []string{"comment", "queue-buffers", "shared-pool-index", "wred-actual", "ecn-actual", "hw-offload*"}},
	pfcMenu:      {id: "name", keys: []string{"name", "traffic-class", "rx", "tx"}, quiet: []string{"comment", "pause-threshold", "resume-threshold", "hw-offload*"}},
	settingsMenu: {one: true, keys: []string{"lossless-traffic-class", "lossless-buffers"}, quiet: []string{"mirror-*", "multicast-buffers", "shared-buffers", "wred-threshold", "treat-*", "shared-pool*"}},
	dhcpMenu: {id: "name", keys: []string{"name", "interface", "disabled"},
		quiet: []string{"address-pool", "comment", "lease-*", "add-arp", "address-lists", "allow-dual-stack-queue", "always-broadcast", "authoritative", "bootp-*", "client-mac-limit", "conflict-detection", "delay-threshold", "dhcp-option-set",
			"dynamic-lease-identifiers", "insert-queue-before", "parent-queue", "relay", "server-address", "support-broadband-tr101", "use-framed-as-classless", "use-radius", "use-reconfigure", "invalid", "interface-list"}},
	addressMenu:  {id: "address", keys: []string{"address", "interface", "disabled"}, quiet: []string{"comment", "network", "actual-interface", "vrf", "dynamic", "slave", "broadcast"}},
	listMenu:     {id: "list", keys: []string{"list", "address", "disabled"}, quiet: []string{"comment", "timeout", "dynamic"}},
	identityMenu: {one: true, keys: []string{"name"}},
	instanceMenu: {id: "name", keys: []string{"name", "as", "disabled", "multipath"}, quiet: []string{"comment", "router-id", "cluster-id", "vrf", "routing-table", "ignore-as-path-len", "confederation*"}},
	templateMenu: {built: true, id: "name", keys: []string{"name", "as", "disabled", "output.network"}, quiet: []string{"comment", "*"}},
	sessionMenu:  {id: "name", keys: []string{"name", "as", "instance", "templates", "template", "remote.address", "remote.as", "output.network", "disabled", "output.redistribute"}, quiet: []string{"comment", "*"}},
	monitorMenu:  {built: true, id: "name", keys: []string{"name", "rate", "fec", "status"}, quiet: []string{"*"}},
}

// quietMenus begin the paths of menus that have no bearing on RoCE. Those that are read are found first.
var quietMenus = []string{
	"app", "caps-man", "certificate", "console", "container", "disk", "dude", "file", "iot", "ip", "ipv6", "log", "lora", "lcd", "mpls", "openflow", "partitions", "password", "port", "ppp", "queue", "radius", "routing", "rsync-daemon",
	"snmp", "special-login", "system", "task", "tool", "tr069-client", "user", "user-manager", "zerotier",
	"interface 6to4", "interface bridge settings", "interface bridge filter", "interface bridge nat", "interface bridge calea", "interface bridge mdb", "interface bridge msti", "interface bridge host", "interface bridge port-controller", "interface detect-internet", "interface dot1x", "interface eoip", "interface eoipv6", "interface ethernet poe", "interface ethernet switch l3hw-settings",
	"interface gre", "interface gre6", "interface ipip", "interface ipipv6", "interface l2tp-client", "interface l2tp-ether", "interface l2tp-server", "interface list", "interface lte", "interface macsec", "interface macvlan", "interface mesh", "interface ovpn-client",
	"interface ovpn-server", "interface ppp-client", "interface ppp-server", "interface pppoe-client", "interface pppoe-server", "interface pptp-client", "interface pptp-server", "interface sstp-client", "interface sstp-server", "interface veth",
	"interface vpls", "interface vrrp", "interface vxlan", "interface wifi", "interface wifiwave2", "interface wireguard", "interface wireless", "interface w60g",
}

// quiet reports whether a menu has no bearing on RoCE.
func quietMenu(path string) bool {
	if path == "routing bgp" || strings.HasPrefix(path, "routing bgp ") {
		return strings.HasPrefix(path, "routing bgp aggregate") || strings.HasPrefix(path, "routing bgp evpn") || strings.HasPrefix(path, "routing bgp vpn")
	}
	return slices.ContainsFunc(quietMenus, func(q string) bool { return path == q || strings.HasPrefix(path, q+" ") })
}

// reads reports whether a property of a menu is read, and known whether it is one that is.
func (m menu) reads(key string) (reads, known bool) {
	if slices.Contains(m.keys, key) {
		return true, true
	}
	return false, slices.ContainsFunc(m.quiet, func(q string) bool {
		begin, any := strings.CutSuffix(q, "*")
		return q == key || any && strings.HasPrefix(key, begin)
	})
}

// verbs end the path of a command.
var verbs = []string{"add", "set", "remove", "enable", "disable", "unset", "comment", "print", "export", "monitor", "find", "get", "move", "edit", "reset", "reset-counters", "import", "reboot", "shutdown", "upgrade", "save", "load"}

// full completes a word of a path that was shortened, as the console takes it: to the only child of a menu that begins so.
func full(parent, part string) string {
	var found []string
	for path := range menus {
		rest, ok := strings.CutPrefix(path, parent)
		if rest = strings.TrimPrefix(rest, " "); !ok || parent != "" && len(path) > len(parent) && path[len(parent)] != ' ' {
			continue
		}
		child, _, _ := strings.Cut(rest, " ")
		if child == part {
			return part
		}
		if strings.HasPrefix(child, part) && !slices.Contains(found, child) {
			found = append(found, child)
		}
	}
	if len(found) != 1 || len(part) < 2 {
		return part
	}
	if slices.ContainsFunc(quietMenus, func(q string) bool { return strings.TrimPrefix(q, parent+" ") == part || q == part }) {
		return part
	}
	return found[0]
}
