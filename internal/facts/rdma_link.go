package facts

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// Lines of rdma link show and of ibdev2netdev:
//
//	link bnxt_re0/1 state ACTIVE physical_state LINK_UP netdev enp28s0np0
//	link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 1 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP
//	rocep1s0f0 port 1 ==> enp1s0f0np0 (Down)
var (
	rdmaLinkLine     = pattern.New(`^(?:[0-9]+: )?(?:link )?([\w.-]+)/([0-9]{1,3}):? (.*\bstate .*)$`)
	ibdev2netdevLine = pattern.New(`^([\w.-]+)\s+port ([0-9]{1,3})\s+==>\s+(\S+)\s+\((Up|Down)\)`)
)

// rdmaLinkRuns asks for the network device of a RoCE port where the GID table did not name it.
func rdmaLinkRuns(_ host.Host, f *fabric.Facts) []toolRun {
	if !netdevUnknown(f) {
		return nil
	}
	return []toolRun{{argv: []string{"rdma", "link", "show"}}}
}

func ibdev2netdevRuns(_ host.Host, f *fabric.Facts) []toolRun {
	if !netdevUnknown(f) {
		return nil
	}
	return []toolRun{{argv: []string{"ibdev2netdev"}}}
}

func netdevUnknown(f *fabric.Facts) bool {
	for _, h := range f.HCAs {
		for _, p := range h.Ports {
			for _, g := range p.GIDs {
				if p.LinkLayer == "Ethernet" && g.Index == 0 && g.NetDev == "" {
					return true
				}
			}
		}
	}
	return false
}

func knowsRDMALink(text string) bool     { return hasLine(text, isRDMALink) }
func knowsIbdev2netdev(text string) bool { return hasLine(text, ibdev2netdevLine().MatchString) }

func isRDMALink(line string) bool {
	m := rdmaLinkLine().FindStringSubmatch(line)
	return m != nil && strings.Contains(m[3], "physical_state ")
}

// parseRDMALink reads rdma link show.
func parseRDMALink(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		m := rdmaLinkLine().FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		words := strings.Fields(m[3])
		p := fabric.Port{Number: *number(m[2])}
		for i := 0; i+1 < len(words); i += 2 {
			var err error
			switch value := words[i+1]; words[i] {
			case "state":
				p.State, err = portState(value)
			case "physical_state":
				p.PhysState = physState(value)
			case "lid":
				p.LID = number(value)
			case "sm_lid":
				p.SMLID = number(value)
			case "netdev":
				p.GIDs, p.NetDev = defaultGID(value), netDevice(value)
			}
			if err != nil {
				return fabric.Facts{}, fmt.Errorf("%s/%d: %w", m[1], p.Number, err)
			}
		}
		addPort(&f, m[1], p)
	}
	if len(f.HCAs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

// parseIbdev2netdev reads ibdev2netdev. Up and Down are of the network device, so that they say nothing of
// the port.
func parseIbdev2netdev(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		if m := ibdev2netdevLine().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			addPort(&f, m[1], fabric.Port{Number: *number(m[2]), GIDs: defaultGID(m[3]), NetDev: netDevice(m[3]), NetDevUp: new(m[4] == "Up")})
		}
	}
	if len(f.HCAs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

// defaultGID returns which network device a port has: the kernel makes entry 0 of its GID table for that one.
// Entries of other indexes may be of a VLAN above it.
func defaultGID(netdev string) []fabric.GID {
	if !isInterfaceName(netdev) {
		return nil
	}
	return []fabric.GID{{Index: 0, NetDev: netdev}}
}

func netDevice(name string) string {
	if isInterfaceName(name) {
		return name
	}
	return ""
}

func addPort(f *fabric.Facts, hca string, p fabric.Port) {
	if n := len(f.HCAs); n == 0 || f.HCAs[n-1].Name != hca {
		f.HCAs = append(f.HCAs, fabric.HCA{Name: hca})
	}
	h := &f.HCAs[len(f.HCAs)-1]
	h.Ports = append(h.Ports, p)
}
