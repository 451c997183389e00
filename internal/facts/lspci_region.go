package facts

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// regionsTool is lspci behind a grep for memory regions: its lines do not name the device, the command above them does.
const regionsTool = "lspci regions"

// lspciRegion is how lspci prints a memory region (pciutils, lspci.c, show_bases): "Region 1: Memory at <unassigned> (64-bit, ...)".
var lspciRegion = pattern.New(`^\s*Region ([0-5]): (?:\[virtual\] )?Memory at (<unassigned>|<ignored>|[0-9a-f]{1,16}) \(`)

// regionOf reads such a line; ok is false where it is another, or of a region that lspci was told to leave out.
func regionOf(line string) (r fabric.PCIRegion, ok bool) {
	if !strings.Contains(line, "Region ") {
		return r, false
	}
	m := lspciRegion().FindStringSubmatch(line)
	if m == nil || m[2] == "<ignored>" {
		return r, false
	}
	r.Number, _ = strconv.Atoi(m[1]) // one digit
	r.Assigned = m[2] != "<unassigned>"
	return r, true
}

// withRegion keeps the first of each number: lspci lists those of virtual functions behind those of the function itself.
func withRegion(have []fabric.PCIRegion, r fabric.PCIRegion) []fabric.PCIRegion {
	if slices.ContainsFunc(have, func(h fabric.PCIRegion) bool { return h.Number == r.Number }) {
		return have
	}
	return append(have, r)
}

func isRegionLine(line string) bool {
	_, ok := regionOf(line)
	return ok
}

// regionsOf is the one device that a command asks lspci about; empty: it is another command.
func regionsOf(command string) string {
	command, filter, _ := strings.Cut(command, "|")
	words := strings.Fields(command)
	at := slices.IndexFunc(words, func(w string) bool { return w == "lspci" || strings.HasSuffix(w, "/lspci") })
	s := slices.Index(words, "-s")
	if at < 0 || s < 0 || s+1 >= len(words) || !strings.Contains(filter, "grep") {
		return ""
	}
	address, ok := pciAddress(words[s+1])
	if !ok {
		return ""
	}
	return address
}

func knowsRegions(text string) bool {
	return hasLine(text, func(line string) bool {
		command, ok := strings.CutPrefix(line, "$ ")
		return ok && regionsOf(command) != ""
	}) && hasLine(text, isRegionLine)
}

// parseRegions reads the lines below each command.
func parseRegions(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			f.PCI = append(f.PCI, fabric.PCIDevice{Address: regionsOf(strings.TrimSpace(command))})
			continue
		}
		if r, ok := regionOf(line); ok && len(f.PCI) > 0 {
			d := &f.PCI[len(f.PCI)-1]
			d.Regions = withRegion(d.Regions, r)
		}
	}
	if len(f.PCI) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}
