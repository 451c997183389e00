package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
)

// plantedRun is a line of the index that test/gpu/plant.sh writes beside its tables: what was set in a run.
type plantedRun struct {
	Name     string   `json:"name"`
	Table    string   `json:"table"`    // its file
	Control  string   `json:"control"`  // the run without what was set; empty: it is one
	Settings []string `json:"settings"` // NAME=VALUE
	Affinity string   `json:"affinity"` // the cores that all processes were bound to; empty: none

	env   map[string]string
	other []fabric.CauseID // faults that no setting makes
	table *fabric.Table
}

// plantedPairs are the runs of test/gpu/plant.sh on two H200: every run with something set against every run with a part
// of it, at the sizes that both have.
func plantedPairs(folder string) (all []pair, err error) {
	runs, err := plantedRuns(folder)
	if err != nil {
		return nil, err
	}
	for _, before := range runs {
		for _, after := range runs {
			if fixed := before.less(after); len(fixed) > 0 {
				all = append(all, before.against(after, fixed)...)
			}
		}
	}
	return all, nil
}

// plantedRuns reads the tables of the index in a folder. A run without anything set that has a control is the control
// once more, to see how much runs differ: it is left out.
func plantedRuns(folder string) (runs []plantedRun, err error) {
	text, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was planted yet
	}
	if err != nil {
		return nil, err
	}
	var index []plantedRun
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("index of %q: %w", folder, err)
	}
	for _, r := range index {
		tables, err := readRuns(filepath.Join(folder, r.Table))
		if err != nil || len(tables) != 1 {
			return nil, fmt.Errorf("planted %q: %d tables: %w", r.Name, len(tables), err)
		}
		r.table, r.env = tables[0], map[string]string{}
		for _, s := range r.Settings {
			name, value, _ := strings.Cut(s, "=")
			r.env[name] = value
		}
		if r.Affinity != "" {
			r.other = append(r.other, fabric.CauseCPUAffinity)
		}
		if r.Control == "" || len(r.env)+len(r.other) > 0 {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// plantedFrom is the size from which planted runs are compared, bytes. The first size of a run, 1 MiB, differs more
// between runs of the same than a tenth: 46 and 78 GB/s, by itself and with the algorithm that NCCL takes by itself.
const plantedFrom = 4 * mebibyte

// family is the control of a run: runs of two families are on other machines.
func (r plantedRun) family() string {
	if r.Control == "" {
		return r.Name
	}
	return r.Control
}

// less returns what is planted in a run and not in another one, whose own faults are all in this one too; none where
// the other is no part of it.
func (r plantedRun) less(o plantedRun) (fixed []string) {
	if r.family() != o.family() {
		return nil
	}
	for name, value := range o.env {
		if r.env[name] != value {
			return nil
		}
	}
	for _, c := range o.other {
		if !slices.Contains(r.other, c) {
			return nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		if _, kept := o.env[name]; !kept {
			fixed = append(fixed, name)
		}
	}
	for _, c := range r.other {
		if !slices.Contains(o.other, c) {
			fixed = append(fixed, string(c))
		}
	}
	return fixed
}

// against are the pairs of two runs, by size; fixed are the settings and causes that only the first has.
func (r plantedRun) against(o plantedRun, fixed []string) (all []pair) {
	after := map[int64]float64{}
	for _, row := range o.table.Rows {
		if row.BusBW != nil {
			after[row.Size] = *row.BusBW
		}
	}
	next := int64(plantedFrom)
	for _, row := range r.table.Rows {
		if row.Size < next || row.BusBW == nil || *row.BusBW <= 0 || after[row.Size] <= 0 {
			continue
		}
		next = row.Size * forcedStep
		p := pair{
			Source: planted, Hardware: twoH200(), Collective: r.table.Collective, DType: row.Type, Version: r.table.Library,
			Processes: 2, Env: r.env, Size: row.Size, Before: *row.BusBW, After: after[row.Size], What: r.Name,
		}
		if o.Control != "" {
			p.What += " to " + o.Name
		}
		if r.table.Nodes > 1 { // hosts on one machine, whose network has no line rate
			p.Hardware = twoHosts()
		}
		for _, name := range slices.Sorted(maps.Keys(r.env)) {
			p.add(diagnose.Fault{ID: fabric.CauseNCCLSettings, Seen: true, Settings: []string{name}}, slices.Contains(fixed, name))
		}
		for _, c := range r.other {
			p.add(diagnose.Fault{ID: c, Seen: true}, slices.Contains(fixed, string(c)))
		}
		all = append(all, p)
	}
	return all
}

// add adds a fault that is there before, and is gone afterwards where it is fixed; the first one is the pair's own.
func (p *pair) add(f diagnose.Fault, fixed bool) {
	if fixed {
		p.Fixed = append(p.Fixed, len(p.Faults))
	}
	p.Faults = append(p.Faults, f)
}
