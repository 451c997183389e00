package report

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// esxRow is an ESX host, or several of which the same is said, with the worst of what was found of it and its virtual machines.
type esxRow struct {
	Hosts, VMs, Classes, Kind, Word, Why string
	Count                                int
	names, vms                           []string
}

// classRow is a class of virtual machines.
type classRow struct {
	Name, Nodes, Holds, CPUs, Memory, MMIO, Devices, Pairs string
}

// mostESX is how many rows of hosts a page has.
const mostESX = 60

// esxRows lists the planned ESX hosts, the worst first. Hosts of which the same rules say the same are one row.
func (r Run) esxRows() (rows []esxRow, more int) {
	if r.Plan == nil || r.Plan.VSphere == nil {
		return nil, 0
	}
	verdicts := r.esxVerdicts()
	index := map[string]int{}
	for _, h := range r.Plan.VSphere.Hosts {
		row := verdicts[h.Name]
		row.Classes = classesOf(r.Plan.VSphere, h.Nodes)
		key := strings.Join([]string{row.Kind, row.Why, row.Classes}, "\x00")
		i, known := index[key]
		if !known {
			i = len(rows)
			index[key], rows = i, append(rows, row)
		}
		rows[i].names, rows[i].vms = append(rows[i].names, h.Name), append(rows[i].vms, h.Nodes...)
	}
	for i := range rows {
		rows[i].Hosts, rows[i].VMs, rows[i].Count = draw.Names(rows[i].names, 6), draw.Names(rows[i].vms, 6), len(rows[i].names)
	}
	rank := map[string]int{"fail": 0, "unknown": 1, "pass": 2}
	slices.SortStableFunc(rows, func(a, b esxRow) int { return rank[a.Kind] - rank[b.Kind] })
	return bounded(rows, mostESX)
}

// esxVerdicts is what was found of each host by its name: of the host itself, of its devices and of its virtual machines as its
// tools show them. A host of which nothing was read has no verdict.
func (r Run) esxVerdicts() map[string]esxRow {
	out := map[string]esxRow{}
	failed, open, passed := map[string][]string{}, map[string][]string{}, map[string]int{}
	if r.Findings != nil {
		for _, f := range r.Findings.Findings {
			list := map[fabric.Status]map[string][]string{fabric.Fail: failed, fabric.Unknown: open}[f.Status]
			if f.Status == fabric.Pass {
				passed[f.Subject.Node]++
			}
			if list != nil && !slices.Contains(list[f.Subject.Node], f.Title) {
				list[f.Subject.Node] = append(list[f.Subject.Node], f.Title)
			}
		}
	}
	for _, h := range r.Plan.VSphere.Hosts {
		row := esxRow{Kind: "unknown", Word: "not checked", Why: "nothing was read of it"}
		switch bad, unread := failed[h.Name], open[h.Name]; {
		case len(bad) > 0:
			row.Kind, row.Word, row.Why = "fail", "failed", "not so: "+sentences(bad)
		case len(unread) > 0:
			row.Kind, row.Word, row.Why = "unknown", "unknown", "unknown: "+sentences(unread)
		case passed[h.Name] > 0:
			row.Kind, row.Word, row.Why = "pass", "passed", fabric.Count(passed[h.Name], "check")
		}
		out[h.Name] = row
	}
	return out
}

// sentences joins titles, short where they are many.
func sentences(titles []string) string {
	const most = 4
	kept, more := bounded(titles, most)
	text := strings.Join(kept, "; ")
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func classesOf(v *fabric.VSphere, nodes []string) string {
	var names []string
	for _, c := range v.Classes {
		if slices.ContainsFunc(c.Nodes, func(n string) bool { return slices.Contains(nodes, n) }) {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// classRows lists the classes of virtual machines.
func (r Run) classRows() (rows []classRow) {
	if r.Plan == nil || r.Plan.VSphere == nil {
		return nil
	}
	for _, c := range r.Plan.VSphere.Classes {
		row := classRow{Name: c.Name, Nodes: "none of the plan", Holds: fabric.Count(c.GPUs, "GPU") + ", " + fabric.Count(c.NICs, "NIC"), CPUs: "unknown", Memory: "unknown", MMIO: "-", Pairs: "-"}
		if len(c.Nodes) > 0 {
			row.Nodes = draw.Names(c.Nodes, 6)
		}
		if c.Functions > 0 {
			row.Holds = fabric.Count(c.NICs*c.Functions, "virtual function")
		}
		if c.CPUs > 0 {
			row.CPUs = fmt.Sprint(c.CPUs)
		}
		if c.MemoryMB > 0 {
			row.Memory = fmt.Sprintf("%d GiB", c.MemoryMB/1024)
		}
		if c.MMIOGB > 0 {
			row.MMIO = fmt.Sprintf("%d GiB", c.MMIOGB)
		}
		row.Devices, row.Pairs = devicesInOrder(c)
		rows = append(rows, row)
	}
	return rows
}

// devicesInOrder writes the labels of a class, and which GPU and NIC are below one PCIe switch.
func devicesInOrder(c fabric.VMClass) (labels, pairs string) {
	var all, together []string
	has := map[string]bool{}
	for _, d := range c.Devices {
		all, has[d.Label] = append(all, d.Label), true
	}
	for _, d := range c.Devices {
		if n, gpu := strings.CutPrefix(d.Label, "GPU"); gpu && has["NIC"+n] {
			together = append(together, d.Label+"-NIC"+n)
		}
	}
	if len(together) == 0 {
		together = []string{"-"}
	}
	return strings.Join(all, " "), strings.Join(together, " ")
}
