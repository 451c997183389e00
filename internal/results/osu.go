package results

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// osu reads the tables of the OSU micro-benchmarks, of MPI and of NCCL or RCCL, collective and point-to-point.
// Sizes are as the benchmark counts them: of alltoall, allgather, gather and scatter the message of one
// rank to another, where nccl-tests counts all of them together; config "size_is" says so.
type osu struct {
	budget *budget
	found  []fabric.Result
	cur    *osuTable
}

type osuTable struct {
	line    int
	table   fabric.Table
	columns []string
	ended   bool
}

func newOSU(b *budget) lineReader { return &osu{budget: b} }

// osuTitle: "# OSU MPI-CUDA Allreduce Latency Test v7.5"; version 5 may omit the "#".
var osuTitle = pattern.New(`^#? *OSU (MPI|NCCL|RCCL|XCCL|UPC|OpenSHMEM)(?:-(\w+))? ([\w-]+(?: ?[\w/-]+)*?) Test(?: v(\S+))?$`)

// osuCollectives are the words of the titles that name a collective of NCCL. Tests of two ranks are sendrecv.
var osuCollectives = []struct {
	word       string
	collective fabric.Collective
	perPeer    bool // the size is what one rank sends to one other
}{
	{"Allreduce", fabric.AllReduce, false}, {"All-Reduce", fabric.AllReduce, false},
	{"Allgather", fabric.AllGather, true}, {"All-to-All", fabric.AllToAll, true}, {"Alltoall", fabric.AllToAll, true},
	{"Reduce_scatter", fabric.ReduceScatter, false}, {"Reduce-Scatter", fabric.ReduceScatter, false},
	{"Broadcast", fabric.Broadcast, false}, {"Bcast", fabric.Broadcast, false}, {"Reduce", fabric.Reduce, false},
	{"Gather", fabric.Gather, true}, {"Scatter", fabric.Scatter, true},
	{"Latency", fabric.SendRecv, false}, {"Bandwidth", fabric.SendRecv, false}, {"Bi-Directional", fabric.SendRecv, false}, {"Multiple", fabric.SendRecv, false}, {"Multi", fabric.SendRecv, false},
}

func (r *osu) read(l line) bool {
	text := l.trimmed()
	if l.log != nil || text == "" {
		return false
	}
	if l.may(ofOSU) {
		if m := osuTitle().FindStringSubmatch(text); m != nil {
			r.title(l, m)
			return true
		}
	}
	if r.cur == nil || r.cur.ended {
		return false
	}
	plain := strings.TrimSpace(strings.TrimLeft(text, "#"))
	switch {
	case strings.HasPrefix(plain, "Size "):
		r.cur.header(plain)
		return true
	case text[0] == '#' || text[0] == '[' && r.cur.columns == nil:
		if kind, ok := strings.CutPrefix(plain, "Datatype:"); ok {
			r.cur.table.Config["dtype"] = keep(strings.TrimSuffix(strings.TrimSpace(kind), "."))
		}
		return text[0] == '#'
	case startsNumeric(text) && r.cur.columns != nil:
		r.cur.row(l, text, r.budget)
		return true
	}
	r.cur.ended = r.cur.columns != nil
	return false
}

func (r *osu) title(l line, m []string) {
	r.close()
	t := &osuTable{line: l.number}
	t.table = fabric.Table{Config: map[string]string{"benchmark": keep(m[3])}, Rows: []fabric.Row{}}
	if m[4] != "" {
		t.table.Version = "OSU " + keep(m[4])
	}
	switch strings.ToLower(m[2]) {
	case "cuda":
		t.table.Config["memory"] = "cuda"
	case "rocm":
		t.table.Config["memory"] = "rocm"
	}
	t.table.Library = strings.Clone(m[1])
	first, _, _ := strings.Cut(strings.TrimPrefix(m[3], "Non-blocking "), " ")
	for _, c := range osuCollectives {
		if strings.EqualFold(first, c.word) || strings.EqualFold(first, c.word+"v") {
			t.table.Collective = c.collective
			if c.perPeer {
				t.table.Config["size_is"] = "of one rank to another"
			}
			break
		}
	}
	r.cur = t
}

func (r *osu) close() {
	if r.cur == nil {
		return
	}
	t := r.cur
	r.cur = nil
	t.table.Complete = len(t.table.Rows) > 0 // there is no footer: these are all the rows that can be expected
	if r.budget.result() {
		table := t.table // a copy, so that what only the parser needed is freed
		r.found = append(r.found, fabric.Result{Kind: fabric.OSU, Line: t.line, Content: &table})
	}
}

func (r *osu) results() []fabric.Result {
	r.close()
	return r.found
}

// header names the columns: Size, then "Avg Latency(us)", "Latency (us)", "Bandwidth (MB/s)", "MB/s", ...
func (t *osuTable) header(text string) {
	text = strings.NewReplacer(" Latency", "_Latency", " (", "(", "Avg ", "Avg_", "Min ", "Min_", "Max ", "Max_").Replace(strings.Join(strings.Fields(text), " "))
	text = strings.ReplaceAll(strings.ReplaceAll(text, "Size_Latency", "Size Latency"), "__", "_")
	if t.columns = strings.Fields(text); len(t.columns) > maxColumns {
		t.columns = t.columns[:maxColumns]
	}
}

// row keeps the average latency, and of bandwidths GB/s: OSU's MB is 10^6 bytes (osu_bw.c divides by 1e6).
func (t *osuTable) row(l line, text string, b *budget) {
	fields := strings.Fields(text)
	if len(fields) < 2 || len(fields) > len(t.columns) {
		t.table.Unread = addUnread(t.table.Unread, l.number, text, "a line of %d words where a row has %d", len(fields), len(t.columns))
		return
	}
	if !b.row() {
		return
	}
	bytes, err := size(fields[0])
	if err != nil {
		t.table.Unread = addUnread(t.table.Unread, l.number, text, "%s", cellError("size", fields[0], err))
		return
	}
	row := fabric.Row{Line: l.number, Size: bytes}
	known := false
	for i, field := range fields[1:] {
		name := t.columns[i+1]
		latency := slices.Contains([]string{"Avg_Latency(us)", "Latency(us)"}, name)
		bandwidth := slices.Contains([]string{"Bandwidth(MB/s)", "MB/s"}, name)
		if !latency && !bandwidth {
			continue
		}
		known = true
		v, err := measured(field)
		if err != nil {
			t.table.Unread = addUnread(t.table.Unread, l.number, text, "%s", cellError(name, field, err))
			continue
		}
		if bandwidth {
			v /= 1000
			row.AlgBW = &v
		} else {
			row.TimeUS = &v
		}
	}
	if !known {
		t.table.Unread = addUnread(t.table.Unread, l.number, text, "the header has neither a latency in us nor a bandwidth in MB/s: %s", strings.Join(t.columns, " "))
		return
	}
	t.table.Rows = append(t.table.Rows, row)
}
