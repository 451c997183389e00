package facts

import (
	"errors"
	"regexp"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Lines of the table that nvidia-smi prints without options:
//
//	| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |
//	|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |        0 |
var (
	nvidiaTableDriver = regexp.MustCompile(`Driver Version: ([0-9.]+)`)
	nvidiaTableGPU    = regexp.MustCompile(`^\| +[0-9]{1,3} +(\S.*?) +(?:On|Off|N/A) +\| +([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]) `)
)

// parseNvidiaTable reads the table. A name that its column cuts ends in dots and is left out.
func parseNvidiaTable(text string) (fabric.Facts, error) {
	var f fabric.Facts
	driver := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if m := nvidiaTableDriver.FindStringSubmatch(line); m != nil && driver == "" {
			driver = m[1]
		}
		m := nvidiaTableGPU.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		address, ok := pciAddress(m[2])
		if !ok {
			continue
		}
		g := fabric.GPU{PCI: address, Vendor: "nvidia", DriverVersion: driver}
		if !strings.HasSuffix(m[1], "...") {
			g.Name = fabric.Printable(m[1])
		}
		f.GPUs = append(f.GPUs, g)
	}
	if len(f.GPUs) == 0 {
		return fabric.Facts{}, errors.New("no GPU in the table")
	}
	return f, nil
}
