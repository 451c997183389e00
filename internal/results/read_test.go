package results

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

func TestReadErrors(t *testing.T) {
	cases := []struct {
		name, text, want string
	}{
		{"nothing", "", `: empty`},
		{"white space", " \n\t\n", `only white space`},
		{"binary", "\x7fELF\x00\x00", `: binary`},
		{"gzip", "\x1f\x8b\x08rest", `gzip`},
		{"zstd", "\x28\xb5\x2f\xfdrest", `zstd`},
		{"xz", "\xfd7zXZ\x00rest", `xz`},
		{"zeros", strings.Repeat("\x00", 100<<10), `zero bytes`},
		{"key of a table file", "{\"collective\": \"all_reduce\",\n \"rows\": [],\n \"colective\": 1}", `line 3: key "colective": unknown; did you mean "collective"?`},
		{"collective of a table file", `{"collective": "allreduct", "rows": []}`, `collective "allreduct": unknown`},
		{"health of a table file", `{"collective": "reduce", "health": "ill", "rows": []}`, `health "ill": unknown; known: healthy, sick`},
		{"type in a table file", "{\"collective\": \"reduce\",\n \"ranks\": \"two\", \"rows\": []}", `line 2: `},
		{"syntax of a table file", "{\"collective\": \"reduce\",\n \"rows\": [{]}", `line 2: invalid character`},
		{"end of a table file", `{"collective": "reduce", "rows": [{"size": 8}`, `does not end`},
		{"list in config", `{"collective": "reduce", "config": {"a": [1]}, "rows": []}`, `config "a" is neither`},
		{"negative ranks", `{"collective": "reduce", "ranks": -1, "rows": []}`, `must not be negative`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found, err := Read("input", strings.NewReader(c.text))
			if err == nil {
				t.Fatalf("no error, found %d results", len(found))
			}
			if !strings.HasPrefix(err.Error(), `"input"`) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is\n %v\nwant it to begin with the name and to contain\n %s", err, c.want)
			}
		})
	}
}

