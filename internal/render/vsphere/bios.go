package vsphere

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// biosSetting is a setting of a server's BIOS: for hosts of virtual machines, and for bare metal as Broadcom 957608-AN209, table 2,
// has it for GPUs and NICs that nothing shares.
type biosSetting struct {
	Words     string
	Host      string
	BareMetal string
	Why       string
	Names     map[fabric.Server]string // attribute=value of Redfish; absent: no public source names it
}

// biosSettings is chapter 7 of "Deploy Distributed LLM Inference with GPUDirect RDMA over InfiniBand in VMware Private AI". Names are
// those that the attribute registries of the makers publish (redfish/v1/Registries); they differ between generations of servers,
// and Supermicro adds a number to each, as SR-IOVSupport#0048.
func biosSettings() []biosSetting {
	return []biosSetting{
		{"Virtualization Technology, and with it VT-d or AMD-Vi, and ACS", "enabled", "disabled", "without it ESX has no IOMMU and passes nothing through; on Dell servers it also switches ACS on", map[fabric.Server]string{
			fabric.Dell: "ProcVirtualization=Enabled", fabric.HPE: "ProcVirtualization=Enabled, IntelProcVtd=Enabled", fabric.Lenovo: "Processors_IntelVirtualizationTechnology=Enabled",
			fabric.Supermicro: "IntelVirtualizationTechnology=Enable, IntelVTforDirectedI/O(VT-d)=Enable"}},
		{"SR-IOV for all slots", "enabled", "disabled", "needed for virtual functions; does no harm to whole devices that are passed through", map[fabric.Server]string{
			fabric.Dell: "SriovGlobalEnable=Enabled", fabric.HPE: "Sriov=Enabled", fabric.Lenovo: "DevicesandIOPorts_SRIOV=Enabled", fabric.Supermicro: "SR-IOVSupport=Enabled"}},
		{"Memory-mapped I/O above 4 GB", "enabled", "enabled", "GPUs show the processor regions of 64 GB and more", map[fabric.Server]string{
			fabric.Dell: "MmioAbove4Gb=Enabled", fabric.Supermicro: "Above4GDecoding=Enabled"}},
		{"System profile", "performance per watt, controlled by the operating system", "performance", "then ESX decides: its power policy is High Performance", map[fabric.Server]string{
			fabric.Dell: "SysProfile=PerfPerWattOptimizedOs", fabric.HPE: "PowerRegulator=OsControl"}},
		{"Sub-NUMA clustering", "disabled where the work lives in the last-level cache, else enabled", "disabled", "it divides that cache: measure both with your own work", map[fabric.Server]string{
			fabric.Dell: "SubNumaCluster", fabric.HPE: "SubNumaClustering", fabric.Lenovo: "Processors_SNC"}},
		{"I/O snoop hold-off response, where the server has it", "2K cycles", "2K cycles", "else many writes of GPUs and NICs can starve the processor's", map[fabric.Server]string{
			fabric.Dell: "SnoopHldOff=Roll2KCycles"}},
	}
}

// BIOS is the list of settings of the servers, for people.
func BIOS(v fabric.VSphere) fabric.Artifact {
	var b strings.Builder
	b.WriteString("# BIOS settings of the ESX hosts\n\nWritten by railwright from the plan. This list is for hosts of virtual machines. Bare metal has Virtualization Technology\n" +
		"and SR-IOV off, which also switches IOMMU and ACS off; here the devices are given to guests, which needs all of them on. Never\ncarry one list over to the other.\n\n")
	fmt.Fprintf(&b, "Hosts: %s.\n", hostNames(v))
	if v.Server == "" {
		b.WriteString("\nThe plan does not know who made the servers (`vsphere.server`), so that settings are in words only.\n")
	}
	b.WriteString("\n| Setting | Here | On bare metal | Redfish attribute | Why |\n|---|---|---|---|---|\n")
	for _, s := range biosSettings() {
		name := s.Names[v.Server]
		switch {
		case v.Server == "":
			name = "-"
		case name == "":
			name = "no public name: by its words"
		default:
			name = "`" + strings.ReplaceAll(name, ", ", "`, `") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.Words, s.Host, s.BareMetal, name, s.Why)
	}
	b.WriteString("\nRead them: `curl -sS -u USER https://BMC/redfish/v1/Systems/ID/Bios`; ID is `System.Embedded.1` on Dell, `1` elsewhere.\n" +
		"Set them as a job that runs at the next start, the one for firmware: one start of the server for all of this list.\n" +
		"\nPower: ESX itself is set to High Performance (`esxcli system settings advanced set -o /Power/CpuPolicy -s 'High Performance'`).\n" +
		"\nPCIe switch board (Broadcom Atlas 2): firmware 4.160.3.0 or later, from the maker of the server; it is flashed from Linux (a live\nsystem where only ESX is installed), in the same maintenance window.\n")
	return forPeople("/bios.md", []byte(b.String()))
}

func hostNames(v fabric.VSphere) string {
	var names []string
	for _, h := range v.Hosts {
		names = append(names, h.Name)
	}
	const most = 32
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
