package intake

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"railwright.dev/railwright/internal/files"
)

// Bounds of one call, so that no folder and no archive fills the memory or takes all day. Text that is named itself has
// none: it is read as a stream.
const (
	maxFiles    = 20000   // of folders and archives: a support archive of a large node has some thousands
	maxUnpacked = 2 << 30 // bytes that come out of archives: logs of thousands of ranks, packed, are some hundred MiB
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
	err    error // why there is no body
}

// opener walks through the named paths and visits each text in them.
type opener struct {
	files files.Files
	visit func(file)
	stdin io.Reader
	left  struct{ files, bytes int64 }
	full  map[int]bool // paths of which something was left out because of a bound
}

func newOpener(from files.Files, stdin io.Reader, visit func(file)) *opener {
	o := &opener{files: from, visit: visit, stdin: stdin, full: map[int]bool{}}
	o.left.files, o.left.bytes = maxFiles, maxUnpacked
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

// regular opens a file. A pipe into which nobody writes is empty: the open does not wait.
func (o *opener) regular(f file) {
	in, err := o.files.OpenNow(f.name)
	if err != nil {
		o.fail(f, err)
		return
	}
	defer in.Close()
	f.body = in
	o.content(f, 0)
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
			o.fail(inner, errors.New("is a link, which is not followed"))
		case !e.Type().IsRegular():
			o.fail(inner, errors.New("is a device, a pipe or a socket, not a file"))
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
	in := bufio.NewReaderSize(f.body, 64<<10)
	head, err := in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		o.fail(f, err)
		return
	}
	unpack := packing(head, f.name)
	switch {
	case unpack == nil:
		f.body = in
		o.visit(f)
	case depth >= maxArchives:
		o.fail(f, fmt.Errorf("more than %d archives inside each other", maxArchives))
	default:
		whole, _ := f.body.(fs.File)
		f.body = in
		unpack(o, f, whole, depth+1)
	}
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

// errTooLarge is the error of an archive that unpacks to more than is read.
var errTooLarge = fmt.Errorf("unpacks to more than %d MiB with what was read before: the rest was not read", maxUnpacked>>20)

// bounded reads what comes out of archives, all of them together, up to the bound.
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
