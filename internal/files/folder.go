package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Folder is a folder whose files may be read, and nothing outside it. The operating system resolves every name below the
// open folder (os.Root), so that neither "..", nor an absolute path, nor a link that is swapped at the wrong moment leads
// out. Links to absolute paths are refused even where they lead back in.
type Folder struct {
	root     *os.Root
	path     string // absolute, as it was named
	resolved string // the same without links
}

// OpenFolder opens a folder.
func OpenFolder(name string) (*Folder, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, err
	}
	return &Folder{root: root, path: path, resolved: resolved}, nil
}

// Close closes the folder. What was opened in it stays open.
func (f *Folder) Close() error { return f.root.Close() }

// Path returns the absolute path of the folder.
func (f *Folder) Path() string { return f.path }

// Limits bound what one reader of a folder reads. A captured tree, which OpenRoot opens, has the bounds of host.Tree instead.
type Limits struct {
	File  int64 // bytes of one file
	Total int64 // bytes of all files
	Names int64 // files and folders that are opened, described or listed
}

// Bounded is a folder as one command reads it.
type Bounded struct {
	folder *Folder
	ctx    context.Context
	limits Limits
	texts  map[string]string
	bytes  atomic.Int64 // read
	names  atomic.Int64 // opened, described or listed
}

// For returns the folder for one command: reads fail once the context has ended or a limit is exceeded. Texts are files
// that are not in the folder, by name; they come before those that are.
func (f *Folder) For(ctx context.Context, limits Limits, texts map[string]string) *Bounded {
	return &Bounded{folder: f, ctx: ctx, limits: limits, texts: texts}
}

// inside returns a name relative to the folder. It counts one name.
func (b *Bounded) inside(op, name string) (string, error) {
	fail := func(err error) (string, error) { return "", &fs.PathError{Op: op, Path: name, Err: err} }
	if err := b.ctx.Err(); err != nil {
		return fail(err)
	}
	if b.names.Add(1) > b.limits.Names {
		return fail(fmt.Errorf("more than %d files and folders are named by one call", b.limits.Names))
	}
	rel := name
	if filepath.IsAbs(name) {
		i := slices.IndexFunc([]string{b.folder.path, b.folder.resolved}, func(top string) bool {
			r, err := filepath.Rel(top, name)
			if err == nil {
				rel = r
			}
			return err == nil && filepath.IsLocal(r)
		})
		if i < 0 {
			return fail(b.outside())
		}
	}
	if name == "" {
		return fail(fs.ErrNotExist)
	}
	if !filepath.IsLocal(rel) {
		return fail(b.outside())
	}
	return rel, nil
}

func (b *Bounded) outside() error {
	return fmt.Errorf("is outside of %q, the only folder that is read", b.folder.path)
}

// Open opens a regular file or a folder; what else there is, such as a FIFO or a device, is an error.
func (b *Bounded) Open(name string) (fs.File, error) {
	if text, ok := b.texts[name]; ok {
		return &boundedFile{File: textFile{strings.NewReader(text), name}, name: name, of: b}, nil
	}
	rel, err := b.inside("open", name)
	if err != nil {
		return nil, err
	}
	info, err := b.folder.root.Stat(rel)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = errKind
	}
	if err != nil {
		return nil, named("open", name, err)
	}
	// Nonblocking: what has become a FIFO since does not wait for a writer.
	f, err := b.folder.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, named("open", name, err)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = errKind
	}
	if err != nil {
		return nil, errors.Join(named("open", name, err), f.Close())
	}
	return &boundedFile{File: f, name: name, of: b}, nil
}

var errKind = errors.New("is neither a file nor a folder")

