package facts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// nvidiaLog reads nvidia-smi -q: a block for each GPU, whose titles are indented by what they belong to.
type nvidiaLog struct {
	f      fabric.Facts
	driver string
	titles []nvidiaTitle
	seen   []string // titles of the GPU at hand, where no line names it

	reasons []string // that lower the clocks of the GPU at hand
	judged  []string // those that were read of it
}

type nvidiaTitle struct {
	indent int
	name   string
}

// nvidiaParts are the blocks of a GPU that people cut out of the log.
func nvidiaParts() []string {
	return []string{"Fabric", "ECC Errors", "Remapped Rows", "Retired Pages", "Clocks Event Reasons", "Clocks Throttle Reasons"}
}

func isNvidiaPart(line string) bool {
	line = strings.TrimLeft(line, " ")
	return slices.Contains(nvidiaParts(), strings.TrimRight(line, " "))
}

// parseNvidiaLog reads the whole log, or blocks of one, which belong to a GPU that has no name then.
func parseNvidiaLog(text string) (fabric.Facts, error) {
	l := &nvidiaLog{}
	for line := range strings.Lines(text) {
		if err := l.line(strings.TrimRight(line, " \r\n")); err != nil {
			return fabric.Facts{}, err
		}
		if len(l.f.GPUs) > maxDevices {
			break // read refuses it
		}
	}
	l.endReasons()
	if len(l.f.GPUs) == 0 {
		return fabric.Facts{}, errors.New("no GPU in the log")
	}
	for i := range l.f.GPUs {
		g := &l.f.GPUs[i]
		g.DriverVersion = l.driver
		if g.PCI != "" {
			g.Index = new(i)
		}
		if g.Health != nil && *g.Health == (fabric.GPUHealth{}) {
			g.Health = nil
		}
	}
	return l.f, nil
}

func (l *nvidiaLog) line(line string) error {
	text := strings.TrimLeft(line, " ")
	if text == "" || strings.HasPrefix(text, "=====") {
		return nil
	}
	if bus, ok := strings.CutPrefix(line, "GPU "); ok && !strings.Contains(line, " : ") {
		address, ok := pciAddress(bus)
		if !ok {
			return fmt.Errorf("invalid PCI address %q", fabric.Printable(bus))
		}
		l.endReasons()
		l.titles = nil
		l.f.GPUs = append(l.f.GPUs, fabric.GPU{PCI: address, Vendor: "nvidia"})
		return nil
	}
	indent := len(line) - len(text)
	for n := len(l.titles); n > 0 && l.titles[n-1].indent >= indent; n = len(l.titles) {
		l.titles = l.titles[:n-1]
	}
	key, value, isPair := strings.Cut(text, ": ")
	key = strings.TrimSpace(key)
	if !isPair {
		l.title(nvidiaTitle{indent, key})
		return nil
	}
	l.pair(l.path(), key, fabric.Printable(strings.TrimSpace(value)))
	return nil
}

// title opens a block. One that is cut out of a log, or that comes again, begins a GPU without a name.
func (l *nvidiaLog) title(t nvidiaTitle) {
	const deepest = 8
	if slices.Contains(nvidiaParts(), t.name) {
		n := len(l.f.GPUs)
		if n == 0 || l.f.GPUs[n-1].PCI == "" && slices.Contains(l.seen, t.name) {
			l.endReasons()
			l.f.GPUs, l.seen = append(l.f.GPUs, fabric.GPU{Vendor: "nvidia"}), nil
		}
		l.seen = append(l.seen, t.name)
		l.titles = nil // blocks of a GPU stand in no other
	}
	if len(l.titles) < deepest {
		l.titles = append(l.titles, t)
	}
}

func (l *nvidiaLog) path() string {
	names := make([]string, 0, len(l.titles))
	for _, t := range l.titles {
		names = append(names, t.name)
	}
	return strings.Join(names, "/")
}

func (l *nvidiaLog) pair(block, key, value string) {
	if key == "Driver Version" && block == "" && !isNvidiaNone(value) {
		l.driver = value
		return
	}
	if len(l.f.GPUs) == 0 {
		return
	}
	if n := number(value); key == "Module Id" && n != nil {
		if l.f.NVShare == nil {
			l.f.NVShare = &fabric.NVShare{}
		}
		if !slices.Contains(l.f.NVShare.Modules, *n) && len(l.f.NVShare.Modules) < maxDevices {
			l.f.NVShare.Modules = append(l.f.NVShare.Modules, *n)
			slices.Sort(l.f.NVShare.Modules)
		}
		return
	}
	g := &l.f.GPUs[len(l.f.GPUs)-1]
	if fault := nvidiaFault(value); fault != "" {
		healthOf(g).Fault = fault
		return
	}
	if value == "Unknown Error" && slices.Contains([]string{"Product Name", "GPU UUID", "VBIOS Version", "GPU Current Temp"}, key) {
		healthOf(g).Fault = value // of these no GPU that answers is without
		return
	}
	switch {
	case block == "":
		l.identity(g, key, value)
	case strings.HasSuffix(block, "Link Width") && key == "Current":
		addWidth(&l.f, g.PCI, number(strings.TrimSuffix(value, "x")))
	case block == "Clocks Event Reasons", block == "Clocks Throttle Reasons":
		l.reason(key, value)
	case block == "Fabric", block == "Fabric/Health":
		l.fabric(healthOf(g), block, key, value)
	default:
		nvidiaMemory(healthOf(g), block, key, value)
	}
}

