package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// Bounds of the text of an allocation, however many pods there are: terms of a list of names, groups of pods, and lines of a
// list without and with Verbose.
const (
	podTerms     = 6
	podGroups    = 8
	podGroupsAll = 500
	claimLines   = 6
)

// Allocation writes what the claims of pods get: the answer, first and last, equal pods as one block, worst first, the pairs
// of one pod of each that is not all aligned, whether the order of devices decides it, what a collective reaches, on which
// slices, and what was not understood.
func Allocation(w io.Writer, a *fabric.Allocation, o TextOptions) error {
	p := newPrinter(o)
	if a == nil {
		a = &fabric.Allocation{}
	}
	answer := allocationAnswer(a)
	p.answerLine(answer)
	groups := podGroupsOf(a)
	shown, more := bounded(groups, p.podGroupLimit())
	for i, g := range shown {
		p.blank()
		p.podGroup(a, g, len(groups) == 1 || i == 0 && g.status() != fabric.Pass)
	}
	if more > 0 {
		p.blank()
		p.line(fmt.Sprintf("... and %s of pods; %s", fabric.Count(more, "more group"), p.where()))
	}
	p.blank()
	for _, f := range allocationFields(a) {
		p.fields(f.Label, limited(f.Lines, p.claimLineLimit(), p.where()))
	}
	p.blank()
	p.end(allocationExit(a), answer)
	return p.writeTo(w)
}

func (p *printer) podGroupLimit() int {
	if p.o.Verbose {
		return podGroupsAll
	}
	return podGroups
}

func (p *printer) claimLineLimit() int {
	if p.o.Verbose {
		return podGroupsAll
	}
	return claimLines
}

// podGroup writes equal pods; the pairs of the first of them where they are asked for or not all aligned.
func (p *printer) podGroup(a *fabric.Allocation, g podGroup, first bool) {
	status := g.status()
	p.status(strings.ToUpper(strings.ReplaceAll(status.String(), "_", " ")), statusColor(status), g.names(podTerms), g.titleIn(a))
	if u := g.lacks; u != nil {
		p.field("reason", u.Reason)
		p.fields("left", limited(u.Steps, p.claimLineLimit(), p.where()))
		p.field("works", u.Works)
		return
	}
	p.field("nodes", g.nodes(podTerms))
	p.fields("devices", limited(otherLines(otherDevices(a, g.pods[0].Pod)), p.claimLineLimit(), p.where()))
	p.field("NICs", nicText(g.pods[0]))
	if first || p.o.Verbose || status != fabric.Pass {
		p.devicePairs(g)
	}
}

// devicePairs writes the pairs of the first pod of a group.
func (p *printer) devicePairs(g podGroup) {
	pod := g.pods[0]
	if len(pod.Pairs) == 0 {
		return
	}
	if len(g.pods) > 1 {
		p.field("pairs", "of "+printable(pod.Pod)+", the first of them:")
	}
	p.table(pairColumns(pod.Pairs))
}

// podGroup is pods that got the same: as many pairs at the same distances, or nothing for the same reason.
type podGroup struct {
	pods  []fabric.PodAlignment
	lacks *fabric.Unsatisfied // nil where their claims are satisfied
}

// podGroupsOf groups the pods of an allocation, worst first.
func podGroupsOf(a *fabric.Allocation) []podGroup {
	at := map[string]int{}
	var all []podGroup
	add := func(pod fabric.PodAlignment, u *fabric.Unsatisfied) {
		key := podKey(pod, u)
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, podGroup{lacks: u})
		}
		all[i].pods = append(all[i].pods, pod)
	}
	for _, u := range lacking(a) {
		add(fabric.PodAlignment{Pod: u.Pod}, u)
	}
	for _, pod := range a.Pods {
		add(pod, nil)
	}
	slices.SortStableFunc(all, func(x, y podGroup) int { return x.rank() - y.rank() })
	return all
}

// lacking are the pods without devices, each with the first of its claims that is not satisfied.
func lacking(a *fabric.Allocation) (all []*fabric.Unsatisfied) {
	seen := map[string]bool{}
	for i := range a.Unsatisfied {
		if u := &a.Unsatisfied[i]; !seen[u.Pod] {
			seen[u.Pod] = true
			all = append(all, u)
		}
	}
	return all
}

