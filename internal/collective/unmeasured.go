package collective

import (
	"slices"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// ownFabrics are a fabric and its earlier generation.
func ownFabrics(cat *catalog.Catalog, id string) map[string]bool {
	return map[string]bool{id: true, cat.Fabrics[id].Earlier.Fabric: true}
}

// likelyPayload is the share of the line rate that data is expected to reach on a fabric of which no ring was measured. For RDMA by
// verbs: what its packets leave, times what the others of the kind reach of what theirs leave. For a transport of its own: the
// median of the others.
func likelyPayload(cat *catalog.Catalog, id string, f catalog.FabricModel) (share float64, source string) {
	own := ownFabrics(cat, id)
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
