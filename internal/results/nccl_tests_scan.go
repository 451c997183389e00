package results

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// scan puts a table together again that a document has in pieces: made from a picture or a PDF, with one cell
// a line, placed only by its indentation, and now and then in the wrong order or without a place.
type scan struct {
	cells  []scanCell
	chunk  int // cells between two fences of a document are of one page and share their columns
	active bool
	piece  scanDevice
}

// scanCell is a cell and the columns of the text between which it stands.
type scanCell struct {
	line, start, end int
	text             string
	chunk            int
}

// The slots of a row. Size and count, then the six numbers of the two halves, then what tells no rows apart.
const (
	slotSize  = 0
	slotCount = 1
	slotTime  = 2 // and algbw, busbw, and the same in place
	slotType  = slotTime + 6
	slotRoot  = slotType + 1
	slotRedOp = slotRoot + 1
	slotWrong = slotRedOp + 1 // and in place
	slots     = slotWrong + 2
)

const maxScanCells = 8192 // 600 rows of 13 cells

// scanRow is a row by its slots; empty is not filled.
type scanRow struct {
	line int
	text [slots]string
}

func (s *scan) begun() bool { return len(s.cells) > 0 }

// read takes a line of cells, once a line with nothing but names of columns was seen below a banner.
func (s *scan) read(l line, t *ncclTable) bool {
	text := strings.TrimSpace(l.text)
	if s.active && (strings.HasPrefix(text, "```") || strings.HasPrefix(text, "---")) {
		s.chunk++
		return true
	}
	if t.layout.known() || t.bannerText == "" {
		return false
	}
	if fields := strings.Fields(text); allNames(fields) {
		s.active = s.active || columnNames[fields[len(fields)-1]] != ""
		return true
	}
	if !s.active {
		return false
	}
	cells := cellsOf(l, s.chunk)
	if cells == nil {
		return false
	}
	if len(s.cells) < maxScanCells {
		s.cells = append(s.cells, cells...)
	}
	return true
}

// allNames is true for a line that has names of columns, units and headings only.
func allNames(fields []string) bool {
	for _, f := range fields {
		_, name := columnNames[f]
		if !name && f != "#" && f != "out-of-place" && f != "in-place" && (f[0] != '(' || f[len(f)-1] != ')') {
			return false
		}
	}
	return len(fields) > 0 && fields[len(fields)-1] != "#"
}

// cellsOf splits a line into cells, or returns nil where it has something else.
func cellsOf(l line, chunk int) (cells []scanCell) {
	const most, longest = 16, 24 // cells of a line, bytes of a cell
	at := 0
	fields := strings.Fields(l.text)
	if len(fields) > most {
		return nil
	}
	for _, f := range fields {
		start := at + strings.Index(l.text[at:], f)
		at = start + len(f)
		if len(f) > longest || !isCell(f) {
			return nil
		}
		cells = append(cells, scanCell{line: l.number, start: start, end: at, text: strings.Clone(f), chunk: chunk})
	}
	return cells
}

func isCell(text string) bool {
	if _, err := measured(text); err == nil || text == "-1" {
		return true
	}
	lower := strings.ToLower(text)
	return isType(lower) || slices.Contains(redOpNames, lower) || isWrong(text)
}

func isWrong(text string) bool {
	return text == "0" || text == "N/A" || slices.Contains(misreadZeros, text)
}

// finish makes rows of the cells.
func (s *scan) finish(t *ncclTable) {
	s.piece.emit(t)
	if len(s.cells) == 0 {
		return
	}
	before := []column{colSize, colCount, colType, colRedOp, colRoot}
	t.layout = layout{columns: slices.Concat(before, halfColumns, halfColumns), second: len(before) + len(halfColumns)}
	a := assembly{}
	placed := true
	for chunk := range slices.Values(s.chunks()) {
		indented := slices.ContainsFunc(chunk, func(c scanCell) bool { return c.start >= 4 })
		if !indented {
			for _, c := range chunk {
				a.placeByKind(c)
			}
			placed = false
			continue
		}
		if !placed {
			a.next() // what follows cells without a place is another page, and begins with another row
		}
		placed = true
		ends, ok := columnEnds(chunk)
		if !ok {
			t.table.Unread = addUnread(t.table.Unread, chunk[0].line, chunk[0].text, "%d cells are one per line, and their columns are ambiguous", len(chunk))
			continue
		}
		for _, c := range chunk {
			if slot := slotOf(c, ends); slot >= 0 || c.start > 0 {
				a.place(slot, c)
			} else {
				a.placeByKind(c) // it has lost its indentation
			}
		}
	}
	a.next()
	s.cells = nil
	t.addScanned(a.rows)
}

func (s *scan) chunks() (chunks [][]scanCell) {
	for i, c := range s.cells {
		if i == 0 || c.chunk != s.cells[i-1].chunk {
			chunks = append(chunks, nil)
		}
		chunks[len(chunks)-1] = append(chunks[len(chunks)-1], c)
	}
	return chunks
}

