package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// RateFormula says how a rate follows from a link's speed and width.
const RateFormula = "lanes x GT/s x line code / 8 (8/10 to 5 GT/s, 128/130 to 32 GT/s, 236/256 from 64 GT/s), one way, before packet headers"

// PCIeReport is every PCIe link of a host between its GPUs and NICs and the root, how it runs against what its ends
// support, and the access control (ACS) of every function.
type PCIeReport struct {
	fabric.Meta
	Node      string            `json:"node"`
	Source    string            `json:"source"`
	Functions int               `json:"functions"` // PCI functions that were read
	Whole     bool              `json:"whole"`     // all functions of the host; false: GPUs, NICs and the bridges above them
	Formula   string            `json:"rate_formula"`
	Paths     []PCIePath        `json:"paths"`
	Links     []PCIeLink        `json:"links"`           // in order of address
	Worst     *PCIeWorst        `json:"worst,omitempty"` // nil: no rate of any path is known
	ACS       ACSLists          `json:"acs"`
	Switches  []PCIeSwitch      `json:"switches"`
	Layout    *LayoutComparison `json:"layout,omitempty"` // nil: not compared with a machine of the catalog
	Load      *PCIeLoad         `json:"load,omitempty"`   // nil: not measured
	Missing   []fabric.Missing  `json:"missing,omitempty"`
}

// PCIePath is the links from a GPU or NIC to the root.
type PCIePath struct {
	Kind      Kind     `json:"kind"`
	Name      string   `json:"name,omitempty"` // GPU0, the interface, or the RDMA device; empty where unknown
	Address   string   `json:"address"`
	Functions int      `json:"functions,omitempty"`    // that share the path, where there are several
	Links     []string `json:"links"`                  // the lower end of each, from the device up; empty: it is part of the root complex
	Narrowest string   `json:"narrowest,omitempty"`    // lower end of the slowest of them; empty: none, or the rate of a link is unknown
	GBs       float64  `json:"rate_gbs,omitempty"`     // of the slowest; 0: unknown
	MostGBs   float64  `json:"possible_gbs,omitempty"` // if each link were what its ends support; 0: unknown
	Why       string   `json:"why,omitempty"`          // why the path is not known to its end
}

// PCIeWorst is the link that costs most, or where none costs anything the slowest on a path.
type PCIeWorst struct {
	PCIeLink
	CostGBs float64  `json:"cost_gbs"` // what everything below it lacks, GB/s one way
	Below   []string `json:"below"`    // GPUs and NICs
}

// Report describes the PCIe of a host's facts. whole says that the facts have every function of the host.
func Report(f *fabric.Facts, whole bool) *PCIeReport {
	p := NewPCIFunctions(f.PCI)
	r := &PCIeReport{
		Meta: fabric.NewMeta("PCIe"), Node: f.Node, Source: cmp.Or(f.Source, "unknown"), Functions: len(f.PCI), Whole: whole, Formula: RateFormula,
		Paths: []PCIePath{}, Links: []PCIeLink{}, ACS: acsLists(f), Missing: missingPCI(f, p),
	}
	links := make(map[string]PCIeLink) // by the lower end
	ends := pcieEnds(f)
	for i := range ends {
		r.path(p, &ends[i], links)
	}
	for i := range f.PCI {
		if l, ok := p.linkOf(&f.PCI[i]); ok && (l.State != LinkUnknown || l.LowerMax != (LinkRate{}) || l.UpperMax != (LinkRate{})) {
			links[l.Lower] = l
		}
	}
	for _, lower := range slices.SortedFunc(maps.Keys(links), CompareBus) {
		r.Links = append(r.Links, links[lower])
	}
	r.worst(links)
	r.Switches = switchesOf(p, r.Paths, whole)
	reasons := make(map[string]string)
	for _, m := range f.Missing {
		reasons[m.What] = m.Reason
	}
	for i := range r.Links {
		l := &r.Links[i]
		if reason := cmp.Or(reasons[fabric.FactPCILink+" "+l.Lower], reasons[fabric.FactPCILink]); reason != "" && l.State == LinkUnknown {
			l.Why += ": " + reason
		}
	}
	return r
}

