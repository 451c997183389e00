package check

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func claimState() Rule {
	return Rule{
		ID:        "claim-state",
		Title:     "Each resource claim is allocated and reserved, and its devices are ready",
		Doc:       "reads the state of claims as kubectl prints it, and what drivers report of each device: a pod whose claim is pending does not start",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseLauncherSetup,
		Reference: "Kubernetes, pkg/printers/internalversion: printResourceClaim; resource.k8s.io, AllocatedDeviceStatus; kubernetes-sigs/dranet, conditions Ready, NetworkReady and RDMALinkReady",
		Facts:     []string{fabric.FactKube},
		Scope:     []Condition{withKubeText()},
		Node:      judgeClaimState,
	}
}

func judgeClaimState(in NodeInput) []Verdict {
	k := in.Facts.Kube
	var out []Verdict
	for _, c := range k.Claims {
		v := judgeClaim(c)
		v.Subject = fabric.NodeSubject(in.Facts.Node)
		if v.Status != fabric.Pass {
			out = append(out, v)
		}
	}
	if m, cut := in.missing(fabric.FactKube); cut {
		out = append(out, unknown(fabric.NodeSubject(in.Facts.Node), "objects of Kubernetes were not all read: "+m.Reason+" ("+m.Source+")"))
	}
	switch {
	case len(out) > 0:
		return out
	case k.Empty():
		return in.asNode(Verdict{Why: "nothing was read of the text of kubectl"})
	case len(k.Claims) == 0:
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "no claim is among the texts of kubectl"})
	}
	return in.asNode(pass("allocated,reserved", saw("kubectl get resourceclaims", fabric.Count(len(k.Claims), "claim")+" allocated,reserved")))
}

func judgeClaim(c fabric.ClaimState) Verdict {
	const want = "allocated,reserved"
	seen := []fabric.Evidence{saw("claim "+c.Name, c.State)}
	fail := func(why, cost, fix string) Verdict {
		return Verdict{Status: fabric.Fail, Expected: want, Evidence: seen, Why: why, Cost: cost, Fix: fix}
	}
	describe := "kubectl describe resourceclaim " + fabric.ShellWord(c.Name)
	for _, d := range c.Devices {
		if len(d.NotReady) > 0 {
			seen = append(seen, saw(d.Driver+" "+d.Device, andMore(d.NotReady[:min(len(d.NotReady), mostNamed)], len(d.NotReady))))
			return fail(fmt.Sprintf("Device %s of claim %s is not ready: %s.", d.Device, c.Name, d.NotReady[0]), "the pod lacks the device", "the log of the pod of driver "+d.Driver+" on that node; then recreate the pod")
		}
	}
	states := strings.Split(c.State, ",")
	switch {
	case c.State == want:
		return pass(want, seen...)
	case c.State == "pending":
		return fail("Claim "+c.Name+" is pending: no node has the devices that it asks for, or its pod is not scheduled yet.", "its pod does not start", describe+"; kubectl describe pod, events; railwright claims says which request cannot be met")
	case slices.Contains(states, "deleted"):
		return fail("Claim "+c.Name+" is "+c.State+": it is being deleted and still holds its devices.", "its devices are not free for other pods", "delete the pods that it is reserved for; where there are none, look at the driver on that node")
	case c.State == "allocated":
		return Verdict{Expected: want, Evidence: seen, Why: "claim " + c.Name + " is allocated and reserved for no pod: its devices are held and unused, by intent or left by a pod that is gone"}
	}
	return Verdict{Expected: want, Evidence: seen, Why: "state " + fabric.Quote(c.State) + " of claim " + c.Name + " is unknown"}
}

func claimHolder() Rule {
	return Rule{
		ID:        "claim-holder",
		Title:     "Claims are reserved for pods that run",
		Doc:       "compares claims with the pods that they are reserved for: a pod that waits or has ended, or one that is gone, holds devices that others lack",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseLauncherSetup,
		Reference: "Kubernetes, pkg/controller/resourceclaim: reservations of pods that have ended are removed; resource.k8s.io, ResourceClaimStatus.reservedFor",
		Facts:     []string{fabric.FactKube},
		Scope:     []Condition{withKubeText()},
		Node:      judgeClaimHolder,
	}
}

