package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func podNICs() Rule {
	return Rule{
		ID:        "pod-nics",
		Title:     "The pod has the NICs that it claims",
		Doc:       "counts the interfaces that claims gave a pod: fewer than planned are NICs that the driver did not move into it, more are those of another pod",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseHCASubset,
		Reference: "the plan, claims.nics; DraNet moves an interface with its name into the pod that claims it",
		Facts:     []string{fabric.FactNICs},
		Scope:     []Condition{withClaims(), inPod()},
		Node:      judgePodNICs,
	}
}

func judgePodNICs(in NodeInput) []Verdict {
	want, have := in.Pods.claims.NICs, in.podNICsOf()
	var names []string
	for _, n := range have {
		names = append(names, n.Name)
	}
	seen := saw("interfaces of the pod", fmt.Sprintf("%d: %s", len(have), andMore(names[:min(len(names), mostNamed)], len(names))))
	expected := fabric.Count(want, "NIC")
	_, cut := in.missing(fabric.FactNICs)
	switch {
	case len(in.Facts.NICs) == 0 || cut && len(have) < want:
		return in.asNode(Verdict{Expected: expected, Why: in.why("interfaces of "+in.Facts.Node+" were not all read", fabric.FactNICs)})
	case len(have) == want:
		return in.asNode(pass(expected, seen))
	case len(have) > want:
		return in.asNode(Verdict{Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
			Why:  fmt.Sprintf("%s has %d NICs of the fabric and claims %d: another pod lacks them, or it runs in the network of its machine.", in.Facts.Node, len(have), want),
			Cost: "pods of the same machine lack NICs",
			Fix:  "kubectl get resourceclaims; the claim's count, and hostNetwork: false"})
	}
	return in.asNode(Verdict{Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
		Why:  fmt.Sprintf("%s has %d of the %d NICs that it claims.", in.Facts.Node, len(have), want),
		Cost: fmt.Sprintf("%d of %d NICs of the pod, and all pods wait for the slowest", want-len(have), want),
		Fix:  "kubectl describe pod " + fabric.ShellWord(in.Facts.Node) + "; kubectl get resourceclaims -o yaml   # status.devices: conditions of each NIC; then the log of the driver's pod on that node"})
}

func podNICReady() Rule {
	return Rule{
		ID:    "pod-nic-ready",
		Title: "Each NIC of the pod is up, with its address and MTU",
		Doc: "reads state, addresses and MTU of the interfaces that claims gave a pod: one that came back from an earlier pod without what the host had set on it is " +
			"down, without an address, or at the MTU of 1500",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseAddressMissing,
		Reference: "the plan, mtu; kernel, net/core/dev.c: an interface that changes its network namespace is closed and loses its addresses; kubernetes-sigs/dranet, issue 42",
		Facts:     []string{fabric.FactNICs, fabric.FactNICAddresses},
		Scope:     []Condition{withClaims(), inPod()},
		Node:      judgePodNICReady,
	}
}

func judgePodNICReady(in NodeInput) []Verdict {
	nics := in.podNICsOf()
	if len(nics) == 0 {
		return in.asNode(Verdict{Why: in.why("no NIC of the fabric was seen in "+in.Facts.Node+" (see pod-nics)", fabric.FactNICs)})
	}
	out := make([]Verdict, 0, len(nics))
	for _, n := range nics {
		v := in.judgePodNIC(n)
		v.Subject = fabric.NICSubject(in.Facts.Node, n.Name)
		out = append(out, v)
	}
	return out
}

func (in NodeInput) judgePodNIC(n *fabric.NIC) Verdict {
	host := slices.IndexFunc(n.Addresses, func(p netip.Prefix) bool { return !p.Addr().IsLinkLocalUnicast() })
	expected := fmt.Sprintf("up, an address, MTU %d", in.Pods.mtu)
	var addresses []string
	for _, a := range n.Addresses {
		addresses = append(addresses, a.String())
	}
	seen := saw("interface "+n.Name, fmt.Sprintf("%s, MTU %d, addresses: %s", n.OperState, n.MTU, strings.Join(addresses, " ")))
	fail := func(cause fabric.CauseID, what, cost string) Verdict {
		return Verdict{Status: fabric.Fail, Cause: cause, Expected: expected, Evidence: []fabric.Evidence{seen},
			Why: in.Facts.Node + ":" + n.Name + " " + what, Cost: cost,
			Fix: "recreate the pod; where it stays so, look at the interface on the node after the pod is gone: it must be up with its address and MTU there, or a reboot of the VM sets it up again"}
	}
	_, noAddresses := in.missing(fabric.FactNICAddresses, fabric.FactNICAddresses+" "+n.Name)
	switch {
	case n.OperState == "down" || n.OperState == "lowerlayerdown":
		return fail(fabric.CauseLinkDown, "is "+n.OperState+": a NIC that came back from another pod and was not set up again, or a link that is down.", "NCCL leaves the NIC out, or the run hangs on it")
	case n.MTU > 0 && in.Pods.mtu > 0 && n.MTU != in.Pods.mtu:
		return fail(fabric.CauseMTUMismatch, fmt.Sprintf("has MTU %d, the plan %d.", n.MTU, in.Pods.mtu), "small packets, or a hang where the other end sends larger ones")
	case host < 0 && noAddresses:
		return Verdict{Expected: expected, Evidence: []fabric.Evidence{seen}, Why: in.why("addresses of "+n.Name+" were not read", fabric.FactNICAddresses, fabric.FactNICAddresses+" "+n.Name)}
	case host < 0 && in.Pods.claims.NICDriver != "":
		return fail(fabric.CauseAddressMissing, "has no address: RoCE has no GID for it, and its peers no way to it.", "NCCL leaves the NIC out, or connections fail")
	case in.Pods.cloud == "gke" && !n.Addresses[host].IsSingleIP():
		return Verdict{Expected: expected + " of one host (/32)", Evidence: []fabric.Evidence{seen},
			Why: fmt.Sprintf("%s:%s has %s: on GKE the interfaces of a network with an RDMA profile have addresses of one host (/32), so this may be another network", in.Facts.Node, n.Name, n.Addresses[host])}
	case n.OperState != "up" && n.OperState != "unknown":
		return Verdict{Expected: expected, Evidence: []fabric.Evidence{seen}, Why: "state of " + in.Facts.Node + ":" + n.Name + " was not read"}
	case n.MTU == 0:
		return Verdict{Expected: expected, Evidence: []fabric.Evidence{seen}, Why: "MTU of " + in.Facts.Node + ":" + n.Name + " was not read"}
	}
	return pass(expected, seen)
}

