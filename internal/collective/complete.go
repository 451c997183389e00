package collective

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// netNone is the value for machines without a fabric between them.
const netNone = "none"

// complete fills in the unspecified hardware, and records what it filled in.
func complete(cat *catalog.Catalog, hw fabric.Hardware) (fabric.Hardware, []fabric.Assumption, error) {
	var assumed []fabric.Assumption
	assume := func(what, source string) { assumed = append(assumed, fabric.Assumption{What: what, Source: source}) }
	hw.GPU, hw.Net, hw.CPU = plain(hw.GPU), fabric.NetworkID(hw.Net), plain(hw.CPU)
	if id, _, err := cat.GPU(hw.GPU); err == nil {
		hw.GPU = id
	} else if id, ok := named(cat, hw.GPU); ok {
		assume(fmt.Sprintf("GPU %q is %s", hw.GPU, cat.GPUs[id].Title), "its name")
		hw.GPU = id
	}
	if hw.Machine != "" {
		m, err := cat.Machine(hw.Machine)
		if err != nil {
			return hw, nil, err
		}
		fromMachine(cat, &hw, m)
		if m.GPU == "" && hw.GPU != "" && hw.GPUsPerNode > 0 {
			assume(fmt.Sprintf("%s are where most machines have them", fabric.Count(hw.GPUsPerNode, "GPU")), fmt.Sprintf("the catalog knows no GPUs of machine %q", hw.Machine))
			hw.Machine = "" // what is left of it is its network
		}
	} else if id, m, ok := sibling(cat, hw); ok {
		before := hw
		fillSibling(cat, &hw, m)
		if hw != before {
			assume(fmt.Sprintf("unspecified values are those of %s", m.Title), "catalog, machine "+id)
		}
	}
	if hw.Nodes == 0 {
		hw.Nodes = 1
		assume("one node", "the number of nodes is unspecified")
	}
	switch {
	case hw.GPUsPerNode == 0 && hw.GPU == "":
		return hw, nil, fmt.Errorf("hardware: gpu: unspecified, and the catalog knows no GPUs of machine %q: state gpu and gpus_per_node (--gpu, --gpus)", hw.Machine)
	case hw.GPUsPerNode == 0 && hw.Machine != "":
		return hw, nil, fmt.Errorf("hardware: gpus_per_node: unspecified (--gpus), and the catalog knows no GPUs of machine %q", hw.Machine)
	case hw.GPUsPerNode == 0:
		return hw, nil, fmt.Errorf("hardware: gpus_per_node: unspecified (--gpus), and no machine in the catalog has GPU %q", hw.GPU)
	}
	if hw.Net == "" && hw.Nodes > 1 {
		hw.Net = cat.FabricOf(fabric.InfiniBand)
		assume("InfiniBand between the nodes", "the fabric is unspecified")
	}
	if err := sane(hw); err != nil {
		return hw, assumed, err
	}
	more, err := wire(cat, &hw)
	return hw, append(assumed, more...), err
}

func plain(word string) string { return strings.ToLower(strings.TrimSpace(word)) }

func sane(hw fabric.Hardware) error {
	switch {
	case hw.Nodes < 1 || hw.Nodes > MaxNodes:
		return fmt.Errorf("hardware: nodes %d is not between 1 and %d", hw.Nodes, MaxNodes)
	case hw.GPUsPerNode < 1 || hw.GPUsPerNode > maxGPUs:
		return fmt.Errorf("hardware: gpus_per_node %d is not between 1 and %d", hw.GPUsPerNode, maxGPUs)
	case hw.NICsPerNode < 0 || hw.NICsPerNode > maxGPUs:
		return fmt.Errorf("hardware: nics_per_node %d is not between 0 and %d", hw.NICsPerNode, maxGPUs)
	case !(hw.NICGbps >= 0) || math.IsInf(hw.NICGbps, 0) || hw.NICGbps > 100000:
		return fmt.Errorf("hardware: nic_gbps %v is not between 0 and 100000 Gb/s", hw.NICGbps)
	case hw.MTU < 0 || hw.MTU > 65535:
		return fmt.Errorf("hardware: mtu %d is not between 0 and 65535", hw.MTU)
	case !(hw.Oversubscription >= 0) || hw.Oversubscription > 1000:
		return fmt.Errorf("hardware: oversubscription %v is not between 0 and 1000", hw.Oversubscription)
	}
	return nil
}

