package results

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// ncclTests reads the tables of nccl-tests and rccl-tests of every version (src/common.cu and src/util.cu of
// NVIDIA/nccl-tests, src/common.cu of ROCm/rccl-tests): banner, header, rows, footer; where other output was
// written into the middle of them; and pieces of them that somebody pasted.
type ncclTests struct {
	budget *budget
	found  []fabric.Result
	cur    *ncclTable
	before command // what stood before the next table
}

func newNCCLTests(b *budget) lineReader { return &ncclTests{budget: b, before: command{budget: b}} }

func (r *ncclTests) read(l line) bool {
	text := withoutRank(l.trimmed())
	switch {
	case l.log != nil:
		r.fragment(l)
		return false
	case text == "":
		return false
	case l.may(ofBanner) && isBanner(text):
		r.banner(l, text)
		return true
	}
	if r.cur != nil {
		if r.cur.footer(l, text) {
			r.closeIfDone()
			return true
		}
		if r.cur.bannerLine(text, r.budget) {
			return true
		}
	}
	return r.concluded(text) || r.header(l, text) || r.row(l, text) || r.scanned(l) || l.may(ofRank) && r.device(text) || r.notTable(l.may(ofCommand) || r.before.pasted.Open(), text)
}

// withoutRank drops the rank that mpiexec of MPICH (-prepend-rank) writes before each piece that a process prints: the tests
// print a row in three.
func withoutRank(text string) string {
	end := strings.IndexByte(text, ']')
	if end < 2 || text[0] != '[' || !isDigits(text[1:end]) {
		return text
	}
	return strings.TrimSpace(strings.ReplaceAll(text, text[:end+1], " "))
}

// concluded takes the line below a table that names its program, which is not that of the next one.
func (r *ncclTests) concluded(text string) bool {
	name, ok := strings.CutPrefix(strings.TrimLeft(text, "# "), "Collective test concluded:")
	if ok && r.cur != nil && r.cur.program == "" {
		r.cur.program = keep(name)
	}
	return ok
}

// device takes a line of a banner whose first line was not copied. It stands before the rows of its table, so those
// above it are of another one, unless several processes print into each other.
func (r *ncclTests) device(text string) bool {
	if !r.before.device(text) {
		return false
	}
	if r.cur != nil && r.cur.inRows() && r.cur.table.Copies < 2 {
		r.cur.ended = true
	}
	return true
}

// banner begins a table, or counts a copy of the same banner: every process believes to be alone when the
// tests are built without MPI, and all of them print it before the first has a row.
func (r *ncclTests) banner(l line, text string) {
	if r.cur != nil && r.cur.bannerText == keep(text) && !r.cur.inRows() {
		r.cur.table.Copies = max(r.cur.table.Copies, 1) + 1
		return
	}
	if r.cur == nil || r.cur.inRows() || r.cur.bannerText != "" {
		r.before.devices = nil // its own follow
		r.open(l)
	}
	r.cur.bannerText = keep(text)
	r.cur.bannerNumbers(text)
}

func (r *ncclTests) open(l line) {
	r.close()
	for _, s := range r.before.typed { // its output follows
		r.before.set(s)
	}
	r.cur = &ncclTable{line: l.number}
	r.cur.table.Rows = []fabric.Row{}
	r.cur.program, r.cur.table.Config = r.before.program, r.before.settings
	r.cur.table.Replaced = r.before.replaced
	r.cur.table.Version, r.cur.table.Library = r.before.version, r.before.library
	for _, d := range r.before.devices {
		r.cur.addDevice(d)
	}
	r.before = command{budget: r.budget}
}

func (r *ncclTests) close() {
	if r.cur == nil {
		return
	}
	t := r.cur
	r.cur = nil
	t.flush()
	table := t.finish(t.footers > 0)
	if r.budget.result() {
		r.found = append(r.found, fabric.Result{Kind: fabric.NCCLTests, Line: t.line, Content: table})
	}
}

