package esx

import "railwright.dev/railwright/internal/fabric"

// Commands are what an ESX host is asked over SSH. None of them changes anything. The names are those of their texts.
func Commands() []Command {
	const mft = "/opt/mellanox/bin/"
	return []Command{
		{Name: "version", Shell: "vmware -v", Gives: fabric.FactESX},
		{Name: "maintenance", Shell: "esxcli system maintenanceMode get", Gives: fabric.FactESX},
		{Name: "platform", Shell: "esxcli hardware platform get", Gives: fabric.FactMachineProduct},
		{Name: "power", Shell: "esxcli system settings advanced list -o /Power/CpuPolicy", Gives: fabric.FactESXPower},
		{Name: "settings", Shell: "esxcli system settings kernel list", Gives: fabric.FactESXSettings},
		{Name: "vibs", Shell: "esxcli software vib list", Gives: fabric.FactESXVIBs},
		{Name: "modules", Shell: "esxcli system module list", Gives: fabric.FactESXModules},
		{Name: "module-nmlx5", Shell: "esxcfg-module -g nmlx5_core", Gives: fabric.FactESXModules},
		{Name: "pci", Shell: "esxcli hardware pci list", Gives: fabric.FactESXDevices},
		// the only place of the shell with hardware labels; of what it prints, which is megabytes, the list of devices alone
		{Name: "labels", Shell: "all=$(vim-cmd hostsvc/hostconfig) && printf '%s\\n' \"$all\" | sed -n '/^ *pciPassthruInfo = /,/^ *]/{s/^ \\{0,3\\}//;p;}' | head -n 65536", Gives: fabric.FactESXDevices},
		{Name: "reset-rules", Shell: "cat /etc/vmware/passthru.map", Gives: fabric.FactESXResetRules},
		{Name: "uplinks", Shell: "esxcli network nic list", Gives: fabric.FactESXUplinks},
		{Name: "rdma", Shell: "esxcli rdma device list", Maybe: true},
		{Name: "mst", Shell: mft + "mst status -vv", Gives: fabric.FactESXMST, Maybe: true},
		// no list of addresses is at hand before mst status: the loop asks each device that there is
		{Name: "nic-configs", Shell: "for d in $(" + mft + "mst status | grep pciconf | grep -v '[.]'); do " + mft + "mlxconfig -d $d -e q; done", Gives: fabric.FactESXNICConfigs, Maybe: true},
		{Name: "vfs", Shell: "esxcli --formatter=csv network sriovnic list && for n in $(esxcli --formatter=csv network sriovnic list | grep -o 'vmnic[0-9]*' | sort -u); do echo \"[ESX] esxcli network sriovnic vf list -n $n\"; esxcli network sriovnic vf list -n $n; done", Gives: fabric.FactESXVFs},
		{Name: "running", Shell: "esxcli vm process list"},
		{Name: "vms", Shell: "vim-cmd vmsvc/getallvms && for v in $(vim-cmd vmsvc/getallvms | grep -o '^[0-9]*'); do vim-cmd vmsvc/get.config $v; done", Gives: fabric.FactESXVMs},
	}
}