// Compare adds how the layout of the host differs from that of a machine of the catalog. An unknown id is an error.
func (r *PCIeReport) Compare(f *fabric.Facts, cat *catalog.Catalog, id string) error {
	m, err := NominalMachine(cat, id)
	if err != nil {
		return err
	}
	var gpus, nics []string
	for i := range f.PCI {
		switch pci := fmt.Sprintf("%04x:%04x", f.PCI[i].Vendor, f.PCI[i].Device); {
		case slices.Contains(m.GPUPCIIDs, pci):
			gpus = append(gpus, f.PCI[i].Address)
		case slices.Contains(m.NICPCIIDs, pci):
			nics = append(nics, f.PCI[i].Address)
		}
	}
	c := CompareLayout(SwitchLayoutOf(NewPCIFunctions(f.PCI), gpus, nics), m)
	if len(gpus)+len(nics) == 0 {
		c.Status, c.Differences = fabric.Unknown, append(c.Differences, "no "+m.GPU+" and no "+m.NIC+" was found")
	}
	r.comparePorts(&c, cat.Machines[id].SwitchPorts)
	r.Layout = &c
	return nil
}

// comparePorts holds the downstream ports of each switch against the catalog, where all functions of the host were read.
func (r *PCIeReport) comparePorts(c *LayoutComparison, want catalog.Range) {
	if !r.Whole || want == (catalog.Range{}) || c.Status == fabric.Unknown {
		return
	}
	c.Expected += fmt.Sprintf(", %g to %g downstream ports", want.Least, want.Most)
	for _, s := range r.Switches {
		if len(s.GPUs) > 0 && s.Downstream != nil && (float64(*s.Downstream) < want.Least || float64(*s.Downstream) > want.Most) {
			c.add("switch %s has %s, not %g to %g", s.Upstream, fabric.Count(*s.Downstream, "downstream port"), want.Least, want.Most)
			c.Status = fabric.Fail
		}
	}
}

// missingPCI is what of the PCI functions could not be read. That a function has no link, as it is part of the root complex or
// not of PCI Express, is no gap.
func missingPCI(f *fabric.Facts, p *PCIFunctions) []fabric.Missing {
	var out []fabric.Missing
	for _, m := range f.Missing {
		path, of, _ := strings.Cut(m.What, " ")
		if path != fabric.FactPCI && path != fabric.FactPCILink && path != fabric.FactPCIACS && path != fabric.FactGPUs {
			continue
		}
		if d := p.Function(of); path == fabric.FactPCILink && d != nil && hasNoLink(d) {
			continue
		}
		out = append(out, m)
	}
	return out
}

// hasNoLink recognises a function of the root complex, or of conventional PCI: the latter was read, and has neither a Device
// Control register nor extended capabilities.
func hasNoLink(d *fabric.PCIDevice) bool {
	conventional := d.Control == nil && d.ACS != nil && !d.ACS.Present
	return d.Link == nil && (d.Parent == "" || conventional)
}

// pcieEnds lists the GPUs and the network controllers, as far as they have a PCI function; of functions on one link, such as
// the ports and the virtual functions of a card, the first stands for all.
func pcieEnds(f *fabric.Facts) []PCIePath {
	names := make(map[string]string)
	for _, h := range f.HCAs {
		names[h.PCI] = h.Name
	}
	for _, n := range f.NICs {
		if n.PCI != "" && n.Name != "" {
			names[n.PCI] = n.Name
		}
	}
	gpus := make(map[string]bool)
	for _, g := range f.GPUs {
		gpus[g.PCI] = true
	}
	var ends []PCIePath
	for i := range f.PCI {
		switch d := &f.PCI[i]; {
		case gpus[d.Address]:
			ends = append(ends, PCIePath{Kind: KindGPU, Address: d.Address})
		case d.Class>>16 == classEthernet>>16:
			ends = append(ends, PCIePath{Kind: KindNIC, Address: d.Address, Name: names[d.Address]})
		}
	}
	slices.SortFunc(ends, func(a, b PCIePath) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), CompareBus(a.Address, b.Address))
	})
	for i := range ends {
		if ends[i].Kind == KindGPU {
			ends[i].Name = fmt.Sprintf("GPU%d", i)
		}
	}
	return ends
}

