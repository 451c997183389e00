package check_test

import (
	"fmt"
	"strings"
)

// Commands about NVIDIA GPUs whose answers cases change.
const (
	smi, smiLinks, smiErrors = "nvidia-smi -q", "nvidia-smi nvlink -s", "nvidia-smi nvlink -e"
	managerUnit              = "systemctl show --property=LoadState,ActiveState,UnitFileState nvidia-fabricmanager"
	managerVersion           = "nv-fabricmanager --version"
	nvSwitchAt               = "0000:0a:00.0"
	secondH100               = "host1:0000:24:00.0"
)

// addNVLink makes two H100 those of a board with an NVSwitch: what their driver, systemd and Fabric Manager answer.
func (h synthetic) addNVLink(driver string) {
	log := "\n==============NVSMI LOG==============\n\n" + smiPair(0, "Driver Version", driver) + smiPair(0, "Attached GPUs", "2")
	links, errors := "", ""
	for rail := 1; rail <= 2; rail++ {
		uuid := fmt.Sprintf("GPU-00000000-0000-0000-0000-00000000000%d", rail)
		log += smiBlock(fmt.Sprintf("00000000:%d4:00.0", rail), uuid)
		head := fmt.Sprintf("GPU %d: NVIDIA H100 80GB HBM3 (UUID: %s)\n", rail-1, uuid)
		links, errors = links+head, errors+head
		for link := range 18 {
			links += fmt.Sprintf("\t Link %d: 26.562 GB/s\n", link)
			for _, counter := range []string{"Replay", "Recovery", "CRC"} {
				errors += fmt.Sprintf("\t Link %d: %s Errors: 0\n", link, counter)
			}
			errors += "\n"
		}
	}
	h.commands[smi], h.commands[smiLinks], h.commands[smiErrors] = log, links, errors
	h.commands[managerUnit] = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n"
	h.commands[managerVersion] = "Fabric Manager version is : " + driver + "\n"
	h.files["/usr/share/nvidia/nvswitch/fabricmanager.cfg"] = "LOG_LEVEL=4\nFABRIC_MODE=0\n"
	folder := pciFolder + nvSwitchAt
	h.links[folder] = "../../../devices/pci0000:00/" + nvSwitchAt
	h.links[folder+"/driver"] = "../../../../bus/pci/drivers/nvidia-nvswitch"
	h.links[folder+"/iommu_group"] = "../../../../kernel/iommu_groups/1"
	for name, text := range map[string]string{"class": "0x068000", "vendor": "0x10de", "device": "0x22a3", "numa_node": "0"} {
		h.files[folder+"/"+name] = text + "\n"
	}
	h.files[folder+"/config"] = string(newSpace(0x10de, 0x22a3, endpoint, absent, 0))
}

// addRAS lets amdgpu count no errors.
func (h synthetic) addRAS(gpu string) {
	for _, block := range []string{"gfx", "sdma", "umc", "xgmi_wafl"} {
		h.files[gpu+"ras/"+block+"_err_count"] = "ue: 0\nce: 0\n"
	}
	h.files[gpu+"ras/gpu_vram_bad_pages"] = "\n"
}

func smiPair(indent int, key, value string) string {
	return fmt.Sprintf("%-51s: %s\n", strings.Repeat(" ", indent)+key, value)
}

