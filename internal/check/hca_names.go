package check

import (
	"regexp"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

func hcaNamesEqual() Rule {
	return Rule{
		ID:    "hca-names-equal",
		Title: "RDMA devices are named in the same way on all nodes",
		Doc: "compares by whom the RDMA devices of each node are named: the kernel counts them (bnxt_re0, mlx5_0), the udev rule of rdma-core names them after their PCI place (rocep67s0); " +
			"one NCCL_IB_HCA cannot select both",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseHCASubset,
		Reference: "Broadcom RoCE guide 5.1 no. 1; rdma-core, kernel-boot/rdma-persistent-naming.rules (NAME_KERNEL, NAME_FALLBACK)",
		Facts:     []string{fabric.FactHCAs},
		Scope:     []Condition{withOwnHardware(), withPeers(), withRDMA()},
		Cluster: func(in ClusterInput) []Verdict {
			return equality{
				what: "RDMA device names", of: "nodes", source: "/sys/class/infiniband", cost: "a job that selects devices by name uses none on some nodes, or falls back to sockets there",
				members: in.nodeMembers(false, func(d *Digest) trait { return d.HCANames }),
				fix: func(s fabric.Subject, _ string) string {
					return onNode("cp /usr/lib/udev/rules.d/60-rdma-persistent-naming.rules /etc/udev/rules.d/, write NAME_KERNEL or NAME_FALLBACK there as on the other nodes, update-initramfs -u, reboot", s.Node)
				},
			}.judge()
		},
	}
}

// kernelName is a driver's prefix and a number (drivers/infiniband: ib_alloc_device and ib_register_device names);
// placeName is one of rdma_rename: link layer, then the PCI place or the GUID.
var (
	kernelName = pattern.Plain(`^(?:mlx[45]_|bnxt_re|ionic_|irdma|i40iw|efa_|mana_|hns_|qedr|cxgb4_|rxe|siw)[0-9]+$`)
	placeName  = pattern.Plain(`^(?:ib|roce|iw|opa|usnic|rdma)(?:[ops][0-9]|x[0-9a-f]{12})`)
)

// hcaNames says by whom the RDMA devices are named, or why that is unknown.
func (in NodeInput) hcaNames() (by, why string) {
	if _, cut := in.missing(fabric.FactHCAs); cut || len(in.Facts.HCAs) == 0 {
		return "", in.why("RDMA devices of "+in.Facts.Node+" were not listed", fabric.FactHCAs)
	}
	all := func(is *regexp.Regexp) bool {
		return !slices.ContainsFunc(in.Facts.HCAs, func(h fabric.HCA) bool { return !is.MatchString(h.Name) })
	}
	switch {
	case all(kernelName()):
		return "by the kernel", ""
	case all(placeName()):
		return "by PCI place", ""
	}
	return "in another way", ""
}
