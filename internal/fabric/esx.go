package fabric

import (
	"slices"
	"strings"
)

// ESX is what an ESX host says of itself as a host of virtual machines: by esxcli and the tools of NIC vendors in its shell, by
// its files, or by the vSphere API. A list that was not read is nil; one that was read and has no entries is empty and not nil. A
// scalar that was not read is nil or empty. Its PCI devices are in Facts.PCI, as far as ESX shows them.
type ESX struct {
	Version     string           `json:"version,omitempty"`     // 8.0.3, 9.0.0
	Build       string           `json:"build,omitempty"`       // 24280767
	Maintenance *bool            `json:"maintenance,omitempty"` // in maintenance mode
	PowerPolicy string           `json:"power_policy,omitempty"`
	Settings    []ESXSetting     `json:"settings,omitzero"`    // of the kernel
	VIBs        []VIB            `json:"vibs,omitzero"`        // installed software
	Modules     []ESXModule      `json:"modules,omitzero"`     // of the kernel: drivers
	Devices     []PassthroughPCI `json:"devices,omitzero"`     // and what passthrough makes of each
	ResetRules  []ResetRule      `json:"reset_rules,omitzero"` // of /etc/vmware/passthru.map, in the order of the file
	MST         []MSTDevice      `json:"mst,omitzero"`         // of mst status
	NICConfigs  []NICConfig      `json:"nic_configs,omitzero"` // of mlxconfig, one per NIC
	Uplinks     []Uplink         `json:"uplinks,omitzero"`     // vmnic: the NICs that ESX itself drives
	VFs         []ESXVirtual     `json:"vfs,omitzero"`         // virtual functions
	VMs         []VM             `json:"vms,omitzero"`
	Refusals    []PowerOnRefusal `json:"refusals,omitempty"` // why virtual machines did not start, as logs and errors say
	Reboot      []RebootReason   `json:"reboot,omitempty"`   // what says that something waits for a reboot
	Firmware    []NICFirmware    `json:"firmware,omitempty"` // of flint
	RDMA        []ESXRDMA        `json:"rdma,omitempty"`     // RDMA devices that ESX itself uses
	BARs        []DeviceBAR      `json:"bars,omitempty"`     // that a virtual machine got, as its log says
	Vectors     *int             `json:"vectors,omitempty"`  // interrupt vectors, as somebody counted them

	// Parts names the lists (FactESXVIBs, ...) of which only a part was seen: what is not in such a list may be there all the same.
	Parts []string `json:"parts,omitempty"`
	// NoVIBs is what a search in the list of installed software did not find: parts of names.
	NoVIBs []string `json:"no_vibs,omitempty"`
}

// Whole reports whether a list (FactESXVIBs, ...) was read and has all that is there, so that what it lacks is absent.
func (e *ESX) Whole(list string) bool {
	return !slices.Contains(e.Parts, list) && map[string]bool{
		FactESXSettings: e.Settings != nil, FactESXVIBs: e.VIBs != nil, FactESXModules: e.Modules != nil, FactESXDevices: e.Devices != nil,
		FactESXResetRules: e.ResetRules != nil, FactESXMST: e.MST != nil, FactESXNICConfigs: e.NICConfigs != nil, FactESXUplinks: e.Uplinks != nil,
		FactESXVFs: e.VFs != nil, FactESXVMs: e.VMs != nil,
	}[list]
}

