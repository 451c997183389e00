package results

import (
	"fmt"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// perftestColumn is a column of a perftest table by its meaning.
type perftestColumn string

const (
	perfBytes      perftestColumn = "#bytes"
	perfIterations perftestColumn = "#iterations"
	perfPeak       perftestColumn = "BW peak"
	perfAverage    perftestColumn = "BW average"
	perfRate       perftestColumn = "MsgRate"
	perfMin        perftestColumn = "t_min"
	perfMax        perftestColumn = "t_max"
	perfTypical    perftestColumn = "t_typical"
	perfMean       perftestColumn = "t_avg"
	perfP99        perftestColumn = "99% percentile"
	perfOther      perftestColumn = "" // #sl, CPU_Util, t_stdev, of one port, ...
)

// mib is what perftest calls MB: format_factor is 0x100000 in print_report_bw, whether the header says MB/sec,
// as up to 2019, or MiB/sec.
const mib = 1 << 20

// perftestHead begins the header of a table.
const perftestHead = "#bytes"

func isPerftestHeader(text string) bool {
	return strings.HasPrefix(text, perftestHead) && strings.Contains(text, "#iterations")
}

// perftestNames are the columns by their names in a header.
func perftestNames() map[string]perftestColumn {
	return map[string]perftestColumn{
		"#bytes": perfBytes, "#iterations": perfIterations, "BW_peak": perfPeak, "BW_average": perfAverage, "MsgRate": perfRate,
		"t_min": perfMin, "t_max": perfMax, "t_typical": perfTypical, "t_avg": perfMean, "99%_percentile": perfP99,
	}
}

// perftestColumns reads a header: its columns, and the unit of its bandwidths, empty for a latency test. why is
// the reason why it cannot be read.
func perftestColumns(text string) (columns []perftestColumn, unit, why string) {
	joined := strings.NewReplacer("BW peak", "BW_peak", "BW average", "BW_average", "% percentile", "%_percentile", "MsgRate Port", "MsgRate_Port",
		"BW Port", "BW_Port", "tps average", "tps_average").Replace(text)
	names := perftestNames()
	for _, word := range strings.Fields(joined) {
		if word[0] >= '0' && word[0] <= '9' && !strings.HasPrefix(word, "99") {
			return nil, "", "the header line contains numbers: the table cannot be parsed"
		}
		name, in, _ := strings.Cut(word, "[")
		in = strings.TrimSuffix(in, "]")
		c := names[name]
		if why := wrongUnit(c, name, in, unit); why != "" {
			return nil, "", why
		}
		if c == perfPeak || c == perfAverage {
			unit = in
		}
		if columns = append(columns, c); len(columns) > maxColumns {
			return nil, "", "the header has too many words: the table cannot be parsed"
		}
	}
	return columns, unit, ""
}

// wrongUnit returns why a column's unit cannot be used with that of the bandwidths before it; empty: it can.
func wrongUnit(c perftestColumn, name, unit, before string) string {
	bandwidth := c == perfPeak || c == perfAverage
	switch {
	case bandwidth && unit != "Gb/sec" && unit != "MB/sec" && unit != "MiB/sec":
		return "the unit of " + string(c) + " is " + keep(unit) + "; known: Gb/sec, MB/sec, MiB/sec"
	case bandwidth && before != "" && before != unit:
		return "the header mixes " + before + " and " + unit
	case strings.HasPrefix(name, "t_") && c != perfOther && unit != "usec":
		return "the unit of " + name + " is " + keep(unit) + ", not usec"
	}
	return ""
}

// row reads a line of numbers. A dashed line, or text, ends the table.
func (c *perftestRun) row(l line, text string, b *budget) bool {
	if !startsNumeric(text) {
		switch {
		case strings.HasPrefix(text, "Conflicting CPU frequency"), strings.HasPrefix(text, "WARNING"):
			return true
		case strings.HasPrefix(text, "---") && len(c.run.Rows) == 0 && len(c.run.Unread) == 0:
			return true // both sides print to one terminal
		case c.columns == nil:
			return false // the rest of a table without a header is recorded until the next header
		}
		c.rows = false
		return false
	}
	fields := strings.Fields(text)
	if c.columns == nil || len(fields) != len(c.columns) {
		if c.columns == nil || !strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz") {
			why := fmt.Sprintf("a line of %d numbers where a row has %d", len(fields), len(c.columns))
			if c.columns == nil {
				why = "numbers below a header that could not be read"
			}
			c.run.Unread = addUnread(c.run.Unread, l.number, text, "%s", why)
			return true
		}
		c.rows = false
		return false
	}
	if b.row() {
		c.add(l, text, fields)
	}
	return true
}

// add keeps the readable cells of a row. A row needs a size.
func (c *perftestRun) add(l line, text string, fields []string) {
	row := fabric.PerftestRow{Line: l.number}
	var bad []string
	for i, column := range c.columns {
		switch column {
		case perfOther:
		case perfBytes, perfIterations:
			v, err := size(fields[i])
			if err != nil {
				bad = append(bad, cellError(string(column), fields[i], err))
			}
			if column == perfIterations {
				row.Iterations = v
			} else if row.Bytes = v; err != nil {
				row.Bytes = -1
			}
		default:
			v, err := measured(fields[i])
			if err != nil {
				bad = append(bad, cellError(string(column), fields[i], err))
				continue
			}
			c.set(&row, column, v)
		}
	}
	if len(bad) > 0 {
		c.run.Unread = addUnread(c.run.Unread, l.number, text, "%s", strings.Join(bad, ", "))
	}
	if row.Bytes >= 0 {
		c.run.Rows = append(c.run.Rows, row)
	}
}

// set stores a number in its field. A peak of 0 comes from a run by time (-D), which measures none.
func (c *perftestRun) set(row *fabric.PerftestRow, column perftestColumn, v float64) {
	switch column {
	case perfPeak:
		if v > 0 {
			row.PeakGbps = c.gbps(v)
		}
	case perfAverage:
		row.AverageGbps = c.gbps(v)
	case perfRate:
		row.MsgRateMpps = &v
	case perfMin:
		row.MinUS = &v
	case perfMax:
		row.MaxUS = &v
	case perfTypical:
		row.TypicalUS = &v
	case perfMean:
		row.AverageUS = &v
	case perfP99:
		row.P99US = &v
	}
}

// gbps converts a printed bandwidth to Gb/s: 8 bits per byte, 10^9 per giga.
func (c *perftestRun) gbps(v float64) *float64 {
	if !c.run.Gbits {
		v = v * mib * 8 / 1e9
	}
	if math.IsInf(v, 0) {
		return nil
	}
	return &v
}
