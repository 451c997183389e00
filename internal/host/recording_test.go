package host

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var updateRecordings = flag.Bool("update-recordings", false, "rewrite the golden recordings")

// toldHost answers what the test lays down, and counts how often it is asked.
type toldHost struct {
	files map[string]string
	dirs  map[string][]string
	links map[string]string
	dumps map[uint16]string
	runs  map[string]string
	fail  map[string]error
	asked *int
}

func (h toldHost) Name() string { return "host1" }

func told[V any](h toldHost, answers map[string]V, key string) (V, error) {
	*h.asked++
	v, ok := answers[key]
	if err := h.fail[key]; err != nil {
		return v, err
	}
	if !ok {
		return v, &fs.PathError{Op: "open", Path: key, Err: syscall.ENOENT}
	}
	return v, nil
}

func (h toldHost) ReadFile(name string) ([]byte, error) {
	text, err := told(h, h.files, name)
	if err != nil && text == "" {
		return nil, err
	}
	return []byte(text), err
}

func (h toldHost) ReadDir(name string) ([]string, error) { return told(h, h.dirs, name) }
func (h toldHost) ReadLink(name string) (string, error)  { return told(h, h.links, name) }
func (h toldHost) Output(_ context.Context, c Command) ([]byte, error) {
	text, err := told(h, h.runs, strings.Join(append(c.Env, c.Argv...), "|"))
	return []byte(text), err
}

func (h toldHost) Dump(_ context.Context, messageType uint16, _ uint8) ([]byte, error) {
	text, err := told(h, map[string]string{"18": h.dumps[18]}, fmt.Sprint(messageType))
	return []byte(text), err
}

func recordedTime() time.Time { return time.Date(2026, 3, 1, 11, 0, 0, 5, time.FixedZone("", 3600)) }

func exampleHost() toldHost {
	return toldHost{
		asked: new(int),
		files: map[string]string{
			"/proc/cmdline":          "quiet iommu=pt\n",
			"/no-newline":            "1",
			"/empty":                 "",
			"/marker":                "a\n-- read text /proc/cmdline --\nb\n",
			"/marker-first":          "-- end --\n",
			"/config":                "\xde\x10\x00\xff" + strings.Repeat("\x00", 60),
			"/latin1":                "K\xfchlk\xf6rper\n",
			"/crlf":                  "a\r\n",
			"/with space":            "x\n",
			"/odd\nname -- ":         "y\n",
			"/partly":                "what came before the error",
			"/\xff\xfe":              "z\n",
			"/sys/class/net/ü/speed": "1\n",
		},
		dirs:  map[string][]string{"/dir": {"a", "b c", "d\ne", "\xff"}, "/dir-empty": {}},
		links: map[string]string{"/link": "../../devices/pci0000:00", "/loop": "loop"},
		dumps: map[uint16]string{18: "plain text, and hexadecimal all the same"},
		runs: map[string]string{
			"lspci|-vvv":                     "00:00.0 Host bridge\n",
			"LC_ALL=C|tool|with space|a\"b|": "1",
			"dmesg":                          "[    0.000000] Linux\n",
		},
		fail: map[string]error{
			"/denied":   &fs.PathError{Op: "open", Path: "/denied", Err: syscall.EACCES},
			"/invalid":  &fs.PathError{Op: "read", Path: "/invalid", Err: syscall.EINVAL},
			"/large":    &fs.PathError{Op: "read", Path: "elsewhere", Err: ErrTooLarge},
			"/wrapped":  fmt.Errorf("reader: %w", &fs.PathError{Op: "open", Path: "/wrapped", Err: fs.ErrNotExist}),
			"/partly":   errors.New("input/output \xff error"),
			"/listed":   ErrNotSupported,
			"dmesg":     &ExitError{Command: "dmesg", Status: 1, Stderr: "read kernel buffer failed: Operation not permitted"},
			"none":      &exec.Error{Name: "none", Err: exec.ErrNotFound},
			"slow":      fmt.Errorf("slow: %w", context.DeadlineExceeded),
			"joined":    errors.Join(&ExitError{Command: "joined", Status: -1}, nil),
			"both":      errors.Join(&ExitError{Command: "both", Status: 3, Stderr: "x"}, context.Canceled),
			"16":        fmt.Errorf("netlink dump 16: %w", syscall.EPERM),
			"/deadline": &fs.PathError{Op: "read", Path: "/deadline", Err: os.ErrDeadlineExceeded},
		},
	}
}

// said is one answer in a form that can be compared: the value, the text of the error, and what it is.
type said struct {
	Value any
	Error string
	Is    []string
	Path  string
	Exit  *ExitError
	Errno syscall.Errno
}

