package results

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
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

// typeNames are the data types of NCCL and RCCL as the tests print them.
var typeNames = []string{
	"int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2",
	"fp8_e4m3", "fp8_e5m2", "fp8e4m3", "fp8e5m2", "char", "int", "float16", "float32", "float64",
}

// redOpNames are the reductions as the tests print them.
var redOpNames = []string{"sum", "prod", "max", "min", "avg", "mulsum", "none"}

// headerColumns reads a header that stands on one line.
func headerColumns(fields []string) ([]column, bool) {
	if len(fields) < 5 || len(fields) > maxColumns || !slices.Contains(fields, "algbw") || !slices.Contains(fields, "busbw") || columnNames[fields[0]] != colSize {
		return nil, false
	}
	columns := make([]column, len(fields))
	for i, f := range fields {
		columns[i] = colOther
		if c, ok := columnNames[f]; ok {
			columns[i] = c
		}
	}
	return columns, true
}

// looksLikeRow is true for a size, a count and a type at the beginning of a line.
func looksLikeRow(text string) bool {
	if text == "" || text[0] < '0' || text[0] > '9' {
		if text == "" || text[0] != '-' && text[0] != '+' {
			return false
		}
	}
	var fields [3]string // of a row, the size, the count and the type
	at := 0
	for field := range strings.FieldsSeq(text) {
		fields[at] = field
		if at++; at == len(fields) {
			break
		}
	}
	if at < len(fields) || !slices.Contains(typeNames, strings.ToLower(fields[2])) {
		return false
	}
	_, first := strconv.ParseFloat(fields[0], 64)
	_, second := strconv.ParseFloat(fields[1], 64)
	return (first == nil || errors.Is(first, strconv.ErrRange)) && (second == nil || errors.Is(second, strconv.ErrRange))
}

// guessColumns names the columns of a row without a header, as the versions print them: with or without
// operation and root, with or without #wrong, once or twice.
func guessColumns(fields []string) []column {
	columns := []column{colSize, colCount, colType}
	rest := fields[3:]
	if len(rest) > 0 && slices.Contains(redOpNames, strings.ToLower(rest[0])) {
		columns, rest = append(columns, colRedOp), rest[1:]
	}
	half := []column{colTime, colAlgBW, colBusBW}
	if len(rest)%4 == 1 || len(rest) == 7 { // 5 or 9: root and one or two halves of four; 7: root and two of three
		if _, err := strconv.Atoi(rest[0]); err == nil {
			columns, rest = append(columns, colRoot), rest[1:]
		}
	}
	if len(rest)%4 == 0 {
		half = append(half, colWrong)
	}
	columns = append(columns, half...)
	if len(rest) > len(half) {
		columns = append(columns, half...)
	}
	return columns
}

// pend keeps the front of a row until the rest comes.
func (t *ncclTable) pend(number int, text string) {
	t.flush()
	t.pending, t.pendingLine = strings.Clone(text), number
}

// flush returns up on the rest of a row.
func (t *ncclTable) flush() {
	if t.pending == "" {
		return
	}
	text := t.pending
	t.pending = ""
	fields := strings.Fields(text)
	if t.columns != nil && len(fields) < len(t.columns) {
		t.table.Unread = addUnread(t.table.Unread, t.pendingLine, text, "the row ends after %d of %d columns", len(fields), len(t.columns))
		return
	}
	t.parseRow(t.pendingLine, text, fields)
}

// join completes the row whose front is pending, if text is its rest.
func (t *ncclTable) join(l line, text string, b *budget) bool {
	if looksLikeRow(text) || len(t.columns) == 0 {
		t.flush()
		return false
	}
	fields := strings.Fields(t.pending + " " + text)
	if faultLevel(text) != "" {
		return false // as many words as are missing, and no cells
	}
	if len(fields) != len(t.columns) {
		if len(fields) < len(t.columns) && startsNumeric(text) {
			t.pending += " " + strings.Clone(text)
			return true
		}
		return false
	}
	joined := t.pending + " " + text
	t.pending = ""
	if b.row() {
		t.parseRow(t.pendingLine, joined, fields)
	}
	return true
}

func startsNumeric(text string) bool {
	word, _, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
	_, err := strconv.ParseFloat(word, 64)
	return err == nil || word == "N/A"
}

