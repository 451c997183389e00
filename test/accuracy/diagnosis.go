package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/intake"
	"railwright.dev/railwright/internal/pipeline"
)

// Bars of the diagnosis, in percent, over all known cases, each with what was fitted without it.
const (
	barFirst     = 70 // the true cause is first
	barThree     = 85 // or among the first three
	barConfident = 85 // right where the first has at least half
)

// diagnosed is where observation files lie whose true answer is known.
const diagnosed = "internal/diagnose/testdata"

// known is a case whose true answer is known.
type known struct {
	group, name string
	files       []string
	want        []fabric.CauseID // any of them is right
	kind        string           // sick, healthy, undecidable
}

// answer is what explain says of a case.
type answer struct {
	verdict string // sick, healthy, unknown
	causes  []fabric.Cause
	refused string // why it has no answer
}

// sharpnesses are tried for the one parameter of the model that is fitted. Above 1 evidence would say more than its words.
var sharpnesses = []float64{0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}

// diagnosisReport explains every case whose answer is known, through the real readers and the real model, each with the
// sharpness that the others fit best, prints the counts against the bars, and reports whether all are met. A folder that
// is absent is said so; that of this repository counts as missed.
func diagnosisReport(w io.Writer, cat *catalog.Catalog, threads, planted string) (ok bool) {
	in, err := pipeline.Knowledge(cat)
	if err != nil {
		fmt.Fprintln(w, "diagnosis:", err)
		return false
	}
	cases, absent, err := knownCases(threads, planted)
	for _, folder := range absent {
		fmt.Fprintf(w, "diagnosis: %s is absent: its cases are not counted\n", filepath.Base(folder))
	}
	if err != nil || len(cases) == 0 {
		fmt.Fprintln(w, "diagnosis: no cases:", err)
		return false
	}
	answers := make([][]answer, len(cases))
	for i, c := range cases {
		for _, in.Sharpness = range sharpnesses {
			answers[i] = append(answers[i], explained(c, in))
		}
	}
	chosen := make([]answer, len(cases))
	for i := range cases {
		chosen[i] = answers[i][fitted(cases, answers, i)]
	}
	fmt.Fprintf(w, "diagnosis: sharpness fitted on all cases: %.1f; each case is judged with that of the others\n", sharpnesses[fitted(cases, answers, -1)])
	return printDiagnosis(w, cases, chosen)
}

// fitted returns the index of the sharpness under which the true causes of all sick cases but one are most probable
// together.
func fitted(cases []known, answers [][]answer, without int) int {
	best, most := 0, math.Inf(-1)
	for k := range sharpnesses {
		sum := 0.0
		for i, c := range cases {
			if i != without && c.kind == "sick" {
				sum += math.Log(max(0.01, answers[i][k].of(c.want)))
			}
		}
		if sum > most {
			best, most = k, sum
		}
	}
	return best
}

// of is the probability of the causes that are right.
func (a answer) of(want []fabric.CauseID) float64 {
	p := 0.0
	for _, c := range a.causes {
		if slices.Contains(want, c.ID) {
			p += c.Confidence
		}
	}
	return p
}

// at returns the place of the first cause that is right; -1: none is.
func (a answer) at(want []fabric.CauseID) int {
	return slices.IndexFunc(a.causes, func(c fabric.Cause) bool { return slices.Contains(want, c.ID) })
}

// knownCases lists the cases of the repository, of the public threads and of planted faults. absent are folders that are
// not there.
func knownCases(threads, planted string) (cases []known, absent []string, err error) {
	for _, g := range []struct{ folder, kind string }{{"cases", "sick"}, {"held-out", "sick"}, {"healthy", "healthy"}, {"undecided", "undecidable"}} {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(diagnosed), g.folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			return nil, nil, fmt.Errorf("no files in %s/%s", diagnosed, g.folder)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, nil, err
			}
			cases = append(cases, known{group: g.folder, name: filepath.Base(f), files: []string{f}, kind: g.kind, want: causesIn(string(text))})
		}
	}
	for _, more := range []struct {
		folder string
		read   func(string) ([]known, error)
	}{{threads, indexed}, {planted, plantedCases}} {
		list, err := more.read(more.folder)
		if errors.Is(err, fs.ErrNotExist) {
			absent = append(absent, more.folder)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		cases = append(cases, list...)
	}
	return cases, absent, nil
}

