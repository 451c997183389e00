package platform

import (
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
)

// Baremetal lists the files of a bare-metal Linux server, in the order in which they are applied:
// kernel and limits first, the network last, because it alone can cut the connection that applies it.
// On InfiniBand the subnet manager gives the addresses, so no file there mentions IP.
func Baremetal() []Format {
	roce, both := []fabric.Transport{fabric.RoCE}, []fabric.Transport{fabric.RoCE, fabric.InfiniBand}
	return []Format{
		{
			ID: "sysctl", Doc: "kernel settings: NUMA balancing, reverse-path filter, ARP, neighbour table", Transports: both,
			Render: func(p Part) fabric.Artifact { return render.Sysctl(p.Scheme, p.Neighbours, p.Addresses) },
		},
		{
			ID: "service-limits", Doc: "locked memory of services", Transports: both,
			Render: func(p Part) fabric.Artifact { return render.ServiceLimits(p.Addresses.Node) },
		},
		{
			ID: "login-limits", Doc: "locked memory of login sessions", Transports: both,
			Render: func(p Part) fabric.Artifact { return render.LoginLimits(p.Addresses.Node) },
		},
		{
			ID: "wait-online", Doc: "network-online.target waits for every rail", Transports: roce,
			Render: func(p Part) fabric.Artifact { return render.WaitOnline(p.Addresses) },
		},
		{
			ID: "netplan", Doc: "addresses, routes and source rules of the fabric's NICs", Transports: roce,
			Render: func(p Part) fabric.Artifact { return render.Netplan(p.MTU, p.Scheme, p.Addresses) },
		},
	}
}

// BaremetalSwitches lists the files of the switches that such servers are cabled to.
func BaremetalSwitches() []SwitchFormat {
	return []SwitchFormat{{
		ID: "switch-config", Doc: "ports, addresses and traffic classes of a switch",
		Check:  func(s fabric.Switch) error { return render.CheckSwitchOS(s.OS) },
		Render: render.SwitchConfig,
	}}
}
