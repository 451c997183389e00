package facts

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// lspciRegister finds the registers of a link, of which people paste a line for each device or one for both:
//
//	0002:01:00.0  LnkCap: Speed 32GT/s, Width x4    LnkSta: Speed 32GT/s, Width x2 (downgraded)
var (
	lspciRegister = pattern.New(`(LnkCap|LnkSta):.*?Speed (unknown|[0-9.]+GT/s)(?: \(\w+\))?, Width x([0-9]+)`)
	lspciAddress  = pattern.New(`^\s*((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])[ :]`)
)

// isLinkLine knows what grep leaves of lspci -vv: the registers of a link, with or without their device.
func isLinkLine(line string) bool {
	return (strings.Contains(line, "LnkSta:") || strings.Contains(line, "LnkCap:")) && strings.Contains(line, "Width x") && lspciRegister().MatchString(line)
}

// grepLink reads such a line; ok is false where it has not the device and both registers.
func grepLink(line string) (d fabric.PCIDevice, ok bool) {
	m := lspciAddress().FindStringSubmatch(line)
	if m == nil {
		return d, false
	}
	if d.Address, ok = pciAddress(m[1]); !ok {
		return d, false
	}
	seen := map[string]bool{}
	d.Link = &fabric.PCILink{}
	for _, register := range lspciRegister().FindAllStringSubmatch(line, 2) {
		width := number(register[3])
		if width == nil {
			return d, false
		}
		seen[register[1]] = true
		if register[1] == "LnkCap" {
			d.Link.MaxSpeed, d.Link.MaxWidth = speedOfLspci(register[2]), *width
		} else {
			d.Link.Speed, d.Link.Width = speedOfLspci(register[2]), *width
		}
	}
	return d, seen["LnkCap"] && seen["LnkSta"]
}