// path adds the path of an end, and its links.
func (r *PCIeReport) path(p *PCIFunctions, end *PCIePath, links map[string]PCIeLink) {
	d := p.Function(end.Address)
	chain, whole := p.above(end.Address)
	end.Links = []string{}
	known := whole
	slowest := PCIeLink{}
	for _, at := range append([]*fabric.PCIDevice{d}, chain...) {
		l, ok := p.linkOf(at)
		if !ok {
			continue
		}
		links[l.Lower] = l
		end.Links = append(end.Links, l.Lower)
		if at == d && l.Functions > 1 && r.joins(p, end, d.Parent) {
			return
		}
		known = known && l.GBs > 0
		if slowest.GBs == 0 || l.GBs > 0 && l.GBs < slowest.GBs {
			slowest = l
		}
		if l.MostGBs > 0 && (end.MostGBs == 0 || l.MostGBs < end.MostGBs) {
			end.MostGBs = l.MostGBs
		}
	}
	switch {
	case !whole:
		end.Why = "a bridge above it was not read"
	case !known:
		end.Why = "the rate of a link above it is unknown"
	case len(end.Links) > 0:
		end.Narrowest, end.GBs = slowest.Lower, slowest.GBs
	}
	if !known {
		end.MostGBs = 0
	}
	r.Paths = append(r.Paths, *end)
}

// joins counts a function with the path of another of its kind on the same link.
func (r *PCIeReport) joins(p *PCIFunctions, end *PCIePath, parent string) bool {
	if len(r.Paths) == 0 {
		return false
	}
	other := &r.Paths[len(r.Paths)-1] // they are neighbours, in order of address
	if other.Kind != end.Kind || p.Function(other.Address).Parent != parent {
		return false
	}
	other.Functions = max(other.Functions, 1) + 1
	return true
}

// worst finds the link on a path that costs most; of equal ones the one with more below it, then the first.
func (r *PCIeReport) worst(links map[string]PCIeLink) {
	below := make(map[string][]string)
	for _, path := range r.Paths {
		for _, lower := range path.Links {
			below[lower] = append(below[lower], cmp.Or(path.Name, path.Address))
		}
	}
	lowers := slices.DeleteFunc(slices.SortedFunc(maps.Keys(below), CompareBus), func(lower string) bool { return links[lower].GBs == 0 })
	if len(lowers) == 0 {
		return
	}
	worst := slices.MaxFunc(lowers, func(a, b string) int {
		return cmp.Or(cmp.Compare(links[a].LossGBs(), links[b].LossGBs()), -cmp.Compare(links[a].GBs, links[b].GBs),
			cmp.Compare(len(below[a]), len(below[b])), -CompareBus(a, b))
	})
	r.Worst = &PCIeWorst{PCIeLink: links[worst], CostGBs: links[worst].LossGBs(), Below: below[worst]}
}

// Of returns the links in a state.
func (r *PCIeReport) Of(state LinkState) []PCIeLink {
	return slices.DeleteFunc(slices.Clone(r.Links), func(l PCIeLink) bool { return l.State != state })
}

// Status is a failure where a link is downgraded or the layout is another one; unknown where a link, a path or the layout is,
// or nothing was found; else a pass. Links that no GPU or NIC uses count too.
func (r *PCIeReport) Status() fabric.Status {
	switch {
	case len(r.Of(LinkDowngraded)) > 0, r.Layout != nil && r.Layout.Status == fabric.Fail, r.Load != nil && r.Load.Status == fabric.Fail:
		return fabric.Fail
	case len(r.Paths) == 0, len(r.Missing) > 0, len(r.Of(LinkUnknown)) > 0, len(r.ACS.Unread) > 0,
		r.Layout != nil && r.Layout.Status == fabric.Unknown, r.Load != nil && r.Load.Status == fabric.Unknown,
		slices.ContainsFunc(r.Paths, func(p PCIePath) bool { return p.Why != "" }):
		return fabric.Unknown
	default:
		return fabric.Pass
	}
}