func (l *nvidiaLog) identity(g *fabric.GPU, key, value string) {
	switch key {
	case "Persistence Mode":
		healthOf(g).Persistence = enabled(value)
		return
	case "GPU Recovery Action":
		if value != "N/A" {
			healthOf(g).Recovery = value
		}
		return
	}
	if isNvidiaNone(value) {
		return
	}
	switch key {
	case "Product Name":
		g.Name = value
	case "GPU UUID":
		g.UUID = value
	case "VBIOS Version":
		g.VBIOS = strings.ToUpper(value)
	}
}

// fabric reads the block of the NVLink fabric. Its health has a line for each thing that may be wrong.
func (l *nvidiaLog) fabric(h *fabric.GPUHealth, block, key, value string) {
	if h.Fabric == nil {
		h.Fabric = &fabric.GPUFabric{}
	}
	to := h.Fabric
	switch {
	case key == "State" && block == "Fabric":
		to.State = value
	case key == "Status" && block == "Fabric":
		to.Status = value
	case key == "Summary":
		to.Health = value
	case block == "Fabric/Health" && isFabricFault(key, value):
		if to.Faults != "" {
			to.Faults += ", "
		}
		to.Faults += fabric.Printable(key) + ": " + value
	}
}

// isFabricFault knows the words of the health block that are not in order (NVML, nvmlGpuFabricInfo_v3_t).
func isFabricFault(key, value string) bool {
	switch key {
	case "Bandwidth":
		return strings.EqualFold(value, "Degraded")
	case "Incorrect Configuration":
		return !slices.Contains([]string{"none", "no", "false", "n/a", "not supported", ""}, strings.ToLower(value))
	case "Partition Assigned":
		no := yes(value)
		return no != nil && !*no
	case "Route Unhealthy", "Access Timeout Recovery", "Route Recovery in progress":
		is := yes(value)
		return is != nil && *is
	}
	return false
}

// reason reads one line of what lowers the clocks.
func (l *nvidiaLog) reason(key, value string) {
	name := strings.ReplaceAll(strings.ToLower(key), " ", "_")
	if name == "idle" {
		name = "gpu_idle"
	}
	switch value {
	case "Active":
		l.reasons = append(l.reasons, name)
	case "Not Active":
	default:
		return
	}
	l.judged = append(l.judged, name)
}

// endReasons keeps what lowers the clocks of the GPU that ends here: known where every reason was read that is a fault, and
// where one of them is active. Drivers before 390 have no line for heat and brake below HW Slowdown.
func (l *nvidiaLog) endReasons() {
	if n := len(l.f.GPUs); n > 0 {
		setThrottle(&l.f.GPUs[n-1], l.reasons, l.judged)
	}
	l.reasons, l.judged = nil, nil
}

func setThrottle(g *fabric.GPU, active, judged []string) {
	known := slices.Contains(judged, fabric.ThrottleSlowdown) && slices.Contains(judged, fabric.ThrottleSWThermal)
	for _, fault := range fabric.ThrottleFaults() {
		known = known || slices.Contains(active, fault)
	}
	if known {
		slices.Sort(active)
		healthOf(g).Throttle = new(strings.Join(slices.Compact(active), " "))
	}
}

// nvidiaMemory reads the blocks about errors of memory. Before Turing errors are of single and double bits by place, with
// their total; later of SRAM and DRAM.
func nvidiaMemory(h *fabric.GPUHealth, block, key, value string) {
	uncorrected := strings.Contains(key, "Uncorrectable")
	switch block {
	case "ECC Mode":
		if key == "Current" {
			h.ECC = value
		}
	case "ECC Errors":
		switch key {
		case "Channel Repair Pending", "TPC Repair Pending":
			h.RepairPending = either(h.RepairPending, yes(value))
		case "Unrepairable Memory":
			h.Unrepairable = yes(value)
		}
	case "ECC Errors/Volatile":
		switch {
		case uncorrected:
			addCount(&h.Uncorrected, count(value))
		case strings.HasSuffix(key, " Correctable"):
			addCount(&h.Corrected, count(value))
		}
	case "ECC Errors/Aggregate":
		switch {
		case key == "SRAM Threshold Exceeded":
			h.SRAMOverLimits = yes(value)
		case uncorrected:
			addCount(&h.UncorrectedEver, count(value))
		}
	case "ECC Errors/Volatile/Double Bit":
		if key == "Total" {
			addCount(&h.Uncorrected, count(value))
		}
	case "ECC Errors/Volatile/Single Bit":
		if key == "Total" {
			addCount(&h.Corrected, count(value))
		}
	case "ECC Errors/Aggregate/Double Bit":
		if key == "Total" {
			addCount(&h.UncorrectedEver, count(value))
		}
	case "Retired Pages", "Remapped Rows", "GPU Reset Status":
		nvidiaRows(h, block, key, value)
	}
}

func nvidiaRows(h *fabric.GPUHealth, block, key, value string) {
	switch block + "/" + key {
	case "Retired Pages/Single Bit ECC", "Retired Pages/Double Bit ECC":
		addCount(&h.PagesRetired, count(value))
	case "Retired Pages/Pending Page Blacklist", "Retired Pages/Pending":
		h.RetirePending = yes(value)
	case "Remapped Rows/Correctable Error", "Remapped Rows/Uncorrectable Error":
		addCount(&h.RowsRemapped, count(value))
	case "Remapped Rows/Pending":
		h.RemapPending = yes(value)
	case "Remapped Rows/Remapping Failure Occurred":
		h.RemapFailed = yes(value)
	case "GPU Reset Status/Reset Required":
		if required := yes(value); required != nil && *required {
			h.Recovery = "Reset"
		}
	}
}

// either is yes where one of two is, and unknown where none was read.
func either(a, b *bool) *bool {
	if a == nil || b != nil && *b {
		return b
	}
	return a
}
