package check

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func networkOwner() Rule {
	return Rule{
		ID:    "network-owner",
		Title: "The planned service alone configures the network",
		Doc: "looks for the services that configure interfaces: the rendered files are for networkd (netplan) or for NetworkManager, under another " +
			"service none of them takes effect, and two services on one NIC undo each other",
		Severity: fabric.SeverityError,
		Cause:    fabric.CauseAddressMissing,
		Reference: "Broadcom RoCE guide 2.4, netplan with renderer: networkd (it says that networkd disables NetworkManager, which it does not); " +
			"netplan(5), renderer; NetworkManager.conf(5), unmanaged-devices",
		Facts: []string{fabric.FactMachineNetworkOwner, fabric.FactNICOwner},
		Scope: []Condition{withPlan(), withAddresses(), withHardware()},
		Node:  judgeNetworkOwner,
	}
}

func judgeNetworkOwner(in NodeInput) []Verdict {
	want := in.Plan.Network.Service()
	owner := in.Facts.Machine.NetworkManager
	if owner == nil {
		return in.asNode(Verdict{Why: in.why("no service that configures interfaces is known to run on "+in.Facts.Node, fabric.FactMachineNetworkOwner)})
	}
	seen := []fabric.Evidence{saw("/run/systemd/netif, /run/NetworkManager, /run/wicked, /run/network", *owner)}
	services := strings.Split(*owner, fabric.OwnerSeparator)
	if !slices.Contains(services, want) {
		return in.asNode(in.wrongOwner(want, seen, *owner+" configures the network of "+in.Facts.Node+", not "+want+", for which the files of the plan are written."))
	}
	var wrong, unread []string
	for _, name := range in.Plan.NICs {
		nic, ok := in.nic(name)
		switch {
		case !ok || nic.Owner == nil:
			unread = append(unread, name)
		case *nic.Owner != want:
			wrong = append(wrong, name)
			seen = append(seen, saw("state of "+name+" in /run/systemd/netif/links, /run/NetworkManager/devices, /run/network/ifstate", *nic.Owner))
		}
	}
	switch {
	case len(wrong) > 0:
		return in.asNode(in.wrongOwner(want, seen, strings.Join(wrong, ", ")+" of "+in.Facts.Node+" should be configured by "+want+" alone, not by "+seen[1].Value+"."))
	case len(services) > 1 && len(unread) > 0:
		why := *owner + " run on " + in.Facts.Node + ", and which of them configures " + strings.Join(unread, ", ") + " was not read"
		return in.asNode(Verdict{Expected: want, Evidence: seen, Why: in.why(why, fabric.FactNICOwner+" "+unread[0], fabric.FactNICOwner)})
	}
	return in.asNode(pass(want, seen...))
}

func (in NodeInput) wrongOwner(want string, seen []fabric.Evidence, why string) Verdict {
	fix := "systemctl disable --now NetworkManager wicked && systemctl enable --now systemd-networkd && netplan apply"
	if want == fabric.NetworkManager {
		fix = "systemctl disable --now systemd-networkd.socket systemd-networkd wicked; systemctl enable --now NetworkManager && nmcli connection reload"
	}
	return Verdict{
		Status: fabric.Fail, Expected: want, Evidence: seen, Why: why,
		Cost: "addresses, routes and MTU of the plan do not take effect, or are lost at the next restart",
		Fix:  onNode(fix, in.Facts.Node) + ", over the BMC: it cuts the connection; or say with nodes[].network in the cluster file which service it is",
	}
}
