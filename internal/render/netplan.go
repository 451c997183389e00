package render

import (
	"net/netip"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

const netplanPath = "/etc/netplan/60-railwright.yaml"

const netplanHead = `# Written by railwright from the plan; a change here is lost when it is rendered again.
#
# Each NIC answers from its own address by its own table. The selectors are single addresses, so no
# packet matches two rules. Priorities are written out: without them the kernel numbers the rules in the
# order in which the links come up, which differs from boot to boot. The renderer is set per NIC,
# so that interfaces of other files keep theirs.
network:
  version: 2
  ethernets:
`

// netplanSize is about what one NIC takes, in bytes.
const netplanSize = 560

// Netplan renders the addresses, routes and source rules of a node for systemd-networkd. mtu is in bytes.
// With p2p31 a NIC's table holds the default; with rail24 also the connected subnet, so that traffic on
// the rail does not go through the gateway; with flat only the connected subnet.
// Any interface name comes out as one quoted YAML string.
func Netplan(mtu int, scheme fabric.Scheme, n fabric.NodeAddresses) fabric.Artifact {
	b := make([]byte, 0, len(netplanHead)+len(n.NICs)*netplanSize)
	b = append(b, netplanHead...)
	for _, nic := range n.NICs {
		b = appendEthernet(b, mtu, scheme, nic)
	}
	if len(n.NICs) == 0 {
		b = append(b, "    {}\n"...)
	}
	return newArtifact(n.Node, netplanPath, modePrivate, b)
}

// appendEthernet writes text rather than marshalling: this runs for every NIC of 16,384 hosts.
// A test compares the text with the struct that it stands for.
func appendEthernet(b []byte, mtu int, scheme fabric.Scheme, nic fabric.NICAddress) []byte {
	b = append(b, "    "...)
	b = strconv.AppendQuoteToASCII(b, nic.NIC) // Go's escapes are a subset of YAML's in double quotes
	b = append(b, ":\n      renderer: networkd\n      dhcp4: false\n      dhcp6: false\n"+
		"      accept-ra: false\n      link-local: []\n      mtu: "...)
	b = strconv.AppendInt(b, int64(mtu), 10)
	b = append(b, "\n      addresses:\n      - "...)
	b = appendPrefix(b, nic.Address)
	b = append(b, "\n      routes:\n"...)
	if nic.Gateway.IsValid() {
		b = append(b, "      - to: default\n        via: "...)
		b = appendAddr(b, nic.Gateway)
		b = appendTable(b, nic.Table)
	}
	if scheme == fabric.Rail24 || scheme == fabric.Flat {
		b = append(b, "      - to: "...)
		b = appendPrefix(b, nic.Address.Masked())
		b = append(b, "\n        scope: link"...)
		b = appendTable(b, nic.Table)
	}
	b = append(b, "      routing-policy:\n      - from: "...)
	b = appendPrefix(b, netip.PrefixFrom(nic.Address.Addr(), nic.Address.Addr().BitLen()))
	b = append(b, "\n        priority: "...)
	b = strconv.AppendInt(b, int64(nic.RulePriority()), 10)
	return appendTable(b, nic.Table)
}

func appendTable(b []byte, table int) []byte {
	b = append(b, "\n        table: "...)
	b = strconv.AppendInt(b, int64(table), 10)
	return append(b, '\n')
}

func appendPrefix(b []byte, p netip.Prefix) []byte { return append(p.AppendTo(append(b, '"')), '"') }

func appendAddr(b []byte, a netip.Addr) []byte { return append(a.AppendTo(append(b, '"')), '"') }
