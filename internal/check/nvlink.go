package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

const nvlinkStatus = "nvidia-smi nvlink -s"

func nvlinkUp() Rule {
	return Rule{
		ID:        "nvlink-up",
		Title:     "Every NVLink of each GPU is up",
		Doc:       "compares the NVLinks that are up with those that the catalog's GPU has (18 of an H100), and looks for inactive ones; of cards that bridges may join, with those of their peers",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseNVLinkDegraded,
		Reference: "the catalog, scale_up_links of the GPU; VMware Cloud Foundation guide 2.2 (NV18); Azure node health checks and imbue host health checks, inactive NVLinks",
		Facts:     []string{fabric.FactGPUs, fabric.FactGPUNVLink},
		Scope:     []Condition{withHardware(), withGPU(), withNVIDIA(), withNVLink()},
		DependsOn: []string{"gpu-driver", "gpu-answers"},
		Node:      judgeNVLinkUp,
	}
}

func judgeNVLinkUp(in NodeInput) []Verdict {
	most := 0
	for _, g := range in.Facts.GPUs {
		if g.NVLink != nil {
			most = max(most, g.NVLink.Up)
		}
	}
	return in.eachNVIDIA(func(g *fabric.GPU, name string) Verdict {
		n := g.NVLink
		if n == nil || !n.Listed {
			return Verdict{Why: in.nvlinkWhy("the NVLinks of GPU "+name+" were not read", g)}
		}
		known, ok := in.known(g)
		seen := saw(nvlinkStatus, linksText(n))
		switch {
		case ok && known.Links > 0:
			return in.builtIn(g, name, known, seen)
		case n.Up == 0 && most == 0:
			return Verdict{Status: fabric.NotApplicable, Evidence: []fabric.Evidence{seen}, Why: "GPU " + name + " has no NVLink that is in use (" + linksText(n) + ")"}
		case ok && n.Up == most: // bridges may leave links of a card free
			return pass("as many as the others", seen)
		case n.Up == most && len(n.Down) == 0:
			return pass("every link that it lists", seen)
		}
		return Verdict{Evidence: []fabric.Evidence{seen}, Expected: strconv.Itoa(most) + ", as another GPU of the node",
			Why: fmt.Sprintf("GPU %s has %s, another of the node has %d up; how many its board or bridges give it is not in the catalog", name, linksText(n), most)}
	})
}

// builtIn judges the links of a board that has them all: without an NVSwitch or another GPU they join nothing.
func (in NodeInput) builtIn(g *fabric.GPU, name string, known topology.KnownGPU, seen fabric.Evidence) Verdict {
	n, expected := g.NVLink, fmt.Sprintf("%d up, as %s", known.Links, known.ID)
	lists := n.Up + len(n.Down)
	switch {
	case n.Up >= known.Links:
		return pass(expected, seen)
	case len(in.Facts.GPUs) == 1 && n.Up == 0 && len(n.Down) == 0:
		return Verdict{Evidence: []fabric.Evidence{seen}, Expected: expected, Why: "GPU " + name + " is the only one that was seen: whether its NVLinks are to join another is unknown"}
	case lists < known.Links && n.Says == "" && (in.Facts.Source == captured || in.nvlinkCut()):
		return Verdict{Evidence: []fabric.Evidence{seen}, Expected: expected,
			Why: in.nvlinkWhy(fmt.Sprintf("only %d of the %d NVLinks of GPU %s were read", lists, known.Links, name), g)}
	}
	return Verdict{
		Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
		Why:  fmt.Sprintf("GPU %s has %s, %s has %d.", name, linksText(n), known.ID, known.Links),
		Cost: fmt.Sprintf("%.0f of %.0f GB/s each way between this GPU and the others (links x GB/s)", float64(known.Links-n.Up)*known.LinkGBps, float64(known.Links)*known.LinkGBps),
		Fix:  onNode("dmesg | grep -e SXid -e 'Xid.*74'; stop all jobs, nvidia-smi --gpu-reset of all GPUs, systemctl restart nvidia-fabricmanager; if it recurs, the GPU or its baseboard goes to the vendor", in.Facts.Node),
	}
}

func (in NodeInput) nvlinkCut() bool {
	_, cut := in.missing(fabric.FactGPUNVLink)
	return cut
}

func (in NodeInput) nvlinkWhy(unknown string, g *fabric.GPU) string {
	return in.why(unknown, fabric.FactGPUNVLink+" "+g.PCI, fabric.FactGPUNVLink, fabric.FactGPUHealth)
}

// known finds a GPU in the catalog: by its PCI id where that was read, else by its name.
func (in NodeInput) known(g *fabric.GPU) (topology.KnownGPU, bool) {
	if d, ok := in.view.pci[g.PCI]; ok && d.Device != 0 {
		return topology.GPUInCatalog(d.Vendor, d.Device, g.Name)
	}
	return topology.GPUInCatalog(0, 0, g.Name)
}

func linksText(n *fabric.NVLink) string {
	switch {
	case n.Says != "":
		return n.Says
	case len(n.Down) > 0:
		return fmt.Sprintf("%d NVLinks up, %s inactive", n.Up, numbersText(n.Down))
	}
	return fmt.Sprintf("%d NVLinks up", n.Up)
}

