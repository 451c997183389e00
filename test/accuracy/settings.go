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

// setting is what a run with settings of NCCL reached: a table, or its largest size alone.
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
	Rows       []row             `json:"rows"`
}

// readSettings reads the runs of a file.
func readSettings(file string) (all []setting, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("settings %q: %w", file, err)
	}
	for i, s := range all {
		if s.Rows == nil {
			all[i].Rows = []row{{Size: s.Size, BusBW: s.BusBW}}
		}
	}
	return all, nil
}

// plantedSettings are the tables of planted runs from 4 MiB on.
func plantedSettings(planted string) (all []setting, err error) {
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
				s.Rows = append(s.Rows, row{Size: m.Size, BusBW: *m.BusBW})
			}
		}
		all = append(all, s)
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
	errors            []float64 // shares of what was measured, from 1 MiB
	inside            int       // rows in their band
	measured, expects float64   // GB/s of the largest size
}

// settingLimit is how far off a run with settings may be, at the median of its sizes.
const settingLimit = 0.15

func judgeSettings(cat *catalog.Catalog, runs []setting) (all []settled, err error) {
	for _, s := range runs {
		c, err := collective.New(cat, s.Hardware)
		if err != nil {
			return nil, fmt.Errorf("run %q: %w", s.Name, err)
		}
		t := table{Rows: s.Rows}
		p, err := c.Predict(collective.Job{Collective: s.Collective, Env: s.Env, Processes: s.Processes, Version: s.Version}, t.sizes())
		if err != nil {
			return nil, fmt.Errorf("run %q: %w", s.Name, err)
		}
		out := settled{setting: s}
		for i, r := range s.Rows {
			expects := p.Rows[i]
			if r.Size >= mebibyte {
				out.errors = append(out.errors, abs(r.BusBW/expects.BusBW-1)) // of times
			}
			if r.BusBW >= expects.Band[0]-halfDigit && r.BusBW <= expects.Band[1]+halfDigit {
				out.inside++
			}
			out.measured, out.expects = r.BusBW, expects.BusBW
		}
		all = append(all, out)
	}
	return all, nil
}

// halfDigit is what a bandwidth of three decimals may be off, GB/s.
const halfDigit = 0.0005

func abs(v float64) float64 { return max(v, -v) }

func (s settled) met() bool { return quantile(s.errors, 0.5) <= settingLimit }

// printSettings writes one line a run and says how many are further off than they may be.
func printSettings(w io.Writer, all []settled) (missed int) {
	fmt.Fprintf(w, "\nsettings on H200, reduce on H100                             | time error, median | largest size: measured, predicted GB/s\n")
	for _, s := range all {
		verdict := ""
		if !s.met() {
			verdict, missed = "  MISSED", missed+1
		}
		fmt.Fprintf(w, "%-60s | %17s%% | %8.2f %8.2f%s\n", s.title(), percent(quantile(s.errors, 0.5)), s.measured, s.expects, verdict)
	}
	fmt.Fprintf(w, "  runs further off than %.0f %%: %d of %d\n", 100*settingLimit, missed, len(all))
	return missed
}

// settingsMarkdown writes the runs as a section of the page.
func settingsMarkdown(w io.Writer, all []settled) {
	fmt.Fprintf(w, "\n## Settings on H200\n\nCollectives with settings of NCCL, all_reduce unless named, measured by this project (reduce, the limits of channels of sends and receives,\ntwo channels of a protocol, and what blocks do otherwise on two H100): from the figures of a block of these runs the model derives the\nothers. A limit of %.0f %% holds for the median of each.\n\n", 100*settingLimit)
	fmt.Fprint(w, "| run | time error, median | largest size, measured | predicted | |\n| --- | ---: | ---: | ---: | --- |\n")
	for _, s := range all {
		verdict := "met"
		if !s.met() {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "| %s | %s%% | %.2f GB/s | %.2f GB/s | %s |\n", s.title(), percent(quantile(s.errors, 0.5)), s.measured, s.expects, verdict)
	}
}

