package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// applets are those of busybox that ESX has, as far as anything here needs them.
func applets() []string {
	return []string{"sh", "cat", "cp", "mv", "rm", "sed", "grep", "head", "tail", "sort", "uniq", "cut", "awk", "wc", "tr", "ls", "mkdir", "touch", "sleep", "kill", "env", "true", "false", "basename", "dirname"}
}

// makeHost makes a host as it is delivered: without MFT, with the defaults of ESX, and nothing passed through.
func makeHost(folder, example string) error {
	h := &machine{
		Version: "8.0.3", Build: "24280767", UUID: "66a1b2c3-d4e5-f607-1829-a0369f000001", Started: time.Now().Add(-26 * time.Hour), Power: "Balanced", folder: folder,
		Takes: 60 * time.Millisecond, Answers: 40 * time.Millisecond,
		Kernel: []*setting{
			{"atsSupport", "Bool", "FALSE", "FALSE", "FALSE"}, {"disableACSCheck", "Bool", "TRUE", "TRUE", "TRUE"},
			{"heapMetaPct", "Uint8", "2", "2", "2"},
		},
		VIBs:    []vib{{"esx-base", "8.0.3-0.35.24280767", "VMware"}, {"nmlx5-core", "4.23.6.2-13vmw.803.0.35.24280767", "VMW"}},
		Modules: []*module{{Name: "vmkernel", Enabled: true, Loaded: true}, {Name: "nmlx5_core", Enabled: true, Loaded: true, Options: "pfctx=0x08", Running: "pfctx=0x08"}},
		Devices: []*device{{Address: "0000:81:00.0", Vendor: "14e4", Device: "16d7", Class: "0200", Name: "BCM57414 NetXtreme-E", Alias: "vmnic0", Driver: "bnxtnet"}},
		Map:     "# passthrough attributes for devices\n#\n# file format:  vendor-id device-id resetMethod fptShareable\n\n# Intel 82579LM Gig NIC can be reset with d3d0\n8086  1502  d3d0     default\n# NVIDIA\n10de  ffff  bridge   false\n",
	}
	switch example {
	case "vcf-h100":
		h.Version, h.Build = "9.0.0", "24755229"
		h.Kernel = append(h.Kernel, &setting{"enableACSDTP2P", "Bool", "FALSE", "FALSE", "FALSE"})
		for i, bus := range []string{"19", "3b", "4c", "5d", "9b", "bb", "cb", "db"} {
			h.below(bus, i)
		}
		for _, bus := range []string{"07", "08", "09", "0a"} {
			h.Devices = append(h.Devices, &device{Address: "0000:" + bus + ":00.0", Vendor: "10de", Device: "22a3", Class: "0680", Name: "GH100 [H100 NVSwitch]", Capable: true})
		}
	case "small": // as vcf-h100, with one NIC and one GPU
		h.Version, h.Build = "9.0.0", "24755229"
		h.Kernel = append(h.Kernel, &setting{"enableACSDTP2P", "Bool", "FALSE", "FALSE", "FALSE"})
		h.below("19", 0)
	case "vsphere8-sriov":
		h.Devices = append(h.Devices, nic("0000:9c:00.0", "", 0))
	default:
		return fmt.Errorf("example %q: unknown; known: vcf-h100, vsphere8-sriov, small", example)
	}
	return errors.Join(h.folders(), h.save())
}

// below adds a PCIe switch with a NIC and a GPU.
func (h *machine) below(bus string, i int) {
	next := func(n int) string { return fmt.Sprintf("%02x", number16(bus)+n) }
	port := "0000:" + bus + ":01.0"
	h.Devices = append(h.Devices,
		&device{Address: port, Vendor: "1000", Device: "c030", Class: "0604", Name: "PEX890xx PCIe Gen 5 Switch"},
		nic("0000:"+next(1)+":00.0", port, i),
		&device{Address: "0000:" + next(2) + ":00.0", Vendor: "10de", Device: "2330", Class: "0302", Name: "GH100 [H100 SXM5 80GB]", Parent: port, Capable: true})
}

// nic is a ConnectX-7 as it is delivered. What is behind ADVANCED_PCI_SETTINGS is not listed before that is on.
func nic(address, parent string, i int) *device {
	of := func(v string) *stored { return &stored{Default: v, Current: v, Next: v} }
	d := &device{Address: address, Vendor: "15b3", Device: "1021", Class: "0207", Name: "MT2910 Family [ConnectX-7]", Parent: parent, Capable: true,
		Alias: fmt.Sprintf("vmnic%d", 4+i), Driver: "nmlx5_core",
		Config: map[string]*stored{"ADVANCED_PCI_SETTINGS": of("0"), "ATS_ENABLED": of("0"), "SRIOV_EN": of("1"), "NUM_OF_VFS": of("8"), "FORCE_ETH_PCI_SUBCLASS": of("0")}}
	d.Config["FORCE_ETH_PCI_SUBCLASS"].Behind = "ADVANCED_PCI_SETTINGS"
	return d
}

func number16(text string) int {
	n := 0
	if _, err := fmt.Sscanf(text, "%x", &n); err != nil {
		return 0
	}
	return n
}

// folders makes the root: busybox, the programs of ESX, and files.
func (h *machine) folders() error {
	var all []error
	try := func(err error) { all = append(all, err) }
	for _, name := range []string{stateFolder, "bin", "dev", "tmp", "etc/vmware", "vmfs/volumes/ds1"} {
		try(os.MkdirAll(filepath.Join(h.folder, name), 0o755))
	}
	at := func(name string) string { return filepath.Join(h.folder, name) }
	self, err := os.Executable()
	try(err)
	try(copyFile(self, at("bin/esxcli.real")))
	try(copyFile("/bin/busybox", at("bin/busybox")))
	for _, a := range applets() {
		try(os.Symlink("busybox", at("bin/"+a)))
	}
	for name := range programs() {
		if name != "mst" && name != "mlxconfig" {
			try(os.Symlink("esxcli.real", at("bin/"+name)))
		}
	}
	try(os.WriteFile(at("dev/null"), nil, 0o666))
	for _, b := range []string{"nmst 4.32.0.120-1OEM.801.0.0.21495797", "mft 4.32.0.120-0"} {
		name, version := b[:len(b)-len(b[indexByte(b):])], b[indexByte(b)+1:]
		try(os.WriteFile(at("vmfs/volumes/ds1/"+name+".zip"), []byte(name+" "+version+" MEL\n"), 0o644))
	}
	h.files()
	return errors.Join(all...)
}

func indexByte(text string) int {
	for i := range text {
		if text[i] == ' ' {
			return i
		}
	}
	return len(text)
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}