// smiBlock is what nvidia-smi -q says of a GPU, as far as facts are made of it.
func smiBlock(bus, uuid string) string {
	b := "\nGPU " + bus + "\n"
	for _, line := range []struct {
		indent     int
		key, value string
	}{
		{4, "Product Name", "NVIDIA H100 80GB HBM3"}, {4, "Persistence Mode", "Enabled"}, {4, "GPU UUID", uuid}, {4, "VBIOS Version", "96.00.74.00.01"},
		{4, "GPU Recovery Action", "None"},
		{4, "PCI", ""}, {8, "GPU Link Info", ""}, {12, "Link Width", ""}, {16, "Max", "16x"}, {16, "Current", "16x"},
		{4, "Clocks Event Reasons", ""}, {8, "Idle", "Active"}, {8, "SW Power Cap", "Not Active"}, {8, "HW Slowdown", "Not Active"},
		{12, "HW Thermal Slowdown", "Not Active"}, {12, "HW Power Brake Slowdown", "Not Active"}, {8, "SW Thermal Slowdown", "Not Active"},
		{4, "ECC Mode", ""}, {8, "Current", "Enabled"}, {4, "ECC Errors", ""}, {8, "Volatile", ""}, {12, "SRAM Uncorrectable Parity", "0"},
		{12, "SRAM Uncorrectable SEC-DED", "0"}, {12, "DRAM Correctable", "0"}, {12, "DRAM Uncorrectable", "0"},
		{4, "Retired Pages", ""}, {8, "Pending Page Blacklist", "N/A"},
		{4, "Remapped Rows", ""}, {8, "Correctable Error", "0"}, {8, "Uncorrectable Error", "0"}, {8, "Pending", "No"}, {8, "Remapping Failure Occurred", "No"},
		{4, "Fabric", ""}, {8, "State", "Completed"}, {8, "Status", "Success"},
	} {
		if line.value == "" {
			b += strings.Repeat(" ", line.indent) + line.key + "\n"
			continue
		}
		b += smiPair(line.indent, line.key, line.value)
	}
	return b
}

// second changes the answer of a command of which the second GPU's part is the last half.
func second(command, old, with string) edit {
	return func(a *archive) {
		key := a.command(command)
		text := string(a.data("run", key))
		at := strings.LastIndex(text, old)
		if at < 0 {
			a.t.Fatalf("%s has no %q:\n%s", command, old, text)
		}
		a.answer("run", key, "text", text[:at]+with+text[at+len(old):])
	}
}

func recordedGPUHealth() []recordedCase {
	pending := smiPair(8, "Pending", "No")
	return []recordedCase{
		{rule: "gpu-answers", on: ib(), subject: secondH100, unknown: noTool(smi),
			fail: second(smi, smiPair(4, "GPU Recovery Action", "None"), smiPair(4, "GPU Recovery Action", "Reset"))},
		{rule: "gpu-memory", on: ib(), subject: secondH100, fail: second(smi, pending, smiPair(8, "Pending", "Yes")), unknown: second(smi, pending, "")},
		{rule: "gpu-memory", on: free(), subject: "host1:" + gpuAt, fail: file(pciFolder+gpuAt+"/ras/umc_err_count", "ue: 1\nce: 0"),
			unknown: denied(pciFolder + gpuAt + "/ras/gfx_err_count")},
		{rule: "gpu-throttle", on: ib(), subject: secondH100, unknown: second(smi, smiPair(8, "HW Slowdown", "Not Active"), ""),
			fail: second(smi, smiPair(12, "HW Thermal Slowdown", "Not Active"), smiPair(12, "HW Thermal Slowdown", "Active"))},
		{rule: "nvlink-up", on: ib(), subject: secondH100, unknown: ends(smiLinks, 1, noAccess), fail: second(smiLinks, "Link 17: 26.562 GB/s", "Link 17: <inactive>")},
		{rule: "nvlink-rate", on: ib(), subject: secondH100, unknown: ends(smiLinks, 1, noAccess), fail: second(smiLinks, "Link 17: 26.562 GB/s", "Link 17: 13.281 GB/s")},
		{rule: "nvlink-errors", on: ib(), subject: secondH100, unknown: ends(smiErrors, 1, noAccess), fail: second(smiErrors, "Link 4: Replay Errors: 0", "Link 4: Replay Errors: 3")},
		{rule: "nvswitches", on: ib(), subject: "host1", fail: link(pciFolder+nvSwitchAt+"/driver", "../../../../bus/pci/drivers/uio_pci_generic"),
			unknown: closedLink(pciFolder + nvSwitchAt + "/driver")},
		{rule: "fabric-manager", on: ib(), subject: "host1", fail: words(managerVersion, "550.90.07", "550.54.15"), unknown: noTool(managerUnit)},
		{rule: "fabric-state", on: ib(), subject: secondH100, fail: second(smi, smiPair(8, "State", "Completed"), smiPair(8, "State", "In Progress")),
			unknown: second(smi, smiPair(8, "State", "Completed"), "")},
	}
}
