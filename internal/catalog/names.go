package catalog

import (
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
		if n.Format != "" || n.First != 0 || n.Step != 0 || n.Group != 0 || n.GroupFirst != 0 {
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
	if strings.Count(n.Format, "%d") != numbers || strings.Count(n.Format, "%") != numbers {
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
	return len(p.found) == before
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
