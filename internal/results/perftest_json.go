package results

import (
	"encoding/json"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// perftestJSON is what perftest writes with --out_json (write_test_info_to_file and write_bw_report_to_file in
// src/perftest_parameters.c): one size per file.
type perftestJSON struct {
	Info struct {
		Test     string `json:"test"` // RDMA_Write_Bidirectional_BW_Test
		Device   string `json:"Device"`
		Pairs    int    `json:"Number_of_qps"`
		MTU      int    `json:"Mtu"`
		LinkType string `json:"Link_type"`
		GIDIndex *int   `json:"GID_index"`
		CM       string `json:"rdma_cm_QPs"`
		CUDA     *int   `json:"cuda_device"`
		ROCm     string `json:"Use_ROCm_memory"`
	} `json:"test_info"`
	Results *perftestJSONRow `json:"results"`
	Local   *perftestJSONRow `json:"results_local"`
	Remote  *perftestJSONRow `json:"results_remote"`
}

type perftestJSONRow struct {
	Bytes      *int64   `json:"MsgSize"`
	Iterations int64    `json:"n_iterations"`
	Peak       *float64 `json:"BW_peak"`
	Average    *float64 `json:"BW_average"`
	Rate       *float64 `json:"MsgRate"`
	Min        *float64 `json:"t_min"`
	Max        *float64 `json:"t_max"`
	Typical    *float64 `json:"t_typical"`
	Mean       *float64 `json:"t_avg"`
	P99        *float64 `json:"percentile_99"`
}

// readPerftestJSON reads one run. The file does not state the unit of its bandwidths: it is the one, of
// Gb/s and MiB/s, in which size times message rate equals the average.
func readPerftestJSON(o jsonObject, b *budget) (fabric.Result, error) {
	var f perftestJSON
	if err := json.Unmarshal(o.text, &f); err != nil {
		return fabric.Result{}, jsonError(o, err)
	}
	c := perftestRun{line: o.line}
	c.run = fabric.Perftest{Device: keep(f.Info.Device), QueuePairs: max(f.Info.Pairs, 0), MTU: max(f.Info.MTU, 0), LinkType: keep(f.Info.LinkType), GIDIndex: f.Info.GIDIndex, Rows: []fabric.PerftestRow{}}
	if m := perftestTitle().FindStringSubmatch(jsonTitle(f.Info.Test)); m != nil {
		c.titled(m)
	}
	if f.Info.CM != "" {
		on := f.Info.CM == "ON"
		c.run.ConnectionCM = &on
	}
	switch {
	case f.Info.CUDA != nil:
		c.run.Memory = "cuda"
	case f.Info.ROCm == "ON":
		c.run.Memory = "rocm"
	case f.Info.ROCm == "OFF": // newer versions report it when CUDA is used, so this is host memory
		c.run.Memory = "host"
	}
	row := f.Results
	if row == nil {
		row = f.Local
	}
	if row == nil || row.Bytes == nil || *row.Bytes < 0 || *row.Bytes > maxSize {
		c.run.Unread = addUnread(c.run.Unread, o.line, "results", "no row with a size from 0 to 1 PiB (MsgSize)")
	} else if b.row() {
		c.addJSON(o.line, row)
	}
	return fabric.Result{Kind: fabric.PerftestOutput, Content: &c.run}, nil
}

// jsonTitle writes RDMA_Write_Bidirectional_BW_Test as the title of the text output.
func jsonTitle(test string) string {
	return strings.Replace(strings.ReplaceAll(test, "_", " "), "RDMA ", "RDMA_", 1)
}

func (c *perftestRun) addJSON(number int, r *perftestJSONRow) {
	row := fabric.PerftestRow{Line: number, Bytes: *r.Bytes, Iterations: max(r.Iterations, 0)}
	take := func(column perftestColumn, v *float64) {
		if v == nil {
			return
		}
		if _, err := checked(*v); err != nil {
			c.run.Unread = addUnread(c.run.Unread, number, string(column), "%v: %v", *v, err)
			return
		}
		c.set(&row, column, *v)
	}
	if r.Average != nil {
		var known bool
		if c.run.Gbits, known = inGbits(*r.Bytes, *r.Average, r.Rate); known {
			take(perfPeak, r.Peak)
			take(perfAverage, r.Average)
		} else {
			c.run.Unread = addUnread(c.run.Unread, number, "BW_average", "%v: no unit agrees with size and message rate", *r.Average)
		}
	}
	take(perfRate, r.Rate)
	take(perfMin, r.Min)
	take(perfMax, r.Max)
	take(perfTypical, r.Typical)
	take(perfMean, r.Mean)
	take(perfP99, r.P99)
	c.run.Rows = append(c.run.Rows, row)
}

// inGbits reports whether average is in Gb/s rather than MiB/s; the two differ by a factor of 119, so 10 % is enough.
func inGbits(bytes int64, average float64, rate *float64) (gbits, known bool) {
	if rate == nil || *rate <= 0 || bytes == 0 {
		return false, false
	}
	perSecond := float64(bytes) * *rate * 1e6
	near := func(v float64) bool { return math.Abs(average-v) <= 0.1*v }
	switch {
	case near(perSecond * 8 / 1e9):
		return true, true
	case near(perSecond / mib):
		return false, true
	}
	return false, false
}
