package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// tableFile is one measured table in this program's own format. cause and notes are for the people who
// collect such files; they are not evaluated.
type tableFile struct {
	ID         string                     `json:"id"`
	Source     string                     `json:"source"`
	Collective string                     `json:"collective"`
	Ranks      int                        `json:"ranks"`
	Hardware   *fabric.Hardware           `json:"hw"`
	Config     map[string]json.RawMessage `json:"config"`
	Health     string                     `json:"health"`
	Symptom    string                     `json:"symptom"`
	Cause      string                     `json:"cause"`
	Notes      string                     `json:"notes"`
	Average    *float64                   `json:"avg_busbw_footer"`
	Rows       []tableFileRow             `json:"rows"`
}

// tableFileRow is one size: bytes, microseconds, GB/s; ip_ is in-place.
type tableFileRow struct {
	Size          *int64   `json:"size"`
	TimeUS        *float64 `json:"time_us"`
	AlgBW         *float64 `json:"algbw"`
	BusBW         *float64 `json:"busbw"`
	InPlaceTimeUS *float64 `json:"ip_time_us"`
	InPlaceAlgBW  *float64 `json:"ip_algbw"`
	InPlaceBusBW  *float64 `json:"ip_busbw"`
}

// healths are the values of the key health.
var healths = []string{"", "healthy", "sick", "suspect", "noisy"}

// readTableFile reads a table file. Its author is a person, so an unknown key is an error that names the key.
func readTableFile(o jsonObject, b *budget) (fabric.Result, error) {
	if !o.whole {
		return fabric.Result{}, fmt.Errorf("the table file that begins on line %d does not end", o.line)
	}
	in := json.NewDecoder(bytes.NewReader(o.text))
	in.DisallowUnknownFields()
	var f tableFile
	if err := in.Decode(&f); err != nil {
		return fabric.Result{}, jsonError(o, err, slices.Concat(keysOf(tableFile{}, "json"), keysOf(tableFileRow{}, "json"), keysOf(fabric.Hardware{}, "json"))...)
	}
	collective, err := fabric.ParseCollective(f.Collective)
	if err != nil {
		return fabric.Result{}, fmt.Errorf("line %d: table %q: %w", o.line, f.ID, err)
	}
	if !slices.Contains(healths, f.Health) {
		return fabric.Result{}, fmt.Errorf("line %d: table %q: health %q: unknown; known: %s", o.line, f.ID, f.Health, strings.Join(healths[1:], ", "))
	}
	if f.Ranks < 0 || f.Hardware != nil && (f.Hardware.Nodes < 0 || f.Hardware.GPUsPerNode < 0 || f.Hardware.NICsPerNode < 0 || f.Hardware.NICGbps < 0) {
		return fabric.Result{}, fmt.Errorf("line %d: table %q: ranks and the numbers of hw must not be negative", o.line, f.ID)
	}
	t := &fabric.Table{
		ID: f.ID, Source: f.Source, Collective: collective, Ranks: f.Ranks, Hardware: f.Hardware,
		Health: f.Health, Symptom: f.Symptom, Average: f.Average, Complete: len(f.Rows) > 0, Rows: []fabric.Row{},
	}
	if f.Hardware != nil {
		t.Nodes = f.Hardware.Nodes
	}
	if t.Config, err = plainConfig(o, f.Config); err != nil {
		return fabric.Result{}, err
	}
	for i, r := range f.Rows {
		if !b.row() {
			break
		}
		row, problem := r.row()
		if problem != "" {
			t.Unread = addUnread(t.Unread, o.line, fmt.Sprintf("rows[%d]", i), "%s", problem)
		}
		if row.Size >= 0 {
			t.Rows = append(t.Rows, row)
		}
	}
	return fabric.Result{Kind: fabric.TableFile, Content: t}, nil
}

// plainConfig writes the values of config as text: 32 and "32" are the same setting.
func plainConfig(o jsonObject, config map[string]json.RawMessage) (map[string]string, error) {
	if len(config) == 0 {
		return nil, nil
	}
	plain := make(map[string]string, len(config))
	for key, raw := range config {
		var v any
		in := json.NewDecoder(bytes.NewReader(raw))
		in.UseNumber()
		if err := in.Decode(&v); err != nil {
			return nil, jsonError(o, err)
		}
		switch v := v.(type) {
		case string:
			plain[key] = v
		case json.Number, bool:
			plain[key] = fmt.Sprint(v)
		default:
			return nil, fmt.Errorf("line %d: config %q is neither text nor a number nor true or false", o.line, key)
		}
	}
	return plain, nil
}

// row stores the valid numbers and returns which are not. A row without a size has size -1.
func (r tableFileRow) row() (fabric.Row, string) {
	row := fabric.Row{Size: -1}
	if r.Size == nil {
		return row, "size is missing"
	}
	if *r.Size < 0 || *r.Size > maxSize {
		return row, fmt.Sprintf("size %d is negative or more than 1 PiB", *r.Size)
	}
	row.Size = *r.Size
	var bad []string
	take := func(name string, v *float64) *float64 {
		if v == nil {
			return nil
		}
		if _, err := checked(*v); err != nil {
			bad = append(bad, fmt.Sprintf("%s %v: %v", name, *v, err))
			return nil
		}
		return v
	}
	row.TimeUS, row.AlgBW, row.BusBW = take("time_us", r.TimeUS), take("algbw", r.AlgBW), take("busbw", r.BusBW)
	in := fabric.InPlace{TimeUS: take("ip_time_us", r.InPlaceTimeUS), AlgBW: take("ip_algbw", r.InPlaceAlgBW), BusBW: take("ip_busbw", r.InPlaceBusBW)}
	if in != (fabric.InPlace{}) {
		row.InPlace = &in
	}
	return row, strings.Join(bad, ", ")
}
