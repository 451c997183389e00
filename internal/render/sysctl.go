package render

import (
	"math/bits"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const sysctlPath = "/etc/sysctl.d/60-railwright.conf"

const sysctlNUMA = `# Written by railwright from the plan; a change here is lost when it is rendered again.

# Automatic NUMA balancing unmaps pages to see who uses them; each fault stalls a collective, and
# registered memory must stay where it is (Broadcom's RoCE guide, 2.6, no. 15).
kernel.numa_balancing = 0
`

const sysctlFilter = `
# Replies leave by the NIC that the source rules choose, which strict reverse-path filtering does not
# know of before the rules are in place; loose mode is what the kernel's ip-sysctl advises with policy
# routing. The kernel takes the higher of conf/all and conf/NIC, so 2 here holds whatever is set in all,
# and interfaces outside the fabric keep theirs.
`

const sysctlARP = `
# Several NICs may share a layer 2: with the kernel's defaults any of them answers for the address of
# another (ARP flux), and RDMA then maps a remote address to the wrong NIC. Answer only for an address of
# the NIC that was asked, to a sender in its subnet, and announce only addresses of the target's subnet
# (Broadcom's RoCE guide, 2.4). The kernel takes the higher of conf/all and conf/NIC.
`

// Of the kernel's neighbour table, in entries (net/ipv4/arp.c; Documentation/networking/ip-sysctl).
const (
	neighbourSoft = 512 // gc_thresh2: above it entries older than 5 s are thrown away
	neighbourRest = 128 // gc_thresh1: left for the interfaces outside the fabric
)

// Sysctl sets what the kernel needs for the fabric. n may have no NICs (InfiniBand: only the settings that
// concern no network). neighbours is how many addresses the node can meet on its own subnets; the
// neighbour table is raised only where the default would throw entries away.
// It panics on a name that CheckNICName refuses: this format has no quoting.
func Sysctl(scheme fabric.Scheme, neighbours int, n fabric.NodeAddresses) fabric.Artifact {
	b := append(make([]byte, 0, 2048+len(n.NICs)*128), sysctlNUMA...)
	if len(n.NICs) > 0 {
		b = appendEach(append(b, sysctlFilter...), n.NICs, ".rp_filter = 2\n")
		if scheme == fabric.Flat || scheme == fabric.Rail24 {
			b = appendEach(append(b, sysctlARP...), n.NICs, ".arp_ignore = 2\n")
			b = appendEach(b, n.NICs, ".arp_announce = 1\n")
		}
	}
	if neighbours > neighbourSoft {
		b = appendNeighbours(b, neighbours)
	}
	return newArtifact(n.Node, sysctlPath, modePublic, b)
}

const sysctlTwins = `# Written by railwright from the plan; a change here is lost when it is rendered again.

# The twins of a QSFP port hear the same cable, and on a switch all twins of all machines share one layer 2. With the
# kernel's defaults either twin answers ARP for the other's address, and RDMA then sends to the wrong one. Answer only for an
# address of the interface that was asked, to a sender in its subnet, and announce only addresses of the target's subnet.
# The kernel takes the higher of conf/all and conf/NIC: other interfaces keep theirs.
`

// TwinSysctl keeps the twins of a port from answering for each other. n has the interfaces of all cabled ports.
// It panics on a name that CheckNICName refuses: this format has no quoting.
func TwinSysctl(n fabric.NodeAddresses) fabric.Artifact {
	b := appendEach([]byte(sysctlTwins), n.NICs, ".arp_ignore = 2\n")
	return newArtifact(n.Node, sysctlPath, modePublic, appendEach(b, n.NICs, ".arp_announce = 1\n"))
}

func appendEach(b []byte, nics []fabric.NICAddress, setting string) []byte {
	for _, nic := range nics {
		if err := CheckNICName(nic.NIC); err != nil {
			panic(err)
		}
		b = append(b, "net.ipv4.conf."...)
		b = append(b, strings.ReplaceAll(nic.NIC, ".", "/")...) // sysctl.d(5): dots and slashes change places
		b = append(b, setting...)
	}
	return b
}

// appendNeighbours raises the three thresholds: below the first nothing is collected, and the others
// keep room above it. Powers of two, so that a few more hosts change nothing.
func appendNeighbours(b []byte, neighbours int) []byte {
	first := 1 << bits.Len(uint(neighbours+neighbourRest-1))
	b = append(b, "\n# The subnets of this node hold "...)
	b = strconv.AppendInt(b, int64(neighbours), 10)
	b = append(b, " neighbours. By default the kernel throws entries away above 512 and\n"+
		"# refuses new ones above 1024 (\"neighbour table overflow\"); nothing is thrown away below gc_thresh1.\n"...)
	for i, key := range []string{"gc_thresh1", "gc_thresh2", "gc_thresh3"} {
		b = append(b, "net.ipv4.neigh.default."+key+" = "...)
		b = strconv.AppendInt(b, int64(first)<<i, 10)
		b = append(b, '\n')
	}
	return b
}
