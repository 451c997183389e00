package facts

import (
	"errors"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Lines of the table that nvidia-smi prints without options:
//
//	| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |
//	|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |        0 |
//	| N/A   34C    P0            123W /  700W |       0MiB / 81559MiB |  0%  Default |
//
// The last column of a GPU's first line counts uncorrected errors since the driver was loaded.
var (
	nvidiaTableDriver = pattern.New(`Driver Version: ([0-9.]+)`)
	nvidiaTableGPU    = pattern.New(`^\| +([0-9]{1,3}) +(\S.*?) +(?:On|Off|N/A|ERR!) +\| +([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]) +\S+ +\| +([^|]*?) *\|?$`)
)

// parseNvidiaTable reads the table. A name that its column cuts ends in dots and is left out. The line below that of a GPU
// has values too, and ERR! where one could not be read.
func parseNvidiaTable(text string) (fabric.Facts, error) {
	var f fabric.Facts
	driver, ofGPU := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if m := nvidiaTableDriver().FindStringSubmatch(line); m != nil && driver == "" {
			driver = m[1]
		}
		m := nvidiaTableGPU().FindStringSubmatch(line)
		if m == nil {
			ofGPU = ofGPU && strings.HasPrefix(line, "|")
			if ofGPU && strings.Contains(line, "ERR!") {
				healthOf(&f.GPUs[len(f.GPUs)-1]).Fault = "ERR!"
			}
			continue
		}
		ofGPU = false
		address, ok := pciAddress(m[3])
		if !ok {
			continue
		}
		g := fabric.GPU{PCI: address, Vendor: "nvidia", DriverVersion: driver, Index: number(m[1])}
		if !strings.HasSuffix(m[2], "...") {
			g.Name = fabric.Printable(m[2])
		}
		if n := count(m[4]); n != nil {
			healthOf(&g).Uncorrected = n
		}
		if strings.Contains(line, "ERR!") {
			healthOf(&g).Fault = "ERR!"
		}
		f.GPUs, ofGPU = append(f.GPUs, g), true
	}
	if len(f.GPUs) == 0 {
		return fabric.Facts{}, errors.New("no GPU in the table")
	}
	return f, nil
}
