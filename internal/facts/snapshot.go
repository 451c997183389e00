package facts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
)

// maxFactsFile bounds a file of facts, in bytes: the facts of a large node are some tens of KiB.
const maxFactsFile = 16 << 20

// maxDepth bounds folders in folders: snapshots/day/rack/host/sys is four.
const maxDepth = 8

// LoadFrom returns the facts at these paths, one node at a time: a file of facts (JSON), a recording
// (txtar), a captured tree (a folder with sys/), a run folder (with facts/), or a folder of any of these, in
// order of name. What cannot be loaded gives an error, and the rest follows. A node that comes a second time
// is an error. A link to a folder is not followed, unless it is one of the paths.
//
// A recording and a tree are collected anew, so that what this program can read today is read. The time of
// a recording is its own; of a tree it is unknown.
func LoadFrom(ctx context.Context, from files.Files, paths ...string) iter.Seq2[*fabric.Facts, error] {
	return func(yield func(*fabric.Facts, error) bool) {
		l := loader{ctx: ctx, files: from, yield: yield, from: map[string]string{}}
		for _, path := range paths {
			if !l.path(path) {
				return
			}
		}
	}
}

// loader walks paths. Its methods are false once no more are wanted.
type loader struct {
	ctx   context.Context
	files files.Files
	yield func(*fabric.Facts, error) bool
	from  map[string]string // node to the path that it came from

	decoders decoders
}

func (l *loader) path(path string) bool {
	info, err := l.files.Stat(path)
	switch {
	case err != nil:
		return l.fail(path, err)
	case info.IsDir():
		return l.folder(path, 0)
	default:
		return l.file(path, info, nil)
	}
}

func (l *loader) fail(path string, err error) bool {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // the path stands before it
	}
	return l.yield(nil, &SnapshotError{Path: path, Err: err})
}

// ErrNoFacts means that a folder has no file that may be facts.
var ErrNoFacts = errors.New("no facts in this folder: no *.json, no *.txtar, no folder with sys/ or facts/")

// SnapshotError says why a snapshot could not be loaded.
type SnapshotError struct {
	Path string
	Err  error
}

func (e *SnapshotError) Error() string { return fmt.Sprintf("snapshot %q: %v", e.Path, e.Err) }

func (e *SnapshotError) Unwrap() error { return e.Err }

// DuplicateError says that facts of a node were already loaded, from another path.
type DuplicateError struct{ Node, First string }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("node %q: duplicate, first in %q", e.Node, e.First)
}

func (l *loader) give(path string, f *fabric.Facts, err error) bool {
	if err != nil {
		return l.fail(path, err)
	}
	if first, again := l.from[f.Node]; again {
		return l.fail(path, &DuplicateError{Node: f.Node, First: first})
	}
	l.from[f.Node] = path
	return l.yield(f, nil)
}

func (l *loader) folder(path string, depth int) bool {
	switch {
	case l.ctx.Err() != nil:
		l.fail(path, l.ctx.Err())
		return false
	case depth > maxDepth:
		return l.fail(path, fmt.Errorf("more than %d folders deep", maxDepth))
	case l.isFolder(filepath.Join(path, "sys")):
		f, err := l.tree(path)
		return l.give(path, f, err)
	}
	if inner := filepath.Join(path, "facts"); l.isFolder(inner) {
		path = inner // of a run folder
	}
	entries, err := l.files.ReadDir(path)
	if err != nil {
		return l.fail(path, err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !l.isSnapshot(filepath.Join(path, e.Name()), e) })
	if len(entries) == 0 {
		return l.fail(path, ErrNoFacts)
	}
	files := l.ahead(path, entries)
	defer files.wait()
	for i, e := range entries {
		if !l.entry(filepath.Join(path, e.Name()), e, depth, files.of(i)) {
			return false
		}
	}
	return true
}

// isSnapshot tells by its name whether an entry of a folder is to be loaded.
func (l *loader) isSnapshot(path string, e fs.DirEntry) bool {
	switch {
	case strings.HasPrefix(e.Name(), "."):
		return false
	case filepath.Ext(path) == ".json" || filepath.Ext(path) == ".txtar" || strings.HasSuffix(path, ".tar.gz"):
		return true
	default:
		return e.IsDir() || e.Type()&fs.ModeSymlink != 0 && l.isFolder(path)
	}
}

