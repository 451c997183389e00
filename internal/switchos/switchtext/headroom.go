package switchtext

import "math"

// pauseQuanta is the longest time, in quanta of 512 bits, that a station may take from the reception of a pause until it
// begins no further frame, by rate in Gb/s: IEEE 802.3 31B.3.7, which 802.1Q 36.1.3.3 takes over for PFC. The numbers are those
// that SONiC uses (sonic-swss, cfgmgr/buffer_headroom_mellanox.lua, which names the clause). That file has 905 for
// 800 Gb/s too, half the time of 400 Gb/s; here it is the same time, which is the safe side.
var pauseQuanta = []struct {
	rateGbps float64
	quanta   int
}{{1, 2}, {10, 67}, {25, 80}, {40, 118}, {50, 147}, {100, 394}, {200, 453}, {400, 905}, {800, 1810}}

const (
	quantumBytes    = 512 / 8
	frameOverhead   = 8 + 14 + 4 + 4 + 12 // preamble, header with one tag, check sequence, gap: IEEE 802.3 3.1.1, 4.4.2
	pauseFrameBytes = 64 + 8 + 12         // on the wire
	cableNsPerM     = 5                   // fibre of index 1.5; SONiC assumes 198,000 km/s, which is as much
)

// Headroom returns the buffer that a port needs for one lossless priority after it has decided to pause its peer, whose
// packets are of mtu bytes: what arrives while the frame that the port itself is sending ends and the pause is sent, while
// the pause travels, while the peer reacts (31B.3.7) and ends the frame that it has begun, and what is on the way back by
// then (802.1Qbb, the annex on buffer requirements; Annex N of 802.1Q-2018). The switch's own delay between filling up and deciding is in no
// public document, and neither is what cells of its memory waste: a switch's own tables are larger.
func Headroom(rateGbps float64, cableM, mtu int) int64 {
	if !(rateGbps > 0) || math.IsInf(rateGbps, 1) || cableM < 0 || mtu < 0 {
		return 0
	}
	frame := float64(mtu + frameOverhead)
	cable := float64(cableM) * cableNsPerM * rateGbps / 8 // bytes: Gb/s are bits a nanosecond
	return int64(math.Ceil(2*frame + pauseFrameBytes + 2*cable + responseBytes(rateGbps)))
}

// responseBytes returns what a peer sends in the time that it may take to obey. A rate between two of the list has the
// quanta of the higher one, and one above the last has its time.
func responseBytes(rateGbps float64) float64 {
	for _, q := range pauseQuanta {
		if rateGbps <= q.rateGbps {
			return float64(q.quanta * quantumBytes)
		}
	}
	last := pauseQuanta[len(pauseQuanta)-1]
	return float64(last.quanta*quantumBytes) * rateGbps / last.rateGbps
}
