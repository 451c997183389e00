package fabric

// Paths of facts, as Missing and Disagreement name them: the JSON fields on the way to the fact, joined by dots.
// Where a path concerns one device only, the device's name follows after a space: FactNICDriver + " eth1", and for a port
// FactPortState + " mlx5_0/1".
const (
	FactPlatform = "platform"

	FactKernel            = "kernel"
	FactKernelCommandLine = "kernel.command_line"
	FactKernelDMABuf      = "kernel.dma_buf"
	FactKernelOS          = "kernel.os"
	FactKernelPeerMemory  = "kernel.peer_memory"
	FactKernelRelease     = "kernel.release"

	FactKernelLog = "kernel_log"

	FactKube = "kube"

	FactESX           = "esx"
	FactESXDevices    = "esx.devices"
	FactESXMST        = "esx.mst"
	FactESXModules    = "esx.modules"
	FactESXNICConfigs = "esx.nic_configs"
	FactESXPower      = "esx.power_policy"
	FactESXResetRules = "esx.reset_rules"
	FactESXSettings   = "esx.settings"
	FactESXUplinks    = "esx.uplinks"
	FactESXVFs        = "esx.vfs"
	FactESXVIBs       = "esx.vibs"
	FactESXVMs        = "esx.vms"

	FactPod           = "pod"
	FactPodLockMemory = "pod.lock_memory"

	FactFirewall = "firewall"

	FactModules       = "modules"
	FactModuleDKMS    = "modules.dkms"
	FactModuleOnDisk  = "modules.on_disk"
	FactModuleVersion = "modules.version"

	FactPackages  = "packages"
	FactProviders = "providers"

	FactSysctls = "sysctls" // after another dot the key

	FactMachine                = "machine"
	FactMachineACSUnit         = "machine.acs_unit"
	FactMachineBIOS            = "machine.bios"
	FactMachineCMA             = "machine.cma_kib"
	FactMachineCPU             = "machine.cpu"
	FactMachineCPUModel        = "machine.cpu_model"
	FactMachineCPUsOnline      = "machine.cpus_online"
	FactMachineCPUsPresent     = "machine.cpus_present"
	FactMachineGovernor        = "machine.governor"
	FactMachineHypervisor      = "machine.hypervisor"
	FactMachineHotPlug         = "machine.hot_plug"
	FactMachineIOMMUGroups     = "machine.iommu_groups"
	FactMachineIOMMUMode       = "machine.iommu_mode"
	FactMachineMemlockLimit    = "machine.memlock_limit"
	FactMachineMemory          = "machine.memory_kib"
	FactMachineNetworkOwner    = "machine.network_owner"
	FactMachineNUMA            = "machine.numa"
	FactMachineNUMANodes       = "machine.numa_nodes"
	FactMachineProduct         = "machine.product"
	FactMachineRDMACharDevices = "machine.rdma_char_devices"
	FactMachineSMT             = "machine.smt"
	FactMachineSwap            = "machine.swap_kib"
	FactMachineVendor          = "machine.vendor"

	FactNICs             = "nics"
	FactNICAddresses     = "nics.addresses"
	FactNICARPAnnounce   = "nics.arp_announce"
	FactNICARPIgnore     = "nics.arp_ignore"
	FactNICAutoneg       = "nics.autoneg"
	FactNICDriver        = "nics.driver"
	FactNICDriverVersion = "nics.driver_version"
	FactNICFEC           = "nics.fec"
	FactNICFirmware      = "nics.firmware"
	FactNICIndex         = "nics.index"
	FactNICMAC           = "nics.mac"
	FactNICMTU           = "nics.mtu"
	FactNICOptions       = "nics.options" // after another dot the option
	FactNICOwner         = "nics.owner"
	FactNICPCI           = "nics.pci"
	FactNICQoS           = "nics.qos"
	FactNICRPFilter      = "nics.rp_filter"
	FactNICSpeed         = "nics.speed_mbps"

	FactNICFile = "nic_file"

	FactNetworkFiles = "network_files"

	FactNCCL = "nccl"

	FactHCAs              = "hcas"
	FactHCABoardID        = "hcas.board_id"
	FactHCADriver         = "hcas.driver"
	FactHCAFirmware       = "hcas.firmware"
	FactHCANodeGUID       = "hcas.node_guid"
	FactHCAPCI            = "hcas.pci"
	FactPorts             = "hcas.ports"
	FactPortActiveMTU     = "hcas.ports.active_mtu"
	FactPortCounters      = "hcas.ports.counters"  // after another dot the counter
	FactPortGIDAttributes = "hcas.ports.gid_attrs" // types and network devices of GIDs, in sysfs
	FactPortGIDs          = "hcas.ports.gids"
	FactPortGIDNetDev     = "hcas.ports.gids.netdev"
	FactPortLID           = "hcas.ports.lid"
	FactPortLinkLayer     = "hcas.ports.link_layer"
	FactPortMaxMTU        = "hcas.ports.max_mtu"
	FactPortPhysState     = "hcas.ports.phys_state"
	FactPortPKeys         = "hcas.ports.pkeys"
	FactPortRate          = "hcas.ports.rate"
	FactPortSMLID         = "hcas.ports.sm_lid"
	FactPortState         = "hcas.ports.state"
	FactHCASystemGUID     = "hcas.system_guid"
	FactHCAType           = "hcas.type"

	FactGPUs             = "gpus"
	FactGPUDriverVersion = "gpus.driver_version"
	FactGPUHealth        = "gpus.health"
	FactGPUName          = "gpus.name"
	FactGPUNVLink        = "gpus.nvlink"
	FactGPUUUID          = "gpus.uuid"
	FactGPUVBIOS         = "gpus.vbios"

	FactNVShare              = "nv_share"
	FactSMVirtual            = "sm_virtual"
	FactFabricManager        = "fabric_manager"
	FactFabricManagerMode    = "fabric_manager.mode"
	FactFabricManagerVersion = "fabric_manager.version"

	FactPCI             = "pci"
	FactPCIACS          = "pci.acs"
	FactPCIATS          = "pci.ats"
	FactPCIControl      = "pci.control"
	FactPCIDevice       = "pci.device"
	FactPCIDriver       = "pci.driver"
	FactPCIIOMMUGroup   = "pci.iommu_group"
	FactPCILink         = "pci.link"
	FactPCILinkMaxWidth = "pci.link.max_width"
	FactPCILinkWidth    = "pci.link.width"
	FactPCINUMANode     = "pci.numa_node"

	FactRoutes = "routes"

	FactRules = "rules"

	FactNeighbours = "neighbours"

	FactLLDP = "lldp"
)
