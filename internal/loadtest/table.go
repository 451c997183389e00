package loadtest

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Tools, as reports name them.
const (
	toolAIPerf   = "aiperf"
	toolGenAI    = "genai-perf"
	toolVLLM     = "vllm bench serve"
	toolSGLang   = "sglang.bench_serving"
	formTable    = "table"
	formCSV      = "csv"
	formJSON     = "json"
	formConsole  = "console"
	formRecords  = "records"
	ignoreEOSKey = "ignore_eos"
)

// timesOf are the units in which a tool prints times of requests: GenAI-Perf up to 24.06 ns, then ms as AIPerf.
func timesOf(tool string) []string {
	if tool == toolGenAI {
		return []string{"ms", "ns"}
	}
	return []string{"ms"}
}

// table is a table of AIPerf or GenAI-Perf as it stands in a text.
type table struct {
	line   int
	tool   string
	stats  []string // of the columns after the first; empty: the header does not name it
	rows   []metric
	closed bool // its last line is there, or it has no frame
	framed bool
}

// cells parts a line of a table: by the bars of its frame, else by tabulators.
func cells(line string) (parts []string, framed bool) {
	trimmed := strings.TrimSpace(line)
	bar := strings.IndexAny(trimmed, "│┃|║")
	switch {
	case bar >= 0 && strings.Count(trimmed, trimmed[bar:bar+barLength(trimmed[bar:])]) >= 3:
		parts, framed = strings.FieldsFunc(strings.NewReplacer("│", "\x00 ", "┃", "\x00 ", "║", "\x00 ", "|", "\x00 ").Replace(trimmed), func(r rune) bool { return r == 0 }), true
	case strings.Contains(trimmed, "\t"):
		parts = strings.Split(trimmed, "\t")
	default:
		return nil, false
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if n := len(parts); framed && n > 0 && parts[n-1] == "" { // after the last bar
		parts = parts[:n-1]
	}
	return parts, framed
}

func barLength(text string) int {
	for _, r := range text {
		return len(string(r))
	}
	return 1
}

// header reads the line that names the columns. Where its words do not part as the numbers below do (a scan, a paste),
// only their order is kept.
func header(line string) (stats []string, framed, ok bool) {
	if lower := strings.ToLower(line[:min(len(line), 1000)]); !strings.Contains(lower, "statistic") && !strings.Contains(lower, "metric") {
		return nil, false, false
	}
	parts, framed := cells(line)
	if len(parts) == 0 {
		parts = strings.Fields(line)
	}
	if len(parts) < 2 || !slices.Contains([]string{"statistic", "metric"}, strings.ToLower(parts[0])) {
		return nil, false, false
	}
	known := 0
	for _, part := range parts[1:] {
		for _, word := range strings.Fields(part) {
			name, isStat := statName(word)
			if isStat {
				known++
				stats = append(stats, name)
			}
		}
	}
	return stats, framed, known >= 2 && len(stats) > 0 && stats[0] == "avg"
}

// border says that a line is the frame of a table; last, that it is its lower edge.
func border(line string) (is, last bool) {
	trimmed := strings.TrimSpace(line)
	if trimmed == "" || strings.Trim(trimmed, "┏┓┗┛┡┩┣┫╇╈╋┳┻━─└┘├┤┴┬┼╰╯╭╮+-=|:═╔╗╚╝╠╣╦╩╬") != "" {
		return false, false
	}
	whole := strings.HasSuffix(trimmed, "┘") || strings.HasSuffix(trimmed, "╯") || strings.HasSuffix(trimmed, "┛") || strings.HasSuffix(trimmed, "╝")
	return true, whole && strings.ContainsAny(trimmed, "└╰┗╚") || strings.HasPrefix(trimmed, "+") && strings.HasSuffix(trimmed, "+")
}

// numbersAtEnd parts a row without bars: its name, then its numbers.
func numbersAtEnd(line string) []string {
	m := rowAtEnd().FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return nil
	}
	return append([]string{m[1]}, strings.Fields(m[2])...)
}

var rowAtEnd = pattern.Plain(`^([A-Za-z].*?)\s+((?:-?[\d.,]+|N/A)(?:\s+(?:-?[\d.,]+|N/A))*)$`)