func TestReadOfAFailingReader(t *testing.T) {
	if _, err := Read("input", io.MultiReader(strings.NewReader("# nThread 1\n"), failing{})); err == nil || !strings.Contains(err.Error(), "input/output") {
		t.Errorf("error is %v, want the reader's", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.NewSyscallError("read", errInputOutput{}) }

type errInputOutput struct{}

func (errInputOutput) Error() string { return "input/output error" }

// TestReadOfTwo: what follows in a file does not change what was read before it, but for the lines.
func TestReadOfTwo(t *testing.T) {
	tables := []string{"nccl_tag_output.txt", "nccl_two_tables.txt", "nccl_worker_prefix.txt", "rccl.txt", "perftest_latency.txt", "perftest_failed.txt", "osu.txt", "table.json", "nccl_tests.json"}
	for _, first := range tables {
		for _, second := range tables {
			t.Run(first+" "+second, func(t *testing.T) {
				a, b := text(t, first), text(t, second)
				both, err := Read("both", io.MultiReader(bytes.NewReader(a), strings.NewReader("\n"), bytes.NewReader(b)))
				if err != nil {
					t.Fatal(err)
				}
				want := append(kinds(readFile(t, "testdata/"+first)), kinds(readFile(t, "testdata/"+second))...)
				if diff := cmp.Diff(want, kinds(both)); diff != "" {
					t.Errorf("of both together (-one by one +together):\n%s", diff)
				}
			})
		}
	}
}

func text(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(b, "\n")
}

// kinds sums a list of results up, without the lines. The logs of one file are one.
func kinds(found []fabric.Result) (all []string) {
	for _, r := range found {
		switch {
		case tableOf(r) != nil:
			rows, _ := json.Marshal(clearLines(tableOf(r).Rows))
			all = append(all, string(r.Kind)+" "+string(tableOf(r).Collective)+" "+string(rows))
		case perftestOf(r) != nil:
			all = append(all, string(r.Kind)+" "+perftestOf(r).Test+" "+string(rune('0'+len(perftestOf(r).Rows))))
		}
	}
	return all
}

func clearLines(rows []fabric.Row) []fabric.Row {
	out := append([]fabric.Row(nil), rows...)
	for i := range out {
		out[i].Line = 0
	}
	return out
}

func TestByteOrderMarkAndLineEndings(t *testing.T) {
	plain := text(t, "nccl_paste.txt")
	for name, changed := range map[string][]byte{
		"carriage returns": bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")),
		"byte order mark":  append([]byte("\xef\xbb\xbf"), plain...),
		"colours":          bytes.ReplaceAll(plain, []byte("float"), []byte("\x1b[1;32mfloat\x1b[0m")),
		"no-break spaces":  bytes.ReplaceAll(plain, []byte("  float"), []byte("\u00a0 float")),
	} {
		found, err := Read("x", bytes.NewReader(changed))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := readFile(t, "testdata/nccl_paste.txt")
		if diff := cmp.Diff(tableOf(want[0]), tableOf(found[0])); diff != "" {
			t.Errorf("%s changes what is read:\n%s", name, diff)
		}
	}
}

// TestLongLine: the line is cut with a note and the rest of the file is read.
func TestLongLine(t *testing.T) {
	row := string(text(t, "nccl_paste.txt"))
	found, err := Read("x", strings.NewReader(row+"\n"+strings.Repeat("x", 3<<20)+"\n"+row+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	table := tableOf(found[0])
	if len(table.Rows) != 4 {
		t.Errorf("%d rows, want 4", len(table.Rows))
	}
	if !noteOf(found, "1 line longer than 1 MiB: cut there, the first is line 3") {
		t.Errorf("no note of the cut line: %+v", found)
	}
}

// endless repeats a text up to a number of bytes, and notes how much memory is in use meanwhile.
type endless struct {
	text []byte
	left int
	at   int
	peak uint64
	seen int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(copy(p, e.text[e.at:]), e.left)
	e.at = (e.at + n) % len(e.text)
	e.left -= n
	if e.seen += n; e.seen > 1<<20 {
		e.seen = 0
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		e.peak = max(e.peak, m.HeapAlloc)
	}
	return n, nil
}

// TestMemory reads far more than is kept. The bound holds for any length: what is kept ends at the budget.
func TestMemory(t *testing.T) {
	const bound = 64 << 20
	megabytes := 6
	if testing.Short() {
		megabytes = 4
	}
	distinct := &bytes.Buffer{}
	for i := range 20000 {
		distinct.WriteString("node-")
		distinct.WriteString(strings.Repeat("x", i%50))
		distinct.WriteString(":1:2 [0] NCCL WARN something else each time ")
		distinct.WriteString(strings.Repeat("y", i%97))
		distinct.WriteByte('\n')
	}
	for name, sample := range map[string][]byte{
		"rows":        append(text(t, "nccl_paste.txt"), '\n'),
		"tables":      append(text(t, "nccl_two_tables.txt"), '\n'),
		"log":         append(text(t, "log_infiniband.txt"), '\n'),
		"warnings":    distinct.Bytes(),
		"perftest":    append(text(t, "perftest_latency.txt"), '\n'),
		"one line":    []byte("x"),
		"devices":     []byte("# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n#  Rank  0 Group  0 Pid   4242 on     gpu-01 device  0 [0000:1b:00] NVIDIA A100-SXM4-80GB\n"),
		"objects":     []byte(`{"collective": "reduce", "rows": [{"size": 8, "time_us": 1, "algbw": 1, "busbw": 1}]}` + "\n"),
		"long names":  []byte(strings.Repeat("h", 500) + ":1:2 [0] NCCL INFO Channel 00 : 0[" + strings.Repeat("a", 9000) + "] -> 1[0] via " + strings.Repeat("V", 9000) + "\n"),
		"many logs":   []byte("# nThread 1 nGpus 1 minBytes 8 maxBytes 8\na:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 10 - Init COMPLETE\na:1:2 [0] NCCL INFO === System : maxBw 1\n" + strings.Repeat("a:1:2 [0] NCCL INFO + PCI[1.0] - GPU/0 "+strings.Repeat("x", 4000)+"\n", 100)),
		"wide header": []byte("#bytes #iterations " + strings.Repeat("a ", 5000) + "\n# size count type algbw busbw " + strings.Repeat("b ", 5000) + "\n# OSU MPI Latency Test\n# Size " + strings.Repeat("c ", 5000) + "\n"),
		"tuning":      []byte("a:1:2 [0] NCCL INFO Algorithm | " + strings.Repeat("T | ", 60) + "\na:1:2 [0] NCCL INFO AllReduce | " + strings.Repeat("1.0/1.0 | ", 60) + "\n"),
		"settings":    []byte("-x NCCL_A=" + strings.Repeat("v", 400) + " -x NCCL_B=" + strings.Repeat("v", 400) + "\n# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n# Avg bus bandwidth : 1\n"),
		"cells":       []byte("# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n   algbw\n" + strings.Repeat("        8\n", 1000)),
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GC()
			in := &endless{text: sample, left: megabytes << 20}
			found, err := Read("big", in)
			if in.left > 0 {
				t.Errorf("stopped %d bytes before the end: %v", in.left, err)
			}
			if in.peak > bound {
				t.Errorf("%d MiB in use, want at most %d", in.peak>>20, bound>>20)
			}
			if len(found) > maxResults {
				t.Errorf("%d results, want at most %d", len(found), maxResults)
			}
			if name == "rows" && !noteOf(found, "more than 32768 rows") {
				t.Error("no note of the rows that were left out")
			}
			if name == "tables" && !noteOf(found, "more than 1024 results") {
				t.Error("no note of the results that were left out")
			}
		})
	}
}

func noteOf(found []fabric.Result, piece string) bool {
	return slices.ContainsFunc(found, func(r fabric.Result) bool {
		return logOf(r) != nil && slices.ContainsFunc(logOf(r).Lines, func(l fabric.LogLine) bool {
			return l.Level == fabric.LineWarning && strings.Contains(l.Text, piece)
		})
	})
}

// BenchmarkRead is the rate at which a log is read: a GiB takes a GiB over this.
func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"log_infiniband.txt", "nccl_tag_output.txt", "perftest_latency.txt"} {
		sample, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			const size = 8 << 20
			b.SetBytes(size)
			for b.Loop() {
				if _, err := Read("x", &endless{text: sample, left: size}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
