package cli

import (
	"errors"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/report"
)

// printOperators writes what is installed on a cluster of Kubernetes before its pods, or what the plan relies on; and the NICs that pods
// share, with what selects each.
func (a *app) printOperators(p *fabric.Plan) error {
	o := p.Operators
	if o == nil {
		return nil
	}
	if len(o.Releases) == 0 {
		printf(a.stdout, "\nOPERATORS  of Kubernetes %s are there (kubernetes.operators: present). The plan relies on:\n", o.Kubernetes)
		return errors.Join(a.printRelies(o.Relies), a.printSharedNICs(p))
	}
	printf(a.stdout, "\nOPERATORS  of Kubernetes %s, in this order; operators-up.sh of render installs them\n\n", o.Kubernetes)
	w := newTable(a.stdout)
	fmt.Fprintln(w, "RELEASE\tVERSION\tNAMESPACE\tREADY WHEN")
	for _, r := range o.Releases {
		printf(w, "%s\t%s\t%s\t%s\n", r.Name, r.Version, r.Namespace, readyText(r.Ready))
	}
	if o.Plugin != nil {
		printf(w, "(DaemonSet)\t%s\t%s\t%s\n", o.Plugin.Image.Tag, o.Plugin.Namespace, readyText(o.Plugin.Ready))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(o.Relies) > 0 {
		printf(a.stdout, "\nNot installed, and the plan relies on it:\n")
	}
	return errors.Join(a.printRelies(o.Relies), a.printSharedNICs(p))
}

func (a *app) printRelies(all []fabric.OperatorGift) error {
	var lines [][2]string
	for _, g := range all {
		lines = append(lines, [2]string{"", g.What + " (" + g.From + ")"})
	}
	return report.Fields(a.stdout, a.textOptions(), lines)
}

// readyText is what has to be so before the next release. Resources of one kind are counted.
func readyText(all []fabric.Readiness) string {
	var words []string
	resources := 0
	for _, r := range all {
		if strings.HasPrefix(r.Resource, fabric.RDMAPrefix) {
			resources++
			continue
		}
		words = append(words, r.What)
	}
	if resources > 0 {
		words = append(words, "every machine gives out the NICs of "+fabric.Count(resources, "rail"))
	}
	if len(words) == 0 {
		return "its programs run"
	}
	return strings.Join(words, "; ")
}

func (a *app) printSharedNICs(p *fabric.Plan) error {
	if p.Pods == nil || len(p.Pods.NICs) == 0 {
		return nil
	}
	w := newTable(a.stdout)
	printf(w, "\nRESOURCE OF A RAIL\tINTERFACES\tVENDORS\tDEVICES\tDRIVERS\tLINK\tPODS AT A TIME\tSOURCE\n")
	for _, n := range p.Pods.NICs {
		printf(w, "%s%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", fabric.RDMAPrefix, n.Resource, strings.Join(n.Interfaces, ","), strings.Join(n.Vendors, ","), strings.Join(n.Devices, ","),
			strings.Join(n.Drivers, ","), orDash(n.LinkType), fabric.SharesPerNIC, n.Source)
	}
	return w.Flush()
}
