package fabric

import "strings"

// GPUHealth is what a GPU says of itself: memory errors, what slows it, and whether it has joined the NVLink fabric. A nil
// pointer and an empty text were not read. "N/A" is the tool's word for what this GPU does not have.
type GPUHealth struct {
	Fault    string // what the tool printed in the place of values: ERR!, GPU is lost, GPU requires reset, Unknown Error
	Recovery string // what the driver asks for: None, Reset, Reboot, Drain P2P, Drain and Reset

	ECC             string  // Enabled, Disabled, N/A
	Uncorrected     *uint64 // uncorrectable memory errors since the driver was loaded
	UncorrectedEver *uint64 // over the life of the GPU
	Corrected       *uint64 // since the driver was loaded

	RowsRemapped   *uint64 // rows of memory that spare ones replaced (Ampere and later)
	RemapPending   *bool   // one waits for a reset of the GPU
	RemapFailed    *bool   // one could not be replaced
	PagesRetired   *uint64 // pages set aside (before Ampere, and AMD)
	RetirePending  *bool
	RepairPending  *bool // of a memory channel or a part of the chip
	Unrepairable   *bool // memory that no repair brings back
	SRAMOverLimits *bool // "SRAM Threshold Exceeded": the vendor's limit for an exchange

	Throttle    *string // what lowers the clocks now, by nvidia-smi's names with spaces: hw_thermal_slowdown gpu_idle; empty: nothing
	Persistence *bool
	Fabric      *GPUFabric
}

// GPUFabric is how far a GPU has joined the fabric of NVSwitches, in nvidia-smi's words.
type GPUFabric struct {
	State  string // Completed, In Progress, Not Started, Not Supported, N/A
	Status string // Success, or an NVML error
	Health string // Healthy, Unhealthy, Limited Capacity, Not Supported, N/A
	Faults string // lines of the health block that are not in order: Bandwidth: Degraded
}

// Reasons that lower the clocks of a GPU (NVML, nvmlClocksEventReasons), by the names of nvidia-smi --help-query-gpu.
const (
	ThrottleSlowdown   = "hw_slowdown"
	ThrottleThermal    = "hw_thermal_slowdown"
	ThrottlePowerBrake = "hw_power_brake_slowdown"
	ThrottleSWThermal  = "sw_thermal_slowdown"
)

// ThrottleFaults are those that healthy machines do not have; a power cap, idleness, and clocks that were set, they do.
func ThrottleFaults() []string {
	return []string{ThrottleSlowdown, ThrottleThermal, ThrottlePowerBrake, ThrottleSWThermal}
}

// NVLink is the state of the NVLinks of a GPU as nvidia-smi nvlink lists them.
type NVLink struct {
	Listed bool    // nvidia-smi nvlink -s was read; false: the error counters alone
	Up     int     // links that carry traffic
	Down   []int   // numbers of those that it lists as inactive
	GBps   float64 // of the fastest link, GB/s each way
	Slow   []int   // numbers of those that are slower than that one
	Low    float64 // of the slowest of them
	Says   string  // the tool's sentence in the place of links: all links are inActive, Not Supported

	// Errors are sums over the links, of the counters that were read, by the tool's names in lower case: replay errors. Those
	// that count what coding corrects all the time (FEC, BER, raw) are left out. Nil: not read.
	Errors map[string]uint64
}

// NVLinkFaults are the error counters of NVLinks that are 0 on a healthy machine, by the names of nvidia-smi nvlink -e in lower
// case: up to Hopper, then from Blackwell on. What coding corrects all the time is not among them (effective and symbol
// errors, FEC, BER, raw).
func NVLinkFaults() []string {
	return []string{
		"replay errors", "recovery errors", "crc errors",
		"link recovery failed events", "local link integrity errors", "rx remote errors", "malformed packet errors", "buffer overrun errors",
	}
}

// FabricManager is the service that sets up NVSwitches. Absence is State "absent".
type FabricManager struct {
	State   string `json:"state,omitempty"`   // active, inactive, failed, activating, ... (systemd), absent: no such unit
	Masked  bool   `json:"masked,omitempty"`  // nothing can start it
	Version string `json:"version,omitempty"` // nv-fabricmanager --version, or as it says in its log
	Driver  string `json:"driver,omitempty"`  // version of the loaded driver that it refused in its log
	Says    string `json:"says,omitempty"`    // the line of its log that says why it does not run
	Mode    *int   `json:"mode,omitempty"`    // FABRIC_MODE of fabricmanager.cfg: 0 bare metal or full passthrough, 1 shared NVSwitch, 2 vGPU
}

// NVShare is what is known of NVSwitches that virtual machines share by partitions of Fabric Manager.
type NVShare struct {
	Partitions []NVPartition `json:"partitions,omitempty"` // of fmpm -l in the service virtual machine; nil: not read
	Modules    []int         `json:"modules,omitempty"`    // Module Id of the GPUs that nvidia-smi -q shows, ascending; nil: not read
}

// NVPartition is GPUs that NVSwitches join where it is active.
type NVPartition struct {
	ID      int   `json:"id"`
	GPUs    int   `json:"gpus"`
	Active  bool  `json:"active"`
	Modules []int `json:"modules,omitempty"` // Module Id (physicalId) of its GPUs, ascending; nil: not all of them were read
}

// Throttled returns the reasons that are faults among those that lower the clocks now.
func (h *GPUHealth) Throttled() []string {
	if h == nil || h.Throttle == nil {
		return nil
	}
	var found []string
	for reason := range strings.FieldsSeq(*h.Throttle) {
		for _, fault := range ThrottleFaults() {
			if reason == fault {
				found = append(found, reason)
			}
		}
	}
	return found
}
