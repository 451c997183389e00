package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/report"
)

// fileFlag is the -f of every command that takes a cluster file.
func fileFlag(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "file", "f", "", "cluster file; - for standard input")
}

// planOptions are the flags of plan.
type planOptions struct {
	file      string
	snapshots []string
}

func (a *app) planCommand(run func(context.Context, planOptions) error) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use: "plan -f FILE [--snapshot PATH...]", Short: "Show the plan: addresses, cables, switches and traffic classes", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	snapshotsFlag(c, &o.snapshots)
	return c
}

func (a *app) plan(ctx context.Context, o planOptions) error {
	in, err := a.readSeen(ctx, o.file, o.snapshots)
	if err != nil {
		return err
	}
	if a.json() {
		return report.JSON(a.stdout, in.plan)
	}
	return a.printPlan(in.plan)
}

func (a *app) printPlan(p *fabric.Plan) error {
	answer := planAnswer(p) // the first line and the last
	fmt.Fprintln(a.stdout, answer)
	if p.Partition != 0 {
		printf(a.stdout, "partition %s, every port a full member\n", p.Partition)
	}
	for _, note := range p.Notes {
		if err := report.Paragraph(a.stdout, a.textOptions(), note); err != nil {
			return err
		}
	}
	err := errors.Join(a.printCables(p), a.printUplinks(p), a.printBill(p), a.printSwitches(p), a.printCloud(p), a.printVSphere(p), a.printOperators(p), a.printPods(p), a.printMachines(p), a.printTraffic(p))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "\n%s\n", answer)
	return err
}

// planAnswer is a plan in a line.
func planAnswer(p *fabric.Plan) string {
	if p.Cloud != nil {
		return cloudAnswer(p)
	}
	scheme := string(p.Addressing.Scheme)
	if p.Addressing.Scheme == fabric.None {
		scheme = "no addresses"
	}
	return sprintf("%s: %s, %s, %s, %s, MTU %d", p.Name, fabric.Count(len(p.Nodes), "node"),
		fabric.Count(len(p.Switches), "switch"), fabric.Count(p.Cables(), "cable"), scheme, p.MTU)
}

// usualColumns is the width of what is no terminal, so that it can be read in one.
const usualColumns = 80

// printCables writes a line per cable; machines whose ports have twins are drawn.
func (a *app) printCables(p *fabric.Plan) error {
	if len(p.Ports) > 0 {
		o := a.textOptions()
		fmt.Fprintln(a.stdout)
		return draw.PortsText(a.stdout, p, cmp.Or(o.Width, usualColumns), draw.CurveOptions{Color: o.Color, ASCII: o.ASCII})
	}
	if len(p.Cabling.Links) == 0 {
		return nil
	}
	addresses := make(map[fabric.Endpoint]fabric.NICAddress, len(p.Cabling.Links))
	for _, n := range p.Addressing.Nodes {
		for _, nic := range n.NICs {
			addresses[fabric.Endpoint{Node: n.Node, NIC: nic.NIC}] = nic
		}
	}
	w := newTable(a.stdout)
	fmt.Fprintln(w, "\nNODE\tNIC\tRAIL\tADDRESS\tGATEWAY\tTABLE\tSWITCH\tPORT")
	for _, l := range p.Cabling.Links {
		address, gateway, table := "-", "-", "-"
		if nic, ok := addresses[l.A]; ok {
			if address = nic.Address.String(); nic.Table > 0 {
				table = fmt.Sprint(nic.Table)
			}
			if nic.Gateway.IsValid() {
				gateway = nic.Gateway.String()
			}
		}
		printf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", l.A.Node, l.A.NIC, l.Rail, address, gateway, table, l.B.Node, l.B.NIC)
	}
	return w.Flush()
}

// printUplinks writes a line per cable between switches.
func (a *app) printUplinks(p *fabric.Plan) error {
	if len(p.Cabling.Uplinks) == 0 {
		return nil
	}
	addresses := make(map[fabric.Endpoint]string)
	for _, s := range p.Switches {
		for _, port := range s.Ports {
			if port.Uplink && port.Address.IsValid() {
				addresses[fabric.Endpoint{Node: s.Name, NIC: port.Name}] = port.Address.String()
			}
		}
	}
	w := newTable(a.stdout)
	fmt.Fprintln(w, "\nLEAF\tPORT\tADDRESS\tSPINE\tPORT\tADDRESS")
	for _, l := range p.Cabling.Uplinks {
		printf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", l.A.Node, l.A.NIC, orDash(addresses[l.A]), l.B.Node, l.B.NIC, orDash(addresses[l.B]))
	}
	return w.Flush()
}

// printBill writes the bill of cables and optics.
func (a *app) printBill(p *fabric.Plan) error {
	if len(p.Cabling.Bill) == 0 {
		return nil
	}
	if len(p.Ports) > 0 {
		return a.printWhole(p.Cabling.Bill)
	}
	w := newTable(a.stdout)
	fmt.Fprintln(w, "\nCABLES\tFROM\tTO\tRATE\tSPLIT\tENDS AT FROM\tENDS AT TO\tUP TO")
	for _, l := range p.Cabling.Bill {
		length := "-"
		if l.LengthM > 0 {
			length = strconv.Itoa(l.LengthM) + " m"
		}
		printf(w, "%d\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", l.Cables, l.From, l.To, gbps(l.RateGbps), l.Split, l.FromEnds, l.ToEnds, length)
	}
	return w.Flush()
}