// readRow reads a row, or keeps it as pending where columns are missing at its end.
func (t *ncclTable) readRow(l line, text string, b *budget) {
	fields := strings.Fields(strings.ReplaceAll(text, "|", " "))
	if t.columns == nil && len(fields) >= 6 {
		t.columns = guessColumns(fields)
	}
	if len(fields) < len(t.columns) && !t.onlyHalf(fields) || t.columns == nil {
		t.pend(l.number, text)
		return
	}
	if b.row() {
		t.parseRow(l.number, text, fields)
	}
}

// onlyHalf is true for a row whose table has two halves and which has one.
func (t *ncclTable) onlyHalf(fields []string) bool {
	return len(fields) == t.halfWidth() && len(fields) < len(t.columns)
}

// halfWidth is the number of columns up to the end of the first half.
func (t *ncclTable) halfWidth() int {
	first := slices.Index(t.columns, colTime)
	second := -1
	if first >= 0 {
		second = slices.Index(t.columns[first+1:], colTime)
	}
	if second < 0 {
		return len(t.columns)
	}
	return first + 1 + second
}

// parseRow keeps the cells that can be read and says which could not.
func (t *ncclTable) parseRow(number int, text string, fields []string) {
	if t.wrongUnit != "" {
		t.table.Unread = addUnread(t.table.Unread, number, text, "the header has the unit %s, which nccl-tests does not print", t.wrongUnit)
		return
	}
	bytes, err := size(fields[0])
	if err != nil {
		t.table.Unread = addUnread(t.table.Unread, number, text, "%s", cellError("size", fields[0], err))
		return
	}
	row := fabric.Row{Line: number, Size: bytes}
	in, half, bad := fabric.InPlace{}, 0, []string(nil)
	for i, c := range t.columns {
		if i >= len(fields) {
			break
		}
		if c == colTime {
			half++
		}
		if why := t.cell(&row, &in, half, c, fields[i]); why != "" {
			bad = append(bad, why)
		}
	}
	if half > 1 && in != (fabric.InPlace{}) {
		row.InPlace = &in
	}
	if len(bad) > 0 {
		t.table.Unread = addUnread(t.table.Unread, number, text, "%s", strings.Join(bad, ", "))
	}
	t.addRow(row)
}

// cell sets one cell of a row. N/A and "-" are cells without a number.
func (t *ncclTable) cell(row *fabric.Row, in *fabric.InPlace, half int, c column, text string) (why string) {
	if text == "N/A" || text == "-" || text == "--" {
		return ""
	}
	switch c {
	case colCount:
		v, err := size(text)
		if err != nil {
			return cellError("count", text, err)
		}
		row.Count = &v
	case colType:
		row.Type = keep(text)
	case colRedOp:
		row.RedOp = keep(strings.ToLower(text))
	case colRoot:
		t.rooted = t.rooted || isDigits(text)
	case colTime, colAlgBW, colBusBW:
		v, err := measured(text)
		if err != nil {
			return cellError(string(c), text, err)
		}
		if c == colTime && t.millis {
			v *= 1000
		}
		*number(row, in, half, c) = &v
	case colWrong:
		v, err := t.wrongs(text)
		if err != nil {
			return cellError("#wrong", text, err)
		}
		t.table.Checked = true
		if half > 1 {
			in.Wrong = v
		} else {
			row.Wrong = v
		}
	}
	return ""
}

// number is where a cell of the first or second half belongs.
func number(row *fabric.Row, in *fabric.InPlace, half int, c column) **float64 {
	cells := map[column]**float64{colTime: &row.TimeUS, colAlgBW: &row.AlgBW, colBusBW: &row.BusBW}
	if half > 1 {
		cells = map[column]**float64{colTime: &in.TimeUS, colAlgBW: &in.AlgBW, colBusBW: &in.BusBW}
	}
	return cells[c]
}

// misreadZeros are what a scan makes of the 0 in the column #wrong, printed with a slash or a dot in it.
var misreadZeros = []string{"Ø", "ø", "O", "o", "A", "a", "P"}

// wrongs reads #wrong: a count, printed as %g. Versions before 2.11 print the largest difference instead
// ("error", as 2e-07), which says no count.
func (t *ncclTable) wrongs(text string) (*int64, error) {
	if slices.Contains(misreadZeros, text) {
		if t.glyphs == nil {
			t.glyphs = map[string]struct{}{}
		}
		t.glyphs[strings.Clone(text)] = struct{}{}
		return new(int64), nil
	}
	v, err := measured(text)
	if err != nil {
		return nil, err
	}
	n := int64(min(v, float64(maxSize)))
	if float64(n) != v {
		if v < 1 {
			return nil, nil
		}
		return nil, errNoNumber
	}
	return &n, nil
}
