package draw

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// PCIeText writes a report for a terminal of width columns, or 0 for what is none: the worst link, what is downgraded, the
// paths of GPUs and NICs, their switches, and the lists of access control.
func PCIeText(w io.Writer, r *topology.PCIeReport, width int) error {
	t := pcieText{topologyText: topologyText{width: max(cmp.Or(width, usualWidth), narrowest)}, r: r, links: make(map[string]topology.PCIeLink)}
	for _, l := range r.Links {
		t.links[l.Lower] = l
	}
	scope := "GPUs, NICs and the bridges above them"
	if r.Whole {
		scope = "all of the host"
	}
	t.hang("PCIe of ", fmt.Sprintf("%s (%s): %s, %s; %s", r.Node, r.Source, fabric.Count(r.Functions, "function"), scope, fabric.Count(len(r.Links), "link")))
	t.worst()
	t.state(topology.LinkDowngraded, "Downgraded", "none: every link that was read runs as fast and wide as both of its ends support")
	t.state(topology.LinkUnknown, "Unknown", "")
	t.state(topology.LinkLimited, "One end supports more", "")
	t.layout()
	t.load()
	t.paths()
	t.switches()
	t.acs()
	t.missing()
	_, err := io.WriteString(w, t.b.String())
	return err
}

type pcieText struct {
	topologyText
	r     *topology.PCIeReport
	links map[string]topology.PCIeLink
}

func (t *pcieText) worst() {
	switch worst := t.r.Worst; {
	case worst == nil:
		t.hang("Worst link: ", "unknown: no link of a GPU or NIC reports its speed and width")
	case worst.CostGBs > 0:
		t.hang("Worst link: ", fmt.Sprintf("%s: %s; %.1f instead of %.1f GB/s, %.1f GB/s less for %s (%s)",
			linkEnds(worst.PCIeLink), worst.Why, worst.GBs, worst.MostGBs, worst.CostGBs, strings.Join(worst.Below, ", "), topology.RateFormula))
	default:
		t.hang("Slowest link: ", fmt.Sprintf("%s: %g GT/s x%d, %.1f GB/s, all that its ends support, for %s (%s)",
			linkEnds(worst.PCIeLink), worst.Speed, worst.Width, worst.GBs, strings.Join(worst.Below, ", "), topology.RateFormula))
	}
}

// linkEnds names a link by its ends.
func linkEnds(l topology.PCIeLink) string {
	if l.Upper == "" {
		return l.Lower
	}
	return l.Lower + " below " + l.Upper
}

// state lists the links in a state; none is what is said where there are none, nothing where it is empty.
func (t *pcieText) state(state topology.LinkState, title, none string) {
	list := t.r.Of(state)
	if len(list) == 0 {
		if none != "" && len(t.r.Links) > 0 {
			t.hang(title+": ", none)
		}
		return
	}
	slices.SortStableFunc(list, func(a, b topology.PCIeLink) int { return -cmp.Compare(a.LossGBs(), b.LossGBs()) })
	t.hang(title+": ", fmt.Sprintf("%d of %s", len(list), fabric.Count(len(t.r.Links), "link")))
	for _, l := range list {
		text := linkEnds(l) + ": " + l.Why
		if loss := l.LossGBs(); loss > 0 {
			text += fmt.Sprintf("; %.1f GB/s less", loss)
		}
		if loss := l.LossGBs(); loss > 0 && t.isGPU(l.Lower) && l.Width >= min(l.LowerMax.Width, l.UpperMax.Width) {
			text += "; some GPUs lower their speed at rest: read it again under load"
		}
		t.hang("  ", text)
	}
}

func (t *pcieText) isGPU(address string) bool {
	return slices.ContainsFunc(t.r.Paths, func(p topology.PCIePath) bool { return p.Kind == topology.KindGPU && p.Address == address })
}

func (t *pcieText) layout() {
	c := t.r.Layout
	if c == nil {
		return
	}
	t.hang("Layout: ", fmt.Sprintf("%s against %s: found %s; expected %s", c.Status, c.Machine, c.Found, cmp.Or(c.Expected, "unknown")))
	for _, d := range c.Differences {
		t.hang("  ", d)
	}
}

func (t *pcieText) load() {
	l := t.r.Load
	if l == nil {
		return
	}
	t.hang("In use: ", fmt.Sprintf("%s: %s", l.Status, l.Why))
	if l.Placement != "" {
		t.hang("  ", l.Placement)
	}
	for i, s := range l.Samples {
		least, most := s.Range()
		word := "even"
		switch {
		case s.Idle:
			word = "idle"
		case s.Uneven:
			word = "uneven"
		}
		t.hang(fmt.Sprintf("  sample %d  ", i+1), fmt.Sprintf("%s: %.0f to %.0f MB/s on %s (received and sent packets x largest payload)", word, least, most, fabric.Count(len(s.MBs), "GPU")))
	}
}

