package platform

import (
	"errors"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
	"railwright.dev/railwright/internal/render/vsphere"
)

// VSphere lists the files of a virtual machine that somebody logs in to. Workers of Kubernetes get none: their system is made anew
// with each of them, and operators set it up. ACS and the IOMMU are the hypervisor's.
func VSphere() []Format {
	roce, ib := []fabric.Transport{fabric.RoCE}, []fabric.Transport{fabric.InfiniBand}
	both := append(roce[:1:1], ib...)
	addressed := func(p Part) bool { return loggedInTo(p) && len(p.Addresses.NICs) > 0 }
	return []Format{
		{
			ID: "sysctl", Doc: "kernel settings: NUMA balancing, reverse-path filter, ARP, neighbour table", Transports: both, On: loggedInTo,
			Render: func(p Part) fabric.Artifact { return render.Sysctl(p.Scheme, p.Neighbours, p.Addresses) },
		},
		{
			ID: "service-limits", Doc: "locked memory of services", Transports: both, On: loggedInTo,
			Render: func(p Part) fabric.Artifact { return render.ServiceLimits(p.Addresses.Node) },
		},
		{
			ID: "login-limits", Doc: "locked memory and open files of login sessions", Transports: both, On: loggedInTo,
			Render: func(p Part) fabric.Artifact { return render.LoginLimits(p.Addresses.Node) },
		},
		{
			ID: "ipoib", Doc: "addresses of the InfiniBand interfaces, for netplan", Transports: ib, On: addressed,
			Render: func(p Part) fabric.Artifact { return vsphere.IPoIB(p.MTU, p.Addresses) },
		},
		{
			ID: "netplan", Doc: "addresses, routes and source rules of the fabric's NICs, for netplan", Transports: roce, On: addressed,
			Render: func(p Part) fabric.Artifact { return render.Netplan(p.MTU, p.Scheme, p.Addresses) },
		},
	}
}

func loggedInTo(p Part) bool { return p.Launcher != launchedByKubernetes }

// VSphereCluster lists the files of the hosts, of vCenter and of the Supervisor, and the claims of pods.
func VSphereCluster() []ClusterFormat {
	all := []ClusterFormat{
		{ID: "bios", Doc: "settings of the servers, by their maker", Check: planned, Render: onHosts(vsphere.BIOS)},
		{ID: "infiniband-switches", Doc: "what is done on the switches, by hand", Check: planned, Skip: noInfiniBand, Render: func(p *fabric.Plan) fabric.Artifact {
			var names []string
			for _, s := range p.Switches {
				names = append(names, s.Name)
			}
			return vsphere.SubnetManager(p.VSphere.Mode, names)
		}},
		{ID: "networks", Doc: "ranges of all networks, for those who make them", Check: planned, Skip: noNetworks, Render: onHosts(vsphere.Networks)},
		{ID: "service-vms", Doc: "cloud-config of the service virtual machine of each host, plain and in Base64", Check: when(vsphere.CheckService), Skip: noService, Several: severalOf(vsphere.ServiceVMs)},
		{ID: "vm-class-bodies", Doc: "classes of virtual machines, as bodies of the vSphere API", Check: when(vsphere.CheckClasses), Skip: noSection, Several: severalOf(vsphere.ClassBodies)},
		{ID: "vm-classes", Doc: "the same as the Supervisor shows them", Check: when(vsphere.CheckClasses), Skip: noKube, Several: severalOf(vsphere.ClassObjects)},
		{ID: "namespace", Doc: "namespace on the Supervisor with classes, storage and content library", Check: when(vsphere.CheckKube), Skip: noKube, Render: onHosts(vsphere.Namespace)},
		{ID: "vks-cluster", Doc: "the Kubernetes cluster of the nodes, for the Supervisor", Check: when(vsphere.CheckKube), Skip: noKube,
			Render: func(p *fabric.Plan) fabric.Artifact { return vsphere.Cluster(p.Name, *p.VSphere) }},
	}
	nccl := func(p *fabric.Plan) error { return errors.Join(planned(p), vsphere.CheckNCCL(p)) }
	all = append(all,
		ClusterFormat{ID: "nccl-topology-files", Doc: "NCCL's topology file of each class of virtual machines, whose PCI tree is flat", Check: nccl, Skip: noGPUs, Several: vsphere.NCCLFiles},
		ClusterFormat{ID: "nccl-topology", Doc: "NCCL's topology file in virtual machines that somebody logs in to, where NCCL finds it", Check: nccl,
			Skip: func(p *fabric.Plan) bool { return noGPUs(p) || p.Launcher == launchedByKubernetes }, Several: vsphere.NCCLOnGuest},
		ClusterFormat{ID: "nccl-topology-map", Doc: "NCCL's topology files for pods, as a ConfigMap", Check: nccl,
			Skip: func(p *fabric.Plan) bool { return noGPUs(p) || p.Launcher != launchedByKubernetes }, Render: vsphere.NCCLMap},
	)
	return append(all, Kubernetes()...)
}

// planned makes sure that the plan has hosts.
func planned(p *fabric.Plan) error {
	if p.VSphere == nil {
		return errors.New("the cluster file has no vsphere section: the virtual machines are taken to exist")
	}
	return nil
}

func when(check func(fabric.VSphere) error) func(*fabric.Plan) error {
	return func(p *fabric.Plan) error {
		if err := planned(p); err != nil {
			return err
		}
		return check(*p.VSphere)
	}
}

func onHosts(f func(fabric.VSphere) fabric.Artifact) func(*fabric.Plan) fabric.Artifact {
	return func(p *fabric.Plan) fabric.Artifact { return f(*p.VSphere) }
}

func severalOf(f func(fabric.VSphere) []fabric.Artifact) func(*fabric.Plan) []fabric.Artifact {
	return func(p *fabric.Plan) []fabric.Artifact { return f(*p.VSphere) }
}

// What a plan does not ask for is not missing.
func noSection(p *fabric.Plan) bool { return p.VSphere == nil }
func noKube(p *fabric.Plan) bool    { return p.VSphere == nil || p.VSphere.Kube == nil }
func noService(p *fabric.Plan) bool { return p.VSphere == nil || p.VSphere.Service == nil }
func noGPUs(p *fabric.Plan) bool {
	return p.VSphere == nil || !slices.ContainsFunc(p.VSphere.Classes, vsphere.WithNCCL)
}
func noNetworks(p *fabric.Plan) bool   { return p.VSphere == nil || len(p.VSphere.Networks) == 0 }
func noInfiniBand(p *fabric.Plan) bool { return p.VSphere == nil || p.Transport != fabric.InfiniBand }
