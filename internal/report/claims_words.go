package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// podCounts counts the pods of an allocation by what they got.
type podCounts struct {
	all, lacking, undecided, misaligned, unknown, aligned int
}

func countPods(a *fabric.Allocation) (c podCounts) {
	for _, u := range lacking(a) {
		c.all++
		if u.Unsure {
			c.undecided++
		} else {
			c.lacking++
		}
	}
	for _, pod := range a.Pods {
		c.all++
		switch pod.Status {
		case fabric.Fail:
			c.misaligned++
		case fabric.Pass:
			c.aligned++
		case fabric.Unknown:
			c.unknown++
		}
	}
	return c
}

// allocationAnswer is how many pods get devices and how many pairs are aligned.
func allocationAnswer(a *fabric.Allocation) answer {
	c := countPods(a)
	if c.all == 0 {
		return statusAnswer(a.Status, "", "no pod was allocated")
	}
	var terms []string
	add := func(n int, text string) {
		switch {
		case n > 0 && len(terms) == 0:
			terms = append(terms, fmt.Sprintf("%d of %s %s", n, fabric.Count(c.all, "pod"), text))
		case n > 0:
			terms = append(terms, fmt.Sprintf("%s %s", fabric.Count(n, "pod"), text))
		}
	}
	add(c.lacking, "without devices")
	add(c.misaligned, "misaligned")
	add(c.undecided, "undecided")
	if a.TotalPairs > 0 {
		text := fmt.Sprintf("%s of %s aligned", countSpan(a.AlignedPairs), fabric.Count(a.TotalPairs, "pair"))
		if a.Orders.ByChance() && a.Status != fabric.Fail {
			text += ", by chance"
		}
		terms = append(terms, text)
	}
	if a.TotalPairs == 0 && c.lacking+c.undecided == 0 {
		text := "no pair to align"
		if a.Orders.ByChance() {
			text += ", NICs by chance"
		}
		terms = append(terms, text)
	}
	brief := slices.Clone(terms)
	if x := a.Collective; x != nil {
		rate := fmt.Sprintf("%s of %s GB/s", span(x.BusBW.Min, x.BusBW.Max, " to "), draw.Rate(x.Aligned))
		terms, brief = append(terms, cut(x.Collective)+" "+rate), append(brief, rate)
	}
	add(c.unknown, "unknown")
	if c.lacking+c.undecided+c.misaligned+c.unknown == 0 {
		terms = append(terms, fabric.Count(c.all, "pod"))
	}
	answer := statusAnswer(a.Status, "", terms...)
	answer.brief = brief
	return answer
}

func allocationExit(a *fabric.Allocation) string {
	switch a.Status {
	case fabric.Pass, fabric.NotApplicable:
		return "exit status 0: every pod gets its devices, and all pairs are aligned"
	case fabric.Fail:
		return "exit status 1: a pod gets no devices, or is misaligned"
	}
	return "exit status 2: it cannot be known that all pairs are aligned"
}

// allocationFields are what follows the pods: label and lines of each.
func allocationFields(a *fabric.Allocation) (all []row) {
	add := func(label string, lines ...string) {
		if len(lines) > 0 && lines[0] != "" {
			all = append(all, row{Label: label, Lines: printableAll(lines)})
		}
	}
	add("order", orderLines(a.Orders)...)
	add("predict", collectiveText(a)...)
	add("slices", slicesText(a))
	add("problem", problemLines(a.Problems)...)
	add("note", a.Notes...)
	return all
}

// orderLines say whether the order of the devices decides the alignment.
func orderLines(o *fabric.DeviceOrders) []string {
	if o == nil || o.Tried < 2 {
		return nil
	}
	tried := fmt.Sprintf("%s of the devices of %s with %s", fabric.Count(o.Tried, "order"), fabric.Count(o.Nodes, "node"), fabric.Count(o.Pods, "pod"))
	if !o.ByChance() {
		lines := []string{"of " + tried + ", none gives less: the claims keep what they give"}
		if o.Mixed > 0 {
			lines = append(lines, fmt.Sprintf("in %d, a pod has NICs of several NUMA nodes, each with its GPU", o.Mixed))
		}
		return lines
	}
	lines := []string{"by chance: nothing in the claims keeps the devices of a pod together. Of " + tried + ":"}
	if o.Worse > 0 {
		lines = append(lines, fmt.Sprintf("in %d, fewer pairs are certainly aligned than in the best (%s of %d over all)", o.Worse, countSpan(o.Aligned), o.Total))
	}
	if o.Mixed > 0 {
		lines = append(lines, fmt.Sprintf("in %d, a pod has a mixture of NICs of several NUMA nodes", o.Mixed))
	}
	if o.Example != "" {
		lines = append(lines, "such as "+o.Example)
	}
	return lines
}

