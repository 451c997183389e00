package vcenter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"railwright.dev/railwright/internal/fabric"
)

// Address is a PCI address in the one spelling of this program: 0000:18:00.0. The API writes hexadecimal; files of virtual
// machines, and ids that come from them, write decimal with five and three digits: 00000:024:00.0. What is no address stays.
func Address(id string) string {
	rest, function, ok := strings.Cut(strings.ToLower(strings.TrimSpace(id)), ".")
	parts := strings.Split(rest, ":")
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return id
	}
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	base := 16
	if len(parts[0]) == 5 && len(parts[1]) == 3 {
		base = 10
	}
	numbers := make([]uint64, 0, 4)
	for _, p := range append(parts, function) {
		n, err := strconv.ParseUint(p, base, 32)
		if err != nil {
			return id
		}
		numbers = append(numbers, n)
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", numbers[0], numbers[1], numbers[2], numbers[3])
}

// pciOf are the devices of a host. Ids are signed 16 bit numbers in the API: -32634 is 0x8086.
func pciOf(devices []types.HostPciDevice) ([]fabric.PCIDevice, map[string]types.HostPciDevice) {
	out, by := []fabric.PCIDevice{}, map[string]types.HostPciDevice{}
	for _, d := range devices {
		address := Address(d.Id)
		by[address] = d
		p := fabric.PCIDevice{Address: address, Vendor: uint16(d.VendorId), Device: uint16(d.DeviceId), Class: uint32(uint16(d.ClassId)) << 8}
		if d.ParentBridge != "" {
			p.Parent = Address(d.ParentBridge)
		}
		out = append(out, p)
	}
	return out, by
}

// labelsSince is the first version of ESX whose API has hardware labels: 7.0.2.
func hasLabels(version string) bool { return atLeast(version, 7, 0, 2) }

// atLeast compares the first numbers of a version; one that is no version is older.
func atLeast(version string, want ...int) bool {
	have := strings.Split(version, ".")
	for i, w := range want {
		if i >= len(have) {
			return w == 0
		}
		n, err := strconv.Atoi(have[i])
		if err != nil || n < w {
			return false
		}
		if n > w {
			return true
		}
	}
	return true
}

// passthroughs are the devices in the view of passthrough, with who has them.
func (d *detail) passthroughs(infos []types.BaseHostPciPassthruInfo) []fabric.PassthroughPCI {
	out := []fabric.PassthroughPCI{}
	for _, b := range infos {
		i := b.GetHostPciPassthruInfo()
		p := fabric.PassthroughPCI{Address: Address(i.Id), Capable: &i.PassthruCapable, Enabled: &i.PassthruEnabled, Active: &i.PassthruActive, Label: i.HardwareLabel, Labels: hasLabels(d.ESX.Version)}
		if pci, ok := d.devices[p.Address]; ok {
			p.Vendor, p.Device = uint16(pci.VendorId), uint16(pci.DeviceId)
			p.Name = strings.TrimSpace(pci.VendorName + " " + pci.DeviceName)
		}
		if s, ok := b.(*types.HostSriovInfo); ok && s.SriovCapable {
			p.SRIOV = &fabric.SRIOV{Enabled: s.SriovEnabled, Active: s.SriovActive, Requested: int(s.NumVirtualFunctionRequested), Present: int(s.NumVirtualFunction), Most: int(s.MaxVirtualFunctionSupported)}
		}
		if m := d.owner(p.Address); m != nil {
			p.Owner = m.Name
		}
		out = append(out, p)
	}
	return out
}

// owner is the virtual machine that has a device: one that runs with it, else one that has it by its address.
func (d *detail) owner(address string) *machine {
	var off *machine
	for i := range d.machines {
		m := &d.machines[i]
		if !m.has(address) {
			continue
		}
		if m.Power != powerOff {
			return m
		}
		off = m
	}
	return off
}
