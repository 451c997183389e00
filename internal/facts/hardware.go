package facts

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// Recorded marks facts whose hardware is that of a recording, under the live network of a lab host.
const Recorded = "recorded"

// LayHardware puts the hardware of a recording under the facts of a lab host: PCI functions, GPUs, RDMA
// devices, machine, kernel, modules and kernel log are the recorded ones. The NICs of the host take the PCI
// functions of the recorded RDMA NICs, in order; of more NICs than were recorded the rest stays virtual.
func LayHardware(f *fabric.Facts, recording []byte, now time.Time) error {
	replay, err := host.LoadRecording(bytes.NewReader(recording))
	if err != nil {
		return fmt.Errorf("hardware: %w", err)
	}
	h := Collect(context.Background(), replay, now)
	if len(h.PCI) == 0 {
		return fmt.Errorf("hardware: the recording of %q shows no PCI function", h.Node)
	}
	f.Hardware = Recorded
	f.PCI, f.GPUs, f.HCAs, f.Modules, f.KernelLog, f.Disagree = h.PCI, h.GPUs, h.HCAs, h.Modules, h.KernelLog, h.Disagree
	f.Machine, f.Kernel = h.Machine, h.Kernel
	if f.Sysctls == nil {
		f.Sysctls = make(map[string]string)
	}
	for name, value := range h.Sysctls {
		if _, live := f.Sysctls[name]; !live {
			f.Sysctls[name] = value
		}
	}
	adopt(f, h)
	return nil
}

// adopt gives the NICs of a lab host the hardware of the recorded NICs, and the recorded GID tables their names.
func adopt(f, h *fabric.Facts) {
	renamed := make(map[string]string)
	var recorded []fabric.NIC
	for _, nic := range h.NICs {
		if nic.PCI != "" && servedByHCA(h, nic) {
			recorded = append(recorded, nic)
		}
	}
	for i := range f.NICs {
		nic := &f.NICs[i]
		if nic.Kind != "veth" || len(recorded) == 0 {
			continue
		}
		r := recorded[0]
		recorded = recorded[1:]
		nic.PCI, nic.Driver, nic.SpeedMbps = r.PCI, r.Driver, r.SpeedMbps
		nic.Firmware, nic.DriverVersion, nic.FEC, nic.Autoneg = r.Firmware, r.DriverVersion, r.FEC, r.Autoneg
		renamed[r.Name] = nic.Name
	}
	for _, hca := range f.HCAs {
		for _, port := range hca.Ports {
			for i := range port.GIDs {
				port.GIDs[i].NetDev = renamed[port.GIDs[i].NetDev]
			}
		}
	}
}

func servedByHCA(h *fabric.Facts, nic fabric.NIC) bool {
	for _, hca := range h.HCAs {
		if hca.PCI == nic.PCI {
			return true
		}
	}
	return false
}
