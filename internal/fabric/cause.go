package fabric

// CauseID identifies what is wrong. Findings, explanations and faults planted in the lab share these names;
// users' scripts rely on them, so an id is never renamed.
type CauseID string

// The causes that rules, the mesh, the lab and explain use. The list grows with the packages that find them.
const (
	CauseACSRedirect            CauseID = "acs-redirect"
	CauseAddressConflict        CauseID = "address-conflict"
	CauseAddressMissing         CauseID = "address-missing"
	CauseARPFlux                CauseID = "arp-flux"
	CauseATSDisabled            CauseID = "ats-disabled"
	CauseBenignVF               CauseID = "benign-vf"
	CauseBondHashing            CauseID = "bond-hashing"
	CauseBootstrapInterface     CauseID = "bootstrap-interface"
	CauseCollectiveMismatch     CauseID = "collective-mismatch"
	CauseCPUAffinity            CauseID = "cpu-affinity"
	CauseDeviceFault            CauseID = "device-fault"
	CauseDriverABI              CauseID = "driver-abi"
	CauseDriverConflict         CauseID = "driver-conflict"
	CauseDuplicateGPU           CauseID = "duplicate-gpu"
	CauseEnvNotForwarded        CauseID = "env-not-forwarded"
	CauseESXiDriverUnloaded     CauseID = "esxi-driver-unloaded"
	CauseFabricManager          CauseID = "fabric-manager"
	CauseFirewall               CauseID = "firewall"
	CauseFirmwareDCBX           CauseID = "firmware-dcbx"
	CauseFirmwareTools          CauseID = "firmware-tools"
	CauseFirstUse               CauseID = "first-use"
	CauseGDRDisabled            CauseID = "gdr-disabled"
	CauseGIDIndex               CauseID = "gid-index"
	CauseGPUDriver              CauseID = "gpu-driver"
	CauseGPUMemory              CauseID = "gpu-memory"
	CauseGPUNICMisaligned       CauseID = "gpu-nic-misaligned"
	CauseGPUThrottled           CauseID = "gpu-throttled"
	CauseHalfPortTwin           CauseID = "half-port-twin"
	CauseHCASubset              CauseID = "hca-subset"
	CauseHealthy                CauseID = "healthy"
	CauseHostMemoryInterleaving CauseID = "host-memory-interleaving"
	CauseInterruptVectors       CauseID = "interrupt-vectors"
	CauseIOMMUTranslated        CauseID = "iommu-translated"
	CauseLauncherSetup          CauseID = "launcher-setup"
	CauseLibraryBuild           CauseID = "library-build"
	CauseLinkDown               CauseID = "link-down"
	CauseMemlock                CauseID = "memlock"
	CauseMiscabled              CauseID = "miscabled"
	CauseMMIOSpace              CauseID = "mmio-space"
	CauseMPINotBuilt            CauseID = "mpi-not-built"
	CauseMTUMismatch            CauseID = "mtu-mismatch"
	CauseNCCLSettings           CauseID = "nccl-settings"
	CauseNeighbourOverflow      CauseID = "neighbour-overflow"
	CauseNetPlugin              CauseID = "net-plugin"
	CauseNICDegradedInit        CauseID = "nic-degraded-init"
	CauseNICProfile             CauseID = "nic-profile"
	CauseNumaBalancing          CauseID = "numa-balancing"
	CauseNVLinkDegraded         CauseID = "nvlink-degraded"
	CauseOversubscription       CauseID = "oversubscription"
	CauseP2PChannels            CauseID = "p2p-channels"
	CausePassthroughMissing     CauseID = "passthrough-missing"
	CausePassthroughReset       CauseID = "passthrough-reset"
	CausePCIeDowngraded         CauseID = "pcie-downgraded"
	CausePCIeDowngradedUpstream CauseID = "pcie-downgraded-upstream"
	CausePCIeHotplug            CauseID = "pcie-hotplug"
	CausePKeyMismatch           CauseID = "pkey-mismatch"
	CausePortRateLow            CauseID = "port-rate-low"
	CauseProcessKilled          CauseID = "process-killed"
	CauseQoSClassMismatch       CauseID = "qos-class-mismatch"
	CauseRDMADriver             CauseID = "rdma-driver"
	CauseRoCELossy              CauseID = "roce-lossy"
	CauseRouteMissing           CauseID = "route-missing"
	CauseSHMFull                CauseID = "shm-full"
	CauseSlowLink               CauseID = "slow-link"
	CauseSlowNode               CauseID = "slow-node"
	CauseSocketFallback         CauseID = "socket-fallback"
	CauseSRIOVLeftOn            CauseID = "sriov-left-on"
	CauseStorageFull            CauseID = "storage-full"
	CauseSubnetManager          CauseID = "subnet-manager"
	CauseSwitchOSVersion        CauseID = "switch-os-version"
	CauseTopoXMLWrong           CauseID = "topo-xml-wrong"
	CauseTreeArtefact           CauseID = "tree-artefact"
	CauseVersionSkew            CauseID = "version-skew"
	CauseVMHostSetup            CauseID = "vm-host-setup"
	CauseVFMissing              CauseID = "vf-missing"
	CauseVMIOMMU                CauseID = "vm-iommu"
	CauseVMMemoryReservation    CauseID = "vm-memory-reservation"
	CauseVMTopologyMissing      CauseID = "vm-topology-missing"
	CauseXGMIModelUnmatched     CauseID = "xgmi-model-unmatched"
)

// Cause is one explanation of something observed: of failed pairs of a mesh, of a slow collective.
type Cause struct {
	ID         CauseID    `json:"id"`
	Subject    Subject    `json:"subject"`
	With       []Subject  `json:"with,omitempty"` // the others that the same cause affects, such as the far cables of an exchange
	Confidence float64    `json:"confidence"`     // 0 to 1: the share of the observations that it explains
	Evidence   []Evidence `json:"evidence,omitempty"`
	Against    []Evidence `json:"against,omitempty"`
	Confirm    string     `json:"confirm,omitempty"` // the next command to run
	Fix        string     `json:"fix,omitempty"`
	Gain       *Gain      `json:"gain,omitempty"` // what would be measured once it alone is fixed
}

// Subjects lists all that the cause affects.
func (c Cause) Subjects() string {
	text := c.Subject.String()
	for _, s := range c.With {
		text += ", " + s.String()
	}
	return text
}

// Causes is the saved form of an explanation: what was observed, and why.
type Causes struct {
	Meta
	Status Status  `json:"status"`
	Causes []Cause `json:"causes"`
}
