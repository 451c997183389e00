package facts

import (
	"errors"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// nvidiaSMIRuns asks once for everything. Identity and width are in the driver's own files mostly; errors of memory, what
// slows a GPU and the state of its fabric only the tool tells.
func nvidiaSMIRuns(_ host.Host, f *fabric.Facts) []toolRun {
	if !hasDriver(f, "nvidia") && !gpuOpen(f, "nvidia") {
		return nil
	}
	return []toolRun{{argv: []string{"nvidia-smi", "-q"}}}
}

func hasDriver(f *fabric.Facts, driver string) bool {
	return slices.ContainsFunc(f.GPUs, func(g fabric.GPU) bool { return g.Driver == driver })
}

const nvidiaLogHead = "==============NVSMI LOG=============="

func knowsNvidiaSMI(text string) bool {
	return hasLine(text, func(line string) bool {
		return strings.HasPrefix(line, nvidiaLogHead) || isNvidiaCSV(line) || isNvidiaTableHead(line) || isNvidiaPart(line) || isNvidiaRefusal(line) ||
			noHandle().MatchString(line)
	})
}

// parseNvidiaSMI reads the table of nvidia-smi, nvidia-smi -q or a part of it, and --query-gpu=... --format=csv. Where the
// tool says instead that it cannot reach the driver or a GPU, that is what is read.
func parseNvidiaSMI(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	var err error
	lost := lostGPUs(text)
	switch {
	case hasLine(text, startsWith(nvidiaLogHead)) || hasLine(text, isNvidiaPart) && !hasLine(text, isNvidiaTableHead):
		f, err = parseNvidiaLog(text)
	case hasLine(text, isNvidiaTableHead):
		f, err = parseNvidiaTable(text)
	case hasLine(text, isNvidiaCSV):
		f, err = parseNvidiaCSV(text)
	case len(lost) > 0:
	default:
		err = nvidiaRefused(text)
	}
	if len(lost) > 0 {
		return withLost(f, lost), nil
	}
	return f, err
}

// nvidiaRefusals begin what nvidia-smi prints on standard output where it gets no answer from the driver.
func nvidiaRefusals() []string {
	return []string{"Failed to initialize NVML: ", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", "No devices were found"}
}

func isNvidiaRefusal(line string) bool {
	return slices.ContainsFunc(nvidiaRefusals(), func(head string) bool { return strings.HasPrefix(line, head) })
}

func nvidiaRefused(text string) error {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); isNvidiaRefusal(line) {
			return errors.New(fabric.Printable(line))
		}
	}
	return errForeignText
}

// noHandle is what nvidia-smi prints of a GPU that it cannot open: by its PCI address, or by its number.
var noHandle = pattern.New(`^Unable to determine the device handle for (?i:gpu) ?([0-9A-Fa-f:.]*[0-9A-Fa-f]): (.{1,80})`)

// lostGPUs reads those lines. A function that a GPU does not have, and one that the user may not call, is no fault.
func lostGPUs(text string) (lost []fabric.GPU) {
	for line := range strings.Lines(text) {
		m := noHandle().FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || strings.HasPrefix(m[2], "Not Supported") || strings.HasPrefix(m[2], "Insufficient") {
			continue
		}
		says, _, _ := strings.Cut(strings.TrimRight(m[2], " .\r\n"), ". ")
		g := fabric.GPU{Vendor: "nvidia", Health: &fabric.GPUHealth{Fault: fabric.Printable("no device handle: " + says)}}
		if address, ok := pciAddress(m[1]); ok {
			g.PCI = address
		} else if g.Index = number(m[1]); g.Index == nil {
			continue
		}
		if len(lost) < maxDevices && !slices.ContainsFunc(lost, func(o fabric.GPU) bool { return sameGPU(o, g) }) {
			lost = append(lost, g)
		}
	}
	return lost
}

// withLost puts the GPUs that did not answer beside those that did.
func withLost(f fabric.Facts, lost []fabric.GPU) fabric.Facts {
	for _, l := range lost {
		i := slices.IndexFunc(f.GPUs, func(g fabric.GPU) bool { return sameGPU(g, l) })
		if i < 0 {
			f.GPUs = append(f.GPUs, l)
			continue
		}
		healthOf(&f.GPUs[i]).Fault = l.Health.Fault
	}
	return f
}

// sameGPU holds where an address, else a number is that of both.
func sameGPU(a, b fabric.GPU) bool {
	if a.PCI != "" || b.PCI != "" {
		return a.PCI == b.PCI
	}
	return a.Index != nil && b.Index != nil && *a.Index == *b.Index
}

func healthOf(g *fabric.GPU) *fabric.GPUHealth {
	if g.Health == nil {
		g.Health = &fabric.GPUHealth{}
	}
	return g.Health
}

// isNvidiaNone knows how nvidia-smi writes that it cannot tell.
func isNvidiaNone(value string) bool {
	return value == "" || value == "N/A" || strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]") ||
		value == "Unknown Error" || value == "Not Supported" || nvidiaFault(value) != ""
}

// nvidiaFault returns what a value says that stands there because the GPU is ill: no single function is missing then.
func nvidiaFault(value string) string {
	value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
	for _, fault := range []string{"GPU is lost", "GPU requires reset", "GPU Requires Reset", "ERR!"} {
		if strings.HasPrefix(value, fault) {
			return fault
		}
	}
	return ""
}

// addWidth adds the width of a link, which is compared with what the kernel says.
func addWidth(f *fabric.Facts, address string, width *int) {
	if width != nil && address != "" {
		f.PCI = append(f.PCI, fabric.PCIDevice{Address: address, Link: &fabric.PCILink{Width: *width}})
	}
}

// yes reads Yes, No, True and False; anything else is unknown.
func yes(value string) *bool {
	switch strings.ToLower(value) {
	case "yes", "true":
		return new(true)
	case "no", "false":
		return new(false)
	}
	return nil
}

// enabled reads Enabled and Disabled.
func enabled(value string) *bool {
	switch value {
	case "Enabled":
		return new(true)
	case "Disabled":
		return new(false)
	}
	return nil
}

// count reads a counter; what is not a number is unknown.
func count(value string) *uint64 {
	if value == "" || len(value) > 19 {
		return nil
	}
	var n uint64
	for _, c := range []byte(value) {
		if c < '0' || c > '9' {
			return nil
		}
		n = n*10 + uint64(c-'0')
	}
	return &n
}

// addCount adds a counter to a sum; the sum of none is unknown.
func addCount(sum **uint64, more *uint64) {
	if more == nil {
		return
	}
	if *sum == nil {
		*sum = new(uint64)
	}
	**sum += *more
}
