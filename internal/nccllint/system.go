package nccllint

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/topology"
)

// systemRules check how the devices of a file are connected.
func systemRules() []rule {
	return []rule{
		{
			id: "topo-unique-busid", title: "Each bus id is unique", scope: scopeSystem, check: checkUniqueBus,
			expected: "each bus id once, as text and as the number that NCCL derives from it", reference: "NVIDIA/nccl 2.30, src/graph/xml.h (xmlFindTagKv finds the first)",
		},
		{
			id: "topo-unique-gpu", title: "Each dev and rank of a GPU is unique", scope: scopeSystem, check: checkUniqueGPU,
			expected: "each dev and each rank once", reference: "NVIDIA/nccl 2.30, src/graph/topo.h (ncclTopoDevToRank finds the first)",
		},
		{
			id: "topo-unique-net", title: "Each name, dev and port of a NIC is unique", scope: scopeSystem, check: checkUniqueNet,
			expected: "each name and dev once, each guid once per port", reference: "NVIDIA/nccl 2.30, src/graph/xml.cc (ncclTopoFillNet), topo.cc (net.asic); NVIDIA/nccl issue 1303",
		},
		{
			id: "topo-near-nic", title: "Each GPU has a NIC that it reaches without a host bridge", scope: scopeSystem, check: checkNearNIC,
			expected: "a <net> below the same PCIe switch: PIX or PXB", reference: "NVIDIA/nccl 2.30, src/graph/paths.cc (ncclTopoCheckGdr: GPUDirect RDMA up to PXB, or P2C)",
		},
		{
			id: "topo-nics-per-gpu", title: "All GPUs have the same number of nearby NICs", scope: scopeSystem, check: checkNICsPerGPU,
			expected: "the same number at PXB or nearer", reference: "NVIDIA/nccl 2.30, src/graph/search.cc: a ring is as fast as its slowest NIC",
		},
		{
			id: "topo-uplink", title: "The uplink of each switch carries the rate of its NICs", scope: scopeSystem, check: checkUplink,
			expected: "the link above a switch carries at least the line rates of the NICs below it", reference: "PCI Express Base Specification 5.0, 4.2.2 (128 of 130 bits)",
		},
		{
			id: "topo-net-pcie", title: "Each NIC's PCIe link carries the rate of its ports", scope: scopeSystem, check: checkNetPCIe,
			expected: "the sum of the speeds of its ports is within the rate of its own link", reference: "PCI Express Base Specification 5.0, 4.2.2 (128 of 130 bits); NVIDIA/nccl issue 1303",
		},
		{
			id: "topo-numa-split", title: "GPUs and NICs are split evenly between the CPUs", scope: scopeSystem, check: checkNUMA,
			expected: "each <cpu> has as many GPUs, and as many NICs, and a numaid of its own", reference: "VMware Cloud Foundation guide, appendix I: 4 + 4 GPUs and 4 + 4 NICs",
		},
		{
			id: "topo-nvlink-count", title: "Each GPU has the link count of its model", scope: scopeSystem, check: checkLinkCount,
			expected:  "the count of all nvlink or xgmi elements of a GPU is the number of its links, and the same on all GPUs",
			reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (ncclTopoAddNvLinks); a run of NCCL 2.28.9 with count 6 of 18 assumed 123.6 instead of 370.8 GB/s and all_reduce fell from 300 to 155 GB/s",
		},
		{
			id: "topo-target", title: "Each target exists and has a link back", scope: scopeSystem, check: checkTargets,
			expected: "links between two GPUs of the file, or two switches, stated by both; none to itself", reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (ncclTopoAddNvLinks, ncclTopoAddPciLinks)",
		},
	}
}

// branch returns the highest <pci> above an element, nil where there is none: traffic below it avoids the host bridge.
func branch(e *ncclxml.Element) *ncclxml.Element {
	var top *ncclxml.Element
	for p := e.Parent; p != nil; p = p.Parent {
		if p.Name == "pci" {
			top = p
		}
	}
	return top
}

// near returns the elements of this name that one reaches without a host bridge.
func near(e *ncclxml.Element, name string) []*ncclxml.Element {
	top := branch(e)
	if top == nil {
		return nil
	}
	return top.Below(name)
}