func saidOf(value any, err error) said {
	s := said{Value: value}
	if err == nil {
		return s
	}
	s.Error = validText(err.Error()) // as JSON would hold it
	for _, k := range sentinels() {
		if errors.Is(err, k.err) {
			s.Is = append(s.Is, k.name)
		}
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		s.Path = validText(p.Op + " " + p.Path + " " + p.Err.Error())
	}
	s.Exit, _ = errors.AsType[*ExitError](err)
	s.Errno, _ = errors.AsType[syscall.Errno](err)
	return s
}

func commands() []Command {
	return []Command{
		{Argv: []string{"lspci", "-vvv"}}, {Argv: []string{"tool", "with space", `a"b`, ""}, Env: []string{"LC_ALL=C"}},
		{Argv: []string{"dmesg"}}, {Argv: []string{"none"}}, {Argv: []string{"slow"}}, {Argv: []string{"joined"}}, {Argv: []string{"both"}},
		{Argv: []string{"LC_ALL=C", "tool", "with space", `a"b`, ""}}, // another command than the second, and unknown
	}
}

// interview asks a host everything that exampleHost knows, and more.
func interview(h interface {
	Host
	Linker
	Netlinker
	Commander
}) map[string]said {
	ctx := context.Background()
	out := map[string]said{"name": saidOf(h.Name(), nil)}
	e := exampleHost()
	paths := []string{"/absent", "/a/../absent2", "/dir", "/dir-empty", "/link", "/loop"}
	for name := range e.files {
		paths = append(paths, name)
	}
	for name := range e.fail {
		if strings.HasPrefix(name, "/") {
			paths = append(paths, name)
		}
	}
	for _, name := range paths {
		b, err := h.ReadFile(name)
		out["read "+name] = saidOf(string(b), err)
		names, err := h.ReadDir(name)
		out["list "+name] = saidOf(strings.Join(names, "|"), err)
		target, err := h.ReadLink(name)
		out["link "+name] = saidOf(target, err)
	}
	for _, messageType := range []uint16{16, 18} {
		b, err := h.Dump(ctx, messageType, 2)
		out[fmt.Sprint("dump ", messageType)] = saidOf(string(b), err)
	}
	for _, c := range commands() {
		b, err := h.Output(ctx, c)
		out[fmt.Sprintf("run %q", append(c.Env, c.Argv...))] = saidOf(string(b), err)
	}
	return out
}

// normal asks what a recording asks: clean paths.
type normal struct{ toldHost }

func (n normal) ReadFile(name string) ([]byte, error) {
	return n.toldHost.ReadFile(filepath.Clean(name))
}
func (n normal) ReadDir(name string) ([]string, error) {
	return n.toldHost.ReadDir(filepath.Clean(name))
}
func (n normal) ReadLink(name string) (string, error) {
	return n.toldHost.ReadLink(filepath.Clean(name))
}

func exampleRecording(t testing.TB) []byte {
	t.Helper()
	r := NewRecorder(exampleHost(), "v0.3.0 (test)", recordedTime())
	interview(r)
	return r.Archive()
}

// TestRecordingAnswersAsTheHost compares the host with its Recorder, and with the replay of what that wrote.
func TestRecordingAnswersAsTheHost(t *testing.T) {
	want := interview(normal{exampleHost()})
	live := exampleHost()
	r := NewRecorder(live, "v0.3.0 (test)", recordedTime())
	if diff := cmp.Diff(want, interview(r)); diff != "" {
		t.Errorf("recorder (-host +recorder):\n%s", diff)
	}
	asked := *live.asked
	if interview(r); *live.asked != asked {
		t.Error("what was asked again went to the host again")
	}
	archive := r.Archive()
	p, err := LoadRecording(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, interview(p)); diff != "" {
		t.Errorf("replay (-host +replay):\n%s", diff)
	}
	if !p.Time().Equal(recordedTime().Truncate(time.Second)) || p.Tool() != "v0.3.0 (test)" {
		t.Errorf("heading: %v, %q", p.Time(), p.Tool())
	}
	again := NewRecorder(p, p.Tool(), p.Time())
	interview(again)
	if !bytes.Equal(archive, again.Archive()) {
		t.Error("a recording of the replay is another one")
	}
}

