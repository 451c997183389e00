package check

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func withHardware() Condition {
	return Condition{
		ID: "hardware", Doc: "not on lab hosts, which have neither hardware nor a kernel of their own, unless they have recorded hardware",
		judge: func(s scene) (fabric.Status, string) {
			return s.each(noHardware, func(d *Digest) (fabric.Status, string) {
				return unless(d.Lab && d.Recorded == "", noHardware)
			})
		},
	}
}

func withOwnHardware() Condition {
	return Condition{
		ID: "own-hardware", Doc: "not in the lab, even with a recording under its hosts: all of them have the same one",
		judge: func(s scene) (fabric.Status, string) {
			return s.each(noHardware, func(d *Digest) (fabric.Status, string) { return unless(d.Lab, noHardware) })
		},
	}
}

// withRDMA and withGPU: rdma-device and gpu-device are unknown on a node without, so that it never passes as a whole.
func withRDMA() Condition {
	return Condition{
		ID: "rdma", Doc: "not on a node that is known to have no RDMA device and is in no cluster file",
		judge: func(s scene) (fabric.Status, string) {
			if s.planned {
				return fabric.Pass, ""
			}
			return s.each("no node has an RDMA device (see rdma-device)", func(d *Digest) (fabric.Status, string) {
				return unless(d.NoRDMA, d.Node+" has no RDMA device (see rdma-device)")
			})
		},
	}
}

func withGPU() Condition {
	return Condition{
		ID: "gpu", Doc: "not on a node that is known to have no GPU",
		judge: func(s scene) (fabric.Status, string) {
			return s.each("no node has a GPU (see gpu-device)", func(d *Digest) (fabric.Status, string) {
				return unless(d.NoGPU, d.Node+" has no GPU (see gpu-device)")
			})
		},
	}
}

// bareMetal is the platform whose hosts get the unit that clears ACS.
const bareMetal = "baremetal"

func withNVIDIA() Condition {
	return Condition{
		ID: "nvidia", Doc: "not on a node whose GPUs are all of another vendor",
		judge: func(s scene) (fabric.Status, string) {
			return s.each("no node has a GPU of NVIDIA", func(d *Digest) (fabric.Status, string) {
				return unless(d.NoNVIDIA, "the GPUs of "+d.Node+" are not NVIDIA's")
			})
		},
	}
}

func withNVLink() Condition {
	return Condition{
		ID: "nvlink", Doc: "not on a node whose GPUs have no NVLink: by the catalog, or because they say so, or there is one GPU only",
		judge: func(s scene) (fabric.Status, string) {
			return s.each("no node has NVLinks", func(d *Digest) (fabric.Status, string) { return unless(d.NoNVLink != "", d.NoNVLink) })
		},
	}
}

func withNVSwitch() Condition {
	return Condition{
		ID: "nvswitch", Doc: "not on a node that has no NVSwitch of its own: none is on PCI, and its GPUs wait for no fabric, or a hypervisor or the rack owns it",
		judge: func(s scene) (fabric.Status, string) {
			return s.each("no node has NVSwitches", func(d *Digest) (fabric.Status, string) { return unless(d.NoNVSwitch != "", d.NoNVSwitch) })
		},
	}
}

// knownWithoutRDMA reports whether the kernel has no list of RDMA devices, or an empty one. Facts say what could
// not be read; facts without any interface were not read at all.
func knownWithoutRDMA(f *fabric.Facts) bool {
	if len(f.HCAs) > 0 || len(f.NICs) == 0 {
		return false
	}
	return !slices.ContainsFunc(f.Missing, func(m fabric.Missing) bool {
		return m.What == fabric.FactHCAs && !m.Absent || strings.HasPrefix(m.What, fabric.FactHCAs+" ")
	})
}

// knownWithoutGPU reports whether the PCI functions were all read and none is a GPU.
func knownWithoutGPU(f *fabric.Facts) bool {
	if len(f.GPUs) > 0 || len(f.PCI) == 0 {
		return false
	}
	return !slices.ContainsFunc(f.Missing, func(m fabric.Missing) bool {
		return m.What == fabric.FactPCI || m.What == fabric.FactGPUs || strings.HasPrefix(m.What, fabric.FactPCI+" ")
	})
}
