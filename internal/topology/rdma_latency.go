package topology

import "fmt"

// RDMALatency is what ib_write_lat shows as typical for a few bytes, us one way. Healthy is from Low to High.
type RDMALatency struct {
	Expected, Low, High float64
	Formula             string
}

// Latency of a small write between two DGX Sparks on a cable, us: 1.47 typical with 1.42 the least in DGX Spark Networking,
// 1.98 in the notes of others with MTU 1500 and 9000 alike. What a switch adds is assumed: no source that was read measures those
// of Spark clusters.
const (
	cableLatency, cableLatencyLow, cableLatencyHigh = 1.47, 1.2, 2.2
	switchLatency, switchLow, switchHigh            = 0.8, 0.3, 1.2
)

// RDMAWriteLatency returns the latency of a small write across so many switches. It depends neither on the MTU nor on the width
// of the PCIe link: the message is one packet of a few bytes.
func RDMAWriteLatency(switches int) RDMALatency {
	n := float64(max(switches, 0))
	l := RDMALatency{
		Expected: cableLatency + n*switchLatency, Low: cableLatencyLow + n*switchLow, High: cableLatencyHigh + n*switchHigh,
		Formula: fmt.Sprintf("%.2f us from memory to memory over a cable", cableLatency),
	}
	if switches > 0 {
		l.Formula += fmt.Sprintf(" + %d x %.1f us of a switch", switches, switchLatency)
	}
	return l
}
