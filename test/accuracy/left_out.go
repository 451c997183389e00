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
// that speak it; within one node the links of its GPU. What remains unknown follows from the other fabrics, as it would
// for a new one.
func without(cat *catalog.Catalog, hw fabric.Hardware) *catalog.Catalog {
	less := *cat
	if hw.Nodes == 1 {
		less.GPUs = maps.Clone(cat.GPUs)
		g := less.GPUs[hw.GPU]
		g.Ring, g.Multicast, g.RingDirect = catalog.Figure{}, catalog.Figure{}, catalog.Figure{}
		less.GPUs[hw.GPU] = g
		return &less
	}
	less.Fabrics, less.NICs = maps.Clone(cat.Fabrics), maps.Clone(cat.NICs)
	own := map[string]bool{hw.Net: true, cat.Fabrics[hw.Net].Earlier.Fabric: true}
	for id := range own {
		if f, ok := cat.Fabrics[id]; ok {
			less.Fabrics[id] = unmeasured(cat, f, own)
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

// unmeasured is a fabric with the medians of the others of its kind: those of RDMA by verbs, or those of clouds' own transports.
// What follows from its packets stays.
func unmeasured(cat *catalog.Catalog, f catalog.FabricModel, own map[string]bool) catalog.FabricModel {
	var payload, step, floor []float64
	for id, o := range cat.Fabrics {
		if own[id] || o.Sockets || (o.Transport != "") != (f.Transport != "") {
			continue
		}
		step, floor = append(step, max(1, o.Step.Value)), append(floor, o.Floor.Value)
		if o.Payload.Value > 0 {
			payload = append(payload, o.Payload.Value)
		}
	}
	if len(payload) > 0 {
		f.Payload = catalog.Figure{Value: quantile(payload, 0.5), Unit: "ratio", Source: "the other fabrics of its kind"}
	}
	if len(step) > 0 {
		f.Step.Value, f.Floor.Value = quantile(step, 0.5), quantile(floor, 0.5)
	}
	f.Band = catalog.Band{}
	return f
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
