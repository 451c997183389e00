package topology

import (
	"fmt"
	"math"

	"railwright.dev/railwright/internal/fabric"
)

// RawRate is what a PCIe link carries one way after its line code, GB/s: each lane of Gen1 and Gen2 has 8 bits
// of data in 10 (PCIe 5.0, 4.2.1), of Gen3 to Gen5 128 in 130 (4.2.2), and of Gen6 236 bytes for packets in a
// FLIT of 256 (PCIe 6.0, 4.2.3; the rest is 6 of link layer, 8 of CRC, 6 of error correction). Packet headers
// reduce it further. speed in GT/s, width in lanes; 0 where either is unknown.
func RawRate(speed float64, width int) float64 {
	if !(speed > 0) || math.IsInf(speed, 0) || width <= 0 {
		return 0
	}
	return speed * float64(width) / bitsPerByte * lineCode(speed)
}

const bitsPerByte = 8

func lineCode(speed float64) float64 {
	switch {
	case speed <= 5:
		return 8.0 / 10
	case speed <= 32:
		return 128.0 / 130
	default:
		return 236.0 / 256
	}
}

// PCIeHop is a link on the path between two devices.
type PCIeHop struct {
	Bus    string  `json:"bus"`                // device at the lower end of the link
	Speed  float64 `json:"speed,omitempty"`    // GT/s; 0: not reported
	Width  int     `json:"width,omitempty"`    // lanes; 0: not reported
	AtRest bool    `json:"at_rest,omitempty"`  // the link of a GPU trained lower than its maximum, as at rest, so Speed is the maximum
	GBs    float64 `json:"rate_gbs,omitempty"` // GB/s one way, as from RawRate; 0: unknown
}

// Path returns the PCIe links between two devices of a machine, from the first up and down to the second. At
// a root complex the path between host bridges or NUMA nodes is not a PCIe link and not in it. An address that
// is not in the tree is an error.
func (m *Machine) Path(from, to string) ([]PCIeHop, error) {
	places := newPlaces(m)
	a, okA := places.byBus[from]
	b, okB := places.byBus[to]
	switch {
	case !okA:
		return nil, fmt.Errorf("PCI device %s: not in the tree of %s", fabric.Quote(from), m.Source)
	case !okB:
		return nil, fmt.Errorf("PCI device %s: not in the tree of %s", fabric.Quote(to), m.Source)
	}
	common := 0
	for common < min(len(a.chain), len(b.chain)) && a.chain[common] == b.chain[common] {
		common++
	}
	var path []PCIeHop
	for i := len(a.chain) - 1; i >= common; i-- {
		path = append(path, hopAbove(a.chain[i]))
	}
	for _, d := range b.chain[common:] {
		path = append(path, hopAbove(d))
	}
	return path, nil
}

func hopAbove(d *Device) PCIeHop {
	h := PCIeHop{Bus: d.Bus, Speed: d.Speed, Width: d.Width}
	if d.IsGPU() && d.Speed > 0 && d.MaxSpeed > d.Speed {
		h.Speed, h.AtRest = d.MaxSpeed, true
	}
	h.GBs = RawRate(h.Speed, h.Width)
	return h
}

// Slowest returns the slowest link of a path, the first of equals. known is false where the rate of a link of
// the path is unknown: it could be slower. An empty path has none: GBs is 0.
func Slowest(path []PCIeHop) (hop PCIeHop, known bool) {
	known = len(path) > 0
	for _, h := range path {
		switch {
		case h.GBs == 0:
			known = false
		case hop.GBs == 0 || h.GBs < hop.GBs:
			hop = h
		}
	}
	return hop, known
}
