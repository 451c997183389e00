package facts

import (
	"encoding/binary"
	"errors"
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

// Offsets and ids of PCI configuration space, in bytes (PCIe 5.0, 7.5.1, 7.5.3, 7.6, 7.7.8, 10.5.1).
const (
	configHeader   = 64   // what a process without root can read
	configStandard = 256  // of conventional PCI
	configExtended = 4096 // of PCI Express

	offsetStatus         = 0x06
	offsetHeaderType     = 0x0e
	offsetCapabilities   = 0x34
	offsetCardBusCapList = 0x14
	statusCapabilityList = 1 << 4
	headerTypeMask       = 0x7f
	headerCardBus        = 2

	capabilityExpress      = 0x10
	expressFlags           = 0x02
	expressDeviceControl   = 0x08
	expressLinkCapability  = 0x0c
	expressLinkStatus      = 0x12
	expressTypeIntegrated  = 0x9 // root complex integrated endpoint: has no link
	expressTypeEventCollec = 0xa // root complex event collector: likewise

	extendedATS   = 0x000f
	extendedACS   = 0x000d
	extendedNone  = 0xffffffff // what a read of a space that is not there gives
	capabilitySet = 4          // of ACS and ATS: where their capability register stands; control is 2 behind
	atsEnable     = 1 << 15
)

// Why a part of configuration space can be unknown.
var (
	errNeedsRoot   = errors.New("only 64 bytes of configuration space: reading all of it needs root")
	errNoExtended  = errors.New("only 256 bytes of configuration space: the kernel or the hypervisor does not give the rest")
	errNoAnswer    = errors.New("configuration space reads all ones: the device does not answer")
	errNotExpress  = errors.New("not a PCI Express function")
	errIntegrated  = errors.New("integrated in the root complex: no link")
	errListBroken  = errors.New("capability list is broken")
	errConfigShort = errors.New("configuration space is cut short")
)

// configFacts is what one reading of a function's configuration space tells. A nil fact has its error.
type configFacts struct {
	link *fabric.PCILink
	acs  *fabric.ACS
	ats  *fabric.ATS
	// control is what the function may send, as the firmware and the kernel set it.
	control *fabric.PCIControl

	linkErr    error
	acsErr     error
	atsErr     error
	controlErr error
}

// parseConfig walks both capability lists of a configuration space read from its start.
func parseConfig(b []byte) configFacts {
	express, err := findExpress(b)
	if errors.Is(err, errNotExpress) {
		// Extended space belongs to PCI Express: there is none to look in.
		return configFacts{linkErr: err, controlErr: err, acs: &fabric.ACS{}, ats: &fabric.ATS{}}
	}
	if err != nil {
		return configFacts{linkErr: err, acsErr: err, atsErr: err, controlErr: err}
	}
	var c configFacts
	standard := b[:min(len(b), configStandard)]
	c.link, c.linkErr = parseLink(standard, express)
	c.control, c.controlErr = parseControl(standard, express)
	found, err := extendedCapabilities(b)
	c.acs, c.acsErr = parseACS(b, found, err)
	c.ats, c.atsErr = parseATS(b, found, err)
	return c
}

// findExpress returns the offset of the PCI Express capability; errNotExpress where the whole list was
// read and has none.
func findExpress(b []byte) (int, error) {
	if len(b) < configHeader {
		return 0, errConfigShort
	}
	if allOnes(b[:configHeader]) {
		return 0, errNoAnswer
	}
	if binary.LittleEndian.Uint16(b[offsetStatus:])&statusCapabilityList == 0 {
		return 0, errNotExpress
	}
	at := offsetCapabilities
	if b[offsetHeaderType]&headerTypeMask == headerCardBus {
		at = offsetCardBusCapList
	}
	const most = (configStandard - configHeader) / 4 // capabilities are 4-byte aligned behind the header
	next := int(b[at]) &^ 3
	for range most + 1 {
		switch {
		case next == 0:
			return 0, errNotExpress
		case next < configHeader:
			return 0, fmt.Errorf("%w: points to %#x", errListBroken, next)
		case next+2 > len(b) && len(b) == configHeader:
			return 0, errNeedsRoot
		case next+2 > len(b):
			return 0, errConfigShort
		case b[next] == capabilityExpress:
			return next, nil
		case b[next] == 0xff:
			return 0, fmt.Errorf("%w: reads ones at %#x", errListBroken, next)
		}
		next = int(b[next+1]) &^ 3
	}
	return 0, fmt.Errorf("%w: never ends", errListBroken)
}

func allOnes(b []byte) bool {
	for _, v := range b {
		if v != 0xff {
			return false
		}
	}
	return true
}

func parseLink(b []byte, express int) (*fabric.PCILink, error) {
	if express+expressLinkStatus+2 > len(b) {
		return nil, errConfigShort
	}
	switch kind := b[express+expressFlags] >> 4; kind {
	case expressTypeIntegrated, expressTypeEventCollec:
		return nil, errIntegrated
	}
	capability := binary.LittleEndian.Uint32(b[express+expressLinkCapability:])
	status := uint32(binary.LittleEndian.Uint16(b[express+expressLinkStatus:]))
	return &fabric.PCILink{
		Speed:    linkSpeed(status),
		Width:    linkWidth(status),
		MaxSpeed: linkSpeed(capability),
		MaxWidth: linkWidth(capability),
	}, nil
}

// Bits of the Device Control register (PCIe 5.0, 7.5.3.4). A size is 128 bytes shifted left by its code, of
// which those above 5 are reserved.
const (
	controlRelaxedOrdering = 1 << 4
	controlExtendedTag     = 1 << 8
	controlPayloadShift    = 5
	controlRequestShift    = 12
	controlSizeMask        = 7
	controlSizeUnit        = 128
	controlSizeLast        = 5
)

func parseControl(b []byte, express int) (*fabric.PCIControl, error) {
	if express+expressDeviceControl+2 > len(b) {
		return nil, errConfigShort
	}
	register := binary.LittleEndian.Uint16(b[express+expressDeviceControl:])
	payload, request := register>>controlPayloadShift&controlSizeMask, register>>controlRequestShift&controlSizeMask
	if payload > controlSizeLast || request > controlSizeLast {
		return nil, fmt.Errorf("device control register %#04x has a reserved size", register)
	}
	return &fabric.PCIControl{
		MaxPayload:      controlSizeUnit << payload,
		MaxReadRequest:  controlSizeUnit << request,
		RelaxedOrdering: register&controlRelaxedOrdering != 0,
		ExtendedTag:     register&controlExtendedTag != 0,
	}, nil
}

// linkSpeed returns GT/s from the low four bits of a link register, 0 for a code without a meaning
// (PCIe 6.0, 7.5.3.6 and 7.5.3.8).
func linkSpeed(register uint32) float64 {
	speeds := [...]float64{0, 2.5, 5, 8, 16, 32, 64}
	if code := register & 0xf; int(code) < len(speeds) {
		return speeds[code]
	}
	return 0
}

// linkWidth returns the lanes from bits 9:4 of a link register.
func linkWidth(register uint32) int { return int(register >> 4 & 0x3f) }

// extendedCapabilities returns the offset of the first capability of each id. The error says why the list
// was not read to its end; what was found before still counts.
func extendedCapabilities(b []byte) (map[uint16]int, error) {
	if len(b) <= configStandard {
		return nil, errNoExtended
	}
	found := make(map[uint16]int)
	const most = (configExtended - configStandard) / 4 // a header is 4 bytes, aligned
	next := configStandard
	for range most + 1 {
		if next+4 > len(b) {
			return found, errConfigShort
		}
		header := binary.LittleEndian.Uint32(b[next:])
		if header == extendedNone {
			return found, fmt.Errorf("%w: reads ones at %#x", errListBroken, next)
		}
		if id := uint16(header); id != 0 { // 0: an empty list, or a capability to skip
			if _, again := found[id]; !again {
				found[id] = next
			}
		}
		next = int(header>>20) &^ 3
		switch {
		case next == 0:
			return found, nil
		case next < configStandard:
			return found, fmt.Errorf("%w: points to %#x", errListBroken, next)
		}
	}
	return found, fmt.Errorf("%w: never ends", errListBroken)
}

func parseACS(b []byte, found map[uint16]int, listErr error) (*fabric.ACS, error) {
	capability, control, present, err := registers(b, found, extendedACS, listErr)
	if err != nil {
		return nil, err
	}
	return &fabric.ACS{Present: present, Capability: capability, Control: control}, nil
}

func parseATS(b []byte, found map[uint16]int, listErr error) (*fabric.ATS, error) {
	_, control, present, err := registers(b, found, extendedATS, listErr)
	if err != nil {
		return nil, err
	}
	return &fabric.ATS{Present: present, Enabled: control&atsEnable != 0}, nil
}

// registers reads the two 16-bit registers behind the header of an extended capability. Absent is only
// said of a list that was read to its end.
func registers(b []byte, found map[uint16]int, id uint16, listErr error) (capability, control uint16, present bool, err error) {
	at, ok := found[id]
	switch {
	case !ok:
		return 0, 0, false, listErr
	case at+capabilitySet+4 > len(b):
		return 0, 0, false, errConfigShort
	}
	capability = binary.LittleEndian.Uint16(b[at+capabilitySet:])
	control = binary.LittleEndian.Uint16(b[at+capabilitySet+2:])
	return capability, control, true, nil
}
