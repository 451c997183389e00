package render

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

const twinNetplanHead = `# Written by railwright from the plan; a change here is lost when it is rendered again.
#
# Both twins of a QSFP port, each in a subnet of its own: in one subnet ARP and routes pick either. Nothing is routed
# here, the ordinary network keeps its default route, and other files keep their interfaces. A twin without an address
# has a link-local IPv4 one, so that its RDMA device has a RoCE v2 GID.
network:
  version: 2
  ethernets:
`

// TwinNetplan renders the interfaces of a machine whose ports have twins, for systemd-networkd: addresses, and the MTU in bytes
// of all of them. Any interface name comes out as one quoted YAML string.
func TwinNetplan(mtu int, n fabric.NodeAddresses, ports []fabric.NodePort) fabric.Artifact {
	addresses := make(map[string]fabric.NICAddress, len(n.NICs))
	for _, a := range n.NICs {
		addresses[a.NIC] = a
	}
	b := []byte(twinNetplanHead)
	for _, p := range ports {
		for _, t := range p.Twins {
			b = fmt.Appendf(b, "    %+q: # port %d\n      renderer: networkd\n      dhcp4: false\n      dhcp6: false\n      accept-ra: false\n", t.NIC, p.Number)
			a, ok := addresses[t.NIC]
			if !ok {
				b = fmt.Appendf(b, "      link-local: [ipv4]\n      mtu: %d\n      optional: true\n", mtu)
				continue
			}
			b = fmt.Appendf(b, "      link-local: []\n      mtu: %d\n      optional: true\n      addresses:\n      - %s\n", mtu, a.Address)
		}
	}
	if len(ports) == 0 {
		b = append(b, "    {}\n"...)
	}
	return newArtifact(n.Node, netplanPath, modePrivate, b)
}
