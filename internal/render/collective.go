package render

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Wired is what the environment of collectives follows from, on a machine whose ports have twins.
type Wired struct {
	Node       string
	Nodes      int // of the cluster
	Wiring     fabric.Wiring
	Ports      []fabric.NodePort    // cabled ones of the node
	Addresses  fabric.NodeAddresses // of the node
	Management string               // interface of the ordinary network; empty: the plan does not know it
	Traffic    *fabric.Traffic      // nil where the plan has no traffic classes
}

// Variable is a variable of an environment.
type Variable struct {
	Name, Value string
	Why         string // lines of a comment, without '='
}

// String writes NAME=VALUE.
func (v Variable) String() string { return v.Name + "=" + v.Value }

// CollectiveVariables are what NCCL, UCX, Open MPI, Gloo and the engines need to know of the wiring. missing says what the plan
// does not have, so that a variable is left out.
//
// Names are matched exactly, by the '=' before the list. Without it NCCL takes each as a prefix (src/misc/utils.cc, matchIf), and
// rocep1s0f1 is one of its own virtual functions (rocep1s0f1v0), as mlx5_1 is of mlx5_10, and enP7s7 of enP7s7.100. NCCL strips no
// blanks. NCCL_IB_GID_INDEX is in no wiring: it differs from port to port and moves when an address changes, and NCCL 2.21 and
// later find the RoCE v2 one of each port. NCCL_IB_DISABLE neither: NCCL_NET says more.
func CollectiveVariables(w Wired) (all []Variable, missing []string) {
	all = append(all, Variable{"NCCL_NET", "IB", "RDMA, or an error: without it NCCL silently falls back to TCP, at a tenth of the speed."})
	if hcas := w.hcas(); len(hcas) > 0 {
		all = append(all, Variable{"NCCL_IB_HCA", "=" + strings.Join(hcas, ","),
			"Both twins of each cabled port: each is one PCIe x4 link of about 110 Gb/s, and the port needs both. The list begins\n" +
				"with the sign for exact names; without it rocep1s0f1 is also its virtual functions."})
	} else {
		missing = append(missing, "NCCL_IB_HCA: the plan has no cabled port of this machine")
	}
	if w.Wiring == fabric.WiredRing || w.Wiring == fabric.WiredPair && len(w.Ports) > 1 {
		all = append(all, w.crossed()...)
	}
	if tc, ok := w.class(); ok {
		all = append(all, tc)
	}
	bootstrap, why := w.bootstrap()
	if bootstrap == "" {
		return all, append(missing, "NCCL_SOCKET_IFNAME, UCX_NET_DEVICES, OMPI_MCA_btl_tcp_if_include, OMPI_MCA_oob_tcp_if_include, GLOO_SOCKET_IFNAME and "+
			"TP_SOCKET_IFNAME: "+why)
	}
	return append(all,
		Variable{"NCCL_SOCKET_IFNAME", "=" + bootstrap, why},
		Variable{"UCX_NET_DEVICES", bootstrap, "The same interface for MPI, which starts the processes of tests: oob is of Open MPI 4 (Ubuntu 24.04 has 4.1.6)."},
		Variable{"OMPI_MCA_btl_tcp_if_include", bootstrap, ""},
		Variable{"OMPI_MCA_oob_tcp_if_include", bootstrap, ""},
		Variable{"GLOO_SOCKET_IFNAME", bootstrap, "The same interface for Gloo and TensorPipe, with which PyTorch starts."},
		Variable{"TP_SOCKET_IFNAME", bootstrap, ""},
	), missing
}

// hcas are the RDMA devices of all twins, by port, first those of the first PCI domain.
func (w Wired) hcas() (names []string) {
	for _, p := range w.Ports {
		for _, t := range p.Twins {
			names = append(names, t.HCA)
		}
	}
	return names
}

// bootstrap is the interface over which processes find each other, and why.
//
// Of two machines and on a switch it is the first twin with an address: the plan itself put all machines into its subnet, while of
// the ordinary network it knows neither addresses nor that there is one at all. In a ring no QSFP port reaches everyone, so only
// the ordinary network is left.
func (w Wired) bootstrap() (nic, why string) {
	if w.Wiring == fabric.WiredRing {
		if w.Management == "" {
			return "", "the plan does not know the interface of the ordinary network, the only one in a ring that reaches all machines"
		}
		return w.Management, "Processes find each other over the ordinary network, the only one that reaches all machines of a ring. No QSFP port may be\n" +
			"named here."
	}
	for _, p := range w.Ports {
		for _, t := range p.Twins {
			if slices.ContainsFunc(w.Addresses.NICs, func(a fabric.NICAddress) bool { return a.NIC == t.NIC }) {
				return t.NIC, "Processes find each other over the twin in whose subnet the plan has all machines; the ordinary network may not join them."
			}
		}
	}
	return "", "no interface of a cabled port has an address"
}

