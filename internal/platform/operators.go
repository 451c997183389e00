package platform

import (
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes/operators"
)

// Operators lists what installs the operators of a cluster of Kubernetes: objects that go with them, and for the person with helm a file
// of values for each release and two scripts.
func Operators() []ClusterFormat {
	return []ClusterFormat{
		{
			ID: "nic-cluster-policy", Doc: "what NVIDIA's Network Operator does on the machines: driver, shared device plugin", Check: always,
			Skip:   func(p *fabric.Plan) bool { return p.Operators == nil || p.Operators.NICPolicy == nil },
			Render: func(p *fabric.Plan) fabric.Artifact { return operators.NICPolicy(*p.Operators.NICPolicy, p.Pods.NICs) },
		},
		{
			ID: "shared-device-plugin", Doc: "the RDMA shared device plugin, where the Network Operator does not run it", Check: always,
			Skip:   func(p *fabric.Plan) bool { return p.Operators == nil || p.Operators.Plugin == nil },
			Render: func(p *fabric.Plan) fabric.Artifact { return operators.NICPlugin(*p.Operators.Plugin, p.Pods.NICs) },
		},
		{
			ID: "operator-values", Doc: "values of a release, which operators-up.sh installs", Check: always, Skip: noneInstalled,
			Several: func(p *fabric.Plan) []fabric.Artifact { return operators.Values(*p.Operators) },
		},
		{
			ID: "operators-up", Doc: "installs the operators, each ready before the next", Check: always, Skip: noneInstalled,
			Render: func(p *fabric.Plan) fabric.Artifact {
				return operators.Up(p.Name, *p.Operators, nodeNames(p))
			},
		},
		{
			ID: "operators-down", Doc: "removes the operators of this plan, and nothing else", Check: always, Skip: noneInstalled,
			Render: func(p *fabric.Plan) fabric.Artifact {
				return operators.Down(p.Name, *p.Operators, nodeNames(p))
			},
		},
	}
}

// noneInstalled: the plan installs nothing, as the cluster has it, or as there is no cluster of Kubernetes.
func noneInstalled(p *fabric.Plan) bool { return p.Operators == nil || len(p.Operators.Releases) == 0 }

func nodeNames(p *fabric.Plan) []string {
	var names []string
	for _, n := range p.Nodes {
		names = append(names, n.Name)
	}
	return names
}
