package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
)

// without is the catalog as it would be had nobody measured the fabric of a table: between nodes its network, and the NICs
// that speak it; within one node the links of its GPU, and of all GPUs with the same. What remains unknown follows from the rest,
// as it does for a new one.
func without(cat *catalog.Catalog, hw fabric.Hardware) *catalog.Catalog {
	less := *cat
	if hw.Nodes == 1 {
		less.GPUs = maps.Clone(cat.GPUs)
		own := cat.GPUs[hw.GPU]
		for id, g := range cat.GPUs {
			if g.Vendor == own.Vendor && g.ScaleUp.Value == own.ScaleUp.Value && g.ScaleUpLinks.Value == own.ScaleUpLinks.Value {
				g.Ring, g.Multicast, g.RingDirect = catalog.Figure{}, catalog.Figure{}, catalog.Figure{}
				less.GPUs[id] = g
			}
		}
		return &less
	}
	less.Fabrics, less.NICs = maps.Clone(cat.Fabrics), maps.Clone(cat.NICs)
	for _, id := range []string{hw.Net, cat.Fabrics[hw.Net].Earlier.Fabric} {
		if f, ok := cat.Fabrics[id]; ok {
			f.Payload, f.Step, f.Floor, f.Band = catalog.Figure{}, catalog.Figure{}, catalog.Figure{}, catalog.Band{}
			less.Fabrics[id] = f
		}
	}
	for id, n := range cat.NICs {
		if id == hw.NIC || speaks(cat, id, hw.Net) {
			n.Payload, n.Band = catalog.Figure{}, catalog.Band{}
			less.NICs[id] = n
		}
	}
	return &less
}

// speaks reports whether a machine of the catalog has a NIC on a fabric.
func speaks(cat *catalog.Catalog, nic, net string) bool {
	for _, m := range cat.Machines {
		if m.NIC == nic && slices.Contains(m.Fabrics, net) {
			return true
		}
	}
	return false
}

// leftOut predicts tables again, each without the figures of its own fabric.
func leftOut(cat *catalog.Catalog, fitted []outcome) (all []outcome, err error) {
	for _, f := range fitted {
		o, err := judge(without(cat, f.prediction.Hardware), f.table)
		if err != nil {
			return nil, fmt.Errorf("table %s without its fabric: %w", f.table.ID, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// printLeftOut writes the figures of both beside one another. Bars that are missed with the fabric left out are said: nothing of
// a new kind of fabric, such as one that reaches half of its line, can be told from the others.
func printLeftOut(w io.Writer, fitted, left []outcome) {
	fmt.Fprintf(w, "\n%-50s %9s  %s\n", "healthy tables", "fitted", "its fabric left out")
	with, less := barsOf(fitted).all, barsOf(left).all
	for i, b := range with {
		_, verdict := less[i].words()
		fmt.Fprintf(w, "  %-48s %8.2f%-1s  %8.2f%-1s %s\n", b.name, b.value, b.unit, less[i].value, less[i].unit, strings.ToLower(verdict))
	}
}

// bandsHold reports whether bands hold what predictions say that they do, of tables whose fabric was left out.
func bandsHold(w io.Writer, left []outcome) bool {
	in, of := 0, 0
	for _, o := range left {
		if o.table.Health == healthy {
			i, n := o.inside()
			in, of = in+i, of+n
		}
	}
	holds := float64(in) >= collective.BandHolds*float64(of)
	fmt.Fprintf(w, "  a prediction says that its bands hold %.0f %%: %v\n", 100*collective.BandHolds, holds)
	return holds
}
