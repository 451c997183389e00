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

// plant is a line of the index that test/gpu/plant.sh writes: what was planted in a run.
type plant struct {
	Name     string           `json:"name"`
	Causes   []fabric.CauseID `json:"causes"`
	Control  string           `json:"control"`
	Settings []string         `json:"settings"` // NAME=VALUE, of two hosts with where before it
}

// plantedRun is a table of a plant and the faults in it.
type plantedRun struct {
	name  string
	env   map[string]string
	other []fabric.CauseID // faults that no setting makes
	table *fabric.Table
}

// defaultRun is the run without a fault.
const defaultRun = "default"

// plantedPairs are the runs of test/gpu/plant.sh on two H200: every run with faults against every run with a part of
// them, at the sizes that both have. Tables have no log, whose output costs time.
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

// plantedRuns reads the tables of a folder; those of the index have its settings, and others say them by their name.
func plantedRuns(folder string) (runs []plantedRun, err error) {
	text, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was planted yet
	}
	if err != nil {
		return nil, err
	}
	var index []plant
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("index of %q: %w", folder, err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.table"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		tables, err := readRuns(file)
		if err != nil || len(tables) != 1 {
			return nil, fmt.Errorf("planted %q: %d tables: %w", file, len(tables), err)
		}
		r := plantedRun{name: strings.TrimSuffix(filepath.Base(file), ".table"), env: map[string]string{}, table: tables[0]}
		if r.name == defaultRun+"-again" {
			continue // the same as the default, to see how much runs differ
		}
		if err := r.faults(index); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// faults sets what was planted in a run.
func (r *plantedRun) faults(index []plant) error {
	i := slices.IndexFunc(index, func(p plant) bool { return p.Name == r.name })
	switch {
	case r.name == defaultRun:
		return nil
	case i < 0:
		name, value, ok := settingOf(r.name)
		if !ok {
			return fmt.Errorf("planted %q: what was planted is not in the index", r.name)
		}
		r.env[name] = value
		return nil
	}
	for _, s := range index[i].Settings {
		name, value, _ := strings.Cut(s, "=")
		r.env[name] = value
	}
	for _, c := range index[i].Causes {
		if c != fabric.CauseNCCLSettings {
			r.other = append(r.other, c)
		}
	}
	return nil
}

// settingOf reads a setting from the name of a run, as plant.sh writes it: max-nchannels-4.
func settingOf(run string) (name, value string, ok bool) {
	for _, known := range []string{"NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_BUFFSIZE", "NCCL_NTHREADS", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_NVLS_ENABLE"} {
		short := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(known, "NCCL_")), "_", "-")
		if value, ok = strings.CutPrefix(run, short+"-"); ok {
			return known, strings.ToUpper(value), true
		}
	}
	return "", "", false
}

// less returns what is planted in a run and not in another one, whose own faults are all in this one too; none where
// the other is no part of it.
func (r plantedRun) less(o plantedRun) (fixed []string) {
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
	next := int64(forcedFrom)
	for _, row := range r.table.Rows {
		if row.Size < next || row.BusBW == nil || *row.BusBW <= 0 || after[row.Size] <= 0 {
			continue
		}
		next = row.Size * forcedStep
		p := pair{
			Source: planted, Hardware: twoH200(), Collective: r.table.Collective, DType: row.Type, Version: r.table.Library,
			Processes: 2, Env: r.env, Size: row.Size, Before: *row.BusBW, After: after[row.Size], What: r.name,
		}
		if o.name != defaultRun {
			p.What += " to " + o.name
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
