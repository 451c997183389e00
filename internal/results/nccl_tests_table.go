package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// ncclTable is a table that is being read.
type ncclTable struct {
	line       int
	table      fabric.Table
	program    string // of the command line: all_reduce_perf; empty where nothing says it
	bannerText string
	layout     layout
	millis     bool // times are in milliseconds: the tests of NCCL 1
	scan       scan

	pending     string // the front of a row
	pendingLine int

	footers       int
	awaitsAverage bool // the number of the footer stands on the next line
	ended         bool
	ranks         map[int]int         // index in Devices by rank
	seen          map[rowKey]bool     // of copies
	dropped       int                 // rows of the other copies
	glyphs        map[string]struct{} // letters that stand for a zero
	looks         looks
	last          fabric.Row
}

// rowKey tells the rows of one copy of a table apart.
type rowKey struct {
	size        int64
	kind, redop string
}

func (t *ncclTable) inRows() bool {
	return len(t.table.Rows) > 0 || t.pending != "" || t.footers > 0 || t.scan.begun()
}

var (
	bannerNumber  = pattern.New(`(nThreads?|nGpus|minBytes|maxBytes|warmup ?iters|agg iters|iters|validation|graph|unalign|step): ?(\d+)(\((?:factor|bytes)\))?|(nThreads?|nGpus|minBytes|maxBytes):? (\d+)`)
	deviceLine    = pattern.New(`Rank\s+(\d+)\s+(?:Group\s+(\d+)\s+)?Pid\s+(\d+)\s+on\s+(\S+)\s+device\s+(\d+)\s+\[([^\]]*)\]\s*(.*)`)
	averageFooter = pattern.New(`^#?\s*Av[a-z]\.? bus ?bandwidth\s*:?\s*(\S*)`)
	boundsFooter  = pattern.New(`Out of bounds values\s*:\s*(\d+)`)
)

const (
	bannerSign = "nThread"
	headerSign = "busbw" // every header has it
)

func isBanner(text string) bool {
	return strings.Contains(text, bannerSign) && strings.Contains(text, "minBytes") && strings.Contains(text, "maxBytes")
}

// bannerKeys are the names that the JSON of nccl-tests gives to the numbers of the banner.
var bannerKeys = map[string]string{
	"nThread": "nthreads", "nThreads": "nthreads", "nGpus": "ngpus", "minBytes": "minimum_bytes", "maxBytes": "maximum_bytes",
	"warmup iters": "warmup_iters", "warmupiters": "warmup_iters", "agg iters": "aggregated_iterations", "iters": "iterations",
	"validation": "validation", "graph": "graph", "unalign": "unalign",
}

func (t *ncclTable) bannerNumbers(text string) {
	for _, m := range bannerNumber().FindAllStringSubmatch(text, -1) {
		key, value := m[1]+m[4], m[2]+m[5]
		switch {
		case key != "step":
			t.config(bannerKeys[key], value)
		case m[3] == "(factor)":
			t.config("step_factor", value)
		default:
			t.config("step_bytes", value)
		}
	}
}

func (t *ncclTable) config(key, value string) {
	const most = 96 // settings of a run
	if t.table.Config == nil {
		t.table.Config = map[string]string{}
	}
	if key != "" && len(t.table.Config) < most {
		t.table.Config[keepUpTo(key, maxName)] = keep(value)
	}
}

// setting takes NAME=value where the name is one that the libraries look at.
func (t *ncclTable) setting(text string) {
	if key, value, ok := librarySetting(text); ok {
		t.config(key, value)
	}
}

// bannerLine takes what stands between the banner and the header.
func (t *ncclTable) bannerLine(text string, b *budget) bool {
	if t.inRows() || t.layout.known() && !strings.Contains(text, "Rank") {
		return false
	}
	if d, ok := readDevice(text); ok {
		if b.device() {
			t.addDevice(d)
		}
		return true
	}
	if name, ok := strings.CutPrefix(strings.TrimLeft(text, "# "), "Collective test starting:"); ok {
		t.program = keep(name)
		return true
	}
	if strings.HasPrefix(strings.TrimLeft(text, "# "), "validation:") { // the banner was wrapped
		t.bannerNumbers(text)
		return true
	}
	return t.scan.device(text, t, b)
}

// readDevice reads a line of a banner that says where a rank runs.
func readDevice(text string) (fabric.RankDevice, bool) {
	if !strings.Contains(text, "Rank") || !strings.Contains(text, "Pid") {
		return fabric.RankDevice{}, false
	}
	m := deviceLine().FindStringSubmatch(text)
	if m == nil {
		return fabric.RankDevice{}, false
	}
	return fabric.RankDevice{Rank: small(m[1]), PID: small(m[3]), Host: keepUpTo(m[4], maxName), Device: small(m[5]), Bus: keepUpTo(m[6], maxName), Name: keepUpTo(m[7], maxName)}, true
}

