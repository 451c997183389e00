package facts

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// line reads one line under a function's head. What it does not know it passes over.
func (fn *lspciText) line(line string) {
	if strings.HasPrefix(line, "\t!!!") || strings.Contains(line, "Unknown header type 7f") {
		fn.dead = fn.dead || strings.Contains(line, "nknown header")
		return
	}
	text := strings.TrimSpace(line)
	if strings.HasPrefix(text, "Capabilities: ") {
		fn.capability(text)
		return
	}
	if m := lspciBus().FindStringSubmatch(text); m != nil {
		domain, _, _ := strings.Cut(fn.device.Address, ":")
		fn.secondary = domain + ":" + m[1]
		return
	}
	if r, ok := regionOf(text); ok && !fn.listed { // those of a capability are of virtual functions
		fn.device.Regions = withRegion(fn.device.Regions, r)
		fn.last = ""
		return
	}
	key, value, ok := keyValue(text)
	switch {
	case !ok: // the flags of a register go on over several lines
		key, value = fn.last, text
	case strings.Contains(key, " ") && !slices.Contains([]string{"NUMA node", "IOMMU group", "Kernel driver in use"}, key):
		key = ""
	}
	fn.last = key
	fn.value(key, value)
}

func (fn *lspciText) capability(text string) {
	fn.last = ""
	switch {
	case strings.Contains(text, "access denied"):
		fn.denied = true
		return
	case lspciExtended().MatchString(text):
		fn.extended = true
	}
	fn.listed = true
	switch {
	case strings.Contains(text, "] Express "):
		fn.express = true
	case strings.Contains(text, "] Access Control Services"):
		fn.acsSeen = true
	case strings.Contains(text, "] Address Translation Service"):
		fn.atsSeen = true
	}
}

func (fn *lspciText) value(key, value string) {
	d := &fn.device
	switch key {
	case "Status":
		fn.listed = fn.listed || strings.HasPrefix(value, "Cap-") // there are none to show
	case "NUMA node":
		d.NUMANode = number(value)
	case "IOMMU group":
		d.IOMMUGroup = number(value)
	case "Kernel driver in use":
		d.Driver = fabric.Printable(value)
	case "LnkCap", "LnkSta":
		fn.link(key, value)
	case "DevCtl":
		fn.control(value)
	case "ACSCap", "ACSCtl":
		fn.acs(key, value)
	case "ATSCtl":
		if strings.HasPrefix(value, "Enable") {
			d.ATS = &fabric.ATS{Present: true, Enabled: strings.HasPrefix(value, "Enable+")}
		}
	}
}

func (fn *lspciText) link(key, value string) {
	m := lspciLink().FindStringSubmatch(value)
	if m == nil {
		return
	}
	width, err := strconv.Atoi(m[2])
	if err != nil {
		return
	}
	if fn.device.Link == nil {
		fn.device.Link = &fabric.PCILink{}
	}
	if key == "LnkCap" {
		fn.device.Link.MaxSpeed, fn.device.Link.MaxWidth = speedOfLspci(m[1]), width
	} else {
		fn.device.Link.Speed, fn.device.Link.Width = speedOfLspci(m[1]), width
	}
}

// control reads DevCtl, whose flags and sizes stand on lines of their own.
func (fn *lspciText) control(value string) {
	if fn.device.Control == nil {
		fn.device.Control = &fabric.PCIControl{}
	}
	c := fn.device.Control
	if strings.Contains(value, "RlxdOrd+") {
		c.RelaxedOrdering = true
	}
	if strings.Contains(value, "ExtTag+") {
		c.ExtendedTag = true
	}
	if m := lspciPayload().FindStringSubmatch(value); m != nil {
		payload, request := number(m[1]), number(m[2])
		if payload != nil && request != nil {
			c.MaxPayload, c.MaxReadRequest = *payload, *request
		}
	}
}

func (fn *lspciText) acs(key, value string) {
	bits, err := flagBits(value, "SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
	switch {
	case err != nil:
	case key == "ACSCap":
		fn.device.ACS = &fabric.ACS{Present: true, Capability: bits}
	case fn.device.ACS != nil:
		fn.device.ACS.Control = bits
		fn.acsSeen = false // whole
	}
}

// Why lspci can leave something open.
var (
	errDenied     = errors.New("access denied: lspci needs root for capabilities")
	errNotPrinted = errors.New("lspci did not print all capabilities: it needs -vvv")
)

// finish decides what absence means: of a capability only where all were shown. The error says why what is
// nil then is unknown.
func (fn *lspciText) finish() (fabric.PCIDevice, error) {
	d := fn.device
	whole := fn.listed && !fn.denied && (fn.extended || !fn.express)
	switch {
	case fn.dead:
		d.Link, d.ACS, d.ATS, d.Control = nil, nil, nil, nil
		return d, errNoAnswer
	case fn.acsSeen:
		d.ACS = nil // its registers were not shown
	case d.ACS == nil && whole:
		d.ACS = &fabric.ACS{}
	}
	if d.ATS == nil && whole && !fn.atsSeen {
		d.ATS = &fabric.ATS{}
	}
	if d.Control != nil && d.Control.MaxPayload == 0 {
		d.Control = nil
	}
	switch {
	case fn.denied:
		return d, errDenied
	case whole && !fn.express:
		return d, errNotExpress
	default:
		return d, errNotPrinted
	}
}

// number reads a decimal number of at most 9 digits; nil for anything else.
func number(text string) *int {
	n, err := strconv.ParseUint(text, 10, 30)
	if err != nil {
		return nil
	}
	v := int(n)
	return &v
}
