package facts

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// nvidiaQuery is what nvidia-smi is asked for. Of the link it is the width: the generation rises and falls
// with the load, and its maximum is that of GPU and slot together, which is not what the kernel tells.
const nvidiaQuery = "pci.bus_id,name,uuid,driver_version,vbios_version,pcie.link.width.current"

// nvidiaSMIRuns asks where the driver's own files left something open: the tool is slow, and hangs first
// where a GPU is ill.
func nvidiaSMIRuns(_ host.Host, f *fabric.Facts) []toolRun {
	if !gpuOpen(f, "nvidia") {
		return nil
	}
	return []toolRun{{argv: []string{"nvidia-smi", "--query-gpu=" + nvidiaQuery, "--format=csv"}}}
}

const nvidiaLogHead = "==============NVSMI LOG=============="

func knowsNvidiaSMI(text string) bool {
	return hasLine(text, startsWith(nvidiaLogHead)) || hasLine(text, isNvidiaCSV) || hasLine(text, isNvidiaTableHead)
}

func isNvidiaCSV(line string) bool {
	return strings.HasPrefix(line, "pci.bus_id,") || strings.Contains(line, "pci.bus_id") && strings.Contains(line, ", ")
}

// parseNvidiaSMI reads the table of nvidia-smi, nvidia-smi -q and --query-gpu=... --format=csv.
func parseNvidiaSMI(text, _ string) (fabric.Facts, error) {
	if hasLine(text, startsWith(nvidiaLogHead)) {
		return parseNvidiaLog(text)
	}
	if hasLine(text, isNvidiaTableHead) {
		return parseNvidiaTable(text)
	}
	if !hasLine(text, isNvidiaCSV) {
		return fabric.Facts{}, errForeignText
	}
	return parseNvidiaCSV(text)
}

// parseNvidiaCSV reads columns by their names.
func parseNvidiaCSV(text string) (fabric.Facts, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace, r.LazyQuotes = true, true
	rows, err := r.ReadAll()
	if err != nil {
		return fabric.Facts{}, fmt.Errorf("csv: %w", err)
	}
	var f fabric.Facts
	for _, row := range rows[1:] {
		fields := make(map[string]string)
		for i, name := range rows[0] {
			name, _, _ = strings.Cut(name, " [") // a unit
			if value := strings.TrimSpace(row[i]); !isNvidiaNone(value) {
				fields[name] = fabric.Printable(value)
			}
		}
		address, ok := pciAddress(fields["pci.bus_id"])
		if !ok {
			return fabric.Facts{}, fmt.Errorf("pci.bus_id %q: not a PCI address", fields["pci.bus_id"])
		}
		f.GPUs = append(f.GPUs, fabric.GPU{
			PCI: address, Vendor: "nvidia", Name: fields["name"], UUID: fields["uuid"],
			DriverVersion: fields["driver_version"], VBIOS: fields["vbios_version"],
		})
		addWidth(&f, address, number(fields["pcie.link.width.current"]))
	}
	return f, nil
}

// isNvidiaNone knows how nvidia-smi writes that it cannot tell.
func isNvidiaNone(value string) bool {
	return value == "" || value == "N/A" || strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]") ||
		value == "Unknown Error" || value == "Not Supported"
}

// addWidth adds the width of a link, which is compared with what the kernel says.
func addWidth(f *fabric.Facts, address string, width *int) {
	if width != nil {
		f.PCI = append(f.PCI, fabric.PCIDevice{Address: address, Link: &fabric.PCILink{Width: *width}})
	}
}

// parseNvidiaLog reads nvidia-smi -q: a block for each GPU, whose titles are indented by what they belong to.
func parseNvidiaLog(text string) (fabric.Facts, error) {
	var f fabric.Facts
	driver, in := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if bus, ok := strings.CutPrefix(line, "GPU "); ok {
			address, ok := pciAddress(bus)
			if !ok {
				return fabric.Facts{}, fmt.Errorf("invalid PCI address %q", fabric.Printable(bus))
			}
			f.GPUs = append(f.GPUs, fabric.GPU{PCI: address, Vendor: "nvidia", DriverVersion: driver})
			continue
		}
		key, value, isPair := strings.Cut(line, " : ")
		key, value = strings.TrimSpace(key), fabric.Printable(strings.TrimSpace(value))
		switch {
		case !isPair:
			in = key
		case isNvidiaNone(value):
		case key == "Driver Version":
			driver = value
		case len(f.GPUs) > 0:
			g := &f.GPUs[len(f.GPUs)-1]
			switch {
			case key == "Product Name":
				g.Name = value
			case key == "GPU UUID":
				g.UUID = value
			case key == "VBIOS Version":
				g.VBIOS = value
			case key == "Current" && in == "Link Width":
				addWidth(&f, g.PCI, number(strings.TrimSuffix(value, "x")))
			}
		}
	}
	if len(f.GPUs) == 0 {
		return fabric.Facts{}, errors.New("no GPU in the log")
	}
	return f, nil
}
