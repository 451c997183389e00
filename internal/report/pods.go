package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// PlannedPods writes the pods of a plan: how many, what each gets, and below what this choice cannot give, from where the
// devices come, what keeps them together, and in which version of the API that is asked for.
func PlannedPods(w io.Writer, o TextOptions, c fabric.Claims) error {
	p := newPrinter(o)
	p.plannedPods(c)
	return p.writeTo(w)
}

func (p *printer) plannedPods(c fabric.Claims) {
	p.line(p.paint(bold, "PODS") + "  " + podsText(c))
	for _, r := range podRows(c) {
		p.fields(strings.ToLower(r.Label), limited(r.Lines, p.claimLineLimit(), p.where()))
	}
}

// podsText is how many pods there are, and what each of them gets.
func podsText(c fabric.Claims) string {
	return fmt.Sprintf("%s, %d on each machine, each with %s and %s", fabric.Count(c.Pods, "pod"), c.PodsPerNode, fabric.Count(c.GPUs, "GPU"), fabric.Count(c.NICs, "NIC"))
}

// podRows are what is planned for the pods. What the plan cannot give comes first.
func podRows(c fabric.Claims) []row {
	rows := []row{
		{Label: "Note", Lines: c.Notes},
		{Label: "Together", Lines: []string{keptTogether(c)}},
		{Label: "GPUs", Lines: []string{gpuOrigin(c)}},
		{Label: "NICs", Lines: []string{nicOrigin(c)}},
		{Label: "Blocks", Lines: blockLines(c.Blocks)},
		{Label: "API", Lines: []string{fmt.Sprintf("resource.k8s.io/%s of Kubernetes %s, namespace %s", c.API, c.Kubernetes, c.Namespace)}},
	}
	return slices.DeleteFunc(rows, func(r row) bool { return len(r.Lines) == 0 })
}

// keptTogether is what keeps the GPUs and NICs of a pod together.
func keptTogether(c fabric.Claims) string {
	switch {
	case c.Align == fabric.ByPCIeRoot:
		return "by PCIe root: the claim demands that each GPU shares one with its NIC"
	case c.Align == fabric.ByNUMA:
		return "by NUMA node: all devices of a pod come from one"
	case c.Align == fabric.ByName && c.GPUDriver == "":
		return "NICs by name, in blocks; the claim has no say in the GPUs"
	case c.Align == fabric.ByName:
		return "by name, in blocks"
	case c.PodsPerNode == 1:
		return "a pod has a whole machine, and so all of its pairs"
	}
	return "by nothing"
}

func gpuOrigin(c fabric.Claims) string {
	if c.GPUDriver == "" {
		return c.GPUResource + " of a device plugin, which chooses them by itself"
	}
	return "claimed from " + c.GPUDriver
}

func nicOrigin(c fabric.Claims) string {
	text := "claimed from " + c.NICDriver
	if c.All {
		text += ": every RDMA NIC of the machine"
	}
	if len(c.FabricNICs) > 0 {
		text += ": of " + draw.Names(c.FabricNICs, podTerms)
	}
	return text
}

// blockLines say what each kind of pod gets.
func blockLines(blocks []fabric.DeviceBlock) (lines []string) {
	for i, b := range blocks {
		text := fmt.Sprintf("%d: %s", i+1, draw.Names(b.NICs, podTerms))
		if len(b.NICs) == 0 {
			text = fmt.Sprintf("%d: %s", i+1, fabric.Count(len(b.NICBuses), "NIC"))
		}
		var gpus []string
		for _, g := range b.GPUs {
			gpus = append(gpus, fmt.Sprint(g))
		}
		text += " with GPUs " + strings.Join(gpus, ", ")
		if b.NUMA != nil {
			text += fmt.Sprintf(", NUMA node %d", *b.NUMA)
		}
		lines = append(lines, text)
	}
	return lines
}

// NextStep is what a person does after a run.
type NextStep struct {
	What     string   `json:"what"`
	Commands []string `json:"commands"` // in this order
}

// pods writes the pods of the plan, and what their claims would get.
func (p *printer) pods(r Run) {
	if r.Plan == nil || r.Plan.Claims == nil {
		return
	}
	p.heading("Pods")
	if a := r.Claims; a != nil {
		p.status(strings.ToUpper(a.Status.String()), statusColor(a.Status), "Claims", allocationTerms(a))
		p.fields("slices", []string{slicesText(a)})
	}
	p.plannedPods(*r.Plan.Claims)
}

// next writes what a person does after the run.
func (p *printer) next(r Run) {
	if len(r.Next) == 0 {
		return
	}
	p.heading("What to do next")
	for i, n := range r.Next {
		p.hanging("", fmt.Sprintf("%d. %s", i+1, n.What))
		p.commands("", n.Commands)
	}
}

func allocationTerms(a *fabric.Allocation) string {
	return strings.Join(allocationAnswer(a).terms, "; ")
}

// podBlocks are the same for a page.
func (r Run) podBlocks() (blocks []block) {
	if r.Plan == nil || r.Plan.Claims == nil {
		return nil
	}
	c := *r.Plan.Claims
	if a := r.Claims; a != nil {
		b := block{Kind: a.Status.String(), Word: statusWord(a.Status), Subject: "Claims", Title: allocationTerms(a)}
		for _, f := range allocationFields(a) {
			f.Lines = limited(f.Lines, pageLines, "the rest is in the saved claims")
			b.Rows = append(b.Rows, f)
		}
		blocks = append(blocks, b)
	}
	planned := block{Word: "plan", Title: podsText(c)}
	for _, row := range podRows(c) {
		row.Lines = limited(printableAll(row.Lines), pageTerms, "the rest is in the saved plan")
		planned.Rows = append(planned.Rows, row)
	}
	return append(blocks, planned)
}

// nextRows are what a person does after the run, for a page.
func (r Run) nextRows() (rows []row) {
	for i, n := range r.Next {
		rows = append(rows, row{Label: fmt.Sprintf("%d. %s", i+1, n.What), Lines: n.Commands, Commands: true})
	}
	return rows
}
