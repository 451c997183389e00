package results

import (
	"math"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// rcclTestsCSV reads what rccl-tests writes with -Z csv -x FILE (Reporter in src/common.cu of ROCm/rccl-tests): a
// header, then one line per size and per half of the table. Without MPI "gpus" replaces the four columns
// nodes, ranks, ranksPerNode and gpusPerRank; early versions left "nodes" out of the header and not out of the lines.
type rcclTestsCSV struct {
	budget  *budget
	found   []fabric.Result
	columns []string
	table   *fabric.Table
	line    int // of the header
}

func newRCCLTestsCSV(b *budget) lineReader { return &rcclTestsCSV{budget: b} }

func (r *rcclTestsCSV) read(l line) bool {
	text := l.trimmed()
	if columns, ok := rcclHeader(text); ok {
		r.close()
		r.columns, r.line = columns, l.number
		return true
	}
	if r.columns == nil || text == "" {
		return false
	}
	cells := strings.Split(text, ",")
	if !isCount(cells[0]) {
		r.close()
		return false
	}
	r.row(l, text, cells)
	return true
}

// rcclHeader returns the columns of a header line.
func rcclHeader(text string) (columns []string, ok bool) {
	if !strings.HasPrefix(text, "numCycle,collective,") || len(text) > 1000 {
		return nil, false
	}
	for name := range strings.SplitSeq(text, ",") {
		columns = append(columns, strings.ToLower(strings.TrimPrefix(name, "#")))
	}
	return columns, true
}

func isCount(text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return err == nil
}

func (r *rcclTestsCSV) row(l line, text string, cells []string) {
	columns := r.columns
	if len(cells) == len(columns)+1 && len(columns) > 2 && columns[2] == "ranks" {
		columns = append([]string{columns[0], columns[1], "nodes"}, columns[2:]...)
	}
	cell := make(map[string]string, len(columns))
	for i, name := range columns {
		if i < len(cells) {
			cell[name] = strings.Trim(cells[i], `" `)
		}
	}
	collective, unknown := fabric.ParseCollective(cell["collective"])
	t := r.tableOf(cell, collective)
	if len(cells) != len(columns) {
		t.Unread = addUnread(t.Unread, l.number, text, "%s in a line of %d columns", fabric.Count(len(cells), "cell"), len(columns))
		return
	}
	bytes, err := size(cell["size"])
	if err != nil {
		t.Unread = addUnread(t.Unread, l.number, text, "%s", cellError("size", cell["size"], err))
		return
	}
	if unknown != nil {
		t.Unread = addUnread(t.Unread, l.number, text, "%v", unknown)
		return
	}
	half := r.half(t, l.number, text, cell)
	if n := len(t.Rows); cell["inplace"] == "1" && n > 0 && t.Rows[n-1].Size == bytes && t.Rows[n-1].InPlace == nil {
		t.Rows[n-1].InPlace = &half
		return
	}
	if !r.budget.row() {
		return
	}
	row := fabric.Row{Line: l.number, Size: bytes, Type: keep(cell["type"]), RedOp: keep(cell["redop"])}
	if cell["inplace"] == "1" {
		row.InPlace = &half
	} else {
		row.TimeUS, row.AlgBW, row.BusBW, row.Wrong = half.TimeUS, half.AlgBW, half.BusBW, half.Wrong
	}
	t.Rows = append(t.Rows, row)
}

// half reads the numbers of a line. "N/A" stands in "wrong" where results were not checked.
func (r *rcclTestsCSV) half(t *fabric.Table, number int, text string, cell map[string]string) (half fabric.InPlace) {
	take := func(name string) *float64 {
		v, err := measured(cell[name])
		if err != nil {
			t.Unread = addUnread(t.Unread, number, text, "%s", cellError(name, cell[name], err))
			return nil
		}
		return &v
	}
	half.TimeUS, half.AlgBW, half.BusBW = take("time"), take("algbw"), take("busbw")
	if wrong, err := strconv.ParseInt(cell["wrong"], 10, 64); err == nil {
		half.Wrong, t.Checked = &wrong, true
	}
	return half
}

// tableOf is the table that a line belongs to: another cycle, collective or number of ranks begins another.
func (r *rcclTestsCSV) tableOf(cell map[string]string, collective fabric.Collective) *fabric.Table {
	number := func(name string) int {
		n, err := strconv.ParseUint(cell[name], 10, 31)
		if err != nil {
			return 0
		}
		return int(n)
	}
	perRank := max(1, number("gpusperrank"))
	ranks := max(min(number("ranks"), math.MaxInt32/perRank)*perRank, number("gpus")) // assumed from the columns' names: ranks are processes
	cycle := cell["numcycle"]
	if t := r.table; t != nil && t.Config["cycle"] == cycle && t.Ranks == ranks && (t.Collective == collective || collective == "") {
		return t
	}
	r.finish()
	r.table = &fabric.Table{
		Collective: collective, Ranks: ranks, Nodes: number("nodes"), Library: "RCCL", Rows: []fabric.Row{},
		Config: map[string]string{"cycle": keep(cycle)},
	}
	if perRank > 1 {
		r.table.Config["ngpus"] = strconv.Itoa(perRank)
	}
	return r.table
}

// finish ends a table. The file has no footer: whether it was cut off cannot be seen, except in its last line.
func (r *rcclTestsCSV) finish() {
	t := r.table
	r.table = nil
	if t == nil || !r.budget.result() {
		return
	}
	t.Complete = len(t.Rows) > 0 && len(t.Unread) == 0
	r.found = append(r.found, fabric.Result{Kind: fabric.NCCLTests, Line: r.line, Content: t})
}

func (r *rcclTestsCSV) close() {
	r.finish()
	r.columns = nil
}

func (r *rcclTestsCSV) results() []fabric.Result {
	r.close()
	return r.found
}
