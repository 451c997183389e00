package facts

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// openerHost gives its files piece by piece too, and no file whole that is larger than a host gives.
type openerHost struct {
	fakeHost
	in io.Reader
}

func (h openerHost) Open(name string) (io.ReadCloser, error) {
	if name != symbolsFile || h.in == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(h.in), nil
}

// manySymbols has names that are like those looked for, as many as a large kernel has.
func manySymbols(last ...string) io.Reader {
	const line = "ffffffffc0a01230 t __pfx_ib_register_peer_memory_client\t[ib_uverbs]\nffffffffc0a01230 r ib_umem_dmabuf_get\n"
	return io.MultiReader(
		strings.NewReader("ffffffff81000000 T _text\n"), strings.NewReader(strings.Repeat(line, 20<<20/len(line))),
		strings.NewReader(strings.Join(last, "")))
}

func TestReadSymbols(t *testing.T) {
	rdma := fabric.Facts{HCAs: []fabric.HCA{{Name: "mlx5_0"}}}
	const peer, dmabuf = "ffffffffc0a01230 T ib_register_peer_memory_client\t[ib_uverbs]\n", "ffffffffc0a01230 T ib_umem_dmabuf_get\t[ib_uverbs]"
	for name, tt := range map[string]struct {
		facts        fabric.Facts
		host         host.Host
		peer, dmabuf *bool
		reason       string
	}{
		"both, in 20 MB":     {rdma, openerHost{in: manySymbols(peer, dmabuf)}, new(true), new(true), ""},
		"neither":            {rdma, openerHost{in: manySymbols()}, new(false), new(false), ""},
		"one":                {rdma, openerHost{in: manySymbols(peer)}, new(true), new(false), ""},
		"masked by an empty": {rdma, openerHost{in: strings.NewReader("")}, nil, nil, "not the whole list: it has no _text"},
		"not the whole":      {rdma, openerHost{in: strings.NewReader(peer)}, new(true), nil, "not the whole list: it has no _text"},
		"no such file":       {rdma, openerHost{}, nil, nil, "file does not exist"},
		"a file without end": {rdma, openerHost{in: endless{}}, nil, nil, "more than 134217728 bytes"},
		"nothing to ask for": {fabric.Facts{}, openerHost{in: manySymbols()}, nil, nil, "not read: neither an RDMA device nor a GPU was found"},
		"a small whole file": {rdma, fakeHost{files: map[string]string{symbolsFile: "ffffffff81000000 T _text\n" + dmabuf}}, new(false), new(true), ""},
		"by grep":            {rdma, grepHost("ffffffff81000000 T _text\n" + peer), new(true), new(false), ""},
		"by grep, not there": {rdma, grepHost(""), nil, nil, `command "grep": exit status 1`},
	} {
		t.Run(name, func(t *testing.T) {
			f := tt.facts
			readSymbols(context.Background(), tt.host, &f)
			same := func(a, b *bool) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
			if !same(f.Kernel.PeerMemory, tt.peer) || !same(f.Kernel.DMABuf, tt.dmabuf) {
				t.Errorf("peer memory %v, dma-buf %v", f.Kernel.PeerMemory, f.Kernel.DMABuf)
			}
			m, missing := f.MissingReason("kernel.dma_buf")
			if missing != (tt.dmabuf == nil) || m.Reason != tt.reason {
				t.Errorf("dma-buf: missing %+v, want %q", m, tt.reason)
			}
		})
	}
}

func grepHost(text string) host.Host {
	return toolHost{output: func(_ context.Context, argv []string) ([]byte, error) {
		if len(argv) != 4 || argv[0] != "grep" || argv[3] != symbolsFile {
			return nil, errors.New("not asked for that")
		}
		if text == "" {
			return nil, &host.ExitError{Command: "grep", Status: 1}
		}
		return []byte(text), nil
	}}
}

// endless is a file without an end and without lines.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// TestSymbolsHere reads the list of the kernel that the test runs on: unprivileged readers see names too.
func TestSymbolsHere(t *testing.T) {
	in, err := host.Local{}.Open(symbolsFile)
	if err != nil {
		t.Skip("no list of symbols here: ", err)
	}
	defer in.Close()
	s, err := scanSymbols(in)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", s)
	if !s.whole {
		t.Skip("this kernel gives an empty list")
	}
}

func BenchmarkScanSymbols(b *testing.B) {
	for b.Loop() {
		if s, err := scanSymbols(manySymbols()); err != nil || !s.whole {
			b.Fatal(s, err)
		}
	}
}
