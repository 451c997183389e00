package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// withoutSerial clears the Device Serial Number of a PCI configuration space (PCIe 5.0, 7.9.3): the two words
// behind the head of extended capability 0x0003. Nothing else there tells one device from another.
func withoutSerial(config []byte) []byte {
	const (
		first        = 0x100
		serialNumber = 0x0003
		head, size   = 4, 12
	)
	config = slices.Clone(config)
	seen := map[int]bool{}
	for at := first; at >= first && at+head <= len(config) && !seen[at]; {
		seen[at] = true
		word := binary.LittleEndian.Uint32(config[at:])
		if word&0xffff == serialNumber {
			clear(config[at+head : min(at+size, len(config))])
		}
		at = int(word>>20) &^ 3
	}
	return config
}

// Resource tags of Vital Product Data (PCI 3.0, appendix I).
const (
	vpdName     = 0x82
	vpdReadOnly = 0x90
	vpdWritable = 0x91
	vpdEnd      = 0x78
)

// vpd replaces serial numbers in Vital Product Data, and what a vendor or owner wrote there; the part number
// and the engineering change level stay. Lengths stay, and the checksum is made anew.
func (r *redactor) vpd(data []byte) ([]byte, error) {
	data = slices.Clone(data)
	for at := 0; at < len(data) && data[at] != vpdEnd; {
		if at+3 > len(data) {
			return nil, errors.New("vital product data: cut short")
		}
		tag, size := data[at], int(binary.LittleEndian.Uint16(data[at+1:]))
		at += 3
		if size > len(data)-at {
			return nil, fmt.Errorf("vital product data: %d bytes in %d", size, len(data)-at)
		}
		switch tag {
		case vpdName:
		case vpdReadOnly, vpdWritable:
			if err := r.vpdFields(data, at, at+size); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("vital product data: unknown tag %#02x", tag)
		}
		at += size
	}
	return data, nil
}

func (r *redactor) vpdFields(data []byte, at, end int) error {
	for at < end {
		if at+3 > end || at+3+int(data[at+2]) > end {
			return errors.New("vital product data: field cut short")
		}
		value := data[at+3 : at+3+int(data[at+2])]
		switch keyword := string(data[at : at+2]); keyword {
		case "PN", "EC", "MN", "RW":
		case "RV":
			if len(value) > 0 {
				var sum byte
				for _, c := range data[:at+3] {
					sum += c
				}
				value[0] = -sum // all bytes up to this one sum to 0
			}
		case "SN":
			copy(value, r.serial(string(value)))
		default:
			for i := range value {
				value[i] = '0'
			}
		}
		at += 3 + len(value)
	}
	return nil
}

// lldpFolder is where networkd keeps frames of LLDP: records of a little-endian 64-bit length and an Ethernet
// frame.
const lldpFolder = "/run/systemd/netif/lldp/"

// Layout of a frame and of the TLVs in it (IEEE 802.1AB-2016, 7 and 8).
const (
	lldpLength   = 8
	lldpHeader   = 14
	lldpSource   = 6 // bytes before the source address
	tlvLength    = 1<<9 - 1
	tlvChassis   = 1
	tlvPort      = 2
	tlvName      = 5
	tlvTextLast  = 6 // port description 4, system name 5, system description 6
	tlvTextFirst = 4
	tlvAddress   = 8
	tlvPrivate   = 127

	chassisMAC     = 4
	chassisAddress = 5
	portMAC        = 3
	portAddress    = 4
)

// lldpFile replaces in what networkd keeps of an interface.
func (r *redactor) lldpFile(data []byte) ([]byte, error) {
	var out []byte
	for len(data) > 0 {
		if len(data) < lldpLength || binary.LittleEndian.Uint64(data) > uint64(len(data)-lldpLength) {
			return nil, errors.New("LLDP: record cut short")
		}
		size := int(binary.LittleEndian.Uint64(data))
		frame, err := r.lldpFrame(data[lldpLength : lldpLength+size])
		if err != nil {
			return nil, err
		}
		out = binary.LittleEndian.AppendUint64(out, uint64(len(frame)))
		out = append(out, frame...)
		data = data[lldpLength+size:]
	}
	return out, nil
}

func (r *redactor) lldpFrame(frame []byte) ([]byte, error) {
	if len(frame) < lldpHeader {
		return nil, errors.New("LLDP: frame cut short")
	}
	out := slices.Clone(frame[:lldpHeader])
	r.mac((*[6]byte)(out[lldpSource:]))
	err := eachTLV(frame[lldpHeader:], func(kind int, value []byte) {
		if kind == tlvPrivate {
			return // an organisation may have written anything there
		}
		value = r.tlv(kind, value)
		value = value[:min(len(value), tlvLength)]
		out = binary.BigEndian.AppendUint16(out, uint16(kind<<9|len(value)))
		out = append(out, value...)
	})
	return out, err
}

// eachTLV returns each TLV up to the one that ends them.
func eachTLV(b []byte, f func(kind int, value []byte)) error {
	for len(b) >= 2 {
		head := int(binary.BigEndian.Uint16(b))
		kind, size := head>>9, head&tlvLength
		if size > len(b)-2 {
			return fmt.Errorf("LLDP: value of %d bytes in %d", size, len(b)-2)
		}
		f(kind, b[2:2+size])
		if kind == 0 {
			return nil
		}
		b = b[2+size:]
	}
	return errors.New("LLDP: no end")
}

func (r *redactor) tlv(kind int, value []byte) []byte {
	value = slices.Clone(value)
	switch {
	case kind == tlvName:
		return []byte(r.name(string(value)))
	case kind >= tlvTextFirst && kind <= tlvTextLast:
		return []byte(r.text(string(value), ""))
	case (kind == tlvChassis || kind == tlvPort) && len(value) > 1:
		isMAC := kind == tlvChassis && value[0] == chassisMAC || kind == tlvPort && value[0] == portMAC
		isAddress := kind == tlvChassis && value[0] == chassisAddress || kind == tlvPort && value[0] == portAddress
		switch {
		case isMAC:
			r.hardware(value[1:])
		case isAddress:
			r.ipBytes(value[2:])
		default:
			return append(value[:1], r.text(string(value[1:]), "")...)
		}
	case kind == tlvAddress && len(value) > 2 && int(value[0]) <= len(value)-1 && value[0] > 1:
		r.hardwareOrIP(value[2 : 1+int(value[0])])
	}
	return value
}

// hardwareOrIP replaces a management address: 4 or 16 bytes are IP, 6 are MAC.
func (r *redactor) hardwareOrIP(b []byte) {
	if _, ok := netip.AddrFromSlice(b); ok {
		r.ipBytes(b)
		return
	}
	r.hardware(b)
}

// learnLLDP notes the names of neighbours.
func (r *redactor) learnLLDP(data []byte) {
	for len(data) >= lldpLength && binary.LittleEndian.Uint64(data) <= uint64(len(data)-lldpLength) {
		end := lldpLength + int(binary.LittleEndian.Uint64(data))
		if frame := data[lldpLength:end]; len(frame) > lldpHeader {
			_ = eachTLV(frame[lldpHeader:], func(kind int, value []byte) { // what is cut is refused later
				if kind == tlvName {
					r.learnName(string(value))
				}
			})
		}
		data = data[end:]
	}
}
