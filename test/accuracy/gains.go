package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pipeline"
)

// Bar of what is gained by fixing a cause, in percent of the recorded pairs that the model has a number of: within
// nearGain of what was measured afterwards.
const (
	barGains = 80
	nearGain = 0.10
)

// pair is a measurement before and after one change.
type pair struct {
	Source     string            `json:"source"`
	Hardware   fabric.Hardware   `json:"hardware"`
	Collective fabric.Collective `json:"collective"`
	DType      string            `json:"dtype"`
	Version    string            `json:"version"`
	Processes  int               `json:"processes"`
	Env        map[string]string `json:"env"`
	Size       int64             `json:"size"`   // 0: not told
	Before     float64           `json:"before"` // GB/s
	After      float64           `json:"after"`
	Read       bool              `json:"read"` // a constant of the model was read from what was measured afterwards
	Fault      diagnose.Fault    `json:"fault"`

	What   string           `json:"-"` // of runs of this project: what was set
	Faults []diagnose.Fault `json:"-"` // all that is there before; nil: Fault
	Fixed  []int            `json:"-"` // those of them that are gone afterwards: one or two
}

// gainFiles are where pairs lie: of public threads and tables, of forced settings, and of planted faults.
type gainFiles struct{ threads, forced, planted string }

// Sources of pairs that this project measured.
const (
	forcedRuns = "two H200"
	planted    = "planted on two H200"
)

// gained is a pair beside what was predicted of it.
type gained struct {
	pair
	gain   fabric.Gain
	repair fabric.Repair
	err    error
}

// hit reports whether the prediction is near what was measured afterwards, or where its band is narrower than that, in it.
func (g gained) hit() bool {
	return math.Abs(g.gain.To/g.After-1) <= nearGain || g.inside() && g.narrow()
}

// explained reports whether what was measured before is what the faults are predicted to leave, or nothing is lost.
func (g gained) explained() bool { return g.err == nil && g.repair.Undecidable == "" }

func (g gained) narrow() bool {
	return g.gain.Low >= g.gain.To*(1-nearGain) && g.gain.High <= g.gain.To*(1+nearGain)
}

// inside reports whether what was measured afterwards lies in the predicted band.
func (g gained) inside() bool { return g.gain.Low <= g.After && g.After <= g.gain.High }

func judgeGain(predict diagnose.Predictor, p pair) gained {
	faults, fixed := p.Faults, p.Fixed
	if faults == nil {
		faults, fixed = []diagnose.Fault{p.Fault}, []int{0}
	}
	out, err := diagnose.Counterfactuals(diagnose.Shortfall{
		Hardware: p.Hardware,
		Job:      diagnose.Job{Collective: p.Collective, Env: p.Env, DType: p.DType, Version: p.Version, Processes: p.Processes},
		Rows:     []diagnose.SizeRate{{Size: p.Size, BusBW: p.Before}},
		Predict:  predict, Faults: faults,
	})
	if err != nil {
		return gained{pair: p, err: err}
	}
	if len(fixed) == 1 {
		return gained{pair: p, gain: out.Gains[fixed[0]], repair: out.Repair}
	}
	if i := slices.IndexFunc(out.Pairs, func(g diagnose.PairGain) bool { return slices.Equal(g.Of[:], fixed) }); i >= 0 {
		return gained{pair: p, gain: out.Pairs[i].Gain, repair: out.Repair}
	}
	return gained{pair: p, err: fmt.Errorf("gain: of %d faults at once", len(fixed))}
}

// recordedPairs reads the pairs of public threads and tables.
func recordedPairs(file string) (all []pair, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("pairs %q: %w", file, err)
	}
	return all, nil
}

// forcedFrom is the size from which forced runs are compared, bytes, and forcedStep how many times the next one is.
const forcedFrom, forcedStep = mebibyte, 4

// forcedPairs are the runs of two H200 with an algorithm and a protocol forced, each against the run without.
func forcedPairs(folder string) (all []pair, err error) {
	free, err := readRuns(filepath.Join(folder, "tables.txt"))
	if err != nil {
		return nil, err
	}
	forced, err := readRuns(filepath.Join(folder, "forced.txt"))
	if err != nil {
		return nil, err
	}
	after := map[int64]float64{}
	for _, t := range free {
		for _, r := range t.Rows {
			if t.Collective == fabric.AllReduce && r.Type == "float" && r.BusBW != nil && after[r.Size] == 0 {
				after[r.Size] = *r.BusBW
			}
		}
	}
	for _, t := range forced {
		job := collective.JobOf(t.Collective, t.Config)
		next := int64(forcedFrom)
		for _, r := range t.Rows {
			if r.Size < next || r.BusBW == nil || after[r.Size] == 0 {
				continue
			}
			next = r.Size * forcedStep
			all = append(all, pair{
				Source: forcedRuns, Hardware: twoH200(), Collective: t.Collective, DType: r.Type, Version: "2.28.9", Processes: 1,
				What: job.Env["NCCL_ALGO"] + " with " + job.Env["NCCL_PROTO"], Env: job.Env, Size: r.Size, Before: *r.BusBW, After: after[r.Size],
				Fault: diagnose.Fault{ID: fabric.CauseNCCLSettings, Seen: true, Settings: []string{"NCCL_ALGO", "NCCL_PROTO"}},
			})
		}
	}
	return all, nil
}