// named writes operation and name as os does into an error, so that messages are the same inside and outside of a folder.
func named(op, name string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Stat describes a file, or what a link inside the folder leads to.
func (b *Bounded) Stat(name string) (fs.FileInfo, error) {
	if text, ok := b.texts[name]; ok {
		return textFile{strings.NewReader(text), name}, nil
	}
	rel, err := b.inside("stat", name)
	if err != nil {
		return nil, err
	}
	info, err := b.folder.root.Stat(rel)
	if err != nil {
		return nil, named("stat", name, err)
	}
	return info, nil
}

// ReadDir lists a folder of at most as many names as the limits allow.
func (b *Bounded) ReadDir(name string) ([]fs.DirEntry, error) {
	rel, err := b.inside("open", name)
	if err != nil {
		return nil, err
	}
	f, err := b.folder.root.Open(rel)
	if err != nil {
		return nil, named("open", name, err)
	}
	defer f.Close()
	most := max(0, b.limits.Names-b.names.Load())
	entries, err := f.ReadDir(int(most) + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, named("open", name, err)
	}
	if int64(len(entries)) > most {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fmt.Errorf("more than %d files and folders are named by one call", b.limits.Names)}
	}
	slices.SortFunc(entries, func(x, y fs.DirEntry) int { return cmp.Compare(x.Name(), y.Name()) })
	return entries, nil
}

// OpenRoot opens a folder below.
func (b *Bounded) OpenRoot(name string) (*os.Root, error) {
	rel, err := b.inside("open", name)
	if err != nil {
		return nil, err
	}
	root, err := b.folder.root.OpenRoot(rel)
	if err != nil {
		return nil, named("open", name, err)
	}
	return root, nil
}

// Abs returns the absolute path of a name, which is relative to the folder.
func (b *Bounded) Abs(name string) (string, error) {
	rel, err := b.inside("abs", name)
	if err != nil {
		return "", err
	}
	return filepath.Join(b.folder.path, rel), nil
}

// OpenNow is Open, which waits for nobody.
func (b *Bounded) OpenNow(name string) (fs.File, error) { return b.Open(name) }

// Resolve returns the absolute path without links; one that leads out of the folder is an error.
func (b *Bounded) Resolve(name string) (string, error) {
	rel, err := b.inside("resolve", name)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(b.folder.resolved, rel))
	if err != nil {
		return "", named("resolve", name, err)
	}
	if below, err := filepath.Rel(b.folder.resolved, resolved); err != nil || !filepath.IsLocal(below) {
		return "", named("resolve", name, b.outside())
	}
	return resolved, nil
}

// boundedFile counts what is read.
type boundedFile struct {
	fs.File
	name string
	of   *Bounded
	read atomic.Int64 // bytes
}

// Read reads on, unless the context has ended or a limit is exceeded.
func (f *boundedFile) Read(p []byte) (int, error) {
	return f.counted(func() (int, error) { return f.File.Read(p) })
}

// ReadAt reads a part, as Read does; what is read twice counts twice.
func (f *boundedFile) ReadAt(p []byte, off int64) (int, error) {
	at, ok := f.File.(io.ReaderAt)
	if !ok {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: errors.ErrUnsupported}
	}
	return f.counted(func() (int, error) { return at.ReadAt(p, off) })
}

func (f *boundedFile) counted(read func() (int, error)) (int, error) {
	if err := f.of.ctx.Err(); err != nil {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: err}
	}
	n, err := read()
	one, total := f.read.Add(int64(n)), f.of.bytes.Add(int64(n))
	switch {
	case one > f.of.limits.File:
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fmt.Errorf("is larger than %d bytes, the most that is read of one file", f.of.limits.File)}
	case total > f.of.limits.Total:
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fmt.Errorf("with it more than %d bytes are read by one call", f.of.limits.Total)}
	}
	return n, err
}

// textFile is a file that is a text, and its own description.
type textFile struct {
	*strings.Reader
	name string
}

// Stat describes the text as a file.
func (t textFile) Stat() (fs.FileInfo, error) { return t, nil }

// Close has nothing to close.
func (t textFile) Close() error { return nil }

// Name is the name by which the text is called.
func (t textFile) Name() string { return t.name }

// Size is its length, bytes.
func (t textFile) Size() int64 { return t.Reader.Size() }

// Mode is that of a file to read.
func (t textFile) Mode() fs.FileMode { return 0o444 }

// ModTime is unknown.
func (t textFile) ModTime() time.Time { return time.Time{} }

// IsDir is false.
func (t textFile) IsDir() bool { return false }

// Sys is nothing.
func (t textFile) Sys() any { return nil }
