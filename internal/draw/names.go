package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Names writes a set of names in natural order with runs folded, as the cluster file writes them:
// host[1-4,7], eth1, rack[1-2]n[01-16]. At most limit terms are written, then how many names were left out; a
// limit of zero or less writes all. Numbers keep their leading zeros.
func Names(names []string, limit int) string {
	names = slices.Clone(names)
	slices.SortFunc(names, Natural)
	names = slices.Compact(names)
	var families []term
	for i := 0; i < len(names); {
		n := familyLen(names[i:])
		families = append(families, foldFamily(names[i:i+n]))
		i += n
	}
	var texts []string
	left := len(names)
	for _, t := range foldTerms(families) {
		if limit > 0 && len(texts) == limit {
			return strings.Join(texts, ", ") + fmt.Sprintf(" and %d more", left)
		}
		if rest, kept, long := t.firstRuns(); limit > 0 && long {
			return strings.Join(append(texts, t.prefix+rest), ", ") + fmt.Sprintf(" and %d more", left-kept)
		}
		texts = append(texts, t.prefix+t.rest)
		left -= t.names
	}
	return strings.Join(texts, ", ")
}

// term is names that are written as one: a prefix, and a number or several.
type term struct {
	prefix, rest string
	names        int
}

// mostRuns is how many runs of numbers are written where the number of terms has a limit: SONiC counts ports by lanes, so that
// none follow each other.
const mostRuns = 16

// firstRuns are the first runs of a term with too many of them, and how many names they are. A term with several lists of
// numbers is written whole.
func (t term) firstRuns() (rest string, kept int, long bool) {
	runs := strings.Split(strings.TrimSuffix(strings.TrimPrefix(t.rest, "["), "]"), ",")
	if len(runs) <= mostRuns || strings.Count(t.rest, "[") != 1 || !strings.HasPrefix(t.rest, "[") || !strings.HasSuffix(t.rest, "]") {
		return "", 0, false
	}
	for _, run := range runs[:mostRuns] {
		first, last, isRun := strings.Cut(run, "-")
		kept++
		if a, errA := strconv.Atoi(first); isRun && errA == nil {
			if b, err := strconv.Atoi(last); err == nil && b > a {
				kept += b - a
			}
		}
	}
	return "[" + strings.Join(runs[:mostRuns], ",") + "]", kept, true
}

// foldTerms puts terms together that differ in the last number of their prefix only: g1-rail[1-8] and
// g2-rail[1-8] are g[1-2]-rail[1-8]. Addresses, where the digits of a hexadecimal number may look decimal, stay.
func foldTerms(all []term) []term {
	var out []term
	place := map[term]int{} // of the terms that differ in that number only, in families
	var families [][]string
	for _, t := range all {
		stem := strings.TrimRightFunc(t.prefix, func(r rune) bool { return r < '0' || r > '9' })
		head, number := splitNumber(stem)
		if number < 0 || strings.Contains(t.prefix, ":") {
			out, families = append(out, t), append(families, nil)
			continue
		}
		key := term{head, t.prefix[len(stem):] + t.rest, t.names}
		i, ok := place[key]
		if !ok {
			i = len(out)
			place[key] = i
			out, families = append(out, term{head, key.rest, 0}), append(families, nil)
		}
		out[i].names += t.names
		families[i] = append(families[i], stem)
	}
	for i, stems := range families {
		if len(stems) == 0 {
			continue
		}
		slices.SortFunc(stems, Natural)
		f := foldFamily(stems)
		out[i] = term{f.prefix, f.rest + out[i].rest, out[i].names}
	}
	return out
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
	end := len(name)
	for end > 0 && name[end-1] >= '0' && name[end-1] <= '9' {
		end--
	}
	if end == len(name) {
		return name, -1
	}
	number, err := strconv.Atoi(name[end:])
	if err != nil {
		return name, -1
	}
	return name[:end], number
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

// foldFamily folds names that differ in their last number only.
func foldFamily(names []string) term {
	prefix, number := splitNumber(names[0])
	if len(names) == 1 || number < 0 {
		return term{prefix, names[0][len(prefix):], 1}
	}
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
	return term{prefix, "[" + strings.Join(runs, ",") + "]", len(names)}
}

// follows says that b is one more than a and written alike: 09 and 10 are, 9 and 10 are, 9 and 010 are not.
func follows(a, b string) bool {
	_, x := splitNumber(a)
	_, y := splitNumber(b)
	return y == x+1 && (len(a) == len(b) || a[0] != '0' && b[0] != '0')
}
