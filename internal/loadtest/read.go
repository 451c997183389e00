package loadtest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// MaxBytes bounds a file: the records of a million requests are larger, and are read by their summary.
const MaxBytes = 64 << 20

// Read returns the load tests of a text, in the order in which they stand there. name is that of the file. A text that
// has none returns none, with what was found instead.
func Read(name string, text []byte) (tests []fabric.LoadTest, unread []fabric.Unread) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	first := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case len(first) == 0:
		return nil, []fabric.Unread{{Text: name, Reason: "is empty"}}
	case first[0] == '{' || first[0] == '[':
		tests, unread = readJSON(name, first)
	case isCSV(first):
		tests = readCSV(string(first))
	default:
		tests = readText(string(text))
	}
	for i := range tests {
		tests[i].File = name
		fromPath(&tests[i], name)
	}
	if len(tests) == 0 && len(unread) == 0 {
		unread = []fabric.Unread{{Text: name, Reason: "has no result of AIPerf, GenAI-Perf, vllm bench serve or sglang.bench_serving"}}
	}
	for i := range unread {
		unread[i].Text = cmp.Or(unread[i].Text, name)
	}
	return tests, unread
}

// readText reads what tools print on a terminal.
func readText(text string) []fabric.LoadTest {
	lines := splitLines(text)
	commands := findCommands(lines)
	tests := append(runsOf(findTables(lines)), findBlocks(lines)...)
	slices.SortStableFunc(tests, func(a, b fabric.LoadTest) int { return cmp.Compare(a.Line, b.Line) })
	for i := range tests {
		end := len(lines)
		if i+1 < len(tests) {
			end = tests[i+1].Line - 1
		}
		tail(&tests[i], lines[tests[i].Line-1:end])
		begin := 0
		if i > 0 {
			begin = tests[i-1].Line
		}
		for _, c := range commands {
			// a command is that of the first result after it; AIPerf prints its own after the result
			own := c.own && c.line > tests[i].Line && c.line <= end
			if c.tool == tests[i].Tool && (own || !c.own && c.line > begin && c.line < tests[i].Line) {
				c.into(&tests[i])
			}
		}
	}
	return tests
}

// runsOf joins the tables of each run: AIPerf prints that of requests last, and tables of other numbers around it.
func runsOf(tables []table) (tests []fabric.LoadTest) {
	var before []table
	for _, t := range tables {
		if !t.isRun() {
			before = append(before, t)
			continue
		}
		test := testOf(t)
		for _, other := range before {
			merge(&test, testOf(other))
		}
		tests, before = append(tests, test), nil
	}
	for _, t := range before {
		if n := len(tests); n > 0 && tests[n-1].Tool == t.tool {
			merge(&tests[n-1], testOf(t))
		} else {
			tests = append(tests, testOf(t))
		}
	}
	return tests
}

var (
	colour     = pattern.Plain("\x1b\\[[0-9;?]*[A-Za-z]")
	loadFolder = pattern.Plain(`(?:^|[-_])(concurrency|request_rate)_?(\d+(?:\.\d+)?)$`)
)

// splitLines parts a text; colours and carriage returns of a terminal are dropped.
func splitLines(text string) []string {
	text = colour().ReplaceAllString(text, "")
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		if at := strings.LastIndexByte(l, '\r'); at >= 0 {
			l = l[at+1:]
		}
		lines[i] = l
	}
	return lines
}

// merge adds the rows of another table of the same run.
func merge(t *fabric.LoadTest, more fabric.LoadTest) {
	t.Failed = cmp.Or(t.Failed, more.Failed)
	t.Short = cmp.Or(t.Short, more.Short)
	t.InFlight = cmp.Or(t.InFlight, more.InFlight)
	t.DurationS = cmp.Or(t.DurationS, more.DurationS)
	t.Unread = append(t.Unread, more.Unread...)
}

// tail reads the lines under a table that belong to it.
func tail(t *fabric.LoadTest, lines []string) {
	if t.Form != formTable {
		return
	}
	errors := int64(0)
	inErrors := false
	for _, l := range lines {
		words := strings.TrimSpace(strings.Trim(l, "│╭╮╰╯ "))
		name, value, found := strings.Cut(words, ":")
		plain, unit := splitUnit(name)
		switch role, known := roleOf(plainName(plain)); {
		case found && known && role.into != nil && *role.into(t) == nil:
			if fields := strings.Fields(value); len(fields) > 0 {
				if unit == "" && len(fields) > 1 {
					unit = fields[1]
				}
				n, ok := parseNumber(fields[0])
				if scale, fits := scaleOf(role.kind, unit, timesOf(t.Tool)); ok && fits {
					keep(t, role.name, role.into(t), number{n.value * scale, n.half * scale})
					t.Missing = slices.DeleteFunc(t.Missing, func(m string) bool { return m == plainName(plain) })
				}
			}
		case strings.Contains(l, "Error Summary"):
			inErrors = true
		case inErrors:
			if parts, framed := cells(l); framed && len(parts) == 4 {
				if n, ok := parseNumber(parts[3]); ok {
					errors += int64(n.value)
				}
			}
			if _, last := border(l); last {
				inErrors = false
			}
		case strings.Contains(l, "have output length differing"):
			if fields := strings.Fields(words); len(fields) > 2 && fields[1] == "of" && t.Short == nil {
				if n, ok := parseNumber(fields[0]); ok {
					keepCount(&t.Short, n)
				}
			}
		}
	}
	if errors > 0 && t.Failed == nil {
		t.Failed = &errors
	}
}

// fromPath takes the load from the folder that AIPerf and GenAI-Perf name after it, where the file does not say it.
func fromPath(t *fabric.LoadTest, name string) {
	if t.Concurrency != nil || t.RatePerS != nil || t.Tool != toolAIPerf && t.Tool != toolGenAI {
		return
	}
	folders := strings.Split(strings.ReplaceAll(name, `\`, "/"), "/")
	for _, f := range slices.Backward(folders[:len(folders)-1]) {
		if m := loadFolder().FindStringSubmatch(f); m != nil {
			n, ok := parseNumber(m[2])
			switch {
			case !ok:
			case m[1] == "concurrency":
				c := int(n.value)
				t.Concurrency = &c
			default:
				t.RatePerS = &n.value
			}
			return
		}
	}
}