func numbersText(list []int) string {
	words := make([]string, 0, mostNamed)
	for _, n := range list[:min(len(list), mostNamed)] {
		words = append(words, strconv.Itoa(n))
	}
	return andMore(words, len(list))
}

func nvlinkRate() Rule {
	return Rule{
		ID:        "nvlink-rate",
		Title:     "NVLinks run at their rate",
		Doc:       "compares the rate of each NVLink with the catalog's GPU and with the GPU's other links: one that trained slower slows every transfer over it",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseNVLinkDegraded,
		Reference: "the catalog, scale_up and scale_up_links of the GPU; NVIDIA health validation (26562 MB/s of H100, 53125 of GB200)",
		Facts:     []string{fabric.FactGPUs, fabric.FactGPUNVLink},
		Scope:     []Condition{withHardware(), withGPU(), withNVIDIA(), withNVLink()},
		DependsOn: []string{"gpu-driver", "gpu-answers", "nvlink-up"},
		Node:      judgeNVLinkRate,
	}
}

func judgeNVLinkRate(in NodeInput) []Verdict {
	return in.eachNVIDIA(func(g *fabric.GPU, name string) Verdict {
		n := g.NVLink
		if n == nil || !n.Listed {
			return Verdict{Why: in.nvlinkWhy("the NVLinks of GPU "+name+" were not read", g)}
		}
		if n.Up == 0 {
			return Verdict{Status: fabric.NotApplicable, Why: "GPU " + name + " has no NVLink that is up (see nvlink-up)"}
		}
		want, known := n.GBps, "its fastest link"
		if k, ok := in.known(g); ok && k.LinkGBps > 0 {
			want, known = k.LinkGBps, k.ID
		}
		low := n.GBps
		if len(n.Slow) > 0 {
			low = n.Low
		}
		seen := saw(nvlinkStatus, fmt.Sprintf("%.3f GB/s, slowest %.3f GB/s", n.GBps, low))
		expected := fmt.Sprintf("all links alike, at least %.0f GB/s each way, as %s", want, known)
		if len(n.Slow) == 0 && n.GBps >= want {
			return pass(expected, seen)
		}
		which := "All its links"
		if len(n.Slow) > 0 {
			which = "Links " + numbersText(n.Slow)
		}
		return Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
			Why:  fmt.Sprintf("%s of GPU %s run at %.3f GB/s or less above, %s has %.3f.", which, name, low, known, max(want, n.GBps)),
			Cost: fmt.Sprintf("%.1f instead of %.1f GB/s each way on such a link", low, max(want, n.GBps)),
			Fix:  onNode("nvidia-smi nvlink -e; stop all jobs, nvidia-smi --gpu-reset of all GPUs; if it recurs, the GPU or its baseboard goes to the vendor", in.Facts.Node),
		}
	})
}

func nvlinkErrors() Rule {
	return Rule{
		ID:        "nvlink-errors",
		Title:     "NVLinks have no errors",
		Doc:       "reads the error counters of each GPU's NVLinks: replay, recovery and CRC errors up to Hopper, failed recoveries and lost packets from Blackwell on; they count since the GPU's last reset",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseNVLinkDegraded,
		Reference: "NVIDIA DCGM, health watch of NVLink (fields that should be 0); Meta gcm and leptonai gpud",
		Facts:     []string{fabric.FactGPUs, fabric.FactGPUNVLink},
		Scope:     []Condition{withHardware(), withGPU(), withNVIDIA(), withNVLink()},
		DependsOn: []string{"gpu-driver", "gpu-answers", "nvlink-up"},
		Node:      judgeNVLinkErrors,
	}
}

func judgeNVLinkErrors(in NodeInput) []Verdict {
	const want, source = "0 of each", "nvidia-smi nvlink -e"
	return in.eachNVIDIA(func(g *fabric.GPU, name string) Verdict {
		n := g.NVLink
		switch {
		case n != nil && n.Listed && n.Up == 0 && len(n.Errors) == 0:
			return Verdict{Status: fabric.NotApplicable, Why: "GPU " + name + " has no NVLink that is up (see nvlink-up)"}
		case n == nil || len(n.Errors) == 0:
			return Verdict{Why: in.nvlinkWhy("the error counters of the NVLinks of GPU "+name+" were not read", g)}
		}
		var found []string
		for _, counter := range slices.Sorted(maps.Keys(n.Errors)) {
			if count := n.Errors[counter]; count > 0 {
				found = append(found, strconv.FormatUint(count, 10)+" "+counter)
			}
		}
		if len(found) == 0 {
			return pass(want, saw(source, "0 "+strings.Join(slices.Sorted(maps.Keys(n.Errors)), ", 0 ")))
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw(source, strings.Join(found, ", "))},
			Why:  "The NVLinks of GPU " + name + " counted " + strings.Join(found, ", ") + " since its last reset.",
			Cost: "what was sent is sent again; many of one link come before it fails (Xid 74)",
			Fix:  onNode("nvidia-smi nvlink -e -i "+fabric.ShellWord(name)+" names the link; nvidia-smi nvlink -re clears the counters; if they rise again, the GPU or its baseboard goes to the vendor", in.Facts.Node),
		}
	})
}
