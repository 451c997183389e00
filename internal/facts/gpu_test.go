package facts

import (
	"context"
	"io/fs"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

const h100Information = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 123\nGPU UUID: \t GPU-00000000-0000-0000-0000-000000000001\nVideo BIOS: \t 96.00.74.00.01\nBus Location: \t 0000:41:00.0\n"

func gpuFacts() *fabric.Facts {
	return &fabric.Facts{
		GPUs: []fabric.GPU{
			{PCI: "0000:41:00.0", Vendor: "nvidia", Driver: "nvidia"},
			{PCI: "0000:42:00.0", Vendor: "nvidia", Driver: "nvidia"},
			{PCI: "0000:1c:00.0", Vendor: "amd", Driver: "amdgpu"},
			{PCI: "0000:1d:00.0", Vendor: "nvidia", Driver: "vfio-pci"},
		},
		PCI:     []fabric.PCIDevice{{Address: "0000:41:00.0", Class: 0x030200, Link: &fabric.PCILink{Speed: 32, Width: 16, MaxSpeed: 32, MaxWidth: 16}}},
		Modules: []fabric.Module{{Name: "amdgpu", Version: "6.10.5"}, {Name: "nvidia", Version: "550.90.07"}},
	}
}

// TestReadGPUs takes from the drivers' files what they tell; question marks are no answer.
func TestReadGPUs(t *testing.T) {
	amd := pciDevices + "/0000:1c:00.0/"
	h := fakeHost{
		files: map[string]string{
			nvidiaProc + "/0000:41:00.0/information": h100Information,
			nvidiaProc + "/0000:42:00.0/information": "Model: \t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-????????-????-????-????-????????????\nVideo BIOS: \t ??.??.??.??.??\n",
			amd + "product_name":                     "AMD Instinct MI300X OAM\n",
			amd + "vbios_version":                    "113-M3000100-102\n",
			amd + "ras/features":                     "feature mask: 0x3f7b\n",
			amd + "ras/umc_err_count":                "ue: 1\nce: 12\nde: 0\n",
			amd + "ras/gfx_err_count":                "ue: 0\nce: 3\n",
			amd + "ras/gpu_vram_bad_pages":           "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n",
		},
		fail: map[string]error{amd + "unique_id": fs.ErrPermission},
	}
	f := gpuFacts()
	readGPUs(context.Background(), h, f)
	want := []fabric.GPU{
		{PCI: "0000:41:00.0", Vendor: "nvidia", Driver: "nvidia", Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-0000-0000-000000000001", DriverVersion: "550.90.07", VBIOS: "96.00.74.00.01"},
		{PCI: "0000:42:00.0", Vendor: "nvidia", Driver: "nvidia", Name: "NVIDIA H100 80GB HBM3", DriverVersion: "550.90.07"},
		{PCI: "0000:1c:00.0", Vendor: "amd", Driver: "amdgpu", Name: "AMD Instinct MI300X OAM", DriverVersion: "6.10.5", VBIOS: "113-M3000100-102", Health: &fabric.GPUHealth{
			ECC: "Enabled", Uncorrected: new(uint64(1)), Corrected: new(uint64(15)), PagesRetired: new(uint64(1)), RetirePending: new(true), RemapFailed: new(false),
		}},
		{PCI: "0000:1d:00.0", Vendor: "nvidia", Driver: "vfio-pci"},
	}
	if diff := cmp.Diff(want, f.GPUs); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"gpus.uuid 0000:1c:00.0: permission denied"}, missingText(f)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// TestGPUToolIsAsked once where the driver is bound, for what only it tells; a tool whose answers files gave is not.
func TestGPUToolIsAsked(t *testing.T) {
	f := gpuFacts()
	f.GPUs = f.GPUs[:1]
	readGPUs(context.Background(), fakeHost{files: map[string]string{nvidiaProc + "/0000:41:00.0/information": h100Information}}, f)
	if runs := nvidiaSMIRuns(nil, f); len(runs) != 1 || rocmSMIRuns(nil, f) != nil {
		t.Errorf("runs %v", runs)
	}
	for _, one := range tools(f) {
		if (one.name == "nvidia-smi" || one.name == "rocm-smi") && slices.Contains(one.gives, fabric.FactGPUName) {
			t.Errorf("where %s cannot be run the name of the GPU is unknown, which a file gave", one.name)
		}
	}
	f.GPUs[0].Driver = "vfio-pci"
	if runs := append(nvidiaSMIRuns(nil, f), nvlinkRuns(nil, f)...); len(runs) != 0 {
		t.Errorf("the GPU is bound to vfio-pci, and is asked: %v", runs)
	}
}

// TestGPUToolDisagrees keeps what the kernel says of driver version and link width.
func TestGPUToolDisagrees(t *testing.T) {
	f := gpuFacts()
	f.GPUs[0].DriverVersion = "550.90.07"
	one := toolNamed(t, "nvidia-smi")
	parts, err := one.parse("pci.bus_id, name, uuid, driver_version, vbios_version, pcie.link.width.current\n00000000:41:00.0, NVIDIA H100 80GB HBM3, GPU-1, 535.1, 96, 8\n", "")
	if err != nil {
		t.Fatal(err)
	}
	newMerger(f).merge(one, parts)
	want := []fabric.Disagreement{
		{What: "pci.link.width 0000:41:00.0", Said: []fabric.Evidence{{Source: "kernel", Value: "16"}, {Source: "nvidia-smi", Value: "8"}}},
		{What: "gpus.driver_version 0000:41:00.0", Said: []fabric.Evidence{{Source: "kernel", Value: "550.90.07"}, {Source: "nvidia-smi", Value: "535.1"}}},
	}
	if diff := cmp.Diff(want, f.Disagree); diff != "" || f.GPUs[0].DriverVersion != "550.90.07" || f.PCI[0].Link.Width != 16 || f.GPUs[0].UUID != "GPU-1" || len(f.PCI) != 1 {
		t.Errorf("%+v, disagreements (-want +got):\n%s", f.GPUs[0], diff)
	}
}

// TestModulesOnDisk decorates what is loaded, and notes what two sources say of a driver.
func TestModulesOnDisk(t *testing.T) {
	f := &fabric.Facts{
		Kernel:  fabric.Kernel{Release: runningKernel},
		Modules: []fabric.Module{{Name: "mlx5_core", Version: "24.10-1.1.4"}, {Name: "nvidia"}},
		NICs:    []fabric.NIC{{Name: "eth1", PCI: "0000:42:00.0", Driver: "mlx5_core"}},
	}
	m := newMerger(f)
	for name, file := range map[string]string{"modinfo": "modinfo", "dkms status": "dkms-2", "ethtool -i": "ethtool-i"} {
		one := toolNamed(t, name)
		text := string(texts(t, file)["a"])
		if name == "ethtool -i" {
			text = "driver: mlx5_core\nversion: 23.07\nbus-info: 0000:42:00.0\n"
		}
		parts, err := one.parse(text, "")
		if err != nil {
			t.Fatal(err)
		}
		m.merge(one, parts)
	}
	want := []fabric.Module{{Name: "mlx5_core", Version: "24.10-1.1.4", OnDisk: "24.10-2.1.8"}, {Name: "nvidia", DKMS: "installed"}}
	if diff := cmp.Diff(want, f.Modules); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	disagree := []fabric.Disagreement{{What: "modules.version mlx5_core", Said: []fabric.Evidence{{Source: "kernel", Value: "24.10-1.1.4"}, {Source: "ethtool -i", Value: "23.07"}}}}
	if diff := cmp.Diff(disagree, f.Disagree); diff != "" {
		t.Errorf("disagreements (-want +got):\n%s", diff)
	}
}

// TestDKMSWithoutKernel: where the running kernel is unknown, a state that differs between kernels is not.
func TestDKMSWithoutKernel(t *testing.T) {
	parts, err := parseDKMS(string(texts(t, "dkms")["a"]), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []fabric.Module{{Name: "amdgpu"}, {Name: "ib_core", DKMS: "installed"}, {Name: "mlx5_core", DKMS: "installed"}, {Name: "mlx5_ib", DKMS: "installed"}}
	if diff := cmp.Diff(want, parts.Modules); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
}

// TestReasonMask: a mask that does not fit names no reason, and is not taken for one with all bits set.
func TestReasonMask(t *testing.T) {
	for mask, want := range map[string]int{"0x0000000000000004": 1, "0x0000000000000000": 0, "0x1ffffffffffffffff": 0, "0x": 0, "none": 0} {
		if have := activeReasons(map[string]string{"clocks_event_reasons.active": mask}); len(have) != want {
			t.Errorf("%s: %v, want %d", mask, have, want)
		}
	}
}
