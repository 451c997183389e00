package check

import "railwright.dev/railwright/internal/fabric"

func networkOwner() Rule {
	return Rule{
		ID:        "network-owner",
		Title:     "systemd-networkd owns the network",
		Doc:       "looks for the service that configures interfaces: the rendered netplan files name networkd, and under NetworkManager none of them takes effect",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseAddressMissing,
		Reference: "Broadcom RoCE guide 2.4, netplan with renderer: networkd; netplan(5), renderer",
		Facts:     []string{fabric.FactMachineNetworkOwner},
		Scope:     []Condition{withPlan(), withAddresses(), withHardware()},
		Node:      judgeNetworkOwner,
	}
}

func judgeNetworkOwner(in NodeInput) []Verdict {
	const want = "networkd"
	owner := in.Facts.Machine.NetworkManager
	if owner == nil {
		return in.asNode(Verdict{Why: in.why("neither networkd nor NetworkManager is known to run on "+in.Facts.Node, fabric.FactMachineNetworkOwner)})
	}
	seen := saw("/run/systemd/netif, /run/NetworkManager", *owner)
	if *owner == want {
		return in.asNode(pass(want, seen))
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
		Why:  *owner + " configures the network of " + in.Facts.Node + ", not networkd, for which the files of the plan are written.",
		Cost: "addresses, routes and MTU of the plan do not take effect, or are lost at the next restart",
		Fix:  onNode("systemctl disable --now NetworkManager && systemctl enable --now systemd-networkd && netplan apply", in.Facts.Node) + ", over the BMC: it cuts the connection",
	})
}
