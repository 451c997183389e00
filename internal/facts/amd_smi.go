package facts

import (
	"errors"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// amdSMIHead begins a GPU in the text of amd-smi; its keys stand below it, indented by what they belong to:
//
//	GPU: 0
//	    ECC:
//	        TOTAL_CORRECTABLE_COUNT: 0
//	        TOTAL_UNCORRECTABLE_COUNT: 0
const amdSMIHead = "GPU: "

func isAMDSMILine(line string) bool {
	index, ok := strings.CutPrefix(line, amdSMIHead)
	return ok && number(strings.TrimSpace(index)) != nil
}

func knowsAMDSMI(text string) bool {
	return hasLine(text, isAMDSMILine) && strings.Contains(text, "TOTAL_UNCORRECTABLE_COUNT:")
}

// parseAMDSMI reads the counts of amd-smi metric. It numbers GPUs, and names their bus in other commands: BDF of list and static.
func parseAMDSMI(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if isAMDSMILine(line) {
			if len(f.GPUs) > maxDevices {
				break // read refuses it
			}
			f.GPUs = append(f.GPUs, fabric.GPU{Vendor: "amd", Index: number(strings.TrimSpace(strings.TrimPrefix(line, amdSMIHead)))})
			continue
		}
		key, value, ok := keyValue(line)
		if !ok || len(f.GPUs) == 0 {
			continue
		}
		g := &f.GPUs[len(f.GPUs)-1]
		switch key {
		case "BDF":
			if address, ok := pciAddress(value); ok {
				g.PCI = address
			}
		case "TOTAL_UNCORRECTABLE_COUNT":
			if n := count(value); n != nil {
				healthOf(g).Uncorrected = n
			}
		case "TOTAL_CORRECTABLE_COUNT":
			if n := count(value); n != nil {
				healthOf(g).Corrected = n
			}
		}
	}
	for _, g := range f.GPUs {
		if g.Health != nil {
			return f, nil
		}
	}
	return fabric.Facts{}, errors.New("no count of errors")
}
