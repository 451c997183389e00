package pipeline

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/run"
	"railwright.dev/railwright/internal/switchos"
)

// FindSwitches finds texts of switches in the folders of --snapshot: files named after a switch of the plan, alone
// (leaf1.cfg), with more behind its name (leaf1.show-ecn.txt), or in a folder of its name; without a plan every file that is
// of a language that is read. claimed are their paths: they are no facts.
func FindSwitches(from files.Files, plan *fabric.Plan, folders []string) (sources []SwitchSource, claimed map[string]bool, err error) {
	f := finder{files: from, claimed: map[string]bool{}}
	if plan != nil {
		f.names = map[string]bool{}
		for _, s := range plan.Switches {
			f.names[s.Name] = true
		}
	}
	for _, folder := range folders {
		if info, err := from.Stat(folder); err != nil || !info.IsDir() {
			continue // loading facts says so
		}
		if inner := filepath.Join(folder, "facts"); f.isFolder(inner) {
			folder = inner // of a run folder, whose artifacts are what was rendered, not what is there
		}
		if err := f.folder(folder, "", 0); err != nil {
			return nil, nil, err
		}
	}
	return f.sources, f.claimed, nil
}

type finder struct {
	files   files.Files
	names   map[string]bool // of the plan; nil without one
	sources []SwitchSource
	claimed map[string]bool
}

func (f *finder) isFolder(path string) bool {
	info, err := f.files.Stat(path)
	return err == nil && info.IsDir()
}

func (f *finder) folder(path, inside string, depth int) error {
	const deepest = 2
	if depth > deepest || f.isFolder(filepath.Join(path, "sys")) || f.rendered(path) {
		return nil
	}
	entries, err := f.files.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		inner := filepath.Join(path, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if err := f.folder(inner, e.Name(), depth+1); err != nil {
				return err
			}
		case e.Type().IsRegular() && isText(e):
			f.file(inner, e.Name(), inside)
		}
	}
	return nil
}

// rendered reports whether a folder is what railwright render wrote: texts that a switch is to have, not those that it has.
func (f *finder) rendered(path string) bool {
	index := filepath.Join(path, run.IndexFile)
	if info, err := f.files.Stat(index); err != nil || !info.Mode().IsRegular() {
		return false
	}
	b, err := readBounded(f.files, index)
	var is fabric.Meta
	return err == nil && json.Unmarshal(b, &is) == nil && is.Kind == "Index"
}

// textExtensions are those of files that may be texts of switches.
var textExtensions = []string{"", ".json", ".cfg", ".conf", ".config", ".txt", ".cli", ".log", ".set"}

func isText(e fs.DirEntry) bool {
	return slices.Contains(textExtensions, strings.ToLower(filepath.Ext(e.Name())))
}

func (f *finder) file(path, base, inside string) {
	name, ok := f.switchOf(base, inside)
	if !ok {
		return
	}
	if f.names == nil {
		b, err := readBounded(f.files, path)
		if err != nil {
			return
		}
		if _, err := switchos.Language(b); err != nil {
			return
		}
	}
	f.sources = append(f.sources, SwitchSource{Name: name, From: path})
	f.claimed[path] = true
}

// switchOf is the switch that a file is named after.
func (f *finder) switchOf(base, inside string) (string, bool) {
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	if f.names == nil {
		return stem, true
	}
	if f.names[inside] {
		return inside, true
	}
	for end := range len(stem) + 1 { // the shortest name, up to a separator or to the end
		if (end == len(stem) || strings.IndexByte("._- ", stem[end]) >= 0) && f.names[stem[:end]] {
			return stem[:end], true
		}
	}
	return "", false
}
