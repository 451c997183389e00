package catalog

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// maxNameLength bounds a Linux interface name, in bytes: IFNAMSIZ of linux/if.h, less its final zero.
const maxNameLength = 15

// nicNames checks that a range expression gives that many different names of interfaces.
func (p *problems) nicNames(expression string, count int) {
	names, err := fabric.ExpandNames(expression)
	if err != nil {
		p.add("nic_names", "%v", err)
		return
	}
	if len(names) != count {
		p.add("nic_names", "%q gives %d names for %d NICs", expression, len(names), count)
	}
	p.unique("nic_names", names)
	for _, name := range names {
		if len(name) > maxNameLength {
			p.add("nic_names", "%q is longer than %d bytes", name, maxNameLength)
		}
	}
}

// portRule checks how a switch operating system names ports; ok is false where no name can be made of it.
func (p *problems) portRule(field string, n PortName) (ok bool) {
	if len(n.Names) > 0 {
		if n.Format != "" || n.First != 0 || n.Step != 0 || n.Group != 0 || n.GroupFirst != 0 || n.Split.Format != "" {
			p.add(field, "has both names and a format")
			return false
		}
		return true
	}
	before := len(p.found)
	numbers := 1
	if n.Group > 0 {
		numbers = 2
	}
	if verbs(n.Format) != numbers {
		p.add(field+".format", "%q does not have %d times %%d and no other verb", n.Format, numbers)
	}
	if n.Step < 1 {
		p.add(field+".step", "%d is not above 0", n.Step)
	}
	for part, value := range sorted(map[string]int{"first": n.First, "group": n.Group, "group_first": n.GroupFirst}) {
		if value < 0 {
			p.add(field+"."+part, "%d is below 0", value)
		}
	}
	if n.Group == 0 && n.GroupFirst != 0 {
		p.add(field+".group_first", "has no meaning without group")
	}
	p.splitRule(field+".split", n)
	return len(p.found) == before
}

// verbs counts the %d of a format; -1 where it has another verb.
func verbs(format string) int {
	n := strings.Count(format, "%d")
	if strings.Count(format, "%") != n {
		return -1
	}
	return n
}

// splitRule checks how the ports of a split cage are named.
func (p *problems) splitRule(field string, n PortName) {
	s := n.Split
	if s.Format == "" {
		if s.First != 0 || s.Lanes != 0 || s.Whole != "" || len(s.Into) > 0 || s.Source != "" {
			p.add(field+".format", "is empty")
		}
		return
	}
	p.text(field+".source", s.Source)
	if count := verbs(s.Format); count != 1 && count != 2 {
		p.add(field+".format", "%q does not have one or two times %%d and no other verb", s.Format)
	} else if count == 1 && s.Lanes == 0 {
		p.add(field+".lanes", "is not set, and the format has no place for the port of a cage")
	}
	if s.Whole != "" && (verbs(s.Whole) != 1 || n.Group <= 1) {
		p.add(field+".whole", "%q is not a format with one %%d of a cage that group splits", s.Whole)
	}
	if s.First < 0 || s.Lanes < 0 {
		p.add(field, "first %d or lanes %d is below 0", s.First, s.Lanes)
	}
	if len(s.Into) == 0 || !slices.IsSorted(s.Into) || s.Into[0] < 2 || s.Into[len(s.Into)-1] > 16 {
		p.add(field+".into", "%v are not numbers of 2 to 16 ports, ascending", s.Into)
	}
	for _, ports := range s.Into {
		if s.Lanes > 0 && (ports < 1 || s.Lanes%ports != 0) {
			p.add(field+".into", "%d lanes do not divide into %d ports", s.Lanes, ports)
		}
	}
}

// portNames checks the names of all ports of a switch.
func (p *problems) portNames(field string, n PortName, ports int) {
	if len(n.Names) > 0 && len(n.Names) != ports {
		p.add(field+".names", "gives %d names for %d ports", len(n.Names), ports)
		return
	}
	if n.Group > 0 && ports%n.Group != 0 {
		p.add(field+".group", "%d ports do not fill cages of %d", ports, n.Group)
	}
	names := make([]string, ports)
	for i := range names {
		names[i] = n.Port(i)
	}
	p.unique(field, names)
	for _, into := range n.Breakouts() {
		var split []string
		for i := range ports / n.PerCage() {
			for k := range into {
				split = append(split, n.SplitPort(i, into, k))
			}
		}
		p.unique(fmt.Sprintf("%s.split of %d", field, into), split)
	}
}

func (p *problems) unique(field string, names []string) {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if strings.TrimSpace(name) != name || name == "" {
			p.add(field, "invalid name %q", name)
		}
		if seen[name] {
			p.add(field, "%q is listed twice", name)
		}
		seen[name] = true
	}
}
