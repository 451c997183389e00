package platform

import (
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
)

// Spark lists the files of a DGX Spark, in the order in which they are applied. Its owner's own files stay as they are: nothing
// of the ordinary network is in them.
func Spark() []Format {
	roce := []fabric.Transport{fabric.RoCE}
	return []Format{
		{
			ID: "service-limits", Doc: "locked memory of services", Transports: roce,
			Render: func(p Part) fabric.Artifact { return render.ServiceLimits(p.Addresses.Node) },
		},
		{
			ID: "login-limits", Doc: "locked memory and open files of login sessions", Transports: roce,
			Render: func(p Part) fabric.Artifact { return render.LoginLimits(p.Addresses.Node) },
		},
		{
			ID: "sysctl-twins", Doc: "keeps the twins of a QSFP port from answering ARP for each other", Transports: roce,
			Render: func(p Part) fabric.Artifact { return render.TwinSysctl(twinAddresses(p)) },
		},
		{
			ID: "collective-environment", Doc: "environment of NCCL, UCX, Open MPI and Gloo for this wiring", Transports: roce,
			Render: func(p Part) fabric.Artifact {
				return render.CollectiveEnvironment(render.Wired{Node: p.Node.Name, Nodes: p.Nodes, Wiring: p.Wiring, Ports: p.Ports,
					Addresses: p.Addresses, Management: p.Node.Management, Traffic: p.Traffic})
			},
		},
		{
			ID: "build-nccl", Doc: "builds NCCL and its tests for this GPU at one release", Transports: roce,
			Render: func(p Part) fabric.Artifact { return render.BuildNCCL(p.Node.Name) },
		},
		{
			ID: "serve", Doc: "starts the machine's rank of the inference engine, by docker compose or docker run", Transports: roce,
			On:    func(p Part) bool { return p.Serving != nil },
			Check: func(p Part) error { return render.CheckServe(p.Serving) },
			Several: func(p Part) []fabric.Artifact {
				return render.Serve(p.Node.Name, p.Serving, p.Wiring == fabric.WiredRing)
			},
		},
		{
			ID: "networkmanager-unmanaged", Doc: "keeps NetworkManager off the QSFP ports, where it makes connections of its own", Transports: roce,
			Render: func(p Part) fabric.Artifact { return render.Unmanaged(twinAddresses(p)) },
		},
		{
			ID: "netplan-twins", Doc: "addresses and MTU of the twins of each cabled QSFP port, for netplan", Transports: roce,
			Render: func(p Part) fabric.Artifact { return render.TwinNetplan(p.MTU, p.Addresses, p.Ports) },
		},
	}
}

// twinAddresses are the interfaces of all cabled ports, also of twins that have no address.
func twinAddresses(p Part) fabric.NodeAddresses {
	all := fabric.NodeAddresses{Node: p.Node.Name}
	for _, port := range p.Ports {
		for _, t := range port.Twins {
			all.NICs = append(all.NICs, fabric.NICAddress{NIC: t.NIC})
		}
	}
	return all
}
