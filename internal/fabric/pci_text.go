package fabric

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The parts of a PCI function have short text forms: a large machine has a hundred functions on the paths
// to its GPUs and NICs, and the facts of a node are to stay below 50 KiB.

// MarshalText writes speed and width now, and at most: "x16@32 of x16@32" is 16 lanes at 32 GT/s.
func (l PCILink) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "x%d@%g of x%d@%g", l.Width, l.Speed, l.MaxWidth, l.MaxSpeed), nil
}

// UnmarshalText reads that form.
func (l *PCILink) UnmarshalText(text []byte) error {
	if read, ok := linkOf(string(text)); ok {
		*l = read
		return nil
	}
	return scan("PCI link", string(text), "x%d@%g of x%d@%g", &l.Width, &l.Speed, &l.MaxWidth, &l.MaxSpeed)
}

// linkOf reads what MarshalText writes. In the facts of 16,384 nodes there are half a million, and fmt takes twenty times as long.
func linkOf(text string) (l PCILink, ok bool) {
	now, most, both := strings.Cut(text, " of ")
	if !both {
		return l, false
	}
	if l.Width, l.Speed, ok = lanesOf(now); ok {
		l.MaxWidth, l.MaxSpeed, ok = lanesOf(most)
	}
	return l, ok
}

// lanesOf reads "x16@32".
func lanesOf(text string) (width int, speed float64, ok bool) {
	lanes, rate, both := strings.Cut(text, "@")
	number, x := strings.CutPrefix(lanes, "x")
	if !both || !x || !plainNumber(number) || !plainNumber(rate) {
		return 0, 0, false
	}
	width, err := strconv.Atoi(number)
	speed, wrong := strconv.ParseFloat(rate, 64)
	return width, speed, err == nil && wrong == nil
}

// plainNumber reports whether a text has digits and points alone.
func plainNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789.") == ""
}

// MarshalText writes capability and control in hexadecimal, "005f/001d", or "none".
func (a ACS) MarshalText() ([]byte, error) {
	if !a.Present {
		return []byte("none"), nil
	}
	return fmt.Appendf(nil, "%04x/%04x", a.Capability, a.Control), nil
}

// UnmarshalText reads that form.
func (a *ACS) UnmarshalText(text []byte) error {
	if *a = (ACS{}); string(text) == "none" {
		return nil
	}
	a.Present = true
	if capability, control, both := strings.Cut(string(text), "/"); both && len(capability) == 4 && len(control) == 4 {
		c, err := strconv.ParseUint(capability, 16, 16)
		d, wrong := strconv.ParseUint(control, 16, 16)
		if err == nil && wrong == nil {
			a.Capability, a.Control = uint16(c), uint16(d)
			return nil
		}
	}
	return scan("ACS", string(text), "%4x/%4x", &a.Capability, &a.Control)
}

// Flags writes the control register as lspci does: SrcValid- TransBlk- ReqRedir+ and so on, bit 0 first
// (PCI Express Base Specification 5.0, 7.7.8.3).
func (a ACS) Flags() string {
	names := [...]string{"SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"}
	text := make([]byte, 0, 96)
	for bit, name := range names {
		if bit > 0 {
			text = append(text, ' ')
		}
		sign := byte('-')
		if a.Control&(1<<bit) != 0 {
			sign = '+'
		}
		text = append(append(text, name...), sign)
	}
	return string(text)
}

var atsWords = []string{"none", "off", "on"}

// MarshalText writes "none" without the capability, else "off" or "on".
func (a ATS) MarshalText() ([]byte, error) {
	switch {
	case !a.Present:
		return []byte("none"), nil
	case a.Enabled:
		return []byte("on"), nil
	default:
		return []byte("off"), nil
	}
}

// UnmarshalText reads that form.
func (a *ATS) UnmarshalText(text []byte) error {
	i, err := indexOf("ATS", string(text), atsWords)
	*a = ATS{Present: i > 0, Enabled: i > 1}
	return err
}

// MarshalText writes payload and read request in bytes, then "ro" for relaxed ordering and "et" for extended
// tags where they are on: "256/512 ro et".
func (c PCIControl) MarshalText() ([]byte, error) {
	text := fmt.Sprintf("%d/%d", c.MaxPayload, c.MaxReadRequest)
	if c.RelaxedOrdering {
		text += " ro"
	}
	if c.ExtendedTag {
		text += " et"
	}
	return []byte(text), nil
}

// UnmarshalText reads that form.
func (c *PCIControl) UnmarshalText(text []byte) error {
	*c = PCIControl{}
	fields := strings.Fields(string(text))
	if len(fields) == 0 {
		return errors.New("PCI device control: is empty")
	}
	for _, f := range fields[1:] {
		switch f {
		case "ro":
			c.RelaxedOrdering = true
		case "et":
			c.ExtendedTag = true
		default:
			return fmt.Errorf("PCI device control %q: %q: unknown; known: ro, et", text, f)
		}
	}
	return scan("PCI device control", fields[0], "%d/%d", &c.MaxPayload, &c.MaxReadRequest)
}

// scan reads a text that has exactly this form.
func scan(what, text, form string, into ...any) error {
	if _, err := fmt.Sscanf(text, form, into...); err != nil {
		return fmt.Errorf("%s %q: want the form %q: %w", what, text, form, err)
	}
	return nil
}
