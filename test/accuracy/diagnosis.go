package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/results"
)

// Bars of the diagnosis, in percent of the files: the true cause first, and among the first three.
const (
	barFirst = 80
	barThree = 95
)

// diagnosed is where observation files lie whose true answer is known.
const diagnosed = "internal/diagnose/testdata"

// group is a folder of observation files and what their answer must be.
type group struct {
	name, pattern string
	verdict       fabric.Verdict // of every file; empty: the file's comment names its cause
}

func groups() []group {
	return []group{
		{"known cases", "cases/*.yaml", ""},
		{"held-out threads", "held-out/*.yaml", ""},
		{"healthy", "healthy/*.yaml", fabric.VerdictHealthy},
		{"undecidable", "undecided/*.yaml", fabric.VerdictUnknown},
	}
}

// tallied counts the answers of a group.
type tallied struct{ all, first, three, right, sickHealthy int }

// diagnosisReport explains every observation file whose answer is known, through the real readers and the real
// model, prints the counts against the bars, and reports whether all are met. A folder that is absent is said so and
// counts as missed, for nothing was seen then.
func diagnosisReport(w io.Writer) (ok bool) {
	cat, err := catalog.Load()
	if err != nil {
		fmt.Fprintln(w, "diagnosis:", err)
		return false
	}
	fmt.Fprintln(w, "diagnosis: the true cause first, among the first three; verdicts")
	ok = true
	for _, g := range groups() {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(diagnosed), g.pattern))
		if err != nil || len(files) == 0 {
			fmt.Fprintf(w, "  %-18s no files %s/%s\n", g.name, diagnosed, g.pattern)
			ok = false
			continue
		}
		t := tallied{}
		for _, f := range files {
			if err := t.count(cat, g, f); err != nil {
				fmt.Fprintf(w, "  %-18s %v\n", g.name, err)
				ok = false
			}
		}
		ok = t.print(w, g) && ok
	}
	return ok
}

// count explains one file and adds its answer.
func (t *tallied) count(cat *catalog.Catalog, g group, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	found, err := results.Read(filepath.Base(path), bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	e := diagnose.Explain(found, diagnose.Input{Predict: modelOf(cat)}).Results
	if len(e) != 1 {
		return fmt.Errorf("%q: %d results, want one", path, len(e))
	}
	t.all++
	if g.verdict != "" {
		if e[0].Verdict == g.verdict {
			t.right++
		}
		return nil
	}
	want := causesIn(string(text))
	at := slices.IndexFunc(e[0].Causes, func(c fabric.Cause) bool { return slices.Contains(want, string(c.ID)) })
	if at == 0 {
		t.first++
	}
	if 0 <= at && at < 3 {
		t.three++
	}
	if e[0].Verdict == fabric.VerdictHealthy && !slices.Contains(want, string(fabric.CauseFirstUse)) {
		t.sickHealthy++ // jitter of single rows is no fault of the machines
	}
	return nil
}

// print writes a line and reports whether the bars of the group are met.
func (t *tallied) print(w io.Writer, g group) bool {
	if g.verdict != "" {
		fmt.Fprintf(w, "  %-18s %d of %d called %s\n", g.name, t.right, t.all, g.verdict)
		return t.all > 0 && t.right == t.all
	}
	fmt.Fprintf(w, "  %-18s first %d of %d (bar %d %%), first three %d (bar %d %%), sick called healthy %d (bar 0)\n",
		g.name, t.first, t.all, barFirst, t.three, barThree, t.sickHealthy)
	return t.all > 0 && 100*t.first >= barFirst*t.all && 100*t.three >= barThree*t.all && t.sickHealthy == 0
}

// causesIn reads the comment "# cause: ID ..." of an observation file.
func causesIn(text string) []string {
	for _, line := range strings.Split(text, "\n") {
		if ids, ok := strings.CutPrefix(line, "# cause: "); ok {
			return strings.Fields(ids)
		}
	}
	return nil
}

// modelOf is the model on the catalog, as explain asks it.
func modelOf(cat *catalog.Catalog) diagnose.Predictor {
	return func(hw fabric.Hardware, job diagnose.Job, sizes []int64) (*fabric.Prediction, error) {
		c, err := collective.New(cat, hw)
		if err != nil {
			return nil, err
		}
		return c.Predict(collective.Job{Collective: job.Collective, Env: job.Env, Processes: job.Processes, DType: job.DType, Tuning: job.Tuning, Version: job.Version}, sizes)
	}
}