func (r *ncclTests) results() []fabric.Result {
	r.close()
	return r.found
}

// closeIfDone ends a table when every process that prints it has printed its footer.
func (r *ncclTests) closeIfDone() {
	if r.cur.footers > 0 && r.cur.footers >= r.cur.table.Copies && !r.cur.awaitsAverage {
		r.cur.ended = true
	}
}

// header takes the lines that name the columns and their units.
func (r *ncclTests) header(l line, text string) bool {
	named := l.may(ofHeader) && strings.Contains(text, headerSign)
	if !named && (r.cur == nil || !r.cur.layout.known() || !strings.Contains(text, "(")) {
		return false
	}
	fields := strings.Fields(strings.TrimLeft(text, "# "))
	columns, ok := headerLayout(fields)
	if !ok {
		return r.units(l, fields)
	}
	if r.cur == nil || r.cur.ended || len(r.cur.table.Rows) > 0 && r.cur.table.Copies < 2 {
		r.open(l)
	}
	r.cur.layout = columns
	r.cur.millis = fields[0] == "bytes" // test/single/all_reduce_test.cu of NCCL 1 prints seconds times 1.0E3
	return true
}

// units is the line below the header. Other units than microseconds and GB/s are not those of nccl-tests.
func (r *ncclTests) units(l line, fields []string) bool {
	if r.cur == nil || !r.cur.layout.known() || len(fields) < 3 || len(r.cur.table.Rows) > 0 {
		return false
	}
	for _, f := range fields {
		if !strings.HasPrefix(f, "(") || !strings.HasSuffix(f, ")") {
			return false
		}
		switch f {
		case "(B)", "(bytes)", "(elements)", "(us)", "(GB/s)", "(%)":
		default:
			r.cur.layout.refused = fmt.Sprintf("the header has the unit %s, which nccl-tests does not print", keep(f))
		}
	}
	return true
}

// row takes a row, or the beginning of one that a log line broke off.
func (r *ncclTests) row(l line, text string) bool {
	text = strings.TrimLeft(strings.TrimPrefix(text, "#"), " |")
	if r.cur != nil && r.cur.pending != "" {
		if r.cur.join(l, text, r.budget) {
			return true
		}
	}
	if !looksLikeRow(text) && (r.cur == nil || r.cur.ended || !r.cur.isRow(text)) {
		return false
	}
	if r.cur == nil || r.cur.ended {
		r.open(l)
	}
	r.cur.readRow(l, text, r.budget)
	return true
}

// fragment is what a process had printed of a row when a log line was written into it.
func (r *ncclTests) fragment(l line) {
	text := l.trimmed()
	if strings.Contains(l.log.message, "CCL version") {
		r.notTable(true, strings.TrimSpace(l.log.message))
	}
	if r.cur == nil || text == "" || text == "#" {
		return
	}
	if r.cur.pending == "" {
		if looksLikeRow(text) {
			r.cur.pend(l.number, l.text)
		}
		return
	}
	const longestRow = 4096 // bytes; a row has some 120
	if len(r.cur.pending) < longestRow {
		r.cur.pending += " " + strings.Clone(l.text)
	}
}

// scanned takes the cells of a table that lie one a line, as a document made from a picture has them.
func (r *ncclTests) scanned(l line) bool {
	return r.cur != nil && !r.cur.ended && r.cur.scan.read(l, r.cur)
}

func (r *ncclTests) paste(l line) { r.before.paste(l.trimmed()) }

// notTable looks for what says of which program a table is, with which settings. signs: the line has what may say so.
func (r *ncclTests) notTable(signs bool, text string) bool {
	if signs {
		r.before.read(text)
	} else {
		r.before.typed = nil
	}
	if r.cur != nil && !r.cur.inRows() {
		if r.before.version != "" {
			r.cur.table.Version, r.before.version = r.before.version, ""
		}
		if r.before.library != "" {
			r.cur.table.Library, r.before.library = r.before.library, ""
		}
	}
	return false
}
