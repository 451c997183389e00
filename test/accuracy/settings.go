package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
)

// setting is what a run with settings of NCCL reached: tables of planted runs, or one figure of a file.
type setting struct {
	Name       string            `json:"name"`
	Source     string            `json:"source"`
	Hardware   fabric.Hardware   `json:"hw"`
	Collective fabric.Collective `json:"collective"`
	Env        map[string]string `json:"env"`
	Processes  int               `json:"processes"` // of a machine
	Version    string            `json:"version"`
	Size       int64             `json:"size"` // bytes
	BusBW      float64           `json:"busbw"`

	rows []row
}

// settingsOf reads the figures of a file, and the tables of planted runs from 4 MiB on.
func settingsOf(file, planted string) (all []setting, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("settings %q: %w", file, err)
	}
	runs, err := plantedRuns(planted)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if len(r.other) > 0 {
			continue // a fault that no setting makes
		}
		s := setting{Name: r.Name, Source: "test/gpu/plant.sh", Hardware: twoH200(), Collective: r.table.Collective, Env: r.env, Processes: 2, Version: r.table.Library}
		if r.table.Nodes > 1 {
			s.Hardware, s.Processes = twoHosts(), 1
		}
		for _, m := range r.table.Rows {
			if m.BusBW != nil && *m.BusBW > 0 && m.Size >= plantedFrom {
				s.rows = append(s.rows, row{Size: m.Size, BusBW: *m.BusBW})
			}
		}
		all = append(all, s)
	}
	for i := range all {
		if all[i].rows == nil {
			all[i].rows = []row{{Size: all[i].Size, BusBW: all[i].BusBW}}
		}
	}
	return all, nil
}

// twoHosts are two hosts on one machine with one H200 each, joined by sockets: their network has no line rate.
func twoHosts() fabric.Hardware {
	return fabric.Hardware{GPU: "h200-sxm", Nodes: 2, GPUsPerNode: 1, Net: "tcp", CPU: "intel", VM: true}
}

// settled is a run beside its prediction.
type settled struct {
	setting
	errors            []float64 // shares of what was measured
	measured, expects float64   // GB/s of the largest size
}

// settingLimit is how far off a run with settings may be, at the median of its sizes.
const settingLimit = 0.15

func judgeSettings(cat *catalog.Catalog, file, planted string) (all []settled, err error) {
	runs, err := settingsOf(file, planted)
	if err != nil {
		return nil, err
	}
	for _, s := range runs {
		c, err := collective.New(cat, s.Hardware)
		if err != nil {
			return nil, fmt.Errorf("run %q: %w", s.Name, err)
		}
		t := table{Rows: s.rows}
		p, err := c.Predict(collective.Job{Collective: s.Collective, Env: s.Env, Processes: s.Processes, Version: s.Version}, t.sizes())
		if err != nil {
			return nil, fmt.Errorf("run %q: %w", s.Name, err)
		}
		out := settled{setting: s}
		for i, r := range s.rows {
			expects := p.Rows[i].BusBW
			out.errors = append(out.errors, abs(r.BusBW/expects-1)) // of times
			out.measured, out.expects = r.BusBW, expects
		}
		all = append(all, out)
	}
	return all, nil
}

func abs(v float64) float64 { return max(v, -v) }

func (s settled) met() bool { return quantile(s.errors, 0.5) <= settingLimit }

// printSettings writes one line a run and says how many are further off than they may be.
func printSettings(w io.Writer, all []settled) (missed int) {
	fmt.Fprintf(w, "\nsettings on H200, all_reduce         | time error, median | largest size: measured, predicted GB/s\n")
	for _, s := range all {
		verdict := ""
		if !s.met() {
			verdict, missed = "  MISSED", missed+1
		}
		fmt.Fprintf(w, "%-36s | %17s%% | %8.2f %8.2f%s\n", s.title(), percent(quantile(s.errors, 0.5)), s.measured, s.expects, verdict)
	}
	fmt.Fprintf(w, "  runs further off than %.0f %%: %d of %d\n", 100*settingLimit, missed, len(all))
	return missed
}

// settingsMarkdown writes the runs as a section of the page.
func settingsMarkdown(w io.Writer, all []settled) {
	fmt.Fprintf(w, "\n## Settings on H200\n\nAll_reduce with settings of NCCL, measured by this project: from the figures of one channel of these runs the model\nderives the others. A limit of %.0f %% holds for the median of each.\n\n", 100*settingLimit)
	fmt.Fprint(w, "| run | time error, median | largest size, measured | predicted | |\n| --- | ---: | ---: | ---: | --- |\n")
	for _, s := range all {
		verdict := "met"
		if !s.met() {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "| %s | %s%% | %.2f GB/s | %.2f GB/s | %s |\n", s.title(), percent(quantile(s.errors, 0.5)), s.measured, s.expects, verdict)
	}
}

func (s settled) title() string {
	n := s.Hardware.Nodes * s.Hardware.GPUsPerNode
	return fmt.Sprintf("%d GPUs %s", n, strings.ReplaceAll(s.Name, "NCCL_", ""))
}
