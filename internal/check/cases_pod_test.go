package check

import (
	"net/netip"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// pod makes host1 a pod with 4 of its machine's NICs, in a cluster file for Kubernetes on GKE.
func pod(w *world) {
	f := w.host1()
	w.plan.Launcher, w.plan.MTU = "kubernetes", 8896
	w.plan.Cloud = &fabric.Cloud{Provider: "gke"}
	w.plan.Claims = &fabric.Claims{Pods: 4, PodsPerNode: 2, GPUs: 4, NICs: 4, NICDriver: "dra.net"}
	f.Node = "trainer-0"
	f.NICs = slices.DeleteFunc(f.NICs, func(n fabric.NIC) bool {
		return !slices.Contains([]string{nicName(0), nicName(1), nicName(2), nicName(3)}, n.Name)
	})
	for i := range f.NICs {
		f.NICs[i].MTU = 8896
		for j, a := range f.NICs[i].Addresses {
			f.NICs[i].Addresses[j] = netip.PrefixFrom(a.Addr(), a.Addr().BitLen())
		}
	}
	f.HCAs, f.GPUs = f.HCAs[:4], f.GPUs[:4]
	w.nodes = w.nodes[:1]
	f.NICs = append(f.NICs, fabric.NIC{Name: "eth0", Index: 90, Kind: "veth", MTU: 1460, OperState: "up"}, fabric.NIC{Name: "lo", Index: 1, MTU: 65536, OperState: "unknown"})
	f.Machine.RDMACharDevs = ref(4)
	f.Pod = &fabric.Pod{GIB: []string{"configs", "lib64", "scripts"}, NCCL: []string{"/usr/local/nvidia/lib64/libnccl.so.2"}, LockMemory: ref(true)}
}

func podCases() []oneCase {
	const (
		pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
		p                       = "trainer-0"
	)
	s := p + ":" + nicName(2)
	in := func(change func(*world)) func(*world) { return func(w *world) { pod(w); change(w) } }
	nic := func(change func(*fabric.NIC)) func(*world) {
		return in(func(w *world) { change(nicOf(w.host1(), nicName(2))) })
	}
	of := func(change func(*fabric.Pod)) func(*world) { return in(func(w *world) { change(w.host1().Pod) }) }
	return []oneCase{
		{"pod-nics", "as claimed", p, pass, "", pod},
		{"pod-nics", "one is missing", p, fail, "3 of the 4 NICs", in(func(w *world) { w.host1().NICs = w.host1().NICs[1:] })},
		{"pod-nics", "NICs of another pod", p, fail, "claims 3", in(func(w *world) { w.plan.Claims.NICs = 3 })},
		{"pod-nics", "list cut", p, unknown, "permission denied", in(func(w *world) { w.host1().NICs = w.host1().NICs[1:]; w.missing("nics") })},
		{"pod-nics", "a text with its interfaces", p, pass, "", in(func(w *world) { w.host1().Pod, w.host1().Source = nil, "captured" })},
		{"pod-nics", "a machine of the plan", "host1", na, "host1 is no pod", in(func(w *world) { w.host1().Node, w.host1().Pod = "host1", nil })},
		{"pod-nics", "another launcher", p, na, "launcher kubernetes", in(func(w *world) { w.plan.Claims = nil })},

		{"pod-nic-ready", "up", s, pass, "", pod},
		{"pod-nic-ready", "came back down", s, fail, "came back from another pod", nic(func(n *fabric.NIC) { n.OperState, n.Addresses, n.MTU = "down", nil, 1500 })},
		{"pod-nic-ready", "MTU of a new interface", s, fail, "MTU 1500, the plan 8896", nic(func(n *fabric.NIC) { n.MTU = 1500 })},
		{"pod-nic-ready", "no address", s, fail, "has no address", nic(func(n *fabric.NIC) { n.Addresses = nil })},
		{"pod-nic-ready", "link-local alone", s, fail, "has no address", nic(func(n *fabric.NIC) { n.Addresses = []netip.Prefix{netip.MustParsePrefix("fe80::1/64")} })},
		{"pod-nic-ready", "addresses not read", s, unknown, "permission denied", in(func(w *world) { nicOf(w.host1(), nicName(2)).Addresses = nil; w.missing("nics.addresses") })},
		{"pod-nic-ready", "a subnet on GKE", s, unknown, "/32", nic(func(n *fabric.NIC) { n.Addresses = []netip.Prefix{netip.MustParsePrefix("10.9.2.7/24")} })},
		{"pod-nic-ready", "a subnet elsewhere", s, pass, "", in(func(w *world) {
			w.plan.Cloud = nil
			nicOf(w.host1(), nicName(2)).Addresses = []netip.Prefix{netip.MustParsePrefix("10.9.2.7/24")}
		})},
		{"pod-nic-ready", "state not read", s, unknown, "state of", nic(func(n *fabric.NIC) { n.OperState = "" })},
		{"pod-nic-ready", "MTU not read", s, unknown, "MTU of", nic(func(n *fabric.NIC) { n.MTU = 0 })},
		{"pod-nic-ready", "another launcher", p, na, "launcher kubernetes", in(func(w *world) { w.plan.Claims = nil })},
		{"pod-rdma-devices", "another launcher", p, na, "launcher kubernetes", in(func(w *world) { w.plan.Claims = nil })},
		{"pod-nic-ready", "no NIC", p, unknown, "no NIC of the fabric", in(func(w *world) { w.host1().NICs = nil })},

		{"pod-rdma-devices", "one for each NIC", p, pass, "", pod},
		{"pod-rdma-devices", "too few", p, fail, "1 of 4 devices", in(func(w *world) { w.host1().Machine.RDMACharDevs = ref(1) })},
		{"pod-rdma-devices", "not read", p, unknown, "permission denied", in(func(w *world) { w.host1().Machine.RDMACharDevs = nil; w.missing("machine.rdma_char_devices") })},

		{"pod-plugin", "mounted", p, pass, "", pod},
		{"pod-plugin", "not mounted", p, fail, "no files in /usr/local/gib", of(func(x *fabric.Pod) { x.GIB = nil })},
		{"pod-plugin", "no library", p, fail, "no libnccl.so in lib64", of(func(x *fabric.Pod) { x.NCCL = nil })},
		{"pod-plugin", "folder not read", p, unknown, "permission denied", in(func(w *world) { w.missing("pod") })},
		{"pod-plugin", "a text", p, unknown, "collect in the container", in(func(w *world) { w.host1().Pod, w.host1().Source = nil, "captured" })},
		{"pod-plugin", "another cloud", p, na, "of Google Cloud", in(func(w *world) { w.plan.Cloud = nil })},

		{"memlock", "IPC_LOCK", p, pass, "", in(func(w *world) { w.host1().Machine.MemlockLimit = ref("65536") })},
		{"memlock", "no IPC_LOCK", p, fail, "65536", in(func(w *world) { w.host1().Machine.MemlockLimit = ref("65536"); w.host1().Pod.LockMemory = ref(false) })},
	}
}

func claimCases() []oneCase {
	const (
		pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
		p                       = "host1"
	)
	kube := func(k fabric.KubeState) func(*world) { return func(w *world) { w.host1().Kube = &k } }
	claim := func(state string, change ...func(*fabric.ClaimState)) func(*world) {
		c := fabric.ClaimState{Name: "w-0-nics-x7", State: state, For: []string{"w-0"}, Devices: []fabric.ClaimDevice{{Driver: "dra.net", Device: "pci-0000-1b-00-0"}}}
		for _, f := range change {
			f(&c)
		}
		return kube(fabric.KubeState{Claims: []fabric.ClaimState{c}})
	}
	held := func(status, ready string) func(*world) {
		return func(w *world) {
			claim("allocated,reserved")(w)
			w.host1().Kube.Pods = []fabric.PodState{{Name: "w-0", Status: status, Ready: ready}}
		}
	}
	nics := func(list ...fabric.SliceNIC) func(*world) { return kube(fabric.KubeState{NICs: list}) }
	nic := func(change func(*fabric.SliceNIC)) fabric.SliceNIC {
		n := fabric.SliceNIC{Node: "vm-3", Device: "pci-0000-1b-00-0", Interface: "ens9", State: "up", Type: "device", PCI: "0000:1b:00.0", RDMA: ref(true)}
		change(&n)
		return n
	}
	fine := nic(func(*fabric.SliceNIC) {})
	return []oneCase{
		{"claim-state", "fine", p, pass, "", claim("allocated,reserved")},
		{"claim-state", "pending", p, fail, "is pending", claim("pending")},
		{"claim-state", "going", p, fail, "being deleted", claim("deleted,allocated,reserved")},
		{"claim-state", "held by nobody", p, unknown, "reserved for no pod", claim("allocated")},
		{"claim-state", "a state of another release", p, unknown, "is unknown", claim("bound")},
		{"claim-state", "a NIC that is not ready", p, fail, "NetworkReady: no route", claim("allocated,reserved", func(c *fabric.ClaimState) { c.Devices[0].NotReady = []string{"NetworkReady: no route"} })},
		{"claim-state", "text cut", p, unknown, "permission denied", func(w *world) { claim("allocated,reserved")(w); w.missing("kube") }},
		{"claim-state", "slices alone", p, na, "no claim", nics(fine)},
		{"claim-state", "no text", p, na, "no text of kubectl", asPlanned},

		{"claim-holder", "runs", p, pass, "", held("Running", "1/1")},
		{"claim-holder", "ended", p, fail, "w-0 is Completed", held("Completed", "0/1")},
		{"claim-holder", "waits", p, fail, "w-0 is Pending", held("Pending", "0/1")},
		{"claim-holder", "not ready", p, unknown, "not ready", held("Running", "0/2")},
		{"claim-holder", "no text", p, na, "no text of kubectl", asPlanned},
		{"claim-holder", "no pods", p, unknown, "not both", claim("allocated,reserved")},

		{"slice-nic", "fine", p, pass, "", nics(fine)},
		{"slice-nic", "an ordinary NIC", p, pass, "", nics(fine, nic(func(n *fabric.SliceNIC) { n.RDMA = ref(false) }))},
		{"slice-nic", "came back down", p, fail, "come back from a pod", nics(fine, nic(func(n *fabric.SliceNIC) { n.State = "down" }))},
		{"slice-nic", "IPoIB without RDMA", p, fail, "1 others", nics(fine, nic(func(n *fabric.SliceNIC) { n.RDMA, n.State, n.Type = ref(false), "down", "ipoib" }))},
		{"slice-nic", "down and perhaps unused", p, unknown, "ordinary one", nics(fine, nic(func(n *fabric.SliceNIC) { n.RDMA, n.State = ref(false), "down" }))},
		{"slice-nic", "one that the plan needs", "trainer-0", fail, "no RDMA device", func(w *world) {
			pod(w)
			nics(fine, nic(func(n *fabric.SliceNIC) { n.RDMA, n.State, n.Interface = ref(false), "down", "" }))(w)
		}},
		{"slice-nic", "without its interface", p, unknown, "neither an interface", nics(fine, nic(func(n *fabric.SliceNIC) { n.RDMA, n.State, n.Interface = ref(false), "", "" }))},
		{"slice-nic", "RDMA not said", p, unknown, "does not say", nics(nic(func(n *fabric.SliceNIC) { n.RDMA = nil }))},
		{"slice-nic", "virtual ones alone", p, na, "no slice", nics(nic(func(n *fabric.SliceNIC) { n.Virtual = true }))},
	}
}