// indexed reads the cases of a folder with an index.json. A missing id in it has been given since.
func indexed(folder string) ([]known, error) {
	text, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if err != nil {
		return nil, err
	}
	var index map[string]struct {
		Files   []string         `json:"files"`
		Want    []fabric.CauseID `json:"want"`
		Kind    string           `json:"kind"`
		Missing fabric.CauseID   `json:"missing_id"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("%s/index.json: %w", folder, err)
	}
	var out []known
	for name, c := range index {
		k := known{group: filepath.Base(folder), name: name, kind: c.Kind, want: c.Want}
		if c.Missing != "" {
			k.want = append(k.want, c.Missing)
		}
		for _, f := range c.Files {
			k.files = append(k.files, filepath.Join(folder, f))
		}
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b known) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// plantedCases reads the logs of faults that were planted on real GPUs. One whose log cannot show its cause is
// undecidable. A fault without an effect is healthy.
func plantedCases(folder string) ([]known, error) {
	text, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if err != nil {
		return nil, err
	}
	var index []struct {
		Name, Log, Kind string
		Causes, Accept  []fabric.CauseID
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("%s/index.json: %w", folder, err)
	}
	var out []known
	for _, c := range index {
		out = append(out, known{group: "planted", name: c.Name, kind: c.Kind, want: slices.Concat(c.Causes, c.Accept), files: []string{filepath.Join(folder, c.Log)}})
	}
	return out, nil
}

// causesIn reads the comment "# cause: ID ..." of an observation file.
func causesIn(text string) (ids []fabric.CauseID) {
	for line := range strings.Lines(text) {
		if list, ok := strings.CutPrefix(line, "# cause: "); ok {
			for _, id := range strings.Fields(list) {
				ids = append(ids, fabric.CauseID(id))
			}
		}
	}
	return ids
}

// explained asks explain of a case: all its files in one call, as the command does it.
func explained(c known, in diagnose.Input) answer {
	read, err := intake.Read(context.Background(), files.Disk{}, c.files, strings.NewReader(""), func(string) {})
	if err != nil {
		return answer{refused: err.Error()}
	}
	x, err := pipeline.Explain(context.Background(), read, in, time.Now())
	if err != nil {
		return answer{refused: err.Error()}
	}
	return answerOf(x)
}

// answerOf puts the results of a call together: sick where any is, and each cause at its highest probability.
func answerOf(x *fabric.Explanation) answer {
	a := answer{verdict: "unknown"}
	for _, r := range x.Results {
		switch {
		case r.Verdict == fabric.VerdictDegraded || r.Verdict == fabric.VerdictFailed:
			a.verdict = "sick"
		case r.Verdict == fabric.VerdictHealthy && a.verdict == "unknown":
			a.verdict = "healthy"
		}
		for _, c := range r.Causes {
			i := slices.IndexFunc(a.causes, func(o fabric.Cause) bool { return o.ID == c.ID })
			switch {
			case c.ID == fabric.CauseHealthy:
			case i < 0:
				a.causes = append(a.causes, c)
			case c.Confidence > a.causes[i].Confidence:
				a.causes[i] = c
			}
		}
	}
	slices.SortStableFunc(a.causes, func(x, y fabric.Cause) int {
		switch {
		case x.Confidence > y.Confidence:
			return -1
		case x.Confidence < y.Confidence:
			return 1
		}
		return 0
	})
	return a
}
