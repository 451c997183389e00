package facts

import (
	"errors"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// rasMemory counts the errors of the memory (UMC, unified memory controller). Which other blocks a GPU watches differs.
const rasMemory = "umc_err_count"

// amdRAS reads what amdgpu counts of errors beside the PCI function (kernel documentation, gpu/amdgpu/ras): ras/umc_err_count and
// the like hold "ue: 0", "ce: 12" and, of memory, "de: 0"; ras/gpu_vram_bad_pages has a line for each page, R for one that is
// set aside, P for one that is to be, F for one that could not be. Blocks that the GPU does not watch have no file.
func amdRAS(h host.Host, f *fabric.Facts, g *fabric.GPU) {
	folder := pciDevices + "/" + g.PCI + "/ras"
	names, err := h.ReadDir(folder)
	if err != nil {
		miss(f, fabric.FactGPUHealth+" "+g.PCI, folder, err)
		return
	}
	if !slices.Contains(names, rasMemory) {
		miss(f, fabric.FactGPUHealth+" "+g.PCI, folder, errors.New("no "+rasMemory+" in it: the errors of its memory are not counted"))
		return
	}
	health := &fabric.GPUHealth{}
	for _, name := range names {
		if !strings.HasSuffix(name, "_err_count") {
			continue
		}
		text, err := host.ReadString(h, folder+"/"+name)
		if err != nil {
			miss(f, fabric.FactGPUHealth+" "+g.PCI, folder+"/"+name, err)
			return
		}
		ue, ce := rasCounts(text)
		if ue == nil || ce == nil {
			miss(f, fabric.FactGPUHealth+" "+g.PCI, folder+"/"+name, errors.New("not the counts of errors: "+fabric.Printable(text[:min(len(text), 40)])))
			return
		}
		addCount(&health.Uncorrected, ue)
		addCount(&health.Corrected, ce)
	}
	health.ECC = "Enabled" // without it there is no such folder
	text, err := host.ReadString(h, folder+"/gpu_vram_bad_pages")
	switch {
	case err == nil:
		rasPages(health, text)
	case !host.IsAbsent(err):
		miss(f, fabric.FactGPUHealth+" "+g.PCI, folder+"/gpu_vram_bad_pages", err)
		return
	}
	g.Health = health
}

func rasCounts(text string) (ue, ce *uint64) {
	for line := range strings.Lines(text) {
		key, value, _ := keyValue(line)
		switch key {
		case "ue":
			ue = count(value)
		case "ce":
			ce = count(value)
		}
	}
	return ue, ce
}

// rasPages reads "0x00000001 : 0x00001000 : R".
func rasPages(h *fabric.GPUHealth, text string) {
	h.PagesRetired, h.RetirePending, h.RemapFailed = new(uint64), new(false), new(false)
	for line := range strings.Lines(text) {
		fields := strings.Split(line, " : ")
		if len(fields) != 3 {
			continue
		}
		switch strings.TrimSpace(fields[2]) {
		case "R":
			*h.PagesRetired++
		case "P":
			*h.RetirePending = true
		case "F":
			*h.RemapFailed = true
		}
	}
}
