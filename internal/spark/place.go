package spark

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Ports and Twins are how many QSFP ports a machine has, and how many PCI functions serve each.
const (
	Ports = 2
	Twins = 2
)

// Function is the address of the PCI function of a port and twin. The two domains are the two PCIe links of the NIC, the
// function number is the port (DGX Spark Networking, ConnectX quirks; lspci and phys_port_name of public captures).
func Function(port, twin int) string { return fmt.Sprintf("000%d:01:00.%d", 2*twin, port) }

// GPUFunction is where the GPU of a GB10 is: a PCI domain of its own, behind NVLink-C2C (nvidia-smi of public captures).
const GPUFunction = "000f:01:00.0"

// placeOf is the inverse of Function.
func placeOf(address string) (port, twin int, ok bool) {
	if !strings.Contains(address, ":01:00.") {
		return 0, 0, false // nearly all functions of a machine, of which the checks see millions
	}
	for port := range Ports {
		for twin := range Twins {
			if address == Function(port, twin) {
				return port, twin, true
			}
		}
	}
	return 0, 0, false
}

// placer finds the place of a name.
type placer struct{ predictable, short, host *regexp.Regexp }

// Predictable names have the PCI address in them (systemd.net-naming-scheme(7), rdma-core's NAME_PCI): enP2p1s0f1np1 and
// roceP2p1s0f1 are domain 2, bus 1, slot 0, function 1, in decimal. People shorten them to f1 and p1, which is the first twin.
var names = sync.OnceValue(newPlacer)

func newPlacer() placer {
	return placer{
		predictable: regexp.MustCompile(`^(?:en|roce|ib|rocep?)(?:P([0-9]{1,5}))?p([0-9]{1,3})s([0-9]{1,2})(?:f([0-7]))?(?:n[\w]+|d[0-9]+)?(?:v[0-9]+)?$`),
		short:       regexp.MustCompile(`^(?:f|p|port)([01])$`),
		host:        regexp.MustCompile(`(?i)(?:^|[-_.])(?:dgx-?)?(?:spark|gx10|gb10)[0-9]*(?:$|[-_.])`),
	}
}

// address is the PCI address in a name; empty: there is none in it.
func (p placer) address(name string) string {
	if m := p.short.FindStringSubmatch(name); m != nil {
		return "0000:01:00." + m[1]
	}
	m := p.predictable.FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	var n [4]int
	for i := range n {
		n[i], _ = strconv.Atoi(m[i+1]) // what is left out is 0
	}
	return fmt.Sprintf("%04x:%02x:%02x.%d", n[0], n[1], n[2], n[3])
}
