package fabric

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// DSCPPriorities are the priorities (0 to 7) of DSCP values (0 to 63). It has a short text form, as a NIC may report all 64.
type DSCPPriorities map[int]int

const maxDSCP, maxPriority = 63, 7 // RFC 2474, 3: six bits; IEEE 802.1Q, 6.9.3: three bits

// MarshalText writes values that follow each other with one priority as a range: "0-7:0 26:3".
func (d DSCPPriorities) MarshalText() ([]byte, error) {
	var out []string
	values := slices.Sorted(maps.Keys(d))
	for i := 0; i < len(values); {
		from, to := values[i], values[i]
		for i++; i < len(values) && values[i] == to+1 && d[values[i]] == d[from]; i++ {
			to = values[i]
		}
		span := strconv.Itoa(from)
		if to > from {
			span += "-" + strconv.Itoa(to)
		}
		out = append(out, span+":"+strconv.Itoa(d[from]))
	}
	return []byte(strings.Join(out, " ")), nil
}

// UnmarshalText reads that form.
func (d *DSCPPriorities) UnmarshalText(text []byte) error {
	read := DSCPPriorities{}
	for _, word := range strings.Fields(string(text)) {
		span, priority, _ := strings.Cut(word, ":")
		first, last, isRange := strings.Cut(span, "-")
		if !isRange {
			last = first
		}
		from, errFrom := strconv.Atoi(first)
		to, errTo := strconv.Atoi(last)
		p, errPriority := strconv.Atoi(priority)
		if errFrom != nil || errTo != nil || errPriority != nil || from < 0 || from > to || to > maxDSCP || p < 0 || p > maxPriority {
			return fmt.Errorf("priorities of DSCP values: %q: want 0-7:0 26:3", word)
		}
		for v := from; v <= to; v++ {
			read[v] = p
		}
	}
	*d = read
	return nil
}
