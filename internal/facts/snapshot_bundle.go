package facts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// Bounds of a support bundle that is read back.
const (
	maxBundle  = 1 << 30 // bytes unpacked: a recording of at most 128 MiB, and 64 MiB of outputs
	maxMembers = 10000   // files: some hundred
)

func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) }

// bundle collects from the recording in a support bundle (collect --bundle). One without a recording, with two, or cut before
// its end is an error: what is behind the cut is unknown.
func (l *loader) bundle(in io.Reader) (f *fabric.Facts, err error) {
	unzipped, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	bounded := &io.LimitedReader{R: unzipped, N: maxBundle}
	archive := tar.NewReader(bounded)
	for n := 0; ; n++ {
		if l.ctx.Err() != nil {
			return nil, l.ctx.Err()
		}
		head, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && f == nil:
			return nil, errors.New("no recording (*.txtar) in this archive: want one of collect --bundle")
		case errors.Is(err, io.EOF):
			return f, nil
		case err != nil && bounded.N <= 0 || n >= maxMembers:
			return nil, fmt.Errorf("archive: more than %d MiB or %d files: no support bundle", maxBundle>>20, maxMembers)
		case err != nil:
			return nil, fmt.Errorf("archive: %w", err)
		case head.Typeflag != tar.TypeReg || path.Ext(head.Name) != ".txtar":
			continue
		case f != nil:
			return nil, errors.New("more than one recording in this archive: unpack it and name the folder")
		}
		r, err := host.LoadRecording(archive)
		if err != nil {
			return nil, fmt.Errorf("recording in the archive: %w", err)
		}
		f = Collect(l.ctx, r, r.Time())
	}
}