// findTables returns the tables of a text whose lines are given.
func findTables(lines []string) []table {
	var all []table
	title := ""
	for i := 0; i < len(lines); i++ {
		if strings.Contains(lines[i], "AIPerf") {
			title = toolAIPerf
		} else if strings.Contains(lines[i], "GenAI-Perf") || strings.Contains(lines[i], "GenAl-Perf") {
			title = toolGenAI
		}
		stats, framed, ok := header(lines[i])
		if !ok {
			continue
		}
		t := table{line: i + 1, stats: stats, framed: framed, closed: !framed, tool: title}
		if t.tool == "" {
			t.tool = toolAIPerf
			if strings.HasPrefix(strings.ToLower(strings.Trim(strings.TrimSpace(lines[i]), "┃│| ")), "statistic") {
				t.tool = toolGenAI
			}
		}
		i = t.body(lines, i+1) - 1
		all = append(all, t)
		title = ""
	}
	return all
}

// body reads the rows of a table; it returns the line after them.
func (t *table) body(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		if is, last := border(lines[i]); is {
			if last && len(t.rows) > 0 {
				t.closed = true
				return i + 1
			}
			continue
		}
		parts, framed := cells(lines[i])
		if unit := strings.TrimSpace(lines[i]); !framed && !t.framed && strings.HasPrefix(unit, "(") && len(t.rows) > 0 {
			unit, _, _ = strings.Cut(unit, ")")
			parts = []string{unit + ")"} // the end of the name above
		} else if !framed && !t.framed {
			if row := numbersAtEnd(lines[i]); row != nil {
				parts = row
			}
		}
		if len(parts) == 0 || framed != t.framed || parts[0] == "" && !t.framed {
			return i
		}
		t.row(i+1, parts)
	}
	return len(lines)
}

// row adds a line: a row of its own, or the rest of the name of the one above it.
func (t *table) row(line int, parts []string) {
	m := metric{line: line, name: parts[0], stats: map[string]number{}}
	values := parts[1:]
	empty := true
	for _, v := range values {
		empty = empty && v == ""
	}
	if empty || strings.HasPrefix(m.name, "(") {
		if n := len(t.rows); n > 0 {
			t.rows[n-1].name += " " + m.name
		}
		return
	}
	for i, v := range values {
		n, ok := parseNumber(v)
		switch {
		case !ok:
		case len(values) == len(t.stats):
			m.stats[t.stats[i]] = n
		case i == 0: // the header does not name every column: only the first is certain
			m.stats["avg"] = n
		}
	}
	t.rows = append(t.rows, m)
}

// isRun says that a table has the rows that every result has once: another such table is another run.
func (t *table) isRun() bool {
	return slices.ContainsFunc(t.rows, func(m metric) bool { return strings.HasPrefix(plainName(m.name), "request latency") })
}

// testOf is what the tables of one run say.
func testOf(t table) fabric.LoadTest {
	test := fabric.LoadTest{Line: t.line, Tool: t.tool, Form: formTable}
	rows := make([]metric, len(t.rows))
	for i, m := range t.rows {
		m.name, m.unit = splitUnit(m.name)
		rows[i] = m
	}
	assign(&test, rows, timesOf(t.tool))
	if !t.closed {
		test.Missing = append(test.Missing, "the last line of the table")
	}
	need(&test)
	return test
}

// need notes the rows that AIPerf and GenAI-Perf print of every run with streaming and that are not there.
func need(t *fabric.LoadTest) {
	for _, one := range []struct {
		what    string
		missing bool
	}{
		{"time to first token", t.TTFT["avg"] == 0}, {"inter token latency", t.ITL["avg"] == 0},
		{"request latency", t.Latency["avg"] == 0}, {"output sequence length", t.Output["avg"] == 0},
		{"input sequence length", t.Input["avg"] == 0}, {"output token throughput", t.OutputTokensS == nil},
		{"request throughput", t.RequestsS == nil},
	} {
		if one.missing && !slices.ContainsFunc(t.Unread, func(u fabric.Unread) bool { return strings.HasPrefix(plainName(u.Text), one.what) }) {
			t.Missing = append(t.Missing, one.what)
		}
	}
	for _, of := range []struct {
		what string
		s    fabric.LoadSpread
	}{{"time to first token", t.TTFT}, {"request latency", t.Latency}, {"inter token latency", t.ITL}} {
		if len(of.s) == 1 && of.s["avg"] > 0 && t.Form != formRecords {
			t.Missing = append(t.Missing, "percentiles of "+of.what)
		}
	}
}