func podKey(pod fabric.PodAlignment, u *fabric.Unsatisfied) string {
	if u != nil {
		return fmt.Sprint("lacks ", u.Unsure) + strings.ReplaceAll(u.Reason, pod.Pod, "") // the steps are of the first pod only
	}
	distances := map[fabric.DeviceDistance]int{}
	for _, pair := range pod.Pairs {
		distances[pair.Distance]++
	}
	return fmt.Sprint(pod.Status, pod.GPUs, pod.NICs, pod.Aligned, pod.Total, pod.NICGBs, distances, len(pod.NUMAs)) // maps are printed by key
}

// rank orders groups: without devices, misaligned (most of their pairs first), unknown, aligned.
func (g podGroup) rank() int {
	const far = 1 << 20 // above any number of pairs of a pod
	pod := g.pods[0]
	switch {
	case g.lacks != nil && !g.lacks.Unsure:
		return 0
	case g.lacks != nil:
		return 2*far - 1
	case pod.Status == fabric.Fail:
		return far + pod.Aligned.Max
	case pod.Status == fabric.Pass:
		return 4 * far
	default:
		return 2*far + pod.Aligned.Min
	}
}

func (g podGroup) status() fabric.Status {
	switch {
	case g.lacks != nil && g.lacks.Unsure:
		return fabric.Unknown
	case g.lacks != nil:
		return fabric.Fail
	}
	return g.pods[0].Status
}

func (g podGroup) names(limit int) string {
	var names []string
	for _, pod := range g.pods {
		names = append(names, pod.Pod)
	}
	return fabric.Printable(draw.Names(names, limit))
}

// nodes is the nodes of the pods, empty where they have none.
func (g podGroup) nodes(limit int) string {
	var names []string
	for _, pod := range g.pods {
		if pod.Node != "" {
			names = append(names, pod.Node)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return ""
	}
	text := fabric.Printable(draw.Names(names, limit))
	if len(names) > 1 {
		text = fabric.Count(len(names), "node") + ": " + text
	}
	return text
}

// title is what the pods of a group got, in a few words.
func (g podGroup) title() string {
	pod, each := g.pods[0], ""
	if n := len(g.pods); n > 1 {
		each = fabric.Count(n, "pod") + ": "
	}
	switch {
	case g.lacks != nil && g.lacks.Unsure:
		return each + "it is not decided whether a node satisfies claim " + printable(g.lacks.Name)
	case g.lacks != nil && each != "":
		return each + "no node satisfies their claims, such as " + printable(g.lacks.Name)
	case g.lacks != nil:
		return "no node satisfies claim " + printable(g.lacks.Name)
	case pod.Total == 0 && pod.GPUs == 0 && pod.NICs > 0:
		return each + fabric.Count(pod.NICs, "NIC") + ", no GPU: what gives the GPUs is not said (--gpus)"
	case pod.Total == 0:
		return each + "no pair to align: " + fabric.Count(pod.GPUs, "GPU") + ", " + fabric.Count(pod.NICs, "NIC")
	}
	return each + fmt.Sprintf("%s of %s aligned", countSpan(pod.Aligned), fabric.Count(pod.Total, "GPU-NIC pair"))
}

// titleIn is the title, with the word that another order of the devices gives less.
func (g podGroup) titleIn(a *fabric.Allocation) string {
	if n := len(otherDevices(a, g.pods[0].Pod)); g.lacks == nil && n > 0 {
		return g.title() + ", " + fabric.Count(n, "other device")
	}
	if g.lacks == nil && g.pods[0].Status == fabric.Pass && a.Orders.ByChance() {
		return g.title() + ", in this order of the devices"
	}
	return g.title()
}

// countSpan writes a number that is known within bounds.
func countSpan(r fabric.CountRange) string {
	if r.Min == r.Max {
		return fmt.Sprint(r.Min)
	}
	return fmt.Sprintf("%d to %d", r.Min, r.Max)
}

// nicText is the NICs of a pod and what they carry.
func nicText(pod fabric.PodAlignment) string {
	text := fabric.Count(pod.NICs, "NIC")
	switch rate := span(pod.NICGBs.Min, pod.NICGBs.Max, " to "); {
	case pod.NICs == 0:
		return "none"
	case rate == "?":
		text += ", of an unknown rate"
	default:
		text += ", " + rate + " GB/s one way"
	}
	if len(pod.NUMAs) > 1 {
		text += fmt.Sprintf(", of %d NUMA nodes", len(pod.NUMAs))
	}
	return text
}
