package results

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// ncclTestsJSON is what nccl-tests writes with -J, file version 1 and 2 (src/util.cu of NVIDIA/nccl-tests).
// Numbers may be the text "nan", and parts may be null.
type ncclTestsJSON struct {
	Args    []string `json:"args"`
	Env     []string `json:"env"`
	Version int      `json:"nccl_version"`
	Config  struct {
		Threads    *int              `json:"nthreads"`
		GPUs       *int              `json:"ngpus"`
		MinBytes   *int64            `json:"minimum_bytes"`
		MaxBytes   *int64            `json:"maximum_bytes"`
		StepFactor *int64            `json:"step_factor"`
		StepBytes  *int64            `json:"step_bytes"`
		WarmUp     *int              `json:"warmup_iters"`
		Iterations *int              `json:"iterations"`
		Aggregated *int              `json:"aggregated_iterations"`
		Validation *int              `json:"validation"`
		Graph      *int              `json:"graph"`
		Devices    []ncclTestsDevice `json:"devices"`
	} `json:"config"`
	Results     []ncclTestsRow `json:"results"`
	OutOfBounds *struct {
		Count int `json:"count"`
	} `json:"out_of_bounds"`
	Average *struct {
		Bandwidth json.RawMessage `json:"bandwidth"`
	} `json:"average_bus_bandwidth"`
}

type ncclTestsDevice struct {
	Rank   int    `json:"rank"`
	PID    int    `json:"pid"`
	Host   string `json:"hostname"`
	Device int    `json:"device"`
	Bus    string `json:"device_hex"`
	Name   string `json:"device_info"`
}

type ncclTestsRow struct {
	Size       *int64            `json:"size"`
	Count      *int64            `json:"count"`
	Type       string            `json:"type"`
	RedOp      string            `json:"redop"`
	Root       json.RawMessage   `json:"root"`
	OutOfPlace *ncclTestsRowPart `json:"out_of_place"`
	InPlace    *ncclTestsRowPart `json:"in_place"`
}

type ncclTestsRowPart struct {
	Time    json.RawMessage `json:"time"`
	CPUTime json.RawMessage `json:"cpu_time"`
	AlgBW   json.RawMessage `json:"alg_bw"`
	BusBW   json.RawMessage `json:"bus_bw"`
	Wrong   json.RawMessage `json:"nwrong"`
}

// readNCCLTestsJSON reads one run. Keys that later versions add are left out.
func readNCCLTestsJSON(o jsonObject, b *budget) (fabric.Result, error) {
	var f ncclTestsJSON
	if err := json.Unmarshal(o.text, &f); err != nil {
		return fabric.Result{}, jsonError(o, err)
	}
	t := &ncclTable{line: o.line}
	t.table.Rows = []fabric.Row{}
	if len(f.Args) > 0 {
		t.program = programCollective(path.Base(f.Args[0]))
	}
	for _, e := range f.Env {
		t.setting(e)
	}
	c := f.Config
	t.table.Library = ncclVersion(f.Version)
	t.number("nthreads", c.Threads)
	t.number("ngpus", c.GPUs)
	t.number("warmup_iters", c.WarmUp)
	t.number("iterations", c.Iterations)
	t.number("aggregated_iterations", c.Aggregated)
	t.number("validation", c.Validation)
	t.number("graph", c.Graph)
	for key, v := range map[string]*int64{"minimum_bytes": c.MinBytes, "maximum_bytes": c.MaxBytes, "step_factor": c.StepFactor, "step_bytes": c.StepBytes} {
		if v != nil {
			t.config(key, strconv.FormatInt(*v, 10))
		}
	}
	for _, d := range c.Devices {
		if b.device() {
			t.addDevice(fabric.RankDevice{Rank: min(max(d.Rank, 0), math.MaxInt32), PID: max(d.PID, 0), Host: keepUpTo(d.Host, maxName), Device: max(d.Device, 0), Bus: keepUpTo(d.Bus, maxName), Name: keepUpTo(d.Name, maxName)})
		}
	}
	for i, r := range f.Results {
		if !b.row() {
			break
		}
		t.addJSONRow(o.line, i, r)
	}
	if f.OutOfBounds != nil {
		t.table.OutOfBound = &f.OutOfBounds.Count
	}
	if f.Average != nil {
		t.table.Average, _ = jsonNumber(f.Average.Bandwidth)
	}
	t.footers = 1
	return fabric.Result{Kind: fabric.NCCLTests, Content: t.finish(o.whole && f.Average != nil)}, nil
}

func (t *ncclTable) number(key string, v *int) {
	if v != nil {
		t.config(key, strconv.Itoa(*v))
	}
}

func (t *ncclTable) addJSONRow(number, index int, r ncclTestsRow) {
	where := fmt.Sprintf("results[%d]", index)
	if r.Size == nil || *r.Size < 0 || *r.Size > maxSize {
		t.table.Unread = addUnread(t.table.Unread, number, where, "size is missing, negative or more than 1 PiB")
		return
	}
	row := fabric.Row{Line: number, Size: *r.Size, Count: r.Count, Type: keep(r.Type), RedOp: keep(r.RedOp)}
	part := func(half string, p *ncclTestsRowPart) (in fabric.InPlace) {
		if p == nil {
			return in
		}
		time := p.Time
		if time == nil {
			time = p.CPUTime
		}
		take := func(name string, raw json.RawMessage) *float64 {
			v, err := jsonNumber(raw)
			if err != nil {
				t.table.Unread = addUnread(t.table.Unread, number, where, "%s", cellError(half+" "+name, strings.Trim(string(raw), `"`), err))
			}
			return v
		}
		in.TimeUS, in.AlgBW, in.BusBW = take("time", time), take("alg_bw", p.AlgBW), take("bus_bw", p.BusBW)
		if v := take("nwrong", p.Wrong); v != nil {
			wrong := int64(*v)
			in.Wrong = &wrong
			t.table.Checked = true
		}
		return in
	}
	out := part("out_of_place", r.OutOfPlace)
	row.TimeUS, row.AlgBW, row.BusBW, row.Wrong = out.TimeUS, out.AlgBW, out.BusBW, out.Wrong
	if r.InPlace != nil {
		in := part("in_place", r.InPlace)
		row.InPlace = &in
	}
	t.looks.see(false, colRoot, strings.Trim(string(r.Root), `" `))
	t.addRow(row)
}

// jsonNumber reads a number that may be null, absent (both nil) or the text "nan".
func jsonNumber(raw json.RawMessage) (*float64, error) {
	text := strings.Trim(string(raw), `"`)
	if text == "" || text == "null" {
		return nil, nil
	}
	v, err := measured(text)
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// ncclVersion writes the number of nccl.h as people do: 22809 is 2.28.9, and up to 2.8 2804 is 2.8.4.
func ncclVersion(code int) string {
	switch {
	case code <= 0:
		return ""
	case code < 10000:
		return fmt.Sprintf("NCCL %d.%d.%d", code/1000, code%1000/100, code%100)
	}
	return fmt.Sprintf("NCCL %d.%d.%d", code/10000, code%10000/100, code%100)
}
