package dell

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// dellNumber reads a number in a range.
func dellNumber(text string, low, high int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= low && n <= high && text[0] != '+'
}

// numbers reads 0-3,5 as numbers up to most. bad says what is wrong with it; ok is false where it is no such list.
func numbers(text string, most int) (list []int, bad string, ok bool) {
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		low, ok1 := dellNumber(from, 0, 1<<20)
		high, ok2 := dellNumber(to, 0, 1<<20)
		switch {
		case !ok1 || !ok2:
			return nil, "", false
		case low > high:
			bad = fmt.Sprintf("the range %s runs backwards", part)
			continue
		case high > most:
			bad = fmt.Sprintf("%s is above %d", part, most)
		}
		for v := low; v <= min(high, most); v++ {
			list = append(list, v)
		}
	}
	return list, bad, true
}

// dellSet stores a value and names one that was said before and differs. Within a text the last one counts, as on the switch;
// of two texts the first, which is the more trusted.
func dellSet[T comparable](r *reader, at **fabric.Said[T], value T, line fabric.Line, port, what string) {
	if old := *at; old != nil && old.Is != value {
		if old.At.File != line.File {
			r.problem(fabric.TextConflict, port, line, fmt.Sprintf("%s is %v here and %v in %s", what, value, old.Is, old.At.File), "the first text counts")
			return
		}
		r.problem(fabric.TextDuplicate, port, line, fmt.Sprintf("%s is %v here and %v in line %d", what, value, old.Is, old.At.Number), "the last one counts")
	}
	*at = &fabric.Said[T]{Is: value, At: line}
}

// dellDefault is a value that the OS has where nothing is said.
func dellDefault[T any](value T, text string) *fabric.Said[T] {
	return &fabric.Said[T]{Is: value, At: fabric.Line{Text: text}}
}
