package intake

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
)

// Bounds of one call, so that no folder and no archive fills the memory or takes all day. Text that is named itself has
// none: it is read as a stream.
const (
	maxFiles    = 20000   // of folders and archives: a support archive of a large node has some thousands
	maxBytes    = 2 << 30 // of all files in folders and archives, unpacked: logs of thousands of ranks are some hundred MiB
	maxFolders  = 16      // folders inside each other
	maxArchives = 3       // archives inside each other: node1.tar.gz with logs.tar.gz with log.gz
	maxInner    = 64 << 20
)

// file is a text that was found.
type file struct {
	name   string // the path as it was named, then that inside it
	host   string // the folder that it lies in, which people name after the machine; empty: none
	root   int    // which of the named paths it belongs to
	inside bool   // it is no path that was named itself
	body   io.Reader
	err    error  // why there is no body
	own    string // what it is, where it is a file of a support bundle that is not read
}

// opener walks through the named paths and visits each text in them.
type opener struct {
	ctx   context.Context
	paths []string // that were named
	files files.Files
	visit func(file)
	stdin io.Reader
	left  struct{ files, bytes int64 }
	full  map[int]bool // paths of which something was left out because of a bound
}

func newOpener(ctx context.Context, from files.Files, paths []string, stdin io.Reader, visit func(file)) *opener {
	o := &opener{ctx: ctx, files: from, paths: paths, visit: visit, stdin: stdin, full: map[int]bool{}}
	o.left.files, o.left.bytes = maxFiles, maxBytes
	return o
}

// path opens a path that was named: a file, a folder, or - for standard input.
func (o *opener) path(name string, root int) {
	f := file{name: name, root: root}
	if name == "-" {
		f.name, f.body = "standard input", o.stdin
		o.content(f, 0)
		return
	}
	info, err := o.files.Stat(name)
	switch {
	case err != nil:
		o.fail(f, err)
	case info.IsDir():
		o.folder(f, 0)
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0:
		o.fail(f, errors.New("is a device or a socket, not a file"))
	default:
		o.regular(f)
	}
}

func (o *opener) fail(f file, err error) {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // the path stands before it
	}
	f.body, f.err = nil, err
	o.visit(f)
}

// regular opens a file. A pipe that was named is waited for, until somebody writes into it.
func (o *opener) regular(f file) {
	open := o.files.Open
	if f.inside {
		open = o.files.OpenNow // a pipe that took the place of a file is not waited for
	}
	in, err := open(f.name)
	if err != nil {
		o.fail(f, err)
		return
	}
	defer in.Close()
	f.body = in
	if !f.inside {
		o.content(f, 0)
		return
	}
	info, err := in.Stat()
	switch {
	case err != nil:
		o.fail(f, err)
	case info.Size() == 0: // so are the files of the kernel, some of which have no end
		o.fail(f, errEmpty)
	default:
		o.content(f, 0)
	}
}

// What folders and archives hold beside texts.
var (
	errEmpty  = errors.New("empty")
	errNoFile = errors.New("is a device, a pipe or a socket, not a file")
	errLink   = errors.New("is a link that leads out, which is not followed")
)

// leadsInside reports whether a link leads to what is visited itself.
func (o *opener) leadsInside(link file) bool {
	root, err := o.files.Resolve(o.paths[link.root])
	if err != nil {
		return false
	}
	target, err := o.files.Resolve(link.name)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // to nothing
	}
	below, err := filepath.Rel(root, target)
	return err == nil && filepath.IsLocal(below)
}

// folder visits the files of a folder in the order of their names, then those of folders in it. Links are not followed:
// what one inside points to is visited itself, and what lies outside was not named. Hidden files are left out.
func (o *opener) folder(f file, depth int) {
	if depth > maxFolders {
		o.fail(f, fmt.Errorf("more than %d folders deep", maxFolders))
		return
	}
	entries, err := o.files.ReadDir(f.name)
	if err != nil {
		o.fail(f, err)
		return
	}
	var folders []file
	for _, e := range entries {
		if o.ctx.Err() != nil {
			return
		}
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		inner := file{name: filepath.Join(f.name, e.Name()), host: o.hostOf(f.name), root: f.root, inside: true}
		switch {
		case e.IsDir():
			folders = append(folders, inner)
		case !o.takes(f.root):
			return
		case e.Type()&fs.ModeSymlink != 0:
			if !o.leadsInside(inner) {
				o.fail(inner, errLink)
			}
		case !e.Type().IsRegular():
			o.fail(inner, errNoFile)
		default:
			o.regular(inner)
		}
	}
	for _, inner := range folders {
		o.folder(inner, depth+1)
	}
}