func TestRecordingGolden(t *testing.T) {
	const golden = "testdata/recording/example.txtar"
	got := exampleRecording(t)
	if *updateRecordings {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
	// Other programs read it as the txtar that it is.
	var entries int
	for _, f := range txtar.Parse(got).Files {
		entries++
		if f.Name == "read text /proc/cmdline" && string(f.Data) != "quiet iommu=pt\n" {
			t.Errorf("txtar reads %q", f.Data)
		}
	}
	if n := bytes.Count(got, []byte("\n-- ")); entries != n || n < 40 {
		t.Errorf("txtar reads %d entries of %d", entries, n)
	}
}

func TestReplayUnasked(t *testing.T) {
	p, err := LoadRecording(bytes.NewReader(NewRecorder(exampleHost(), "v1", recordedTime()).Archive()))
	if err != nil {
		t.Fatal(err)
	}
	for what, s := range interview(p) {
		if what != "name" && (!slices.Equal(s.Is, []string{"not-recorded"}) || s.Value != "") {
			t.Errorf("%s: %+v", what, s)
		}
	}
}

// TestReplayTakesNoInput: what a command was given to read is not recorded, so its answer is unknown.
func TestReplayTakesNoInput(t *testing.T) {
	p, err := LoadRecording(bytes.NewReader(exampleRecording(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := Command{Argv: []string{"lspci", "-vvv"}}
	if _, err := p.Output(t.Context(), c); err != nil {
		t.Error(err)
	}
	c.Stdin = strings.NewReader("")
	if _, err := p.Output(t.Context(), c); !errors.Is(err, ErrNotRecorded) {
		t.Error(err)
	}
}

func TestRecorderRefusesInput(t *testing.T) {
	r := NewRecorder(exampleHost(), "v1", recordedTime())
	if _, err := r.Output(context.Background(), Command{Argv: []string{"lspci", "-vvv"}, Stdin: strings.NewReader("x")}); !errors.Is(err, ErrNotRecorded) {
		t.Error(err)
	}
}

// bareHost has files and nothing else.
type bareHost struct{ toldHost }

func (bareHost) ReadLink() {}
func (bareHost) Dump()     {}
func (bareHost) Output()   {}

func TestRecorderOfLesserHost(t *testing.T) {
	r := NewRecorder(bareHost{exampleHost()}, "v1", recordedTime())
	for what, s := range interview(r) {
		op, _, _ := strings.Cut(what, " ")
		if unsupported := slices.Contains(s.Is, "unsupported"); slices.Contains([]string{"link", "dump", "run"}, op) && !unsupported {
			t.Errorf("%s: %+v", what, s)
		}
	}
}

func TestRecorderIsBounded(t *testing.T) {
	h := exampleHost()
	h.files["/much"] = strings.Repeat("x", maxAnswer+1)
	for i := range 8 {
		h.files[fmt.Sprint("/file", i)] = strings.Repeat("x", maxAnswer/2)
	}
	r := NewRecorder(h, "v1", recordedTime())
	if b, err := r.ReadFile("/much"); !errors.Is(err, ErrTooLarge) || len(b) > 0 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	full := 0
	for i := range 8 {
		if _, err := r.ReadFile(fmt.Sprint("/file", i)); errors.Is(err, ErrTooLarge) {
			full++
		} else if err != nil {
			t.Error(err)
		}
	}
	if full == 0 || full == 8 {
		t.Errorf("%d of 8 files were refused", full)
	}
	archive := r.Archive()
	p, err := LoadRecording(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.ReadFile("/file7"); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

func TestRecorderConcurrent(t *testing.T) {
	r := NewRecorder(Local{}, "v1", recordedTime())
	Each(make([]int, 64), 8, func(int) {
		if _, err := r.ReadFile("/proc/self/limits"); err != nil {
			t.Error(err)
		}
	})
	if n := strings.Count(string(r.Archive()), "limits"); n != 1 {
		t.Errorf("%d entries", n)
	}
}

func TestRunQuestionsDiffer(t *testing.T) {
	seen := map[string]Command{}
	for _, c := range []Command{
		{Argv: []string{"a", "b c"}}, {Argv: []string{"a", "b", "c"}}, {Argv: []string{"a b", "c"}}, {Argv: []string{"a", `"b c"`}},
		{Argv: []string{"a", "b", "c", ""}}, {Argv: []string{"a", "--", "b", "c"}}, {Argv: []string{"b", "c"}, Env: []string{"a"}},
		{Argv: []string{"c"}, Env: []string{"a", "b"}}, {Argv: []string{"a", "b\nc"}}, {Argv: []string{"a", `b\nc`}}, {Argv: []string{"a", "b c\u00a0"}},
		{Argv: []string{"--"}, Env: []string{"a"}}, {Argv: []string{"a", "--", "--"}},
	} {
		q := runQuestion(c)
		if first, ok := seen[q.key]; ok && !reflect.DeepEqual(first, c) {
			t.Errorf("%q and %q are both %s", first.Argv, c.Argv, q.key)
		}
		seen[q.key] = c
		if err := q.check(); err != nil {
			t.Errorf("%q: %v", c.Argv, err)
		}
	}
}
