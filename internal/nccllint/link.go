package nccllint

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/topology"
)

// checkLinkCount compares the links of each GPU with the catalog's number where they end in switches, or in
// as many GPUs as there can be; otherwise with the other GPUs of the file.
func checkLinkCount(r *parsedFile) []verdict { return append(r.countLinks(), r.unlinked()...) }

// unlinked are remarks on GPUs without links beside others that have some.
func (r *parsedFile) unlinked() []verdict {
	var out []verdict
	gpus := r.document.All("gpu")
	for _, g := range gpus {
		if links, _ := ncclxml.ScaleUp(g); len(links) == 0 {
			out = append(out, verdict{why: "This GPU has no links in the file though others have: NCCL queries the driver for them.", cost: "nothing on the machine itself; the file does not have them"}.at(g).remark())
		}
	}
	if len(out) == len(gpus) {
		return nil
	}
	return out
}

func (r *parsedFile) countLinks() []verdict {
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
			continue // reported as missing
		}
		want, ok := r.linksOf(g, len(gpus))
		switch {
		case ok && count != want:
			out = append(out, linkCountVerdict(g, links[0], count, want))
		case !ok && want > 0:
			part = true
		case !ok:
			if known := r.switchedCounts(g); len(known) > 0 && !slices.Contains(known, count) {
				out = append(out, unknownCountVerdict(g, links[0], count, known))
			}
			unknown = g
		}
		counts[count] = g
	}
	switch {
	case withLinks == 0:
		return notInFile("nvlink and no xgmi elements: NCCL queries the driver for them")
	case len(out) > 0:
		return out
	case len(counts) > 1:
		return []verdict{unevenLinks(gpus)}
	case part:
		return []verdict{{status: fabric.NotApplicable, why: "The GPUs are connected without a switch, and some links lead to devices that are not in the file. All GPUs have the same number of links."}}
	case unknown != nil:
		_, count := ncclxml.ScaleUp(unknown)
		return []verdict{{
			status: fabric.NotApplicable, element: unknown, line: unknown.Line, text: fmt.Sprintf("%d links", count),
			why: "All GPUs have the same number of links. The number for this model is unknown: vendor and device of their <pci> are missing or not in the catalog.",
		}}
	}
	return nil
}

func linkCountVerdict(g, link *ncclxml.Element, count, want int) verdict {
	v := attributeVerdict(link, "count")
	v.element = g
	v.expected = fmt.Sprintf("%d links in total", want)
	v.why = fmt.Sprintf("This GPU has %d links in total. NCCL trusts the file.", count)
	v.cost = fmt.Sprintf("NCCL assumes %.1f instead of %.1f GB/s, and uses fewer channels", float64(count)*ncclxml.ScaleUpRate(g), float64(want)*ncclxml.ScaleUpRate(g))
	if count > want {
		v.cost = fmt.Sprintf("NCCL assumes %.1f instead of %.1f GB/s", float64(count)*ncclxml.ScaleUpRate(g), float64(want)*ncclxml.ScaleUpRate(g))
	}
	return v
}

// switchedCounts are the numbers of links that GPUs of the catalog with this compute capability have; none where they
// do not all end in switches, or a GPU has no number in the catalog.
func (r *parsedFile) switchedCounts(gpu *ncclxml.Element) []int {
	links, _ := ncclxml.ScaleUp(gpu)
	for _, l := range links {
		if class, has := l.Get("tclass"); has && ncclxml.ClassOf(class) != ncclxml.ClassNVSwitch || l.Name == "xgmi" {
			return nil
		}
	}
	if r.parts == nil {
		return nil
	}
	var counts []int
	for _, model := range r.parts.GPUs {
		sm, _ := topology.Architecture(model.Arch)
		if n := int(model.ScaleUpLinks.Value); sm > 0 && sm == gpu.IntegerOr("sm", 0) && n > 0 {
			counts = append(counts, n)
		}
	}
	slices.Sort(counts)
	return slices.Compact(counts)
}

// unknownCountVerdict is on a GPU whose model is unknown: no GPU of its compute capability has this many links.
func unknownCountVerdict(g, link *ncclxml.Element, count int, known []int) verdict {
	v := linkCountVerdict(g, link, count, known[len(known)-1])
	v.expected = fmt.Sprintf("of sm %d: %s links in total", g.IntegerOr("sm", 0), fabric.Printable(strings.Trim(fmt.Sprint(known), "[]")))
	v.why += " The GPU's model is not stated; no GPU of this sm with NVSwitches in the catalog has that many."
	return v
}

// linksOf is how many links a GPU has according to the catalog, 0 where it is unknown. ok is also false between GPUs
// without a switch of which some are missing: each has a part of the links.
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

