package render

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/nic"
)

// ncclPath is no file that NCCL or RCCL reads by itself. Every process of a host takes /etc/nccl.conf (RCCL:
// /etc/rccl.conf) in silence, except in a container, so that what is left there from another network is found last.
const ncclPath = "/etc/railwright/nccl.env"

// NCCLEnvironment renders what NCCL and RCCL need to know of the fabric, as NAME=VALUE lines without quotes, which a shell, a
// container and systemd read alike. A comment has no '=': with NCCL_CONF_FILE, NCCL itself reads the file, and older
// versions took such a comment for a variable (NCCL, src/misc/param.cc).
func NCCLEnvironment(v nic.Vendor, t fabric.Traffic, n fabric.NodeAddresses) fabric.Artifact {
	roce, cnp := classesOf(t)
	text := fmt.Appendf(nil, ncclText, roce.Octet(), roce.DSCP, v.GIDIndex, v.Title)
	if v.ControlClass {
		text = fmt.Appendf(text, ncclControl, cnp.Octet(), cnp.DSCP)
	}
	a := newArtifact(n.Node, ncclPath, modePublic, text)
	a.Omits = []string{
		"NCCL_IB_HCA: the plan has no names of RDMA devices; without it every RDMA device is used, also one of another network",
		"NCCL_SOCKET_IFNAME: the plan does not know the management interface",
	}
	return a
}

// classesOf are the classes of RoCE and of its control messages, of which the plan has at most one each.
func classesOf(t fabric.Traffic) (roce, cnp fabric.TrafficClass) {
	for _, c := range t.Classes {
		switch c.Name {
		case "roce":
			roce = c
		case "cnp":
			cnp = c
		}
	}
	return roce, cnp
}

// FabricVariables are what collectives in a pod need to know of the traffic classes of the fabric; none where the plan has no classes
// or the settings of the NIC are unknown. NCCL_IB_GID_INDEX is not among them: the NCCL of the pod finds it.
func FabricVariables(m fabric.NominalMachine, t *fabric.Traffic) (all []Variable) {
	v, err := vendorOf(m, t)
	if err != nil {
		return nil
	}
	roce, cnp := classesOf(*t)
	all = append(all, Variable{Name: "NCCL_IB_TC", Value: fmt.Sprint(roce.Octet())})
	if v.ControlClass {
		all = append(all, Variable{Name: "NCCL_IB_FIFO_TC", Value: fmt.Sprint(cnp.Octet())})
	}
	return all
}

const ncclText = `# Written by railwright from the plan; a change here is lost when it is rendered again.
# Environment of NCCL and RCCL on this fabric. Nothing reads it by itself: set -a; . /etc/railwright/nccl.env; set +a
# in a job's script, --env-file for a container, EnvironmentFile in a unit, or NCCL_CONF_FILE (NCCL 2.23).
#
# DSCP %[2]d in the upper six bits: the class that PFC and ECN of NICs and switches are set for. Without it the packets
# of NCCL have DSCP 0 and travel with all other traffic, unless the driver has a default of its own.
NCCL_IB_TC=%[1]d
# The RoCE v2 GID of the first IPv4 address on %[4]s, as long as an interface has
# one address. NCCL from 2.21 on, and RCCL made from it, find it by themselves (NCCL_IB_ROCE_VERSION_NUM, by default 2;
# NCCL_IB_ADDR_RANGE chooses a subnet): there this line can go, and must where an interface has several addresses.
NCCL_IB_GID_INDEX=%[3]d
# NCCL_IB_HCA: RDMA devices of the fabric, with commas and without blanks, which NCCL does not strip: mlx5_0,mlx5_1
# NCCL_SOCKET_IFNAME: the management interface, for the start of a job
# NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT stay at their defaults: larger ones hide a fabric that loses packets.
`

const ncclControl = `# Control messages of NCCL (clear to send) in the class of CNPs, DSCP %[2]d, not behind the data: AMD's own launch scripts
# (AMD-AGI/Primus, enable_ainic) do so on these NICs.
NCCL_IB_FIFO_TC=%[1]d
`