// unseenMarkdown writes the runs from which nothing was read.
func unseenMarkdown(w io.Writer, all []settled) {
	fmt.Fprint(w, `
## Settings, held out

Runs of this project on other machines, from which no constant of the model was read but for two that are named below: two pairs of H100, of a second pair of
H200 the runs without settings, those with a process per GPU, and two hosts of one GPU each, and all runs of two machines with
four H100 and of two with four H200. What sockets carry differs by two and more from one machine to the next, as their processors copy each byte, and so do small
messages of one process, which launches the kernels of all its GPUs.

Before the model had seen a run of more than two GPUs, it was held against 115 runs of the first four H100: 84 over NVLink were
11 % off at the median from 1 MiB, 55 % at the 90th percentile, with 502 of 669 rows in their band, and 28 of them more than 15 % off
at their own median; 31 over sockets 34 % and 73 %, 237 of 274 rows. What they showed was then looked for in the library's code, with
its figures from the pair of H200: one launch of a broadcast or a reduction overlaps the next, channels of a ring stop together
until they drift apart, sends and receives take few channels until their parts are large, and a GPU inside a tree's chain serves both
directions with one block. The second four, measured when that was written, had not been seen: 86 runs over NVLink were 5 % off at
the median and 33 % at the 90th percentile, 623 of 693 rows in their band, 4 runs more than 15 % off; 31 over sockets 30 % and 58 %,
239 of 274 rows. Only how a channel with few others shares itself among peers, and what a further peer costs, was corrected after it.

Four H200 came last, when pairs had shown how many pieces it takes until channels drift apart, that LL128 starts all channels at once, and
what holds back the roots of gathers and few channels of sends. Nothing of theirs had been seen: 122 runs over NVLink, with settings that
the model follows, were 5 % off at the median and 33 % at the 90th percentile, 933 of 1048 rows in their band, and 3 runs more than 15 %
off at their own median, of which two went through host memory; the model before these changes was 6 %, 38 %, 909 rows and 8 runs.
30 runs over sockets were 31 % and 65 % off, 261 of 270 rows in their band: four sockets with four threads each carried half of what
they did on the machine from which the model has them. What fits the L2 cache with LL and LL128 was put in after it: its figures
are of a pair, and that of LL was chosen among three with these runs in view; the share that is left where GPUs read from one another is of
both. Settings that the prediction says it does not follow do not count; of them
NCCL_P2P_USE_CUDA_MEMCPY=1 left a third and a quarter, NCCL_LL_BUFFSIZE=65536 with LL half.

A second machine with four H200, measured when that was written, had not been seen either: 91 runs over NVLink were 4 % off at the median
and 26 % at the 90th percentile, 766 of 790 rows in their band, and 2 runs more than 15 % off, a broadcast and a reduction through host
memory. Nothing was changed after it.

`)
	fmt.Fprint(w, "| run | GPU | started as | time error from 1 MiB, median | largest size, measured | predicted | rows in their band |\n| --- | --- | --- | ---: | ---: | ---: | ---: |\n")
	for _, s := range all {
		fmt.Fprintf(w, "| %s | %s | %s | %s%% | %.2f GB/s | %.2f GB/s | %d of %d |\n", s.title(), s.Hardware.GPU, s.started(), percent(quantile(s.errors, 0.5)), s.measured, s.expects, s.inside, len(s.Rows))
	}
	for _, part := range []struct {
		name string
		of   func(settled) bool
	}{
		{"over NVLink", func(s settled) bool { return !s.sockets() }},
		{"over sockets", settled.sockets},
	} {
		var errors []float64
		inside, rows, runs := 0, 0, 0
		for _, s := range all {
			if part.of(s) {
				errors, inside, rows, runs = append(errors, s.errors...), inside+s.inside, rows+len(s.Rows), runs+1
			}
		}
		fmt.Fprintf(w, "\n%d runs %s: %.1f%% off at the median from 1 MiB, %.1f%% at the 90th percentile; %d of %d rows of all sizes in their band.\n",
			runs, part.name, 100*quantile(errors, 0.5), 100*quantile(errors, 0.9), inside, rows)
	}
}

// sockets reports whether the data of a run went through the kernel.
func (s settled) sockets() bool { return s.Hardware.Nodes > 1 || s.Env["NCCL_SHM_DISABLE"] == "1" }

func (s settled) started() string {
	switch {
	case s.Hardware.Nodes > 1:
		return fmt.Sprintf("%d hosts", s.Hardware.Nodes)
	case s.Processes == 1:
		return "one process"
	default:
		return "a process per GPU"
	}
}

func (s settled) title() string {
	n, name := s.Hardware.Nodes*s.Hardware.GPUsPerNode, strings.ReplaceAll(s.Name, "NCCL_", "")
	if s.Collective != fabric.AllReduce {
		name = string(s.Collective) + " " + name
	}
	return fmt.Sprintf("%d GPUs %s", n, name)
}