func judgeClaimHolder(in NodeInput) []Verdict {
	k := in.Facts.Kube
	pods := map[string]fabric.PodState{}
	for _, p := range k.Pods {
		pods[p.Name] = p
	}
	var out []Verdict
	held := 0
	for _, c := range k.Claims {
		for _, name := range c.For {
			p, known := pods[name]
			held++
			switch {
			case !known || p.Status == "Running" && !strings.HasPrefix(p.Ready, "0/"):
			case p.Status == "Running":
				out = append(out, unknown(fabric.NodeSubject(in.Facts.Node), fmt.Sprintf("pod %s is Running and not ready (%s), and holds %s of claim %s", name, p.Ready, fabric.Count(len(c.Devices), "device"), c.Name)))
			default:
				out = append(out, Verdict{Status: fabric.Fail, Subject: fabric.NodeSubject(in.Facts.Node), Expected: "Running",
					Evidence: []fabric.Evidence{saw("pod "+name, p.Status), saw("claim "+c.Name, c.State)},
					Why:      fmt.Sprintf("Pod %s is %s and holds %s of claim %s.", name, p.Status, fabric.Count(len(c.Devices), "device"), c.Name),
					Cost:     "other pods wait for these devices",
					Fix:      "kubectl describe pod " + fabric.ShellWord(name) + "; delete it where it is not to run"})
			}
		}
	}
	switch {
	case len(out) > 0:
		return out
	case held == 0 || len(pods) == 0:
		return in.asNode(Verdict{Why: "pods and the claims that are reserved for them are not both among the texts: kubectl get pods -o wide, and kubectl get resourceclaims -o yaml"})
	}
	return in.asNode(pass("reserved for pods that run", saw("reservations", fmt.Sprint(held))))
}

func sliceNIC() Rule {
	return Rule{
		ID:    "slice-nic",
		Title: "Each NIC in a resource slice has its interface and its RDMA device",
		Doc: "reads the slices of NIC drivers: a NIC that came back from a pod without what it had is published without its interface, down, or without RDMA, and " +
			"claims for RDMA NICs pass it over",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseHCASubset,
		Reference: "kubernetes-sigs/dranet, pkg/inventory: attributes ifName, rdma, state and type; issues 33 and 42 of the project",
		Facts:     []string{fabric.FactKube},
		Scope:     []Condition{withKubeText()},
		Node:      judgeSliceNIC,
	}
}

func judgeSliceNIC(in NodeInput) []Verdict {
	nics := slices.DeleteFunc(slices.Clone(in.Facts.Kube.NICs), func(n fabric.SliceNIC) bool { return n.Virtual || n.PCI == "" })
	subject := fabric.NodeSubject(in.Facts.Node)
	rdma := map[string]int{} // NICs with RDMA by node
	for _, n := range nics {
		if n.RDMA != nil && *n.RDMA {
			rdma[n.Node]++
		}
	}
	var out []Verdict
	whole := 0
	for _, n := range nics {
		off := n.RDMA != nil && !*n.RDMA
		seen := saw("slice of "+n.Node+", "+n.Device, fmt.Sprintf("ifName %q, rdma %s, state %s, type %s", n.Interface, truth(n.RDMA), said(n.State), said(n.Type)))
		var why string
		switch {
		case off && n.State == "down":
			why = "is down and has no RDMA device"
		case off && n.Interface == "":
			why = "has neither an interface nor an RDMA device"
		case n.RDMA != nil && *n.RDMA && n.State == "down":
			why = "is down"
		case n.RDMA == nil:
			out = append(out, unknown(subject, "slice of "+n.Node+" does not say whether "+n.Device+" has RDMA", seen))
			continue
		default:
			whole++
			continue
		}
		if n.Type != "ipoib" && (n.RDMA == nil || !*n.RDMA) && !in.Pods.lacks(n, rdma[n.Node]) {
			out = append(out, unknown(subject, fmt.Sprintf("NIC %s of %s %s: one that came back from a pod, or an ordinary one that nothing uses", n.Device, n.Node, why), seen))
			continue
		}
		out = append(out, Verdict{Status: fabric.Fail, Subject: subject, Evidence: []fabric.Evidence{seen}, Expected: "up, with its interface and RDMA device",
			Why:  fmt.Sprintf("NIC %s (%s) of %s %s: it may have come back from a pod without what it had; %d others of the node have RDMA.", n.Device, n.PCI, n.Node, why, rdma[n.Node]),
			Cost: "claims for RDMA NICs cannot get it: pods stay pending, or claims of all NICs get fewer",
			Fix:  onNode("ip link; rdma link; ip link set dev IF up", n.Node) + "; restart the driver's pod there; a reboot of the node sets the NIC up again"})
	}
	switch {
	case len(out) > 0:
		return out
	case in.Facts.Kube.Empty():
		return in.asNode(Verdict{Why: "nothing was read of the text of kubectl"})
	case whole == 0:
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "no slice with a NIC that has a PCI address is among the texts of kubectl"})
	}
	return in.asNode(pass("up, with interface and RDMA device where it has one", saw("slices", fabric.Count(whole, "NIC"))))
}

func truth(b *bool) string {
	if b == nil {
		return "not said"
	}
	return fmt.Sprint(*b)
}

func said(text string) string {
	if text == "" {
		return "not said"
	}
	return text
}