func collectiveText(a *fabric.Allocation) []string {
	x := a.Collective
	if x == nil {
		return nil
	}
	pods := "pod"
	if x.Pods > len(a.Pods) {
		pods = "such pod"
	}
	text := fmt.Sprintf("%s of %s over %s: %s GB/s bus bandwidth, %s with all pairs aligned",
		x.Collective, draw.Bytes(x.Size), fabric.Count(x.Pods, pods), span(x.BusBW.Min, x.BusBW.Max, " to "), draw.Rate(x.Aligned))
	if x.Slowest != "" && x.BusBW.Min < x.Aligned {
		text += "; the pace is that of " + x.Slowest
	}
	if x.Machine != "" {
		text += " (" + x.Machine + ")"
	}
	return []string{text}
}

func slicesText(a *fabric.Allocation) string {
	if a.Slices.Slices == 0 {
		return ""
	}
	text := fmt.Sprintf("%s of %s, %s", fabric.Count(a.Slices.Slices, "slice"), fabric.Count(a.Slices.Nodes, "node"), fabric.Count(a.Slices.Devices, "device"))
	if a.Source != "" {
		text += ": " + a.Source
	}
	return text
}

func problemLines(all []fabric.ObjectProblem) (lines []string) {
	for _, x := range all {
		var where []string
		for _, part := range []string{x.File, x.Object, x.Field} {
			if part != "" {
				where = append(where, part)
			}
		}
		lines = append(lines, strings.Join(append(where, x.Reason), ": "))
	}
	return lines
}

// pairColumns is a line for each pair: the devices, where they are, and how near they are to each other.
func pairColumns(pairs []fabric.AllocatedPair) []column {
	all := []column{
		{name: "GPU", left: true}, {name: "GPU address", left: true, drop: 3}, {name: "GPU root", left: true, drop: 1}, {name: "NUMA", drop: 2},
		{name: "NIC", left: true}, {name: "NIC address", left: true, drop: 4}, {name: "NIC root", left: true, drop: 1}, {name: "NUMA", drop: 2},
		{name: "pair", left: true},
	}
	for _, pair := range pairs {
		for i, text := range append(append(deviceCells(pair.GPU), deviceCells(pair.NIC)...), distanceText(pair)) {
			all[i].cells = append(all[i].cells, text)
		}
	}
	if !slices.ContainsFunc(pairs, func(x fabric.AllocatedPair) bool { return x.GPU != nil }) {
		return all[4:]
	}
	return all
}

// deviceCells are the name, address, root and NUMA node of a device.
func deviceCells(d *fabric.AllocatedDevice) []string {
	if d == nil {
		return []string{"-", "-", "-", "-"}
	}
	root := d.PCIeRoot
	if root == "" {
		root = strings.Join(d.PCIeRoots, ",")
	}
	numa := "?"
	if d.NUMA != nil {
		numa = strconv.Itoa(*d.NUMA)
	}
	return []string{printable(d.Device), printable(orElse(d.PCI, "?")), printable(orElse(root, "?")), numa}
}

// distanceText says how far the devices of a pair are from each other.
func distanceText(pair fabric.AllocatedPair) string {
	switch pair.Distance {
	case fabric.SameRoot:
		return "aligned"
	case fabric.SameNUMA:
		return "other root, same NUMA node"
	case fabric.OtherNUMA:
		return "other NUMA node"
	case fabric.OtherRoot:
		return "other root"
	case fabric.GPUByPlugin:
		return "the device plugin chooses the GPU"
	case fabric.NoPartner:
		if pair.GPU == nil {
			return "no GPU of the pod is left for it"
		}
		return "no NIC of the pod is left for it"
	}
	if pair.GPU != nil && pair.GPU.Roams || pair.NIC != nil && pair.NIC.Roams {
		return "unknown: published for several nodes"
	}
	return "unknown: no root is published"
}

// otherDevices are the devices of a pod that are neither GPUs nor NICs that do RDMA, or not known to be.
func otherDevices(a *fabric.Allocation, pod string) (others []fabric.AllocatedDevice) {
	for _, c := range a.Claims {
		if c.Pod != pod {
			continue
		}
		for _, d := range c.Devices {
			if d.Kind != "gpu" && d.Kind != "nic" {
				others = append(others, d)
			}
		}
	}
	return others
}

// otherLines are such devices, a line for each driver and kind.
func otherLines(ds []fabric.AllocatedDevice) (lines []string) {
	names := map[string][]string{}
	var order []string
	for _, d := range ds {
		key := d.Driver
		if d.Kind != "" {
			key += " (" + d.Kind + ")"
		}
		if names[key] == nil {
			order = append(order, key)
		}
		names[key] = append(names[key], d.Device)
	}
	for _, key := range order {
		lines = append(lines, printable(key+": "+draw.Names(names[key], podTerms)))
	}
	return lines
}