// fromMachine takes unspecified values from the machine that is named.
func fromMachine(cat *catalog.Catalog, hw *fabric.Hardware, m catalog.MachineModel) {
	if hw.GPU == "" {
		hw.GPU = m.GPU
	}
	if hw.GPUsPerNode == 0 {
		hw.GPUsPerNode = int(m.GPUs.Value)
	}
	fillSibling(cat, hw, m)
	if hw.NVLink == nil && m.ScaleUp == "pcie" {
		no := false
		hw.NVLink = &no
	}
}

// fillSibling takes the network and the CPU from a machine, where they fit what is specified.
func fillSibling(cat *catalog.Catalog, hw *fabric.Hardware, m catalog.MachineModel) {
	if hw.GPUsPerNode == 0 {
		hw.GPUsPerNode = int(m.GPUs.Value)
	}
	if hw.CPU == "" {
		hw.CPU = m.CPU
	}
	if hw.Net == netNone || hw.Nodes == 1 && hw.Net == "" && hw.Machine == "" {
		return
	}
	if hw.Net == "" && len(m.Fabrics) > 0 {
		hw.Net = m.Fabrics[0]
	}
	nic := cat.NICs[m.NIC]
	own := slices.Contains(m.Fabrics, hw.Net)
	port := hasTwins(nic) && hw.NICsPerNode > 1 && hw.NICGbps == nic.PortRate.Value // the rate that each function of a port shows
	if (own || cat.Fabrics[hw.Net].Sockets) && (hw.NICGbps == 0 || hw.NICGbps == nic.Rate() || port || hw.Machine != "" && hw.NICGbps < nic.Rate()) {
		if hw.NIC == "" && own { // its payload is that of its own fabrics
			hw.NIC = m.NIC
		}
		if hw.NICsPerNode == 0 && own {
			hw.NICsPerNode = cabled(nic, *hw, int(m.NICs.Value)) * joinedTrays(*hw, m)
		} else if hw.NICsPerNode == 0 {
			hw.NICsPerNode = int(m.NICs.Value)
		}
		if hw.NICGbps == 0 {
			hw.NICGbps = nic.RateOf(min(nic.Functions, hw.NICsPerNode))
		}
	}
}

// joinedTrays is how many machines of a rack a description counts as one: 72 GPUs of GB200 are 18 trays of four, with the
// NICs of all of them.
func joinedTrays(hw fabric.Hardware, m catalog.MachineModel) int {
	own := int(m.GPUs.Value)
	if own < 1 || hw.GPUsPerNode <= own || hw.GPUsPerNode > int(m.ScaleUpGPUs.Value) || hw.GPUsPerNode%own != 0 {
		return 1
	}
	return hw.GPUsPerNode / own
}

// named finds the GPU of the catalog whose id or short name is in what a table or a tool calls it: "NVIDIA H100 80GB HBM3" is h100.
// The longest such name counts; ok is false for none, and for names of several GPUs.
func named(cat *catalog.Catalog, text string) (id string, ok bool) {
	words := " " + strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '/' }), " ") + " "
	longest := 0
	for _, known := range slices.Sorted(maps.Keys(cat.GPUs)) {
		for _, name := range append([]string{known}, cat.GPUs[known].Aliases...) {
			spaced := " " + strings.ReplaceAll(name, "-", " ") + " "
			switch {
			case !strings.Contains(words, spaced) || len(spaced) < longest:
			case len(spaced) == longest && known != id:
				ok = false
			default:
				id, ok, longest = known, true, len(spaced)
			}
		}
	}
	return id, ok
}

// sibling finds the catalog's machine with these GPUs that is nearest to the description.
func sibling(cat *catalog.Catalog, hw fabric.Hardware) (id string, best catalog.MachineModel, ok bool) {
	most := -1
	for _, name := range slices.Sorted(maps.Keys(cat.Machines)) {
		m := cat.Machines[name]
		if m.GPU == "" || m.GPU != hw.GPU {
			continue
		}
		score := 0
		if hw.Net != "" && slices.Contains(m.Fabrics, hw.Net) {
			score += 4
		}
		if hw.NICGbps != 0 && cat.NICs[m.NIC].Rate() == hw.NICGbps {
			score += 2
		}
		if hw.NICsPerNode != 0 && int(m.NICs.Value) == hw.NICsPerNode {
			score++
		}
		if m.Reference {
			score++ // prefer the reference design over a cloud's machine
		}
		if score > most {
			id, best, ok, most = name, m, true, score
		}
	}
	return id, best, ok
}
