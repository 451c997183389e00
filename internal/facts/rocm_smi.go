package facts

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// rocmSMIRuns asks where the amdgpu driver left something open.
func rocmSMIRuns(_ host.Host, f *fabric.Facts) []toolRun {
	if !gpuOpen(f, "amd") {
		return nil
	}
	return []toolRun{{argv: []string{"rocm-smi", "--showbus", "--showproductname", "--showuniqueid", "--showvbios", "--showdriverversion"}}}
}

// rocmLine is "GPU[0]          : PCI Bus: 0000:1C:00.0".
var rocmLine = pattern.New(`^GPU\[([0-9]{1,4})\]\s*: ([^:]+):\s*(.*)$`)

func knowsRocmSMI(text string) bool { return hasLine(text, rocmLine().MatchString) }

// parseRocmSMI reads rocm-smi --showbus and what else is asked in the same run. A GPU whose bus is not in the
// text has no place, and is left out.
func parseRocmSMI(text, _ string) (fabric.Facts, error) {
	var order []string
	gpus := make(map[string]*fabric.GPU)
	driver := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if value, ok := strings.CutPrefix(line, "Driver version: "); ok {
			driver = fabric.Printable(value)
		}
		m := rocmLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		g, ok := gpus[m[1]]
		if !ok {
			g = &fabric.GPU{Vendor: "amd"}
			gpus[m[1]] = g
			order = append(order, m[1])
		}
		if err := rocmValue(g, strings.ToLower(strings.TrimSpace(m[2])), fabric.Printable(m[3])); err != nil {
			return fabric.Facts{}, err
		}
	}
	if len(order) == 0 {
		return fabric.Facts{}, errForeignText
	}
	var f fabric.Facts
	for _, i := range order {
		if g := gpus[i]; g.PCI != "" {
			g.DriverVersion = driver
			f.GPUs = append(f.GPUs, *g)
		}
	}
	if len(f.GPUs) == 0 {
		return fabric.Facts{}, fmt.Errorf("%d GPUs, none with its PCI bus, which --showbus reports", len(order))
	}
	return f, nil
}

// rocmValue reads a value by the name that any version gives it, in lower case.
func rocmValue(g *fabric.GPU, key, value string) error {
	if value == "" || value == "N/A" || strings.HasPrefix(value, "None") {
		return nil
	}
	switch key {
	case "pci bus":
		address, ok := pciAddress(value)
		if !ok {
			return fmt.Errorf("invalid PCI address %q", value)
		}
		g.PCI = address
	case "card series":
		g.Name = value
	case "unique id":
		g.UUID = value
	case "vbios version":
		g.VBIOS = value
	}
	return nil
}