// gainsReport compares what the counterfactuals predict with recorded pairs of before and after, prints each, and
// reports whether the bar is met. Pairs of which the model has no number are listed and do not count.
func gainsReport(w io.Writer, cat *catalog.Catalog, from gainFiles) (ok bool) {
	fmt.Fprintln(w, "gains: what fixing a cause brings, GB/s; recorded before and after")
	known, err := pipeline.Knowledge(cat)
	if err != nil {
		fmt.Fprintln(w, " ", err)
		return false
	}
	var all tallyOfGains
	for _, group := range []struct {
		name  string
		pairs func(string) ([]pair, error)
		file  string
	}{{"threads and tables", recordedPairs, from.threads}, {"forced settings", forcedPairs, from.forced}, {"planted", plantedPairs, from.planted}} {
		pairs, err := group.pairs(group.file)
		if err != nil {
			fmt.Fprintf(w, "  %s: %v\n", group.name, err)
			return false
		}
		var t tallyOfGains
		var one []gained // the sizes of one run
		for i, p := range pairs {
			g := judgeGain(known.Predict, p)
			t.add(g)
			if one = append(one, g); i+1 == len(pairs) || p.What == "" || pairs[i+1].What != p.What {
				printGains(w, one)
				one = nil
			}
		}
		t.print(w, group.name)
		all.join(t)
	}
	all.print(w, "all")
	return all.covered > 0 && 100*all.hits >= barGains*all.covered
}

// tallyOfGains counts pairs: all, those with a number, and of these those near what was measured afterwards, in the band
// of that, and predicted before too.
type tallyOfGains struct{ pairs, covered, hits, inside, explained int }

func (t *tallyOfGains) add(g gained) {
	t.pairs++
	if g.gain.To == 0 {
		return
	}
	t.covered++
	if g.hit() {
		t.hits++
	}
	if g.inside() {
		t.inside++
	}
	if g.explained() {
		t.explained++
	}
}

func (t *tallyOfGains) join(o tallyOfGains) {
	t.pairs, t.covered, t.hits = t.pairs+o.pairs, t.covered+o.covered, t.hits+o.hits
	t.inside, t.explained = t.inside+o.inside, t.explained+o.explained
}

func (t *tallyOfGains) print(w io.Writer, name string) {
	fmt.Fprintf(w, "  %s: %d of %d have a number; of these within %.0f %%: %d (bar of all: %d %%), in the band: %d; measured before as the cause leaves it: %d\n", name, t.covered, t.pairs, 100*nearGain, t.hits, barGains, t.inside, t.explained)
}

// printGains writes the pairs of one run in a line: the largest size, and the error at each.
func printGains(w io.Writer, sizes []gained) {
	last := sizes[len(sizes)-1]
	what := orElse(last.What, string(last.Fault.ID))
	source, _, _ := strings.Cut(last.Source, ":")
	if last.What != "" {
		source = fmt.Sprintf("from %d MiB", sizes[0].Size/mebibyte)
	}
	fmt.Fprintf(w, "  %-44s %7.4g -> %-7.4g ", what, last.Before, last.After)
	switch {
	case last.err != nil:
		fmt.Fprintf(w, "no number: %.60s (%s)\n", last.err.Error(), source)
		return
	case last.gain.To == 0:
		fmt.Fprintf(w, "no number: %s (%s)\n", last.gain.Why, source)
		return
	}
	fmt.Fprintf(w, "predicted %7.4g (%.4g to %.4g)", last.gain.To, last.gain.Low, last.gain.High)
	for _, g := range sizes {
		if g.gain.To == 0 {
			fmt.Fprint(w, "     -")
			continue
		}
		fmt.Fprintf(w, " %+5.1f", 100*(g.gain.To/g.After-1))
	}
	fmt.Fprint(w, " %")
	if !last.explained() {
		fmt.Fprint(w, ", before: not explained")
	}
	fmt.Fprintf(w, " (%s)\n", source)
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
