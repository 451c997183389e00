package run

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"syscall"

	"railwright.dev/railwright/internal/fabric"
)

// render is an existing folder that a new render may replace: it holds what its index lists, as it was rendered, and
// nothing else. Symbolic links are never followed.
type render struct {
	root    *os.Root
	listed  map[string]fabric.Artifact // by the file's path in the folder, with slashes
	folders map[string]bool            // above those files
	indexed bool                       // there is an index
	found   []string                   // of the listed files, those that are there
}

// openRender opens a folder that is to be replaced; nil: it does not exist. A folder that holds anything else than a render
// is an error that names it.
func openRender(folder string) (*render, error) {
	info, err := os.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("folder %q: is a symbolic link: name the folder itself", folder)
	case !info.IsDir():
		return nil, fmt.Errorf("folder %q: %w", folder, syscall.ENOTDIR)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	r := &render{root: root}
	if err := r.examine(); err != nil {
		return nil, errors.Join(fmt.Errorf("folder %q: holds something that is not a render (%w): choose another folder, or empty it", folder, err), root.Close())
	}
	return r, nil
}

// examine compares the folder with its index.
func (r *render) examine() error {
	if err := r.readIndex(); err != nil {
		return err
	}
	var foreign []string
	err := fs.WalkDir(r.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		a, listed := r.listed[name]
		switch {
		case err != nil:
			return err
		case name == "." || d.IsDir() && r.folders[name] || r.indexed && name == IndexFile:
			return nil
		case d.IsDir():
			foreign = append(foreign, name+"/")
			return fs.SkipDir
		case !listed || !d.Type().IsRegular():
			foreign = append(foreign, name)
			return nil
		}
		r.found = append(r.found, name)
		return r.compare(name, a)
	})
	switch {
	case err != nil:
		return err
	case len(foreign) == 0:
		return nil
	case !r.indexed:
		return fmt.Errorf("no %s", IndexFile)
	default:
		return fmt.Errorf("its %s does not list %s", IndexFile, some(foreign))
	}
}

// readIndex reads which files the folder should have; without an index none.
func (r *render) readIndex() error {
	info, err := r.root.Lstat(IndexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", IndexFile)
	}
	text, err := r.root.ReadFile(IndexFile)
	if err != nil {
		return err
	}
	var index fabric.Index
	if err := fabric.Decode(text, "Index", &index); err != nil {
		return fmt.Errorf("%s: %w", IndexFile, err)
	}
	r.indexed, r.listed, r.folders = true, make(map[string]fabric.Artifact, len(index.Artifacts)), make(map[string]bool)
	for _, a := range index.Artifacts {
		if !fs.ValidPath(a.File) || a.File == "." || a.File == IndexFile {
			return fmt.Errorf("%s: lists file %q", IndexFile, a.File)
		}
		r.listed[a.File] = a
		for folder := path.Dir(a.File); folder != "."; folder = path.Dir(folder) {
			r.folders[folder] = true
		}
	}
	return nil
}

// compare is an error if a file does not have the content that was rendered.
func (r *render) compare(name string, a fabric.Artifact) error {
	f, err := r.root.Open(name)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != a.SHA256 {
		return fmt.Errorf("file %q was changed since it was rendered", name)
	}
	return nil
}

// some names the first of a list.
func some(names []string) string {
	const shown = 3
	text := fabric.Quote(names[0])
	for _, n := range names[1:min(shown, len(names))] {
		text += ", " + fabric.Quote(n)
	}
	if more := len(names) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// replaceWith gives a new folder the name of the old one; r is nil where there was none. Then it deletes the old one, which has
// the new one's name.
func (r *render) replaceWith(building, folder string) (placed bool, err error) {
	if r == nil {
		err := place(building, folder)
		return err == nil, err
	}
	if err := swap(building, folder); err != nil {
		return false, err
	}
	if same, err := r.isAt(building); err != nil || !same {
		back := swap(building, folder)
		return back != nil, errors.Join(fmt.Errorf("folder %q: was replaced meanwhile: nothing was written", folder), err, back)
	}
	if err := r.remove(building); err != nil {
		return true, fmt.Errorf("folder %q is complete, but what it replaced is left in %q: %w", folder, building, err)
	}
	return true, nil
}

// isAt reports whether the examined folder has this name now.
func (r *render) isAt(folder string) (bool, error) {
	examined, err := r.root.Stat(".")
	if err != nil {
		return false, err
	}
	now, err := os.Lstat(folder)
	return err == nil && os.SameFile(examined, now), err
}

// remove deletes what was examined, and the folder under the name that it has by now. What came into it meanwhile stays, and
// is an error.
func (r *render) remove(folder string) error {
	folders := slices.SortedFunc(maps.Keys(r.folders), func(a, b string) int { return len(b) - len(a) }) // inner ones first
	for _, name := range slices.Concat(r.found, folders, []string{IndexFile}) {
		if err := r.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(folder)
}
