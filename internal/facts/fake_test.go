package facts

import (
	"context"
	"encoding/hex"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

var capture = flag.Bool("capture", false, "rewrite the netlink dumps from the network namespace that the test runs in")

// fakeHost has the files and links that a test lays down; a link is not followed on the way to a file.
type fakeHost struct {
	files map[string]string
	links map[string]string
	fail  map[string]error
	dumps map[uint16][]byte
}

var (
	_ host.Host   = fakeHost{}
	_ host.Linker = fakeHost{}
)

func (fakeHost) Name() string { return "fake" }

func (h fakeHost) ReadFile(name string) ([]byte, error) {
	if err := h.fail[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	text, ok := h.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (h fakeHost) ReadDir(name string) ([]string, error) {
	if err := h.fail[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	names := make(map[string]bool)
	for _, m := range []map[string]string{h.files, h.links} {
		for file := range m {
			if rest, ok := strings.CutPrefix(file, name+"/"); ok {
				first, _, _ := strings.Cut(rest, "/")
				names[first] = true
			}
		}
	}
	if len(names) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	delete(names, "") // a file named "folder/" makes an empty folder
	var out []string
	for n := range names {
		out = append(out, n)
	}
	slices.Sort(out)
	return out, nil
}

func (h fakeHost) ReadLink(name string) (string, error) {
	target, ok := h.links[name]
	if !ok {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrNotExist}
	}
	return target, nil
}

// kernelHost is a fakeHost whose kernel answers.
type kernelHost struct{ fakeHost }

func (h kernelHost) Dump(_ context.Context, messageType uint16, _ uint8) ([]byte, error) {
	raw, ok := h.dumps[messageType]
	if !ok {
		return nil, host.ErrNotSupported
	}
	return raw, nil
}

// readHexFile reads a golden file of hexadecimal digits in lines.
func readHexFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func writeHexFile(t testing.TB, name string, raw []byte) {
	t.Helper()
	var text strings.Builder
	for line := range slices.Chunk(raw, 32) {
		text.WriteString(hex.EncodeToString(line) + "\n")
	}
	if err := os.WriteFile(filepath.Join("testdata", name), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// missingText returns the Missing entries as lines, for comparing.
func missingText(f *fabric.Facts) []string {
	var out []string
	for _, m := range f.Missing {
		out = append(out, m.What+": "+m.Reason)
	}
	return out
}