// entry loads an entry of a folder; load is what it gives, where that was begun.
func (l *loader) entry(path string, e fs.DirEntry, depth int, load func() (*fabric.Facts, error)) bool {
	info, err := l.files.Stat(path)
	switch {
	case err != nil:
		return l.fail(path, err)
	case e.IsDir():
		return l.folder(path, depth+1)
	case info.IsDir():
		return l.fail(path, errors.New("is a link to a folder, which is not followed: name it itself"))
	default:
		return l.file(path, info, load)
	}
}

func (l *loader) isFolder(path string) bool {
	info, err := l.files.Stat(path)
	return err == nil && info.IsDir()
}

// tree collects from a folder that stands for / of a machine; the folder's name is the node's.
func (l *loader) tree(folder string) (f *fabric.Facts, err error) {
	whole, err := l.files.Abs(folder)
	if err != nil {
		return nil, err
	}
	root, err := l.files.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	tree, err := host.NewTree(filepath.Base(whole), root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	f = Collect(l.ctx, tree, time.Time{})
	f.Collected = ""
	return f, nil
}

func (l *loader) file(path string, info fs.FileInfo, load func() (*fabric.Facts, error)) bool {
	if l.ctx.Err() != nil {
		l.fail(path, l.ctx.Err())
		return false
	}
	if !info.Mode().IsRegular() {
		return l.fail(path, errors.New("is neither a file nor a folder"))
	}
	if load == nil {
		load = func() (*fabric.Facts, error) { return l.load(path) }
	}
	f, err := load()
	if errors.Is(err, errNoSnapshot) {
		return l.text(path)
	}
	return l.give(path, f, err)
}

// text gives the hosts of whom a text has outputs of tools.
func (l *loader) text(path string) bool {
	hosts, err := l.outputs(path)
	if err != nil {
		return l.fail(path, err)
	}
	for _, h := range hosts {
		if !l.give(path, h.Facts, nil) {
			return false
		}
	}
	return true
}

// outputs reads a text whole: what people paste is small.
func (l *loader) outputs(path string) ([]TextFacts, error) {
	file, err := l.files.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxToolText+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxToolText || bytes.IndexByte(text, 0) >= 0 {
		return nil, errNoSnapshot
	}
	o := NewOutputs()
	o.File(path, "")
	for line := range strings.Lines(string(text)) {
		o.Line("", []string{strings.TrimRight(line, "\r\n")}, nil, false)
	}
	hosts := o.Facts()
	if len(hosts) == 0 {
		return nil, errNoSnapshot
	}
	return hosts, nil
}

// errEmpty is the error of a file with nothing in it.
var errEmpty = errors.New("the file is empty; a snapshot is facts (JSON), a recording (txtar), a captured tree (a folder with sys/), a support bundle (tar.gz) or a run folder (with facts/)")

// errNoSnapshot says what was tried.
var errNoSnapshot = errors.New("is neither facts (JSON), nor a recording (txtar), nor a captured tree (a folder with sys/), nor a support bundle (tar.gz), nor a run folder (with facts/), nor a text with the output of tools")

func (l *loader) load(path string) (*fabric.Facts, error) {
	file, err := l.files.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := make([]byte, 64) // bytes: enough for the first line of a recording
	n, err := io.ReadFull(file, head)
	if err != nil && n == 0 {
		return nil, errEmpty
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), file)
	if isGzip(head[:n]) {
		return l.bundle(whole)
	}
	if host.IsRecording(head[:n]) {
		r, err := host.LoadRecording(whole)
		if err != nil {
			return nil, err
		}
		return Collect(l.ctx, r, r.Time()), nil
	}
	if !bytes.HasPrefix(bytes.TrimLeft(head[:n], " \t\r\n"), []byte("{")) {
		return nil, errNoSnapshot
	}
	size := int64(0)
	if info, err := file.Stat(); err == nil {
		size = info.Size()
	}
	return l.decoders.read(whole, size)
}