// at fills in the position of an element in the file.
func (v verdict) at(e *ncclxml.Element) verdict {
	e = e.Written()
	v.element, v.line, v.text = e, e.Line, ncclxml.Excerpt(e.Tag())
	return v
}

// notInFile is the verdict of a rule whose subject is not in the file.
func notInFile(what string) []verdict {
	return []verdict{{status: fabric.NotApplicable, why: "The file has no " + what + "."}}
}

func checkNearNIC(r *parsedFile) []verdict {
	gpus, nets := r.devices.All("gpu"), r.devices.All("net")
	if len(gpus) == 0 || len(nets) == 0 {
		return notInFile("GPU and NIC that could be near to each other")
	}
	if nets = slices.DeleteFunc(nets, isSocket); len(nets) == 0 {
		return notInFile("NIC with RDMA: all are sockets, which host memory feeds from anywhere")
	}
	var out []verdict
	for _, g := range gpus {
		if len(near(g, "net")) > 0 {
			continue
		}
		distance := "SYS"
		if cpu := g.Above("cpu"); cpu != nil && len(cpu.Below("net")) > 0 {
			distance = "PHB"
			if r.coherent(g) {
				continue
			}
		}
		out = append(out, verdict{
			status: fabric.Fail, severity: fabric.SeverityWarning,
			why:  "No <net> is below the same switch: the nearest NIC is at " + distance + ".",
			cost: "NCCL does not use GPUDirect RDMA from here: traffic crosses host memory at about half the rate, or goes through another GPU",
		}.at(g))
	}
	return out
}

// isSocket reports whether a <net> is an interface without RDMA: NCCL's socket transport states both gdr 0 and port 0.
func isSocket(e *ncclxml.Element) bool {
	_, stated := e.Get("gdr")
	return e.Name == "net" && stated && e.IntegerOr("gdr", 0) == 0 && e.IntegerOr("port", 0) == 0
}

// coherent reports whether NVLink-C2C connects a GPU to its CPU: NCCL treats a NIC of that CPU as near, P2C. A file need
// not state it: the driver does.
func (r *parsedFile) coherent(gpu *ncclxml.Element) bool {
	pci, cpu := gpu.Above("pci"), gpu.Above("cpu")
	if len(gpu.ChildrenOf("c2c")) > 0 || pci == nil || cpu == nil || r.parts == nil {
		return len(gpu.ChildrenOf("c2c")) > 0
	}
	arch, _ := cpu.Get("arch")
	_, model, ok := r.parts.GPUByPCI(ncclxml.PCIIDs(pci))
	return ok && topology.IsCoherent(model, arch)
}

func checkNICsPerGPU(r *parsedFile) []verdict {
	gpus := r.devices.All("gpu")
	if len(gpus) < 2 || len(r.devices.All("net")) == 0 {
		return notInFile("two GPUs and a NIC")
	}
	share := func(g *ncclxml.Element) float64 { // of a switch's NICs each of its GPUs has its share
		return float64(len(near(g, "net"))) / float64(max(1, len(near(g, "gpu"))))
	}
	most := 0.0
	for _, g := range gpus {
		most = max(most, share(g))
	}
	var out []verdict
	for _, g := range gpus {
		if s := share(g); s < most {
			out = append(out, verdict{
				status: fabric.Fail, severity: fabric.SeverityWarning, expected: fmt.Sprintf("%.3g NICs per GPU, as others have", most),
				why: fmt.Sprintf("It has %.3g.", s), cost: "a ring through all GPUs is limited by the GPU with the fewest NICs",
			}.at(g))
		}
	}
	return out
}

// portRate is the line rate of a net as NCCL reads it, GB/s. For a NIC that NCCL itself adds it is the catalog's;
// known is false where the NIC is not in the catalog.
func (r *parsedFile) portRate(net *ncclxml.Element) (rate float64, known bool) {
	if net.Line == 0 {
		if pci := net.Above("pci"); pci != nil && r.parts != nil {
			_, nic, ok := r.parts.NICByPCI(ncclxml.PCIIDs(pci))
			return nic.Rate() / 8, ok && nic.Rate() > 0
		}
		return 0, false
	}
	speed := net.IntegerOr("speed", 0)
	if speed <= 0 {
		speed = ncclxml.AssumedMbps
	}
	return float64(speed) / ncclxml.MbpsPerGB, true
}

