package nccllint

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

// judgeLinkCount holds the links of each GPU against the catalog's number where they end in switches, or in
// as many GPUs as there can be; else against the other GPUs of the file.
func judgeLinkCount(r *parsedFile) []verdict {
	var out []verdict
	withLinks, part, unknown := 0, false, (*ncclxml.Element)(nil)
	counts := map[int]*ncclxml.Element{}
	gpus := r.document.All("gpu")
	for _, g := range gpus {
		links, count := ncclxml.ScaleUp(g)
		if len(links) == 0 {
			continue
		}
		withLinks++
		if slices.ContainsFunc(links, func(l *ncclxml.Element) bool { _, has := l.Get("count"); return !has }) {
			continue // told as missing
		}
		want, ok := r.linksOf(g, len(gpus))
		switch {
		case ok && count != want:
			out = append(out, linkCountVerdict(g, links[0], count, want))
		case !ok && want > 0:
			part = true
		case !ok:
			unknown = g
		}
		counts[count] = g
	}
	switch {
	case withLinks == 0:
		return noDevices("nvlink and no xgmi elements: NCCL asks the driver for them")
	case len(out) > 0:
		return out
	case len(counts) > 1:
		return []verdict{unevenLinks(gpus)}
	case part:
		return []verdict{{status: fabric.NotApplicable, why: "The GPUs are joined without a switch, and not all that can be joined are in the file: each has links to nobody. All have the same number."}}
	case unknown != nil:
		_, count := ncclxml.ScaleUp(unknown)
		return []verdict{{
			status: fabric.NotApplicable, element: unknown, line: unknown.Line, text: fmt.Sprintf("%d links", count),
			why: "All GPUs have the same number of links. How many their kind has cannot be told: vendor and device of their <pci> are missing, or the catalog does not know them.",
		}}
	}
	return nil
}

func linkCountVerdict(g, link *ncclxml.Element, count, want int) verdict {
	v := attributeVerdict(link, "count")
	v.element, v.severity = g, fabric.SeverityWarning
	v.expected = fmt.Sprintf("%d links in all", want)
	v.why = fmt.Sprintf("The links of this GPU are %d together. NCCL believes the file.", count)
	v.cost = fmt.Sprintf("NCCL reckons with %.1f instead of %.1f GB/s, and with fewer channels", float64(count)*ncclxml.ScaleUpRate(g), float64(want)*ncclxml.ScaleUpRate(g))
	if count > want {
		v.cost = fmt.Sprintf("NCCL reckons with %.1f GB/s where there are %.1f", float64(count)*ncclxml.ScaleUpRate(g), float64(want)*ncclxml.ScaleUpRate(g))
	}
	return v
}

// linksOf is how many links a GPU has by the catalog, 0 where it is not known. ok is also false between GPUs
// without a switch of which not all that can be joined are there: each has a part of the links.
func (r *parsedFile) linksOf(gpu *ncclxml.Element, gpus int) (count int, ok bool) {
	pci := gpu.Above("pci")
	if r.parts == nil || pci == nil {
		return 0, false
	}
	_, model, ok := r.parts.GPUByPCI(ncclxml.PCIIDs(pci))
	count = int(model.ScaleUpLinks.Value)
	links, _ := ncclxml.ScaleUp(gpu)
	for _, l := range links {
		if class, has := l.Get("tclass"); has && ncclxml.ClassOf(class) == ncclxml.ClassGPU || l.Name == "xgmi" {
			return count, ok && count > 0 && gpus == count+1
		}
	}
	return count, ok && count > 0
}

// unevenLinks tells the GPU with the fewest links.
func unevenLinks(gpus []*ncclxml.Element) verdict {
	least, most, at := 0, 0, (*ncclxml.Element)(nil)
	for _, g := range gpus {
		links, count := ncclxml.ScaleUp(g)
		if len(links) == 0 {
			continue
		}
		if at == nil || count < least {
			least, at = count, links[0]
		}
		most = max(most, count)
	}
	return linkCountVerdict(at.Parent, at, least, most)
}
