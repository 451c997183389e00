package collective

import (
	"maps"
	"slices"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// ownFabrics are a fabric and its earlier generation.
func ownFabrics(cat *catalog.Catalog, id string) map[string]bool {
	return map[string]bool{id: true, cat.Fabrics[id].Earlier.Fabric: true}
}

// likelyPayload is the share of the line rate that data is expected to reach on a fabric of which no ring was measured. For InfiniBand,
// whose senders go on as long as they have credits: what its packets leave. For RDMA over Ethernet, whose senders slow down where a
// switch marks packets: that times what the others with verbs reach of what theirs leave. For a transport of its own: the
// median of the others.
func likelyPayload(cat *catalog.Catalog, id string, f catalog.FabricModel) (share float64, source string) {
	own := ownFabrics(cat, id)
	if f.Transport == string(fabric.InfiniBand) && room(f) < 1 {
		return room(f), "what its packets leave: its senders wait for credits only"
	}
	if f.Transport != "" && room(f) < 1 {
		var reached []float64
		for other, o := range cat.Fabrics {
			if !own[other] && o.Transport != "" && o.Payload.Value > 0 {
				reached = append(reached, o.Payload.Value/room(o))
			}
		}
		if len(reached) > 0 {
			return room(f) * middle(reached), "what its packets leave, as far as the other fabrics with verbs reach it"
		}
	}
	return otherPayloads(own), "median of the measured fabrics"
}

// otherPayloads is the median of the shares of the line rate that tables of collectives show, without those of some fabrics.
func otherPayloads(own map[string]bool) float64 {
	var reached []float64
	for _, m := range []struct {
		fabric string
		share  float64
	}{
		{"roce", 0.886}, {"roce", 0.89}, {"efa", 0.923}, {"roce", 0.925}, {"ss11", 0.929}, {"roce", 0.941}, {"tcpxo", 0.943}, {"ib", 0.981},
	} {
		if !own[m.fabric] {
			reached = append(reached, m.share)
		}
	}
	return middle(reached)
}

// likelyLinks is the share of what NCCL or RCCL counts for the links of a GPU that is expected where nobody measured it: what links of the
// same rate reach on other GPUs, of the same vendor, as fewer or more of the same links do. 0: no such links were measured.
func likelyLinks(cat *catalog.Catalog, own catalog.GPUModel, measured func(catalog.GPUModel) float64) (share float64, source string) {
	reached := linkShares(cat, measured, func(o catalog.GPUModel) bool { return o.Vendor == own.Vendor && perLink(o) == perLink(own) })
	if len(reached) == 0 {
		return 0, ""
	}
	return middle(reached), "NCCL's or RCCL's count of its links, as far as other GPUs with links of the same rate reach it"
}

// likelyRing is likelyLinks of rings: without a GPU that has such links, what all others reach.
func likelyRing(cat *catalog.Catalog, own catalog.GPUModel) (share float64, source string) {
	ring := func(o catalog.GPUModel) float64 { return o.Ring.Value }
	if share, source = likelyLinks(cat, own, ring); share > 0 {
		return share, source
	}
	reached := linkShares(cat, ring, func(catalog.GPUModel) bool { return true })
	if len(reached) == 0 {
		return reachedShare, "NCCL's or RCCL's count of its links times what rings usually reach"
	}
	return middle(reached), "NCCL's or RCCL's count of its links, as far as the measured GPUs reach it"
}

// linkShares are the shares of what is counted for their links that GPUs reach, one for all with the same links.
func linkShares(cat *catalog.Catalog, measured func(catalog.GPUModel) float64, counts func(catalog.GPUModel) bool) []float64 {
	type links struct {
		vendor      string
		rate, count float64
	}
	shares := map[links]float64{}
	for _, id := range slices.Sorted(maps.Keys(cat.GPUs)) {
		m := cat.GPUs[id]
		if measured(m) == 0 || !counts(m) {
			continue
		}
		sm, gfx, err := architecture(m)
		if all := linkRate(sm, gfx) * m.ScaleUpLinks.Value; err == nil && all > 0 {
			shares[links{m.Vendor, m.ScaleUp.Value, m.ScaleUpLinks.Value}] = measured(m) / all
		}
	}
	return slices.Collect(maps.Values(shares))
}

// perLink is the rate of one link of a GPU, GB/s one way.
func perLink(m catalog.GPUModel) float64 { return m.ScaleUp.Value / m.ScaleUpLinks.Value }

// room is what the headers of full packets leave of a line; 1 where they are unknown.
func room(f catalog.FabricModel) float64 {
	if f.MTU.Value > 0 && f.Header.Value > 0 {
		return f.MTU.Value / (f.MTU.Value + f.Header.Value)
	}
	return 1
}

// likelySteps are the step and the floor of a fabric of which none was measured. NCCL's figures are of InfiniBand, and RCCL's of the
// network on which AMD measured its table for a GPU: there they hold as they are. Others take those of the other fabrics of their
// kind, RDMA by verbs or transports of their own.
func likelySteps(cat *catalog.Catalog, id string, f catalog.FabricModel, table *rcclTable) (step, floor float64) {
	own := ownFabrics(cat, id)
	var steps, floors []float64
	for other, o := range cat.Fabrics {
		if !own[other] && !o.Sockets && o.Step.Value > 0 && (o.Transport != "") == (f.Transport != "") {
			steps, floors = append(steps, o.Step.Value), append(floors, o.Floor.Value)
		}
	}
	switch {
	case f.Transport == string(fabric.InfiniBand):
		return 1, 0
	case table != nil:
		return table.fabric, 0
	case len(steps) == 0:
		return 1, 0
	}
	return middle(steps), middle(floors)
}

// middle is the median.
func middle(of []float64) float64 {
	s := slices.Sorted(slices.Values(of))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
