package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The streams are what go test -json wrote for small packages (go1.26, -trimpath), less the times.
func TestRecordedStreams(t *testing.T) {
	for name, want := range map[string]bool{
		"pass": true, "skip": true, // with subtests, an example and a seed of a fuzz target
		"fail": false, "panic": false, "build": false, "vet": false, "several": false,
		"exit":    false, // every test passes, then TestMain leaves with status 3
		"nothing": false, // a package without test files
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if ok := tally(bytes.NewReader(read(t, name+".jsonl")), &out); ok != want {
				t.Errorf("ok is %v, want %v", ok, want)
			}
			if *update {
				if err := os.WriteFile(filepath.Join("testdata", name+".out"), out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if golden := read(t, name+".out"); !bytes.Equal(out.Bytes(), golden) {
				t.Errorf("have\n%s\nwant\n%s", out.Bytes(), golden)
			}
		})
	}
}

// A stream of passing tests is good only when it is whole.
func TestCutAnywhere(t *testing.T) {
	whole := bytes.TrimRight(read(t, "pass.jsonl"), "\n")
	if !tally(bytes.NewReader(whole), io.Discard) {
		t.Fatal("the whole stream is refused")
	}
	for n := range whole {
		if tally(bytes.NewReader(whole[:n]), io.Discard) {
			t.Fatalf("cut after %d of %d bytes, and still good", n, len(whole))
		}
	}
}

func TestForeignLine(t *testing.T) {
	var out strings.Builder
	if tally(strings.NewReader("go: no such tool\n"+string(read(t, "pass.jsonl"))), &out) {
		t.Error("a line that is no event went unnoticed")
	}
	if !strings.HasSuffix(out.String(), "\n5 passed, 1 failed, 0 skipped\n") {
		t.Errorf("closes with %q", out.String())
	}
}

func TestSubtestNamedWithSlash(t *testing.T) {
	var out strings.Builder
	ok := tally(strings.NewReader(`{"Action":"run","Package":"p","Test":"T"}
{"Action":"run","Package":"p","Test":"T/a/b"}
{"Action":"pass","Package":"p","Test":"T/a/b"}
{"Action":"pass","Package":"p","Test":"T"}
{"Action":"pass","Package":"p"}
`), &out)
	if !ok || !strings.HasSuffix(out.String(), "\n1 passed, 0 failed, 0 skipped\n") {
		t.Errorf("ok %v, closes with %q", ok, out.String())
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
