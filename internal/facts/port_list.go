package facts

import (
	"net/netip"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// portsTool are lists of interfaces with their PCI address, as several programs print them:
//
//	enp1s0f0np0      port=p0  pci=0000:01:00.0   # mlx5_0
const portsTool = "list of ports"

var (
	portsLine = pattern.New(`^\s*([A-Za-z][\w.-]{1,14})\s+(?:\S+=\S+\s+)*?pci=([0-9A-Fa-f:.]+)(.*)$`)
	portsHCA  = pattern.New(`#\s*((?:mlx5_|roce)\w+)`)
)

func isPortsLine(line string) bool {
	return strings.Contains(line, "pci=") && portsLine().MatchString(line)
}
func knowsPorts(text string) bool { return hasLine(text, isPortsLine) }
func parsePorts(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		m := portsLine().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || !isInterfaceName(m[1]) {
			continue
		}
		address, ok := pciAddress(m[2])
		if !ok {
			continue
		}
		f.NICs = append(f.NICs, fabric.NIC{Name: m[1], PCI: address})
		if h := portsHCA().FindStringSubmatch(m[3]); h != nil {
			addPort(&f, h[1], fabric.Port{Number: 1, NetDev: m[1]})
			f.HCAs[len(f.HCAs)-1].PCI = address
		}
	}
	if len(f.NICs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

// autoTool is what a script prints that finds the interfaces of a cluster of Sparks by itself:
//
//	Detected IB_IF: rocep1s0f0,roceP2p1s0f0
//	Detected ETH_IF: enp1s0f0np0
//	Detected Local IP: 192.168.100.10 (192.168.100.10/24)
const autoTool = "interface discovery"

var autoLine = pattern.New(`^\s*(Detected (?:IB_IF|ETH_IF|Local IP)|Head Node|Worker Nodes):\s*(.+)$`)

func isAutoHead(line string) bool {
	return strings.Contains(line, "Detected ") && autoLine().MatchString(line)
}
func isAutoLine(line string) bool { return autoLine().MatchString(line) }
func knowsAuto(text string) bool  { return hasLine(text, isAutoHead) }

// parseAuto reads it: the devices become NCCL_IB_HCA of every rank, and the workers are the other nodes.
func parseAuto(text, _ string) (fabric.Facts, error) {
	f := fabric.Facts{NCCL: map[string]string{}}
	nic := fabric.NIC{}
	for line := range strings.Lines(text) {
		m := autoLine().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		value := fabric.Printable(strings.TrimSpace(m[2]))
		switch m[1] {
		case "Detected IB_IF":
			f.NCCL["NCCL_IB_HCA"] = value
			for name := range strings.SplitSeq(value, ",") {
				if name = strings.TrimSpace(name); name != "" && !strings.ContainsAny(name, "/ ") {
					addPort(&f, name, fabric.Port{Number: 1})
				}
			}
		case "Detected ETH_IF":
			nic.Name = value
		case "Detected Local IP":
			_, in, _ := strings.Cut(value, "(")
			if p, err := netip.ParsePrefix(strings.TrimSuffix(in, ")")); err == nil {
				nic.Addresses = []netip.Prefix{p}
			}
		case "Worker Nodes":
			f.NCCL[fabric.WorkerNodes] = value
		}
	}
	if isInterfaceName(nic.Name) {
		f.NICs = append(f.NICs, nic)
	}
	if len(f.HCAs)+len(f.NICs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}
