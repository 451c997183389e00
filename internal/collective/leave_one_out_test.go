package collective

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// measured is a healthy table with the cluster that it is of.
type measured struct {
	id      string
	cluster *Cluster
	job     Job
	sizes   []int64
	times   []float64
}

func readMeasured(t *testing.T) []measured {
	t.Helper()
	names, _ := filepath.Glob("../../../shared/data/collectives/*.json")
	if len(names) == 0 {
		t.Skip("the measured tables are not here")
	}
	var all []measured
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Collective fabric.Collective `json:"collective"`
			Hardware   fabric.Hardware   `json:"hw"`
			Config     map[string]any    `json:"config"`
			Health     string            `json:"health"`
			Rows       []struct {
				Size int64   `json:"size"`
				Time float64 `json:"time_us"`
			} `json:"rows"`
		}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		if f.Health != "healthy" {
			continue
		}
		config := map[string]string{}
		for k, v := range f.Config {
			config[k] = fmt.Sprint(v)
		}
		m := measured{id: strings.SplitN(filepath.Base(name), "_", 2)[0], cluster: newCluster(t, f.Hardware), job: JobOf(f.Collective, config)}
		for _, r := range f.Rows {
			m.sizes, m.times = append(m.sizes, r.Size), append(m.times, r.Time)
		}
		all = append(all, m)
	}
	return all
}

// errors of times from 1 MiB on, with these estimates.
func (m measured) errors(t *testing.T, e estimates) (out []float64) {
	t.Helper()
	c := *m.cluster
	c.est = e
	for i, r := range predict(t, &c, m.job, m.sizes...) {
		if r.Size >= 1<<20 {
			out = append(out, math.Abs(r.TimeUS-m.times[i])/m.times[i])
		}
	}
	return out
}

func median(of []float64) float64 {
	s := slices.Sorted(slices.Values(of))
	return s[len(s)/2]
}

func mean(of []float64) (sum float64) {
	for _, v := range of {
		sum += min(v, 0.5) // an outlier counts, but not for all
	}
	return sum / float64(len(of))
}

// estimate finds each figure again from some tables, one after the other, around values that are off.
func estimate(t *testing.T, tables []measured) estimates {
	t.Helper()
	best := estimated()
	figures := []func(*estimates) *float64{
		func(e *estimates) *float64 { return &e.spread }, func(e *estimates) *float64 { return &e.ringPasses },
		func(e *estimates) *float64 { return &e.nvlsPasses }, func(e *estimates) *float64 { return &e.nvlsTreePasses },
		func(e *estimates) *float64 { return &e.nvlsTree }, func(e *estimates) *float64 { return &e.tree },
		func(e *estimates) *float64 { return &e.localCopy }, func(e *estimates) *float64 { return &e.blackwell },
	}
	score := func(e estimates) float64 {
		var all []float64
		for _, m := range tables {
			all = append(all, m.errors(t, e)...)
		}
		return mean(all)
	}
	for _, figure := range figures {
		least, start := math.Inf(1), *figure(&best)
		kept := start
		for _, times := range []float64{0.5, 0.7, 0.85, 0.93, 1, 1.07, 1.15, 1.4, 2} {
			try := best
			*figure(&try) = start * times
			if s := score(try); s < least {
				least, kept = s, start*times
			}
		}
		*figure(&best) = kept
	}
	return best
}

// clusters are the tables that are of the same machines.
func clusters() [][]string {
	return [][]string{
		{"P01", "P02"}, {"P04", "P06", "P07", "P08"}, {"P11", "P12"}, {"P13"}, {"P16", "P17"}, {"P18"}, {"P20"}, {"P22"},
		{"P23", "P24"}, {"P25"}, {"P26"}, {"P27"}, {"P28"}, {"P29"}, {"P31"}, {"P32"}, {"P33"}, {"P40", "P41"},
	}
}

// TestLeaveOneOut estimates every figure again without the tables of one cluster and predicts these. Were the
// figures fitted to a cluster, it would be far worse off than with them.
func TestLeaveOneOut(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: every figure is estimated again without each cluster")
	}
	all := readMeasured(t)
	var held, kept []float64
	for _, out := range clusters() {
		var others, these []measured
		for _, m := range all {
			if slices.Contains(out, m.id) {
				these = append(these, m)
			} else {
				others = append(others, m)
			}
		}
		e := estimate(t, others)
		var with, without []float64
		for _, m := range these {
			with, without = append(with, m.errors(t, estimated())...), append(without, m.errors(t, e)...)
		}
		t.Logf("without %-20v median error %5.1f %%, with it %5.1f %%", out, 100*median(without), 100*median(with))
		held, kept = append(held, without...), append(kept, with...)
	}
	t.Logf("all: held out %.2f %%, as they are %.2f %%", 100*median(held), 100*median(kept))
	if median(held) > 0.05 {
		t.Errorf("median error of clusters that were left out is %.2f %%, above 5", 100*median(held))
	}
}
