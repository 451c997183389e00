package platform

import (
	"errors"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
	"railwright.dev/railwright/internal/render/kubernetes"
	"railwright.dev/railwright/internal/render/kubernetes/serve"
)

// Kubernetes lists the objects of a cluster whose processes start as pods, on any platform.
func Kubernetes() []ClusterFormat {
	all := []ClusterFormat{
		{
			ID: "namespaces", Doc: "namespaces of pods and operators, with their level of Pod Security admission", Check: always,
			Skip:   func(p *fabric.Plan) bool { return len(p.Namespaces) == 0 },
			Render: func(p *fabric.Plan) fabric.Artifact { return kubernetes.Namespaces(p.Namespaces) },
		},
		{
			ID: "device-classes", Doc: "classes of devices that claims name", Check: claimed, Skip: byPlugins,
			Render: func(p *fabric.Plan) fabric.Artifact { return render.DeviceClasses(*p.Claims) },
		},
		{
			ID: "claims", Doc: "templates from which each pod gets its GPUs and NICs", Check: claimed, Skip: byPlugins,
			Render: func(p *fabric.Plan) fabric.Artifact { return render.ClaimTemplates(*p.Claims) },
		},
		{
			ID: "weights", Doc: "volumes of the weights, and the jobs that download them", Check: serves, Skip: serveless,
			Render: func(p *fabric.Plan) fabric.Artifact { return serve.Weights(servedBy(p)) },
		},
		{
			ID: "serve", Doc: "groups of pods that serve the model, and their Service", Check: serves, Skip: serveless,
			Render: func(p *fabric.Plan) fabric.Artifact { return serve.Groups(servedBy(p)) },
		},
	}
	all = append(all, Operators()...)
	all = append(all, podTests()...)
	for i := range all {
		asked := all[i].Skip
		all[i].Skip = func(p *fabric.Plan) bool { return p.Launcher != launchedByKubernetes || asked(p) }
	}
	return all
}

// launchedByKubernetes is the launcher that starts processes as pods.
const launchedByKubernetes = "kubernetes"

// byPlugins: device plugins give the pods all of their devices, and nothing is claimed.
func byPlugins(p *fabric.Plan) bool { return p.Pods != nil && len(p.Pods.NICs) > 0 }

// serveless: the plan serves no model by pods.
func serveless(p *fabric.Plan) bool { return p.Serving == nil || p.Platform == "spark" }

func serves(p *fabric.Plan) error { return render.CheckServe(p.Serving) }

// servedBy is what the pods that serve follow from.
func servedBy(p *fabric.Plan) serve.Serve {
	s := serve.Serve{Serving: p.Serving, Devices: *p.Pods}
	if len(p.Machines) > 0 {
		for _, v := range render.FabricVariables(p.Machines[0], p.Traffic) {
			s.Fabric = append(s.Fabric, [2]string{v.Name, v.Value})
		}
	}
	if p.Claims != nil {
		s.Template = render.ClaimTemplateNames(*p.Claims)[0]
	}
	return s
}

func always(*fabric.Plan) error { return nil }

func claimed(p *fabric.Plan) error {
	if p.Claims == nil {
		return errors.New("the plan has no claims: launcher kubernetes and the machine of the catalog (nodes, machine) are needed")
	}
	return nil
}
