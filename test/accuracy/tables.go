package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
)

// table is a published or own measurement, as the table files of shared/data/collectives hold it.
type table struct {
	ID         string            `json:"id"`
	Source     string            `json:"source"`
	Collective fabric.Collective `json:"collective"`
	Ranks      int               `json:"ranks"`
	Hardware   fabric.Hardware   `json:"hw"`
	Config     map[string]any    `json:"config"`
	Health     string            `json:"health"`
	Rows       []row             `json:"rows"`
}

type row struct {
	Size   int64    `json:"size"`
	TimeUS float64  `json:"time_us"`
	BusBW  float64  `json:"busbw"`
	IPTime *float64 `json:"ip_time_us"`
}

// readTables reads all table files of a folder, in the order of their names.
func readTables(folder string) ([]table, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("folder %q holds no table", folder)
	}
	var tables []table
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var t table
		if err := json.Unmarshal(text, &t); err != nil {
			return nil, fmt.Errorf("table %q: %w", name, err)
		}
		t.ID = filepath.Base(name)
		t.ID = t.ID[:len(t.ID)-len(".json")]
		tables = append(tables, t)
	}
	return tables, nil
}

// job is what the table says that ran.
func (t table) job() collective.Job {
	config := map[string]string{}
	for k, v := range t.Config {
		config[k] = fmt.Sprint(v)
	}
	return collective.JobOf(t.Collective, config)
}

func (t table) sizes() []int64 {
	sizes := make([]int64, len(t.Rows))
	for i, r := range t.Rows {
		sizes[i] = r.Size
	}
	return sizes
}
