package esx

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// sbdf is a PCI address as ESX and the kernel of Linux print it: domain:bus:device.function, hexadecimal.
const sbdf = `[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]`

// startsWithAddress is cheap: a text without these begins with no sbdf.
func startsWithAddress(text string) bool {
	const longest = len("0000:00:00.0")
	return len(text) >= longest && text[4] == ':' && text[7] == ':' && text[10] == '.'
}

var (
	hexForm     = pattern.New(`^(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])$`)
	decimalForm = pattern.New(`^(?:([0-9]{1,5}):)?([0-9]{1,3}):([0-9]{1,3})[.:]([0-7])$`)
	paddedForm  = pattern.New(`^[0-9]{3,5}:[0-9]{3}:[0-9]{2}\.[0-7]$`)
)

// hexAddress reads an address of hexadecimal numbers, with or without its domain.
func hexAddress(text string) string {
	m := hexForm().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return ""
	}
	domain := m[1]
	if domain == "" {
		domain = "0000"
	}
	return place4(domain, m[2], m[3], m[4], 16)
}

// decimalAddress reads one of decimal numbers. The parts before the function may lack leading zeros.
func decimalAddress(text string) string {
	m := decimalForm().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return ""
	}
	domain := m[1]
	if domain == "" {
		domain = "0"
	}
	return place4(domain, m[2], m[3], m[4], 10)
}

// place4 writes an address as fabric has it; empty: a part is out of range (32 devices on a bus, PCI 3.0).
func place4(domain, bus, device, function string, radix int) string {
	const mostBus, mostDevice = 255, 31
	var n [4]uint64
	for i, part := range []string{domain, bus, device, function} {
		v, err := strconv.ParseUint(part, radix, 32)
		if err != nil {
			return ""
		}
		n[i] = v
	}
	if n[1] > mostBus || n[2] > mostDevice {
		return ""
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", n[0], n[1], n[2], n[3])
}

// eitherAddress reads an address of which the text does not say by what base it is written. ESX pads decimal numbers to three
// digits of the bus, and hexadecimal ones to two; where both readings are possible and differ, the address is unknown.
func eitherAddress(text string) string {
	text = strings.TrimSpace(text)
	if paddedForm().MatchString(text) {
		return decimalAddress(text)
	}
	hex, decimal := hexAddress(text), decimalAddress(text)
	switch {
	case hex == decimal, decimal == "":
		return hex
	case hex == "":
		return decimal
	}
	return ""
}

// vmxAddress reads the address that a virtual machine has of a device: decimal numbers, padded (00000:006:00.0) or not (0:66:0.0).
// Four and two digits are how people copy it from lspci: see eitherAddress.
func vmxAddress(text string) string { return eitherAddress(text) }

// identity reads an id of PCI as it is written anywhere: 0x10de, 10de, 4318, -32634 (the vSphere API has signed numbers of 16 bits).
// Digits alone are decimal.
func identity(text string) (uint16, bool) {
	text = strings.ToLower(strings.Trim(strings.TrimSpace(text), `"'`))
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 16)
		return uint16(n), err == nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < -1<<15 || n >= 1<<16 {
		return 0, false
	}
	return uint16(n), true //nolint:gosec // two's complement is what the API means
}
