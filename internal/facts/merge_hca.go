package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// listed tells who named the device of a fact: nics.mtu eth1 is of nics eth1.
func (m *merger) listed(what string) string {
	path, device, _ := strings.Cut(what, " ")
	list, _, _ := strings.Cut(path, ".")
	device, _, _ = strings.Cut(device, "/") // mlx5_0/1 is a port of mlx5_0
	return m.told[list+" "+device]
}

func (m *merger) mergeHCA(said fabric.HCA) {
	i := slices.IndexFunc(m.f.HCAs, func(h fabric.HCA) bool { return h.Name == said.Name })
	if i < 0 {
		if m.kernel[fabric.FactHCAs] {
			return
		}
		m.f.HCAs = append(m.f.HCAs, fabric.HCA{Name: said.Name})
		m.told[fabric.FactHCAs+" "+said.Name] = m.tool
		i = len(m.f.HCAs) - 1
	}
	h, at := &m.f.HCAs[i], " "+said.Name
	keep(m, fabric.FactHCANodeGUID+at, &h.NodeGUID, said.NodeGUID)
	keep(m, fabric.FactHCASystemGUID+at, &h.SystemGUID, said.SystemGUID)
	keep(m, fabric.FactHCAFirmware+at, &h.Firmware, said.Firmware)
	keep(m, fabric.FactHCABoardID+at, &h.BoardID, said.BoardID)
	h.Type = cmp.Or(h.Type, said.Type)
	keep(m, fabric.FactHCAPCI+at, &h.PCI, said.PCI)
	for _, p := range said.Ports {
		m.mergePort(h, p)
	}
}

// mergePort compares what stays: a port may change its state between two readings, and gets its LID with it.
func (m *merger) mergePort(h *fabric.HCA, said fabric.Port) {
	i := slices.IndexFunc(h.Ports, func(p fabric.Port) bool { return p.Number == said.Number })
	if i < 0 {
		if m.kernel[fabric.FactHCAs] {
			return
		}
		h.Ports = append(h.Ports, fabric.Port{Number: said.Number})
		i = len(h.Ports) - 1
	}
	p, at := &h.Ports[i], fmt.Sprintf(" %s/%d", h.Name, said.Number)
	p.State, p.PhysState = cmp.Or(p.State, said.State), cmp.Or(p.PhysState, said.PhysState)
	p.LID, p.SMLID = cmp.Or(p.LID, said.LID), cmp.Or(p.SMLID, said.SMLID)
	p.ActiveMTU = cmp.Or(p.ActiveMTU, said.ActiveMTU)
	keepPointer(m, fabric.FactPortMaxMTU+at, &p.MaxMTU, said.MaxMTU)
	keep(m, fabric.FactPortLinkLayer+at, &p.LinkLayer, said.LinkLayer)
	if p.State == "ACTIVE" && said.State == "ACTIVE" { // a port that is down has no rate worth the name
		keepPointer(m, fabric.FactPortRate+at, &p.RateGbps, said.RateGbps)
	} else {
		p.RateGbps = cmp.Or(p.RateGbps, said.RateGbps)
	}
	m.mergeGIDs(p, said.GIDs, at)
}

// mergeGIDs takes a table where none is. An entry without a GID says only which network device is behind an
// index.
func (m *merger) mergeGIDs(p *fabric.Port, said []fabric.GID, at string) {
	take := len(p.GIDs) == 0 && !m.kernel[fabric.FactHCAs]
	for _, g := range said {
		i := slices.IndexFunc(p.GIDs, func(have fabric.GID) bool { return have.Index == g.Index })
		switch {
		case i < 0 && take && g.GID != "":
			p.GIDs = append(p.GIDs, g)
		case i >= 0:
			have := &p.GIDs[i]
			have.Type = cmp.Or(have.Type, g.Type)
			keep(m, fabric.FactPortGIDNetDev+at, &have.NetDev, g.NetDev)
		}
	}
}

// firstVersion cuts what follows a version: "28.39.1002 (MT_0000000838)", "231.2.63.0/pkg 231.1.162.1".
func firstVersion(text string) string {
	if i := strings.IndexAny(text, " /"); i >= 0 {
		return text[:i]
	}
	return text
}
