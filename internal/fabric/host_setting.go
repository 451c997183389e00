package fabric

// What the rendered ACS unit leaves on a host.
const (
	ACSUnitFile   = "/etc/systemd/system/railwright-acs.service"
	ACSResultFile = "/run/railwright/acs.json" // of this boot: /run is empty after the next one
	ACSResultKind = "ACSResult"
	ACSCleared    = "cleared" // every bridge is clear
	ACSFailed     = "failed"
	ACSRefused    = "refused" // a virtual machine, or a host of virtual machines
)

// The services that configure interfaces, as facts name them.
const (
	Networkd       = "networkd"
	NetworkManager = "NetworkManager"
	Wicked         = "wicked"
	Ifupdown       = "ifupdown"

	OwnerSeparator = ", "
	NoOwner        = "none" // of a NIC: each service was asked
)

// Service is the service that a way to configure interfaces needs.
func (n Network) Service() string {
	if n == ByNetworkManager {
		return NetworkManager
	}
	return Networkd
}

// ACSUnit is what the rendered unit that clears ACS did in this boot.
type ACSUnit struct {
	Installed bool     `json:"installed"`         // ACSUnitFile is there
	State     string   `json:"state,omitempty"`   // ACSCleared, ACSFailed, ACSRefused; empty: it left no result in this boot
	Reason    string   `json:"reason,omitempty"`  // of a state other than cleared
	Bridges   int      `json:"bridges,omitempty"` // bridges that it looked at
	Left      []string `json:"left,omitempty"`    // PCI addresses that it could not clear or read
}

// KernelWords are the words that the kernel's command line needs on bare metal with GPUDirect RDMA.
//
// The IOMMU's are those of the processor's vendor (intel, amd, arm; empty: unknown, then both of x86, of which each kernel
// driver reads its own), from Broadcom's RoCE guide, 2.3.1 and 2.3.2; amd_iommu=on is what AMD's driver does by default, and
// its kernels note the word as unknown. On Arm the kernel has its own word (Documentation/admin-guide/kernel-parameters).
// pci=realloc=off, with AMD's GPUs only, keeps the firmware's placement of their large BARs (same sections, AMD's cluster
// networking guide): no source asks for it with other GPUs.
func KernelWords(cpu, gpuVendor string) []string {
	var words []string
	switch cpu {
	case "intel":
		words = []string{"intel_iommu=on", "iommu=pt"}
	case "amd":
		words = []string{"amd_iommu=on", "iommu=pt"}
	case "arm":
		words = []string{"iommu.passthrough=1"}
	default:
		words = []string{"amd_iommu=on", "intel_iommu=on", "iommu=pt"}
	}
	if gpuVendor == "amd" {
		words = append(words, "pci=realloc=off")
	}
	return words
}
