package catalog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxNameLength bounds a Linux interface name, in bytes: IFNAMSIZ of linux/if.h, less its final zero.
const maxNameLength = 15

// nicNames checks that a range expression gives that many different names of interfaces.
func (p *problems) nicNames(expression string, count int) {
	names, err := expand(expression)
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
			p.add(field, "has both names and a rule for them")
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
			p.add(field, "%q is no name", name)
		}
		if seen[name] {
			p.add(field, "%q is given twice", name)
		}
		seen[name] = true
	}
}

// expand gives the names of a range expression: items with commas between them, each a plain name or one
// with one bracket that holds numbers and ranges of numbers, such as gpu[0-3,6]rdma0.
func expand(expression string) ([]string, error) {
	item := regexp.MustCompile(`^([A-Za-z0-9_.-]*)(?:\[([0-9,-]+)\]([A-Za-z0-9_.-]*))?$`)
	var names []string
	for _, text := range split(expression) {
		m := item.FindStringSubmatch(text)
		if text == "" || m == nil {
			return nil, fmt.Errorf("%q in %q is neither a name nor a name with a range", text, expression)
		}
		if m[2] == "" {
			names = append(names, text)
			continue
		}
		for _, span := range strings.Split(m[2], ",") {
			numbers, err := numbersOf(span)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", expression, err)
			}
			for _, n := range numbers {
				names = append(names, m[1]+n+m[3])
			}
		}
	}
	return names, nil
}

// split cuts at the commas outside of brackets.
func split(expression string) []string {
	var items []string
	depth, start := 0, 0
	for i, r := range expression {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			items = append(items, expression[start:i])
			start = i + 1
		}
	}
	return append(items, expression[start:])
}

// numbersOf gives the numbers of 3 or 1-8, with the leading zeros of the lower end.
func numbersOf(span string) ([]string, error) {
	low, high, isRange := strings.Cut(span, "-")
	if !isRange {
		high = low
	}
	from, lowErr := strconv.Atoi(low)
	to, highErr := strconv.Atoi(high)
	const most = 1 << 10 // interfaces of one machine
	if lowErr != nil || highErr != nil || from > to || to-from >= most {
		return nil, fmt.Errorf("range %q is not low-high with at most %d numbers", span, most)
	}
	var numbers []string
	for n := from; n <= to; n++ {
		numbers = append(numbers, fmt.Sprintf("%0*d", len(low), n))
	}
	return numbers, nil
}