// unevenLinks reports the GPU with the fewest links.
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

// joint is a link whose far end should be in the file: between two GPUs, or two switches.
type joint struct {
	element  *ncclxml.Element
	from, to int64 // as the numbers that NCCL derives from addresses
}

func joints(d *ncclxml.Document) []joint {
	var out []joint
	for _, name := range []string{"nvlink", "xgmi", "pcilink"} {
		for _, l := range d.All(name) {
			class, has := l.Get("tclass")
			if name == "pcilink" || has && ncclxml.IsGPU(class) {
				target, _ := l.Get("target")
				out = append(out, joint{element: l, from: ncclxml.BusNumber(ncclxml.BusOf(l)), to: ncclxml.BusNumber(target)})
			}
		}
	}
	return out
}

// checkTargets follows links between GPUs, and between switches.
func checkTargets(r *parsedFile) []verdict {
	type way struct{ from, to int64 }
	counts, owner := map[way]int{}, map[int64]bool{}
	for _, pci := range r.document.All("pci") {
		bus, _ := pci.Get("busid")
		owner[ncclxml.BusNumber(bus)] = true
	}
	all := joints(&r.document)
	for _, j := range all {
		counts[way{j.from, j.to}] += j.element.IntegerOr("count", 0)
	}
	if len(all) == 0 {
		return notInFile("links whose other end is in the file")
	}
	var out []verdict
	for _, j := range all {
		v := attributeVerdict(j.element, "target")
		v.severity = fabric.SeverityWarning
		back, both := counts[way{j.to, j.from}]
		switch pci := j.element.Above("pci"); {
		case j.element.Name == "pcilink" && pci != nil && !isSwitchElement(pci):
			v.severity, v.cost = fabric.SeverityError, jobDies
			v.why = fmt.Sprintf("Add PCI Link error : could not find PCI SW %x. A pcilink joins two switches, and the <pci> around this one is not a switch.", j.from)
		case j.from == j.to:
			v.why, v.cost = "The link ends at its own device.", "NCCL counts it as a link to itself, and it is missing elsewhere"
		case !owner[j.to]:
			r.lostLink(j, owner, &v)
		case !both:
			v.why, v.cost = "The other end has no link back.", "NCCL assumes the link in one direction only"
		case back != counts[way{j.from, j.to}]:
			v.why, v.cost = fmt.Sprintf("It counts %d links, the other end %d.", counts[way{j.from, j.to}], back), "NCCL assumes different rates for the two directions"
		default:
			continue
		}
		out = append(out, v)
	}
	return out
}

// isSwitchElement reports whether NCCL treats a <pci> as a switch: one without GPU and NIC, and not of their classes.
func isSwitchElement(pci *ncclxml.Element) bool {
	class, _ := pci.Get("class")
	return len(pci.ChildrenOf("gpu")) == 0 && len(pci.ChildrenOf("nic")) == 0 && ncclxml.ClassOf(class) == ncclxml.ClassBridge && !ncclxml.IsGPU(class)
}

// lostLink checks a link to a device that is not in the file. It may be a GPU of another job; a GPU without
// any link is connected to the others over PCIe.
func (r *parsedFile) lostLink(j joint, owner map[int64]bool, v *verdict) {
	v.why, v.cost = "No <pci> in the file has this bus id: NCCL silently drops the link.", "nothing if the job does not use that device; otherwise the link is lost"
	gpu := j.element.Above("gpu")
	if gpu == nil || len(r.devices.All("gpu")) < 2 {
		*v = v.remark()
		return
	}
	links, count := ncclxml.ScaleUp(gpu)
	for _, l := range links {
		class, _ := l.Get("tclass")
		target, _ := l.Get("target")
		if !ncclxml.IsGPU(class) { // a switch joins all GPUs: no link of it leads to a single one
			return
		}
		if owner[ncclxml.BusNumber(target)] {
			*v = v.remark() // a mesh, of which the job uses a part
			return
		}
	}
	speed, _ := gpu.Above("pci").Get("link_speed")
	lane, _ := ncclxml.LaneRate(speed)
	pcie := float64(ncclxml.LaneCount(gpu.Above("pci"))) * lane
	v.severity = fabric.SeverityError
	v.why += " The GPU has no other link. tclass 0x03.... is a GPU; an NVSwitch has 0x068000."
	v.cost = fmt.Sprintf("NCCL assumes %.1f GB/s over PCIe instead of %.1f over NVLink; on two H200 all_reduce fell from 299 to 28 GB/s", pcie, float64(count)*ncclxml.ScaleUpRate(gpu))
}
