package intake

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
)

const table = "#                                                              out-of-place                       in-place\n" +
	"#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n" +
	"   268435456      67108864     float     sum      -1   3230.0   83.11  155.82      0   3228.1   83.16  155.92      0\n"

// write puts files into a new folder; a name with a slash makes folders.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		whole := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(whole), 0o700), os.WriteFile(whole, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func read(t *testing.T, paths ...string) *Content {
	t.Helper()
	c, err := Read(t.Context(), files.Disk{}, paths, strings.NewReader(""), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tables(c *Content) (n int) {
	for _, r := range c.Results {
		if r.Kind == fabric.NCCLTests {
			n++
		}
	}
	return n
}

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.String()
}

func tarred(t testing.TB, files ...[2]string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		head := &tar.Header{Name: f[0], Mode: 0o600, Size: int64(len(f[1])), Typeflag: tar.TypeReg}
		if target, link := strings.CutPrefix(f[1], "-> "); link {
			head.Typeflag, head.Linkname, head.Size, f[1] = tar.TypeSymlink, target, 0, ""
		}
		if _, err := w.Write(nil); err != nil || w.WriteHeader(head) != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zipped(t testing.TB, files ...[2]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		in, err := w.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What people give, however it is packed, holds the same table, and a name inside leads nowhere.
func TestPacking(t *testing.T) {
	member := [2]string{"../../etc/node1/run.log", table}
	for name, content := range map[string]string{
		"plain.txt":         table,
		"one.gz":            gzipped(t, table),
		"plain.tar":         tarred(t, member),
		"run.tar.gz":        gzipped(t, tarred(t, member, [2]string{"node2/notes", "hello\n"})),
		"run.zip":           zipped(t, member, [2]string{"empty/", ""}),
		"gz-in-zip.zip":     zipped(t, [2]string{"a.gz", gzipped(t, table)}),
		"zip-in-tar.tgz":    gzipped(t, tarred(t, [2]string{"a.zip", zipped(t, member)})),
		"no-name-of-gz.log": gzipped(t, table),
		"link inside.tar":   tarred(t, member, [2]string{"latest", "-> a/run.log"}),
	} {
		t.Run(name, func(t *testing.T) {
			folder := write(t, map[string]string{name: content})
			c := read(t, filepath.Join(folder, name))
			if tables(c) != 1 || c.Open[0].Reason != "" {
				t.Errorf("%d tables, %+v", tables(c), c.Open)
			}
			for _, s := range c.Sources {
				if strings.Contains(s.File, "..") {
					t.Errorf("name %q", s.File)
				}
			}
			piped, err := Read(t.Context(), files.Disk{}, []string{"-"}, strings.NewReader(content), func(string) {})
			if err != nil || tables(piped) != 1 {
				t.Errorf("through a pipe: %v", err)
			}
		})
	}
}

// What cannot be read is said with its reason, and what is beside it is read.
func TestUnreadable(t *testing.T) {
	nested := table
	for range maxArchives + 1 {
		nested = gzipped(t, nested)
	}
	for name, c := range map[string]struct{ content, want string }{
		"empty":                 {"", "empty"},
		"white space":           {" \n\n", "only white space"},
		"program":               {"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00", "binary"},
		"zeros packed":          {gzipped(t, strings.Repeat("\x00", 1<<20)), "nothing but zero bytes"},
		"prose":                 {"It was slow.\nVery slow.\n", "nothing recognised in 2 lines"},
		"archives in archives":  {nested, "archives inside each other"},
		"cut gzip":              {gzipped(t, strings.Repeat(table, 99))[:200], "unexpected EOF"},
		"cut tar":               {tarred(t, [2]string{"a", strings.Repeat("hello\n", 999)})[:2000], "unexpected EOF"},
		"tar with a link":       {tarred(t, [2]string{"a", "-> /etc/passwd"}), "a link that leads out"},
		"zip of nothing":        {zipped(t), "no files in this archive"},
		"no zip":                {"PK\x03\x04 and no more", "not a valid zip file"},
		"mistake of a person":   {"cluster: {gpu: h100}\nobserved:\n- {test: nccl, busbw_gb: 5}\n", "line 3, column 16"},
		"mistake in table file": {"{\"collective\": \"all_reduce\",\n \"rows\": [],\n \"colective\": 1}", "line 3"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := write(t, map[string]string{"given": c.content, "table.txt": table})
			read := read(t, filepath.Join(folder, "given"), filepath.Join(folder, "table.txt"))
			if !strings.Contains(read.Open[0].Reason, c.want) || read.Open[1].Reason != "" || tables(read) == 0 {
				t.Errorf("%+v, want %q; %d tables", read.Open, c.want, tables(read))
			}
			if unknown := read.Unknown(); len(unknown) != 1 || unknown[0].Verdict != fabric.VerdictUnknown {
				t.Errorf("%+v", unknown)
			}
		})
	}
}

// zeros packs a gibibyte of zeros behind a line of text in a megabyte, without holding it.
func zeros(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bomb.gz")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := gzip.NewWriter(out)
	block := make([]byte, 1<<20)
	_, _ = io.WriteString(w, "hello\n") // the write of the blocks fails where this did
	for range 1 << 10 {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestBounds(t *testing.T) {
	t.Run("a gibibyte in a megabyte", func(t *testing.T) {
		if c := read(t, zeros(t)); len(c.Unknown()) != 1 {
			t.Errorf("%+v", c.Open)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		o := newOpener(t.Context(), files.Disk{}, nil, nil, nil)
		o.left.bytes = 10
		text, err := io.ReadAll(&bounded{in: strings.NewReader(table), o: o})
		if len(text) != 10 || !errors.Is(err, errTooLarge) {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	})
	t.Run("files", func(t *testing.T) {
		var members [][2]string
		for i := range maxFiles + 5 {
			members = append(members, [2]string{fmt.Sprintf("node%d/log", i), "x\n"})
		}
		c := read(t, filepath.Join(write(t, map[string]string{"many.tar": tarred(t, members...)}), "many.tar"))
		if len(c.Sources) != maxFiles || !strings.Contains(c.Open[0].Reason, "more than 20000 files") {
			t.Errorf("%d sources, %s", len(c.Sources), c.Open[0].Reason)
		}
	})
	t.Run("an end", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		<-ctx.Done()
		if _, err := Read(ctx, files.Disk{}, []string{"."}, nil, func(string) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// Files that other systems wrote, and holes that a crash leaves, hide no table.
func TestEncodings(t *testing.T) {
	wide := "\xff\xfe"
	for _, unit := range utf16.Encode([]rune(table)) {
		wide += string([]byte{byte(unit), byte(unit >> 8)})
	}
	for name, content := range map[string]string{
		"UTF-16":           wide,
		"CRLF":             strings.ReplaceAll(table, "\n", "\r\n"),
		"zeros in a log":   "started\n" + strings.Repeat("\x00", 3000) + "\n" + table,
		"Latin-1":          "Knoten f\xfcr Messung\n" + table,
		"byte order mark":  "\xef\xbb\xbf" + table,
		"terminal control": "\x1b[32m\x1b[0m\b\b\n" + table,
	} {
		t.Run(name, func(t *testing.T) {
			if c := read(t, filepath.Join(write(t, map[string]string{"x": content}), "x")); tables(c) != 1 {
				t.Errorf("%d tables, %+v", tables(c), c.Sources)
			}
		})
	}
}

// The outputs of tools are of the host that the prompt, the prefix or the folder names.
func TestHosts(t *testing.T) {
	folder := write(t, map[string]string{
		"all/node7/ibstat.txt": "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n",
		"all/pasted.txt":       "root@node8:~# ibv_devinfo\nhca_id:\tmlx5_1\n\tfw_ver:\t28.39.1002\n\nroot@node9:~# uname -a\nLinux node9 5.15.0-91-generic #1 SMP\n",
		"all/pdsh.txt":         "node10: CA 'mlx5_0'\nnode10: \tFirmware version: 28.39.1002\nnode11: CA 'mlx5_0'\nnode11: \tFirmware version: 28.39.2048\n",
	})
	c := read(t, filepath.Join(folder, "all"))
	var hosts []string
	for _, f := range c.Facts {
		hosts = append(hosts, f.Facts.Node)
	}
	slices.Sort(hosts)
	if want := []string{"node10", "node11", "node7", "node8", "node9"}; !slices.Equal(hosts, want) {
		t.Errorf("%q, want %q", hosts, want)
	}
	for _, s := range c.Sources {
		if s.Unclaimed > 0 || s.Lines == 0 {
			t.Errorf("%+v", s)
		}
	}
	if len(c.Results) != 1 || len(c.Unknown()) > 0 {
		t.Errorf("%d results to explain, %+v", len(c.Results), c.Unknown())
	}
}

func FuzzArchive(f *testing.F) {
	for _, text := range []string{table, gzipped(f, table), tarred(f, [2]string{"a/b", table}), zipped(f, [2]string{"a", table}), gzipped(f, tarred(f, [2]string{"a", gzipped(f, table)})), "BZh91AY&SY"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Read(t.Context(), files.Disk{}, []string{name}, nil, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Results) == 0 && len(c.Unknown()) == 0 {
			t.Fatal("neither a result nor a reason")
		}
		for _, s := range c.Sources {
			if s.Unclaimed > s.Lines || !strings.HasPrefix(s.File, name) || strings.Contains(s.File[len(name):], "/../") {
				t.Fatalf("%+v", s)
			}
		}
	})
}