// Major is the first number of the version: 8, 9. 0: unknown.
func (e *ESX) Major() int {
	n := 0
	for _, c := range e.Version {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// ESXSetting is a boot option of the VMkernel (esxcli system settings kernel list). Values are as the tool writes them: TRUE,
// FALSE, numbers. Configured differs from Runtime until the host starts again.
type ESXSetting struct {
	Name       string `json:"name"`
	Configured string `json:"configured,omitempty"`
	Runtime    string `json:"runtime,omitempty"` // empty: not given
	Default    string `json:"default,omitempty"`
}

// Setting finds a setting; nil: it was not read, or this version of ESX does not have it.
func (e *ESX) Setting(name string) *ESXSetting {
	for i := range e.Settings {
		if strings.EqualFold(e.Settings[i].Name, name) {
			return &e.Settings[i]
		}
	}
	return nil
}

// VIB is an installed package of ESX. Names are written with '-': nmlx5-core, whose module is nmlx5_core.
type VIB struct {
	Name       string `json:"name"`
	Version    string `json:"version"` // 4.23.0.66-2vmw.802.0.0.22380479
	Vendor     string `json:"vendor,omitempty"`
	Acceptance string `json:"acceptance,omitempty"`
}

// ESXModule is a module of the VMkernel.
type ESXModule struct {
	Name       string            `json:"name"` // nmlx5_core
	Loaded     *bool             `json:"loaded,omitempty"`
	Enabled    *bool             `json:"enabled,omitempty"`   // is loaded at the next start
	Parameters map[string]string `json:"parameters,omitzero"` // those that have a value; nil: not read
}

// Module finds a module; nil: it was not read, or is not there.
func (e *ESX) Module(name string) *ESXModule {
	for i := range e.Modules {
		if e.Modules[i].Name == name {
			return &e.Modules[i]
		}
	}
	return nil
}

// PassthroughPCI is a PCI device in the view of passthrough (DirectPath I/O).
type PassthroughPCI struct {
	Address string `json:"address"` // domain:bus:device.function, lower case hexadecimal
	Vendor  uint16 `json:"vendor,omitempty"`
	Device  uint16 `json:"device,omitempty"`
	Name    string `json:"name,omitempty"`
	Capable *bool  `json:"capable,omitempty"`
	Enabled *bool  `json:"enabled,omitempty"` // configured
	Active  *bool  `json:"active,omitempty"`  // in force; differs from Enabled until the host starts again
	Label   string `json:"label,omitempty"`   // hardware label
	Labels  bool   `json:"labels,omitempty"`  // the source gives labels: an empty one is none, and not unknown
	SRIOV   *SRIOV `json:"sriov,omitempty"`
	Owner   string `json:"owner,omitempty"` // virtual machine that has it
}

// SRIOV is what the vSphere API says of the virtual functions of a device.
type SRIOV struct {
	Enabled   bool `json:"enabled"`
	Active    bool `json:"active"`
	Requested int  `json:"requested"`
	Present   int  `json:"present"`
	Most      int  `json:"most"`
}

// ResetRule is a line of /etc/vmware/passthru.map: how devices are reset when a virtual machine gets or leaves them. 0xffff is any.
type ResetRule struct {
	Vendor    uint16 `json:"vendor"`
	Device    uint16 `json:"device"`
	Method    string `json:"method"`              // flr, d3d0, link, bridge, default
	Shareable string `json:"shareable,omitempty"` // fptShareable: true, false, default
	Line      int    `json:"line,omitempty"`
}

// MSTDevice is a device of mst status.
type MSTDevice struct {
	Type    string `json:"type,omitempty"`    // ConnectX7(rev:0)
	Name    string `json:"name"`              // mt4129_pciconf0
	Address string `json:"address,omitempty"` // with its domain
	RDMA    string `json:"rdma,omitempty"`
	Net     string `json:"net,omitempty"`
}

// NICConfig is non-volatile settings of a NIC as mlxconfig prints them. A setting that the text leaves out is unknown.
type NICConfig struct {
	Device   string               `json:"device,omitempty"`  // mt4129_pciconf0, or its PCI address
	Type     string               `json:"type,omitempty"`    // ConnectX7
	Address  string               `json:"address,omitempty"` // where the text or mst status gives it
	Settings map[string]NICStored `json:"settings"`          // ATS_ENABLED, SRIOV_EN, NUM_OF_VFS, ...
}

// NICStored is the values of a setting as the tool writes them: True(1), 16. Empty: the text has no such column.
type NICStored struct {
	Default string `json:"default,omitempty"`
	Current string `json:"current,omitempty"` // in force
	Next    string `json:"next,omitempty"`    // after the next start
}

// Uplink is a NIC that ESX drives (esxcli network nic list).
type Uplink struct {
	Name    string `json:"name"` // vmnic4
	Address string `json:"address,omitempty"`
	Driver  string `json:"driver,omitempty"`
	Up      *bool  `json:"up,omitempty"`
	Mbps    *int   `json:"mbps,omitempty"` // Mb/s
	MTU     int    `json:"mtu,omitempty"`  // bytes
	What    string `json:"what,omitempty"`
	VFs     *int   `json:"vfs,omitzero"` // virtual functions that the driver was told to make
}

// ESXVirtual is a virtual function.
type ESXVirtual struct {
	Of      string `json:"of,omitempty"`      // the vmnic, or the address, of its physical function
	Number  int    `json:"number"`            // from 0
	Address string `json:"address,omitempty"` // with its domain
	Active  *bool  `json:"active,omitempty"`
	Owner   string `json:"owner,omitempty"` // world id of the virtual machine that has it, or its name
}

// VM is the virtual hardware of a virtual machine.
type VM struct {
	Name     string            `json:"name"`
	Class    bool              `json:"class,omitempty"`    // it is no machine but a class or template of such
	Operator bool              `json:"operator,omitempty"` // a class of VM Operator, which adds settings of its own
	Host     string            `json:"host,omitempty"`
	Power    string            `json:"power,omitempty"`    // on, off, suspended
	Firmware string            `json:"firmware,omitempty"` // efi, bios
	Hardware int               `json:"hardware,omitempty"` // version: 21
	CPUs     int               `json:"cpus,omitempty"`
	MemoryMB int               `json:"memory_mb,omitempty"`
	Reserved *bool             `json:"reserved,omitempty"` // all of its memory
	Extra    map[string]string `json:"extra,omitzero"`     // ExtraConfig: keys as written
	Devices  []VMDevice        `json:"devices,omitzero"`   // passed through, in their order
}

// VMDevice is a device that is passed through to a virtual machine.
type VMDevice struct {
	Number  int    `json:"number"`            // of pciPassthruN
	Kind    string `json:"kind,omitempty"`    // direct (one device by its address), dynamic (any of these ids and label), sriov
	Address string `json:"address,omitempty"` // of a direct one
	Vendor  string `json:"vendor,omitempty"`  // as written: 0x10de, 4318, -32634
	Device  string `json:"device,omitempty"`  // likewise
	Label   string `json:"label,omitempty"`
	System  string `json:"system,omitempty"` // id of the host that it was attached on
}

// PowerOnRefusal is a message that says why a virtual machine did not start, or lost a device.
type PowerOnRefusal struct {
	VM     string `json:"vm,omitempty"`
	Kind   string `json:"kind"`             // one of the Refused constants
	Device string `json:"device,omitempty"` // with its domain; empty: the message names none, or not so that it is clear which
	Text   string `json:"text"`             // the line
	Line   int    `json:"line,omitempty"`
	Needed int    `json:"needed,omitempty"` // pages of 4 KiB of MMIO space that the devices need
	Limit  int    `json:"limit,omitempty"`  // and that the virtual machine has
}

// Kinds of refusals.
const (
	RefusedMMIO      = "mmio"            // the devices need more MMIO space than the virtual machine has
	RefusedNoVF      = "no-vf"           // no virtual function is left of the physical one
	RefusedNotPassed = "not-passthrough" // the device is not passed through, or no longer
	RefusedHotPlug   = "hot-plug"        // PCIe hot-plug took the device away
	RefusedVectors   = "vectors"         // the host has no interrupt vectors left
	RefusedIdentity  = "identity"        // id of host, device or vendor is not that of the device which is there
	RefusedReset     = "reset"           // the device does not come back from its reset
	RefusedIOMMU     = "iommu"           // virtual IOMMU and vGPU exclude each other
	RefusedReserved  = "memory"          // its memory is not reserved as a whole
	RefusedInUse     = "in-use"          // another virtual machine, or ESX itself, has the device
	RefusedDevice    = "device"          // the device could not be given, for a reason that the message leaves open
	RefusedPowerOn   = "power-on"        // says only that it did not start
)

// NICFirmware is what flint says of the firmware on a NIC.
type NICFirmware struct {
	Device       string `json:"device,omitempty"` // as the command named it
	Version      string `json:"version,omitempty"`
	Released     string `json:"released,omitempty"` // day.month.year
	PSID         string `json:"psid,omitempty"`
	OriginalPSID string `json:"original_psid,omitempty"` // of the vendor whose firmware was replaced
}

// DeviceBAR is a memory region of a device that is passed through.
type DeviceBAR struct {
	Device string `json:"device"` // with its domain
	Number int    `json:"number"`
	Bytes  int    `json:"bytes"`
}

// ESXRDMA is an RDMA device of ESX itself (esxcli rdma device list).
type ESXRDMA struct {
	Name   string `json:"name"` // vmrdma0
	Driver string `json:"driver,omitempty"`
	State  string `json:"state,omitempty"`
	MTU    int    `json:"mtu,omitempty"`   // bytes, of RDMA
	Speed  string `json:"speed,omitempty"` // as written: 50 Gbps
	Uplink string `json:"uplink,omitempty"`
	Kernel string `json:"kernel,omitempty"` // interface of ESX that uses it: vmk1
}

// RebootReason is something that says that the host has to start again.
type RebootReason struct {
	Source string `json:"source"` // esxcli software vib install, mlxconfig
	Text   string `json:"text"`
}
