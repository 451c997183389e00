package apply

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Script is a file for a person: one to run, or one to read.
type Script struct {
	File string `json:"file"`           // below the folder of a render
	Doc  string `json:"doc,omitempty"`  // what it is
	Text string `json:"text,omitempty"` // of a dry run, of one to run
}

// Workstation lists the files for the machine of a person: scripts for a cloud's command line, in the order in which they are run,
// and what is read or handed to others. No script is ever run from here: they make and delete machines that cost money.
func Workstation(artifacts []fabric.Artifact, dryRun bool) Applied {
	a := Applied{Node: fabric.OnWorkstation, Status: fabric.NotApplicable, Changes: []Change{}}
	artifacts = slices.Clone(artifacts)
	slices.SortStableFunc(artifacts, func(a, b fabric.Artifact) int { return undoes(a) - undoes(b) })
	scripts := 0
	for _, f := range artifacts {
		s := Script{File: f.File, Doc: f.Doc}
		if isScript(f) {
			scripts++
			if dryRun {
				s.Text = string(f.Content)
			}
		}
		a.Scripts = append(a.Scripts, s)
	}
	a.Reason = fmt.Sprintf("%s for a person to run, in this order; railwright never runs them", fabric.Count(scripts, "script"))
	if scripts < len(artifacts) {
		a.Reason = fmt.Sprintf("%s for people, which railwright render writes; the runbook says when each is needed", fabric.Count(len(artifacts), "file"))
	}
	return a
}

// isScript reports whether a file is run.
func isScript(a fabric.Artifact) bool { return strings.HasSuffix(a.File, ".sh") }

// undoes is 1 for a script that removes what the others make, which is run last.
func undoes(a fabric.Artifact) int {
	if strings.HasSuffix(a.Path, "-down.sh") {
		return 1
	}
	return 0
}
