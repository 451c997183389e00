package facts

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// nvidiaColumn is the name of a column of --query-gpu and --query-remapped-rows.
var nvidiaColumn = pattern.New(`^[a-z][A-Za-z0-9_.]*(?: \[[A-Za-z0-9/%]+\])?$`)

// nvidiaColumns begin the names of those that facts are made of.
func nvidiaColumns() []string {
	return []string{
		"pci.bus_id", "gpu_bus_id", "uuid", "gpu_uuid", "driver_version", "vbios_version", "ecc.errors.", "remapped_rows.", "retired_pages.",
		"clocks_event_reasons.", "clocks_throttle_reasons.", "fabric.", "gpu_recovery_action",
	}
}

// isNvidiaCSV knows the line of titles: names of columns alone, of which one is known.
func isNvidiaCSV(line string) bool {
	known, names := false, 0
	for name := range strings.SplitSeq(strings.TrimSpace(line), ", ") {
		names++
		if !nvidiaColumn().MatchString(name) {
			return false
		}
		known = known || slices.ContainsFunc(nvidiaColumns(), func(head string) bool { return strings.HasPrefix(name, head) })
	}
	return known && (names > 1 || strings.Contains(line, "."))
}

// parseNvidiaCSV reads columns by their names. Text before the titles, such as a prompt, is left out.
func parseNvidiaCSV(text string) (fabric.Facts, error) {
	var table strings.Builder
	for line := range strings.Lines(text) {
		if table.Len() > 0 || isNvidiaCSV(strings.TrimRight(line, "\r\n")) {
			table.WriteString(line)
		}
	}
	r := csv.NewReader(strings.NewReader(table.String()))
	r.TrimLeadingSpace, r.LazyQuotes = true, true
	rows, err := r.ReadAll()
	if err != nil {
		return fabric.Facts{}, fmt.Errorf("csv: %w", err)
	}
	if len(rows) < 2 {
		return fabric.Facts{}, errors.New("csv: no row below the titles")
	}
	var f fabric.Facts
	for _, row := range rows[1:] {
		if len(f.GPUs) > maxDevices {
			break // read refuses it
		}
		fields, fault := nvidiaFields(rows[0], row)
		g, err := nvidiaRow(fields)
		if err != nil {
			return fabric.Facts{}, err
		}
		if fault != "" {
			healthOf(&g).Fault = fault
		}
		f.GPUs = append(f.GPUs, g)
		addWidth(&f, g.PCI, number(fields["pcie.link.width.current"]))
	}
	return f, nil
}

// nvidiaFields are the values of a row by the names of their columns: of two names of one thing the newer. fault is what
// stands in the place of values where the GPU is ill.
func nvidiaFields(titles, row []string) (fields map[string]string, fault string) {
	fields = make(map[string]string)
	for i, name := range titles {
		name, _, _ = strings.Cut(strings.TrimSpace(name), " [") // a unit
		if rest, old := strings.CutPrefix(name, "clocks_throttle_reasons."); old {
			name = "clocks_event_reasons." + rest
		}
		value := strings.TrimSpace(row[i])
		ill := nvidiaFault(value)
		fault = orText(fault, ill)
		if ill == "" && value != "" && (!isNvidiaNone(value) || name == "ecc.mode.current" || strings.HasPrefix(name, "fabric.")) {
			fields[name] = fabric.Printable(strings.TrimSuffix(strings.TrimPrefix(value, "["), "]"))
		}
	}
	return fields, fault
}

func orText(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

func nvidiaRow(fields map[string]string) (fabric.GPU, error) {
	g := fabric.GPU{
		Vendor: "nvidia", Name: orText(fields["name"], fields["gpu_name"]), UUID: orText(fields["uuid"], fields["gpu_uuid"]),
		DriverVersion: fields["driver_version"], VBIOS: strings.ToUpper(fields["vbios_version"]), Index: number(fields["index"]),
	}
	if bus := orText(fields["pci.bus_id"], fields["gpu_bus_id"]); bus != "" {
		address, ok := pciAddress(bus)
		if !ok {
			return g, fmt.Errorf("pci.bus_id %q: not a PCI address", bus)
		}
		g.PCI = address
	} else if g.UUID == "" && g.Index == nil && g.Name == "" && len(fields) == 0 {
		return g, errors.New("csv: a row without a value")
	}
	h := fabric.GPUHealth{
		ECC: fields["ecc.mode.current"], Persistence: enabled(fields["persistence_mode"]), Recovery: fields["gpu_recovery_action"],
		Uncorrected:     count(fields["ecc.errors.uncorrected.volatile.total"]),
		UncorrectedEver: count(fields["ecc.errors.uncorrected.aggregate.total"]),
		Corrected:       count(fields["ecc.errors.corrected.volatile.total"]),
		RemapPending:    yes(fields["remapped_rows.pending"]), RemapFailed: yes(fields["remapped_rows.failure"]),
		RetirePending: yes(fields["retired_pages.pending"]),
	}
	for _, name := range []string{"remapped_rows.correctable", "remapped_rows.uncorrectable"} {
		addCount(&h.RowsRemapped, count(fields[name]))
	}
	for _, name := range []string{"retired_pages.single_bit_ecc.count", "retired_pages.double_bit.count"} {
		addCount(&h.PagesRetired, count(fields[name]))
	}
	if state := fields["fabric.state"]; state != "" {
		h.Fabric = &fabric.GPUFabric{State: state, Status: fields["fabric.status"], Health: fields["fabric.health.summary"]}
	}
	if h != (fabric.GPUHealth{}) {
		g.Health = &h
	}
	setThrottle(&g, activeReasons(fields), judgedReasons(fields))
	return g, nil
}

// nvidiaReasons are the bits of clocks_event_reasons.active (NVML, nvmlClocksEventReasons).
func nvidiaReasons() []string {
	return []string{
		"gpu_idle", "applications_clocks_setting", "sw_power_cap", fabric.ThrottleSlowdown, "sync_boost", fabric.ThrottleSWThermal,
		fabric.ThrottleThermal, fabric.ThrottlePowerBrake, "display_clocks_setting",
	}
}

// reasonMask reads all reasons as one number, 0x0000000000000004.
func reasonMask(fields map[string]string) (uint64, error) {
	return strconv.ParseUint(strings.TrimPrefix(fields["clocks_event_reasons.active"], "0x"), 16, 64)
}

func activeReasons(fields map[string]string) (active []string) {
	mask, err := reasonMask(fields)
	if err != nil {
		mask = 0 // also of one that does not fit: the columns of the reasons are left
	}
	for bit, name := range nvidiaReasons() {
		if mask>>bit&1 != 0 || fields["clocks_event_reasons."+name] == "Active" {
			active = append(active, name)
		}
	}
	return active
}

func judgedReasons(fields map[string]string) (judged []string) {
	if _, err := reasonMask(fields); err == nil {
		return nvidiaReasons()
	}
	for _, name := range nvidiaReasons() {
		if value := fields["clocks_event_reasons."+name]; value == "Active" || value == "Not Active" {
			judged = append(judged, name)
		}
	}
	return judged
}