// hostOf is the last name of a folder; of "." that of the folder itself.
func (o *opener) hostOf(folder string) string {
	if whole, err := o.files.Abs(folder); err == nil {
		folder = whole
	}
	return filepath.Base(folder)
}

// takes counts a file of a folder or an archive, and says once of a path that it has too many.
func (o *opener) takes(root int) bool {
	if o.left.files--; o.left.files >= 0 {
		return true
	}
	o.bound(root, fmt.Sprintf("more than %d files: the rest was not read", maxFiles))
	return false
}

func (o *opener) bound(root int, why string) {
	if !o.full[root] {
		o.full[root] = true
		o.visit(file{root: root, err: errors.New(why)})
	}
}

// headSize is how many bytes tell what a content is: the mark of tar stands at byte 257.
const headSize = 512

// content visits a text, or what is packed in it, which its first bytes tell.
func (o *opener) content(f file, depth int) {
	whole, _ := f.body.(fs.File)
	body := f.body
	if f.inside && whole != nil {
		body = &bounded{in: body, o: o}
	}
	in := bufio.NewReaderSize(body, 64<<10)
	head, err := in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		o.fail(f, err)
		return
	}
	unpack := packing(head, f.name)
	switch {
	case f.inside && ownFile(head) != "":
		f.own = ownFile(head)
		o.visit(f)
	case unpack == nil:
		f.body = in
		o.visit(f)
	case depth >= maxArchives:
		o.fail(f, fmt.Errorf("more than %d archives inside each other", maxArchives))
	default:
		f.body = in
		unpack(o, f, whole, depth+1)
	}
}

// ownFile names a file of a support bundle that speaks of outputs which lie beside it, or
// is a list in which no program says anything, by its first bytes: to read the former would count each output twice, and in
// the latter words of faults are names. Empty: it is neither.
func ownFile(head []byte) string {
	switch {
	case host.IsRecording(head):
		return "recording (for --snapshot)"
	case bytes.HasPrefix(head, []byte("railwright bundle")), bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"kind": "BundleIndex"`)):
		return "index or list of a bundle"
	}
	return ""
}

// packing returns how to unpack a content; nil: it is not packed.
func packing(head []byte, name string) func(o *opener, f file, whole fs.File, depth int) {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return (*opener).gzip
	case bytes.HasPrefix(head, []byte("BZh")) && len(head) > 4 && head[3] >= '1' && head[3] <= '9':
		return (*opener).bzip2
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return (*opener).zip
	case len(head) >= headSize && bytes.HasPrefix(head[257:], []byte("ustar")), len(head) >= headSize && strings.HasSuffix(name, ".tar"):
		return (*opener).tar
	}
	return nil
}

func (o *opener) gzip(f file, _ fs.File, depth int) {
	in, err := gzip.NewReader(f.body)
	if err != nil {
		o.fail(f, err)
		return
	}
	f.body = &bounded{in: in, o: o}
	o.content(f, depth)
}

func (o *opener) bzip2(f file, _ fs.File, depth int) {
	f.body = &bounded{in: bzip2.NewReader(f.body), o: o}
	o.content(f, depth)
}

// errTooLarge is the error of a file that is in a folder or an archive with more bytes than are read.
var errTooLarge = fmt.Errorf("more than %d MiB in folders and archives: the rest was not read", maxBytes>>20)

// bounded reads what folders and archives hold, all of them together, up to the bound.
type bounded struct {
	in io.Reader
	o  *opener
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.o.left.bytes <= 0 {
		return 0, errTooLarge
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.o.left.bytes)])
	b.o.left.bytes -= int64(n)
	return n, err
}
