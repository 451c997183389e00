package fabric

import (
	"fmt"
	"strconv"
)

// PKey is the 15-bit number of an InfiniBand partition, without the membership bit (InfiniBand Architecture
// 1.4, 10.9.3). 0 is no partition.
type PKey uint16

// DefaultPartition holds every port of a subnet, if only as a limited member.
const DefaultPartition PKey = 0x7fff

// FullMember is bit 15 of an entry of a port's P_Key table: limited members cannot talk to each other.
const FullMember = 0x8000

// MarshalText writes the number in hexadecimal, without the membership bit.
func (k PKey) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%04x", uint16(k)), nil }

// String writes the number in hexadecimal.
func (k PKey) String() string { return fmt.Sprintf("0x%04x", uint16(k)) }

// UnmarshalText reads a number from 0x1 to 0x7fff, with or without the membership bit.
func (k *PKey) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 16)
	if err != nil || n&^FullMember == 0 {
		return fmt.Errorf("P_Key %q: want a number from 0x1 to 0x7fff", text)
	}
	*k = PKey(n &^ FullMember)
	return nil
}
