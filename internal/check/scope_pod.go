package check

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// podPlan is what a plan says of its pods.
type podPlan struct {
	claims *fabric.Claims
	names  map[string]bool // interfaces of the fabric, on the machines and in the pods, which get them with their names
	most   int             // NICs of the fabric of a machine
	mtu    int             // bytes
	cloud  string          // provider; empty: none
}

func (x *planIndex) pods() *podPlan {
	p := x.intent()
	if p == nil || p.Claims == nil {
		return nil
	}
	pods := &podPlan{claims: p.Claims, names: map[string]bool{}, mtu: p.MTU}
	for _, n := range p.Nodes {
		pods.most = max(pods.most, len(n.NICs))
		for _, nic := range n.NICs {
			pods.names[nic] = true
		}
	}
	if p.Cloud != nil {
		pods.cloud = p.Cloud.Provider
	}
	return pods
}

// isPod reports whether facts are those of a pod: collected in one, or a text with interfaces that is of none of the
// machines of a plan with pods.
func (in NodeInput) isPod() bool {
	return in.Facts.Pod != nil || in.Pods != nil && in.Plan == nil && in.Facts.Source == "captured" && len(in.Facts.NICs) > 0
}

func inPod() Condition {
	return Condition{
		ID: "pod", Doc: "in a pod of Kubernetes: collected in its container, or a text with its interfaces",
		judge: func(s scene) (fabric.Status, string) {
			return unless(!s.anyPlan && !s.nodes[0].Pod, s.nodes[0].Node+" is no pod")
		},
	}
}

// withClaims is for rules that compare pods with the plan's claims.
func withClaims() Condition {
	return Condition{
		ID: "claims", Doc: "with a cluster file whose launcher is kubernetes",
		judge: func(s scene) (fabric.Status, string) {
			return unless(!s.anyPlan && (s.plan == nil || s.plan.Claims == nil), "needs a cluster file with launcher kubernetes")
		},
	}
}

// withKubeText is for rules about what kubectl prints.
func withKubeText() Condition {
	return Condition{
		ID: "kubectl", Doc: "where a text of kubectl is among the facts",
		judge: func(s scene) (fabric.Status, string) {
			return unless(!s.anyPlan && !s.nodes[0].Kube, "no text of kubectl is among the facts")
		},
	}
}

// podNICsOf are the interfaces of a pod that a claim gave it: those of the plan's names, and other hardware. eth0 is the
// pod's own, from the network of the cluster.
func (in NodeInput) podNICsOf() []*fabric.NIC {
	var out []*fabric.NIC
	for i := range in.Facts.NICs {
		n := &in.Facts.NICs[i]
		planned := in.Pods != nil && in.Pods.names[n.Name]
		if planned || n.PCI != "" && n.Kind == "" && n.Name != "eth0" {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *fabric.NIC) int { return a.Index - b.Index })
	return out
}

// lacks reports whether a NIC is one of the plan's, or its machine has fewer NICs with RDMA than the plan.
func (p *podPlan) lacks(n fabric.SliceNIC, withRDMA int) bool {
	return p != nil && (p.names[n.Interface] || withRDMA < p.most)
}