func podDevices() Rule {
	return Rule{
		ID:        "pod-rdma-devices",
		Title:     "The pod has an RDMA device for each NIC that it claims",
		Doc:       "counts the character devices of RDMA in the container: without one for each NIC, NCCL uses fewer NICs or TCP",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseSocketFallback,
		Reference: "kubernetes-sigs/dranet, NRI hook of a container: it adds /dev/infiniband/uverbsN of the NICs of the claim",
		Facts:     []string{fabric.FactMachineRDMACharDevices},
		Scope:     []Condition{withClaims(), inPod()},
		Node:      judgePodDevices,
	}
}

func judgePodDevices(in NodeInput) []Verdict {
	want := in.Pods.claims.NICs
	expected := fabric.Count(want, "device") + " /dev/infiniband/uverbs*"
	if in.Facts.Pod == nil || in.Facts.Machine.RDMACharDevs == nil {
		return in.asNode(Verdict{Expected: expected, Why: in.why("devices in /dev/infiniband of "+in.Facts.Node+" were not read", fabric.FactMachineRDMACharDevices)})
	}
	have := *in.Facts.Machine.RDMACharDevs
	seen := saw("/dev/infiniband", strconv.Itoa(have)+" uverbs")
	if have >= want {
		return in.asNode(pass(expected, seen))
	}
	return in.asNode(Verdict{Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
		Why:  fmt.Sprintf("%s has %d of %d devices /dev/infiniband/uverbs*, one for each NIC that it claims.", in.Facts.Node, have, want),
		Cost: "NCCL runs over TCP, or over fewer NICs",
		Fix:  "the log of the NIC driver's pod on that node: NRI must be on in the container runtime; then recreate the pod"})
}

func podPlugin() Rule {
	return Rule{
		ID:        "pod-plugin",
		Title:     "The pod has Google's plugin for RDMA and its NCCL",
		Doc:       "looks for the folder /usr/local/gib and for the library of NCCL where GKE mounts them (LD_LIBRARY_PATH has to name its folder, which is not read): without the plugin NCCL does not find its way between the rails of A3 Ultra and A4",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseNetPlugin,
		Reference: "GoogleCloudPlatform/container-engine-accelerators, gpudirect-rdma: the installer puts gIB and NCCL on the node, pods mount them; GKE documentation, GPUDirect RDMA",
		Facts:     []string{fabric.FactPod},
		Scope:     []Condition{withClaims(), inPod()},
		Node:      judgePodPlugin,
	}
}

func judgePodPlugin(in NodeInput) []Verdict {
	const expected = "/usr/local/gib with its files, and libnccl.so in its lib64 or in /usr/local/nvidia/lib64"
	p := in.Facts.Pod
	switch {
	case in.Pods.cloud != "gke":
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "the plugin is of Google Cloud, and the cluster file is of another platform"})
	case p == nil:
		return in.asNode(Verdict{Expected: expected, Why: "folders of " + in.Facts.Node + " were not read: collect in the container (kubectl exec)"})
	}
	if m, cut := in.missing(fabric.FactPod); cut {
		return in.asNode(Verdict{Expected: expected, Why: "folders of " + in.Facts.Node + " were not all read: " + m.Reason + " (" + m.Source + ")"})
	}
	seen := []fabric.Evidence{saw("/usr/local/gib", andMore(p.GIB[:min(len(p.GIB), mostNamed)], len(p.GIB))), saw("libnccl.so*", andMore(p.NCCL[:min(len(p.NCCL), mostNamed)], len(p.NCCL)))}
	fail := func(why string) []Verdict {
		return in.asNode(Verdict{Status: fabric.Fail, Expected: expected, Evidence: seen, Why: in.Facts.Node + " " + why,
			Cost: "NCCL runs without the plugin: slower, or no connection between rails",
			Fix:  "the NCCL installer's DaemonSet must be ready on the node; mount what it installs there at /usr/local/gib and /usr/local/nvidia, with LD_LIBRARY_PATH=/usr/local/nvidia/lib64"})
	}
	switch {
	case len(p.GIB) == 0:
		return fail("has no files in /usr/local/gib.")
	case len(p.NCCL) == 0:
		return fail("has no libnccl.so in lib64 of /usr/local/gib or /usr/local/nvidia.")
	}
	return in.asNode(pass(expected, seen...))
}
