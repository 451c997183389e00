package fabric

// CauseID names what is wrong. Findings, explanations and faults planted in the lab share these names;
// users' scripts rely on them, so an id is never renamed.
type CauseID string

// The causes that rules, the mesh and the lab speak of. The list grows with the packages that find them.
const (
	CauseACSRedirect            CauseID = "acs-redirect"
	CauseAddressConflict        CauseID = "address-conflict"
	CauseAddressMissing         CauseID = "address-missing"
	CauseARPFlux                CauseID = "arp-flux"
	CauseATSDisabled            CauseID = "ats-disabled"
	CauseCPUAffinity            CauseID = "cpu-affinity"
	CauseDeviceFault            CauseID = "device-fault"
	CauseDriverABI              CauseID = "driver-abi"
	CauseDriverConflict         CauseID = "driver-conflict"
	CauseFirmwareDCBX           CauseID = "firmware-dcbx"
	CauseGDRDisabled            CauseID = "gdr-disabled"
	CauseGIDIndex               CauseID = "gid-index"
	CauseGPUDriver              CauseID = "gpu-driver"
	CauseGPUNICMisaligned       CauseID = "gpu-nic-misaligned"
	CauseIOMMUTranslated        CauseID = "iommu-translated"
	CauseLinkDown               CauseID = "link-down"
	CauseMemlock                CauseID = "memlock"
	CauseMiscabled              CauseID = "miscabled"
	CauseMTUMismatch            CauseID = "mtu-mismatch"
	CauseNeighbourOverflow      CauseID = "neighbour-overflow"
	CauseNICProfile             CauseID = "nic-profile"
	CauseNumaBalancing          CauseID = "numa-balancing"
	CauseNVLinkDegraded         CauseID = "nvlink-degraded"
	CausePCIeDowngraded         CauseID = "pcie-downgraded"
	CausePCIeDowngradedUpstream CauseID = "pcie-downgraded-upstream"
	CausePKeyMismatch           CauseID = "pkey-mismatch"
	CausePortRateLow            CauseID = "port-rate-low"
	CauseRDMADriver             CauseID = "rdma-driver"
	CauseRouteMissing           CauseID = "route-missing"
	CauseSlowLink               CauseID = "slow-link"
	CauseSlowNode               CauseID = "slow-node"
	CauseSubnetManager          CauseID = "subnet-manager"
	CauseVersionSkew            CauseID = "version-skew"
)

// Cause is one explanation of something observed: of failed pairs of a mesh, of a slow collective.
type Cause struct {
	ID         CauseID    `json:"id"`
	Subject    Subject    `json:"subject"`
	Confidence float64    `json:"confidence"` // 0 to 1: the share of what was observed that it explains
	Evidence   []Evidence `json:"evidence,omitempty"`
	Against    []Evidence `json:"against,omitempty"`
	Confirm    string     `json:"confirm,omitempty"` // the next command to run
	Fix        string     `json:"fix,omitempty"`
}

// Causes is the saved form of an explanation: what was observed, and why.
type Causes struct {
	Meta
	Status Status  `json:"status"`
	Causes []Cause `json:"causes"`
}