// addDevice keeps one line per rank. A rank that comes again is of another copy.
func (t *ncclTable) addDevice(d fabric.RankDevice) {
	if t.ranks == nil {
		t.ranks = map[int]int{}
	}
	if _, again := t.ranks[d.Rank]; again {
		return
	}
	t.ranks[d.Rank] = len(t.table.Devices)
	t.table.Devices = append(t.table.Devices, d)
}

// footer takes the lines below the rows.
func (t *ncclTable) footer(l line, text string) bool {
	if t.awaitsAverage {
		t.awaitsAverage = false
		if value, ok := strings.CutPrefix(text, ":"); ok {
			t.average(l, strings.TrimSpace(value))
			return true
		}
	}
	if strings.Contains(text, "ut of bounds values") {
		if m := boundsFooter().FindStringSubmatch(text); m != nil {
			n := small(m[1])
			if t.table.OutOfBound != nil {
				n = max(n, *t.table.OutOfBound)
			}
			t.table.OutOfBound = &n
			t.flush()
		} else {
			t.table.Unread = addUnread(t.table.Unread, l.number, text, "the number of wrong results cannot be read")
		}
		return true
	}
	if !strings.Contains(text, "bandwidth") {
		return false
	}
	m := averageFooter().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	t.flush()
	if m[1] == "" {
		t.awaitsAverage = true
		t.footers++
		return true
	}
	t.footers++
	t.average(l, m[1])
	return true
}

func (t *ncclTable) average(l line, text string) {
	if t.table.Average != nil {
		return // of another copy
	}
	v, err := measured(text)
	if err != nil {
		t.table.Unread = addUnread(t.table.Unread, l.number, l.text, "%s", cellError("average", text, err))
		return
	}
	t.table.Average = &v
}

// addRow keeps a row, and of copies the first of each size.
func (t *ncclTable) addRow(row fabric.Row) {
	if t.table.Copies > 1 {
		key := rowKey{row.Size, row.Type, row.RedOp}
		if t.seen == nil {
			t.seen = map[rowKey]bool{}
		}
		if t.seen[key] {
			t.dropped++
			return
		}
		t.seen[key] = true
	} else if t.disordered(row) {
		t.table.Unread = addUnread(t.table.Unread, row.Line, strconv.FormatInt(row.Size, 10), "size %d comes after %d: the rows are not in order", row.Size, t.last.Size)
	}
	t.last = row
	t.table.Rows = append(t.table.Rows, row)
}

// disordered is true for a size below the one before it, unless the sizes begin anew: for the next type or
// operation, or the next cycle.
func (t *ncclTable) disordered(row fabric.Row) bool {
	if len(t.table.Rows) == 0 || row.Size >= t.last.Size || row.Type != t.last.Type || row.RedOp != t.last.RedOp {
		return false
	}
	return row.Size != t.table.Rows[0].Size
}

// finish fills in what the whole of the table says.
func (t *ncclTable) finish(footer bool) *fabric.Table {
	t.scan.finish(t)
	whole := t.table // a copy: what the reading needed is let go
	out := &whole
	slices.SortStableFunc(out.Devices, func(a, b fabric.RankDevice) int { return a.Rank - b.Rank })
	hosts, processes := map[string]bool{}, map[string]bool{}
	for _, d := range out.Devices {
		out.Ranks = max(out.Ranks, d.Rank+1)
		if d.Host != "" {
			hosts[d.Host] = true
			processes[fmt.Sprint(d.Host, " ", d.PID)] = true
		}
	}
	if len(out.Devices) == out.Ranks { // where lines are missing, so may be hosts
		out.Nodes, out.Processes = len(hosts), len(processes)
	}
	t.setCollective(out)
	if v, ok := out.Config["validation"]; ok && v == "0" {
		out.Checked = false
	}
	if t.dropped > 0 {
		out.Unread = addUnread(out.Unread, t.line, "", "%d rows of the other copies of the table are left out", t.dropped)
	}
	if len(t.glyphs) > 0 {
		var letters []string
		for g := range t.glyphs {
			letters = append(letters, g)
		}
		slices.Sort(letters)
		out.Unread = addUnread(out.Unread, t.line, "", "#wrong is printed as %s, which is read as 0", strings.Join(letters, ", "))
	}
	if out.OutOfBound != nil && len(out.Rows) == 0 && out.Config["validation"] == "1" {
		out.Checked = true // its rows were left out
	}
	if footer && len(out.Rows) == 0 {
		out.Unread = addUnread(out.Unread, t.line, "", "there are no rows between the banner and the footer")
	}
	out.Complete = footer && len(out.Rows) > 0
	return out
}
