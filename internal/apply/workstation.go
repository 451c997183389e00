package apply

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Script is a file that a person runs.
type Script struct {
	File string `json:"file"`           // below the folder of a render
	Text string `json:"text,omitempty"` // of a dry run
}

// Workstation lists the scripts for the machine of a person who has a cloud's command line. They are never run from here: they
// make and delete machines that cost money.
func Workstation(artifacts []fabric.Artifact, dryRun bool) Applied {
	a := Applied{Node: fabric.OnWorkstation, Status: fabric.NotApplicable, Changes: []Change{},
		Reason: fmt.Sprintf("%s for a person to run, in this order; railwright never runs them", fabric.Count(len(artifacts), "script"))}
	artifacts = slices.Clone(artifacts)
	slices.SortStableFunc(artifacts, func(a, b fabric.Artifact) int { return undoes(a) - undoes(b) })
	for _, f := range artifacts {
		s := Script{File: f.File}
		if dryRun {
			s.Text = string(f.Content)
		}
		a.Scripts = append(a.Scripts, s)
	}
	return a
}

// undoes is 1 for a script that removes what the others make, which is run last.
func undoes(a fabric.Artifact) int {
	if strings.HasSuffix(a.Path, "-down.sh") {
		return 1
	}
	return 0
}
