package topology

import (
	"cmp"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// PCIFunctions is the PCI functions of a host with what is below each.
type PCIFunctions struct {
	byAddress map[string]*fabric.PCIDevice
	below     map[string][]*fabric.PCIDevice // by the bridge directly above, in order of address
}

// NewPCIFunctions indexes a list of functions; it keeps pointers into it.
func NewPCIFunctions(list []fabric.PCIDevice) *PCIFunctions {
	p := &PCIFunctions{byAddress: make(map[string]*fabric.PCIDevice, len(list)), below: make(map[string][]*fabric.PCIDevice)}
	for i := range list {
		p.byAddress[list[i].Address] = &list[i]
	}
	for i := range list {
		p.below[list[i].Parent] = append(p.below[list[i].Parent], &list[i])
	}
	for _, children := range p.below {
		slices.SortFunc(children, func(a, b *fabric.PCIDevice) int { return CompareBus(a.Address, b.Address) })
	}
	return p
}

// Function returns a function by its address; nil where it is not in the list.
func (p *PCIFunctions) Function(address string) *fabric.PCIDevice { return p.byAddress[address] }

// above returns the bridges above a function, nearest first. whole is false where one of them is not in the list, or the
// parents have no end.
func (p *PCIFunctions) above(address string) (chain []*fabric.PCIDevice, whole bool) {
	d := p.byAddress[address]
	for d != nil && d.Parent != "" && len(chain) < maxDepth {
		if d = p.byAddress[d.Parent]; d != nil {
			chain = append(chain, d)
		}
	}
	return chain, d != nil && d.Parent == ""
}

// isUpstream reports whether a bridge is the upstream port of a switch: of the bridges from the root port down, every
// second one. What is directly below it is inside the switch, without a link.
func (p *PCIFunctions) isUpstream(d *fabric.PCIDevice) bool {
	chain, _ := p.above(d.Address)
	return isBridgeClass(d.Class) && len(chain)%2 == 1
}

func isBridgeClass(class uint32) bool { return class>>8 == 0x0604 }

// LinkState is how a PCIe link trained.
type LinkState string

// The states of a link, the worst first.
const (
	LinkDowngraded LinkState = "downgraded" // below what both of its ends support
	LinkUnknown    LinkState = "unknown"    // now or at most was not read, or its ends contradict each other
	LinkLimited    LinkState = "limited"    // as fast and wide as both ends support, but one of them supports more
	LinkFull       LinkState = "full"       // as fast and wide as each end supports
)

// PCIeLink is a PCIe link with both of its ends. Rates are as from RawRate: what its lanes carry one way after the line
// code, before packet headers.
type PCIeLink struct {
	Lower     string    `json:"lower"`               // function at its lower end: of several the first
	Upper     string    `json:"upper,omitempty"`     // port above; empty where the source does not show it, as in a virtual machine
	Functions int       `json:"functions,omitempty"` // at its lower end, where it is more than one
	Speed     float64   `json:"speed,omitempty"`     // GT/s; 0: unknown
	Width     int       `json:"width,omitempty"`     // lanes; 0: unknown
	LowerMax  LinkRate  `json:"lower_max,omitzero"`
	UpperMax  LinkRate  `json:"upper_max,omitzero"`
	GBs       float64   `json:"rate_gbs,omitempty"`     // 0: unknown
	MostGBs   float64   `json:"possible_gbs,omitempty"` // at what both ends support; 0: unknown
	State     LinkState `json:"state"`
	Why       string    `json:"why,omitempty"` // of a state that is not full
}

// LinkRate is a speed in GT/s and a width in lanes; 0 where unknown.
type LinkRate struct {
	Speed float64 `json:"speed,omitempty"`
	Width int     `json:"width,omitempty"`
}

// LossGBs is what a downgraded link carries less than its ends support, GB/s one way; 0 of any other.
func (l PCIeLink) LossGBs() float64 {
	if l.State != LinkDowngraded {
		return 0
	}
	return l.MostGBs - l.GBs
}

// linkOf returns the link above a function; ok is false where there is none: inside a switch, or in the root complex.
func (p *PCIFunctions) linkOf(d *fabric.PCIDevice) (l PCIeLink, ok bool) {
	port := p.byAddress[d.Parent]
	switch {
	case d.Parent == "" && (d.Link == nil || isBridgeClass(d.Class)):
		return l, false // integrated, or a root port, whose registers are those of the link below it
	case port != nil && p.isUpstream(port):
		return l, false
	}
	siblings := []*fabric.PCIDevice{d}
	if port != nil {
		siblings = p.below[port.Address]
	}
	low := siblings[0]
	if i := slices.IndexFunc(siblings, reportsLink); i >= 0 {
		low = siblings[i] // the registers of virtual functions read as zeros
	}
	l = PCIeLink{Lower: low.Address, Upper: d.Parent, LowerMax: most(low)}
	if len(siblings) > 1 {
		l.Functions = len(siblings)
	}
	if port != nil {
		l.UpperMax = most(port)
	}
	l.train(low.Link, port)
	return l, true
}

func reportsLink(d *fabric.PCIDevice) bool {
	return d.Link != nil && d.Link.Speed > 0 && d.Link.Width > 0
}

func most(d *fabric.PCIDevice) LinkRate {
	if d.Link == nil {
		return LinkRate{}
	}
	return LinkRate{Speed: d.Link.MaxSpeed, Width: d.Link.MaxWidth}
}

// train sets what a link runs at, and the state that follows from what its ends support.
func (l *PCIeLink) train(low *fabric.PCILink, port *fabric.PCIDevice) {
	var down, up fabric.PCILink
	if low != nil {
		down = *low
	}
	if port != nil && port.Link != nil {
		up = *port.Link
	}
	l.State = LinkUnknown
	if down.Speed > 0 && up.Speed > 0 && down.Speed != up.Speed || down.Width > 0 && up.Width > 0 && down.Width != up.Width {
		l.Why = "its ends contradict each other: the lower one reports " + linkWords(down.Speed, down.Width) + ", the upper one " + linkWords(up.Speed, up.Width)
		return
	}
	l.Speed, l.Width = cmp.Or(down.Speed, up.Speed), cmp.Or(down.Width, up.Width)
	l.GBs = RawRate(l.Speed, l.Width)
	if l.GBs == 0 {
		l.Why = "its speed or width was not read, or the hardware does not report it"
		return
	}
	a, b := l.LowerMax, l.UpperMax
	best := LinkRate{min(a.Speed, b.Speed), min(a.Width, b.Width)}
	alone := a
	if a == (LinkRate{}) {
		alone = b
	}
	switch {
	case best.Speed > 0 && best.Width > 0:
		l.MostGBs = RawRate(best.Speed, best.Width)
	case alone.Speed > 0 && alone.Width > 0 && l.Speed >= alone.Speed && l.Width >= alone.Width:
		// One end alone, and all that it can: the other end cannot make it faster.
		l.MostGBs, l.State = l.GBs, LinkFull
		return
	default:
		l.Why = "it runs at " + linkWords(l.Speed, l.Width) + ", and what both of its ends support was not read"
		return
	}
	switch {
	case l.Speed < best.Speed || l.Width < best.Width:
		l.State, l.Why = LinkDowngraded, "it runs at "+linkWords(l.Speed, l.Width)+", both ends support "+linkWords(best.Speed, best.Width)
	case a != b:
		l.State, l.Why = LinkLimited, "the lower end supports "+linkWords(a.Speed, a.Width)+", the upper one "+linkWords(b.Speed, b.Width)
	default:
		l.State = LinkFull
	}
}

func linkWords(speed float64, width int) string { return fmt.Sprintf("%g GT/s x%d", speed, width) }
