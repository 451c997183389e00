package results

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// column is a column of a table by its meaning.
type column string

const (
	colSize  column = "size"
	colCount column = "count"
	colType  column = "type"
	colRedOp column = "redop"
	colRoot  column = "root"
	colTime  column = "time"
	colAlgBW column = "algbw"
	colBusBW column = "busbw"
	colWrong column = "#wrong"
	colOther column = "other" // timestamp, i_min, ...
)

// columnNames are the words of the headers of all versions, from nccl-tests 1 (bytes, N, op, res) on, and what
// a scan makes of them.
var columnNames = map[string]column{
	"size": colSize, "bytes": colSize, "count": colCount, "N": colCount, "type": colType, "tvpe": colType, "redop": colRedOp,
	"op": colRedOp, "root": colRoot, "time": colTime, "cputime": colTime, "algbw": colAlgBW, "busbw": colBusBW,
	"#wrong": colWrong, "wrong": colWrong, "error": colWrong, "res": colWrong,
}

// typeWidths are the data types of NCCL and RCCL as the tests print them, each with its bytes.
var typeWidths = map[string]int64{
	"int8": 1, "uint8": 1, "char": 1, "int32": 4, "uint32": 4, "int": 4, "int64": 8, "uint64": 8,
	"half": 2, "float16": 2, "bfloat16": 2, "float": 4, "float32": 4, "double": 8, "float64": 8,
	"f8e4m3": 1, "f8e5m2": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8e4m3": 1, "fp8e5m2": 1,
}

func isType(text string) bool { return typeWidths[strings.ToLower(text)] > 0 }

// redOpNames are the reductions as the tests print them.
var redOpNames = []string{"sum", "prod", "max", "min", "avg", "mulsum", "none"}

// halfColumns are the columns of half a row, in the order in which every version prints them.
var halfColumns = []column{colTime, colAlgBW, colBusBW, colWrong}

// layout is what the cells of a row are, in their order.
type layout struct {
	columns []column // nil: unknown
	second  int      // where the second half begins; len(columns): there is one half
	guessed bool     // from a row: there is no header
	refused string   // why no row can be read by it; empty: rows can

	differences bool // #wrong is the largest difference of a result, not a count
}

func (l *layout) known() bool { return l.columns != nil }

// headerLayout reads a header that stands on one line.
func headerLayout(fields []string) (layout, bool) {
	named := 0
	var l layout
	for _, f := range fields {
		c, ok := columnNames[f]
		l.differences = l.differences || f == "error" || f == "res"
		if ok {
			named++
		} else {
			c = colOther
		}
		l.columns = append(l.columns, c)
		if f == "timestamp" {
			l.columns = append(l.columns, colOther) // a date and a time
		}
	}
	const fewest = 5 // names, as in "size count time algbw busbw"
	if named < fewest || 2*named < len(fields) || len(fields) > maxColumns || !slices.Contains(l.columns, colBusBW) {
		return layout{}, false
	}
	l.halves()
	return l, true
}

// halves finds where the second half begins. A header that names a column twice within a half, or halves that cannot
// be told apart, is refused: nobody knows which of its numbers is which.
func (l *layout) halves() {
	var measured []int // indices of the columns that a half has
	for i, c := range l.columns {
		switch {
		case slices.Contains(halfColumns, c):
			measured = append(measured, i)
		case c != colOther && slices.Index(l.columns, c) != i:
			l.refused = fmt.Sprintf("the header names %s twice", c)
			return
		}
	}
	if !slices.Contains(l.columns, colSize) {
		l.refused = "the header names no size"
		return
	}
	at := l.secondHalf(measured)
	first, second := l.pick(measured[:at]), l.pick(measured[at:])
	if !isHalf(first) || len(second) > 0 && !isHalf(second) {
		l.refused = "the header names the columns of a half twice, or not enough of them: " + joinColumns(l.pick(measured))
		return
	}
	l.second = len(l.columns)
	if at < len(measured) {
		l.second = measured[at]
	}
}

