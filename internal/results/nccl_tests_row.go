package results

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// isRow is true for a line that begins as every version's rows do, or has the cells that the header names.
func (t *ncclTable) isRow(text string) bool {
	if looksLikeRow(text) {
		return true
	}
	fields := strings.Fields(text)
	return t.layout.known() && !t.layout.guessed && len(fields) == len(t.layout.columns) && t.layout.misfit(fields) == ""
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
	if at < len(fields) || !isType(fields[2]) {
		return false
	}
	_, first := strconv.ParseFloat(fields[0], 64)
	_, second := strconv.ParseFloat(fields[1], 64)
	return (first == nil || errors.Is(first, strconv.ErrRange)) && (second == nil || errors.Is(second, strconv.ErrRange))
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
	t.parseRow(t.pendingLine, text, strings.Fields(text))
}

// join completes the row whose front is pending, if text is its rest.
func (t *ncclTable) join(l line, text string, b *budget) bool {
	if t.isRow(text) || !t.layout.known() {
		t.flush()
		return false
	}
	fields := strings.Fields(t.pending + " " + text)
	if faultLevel(text) != "" {
		return false // as many words as are missing, and no cells
	}
	if len(fields) != len(t.layout.columns) {
		if len(fields) < len(t.layout.columns) && startsNumeric(text) {
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
	if !t.layout.known() {
		t.layout = guessLayout(fields)
	}
	fields = t.layout.withoutRemark(t.layout.withOperation(fields))
	if t.layout.refused == "" && (len(fields) < len(t.layout.columns) && len(fields) != t.layout.second || !t.layout.known()) {
		t.pend(l.number, text)
		return
	}
	if b.row() {
		t.parseRow(l.number, text, fields)
	}
}

// withoutRemark drops what somebody wrote behind a row: words, none of which can be a cell.
func (l *layout) withoutRemark(fields []string) []string {
	if n := len(l.columns); n > 0 && len(fields) > n && !slices.ContainsFunc(fields[n:], isCell) {
		return fields[:n]
	}
	return fields
}

// withOperation puts a dash where versions before 2.11 print nothing for the operation of a collective that has none.
func (l *layout) withOperation(fields []string) []string {
	at := slices.Index(l.columns, colRedOp)
	if n := len(fields); at < 0 || n != len(l.columns)-1 && n != l.second-1 || l.misfit(fields) == "" {
		return fields
	}
	if with := slices.Insert(slices.Clone(fields), at, "-"); l.misfit(with) == "" {
		return with
	}
	return fields
}

// unreadable is why no cell of a row can be trusted: it has not as many as there are columns, or one that cannot be of its
// column, so that others may stand in the wrong one as well; empty: they can.
func (l *layout) unreadable(fields []string) string {
	n := len(l.columns)
	switch {
	case l.refused != "":
		return l.refused
	case n == 0:
		return "the row has no layout that nccl-tests prints"
	case len(fields) < n && len(fields) != l.second:
		return fmt.Sprintf("the row ends after %d of %d columns", len(fields), n)
	case len(fields) > n:
		return fmt.Sprintf("the row has %d cells for %d columns", len(fields), n)
	}
	return l.misfit(fields)
}

// parseRow keeps the cells that can be read and says which could not.
func (t *ncclTable) parseRow(number int, text string, fields []string) {
	if why := t.layout.unreadable(fields); why != "" {
		t.table.Unread = addUnread(t.table.Unread, number, text, "%s", why)
		return
	}
	of := fields[slices.Index(t.layout.columns, colSize)]
	bytes, err := size(of)
	if err != nil {
		t.table.Unread = addUnread(t.table.Unread, number, text, "%s", cellError("size", of, err))
		return
	}
	row := fabric.Row{Line: number, Size: bytes}
	in, bad := fabric.InPlace{}, []string(nil)
	for i, c := range t.layout.columns[:len(fields)] {
		if why := t.cell(&row, &in, i >= t.layout.second, c, fields[i]); why != "" {
			bad = append(bad, why)
		}
	}
	if in != (fabric.InPlace{}) {
		row.InPlace = &in
	}
	if len(bad) > 0 {
		t.table.Unread = addUnread(t.table.Unread, number, text, "%s", strings.Join(bad, ", "))
	}
	t.addRow(row)
}

// cell sets one cell of a row. N/A and "-" are cells without a number.
func (t *ncclTable) cell(row *fabric.Row, in *fabric.InPlace, second bool, c column, text string) (why string) {
	t.looks.see(second, c, text)
	if isAbsent(text) {
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
	case colTime, colAlgBW, colBusBW:
		v, err := measured(text)
		if err != nil {
			return cellError(string(c), text, err)
		}
		if c == colTime && t.millis {
			v *= 1000
		}
		*number(row, in, second, c) = &v
	case colWrong:
		v, err := t.wrongs(text)
		if err != nil {
			return cellError("#wrong", text, err)
		}
		t.table.Checked = true
		if second {
			in.Wrong = v
		} else {
			row.Wrong = v
		}
	}
	return ""
}

// number is where a cell of the first or second half belongs.
func number(row *fabric.Row, in *fabric.InPlace, second bool, c column) **float64 {
	cells := map[column]**float64{colTime: &row.TimeUS, colAlgBW: &row.AlgBW, colBusBW: &row.BusBW}
	if second {
		cells = map[column]**float64{colTime: &in.TimeUS, colAlgBW: &in.AlgBW, colBusBW: &in.BusBW}
	}
	return cells[c]
}

// misreadZeros are what a scan makes of the 0 in the column #wrong, printed with a slash or a dot in it.
var misreadZeros = []string{"Ø", "ø", "O", "o", "A", "a", "P"}

// wrongs reads #wrong: a count, printed as %g. Versions before 2.11 print the largest difference instead ("error", as 2e-07),
// which says no count: their footer does. rccl-tests marks one beyond its threshold with an asterisk.
func (t *ncclTable) wrongs(text string) (*int64, error) {
	if slices.Contains(misreadZeros, text) {
		if t.glyphs == nil {
			t.glyphs = map[string]struct{}{}
		}
		t.glyphs[strings.Clone(text)] = struct{}{}
		return new(int64), nil
	}
	plain, marked := strings.CutSuffix(text, "*")
	v, err := measured(plain)
	if err != nil {
		return nil, err
	}
	n := int64(min(v, float64(maxSize)))
	switch {
	case marked:
		n = 1
	case v != 0 && (t.layout.differences || isDifference(plain)):
		return nil, nil
	case float64(n) != v:
		return nil, errNoNumber
	}
	return &n, nil
}

// isDifference tells a difference (%5.0le: 2e-07, 1e+00) from a count, which %g prints without an exponent below a million.
func isDifference(text string) bool {
	const million = 1_000_000
	v, err := measured(text)
	return err == nil && v < million && strings.ContainsAny(text, "eE")
}
