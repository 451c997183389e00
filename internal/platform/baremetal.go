package platform

import (
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
)

// Baremetal lists the files of a bare-metal Linux server, in the order in which they are applied:
// kernel, limits and PCIe first, the network last, because it alone can cut the connection that applies it.
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
			ID: "login-limits", Doc: "locked memory and open files of login sessions", Transports: both,
			Render: func(p Part) fabric.Artifact { return render.LoginLimits(p.Addresses.Node) },
		},
		{
			ID: "kernel-command-line", Doc: "IOMMU in passthrough mode, in the kernel's command line", Transports: both,
			Render: func(p Part) fabric.Artifact {
				return render.KernelCommandLine(p.Node.Name, fabric.KernelWords(p.Machine.CPU, p.Machine.GPUVendor))
			},
		},
		{
			ID: "acs-script", Doc: "clears PCIe ACS redirect above GPUs and NICs, and reads it back", Transports: both,
			Render: func(p Part) fabric.Artifact { return render.ACSScript(p.Node.Name) },
		},
		{
			ID: "acs-unit", Doc: "runs that script at every boot", Transports: both,
			Render: func(p Part) fabric.Artifact { return render.ACSUnit(p.Transport, p.Node) },
		},
		{
			ID: "acs-wanted", Doc: "enables that unit", Transports: both,
			Render: func(p Part) fabric.Artifact { return render.ACSWanted(p.Node.Name) },
		},
		{
			ID: "nic-settings", Doc: "traffic classes on the NICs, and the environment of collectives", Transports: roce,
			Check:   func(p Part) error { return render.CheckNICSettings(p.Machine, p.Traffic) },
			Several: func(p Part) []fabric.Artifact { return render.NICSettings(p.Machine, p.Traffic, p.Addresses) },
		},
		{
			ID: "wait-online", Doc: "network-online.target waits for every rail", Transports: roce, On: byNetplan,
			Render: func(p Part) fabric.Artifact { return render.WaitOnline(p.Addresses) },
		},
		{
			ID: "netplan", Doc: "addresses, routes and source rules of the fabric's NICs, for netplan", Transports: roce, On: byNetplan,
			Render: func(p Part) fabric.Artifact { return render.Netplan(p.MTU, p.Scheme, p.Addresses) },
		},
		{
			ID: "networkmanager-unmanaged", Doc: "keeps NetworkManager, where it runs too, off those NICs", Transports: roce, On: byNetplan,
			Render: func(p Part) fabric.Artifact { return render.Unmanaged(p.Addresses) },
		},
		{
			ID: "keyfile", Doc: "addresses, routes and source rule of a NIC, for NetworkManager", Transports: roce, On: byNetworkManager,
			EachNIC: func(p Part, nic fabric.NICAddress) fabric.Artifact {
				return render.Keyfile(p.MTU, p.Scheme, p.Addresses.Node, nic)
			},
		},
	}
}

func byNetworkManager(p Part) bool { return p.Node.Network == fabric.ByNetworkManager }
func byNetplan(p Part) bool        { return !byNetworkManager(p) }

// BaremetalSwitches lists the files of the switches that such servers are cabled to.
func BaremetalSwitches() []SwitchFormat {
	return []SwitchFormat{{
		ID: "switch-config", Doc: "ports, addresses and traffic classes of a switch",
		Check:  func(s fabric.Switch) error { return render.CheckSwitchOS(s.OS) },
		Render: render.SwitchConfig,
	}}
}
