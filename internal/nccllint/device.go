package nccllint

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/topology"
)

// deviceRules check what NCCL makes of <gpu>, <nvlink>, <xgmi> and <net>.
func deviceRules() []rule {
	return []rule{
		{
			id: "topo-gpu-rank", title: "Each GPU has a rank", scope: scopeValue, check: checkRank,
			expected: "rank on each <gpu>", reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (ncclTopoAddPci); runs of NCCL 2.28.9 without rank, dev, sm and gdr were healthy: it fills them in for the GPUs of the job",
		},
		{
			id: "topo-gpu-sm", title: "sm matches the GPU", scope: scopeValue, check: checkSM,
			expected: "compute capability times ten of the GPU identified by vendor and device", reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (ncclTopoNVLinkBw); a run of NCCL 2.28.9 with sm 80 on H200 assumed 360.0 instead of 370.8 GB/s and all_reduce fell from 299 to 284 GB/s",
		},
		{
			id: "topo-nvlink-class", title: "Each link states what is at its far end", scope: scopeValue, check: checkLinkClass,
			expected: "tclass 0x068000 for an NVSwitch, 0x03.... for a GPU (of RCCL also 0x12....), 0x068001 for a CPU", reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (ncclTopoAddNvLinks) and xml.cc (ncclTopoGetXmlFromGpu)",
		},
		{
			id: "topo-net-speed", title: "NCCL reads the speed of each NIC as intended", scope: scopeValue, check: checkNetSpeed,
			expected: "line rate in Mb/s: 400000 of a port of 400 Gb/s", reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (ncclTopoAddNet)",
		},
		{
			id: "topo-net-name", title: "Each NIC has a valid device name", scope: scopeValue, check: checkNetName,
			expected: "the name in the network plugin: mlx5_0, bnxt_re0, eth0", reference: "NVIDIA/nccl 2.30, src/graph/xml.cc (ncclTopoFillNet)",
		},
		{
			id: "topo-gdr", title: "gdr has the intended value", scope: scopeValue, check: checkGDR,
			expected: "1, or omitted", reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (xmlInitAttrInt of gdr: the value in the file is kept)",
		},
		{
			id: "topo-net-guid", title: "NCCL reads each GUID as intended", scope: scopeValue, check: checkGUID,
			expected: "0x and up to 16 hexadecimal digits", reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (ncclTopoAddNetAsic; the dump writes %#lx, without leading zeros)",
		},
	}
}

func checkRank(r *parsedFile) []verdict {
	return r.every("gpu", func(e *ncclxml.Element) []verdict {
		if _, has := e.Get("rank"); has {
			return nil
		}
		return []verdict{verdict{
			element: e, line: e.Line, text: ncclxml.Excerpt(e.Tag()),
			why:  "The process that owns the GPU fills in rank. NCCL skips a GPU that no process owns, with the <pci> around it.",
			cost: "nothing for GPUs that the job uses",
		}.remark()}
	})
}

func checkSM(r *parsedFile) []verdict {
	return r.every("gpu", func(e *ncclxml.Element) []verdict {
		pci := e.Above("pci")
		if _, has := e.Get("sm"); !has || pci == nil || r.parts == nil {
			return nil
		}
		_, model, ok := r.parts.GPUByPCI(ncclxml.PCIIDs(pci))
		want, _ := topology.Architecture(model.Arch)
		got := e.IntegerOr("sm", 0)
		if !ok || want == 0 || got == want {
			return nil
		}
		v := attributeVerdict(e, "sm")
		v.severity, v.expected = fabric.SeverityWarning, fmt.Sprintf("%d, for the %s", want, model.Title)
		v.why = fmt.Sprintf("The GPU is a %s, with sm %d. NCCL trusts the file, and derives the rate per NVLink and the features of its kernels from sm.", model.Title, want)
		v.cost = fmt.Sprintf("NCCL assumes %.1f instead of %.1f GB/s per link", ncclxml.NVLinkRate(got), ncclxml.NVLinkRate(want))
		return []verdict{v}
	})
}

func checkLinkClass(r *parsedFile) []verdict {
	links := append(r.document.All("nvlink"), r.document.All("xgmi")...)
	if len(links) == 0 {
		return []verdict{{status: fabric.NotApplicable, why: "The file has no nvlink and no xgmi elements: NCCL queries the driver for them."}}
	}
	var out []verdict
	for _, e := range links {
		class, has := e.Get("tclass")
		switch {
		case !has:
			out = append(out, verdict{
				element: e, line: e.Line, text: ncclxml.Excerpt(e.Tag()),
				why: "tclass is missing: NCCL looks up the target in /sys and assumes an NVSwitch if it is missing there, as in a VM.", cost: "nothing if the far end is an NVSwitch",
			}.remark())
		case ncclxml.ClassOf(class) == ncclxml.ClassCPU && !isPower(e):
			v := attributeVerdict(e, "tclass")
			v.severity = fabric.SeverityWarning
			v.why = "Only POWER has NVLink between CPU and GPU. NCCL assumes the CPU at the far end."
			v.cost = "GPUs of one CPU count as joined through it; for those of different CPUs, and for NICs, NCCL assumes links that do not exist"
			out = append(out, v)
		case !ncclxml.IsGPU(class) && ncclxml.ClassOf(class) == ncclxml.ClassBridge:
			v := attributeVerdict(e, "tclass")
			v.severity = fabric.SeverityWarning
			v.why, v.cost = "The class is unknown to NCCL, which assumes an NVSwitch at the far end.", "nothing if it is one; otherwise NCCL assumes links between GPUs that do not exist"
			out = append(out, v)
		case e.Name == "nvlink" && strings.HasPrefix(class, "0x12"):
			v := attributeVerdict(e, "tclass")
			v.severity = fabric.SeverityWarning
			v.why, v.cost = "0x12 is the class of AMD's GPUs; NCCL assumes an NVSwitch at the far end.", "NCCL assumes links between GPUs that do not exist"
			out = append(out, v)
		}
	}
	return out
}

// isPower reports whether a device belongs to a host with POWER CPUs.
func isPower(e *ncclxml.Element) bool {
	cpu := e.Above("cpu")
	if cpu == nil {
		return false
	}
	arch, _ := cpu.Get("arch")
	return arch == "ppc64"
}

// slowMegabits is the rate in Mb/s below which a number is unlikely to be the line rate of a NIC for GPUs.
const slowMegabits = 1000

func checkNetSpeed(r *parsedFile) []verdict {
	return r.every("net", func(e *ncclxml.Element) []verdict {
		text, has := e.Get("speed")
		v := attributeVerdict(e, "speed")
		got := e.IntegerOr("speed", 0)
		switch {
		case !has:
			v.line, v.text = e.Line, ncclxml.Excerpt(e.Tag())
			v.why = fmt.Sprintf("speed is missing: NCCL uses the value of the network plugin, or %d Mb/s if it has none.", ncclxml.AssumedMbps)
			v.cost = "nothing if the plugin reports it; otherwise NCCL assumes 1.25 GB/s for the NIC"
			v = v.remark()
		case got <= 0:
			v.why = fmt.Sprintf("NCCL reads %d and assumes %d Mb/s.", got, ncclxml.AssumedMbps)
			v.cost = "NCCL assumes 1.25 GB/s for the NIC"
		case !plainNumber().MatchString(text):
			v.why = fmt.Sprintf("NCCL reads %d Mb/s.", got)
			v.cost = fmt.Sprintf("NCCL assumes %.3g GB/s for the NIC", float64(got)/ncclxml.MbpsPerGB)
		case got < slowMegabits:
			v.severity = fabric.SeverityWarning
			v.why = fmt.Sprintf("The number is in Mb/s: NCCL assumes %.3g GB/s.", float64(got)/ncclxml.MbpsPerGB)
			v.cost = "NCCL assumes a NIC slower than any NIC of a GPU host"
		default:
			return nil
		}
		return []verdict{v}
	})
}

func checkNetName(r *parsedFile) []verdict {
	return r.every("net", func(e *ncclxml.Element) []verdict {
		name, has := e.Get("name")
		if trimmed, had := blankless(name); !has || name != "" && !had && trimmed == fabric.Printable(name) {
			return nil
		}
		v := attributeVerdict(e, "name")
		v.why = "No device has this name: NCCL drops the NIC and places the real one where /sys shows it."
		v.cost = "in a VM the NIC ends up at the first CPU: PHB, no GPUDirect RDMA by default"
		return []verdict{v}
	})
}

func checkGDR(r *parsedFile) []verdict {
	var out []verdict
	for _, name := range []string{"gpu", "net"} {
		for _, e := range r.document.All(name) {
			text, has := e.Get("gdr")
			value := int32(ncclxml.Strtol(text, 0))
			port, _ := e.Get("port")
			if !has || value == 1 || value == 0 && name == "net" && ncclxml.Strtol(port, 0) == 0 { // a socket has port 0 and no RDMA
				continue
			}
			v := attributeVerdict(e, "gdr")
			v.severity = fabric.SeverityWarning
			v.why, v.cost = "This overrides what NCCL detects: no GPUDirect RDMA.", "traffic crosses host memory: about half the rate of the NIC"
			if value != 0 {
				v.why, v.cost = fmt.Sprintf("NCCL reads %d and treats it as 1, whatever it detects.", value), "nothing if GPUDirect RDMA works"
				v = v.remark()
			}
			out = append(out, v)
		}
	}
	return out
}

// guidDigits is the full length of a GUID (InfiniBand 1.4, 4.1: EUI-64).
const guidDigits = 16

// checkGUID reports a GUID that NCCL truncates. NCCL itself writes fewer than 16 digits where the
// first ones are 0: only in a file with other damage a digit may be lost.
func checkGUID(r *parsedFile) []verdict {
	return r.every("net", func(e *ncclxml.Element) []verdict {
		text, has := e.Get("guid")
		if !has {
			return nil
		}
		v := attributeVerdict(e, "guid")
		digits, prefixed := strings.CutPrefix(strings.ToLower(text), "0x")
		read := 0
		for read < len(digits) && ncclxml.Digit(digits[read]) < 16 {
			read++
		}
		switch {
		case read < len(digits) || digits == "" || len(digits) > guidDigits:
			v.why = fmt.Sprintf("NCCL reads %#x: it stops at the first character that is not a hexadecimal digit.", ncclxml.Strtoull(text))
			v.cost = "NICs whose GUIDs share these digits count as ports of one NIC"
		case !prefixed:
			v.why = "Without 0x some parts of NCCL read it as decimal, others as hexadecimal."
			v.cost = "nothing if the plugin reports the GUID"
			v = v.remark()
		case len(digits) < guidDigits && len(digits) > guidDigits/2 && slices.ContainsFunc(r.problems, ncclxml.Problem.IsDamage):
			v.why = fmt.Sprintf("%d digits, not %d. NCCL writes no leading zeros, so this may be 0x%0*s; but the file is damaged, and a digit may be lost.", len(digits), guidDigits, guidDigits, digits)
			v.cost = "nothing as long as no other NIC has it: NCCL only compares it, and later releases query the plugin"
			v = v.remark()
		default:
			return nil
		}
		return []verdict{v}
	})
}