// linkRate is what the PCIe link of an element carries, GB/s, with the lanes that NCCL reads; 0 where the
// speed is not plain.
func linkRate(e *ncclxml.Element) float64 {
	text, _ := e.Get("link_speed")
	speed, ok := ncclxml.MeantSpeed(text)
	if !ok {
		return 0
	}
	return topology.RawRate(speed, min(ncclxml.LaneCount(e), maxWidth))
}

// compareLinks reports the PCIe links of elements that carry less than the nets below them. It skips those
// whose NICs have no rate in the file.
func (r *parsedFile) compareLinks(keep func(*ncclxml.Element) bool, grade func(verdict) verdict, why, cost string) []verdict {
	var out []verdict
	looked, silent, unsaid := 0, 0, (*ncclxml.Element)(nil)
	for _, e := range r.devices.All("pci") {
		nets := e.Below("net")
		if len(nets) == 0 || !keep(e) {
			continue
		}
		looked++
		sum, all := 0.0, true
		for _, n := range nets {
			port, known := r.portRate(n)
			sum, all = sum+port, all && known
		}
		rate := linkRate(e)
		switch {
		case !all:
			silent++
		case rate == 0:
			unsaid = e
		case sum > rate:
			out = append(out, grade(verdict{
				status: fabric.Fail, severity: fabric.SeverityWarning,
				why: fmt.Sprintf("%s below it: %.1f GB/s in total; the link carries %.1f. %s", fabric.Count(len(nets), "NIC"), sum, rate, why), cost: fmt.Sprintf("%s: %.0f%%", cost, 100*rate/sum),
			}.at(e)))
		}
	}
	switch {
	case looked == 0:
		return nil
	case unsaid != nil && len(out) == 0:
		return []verdict{verdict{status: fabric.NotApplicable, why: "The rate of the link cannot be read from the file, so it was not compared."}.at(unsaid)}
	case silent > 0 && len(out) == 0:
		return []verdict{{status: fabric.NotApplicable, why: "The file does not state the line rates of its NICs: NCCL queries its network plugin."}}
	}
	return out
}

func checkUplink(r *parsedFile) []verdict {
	isSwitch := func(e *ncclxml.Element) bool { return len(e.ChildrenOf("pci")) > 0 }
	if !slices.ContainsFunc(r.devices.All("pci"), func(e *ncclxml.Element) bool { return isSwitch(e) && len(e.Below("net")) > 0 }) {
		return notInFile("PCIe switch with a NIC below it")
	}
	return r.compareLinks(isSwitch, verdict.remark, "Traffic between a GPU and a NIC below the switch does not use this link; traffic to host memory and to other GPUs does.", "nothing between GPUs and NICs below the switch; other traffic gets at most this share of the line rate")
}

func checkNetPCIe(r *parsedFile) []verdict {
	isNIC := func(e *ncclxml.Element) bool { return len(e.ChildrenOf("nic")) > 0 }
	if !slices.ContainsFunc(r.devices.All("pci"), isNIC) {
		return notInFile("NIC with a PCIe link")
	}
	return r.compareLinks(isNIC, func(v verdict) verdict { return v }, "NCCL trusts the stated speed.", "the NIC gets at most this share of its line rate")
}

