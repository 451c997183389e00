package intake

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// member is a file of an archive. Its name is shown and never opened, so that it leads nowhere.
func (f file) member(name string) file {
	name = path.Clean("/" + strings.ReplaceAll(name, `\`, "/"))
	inner := file{name: f.name + name, host: path.Base(path.Dir(name)), root: f.root, inside: true}
	if inner.host == "/" {
		inner.host = ""
	}
	return inner
}

// hidden reports whether a member lies in a hidden folder or is hidden itself.
func hidden(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." {
			return true
		}
	}
	return false
}

// tar visits the members of an archive. What is behind a member that cannot be read is not read either, and said.
func (o *opener) tar(f file, _ fs.File, depth int) {
	in := tar.NewReader(f.body)
	none := true
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			if none {
				o.fail(f, errors.New("no files in this archive"))
			}
			return
		}
		if err != nil {
			o.fail(f, err)
			return
		}
		if head.Typeflag == tar.TypeDir || hidden(head.Name) {
			continue
		}
		if !o.takes(f.root) {
			return
		}
		none = false
		inner := f.member(head.Name)
		switch head.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse:
			inner.body = &bounded{in: in, o: o}
			o.content(inner, depth)
		case tar.TypeLink: // to a member
		case tar.TypeSymlink:
			if path.IsAbs(head.Linkname) || !filepath.IsLocal(path.Join(path.Dir(head.Name), head.Linkname)) {
				o.fail(inner, errLink)
			}
		default:
			o.fail(inner, errNoFile)
		}
	}
}

// zip visits the members of an archive. Its list stands at its end, so that one that is no file of its own is held
// in memory.
func (o *opener) zip(f file, whole fs.File, depth int) {
	in, err := zipList(f, whole)
	if err != nil {
		o.fail(f, err)
		return
	}
	none := true
	for _, m := range in.File {
		if m.FileInfo().IsDir() || hidden(m.Name) {
			continue
		}
		if !o.takes(f.root) {
			return
		}
		none = false
		inner := f.member(m.Name)
		if !m.Mode().IsRegular() {
			o.fail(inner, errNoFile)
			continue
		}
		body, err := m.Open()
		if err != nil {
			o.fail(inner, err)
			continue
		}
		inner.body = &bounded{in: body, o: o}
		o.content(inner, depth)
		_ = body.Close() // it was read; a checksum that is wrong was an error of reading
	}
	if none {
		o.fail(f, errors.New("no files in this archive"))
	}
}

func zipList(f file, whole fs.File) (*zip.Reader, error) {
	at, seekable := whole.(io.ReaderAt)
	if whole != nil && seekable {
		if info, err := whole.Stat(); err == nil && info.Mode().IsRegular() {
			return zip.NewReader(at, info.Size())
		}
	}
	text, err := io.ReadAll(io.LimitReader(f.body, maxInner+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxInner {
		return nil, fmt.Errorf("an archive of more than %d MiB inside another, or through a pipe: unpack it first", maxInner>>20)
	}
	return zip.NewReader(bytes.NewReader(text), int64(len(text)))
}