func (t *pcieText) paths() {
	if len(t.r.Paths) == 0 {
		t.hang("", "No GPU and no NIC was found.")
		return
	}
	t.hang("", "From each GPU and NIC up to the root (GT/s x lanes of each link; ! downgraded, ? unknown):")
	name := 0
	for _, p := range t.r.Paths {
		name = max(name, len(t.nameOf(p)))
	}
	for _, p := range t.r.Paths {
		rate := "      ? GB/s"
		if p.GBs > 0 {
			rate = fmt.Sprintf("%7.1f GB/s", p.GBs)
		}
		hops := make([]string, 0, len(p.Links))
		for _, lower := range p.Links {
			hops = append(hops, glue(t.hop(lower)))
		}
		text := strings.Join(hops, ", ")
		switch {
		case len(hops) == 0 && p.Why == "":
			rate, text = "           ", "part of the root complex, without a link"
		case p.Why != "":
			text = strings.TrimPrefix(text+"; "+p.Why, "; ")
		}
		t.hang(fmt.Sprintf("  %-*s  %s  %s  ", name, t.nameOf(p), p.Address, rate), text)
	}
}

func (t *pcieText) nameOf(p topology.PCIePath) string {
	name := cmp.Or(fabric.Printable(p.Name), "NIC")
	if p.Functions > 1 {
		name += fmt.Sprintf(" +%d", p.Functions-1)
	}
	return name
}

// hop writes a link by its lower end without the domain 0000.
func (t *pcieText) hop(lower string) string {
	l, mark := t.links[lower], ""
	switch l.State {
	case topology.LinkDowngraded:
		mark = "!"
	case topology.LinkUnknown:
		mark = "?"
	}
	if l.Speed == 0 || l.Width == 0 {
		return strings.TrimPrefix(lower, "0000:") + " ?"
	}
	return fmt.Sprintf("%s %gx%d%s", strings.TrimPrefix(lower, "0000:"), l.Speed, l.Width, mark)
}

func (t *pcieText) switches() {
	if len(t.r.Switches) == 0 {
		return
	}
	t.hang("", "PCIe switches above them (of a partitioned chip each virtual switch):")
	for _, s := range t.r.Switches {
		text := fmt.Sprintf("%s, %s", fabric.Count(len(s.GPUs), "GPU"), fabric.Count(len(s.NICs), "NIC"))
		if s.Downstream != nil {
			text += fmt.Sprintf(", %s, %s", fabric.Count(len(s.NVMe), "NVMe drive"), fabric.Count(*s.Downstream, "downstream port"))
		}
		t.hang(fmt.Sprintf("  %s  %s  ", s.Upstream, s.ID), text)
	}
}

func (t *pcieText) acs() {
	l := t.r.ACS
	redirect := 0
	for _, fn := range l.Enabled {
		if fn.Redirects {
			redirect++
		}
	}
	t.hang("ACS: ", fmt.Sprintf("%s capable: %d enabled (%d of them redirect traffic to the root complex), %d disabled; %d without it, %d unknown",
		fabric.Count(l.Capable(), "function"), len(l.Enabled), redirect, len(l.Disabled), l.Without, len(l.Unread)))
	for _, fn := range l.Enabled {
		t.hang("  enabled  ", fn.Address+" "+fn.Flags)
	}
	if len(l.Disabled) > 0 {
		addresses := make([]string, 0, len(l.Disabled))
		for _, fn := range l.Disabled {
			addresses = append(addresses, fn.Address)
		}
		t.hang("  disabled  ", strings.Join(addresses, " "))
	}
	if len(l.Unread) > 0 {
		t.hang("  unknown  ", strings.Join(l.Unread, " "))
	}
}

// missing lists what was not read, what has one reason together.
func (t *pcieText) missing() {
	type why struct{ path, reason string }
	var order []why
	of := make(map[why][]string)
	for _, m := range t.r.Missing {
		path, device, _ := strings.Cut(m.What, " ")
		w := why{path, m.Reason}
		if _, again := of[w]; !again {
			order = append(order, w)
		}
		of[w] = append(of[w], device)
	}
	for _, w := range order {
		text := w.path
		if devices := of[w]; devices[0] != "" {
			text += " of " + strings.Join(devices, " ")
		}
		t.hang("Not read: ", text+": "+w.reason)
	}
}
