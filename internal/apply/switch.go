package apply

import (
	"fmt"
	"path/filepath"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/switchos"
)

// Switches returns the results for the switches of a plan. This version cannot apply their files,
// so each of them is unknown, with what a person can do; in a lab they are not applicable. folder is where the
// artifacts were rendered to; empty where they were not written.
func Switches(switches []fabric.Switch, artifacts map[string][]fabric.Artifact, folder string, inLab bool) []Applied {
	all := make([]Applied, 0, len(switches))
	for _, s := range switches {
		r := Applied{Node: s.Name, Status: fabric.Unknown, Changes: []Change{}}
		if inLab {
			r.Status, r.Reason = fabric.NotApplicable, "not applicable in the lab: the leaf is a bridge of this machine"
		} else {
			r.Error = manualLoad(s, artifacts[s.Name], folder, len(switches) > 1)
		}
		all = append(all, r)
	}
	return all
}

// manualLoad describes how to load the files of a switch. For many switches the text is the same, with SWITCH instead of
// the name, so that a report can group them.
func manualLoad(s fabric.Switch, files []fabric.Artifact, folder string, many bool) string {
	os, err := switchos.Find(s.OS)
	if err != nil {
		return err.Error()
	}
	if len(files) == 0 {
		return "no file was rendered for it"
	}
	file := files[0].File
	if many {
		file = "SWITCH" + filepath.Ext(file)
	}
	name := filepath.Base(file)
	where := "rendered to " + filepath.Join(folder, file)
	if folder == "" {
		where = "railwright render writes it as " + file
	}
	_, title := os.Names()
	return fmt.Sprintf("%s; applying to a switch with %s is not supported in this version: copy it to the switch and run: %s", where, title, os.Load(name))
}

// InLab reports whether this process runs on a machine of a lab.
func InLab() bool {
	platform, err := host.ReadString(host.Local{}, host.PlatformFile)
	return err == nil && platform == "lab"
}
