package platform

import (
	"errors"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
	"railwright.dev/railwright/internal/render/kubernetes/podtest"
	"railwright.dev/railwright/internal/render/vsphere"
)

// podTests lists the test pods, the images that they run in, and the script that runs the tests. All are files for a person: test
// pods take the GPUs of whole machines, so they are there for a run only. GKE has tests of its own, in images of Google.
func podTests() []ClusterFormat {
	pods := func(f func(podtest.Tests) fabric.Artifact) func(*fabric.Plan) fabric.Artifact {
		return func(p *fabric.Plan) fabric.Artifact { return f(testsOf(p)) }
	}
	check := func(f func(podtest.Tests) error) func(*fabric.Plan) error {
		return func(p *fabric.Plan) error { return f(testsOf(p)) }
	}
	unnamed := func(p *fabric.Plan) bool { return untested(p) || p.Pods.TestImages == "" } // the script says it once
	return []ClusterFormat{
		{ID: "test-images", Doc: "what the images of the test pods are built from, and builds them", Check: check(podtest.CheckTestImages), Skip: untested,
			Several: func(p *fabric.Plan) []fabric.Artifact { return podtest.TestImages(testsOf(p)) }},
		{ID: "test-scripts", Doc: "what the test pods run", Check: check(podtest.CheckTests), Skip: unnamed, Render: pods(podtest.TestScripts)},
		{ID: "test-perftest", Doc: "pods for RDMA between two NICs, from host memory and from GPU memory", Check: check(podtest.CheckTests), Skip: unnamed, Render: pods(podtest.PerftestPods)},
		{ID: "test-collectives", Doc: "pods for tests of collectives by mpirun", Check: check(podtest.CheckTests), Skip: unnamed, Render: pods(podtest.CollectivePods)},
		{ID: "test-mpijob", Doc: "the same tests for a cluster with the MPI operator", Check: check(func(t podtest.Tests) error {
			return errors.Join(podtest.CheckTests(t), podtest.CheckMPIJob(t))
		}), Skip: unnamed, Render: pods(podtest.MPIJob)},
		{ID: "run-tests", Doc: "starts the test pods, runs the tests, removes the pods, and lets railwright explain judge the results", Check: check(podtest.CheckTests), Skip: untested,
			Render: pods(podtest.RunTests)},
	}
}

// untested: the plan has no pods with GPUs, or the platform brings tests of its own.
func untested(p *fabric.Plan) bool {
	return p.Pods == nil || p.Pods.GPUs == 0 || p.Cloud != nil || p.Platform == "gke"
}

// testsOf is the part of a plan with its test pods, which get what every pod gets.
func testsOf(p *fabric.Plan) podtest.Tests {
	t := podtest.Tests{
		Cluster: p.Name, Namespace: p.Pods.Namespace, Images: p.Pods.TestImages, Vendor: p.Pods.GPUVendor,
		GPUs: p.Pods.GPUs, NICs: p.Pods.Rails, GPUResource: p.Pods.GPUResource, Nodes: len(p.Nodes),
		Variables: []string{
			"NCCL_NET=IB",              // RDMA or an error, never TCP in silence
			"NCCL_SOCKET_IFNAME==eth0", // the pod's own network, to find each other; Kubernetes' runtimes name it so
			"GLOO_SOCKET_IFNAME=eth0",
		},
	}
	if len(p.Machines) == 1 {
		t.Machine = p.Machines[0].ID
	}
	for _, n := range p.Pods.NICs {
		t.NICResource = append(t.NICResource, fabric.RDMAPrefix+n.Resource)
	}
	t.Sets = testSets(p)
	if len(p.Machines) > 0 { // the classes are the same for all
		for _, v := range render.FabricVariables(p.Machines[0], p.Traffic) {
			t.Variables = append(t.Variables, v.String())
		}
	}
	if p.VSphere != nil && !noGPUs(p) && errors.Join(planned(p), vsphere.CheckNCCL(p)) == nil {
		t.Topology = vsphere.NCCLFileOf(p)
	}
	return t
}

// testSets are the pods of a plan by their claim template: as many have each. Without claims a pod has a whole machine.
func testSets(p *fabric.Plan) (sets []podtest.TestSet) {
	if p.Claims == nil || byPlugins(p) {
		return []podtest.TestSet{{Pods: len(p.Nodes)}}
	}
	templates := render.ClaimTemplateNames(*p.Claims)
	for _, name := range templates {
		sets = append(sets, podtest.TestSet{Template: name, Pods: p.Claims.Pods / len(templates)})
	}
	return sets
}
