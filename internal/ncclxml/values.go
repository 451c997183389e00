package ncclxml

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/topology"
)

// BusOf is the address of the PCI function that contains an element.
func BusOf(e *Element) string {
	pci := e.Above("pci")
	if pci == nil {
		return ""
	}
	text, _ := pci.Get("busid")
	if bus, err := topology.ParseBus(text); err == nil {
		return bus
	}
	return text
}

// ScaleUp returns the links of a GPU to others and their number as NCCL counts them.
func ScaleUp(gpu *Element) (links []*Element, count int) {
	links = append(gpu.ChildrenOf("nvlink"), gpu.ChildrenOf("xgmi")...)
	for _, l := range links {
		count += l.IntegerOr("count", 0)
	}
	return links, count
}

// PCIIDs are vendor and device of a <pci>.
func PCIIDs(e *Element) (vendor, device uint16) {
	v, _ := e.Get("vendor")
	d, _ := e.Get("device")
	return uint16(Strtol(v, 0)), uint16(Strtol(d, 0))
}

// Required returns the value of an attribute without which NCCL refuses the element.
func (e *Element) Required(key string) (string, error) {
	value, ok := e.Get(key)
	if !ok {
		return "", fmt.Errorf("%s: no attribute %q", e.Title(), key)
	}
	return value, nil
}

// Integer reads a required attribute as NCCL does: the number at its beginning, 0 where there is none.
func (e *Element) Integer(key string) (int, error) {
	value, err := e.Required(key)
	return clampInt(Strtol(value, 0)), err
}

// IntegerOr reads an attribute as NCCL does; standard is the value of a missing one.
func (e *Element) IntegerOr(key string, standard int) int {
	if value, ok := e.Get(key); ok {
		return clampInt(Strtol(value, 0))
	}
	return standard
}

// clampInt limits a number to the range of C's int.
func clampInt(n int64) int { return int(max(min(n, 1<<31-1), -1<<31)) }

// BusNumber is the number that NCCL derives from an address: its hexadecimal digits up to the first other character,
// without colons and dots (busIdToInt64).
func BusNumber(text string) int64 {
	var digits strings.Builder
	for _, c := range text[:min(len(text), 16)] {
		if c == '.' || c == ':' {
			continue
		}
		if Digit(byte(min(c, 255))) >= 16 {
			break
		}
		digits.WriteRune(c)
	}
	return Strtol(digits.String(), 16)
}

// GCN is the architecture of an AMD GPU: RCCL writes gcn="gfx942", older ones gcn="942".
func GCN(e *Element) string {
	gcn, ok := e.Get("gcn")
	if !ok || gcn == "" {
		return ""
	}
	if gcn[0] >= '0' && gcn[0] <= '9' {
		return "gfx" + gcn
	}
	return gcn
}

// Strtoull reads a GUID as strtoull does.
func Strtoull(text string) uint64 {
	if len(text) > 1 && (text[:2] == "0x" || text[:2] == "0X") {
		text = text[2:]
	}
	end := 0
	for end < len(text) && end < 16 && Digit(text[end]) < 16 {
		end++
	}
	n, err := strconv.ParseUint(text[:end], 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// Strtof reads a number as strtof does for the forms that NCCL writes; an empty text is 0.
func Strtof(text string) float32 {
	end := 0
	for end < len(text) && (Digit(text[end]) < 10 || text[end] == '.' || end == 0 && text[0] == '-') {
		end++
	}
	f, err := strconv.ParseFloat(text[:end], 32)
	if err != nil {
		return 0
	}
	return float32(f)
}

// Strtol reads a number as C's strtol does: blanks, a sign, then as many digits as follow; none is 0. Base 0
// takes 0x and a leading 0 for hexadecimal and octal.
func Strtol(text string, base int64) int64 {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	sign := int64(1)
	if text != "" && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	hexadecimal := len(text) > 2 && (text[:2] == "0x" || text[:2] == "0X") && Digit(text[2]) < 16
	switch {
	case (base == 0 || base == 16) && hexadecimal:
		base, text = 16, text[2:]
	case base == 0 && strings.HasPrefix(text, "0"):
		base = 8
	case base == 0:
		base = 10
	}
	const most = 1<<63 - 1
	value := int64(0)
	for i := range len(text) {
		digit := Digit(text[i])
		if digit >= base {
			break
		}
		if value > (most-digit)/base {
			return sign * most
		}
		value = value*base + digit
	}
	return sign * value
}

// Digit is the value of a digit in bases up to 36; 36 for anything else.
func Digit(c byte) int64 {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0')
	case c >= 'a' && c <= 'z':
		return int64(c-'a') + 10
	case c >= 'A' && c <= 'Z':
		return int64(c-'A') + 10
	}
	return 36
}
