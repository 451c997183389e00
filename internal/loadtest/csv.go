package loadtest

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// isCSV says that a text is an export of AIPerf or GenAI-Perf: its first line names the columns.
func isCSV(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	first, rest, found := strings.Cut(strings.TrimRight(string(line), "\r"), ",")
	return found && strings.EqualFold(strings.Trim(first, `" `), "metric") && (strings.HasPrefix(rest, "avg") || strings.EqualFold(rest, "value"))
}

// readCSV reads an export: a table of the numbers of requests, one of those of the run, and perhaps one of GPUs, which
// tells how many there are.
func readCSV(text string) []fabric.LoadTest {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	t := fabric.LoadTest{Line: 1, Form: formCSV, Tool: toolAIPerf}
	var rows []metric
	var stats []string
	gpus := map[string]bool{}
	inGPUs := false
	for {
		fields, err := r.Read()
		if err != nil {
			break
		}
		line, _ := r.FieldPos(0)
		switch {
		case len(fields) < 2:
		case strings.EqualFold(fields[0], "metric"):
			stats, inGPUs = nil, len(fields) > 1 && fields[1] == "GPU"
			for _, f := range fields[1:] {
				name, _ := statName(f)
				stats = append(stats, name)
			}
			if slices.Equal(stats, []string{"avg", "min", "max", "p99", "p95", "p90", "p75", "p50", "p25"}) {
				t.Tool = toolGenAI // AIPerf has the percentiles in rising order
			}
		case fields[0] == "Endpoint":
			inGPUs = true
		case inGPUs && len(fields) > 3:
			gpus[fields[3]] = true
		case !inGPUs:
			rows = append(rows, csvRow(line, fields, stats))
		}
	}
	assign(&t, rows, timesOf(t.Tool))
	if n := len(gpus); n > 0 {
		t.GPUs = n
	}
	need(&t)
	return []fabric.LoadTest{t}
}

func csvRow(line int, fields, stats []string) metric {
	m := metric{line: line, stats: map[string]number{}}
	m.name, m.unit = splitUnit(fields[0])
	for i, f := range fields[1:] {
		if n, ok := parseNumber(f); ok && i < len(stats) && stats[i] != "" {
			m.stats[stats[i]] = n
		}
	}
	return m
}