func checkNUMA(r *parsedFile) []verdict {
	cpus := r.devices.All("cpu")
	if len(cpus) < 2 {
		return notInFile("second <cpu>")
	}
	out := repeated(cpus, "numaid", attributeOf("numaid"), fabric.SeverityWarning, "NCCL creates two CPUs with the same number.", "threads may be bound to the wrong CPU")
	for _, what := range []struct{ element, title string }{{"gpu", "GPUs"}, {"net", "NICs"}} {
		var counts []int
		for _, c := range cpus {
			counts = append(counts, len(slices.DeleteFunc(c.Below(what.element), isSocket)))
		}
		if least, most := slices.Min(counts), slices.Max(counts); least != most {
			c := cpus[slices.Index(counts, least)]
			out = append(out, verdict{
				status: fabric.Fail, severity: fabric.SeverityWarning, expected: "as many " + what.title + " on each <cpu>",
				why: fmt.Sprintf("%s of the CPUs, in order of the file: %s.", what.title, numberList(counts)), cost: "part of the traffic between GPUs and NICs crosses sockets",
			}.at(c))
		}
	}
	return out
}

func numberList(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, fmt.Sprint(n))
	}
	return strings.Join(words, " + ")
}

// sharing returns the elements whose key an earlier one has; an empty key is never shared.
func sharing(elements []*ncclxml.Element, key func(*ncclxml.Element) string) (again, first []*ncclxml.Element) {
	seen := map[string]*ncclxml.Element{}
	for _, e := range elements {
		k := key(e)
		if k == "" {
			continue
		}
		if before, ok := seen[k]; ok {
			again, first = append(again, e), append(first, before)
			continue
		}
		seen[k] = e
	}
	return again, first
}

func attributeOf(name string) func(*ncclxml.Element) string {
	return func(e *ncclxml.Element) string {
		value, _ := e.Get(name)
		return value
	}
}

// repeated reports elements that share a key with an earlier one; with severity info as remarks.
func repeated(elements []*ncclxml.Element, attribute string, key func(*ncclxml.Element) string, severity fabric.Severity, why, cost string) []verdict {
	var out []verdict
	again, first := sharing(elements, key)
	for i, e := range again {
		v := attributeVerdict(e, attribute)
		value, _ := first[i].Get(attribute)
		v.severity, v.cost = severity, cost
		if severity == fabric.SeverityInfo {
			v = v.remark()
		}
		v.why = fmt.Sprintf("Line %d already has %s=%q. %s", first[i].Line, attribute, ncclxml.Excerpt(fabric.Printable(value)), why)
		out = append(out, v)
	}
	return out
}

func checkUniqueBus(r *parsedFile) []verdict {
	number := func(e *ncclxml.Element) string {
		bus, ok := e.Get("busid")
		if !ok {
			return ""
		}
		return fmt.Sprintf("%x", ncclxml.BusNumber(bus))
	}
	return repeated(r.devices.All("pci"), "busid", number, fabric.SeverityError,
		"NCCL uses the first device with this text, and merges devices with the same number.", "the second device is not where the file puts it")
}

func checkUniqueGPU(r *parsedFile) []verdict {
	gpus := r.devices.All("gpu")
	out := repeated(gpus, "dev", attributeOf("dev"), fabric.SeverityWarning,
		"NCCL uses it as the NVML number, and finds the first.", "checks of NVLink and P2P query the wrong GPU")
	return append(out, repeated(gpus, "rank", attributeOf("rank"), fabric.SeverityInfo,
		"The process that owns a GPU overwrites the rank.", "nothing for GPUs that the job uses")...)
}

func checkUniqueNet(r *parsedFile) []verdict {
	nets := r.devices.All("net")
	out := repeated(nets, "name", attributeOf("name"), fabric.SeverityError,
		"NCCL uses the first and drops the other.", "the second NIC is lost, and the real one is placed where /sys shows it")
	out = append(out, repeated(nets, "dev", attributeOf("dev"), fabric.SeverityInfo,
		"NCCL numbers NICs as the plugin does, whatever the file states.", "nothing")...)
	port := func(e *ncclxml.Element) string {
		text, _ := e.Get("guid")
		number, _ := e.Get("port")
		if ncclxml.Strtoull(text) == 0 { // a socket has none
			return ""
		}
		return fmt.Sprintf("%x/%d", ncclxml.Strtoull(text), ncclxml.Strtol(number, 0))
	}
	return append(out, repeated(nets, "guid", port, fabric.SeverityWarning,
		"NCCL treats ports with the same guid as one NIC, and these also have the same port number. 2.28 and later query the plugin.", "NCCL uses fewer NICs than there are")...)
}
