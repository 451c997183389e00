package collective

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// Write is what perftest shows between two machines: the bandwidth of ib_write_bw on each function and on all, Gb/s, and the
// latency of ib_write_lat, us.
type Write struct {
	topology.RDMARates
	Latency topology.RDMALatency
}

// Write returns what so many PCI functions of a machine reach that write at the same time, those of one port before those of
// the next, at a path MTU in bytes: 1 and 2 are one function of a port and both, 4 are both ports of a DGX Spark. ok is false for
// machines whose ports are not shared by functions, and for numbers that they do not have.
func (c *Cluster) Write(functions, pathMTU int) (w Write, ok bool) {
	t := c.net.twins
	if t == nil || functions < 1 || functions > 2*t.perPort {
		return Write{}, false
	}
	load := t.load
	load.PathMTU = pathMTU
	model := load.Functions[0]
	load.Functions = nil
	for i := range functions {
		model.Port, model.Link = i/t.perPort, fmt.Sprint(i%t.perPort)
		load.Functions = append(load.Functions, model)
	}
	w.RDMARates, ok = topology.RDMAWrite(load)
	switches := 0
	if c.hw.Wiring == fabric.WiredSwitch {
		switches = 1
	}
	w.Latency = topology.RDMAWriteLatency(switches)
	return w, ok
}
