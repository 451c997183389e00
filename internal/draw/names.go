package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Names writes a set of names in natural order with runs folded, as the cluster file writes them:
// host[1-4,7], eth1. At most limit terms are written, then how many names were left out; a limit of
// zero or less writes all. Numbers keep their leading zeros.
func Names(names []string, limit int) string {
	names = slices.Clone(names)
	slices.SortFunc(names, Natural)
	names = slices.Compact(names)
	var terms []string
	for i := 0; i < len(names); {
		if limit > 0 && len(terms) == limit {
			return strings.Join(terms, ", ") + fmt.Sprintf(" and %d more", len(names)-i)
		}
		n := familyLen(names[i:])
		terms = append(terms, foldFamily(names[i:i+n]))
		i += n
	}
	return strings.Join(terms, ", ")
}

// Natural orders names so that eth2 comes before eth10.
func Natural(a, b string) int {
	pa, na := splitNumber(a)
	pb, nb := splitNumber(b)
	return cmp.Or(cmp.Compare(pa, pb), cmp.Compare(na, nb), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// splitNumber takes the number off the end of a name; a name without one, or with one that is too long to
// count, has the number -1.
func splitNumber(name string) (prefix string, number int) {
	prefix = strings.TrimRight(name, "0123456789")
	number, err := strconv.Atoi(name[len(prefix):])
	if err != nil {
		return name, -1
	}
	return prefix, number
}

// familyLen counts the names at the start that differ in their number only.
func familyLen(names []string) int {
	prefix, number := splitNumber(names[0])
	n := 1
	for number >= 0 && n < len(names) {
		p, x := splitNumber(names[n])
		if p != prefix || x < 0 {
			break
		}
		n++
	}
	return n
}

func foldFamily(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	prefix, _ := splitNumber(names[0])
	digits := func(i int) string { return names[i][len(prefix):] }
	var runs []string
	for i := 0; i < len(names); {
		j := i
		for j+1 < len(names) && follows(digits(j), digits(j+1)) {
			j++
		}
		if j == i {
			runs = append(runs, digits(i))
		} else {
			runs = append(runs, digits(i)+"-"+digits(j))
		}
		i = j + 1
	}
	return prefix + "[" + strings.Join(runs, ",") + "]"
}

// follows says that b is one more than a and written alike: 09 and 10 are, 9 and 10 are, 9 and 010 are not.
func follows(a, b string) bool {
	_, x := splitNumber(a)
	_, y := splitNumber(b)
	return y == x+1 && (len(a) == len(b) || a[0] != '0' && b[0] != '0')
}
