package fabric

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits of names.
const (
	// MaxNames limits what one expression, and all groups of a cluster together, expand to. The largest
	// cluster that is planned for has 16,384 hosts.
	MaxNames = 100_000
	// MaxHostName is the longest host name in bytes (RFC 1035, 2.3.4: 255 octets on the wire, of which
	// 253 are text).
	MaxHostName = 253
)

// ExpandNames expands a range expression in its written order: gpu[001-512], host[1-2,5],
// rack[1-2]n[01-16], with commas between several. A leading zero in the first number of a range keeps
// the width. An empty part, a bracket without its partner, a reversed range or more than 100,000 names
// is an error that quotes the part. Duplicates are kept: callers that do not allow them check that.
func ExpandNames(expr string) ([]string, error) {
	items, err := splitItems(expr)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, item := range items {
		parts, err := parseItem(item)
		if err != nil {
			return nil, err
		}
		count, length := 1, 0
		for _, p := range parts {
			if count *= len(p); count > MaxNames {
				break
			}
			length += longest(p)
		}
		switch {
		case len(names)+count > MaxNames:
			return nil, fmt.Errorf("%s expands to more than %d names", Quote(item), MaxNames)
		case length > MaxHostName:
			return nil, fmt.Errorf("%s gives names of %d bytes: at most %d", Quote(item), length, MaxHostName)
		}
		names = append(names, product(parts)...)
	}
	return names, nil
}

// splitItems cuts an expression at the commas that stand outside brackets.
func splitItems(expr string) ([]string, error) {
	var items []string
	start, inside := 0, false
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '[' && inside:
			return nil, fmt.Errorf("%s has a '[' inside brackets", Quote(expr))
		case c == '[':
			inside = true
		case c == ']' && !inside:
			return nil, fmt.Errorf("%s has a ']' without its '['", Quote(expr))
		case c == ']':
			inside = false
		case c == ',' && !inside:
			items = append(items, expr[start:i])
			start = i + 1
		}
	}
	if inside {
		return nil, fmt.Errorf("%s has a '[' without its ']'", Quote(expr))
	}
	items = append(items, expr[start:])
	for _, item := range items {
		if item == "" {
			return nil, fmt.Errorf("%s has an empty name: want a name before and after each comma", Quote(expr))
		}
	}
	return items, nil
}

// parseItem cuts name[1-2]rest into the choices of each part: {name}, {1, 2}, {rest}.
func parseItem(item string) ([][]string, error) {
	var parts [][]string
	for rest := item; rest != ""; {
		text, after, found := strings.Cut(rest, "[")
		if text != "" {
			parts = append(parts, []string{text})
		}
		if !found {
			break
		}
		list, tail, _ := strings.Cut(after, "]")
		var numbers []string
		for _, r := range strings.Split(list, ",") {
			some, err := parseRange(r, item)
			if err != nil {
				return nil, err
			}
			if numbers = append(numbers, some...); len(numbers) > MaxNames {
				return nil, fmt.Errorf("%s expands to more than %d names", Quote(item), MaxNames)
			}
		}
		parts = append(parts, numbers)
		rest = tail
	}
	return parts, nil
}

// parseRange writes out 5, 1-8 or 001-512.
func parseRange(text, item string) ([]string, error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	first, err := parseNumber(low, item)
	if err != nil {
		return nil, err
	}
	last, err := parseNumber(high, item)
	if err != nil {
		return nil, err
	}
	padded := len(low) > 1 && low[0] == '0' || len(high) > 1 && high[0] == '0'
	switch {
	case padded && len(low) != len(high):
		return nil, fmt.Errorf("%s: range %q mixes widths: write both ends with the same number of digits", Quote(item), text)
	case first > last:
		return nil, fmt.Errorf("%s: range %q is reversed: want %s-%s", Quote(item), text, high, low)
	case last-first >= MaxNames:
		return nil, fmt.Errorf("%s expands to more than %d names", Quote(item), MaxNames)
	}
	width := 0
	if padded {
		width = len(low)
	}
	numbers := make([]string, 0, last-first+1)
	for n := first; n <= last; n++ {
		numbers = append(numbers, fmt.Sprintf("%0*d", width, n))
	}
	return numbers, nil
}

func parseNumber(text, item string) (int, error) {
	const digits = 9 // fits an int of 32 bits
	if text == "" || len(text) > digits || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%s: %s is not a number of 1 to %d digits: want a range such as 1-8, 001-512 or 1-4,7",
			Quote(item), Quote(text), digits)
	}
	return strconv.Atoi(text)
}

func longest(words []string) int {
	n := 0
	for _, w := range words {
		n = max(n, len(w))
	}
	return n
}

// product joins every choice of every part, the last part turning fastest.
func product(parts [][]string) []string {
	names := []string{""}
	for _, choices := range parts {
		next := make([]string, 0, len(names)*len(choices))
		for _, name := range names {
			for _, c := range choices {
				next = append(next, name+c)
			}
		}
		names = next
	}
	return names
}