// printWhole writes the bill of cables of machines whose ports have twins. They come with their ends; a split one has several.
func (a *app) printWhole(bill []fabric.CableLot) error {
	w := newTable(a.stdout)
	fmt.Fprintln(w, "\nCABLES\tFROM\tTO\tRATE\tSPLIT")
	for _, l := range bill {
		printf(w, "%d\t%s\t%s\t%s\t%d\n", l.Cables, l.From, l.To, gbps(l.RateGbps), l.Split)
	}
	return w.Flush()
}

// printSwitches writes a line per switch; switches that are alike share one.
func (a *app) printSwitches(p *fabric.Plan) error {
	if len(p.Switches) == 0 {
		return nil
	}
	names := make(map[string][]string)
	var order []string
	for _, s := range p.Switches {
		text := sprintf("%s\t%s\t%s\t%s\t%s\t%s", s.Role, s.Model, orDash(s.OS), number(float64(s.MTU)), portRange(s.Ports), gbps(portRate(s.Ports)))
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], s.Name)
	}
	w := newTable(a.stdout)
	fmt.Fprintln(w, "\nSWITCH\tROLE\tMODEL\tOS\tMTU\tPORTS IN USE\tRATE")
	for _, text := range order {
		fmt.Fprintf(w, "%s\t%s\n", fabric.Printable(draw.Names(names[text], 2)), text)
	}
	return w.Flush()
}

// portRange writes how many ports are in use, with the first and the last: 32: Ethernet0 to 124.
func portRange(ports []fabric.SwitchPort) string {
	switch n := len(ports); n {
	case 0:
		return "0"
	case 1:
		return "1: " + ports[0].Name
	default:
		first, last := ports[0].Name, ports[n-1].Name
		word := strings.TrimRight(first, "0123456789/")
		return fmt.Sprintf("%s: %s to %s", portCount(ports), first, cmp.Or(strings.TrimPrefix(last, word), last))
	}
}

// portCount tells ports towards hosts from uplinks where a switch has both: 24 + 24 up.
func portCount(ports []fabric.SwitchPort) string {
	up := 0
	for _, p := range ports {
		if p.Uplink {
			up++
		}
	}
	if up == 0 || up == len(ports) {
		return fmt.Sprint(len(ports))
	}
	return fmt.Sprintf("%d + %d up", len(ports)-up, up)
}

// portRate returns the rate of all ports in Gb/s; 0 where it is unknown or they differ.
func portRate(ports []fabric.SwitchPort) float64 {
	if len(ports) == 0 || slices.ContainsFunc(ports, func(p fabric.SwitchPort) bool { return p.RateGbps != ports[0].RateGbps }) {
		return 0
	}
	return ports[0].RateGbps
}

func (a *app) printMachines(p *fabric.Plan) error {
	if len(p.Machines) == 0 {
		return nil
	}
	w := newTable(a.stdout)
	fmt.Fprintln(w, "\nMACHINE\tGPUS\tGPU\tNICS\tNIC\tRATE\tPCIE\tLANES\tSOURCE")
	for _, m := range p.Machines {
		printf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.ID, number(float64(m.GPUs)), orDash(m.GPU), number(float64(m.NICs)), orDash(m.NIC),
			gbps(m.NICGbps), number(float64(m.PCIeGeneration)), number(float64(m.PCIeLanes)), m.Source)
	}
	return w.Flush()
}

func (a *app) printTraffic(p *fabric.Plan) error {
	if p.Traffic == nil {
		return nil
	}
	w := newTable(a.stdout)
	fmt.Fprintln(w, "\nCLASS\tDSCP\tPRIORITY\tPFC\tECN")
	for _, c := range p.Traffic.Classes {
		pfc, ecn := "off", "off"
		if c.Lossless {
			pfc = "on"
		}
		if c.ECN != nil {
			ecn = fmt.Sprintf("%d to %d bytes, %d %%", c.ECN.MinBytes, c.ECN.MaxBytes, c.ECN.Percent)
		}
		printf(w, "%s\t%d\t%d\t%s\t%s\n", c.Name, c.DSCP, c.Priority, pfc, ecn)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	watchdog := "off"
	if d := p.Traffic.Watchdog; d != nil {
		watchdog = fmt.Sprintf("detect %d ms, restore %d ms", d.DetectMs, d.RestoreMs)
	}
	printf(a.stdout, "RoCE's share of the bandwidth: %d %%\nPFC watchdog: %s; longest cable: %d m\nSources:\n", p.Traffic.Share, watchdog, p.Traffic.CableM)
	return report.Fields(a.stdout, a.textOptions(), trafficSources(p.Traffic))
}

// trafficSources lists where the values come from; classes of one source share a line.
func trafficSources(t *fabric.Traffic) [][2]string {
	var all [][2]string
	add := func(label, source string) {
		if n := len(all); n > 0 && all[n-1][1] == source {
			all[n-1][0] += ", " + label
			return
		}
		all = append(all, [2]string{label, source})
	}
	for _, c := range t.Classes {
		add(c.Name, c.Source)
	}
	for _, c := range t.Classes {
		if c.ECN != nil {
			all = append(all, [2]string{"ECN", c.ECN.Source})
		}
	}
	all = append(all, [2]string{"share", t.ShareSource})
	if t.Watchdog != nil {
		all = append(all, [2]string{"watchdog", t.Watchdog.Source})
	}
	return append(all, [2]string{"cable", t.CableSource})
}

// number writes a figure of the plan; 0 means unknown.
func number(n float64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

func gbps(rate float64) string {
	if rate == 0 {
		return "-"
	}
	return number(rate) + " Gb/s"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