// largestMesh is the most machines of a ring in which each is cabled to every other.
const largestMesh = 3

// crossed are the settings of machines whose cables lead from port 0 to port 1 of another: a ring, or a pair with two cables.
//
// NCCL pairs devices by their number in the list, which assumes that any reaches any. From 2.30.7 on each side exchanges the
// addresses of its device and takes another one that shares their subnet (src/transport/net_ib/connect.cc,
// ncclIbFindDevBySubnet). It compares 24 bits, and with port 0 cabled to port 1 one of both sides is always on the right cable.
// NCCL fuses both ports of a PCI device. In a ring these lead to different machines, and a fused device fits only if all of its
// functions reach the peer; in a pair they do, but function n is then paired with function n, on the other cable. So fusion has
// to be off. (Settings with NCCL_IB_MERGE_NICS=1 circulate from builds that took the first function that fits.)
// NCCL_CROSS_NIC, which also circulates, changes nothing here: NCCL keeps the numbers of both ends alike anyway.
func (w Wired) crossed() []Variable {
	all := []Variable{
		{"NCCL_IB_MERGE_NICS", "0", "Each cable leads from port 0 to port 1 of another machine, so both ports must not be fused into one device."},
		{"NCCL_IB_SUBNET_AWARE_ROUTING", "1", "NCCL 2.30.7 and later: of its devices it takes the one whose /24 is the peer's. Older ones ignore it and end with\n" +
			"ibv_modify_qp: Connection timed out."},
		{"NCCL_NET_PLUGIN", "none", "NCCL's own transport: a plugin that an image brings knows nothing of the above."},
	}
	if w.Nodes > largestMesh {
		all = append(all, Variable{"NCCL_ALGO", "Ring", "In a ring of more than three, machines that are not neighbours cannot connect, and trees would. NCCL connects what a\n" +
			"collective needs when it is needed, unless NCCL_CUMEM_ENABLE or NCCL_RUNTIME_CONNECT is 0: do not set them. NVIDIA\n" +
			"supports rings of three; whether yours runs, railwright bench says. A switch, or an NCCL that was changed to skip\n" +
			"trees, is the way where it does not. Send and receive between machines that are not neighbours never work."})
	}
	return all
}

// class is the traffic class of RoCE, where the plan has one.
func (w Wired) class() (Variable, bool) {
	if w.Traffic == nil {
		return Variable{}, false
	}
	i := slices.IndexFunc(w.Traffic.Classes, func(c fabric.TrafficClass) bool { return c.Name == "roce" })
	if i < 0 {
		return Variable{}, false
	}
	roce := w.Traffic.Classes[i]
	return Variable{"NCCL_IB_TC", fmt.Sprint(roce.Octet()), fmt.Sprintf("DSCP %d in the upper six bits: the class that the switch treats as RoCE.", roce.DSCP)}, true
}

const collectiveHead = `# Written by railwright from the plan; a change here is lost when it is rendered again.
# Environment of collectives on this machine. Nothing reads it by itself: set -a; . /etc/railwright/nccl.env; set +a
# in a script, --env-file for a container, EnvironmentFile in a unit. mpirun sends to other machines only what -x names:
# railwright bench -f FILE --print has the lines.
# NCCL_IB_GID_INDEX is left to NCCL. One that is in /etc/nccl.conf or ~/.nccl.conf from before still counts: remove it.
`

// CollectiveEnvironment renders these variables as NAME=VALUE lines without quotes, which a shell, a container and systemd read
// alike. No comment has a '=': older NCCL took such a line for a variable (src/misc/param.cc, with NCCL_CONF_FILE).
func CollectiveEnvironment(w Wired) fabric.Artifact {
	variables, missing := CollectiveVariables(w)
	b := []byte(collectiveHead)
	for _, v := range variables {
		if v.Why != "" {
			b = append(b, "#\n# "+strings.ReplaceAll(strings.ReplaceAll(v.Why, "=", " "), "\n", "\n# ")+"\n"...)
		}
		b = append(b, v.String()+"\n"...)
	}
	a := newArtifact(w.Node, ncclPath, modePublic, b)
	a.Omits = missing
	return a
}