// secondHalf is which of the measured columns begins the second half: the middle, where both halves name the same ones in the
// same order; else the place where the printed order begins anew.
func (l *layout) secondHalf(measured []int) int {
	names := l.pick(measured)
	if n := len(names); n%2 == 0 && slices.Equal(names[:n/2], names[n/2:]) {
		return n / 2
	}
	if !twice(names) {
		return len(names)
	}
	for i := 1; i < len(names); i++ {
		if slices.Index(halfColumns, names[i]) <= slices.Index(halfColumns, names[i-1]) {
			return i
		}
	}
	return len(names)
}

func (l *layout) pick(indices []int) []column {
	var names []column
	for _, i := range indices {
		names = append(names, l.columns[i])
	}
	return names
}

// isHalf reports whether columns can be half a row: each once, and at least two of time and bandwidths, which check each other.
func isHalf(names []column) bool {
	numbers := 0
	for _, c := range names {
		if c != colWrong {
			numbers++
		}
	}
	return numbers >= 2 && !twice(names)
}

func twice(names []column) bool {
	for i, c := range names {
		if slices.Contains(names[:i], c) {
			return true
		}
	}
	return false
}

func joinColumns(names []column) string {
	var words []string
	for _, c := range names {
		words = append(words, string(c))
	}
	return strings.Join(words, " ")
}

// guessLayout names the cells of a row without a header, as the versions print them: with or without operation and root, with
// or without #wrong, once or twice. It is unknown where the cells fit none or several of these.
func guessLayout(fields []string) layout {
	const before = 3 // size, count and type
	var found []layout
	for _, middle := range [][]column{nil, {colRedOp}, {colRoot}, {colRedOp, colRoot}} {
		for _, half := range [][]column{halfColumns, halfColumns[:3]} {
			for _, halves := range []int{1, 2} {
				l := layout{guessed: true, columns: slices.Concat([]column{colSize, colCount, colType}, middle, slices.Repeat(half, halves))}
				l.second = before + len(middle) + len(half)
				if len(l.columns) == len(fields) && l.misfit(fields) == "" {
					found = append(found, l)
				}
			}
		}
	}
	if len(found) != 1 {
		return layout{}
	}
	return found[0]
}

// misfit says which cell cannot be one of its column; empty: all can. The names of types and operations, a root and a
// number of wrong results have forms of their own, so a row with a cell too many or too few shows itself.
func (l *layout) misfit(fields []string) string {
	for i, c := range l.columns[:min(len(l.columns), len(fields))] {
		if !fits(c, fields[i]) || l.guessed && !asPrinted(c, fields[i]) {
			return fmt.Sprintf("%q is no %s", fields[i], c)
		}
	}
	return ""
}

// fits reports whether a cell can stand in a column. N/A and dashes can everywhere.
func fits(c column, text string) bool {
	if isAbsent(text) {
		return true
	}
	switch c {
	case colSize, colCount, colRoot:
		return isDigits(strings.TrimLeft(text, "+-"))
	case colType:
		return isType(text)
	case colRedOp:
		return slices.Contains(redOpNames, strings.ToLower(text))
	case colTime, colAlgBW, colBusBW:
		return isNumber(text)
	case colWrong:
		return isWrongCount(text)
	}
	return true
}

// asPrinted reports whether a cell of time or bandwidth has the form in which the tests print it, which tells it from a
// number of wrong results: with decimals, but for times from 10 ms on (getFloatStr and its predecessors).
func asPrinted(c column, text string) bool {
	switch c {
	case colTime:
		v, err := measured(text)
		const wholeFrom = 10_000 // microseconds
		return err == nil && (strings.Contains(text, ".") || v >= wholeFrom)
	case colAlgBW, colBusBW:
		_, err := measured(text)
		return err == nil && strings.Contains(text, ".")
	}
	return true
}

// isWrongCount reports whether a cell can stand in #wrong: a count as %g prints it, or the largest difference of the
// versions before 2.11, which has an exponent.
func isWrongCount(text string) bool {
	if slices.Contains(misreadZeros, text) {
		return true
	}
	text = strings.TrimSuffix(text, "*")
	return isNumber(text) && text[0] != '-' && (strings.ContainsAny(text, "eEnN") || !strings.Contains(text, "."))
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

func isAbsent(text string) bool { return text == "N/A" || text == "-" || text == "--" }