// columnEnds finds the eight columns of numbers of a page. The tests print them flush right, so the cells of
// one column end within a character or two of each other, and columns are six apart.
func columnEnds(cells []scanCell) (ends [][2]int, ok bool) {
	const jitter = 2 // characters
	var all []int
	for _, c := range cells {
		if _, err := measured(c.text); err == nil && c.text != "0" {
			all = append(all, c.end)
		}
	}
	slices.Sort(all)
	type cluster struct{ low, high, count int }
	var clusters []cluster
	for _, e := range all {
		if n := len(clusters); n > 0 && e-clusters[n-1].high <= jitter {
			clusters[n-1].high, clusters[n-1].count = e, clusters[n-1].count+1
		} else {
			clusters = append(clusters, cluster{e, e, 1})
		}
	}
	const numbers = 8
	if len(clusters) < numbers {
		return nil, false
	}
	slices.SortStableFunc(clusters, func(a, b cluster) int { return cmp.Compare(b.count, a.count) })
	clusters = clusters[:numbers]
	slices.SortFunc(clusters, func(a, b cluster) int { return cmp.Compare(a.low, b.low) })
	for _, c := range clusters {
		ends = append(ends, [2]int{c.low, c.high})
	}
	return ends, true
}

// slotOf finds the slot of a cell by its place, and -1 for a number that stands in no column.
func slotOf(c scanCell, ends [][2]int) int {
	if slot, ok := wordSlot(c.text); ok {
		return slot
	}
	const firstTime, secondTime = 2, 5 // in ends
	if isWrong(c.text) && c.start > ends[firstTime][1] {
		if c.start > ends[secondTime][0] {
			return slotWrong + 1
		}
		return slotWrong
	}
	for i, e := range ends {
		if c.end >= e[0] && c.end <= e[1] {
			return slotSize + i // the numbers stand in the order of the slots
		}
	}
	return -1
}

func wordSlot(text string) (slot int, ok bool) {
	lower := strings.ToLower(text)
	switch {
	case text == "-1":
		return slotRoot, true
	case isType(lower):
		return slotType, true
	case slices.Contains(redOpNames, lower):
		return slotRedOp, true
	}
	return 0, false
}

// assembly builds rows from cells in the order of the text.
type assembly struct {
	rows []scanRow
	row  scanRow
}

// place fills a slot. A slot that is filled already begins the next row, but for those whose cells often come
// a line too late or twice.
func (a *assembly) place(slot int, c scanCell) {
	if slot < 0 {
		return
	}
	if a.row.text[slot] != "" {
		if slot >= slotRoot || !a.row.hasNumbers() {
			return
		}
		a.next()
	}
	if a.row.line == 0 {
		a.row.line = c.line
	}
	a.row.text[slot] = c.text
}

// placeByKind fills the first free slot that a cell can stand in.
func (a *assembly) placeByKind(c scanCell) {
	slot, word := wordSlot(c.text)
	switch {
	case word && slot == slotRoot && a.row.text[slot] != "" && a.row.full():
		a.next()
	case word:
	case isWrong(c.text):
		slot = slotWrong
		if a.row.text[slot] != "" {
			slot++
		}
	case strings.Contains(c.text, "."):
		if a.row.full() {
			a.next()
		}
		slot = a.row.free(slotTime, slotType)
	default:
		slot = a.row.free(slotSize, slotType)
	}
	a.place(slot, c)
}

func (a *assembly) next() {
	if a.row.hasNumbers() {
		a.rows = append(a.rows, a.row)
	}
	a.row = scanRow{}
}

func (r *scanRow) hasNumbers() bool {
	return slices.ContainsFunc(r.text[:slotRoot], func(s string) bool { return s != "" })
}

func (r *scanRow) full() bool { return r.free(slotTime, slotType) < 0 }

func (r *scanRow) free(from, to int) int {
	for i := from; i < to; i++ {
		if r.text[i] == "" {
			return i
		}
	}
	return -1
}

// addScanned turns the assembled rows into rows. A size that the page has lost is taken from the step of the
// table, where the sizes around it leave no other.
func (t *ncclTable) addScanned(rows []scanRow) {
	for i, r := range rows {
		if r.numbers(slotTime) < 2 && r.numbers(slotTime+3) < 2 { // which check each other
			t.table.Unread = addUnread(t.table.Unread, r.line, strings.Join(r.text[:], " "), "a row without its times and bandwidths")
			continue
		}
		if r.text[slotSize] == "" {
			s := t.stepSize(rows, i)
			if s == "" {
				t.table.Unread = addUnread(t.table.Unread, r.line, strings.Join(r.text[:], " "), "a row without its size")
				continue
			}
			r.text[slotSize], rows[i].text[slotSize] = s, s
			t.table.Unread = addUnread(t.table.Unread, r.line, strings.Join(r.text[:], " "), "a row without its size: %s by the step of the table", s)
		}
		cells := []string{r.text[slotSize], r.text[slotCount], r.text[slotType], r.text[slotRedOp], r.text[slotRoot]}
		cells = append(cells, r.text[slotTime:slotTime+3]...)
		cells = append(cells, r.text[slotWrong])
		cells = append(cells, r.text[slotTime+3:slotType]...)
		cells = append(cells, r.text[slotWrong+1])
		for j := range cells {
			if cells[j] == "" {
				cells[j] = "-"
			}
		}
		t.parseRow(r.line, strings.Join(cells, " "), cells)
	}
}

// numbers is how many of the three numbers of a half are there.
func (r *scanRow) numbers(half int) (n int) {
	for _, text := range r.text[half : half+3] {
		if text != "" {
			n++
		}
	}
	return n
}

func (t *ncclTable) stepSize(rows []scanRow, i int) string {
	factor, err := strconv.ParseInt(t.table.Config["step_factor"], 10, 64)
	if err != nil || factor < 2 || i == 0 || i+1 >= len(rows) {
		return ""
	}
	before, err1 := size(rows[i-1].text[slotSize])
	after, err2 := size(rows[i+1].text[slotSize])
	if err1 != nil || err2 != nil || before > maxSize/factor/factor || before*factor*factor != after {
		return ""
	}
	return strconv.FormatInt(before*factor, 10)
}
