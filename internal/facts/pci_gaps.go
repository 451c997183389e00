package facts

import (
	"errors"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// pciGaps gathers what could not be read of PCI functions. A cause that lies in the collector or the
// kernel, not in one device, is told once for all: without root it would else be told of every function.
type pciGaps struct {
	entries []fabric.Missing
	told    map[fabric.Missing]bool
}

func (g *pciGaps) add(what, address, file string, err error) {
	m := fabric.Missing{What: what, Source: pciDevices + "/*" + file, Reason: reason(err), Absent: host.IsAbsent(err)}
	if !concernsAll(err) {
		m.What += " " + address
		m.Source = pciDevices + "/" + address + file
	}
	if g.told == nil {
		g.told = make(map[fabric.Missing]bool)
	}
	if !g.told[m] {
		g.told[m] = true
		g.entries = append(g.entries, m)
	}
}

// concernsAll holds for files that this kernel does not have and for reading without root.
func concernsAll(err error) bool {
	return errors.Is(err, errNeedsRoot) || host.IsAbsent(err)
}

func (g *pciGaps) missing() []fabric.Missing { return g.entries }
