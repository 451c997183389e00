package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
	"railwright.dev/railwright/internal/manifestcheck"
)

// Manifests judges manifests; machine, of the catalog, is the one that their pods run on, empty where that is unknown.
func Manifests(cat *catalog.Catalog, machine string, files []*manifest.File, live []manifestcheck.Live) []fabric.Finding {
	return manifestcheck.Judge(&manifestcheck.Input{Files: files, GPUs: gpusOf(cat, machine), Live: live})
}

// gpusOf are the GPUs of the catalog with their memory as CUDA has it, or that of one machine alone.
func gpusOf(cat *catalog.Catalog, machine string) (out []manifestcheck.GPUMemory) {
	for id, g := range cat.GPUs {
		if m, ok := cat.Machines[machine]; ok && m.GPU != id {
			continue
		}
		gpu := manifestcheck.GPUMemory{ID: id, TotalGiB: g.MemoryCUDA.Value, AMD: g.Vendor == "amd"}
		if gpu.TotalGiB == 0 {
			gpu.TotalGiB = g.MemoryVisible.Value
			if g.MemoryVisible.Unit == "MiB" {
				gpu.TotalGiB /= 1024
			}
		}
		for name, m := range cat.Machines {
			if m.GPU == id {
				gpu.Machines = append(gpu.Machines, name)
			}
		}
		slices.Sort(gpu.Machines)
		out = append(out, gpu)
	}
	slices.SortFunc(out, func(a, b manifestcheck.GPUMemory) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// explainManifests are the verdicts on the manifests of a call. A manifest is never healthy by itself: it shows what is wrong, not
// that a run is right.
func explainManifests(cat *catalog.Catalog, machine string, files []*manifest.File) []fabric.Explained {
	var out []fabric.Explained
	for _, f := range files {
		found := Manifests(cat, machine, []*manifest.File{f}, nil)
		out = append(out, explainedManifest(f, found))
	}
	return out
}

func explainedManifest(f *manifest.File, found []fabric.Finding) fabric.Explained {
	e := fabric.Explained{File: f.Name, Kind: fabric.PlainText, Verdict: fabric.VerdictUnknown, Causes: []fabric.Cause{}}
	var failed, open []fabric.Finding
	var passed int
	for _, x := range found {
		switch x.Status {
		case fabric.Fail:
			failed = append(failed, x)
		case fabric.Unknown:
			open = append(open, x)
		case fabric.Pass:
			passed++
		}
	}
	slices.SortStableFunc(failed, func(a, b fabric.Finding) int { return cmp.Compare(a.Severity, b.Severity) })
	for _, x := range open {
		if len(x.Evidence) > 0 {
			e.Notes = append(e.Notes, fabric.Evidence{Source: x.Evidence[0].Source, Value: x.ID + ": " + x.Why})
		} else {
			e.Notes = append(e.Notes, fabric.Evidence{Source: f.Name, Value: x.ID + ": " + x.Why})
		}
	}
	if len(failed) == 0 {
		e.Why = fmt.Sprintf("nothing in this manifest is known to be wrong: %s pass, %d open; whether a run is healthy only its output shows", fabric.Count(passed, "check"), len(open))
		e.Next = "give the logs of its pods beside it (railwright explain), or railwright serve lint --live for what the cluster made of it"
		return e
	}
	e.Verdict = fabric.VerdictFailed
	e.Why = failed[0].Why
	if n := len(failed) - 1; n > 0 {
		e.Why += fmt.Sprintf("; and %s more", fabric.Count(n, "finding"))
	}
	e.Causes = manifestCauses(failed)
	e.Next = "railwright serve lint " + fabric.ShellWord(f.Name)
	return e
}

// What a failing rule says of a cause: an error follows from what the programs do with what is written; a warning may be meant.
const (
	confidenceOfError   = 0.9
	confidenceOfWarning = 0.6
)

// manifestCauses are the causes that failing rules blame, each once, with all their evidence.
func manifestCauses(failed []fabric.Finding) (out []fabric.Cause) {
	const shown = 6
	for _, x := range failed {
		i := slices.IndexFunc(out, func(c fabric.Cause) bool { return c.ID == x.Cause })
		if i < 0 {
			confidence := confidenceOfError
			if x.Severity != fabric.SeverityError {
				confidence = confidenceOfWarning
			}
			out = append(out, fabric.Cause{ID: x.Cause, Subject: x.Subject, Confidence: confidence, Fix: x.Fix, Confirm: "railwright serve lint"})
			i = len(out) - 1
		} else if !strings.Contains(out[i].Fix, x.Fix) {
			out[i].Fix += "\n" + x.Fix
		}
		if x.Subject != out[i].Subject && !slices.Contains(out[i].With, x.Subject) {
			out[i].With = append(out[i].With, x.Subject)
		}
		for _, seen := range x.Evidence {
			if len(out[i].Evidence) < shown {
				out[i].Evidence = append(out[i].Evidence, fabric.Evidence{Source: seen.Source, Value: seen.Value + " (" + x.ID + ")"})
			}
		}
		if len(x.Evidence) == 0 {
			out[i].Evidence = append(out[i].Evidence, fabric.Evidence{Source: x.Subject.String(), Value: x.ID + ": " + x.Why})
		}
	}
	return out
}
