package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

// hostile is text that a machine, a file or a neighbour may give: it clears a terminal, rings, colors (in both forms of
// CSI), turns the writing direction, starts a line of its own, and is no UTF-8.
const hostile = "x\x1b[2J\x07\u009b31m\u202e\u2028\x00\x7f\xff\r\nFORGED"

// harmed returns the first character in a text that a terminal would obey, or a line that only hostile text starts.
func harmed(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSuffix(line, "\n"), "FORGED") {
			return fmt.Sprintf("a line of its own: %q", line)
		}
		for i := 0; i < len(line); {
			r, size := utf8.DecodeRuneInString(line[i:])
			if r == utf8.RuneError && size == 1 || r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
				return fmt.Sprintf("%q in %q", line[i:i+size], line)
			}
			i += size
		}
	}
	return ""
}

// stringFields lists the paths of all strings in a value: struct fields, elements and map keys.
func stringFields(v reflect.Value, path string, found map[string][]func(string)) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			found[path] = append(found[path], func(s string) { v.SetString(s) })
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			stringFields(v.Elem(), path, found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			stringFields(v.Field(i), path+"."+v.Type().Field(i).Name, found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			stringFields(v.Index(i), path+"[]", found)
		}
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String && v.Type().Elem().Kind() == reflect.String && !v.IsNil() {
			found[path+"{}"] = append(found[path+"{}"], func(s string) {
				v.SetMapIndex(reflect.ValueOf(s).Convert(v.Type().Key()), reflect.ValueOf(s).Convert(v.Type().Elem()))
			})
		}
	}
}

// sample loads the facts of a recorded machine, and fills what it lacks.
func sample(t *testing.T) *fabric.Facts {
	t.Helper()
	names, err := filepath.Glob("../check/testdata/recordings/*")
	if err != nil || len(names) == 0 {
		t.Fatalf("no recording: %v", err)
	}
	for f, err := range facts.LoadFrom(t.Context(), files.Disk{}, names[0]) {
		if err != nil {
			t.Fatal(err)
		}
		f.Missing = append(f.Missing, fabric.Missing{What: "gpus", Source: "nvidia-smi", Reason: "not installed"})
		f.Disagree = append(f.Disagree, fabric.Disagreement{})
		if len(f.NICs) > 0 {
			f.LLDP = append(f.LLDP, fabric.LLDPNeighbour{NIC: f.NICs[0].Name, System: "leaf1", Port: "p1", Source: "lldpd"})
		}
		return f
	}
	t.Fatal("the recording is empty")
	return nil
}

func writeFacts(t *testing.T, f *fabric.Facts) string {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "facts.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// unharmed runs a command and checks what it prints on either stream.
func unharmed(t *testing.T, stdin string, args ...string) {
	t.Helper()
	r := call(stdin, args...)
	for stream, printed := range map[string]string{"stdout": r.stdout, "stderr": r.stderr} {
		if where := harmed(printed); where != "" {
			t.Errorf("%q: %s: %s", args, stream, where)
		}
	}
}

// Nothing that a machine says reaches the terminal as it is: neither its name nor any other text in its facts, in what
// any command prints, on either stream. Each text is hostile once alone, and those that a reader takes all together.
func TestHostileFacts(t *testing.T) {
	good, cluster := writeFacts(t, sample(t)), example(t, "roce-mi300x")
	paths := make(map[string][]func(string))
	stringFields(reflect.ValueOf(sample(t)).Elem(), "facts", paths)
	all := sample(t)
	every := make(map[string][]func(string))
	stringFields(reflect.ValueOf(all).Elem(), "facts", every)
	taken := 0
	for path := range paths {
		f := sample(t)
		fields := make(map[string][]func(string))
		stringFields(reflect.ValueOf(f).Elem(), "facts", fields)
		for _, set := range fields[path] {
			set(hostile)
		}
		bad := writeFacts(t, f)
		t.Run(path, func(t *testing.T) {
			unharmed(t, "", "check", "-f", cluster, "--snapshot", bad, "-v")
			unharmed(t, "", "diff", good, bad)
		})
		for _, err := range facts.LoadFrom(t.Context(), files.Disk{}, bad) {
			if err == nil {
				taken++
				for _, set := range every[path] {
					set(hostile)
				}
			}
		}
	}
	if len(paths) < 60 || taken < 20 {
		t.Fatalf("%d fields, %d of them read: this test would detect nothing", len(paths), taken)
	}
	bad := writeFacts(t, all)
	for _, args := range [][]string{
		{"check", "--snapshot", bad, "-v"}, {"check", "--snapshot", bad, "-o", "json"}, {"check", "--snapshot", bad, "--snapshot", good},
		{"diff", "--identities", bad, good}, {"diff", good, bad, "-o", "json"}, {"topo", "show", "--snapshot", bad}, {"topo", "nccl", "--snapshot", bad},
		{"predict", "--snapshot", bad, "--nodes", "2"}, {"explain", "../results/testdata/rccl.txt", "--snapshot", bad},
	} {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) { unharmed(t, "", args...) })
	}
}

// Nor do names of files, values of flags and text in files.
func TestHostileNames(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "x\x1b[2J\u202e\nFORGED")
	for _, text := range []string{"", "{", "FORGED\x1b[2J\nx: \x1b[31m\nkind: Cluster\x9b\n", "<system version=\"1\"><cpu numaid=\"\x1b[2J&#10;FORGED\"/></system>",
		"# nThread 1\x1b[2J\n" + hostile + "\nnode1:1:1 [0] NCCL WARN " + hostile + "\nnode1:1:1 [0] NCCL INFO NCCL_IB_HCA set by environment to " + hostile + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"plan", "-f", name}, {"render", "-f", name, "-d", name + ".out"}, {"check", "-f", name}, {"check", "--snapshot", name}, {"diff", name, name},
			{"explain", name}, {"explain", "-", "-f", name}, {"topo", "lint", name}, {"topo", "nccl", "--snapshot", name},
			{"topo", "show", name}, {"predict", "--machine", hostile}, {"predict", "--machine", "hgx-h100", "--nodes", "2", "--env", hostile},
			{"predict", "--machine", "hgx-h100", "--nodes", "2", "--env", "NCCL_ALGO=" + hostile}, {"size", hostile}, {"size", name}, {"catalog", hostile}, {"cause", hostile},
			{"schema", hostile}, {"init", "--example", hostile}, {"collect", "--root", name}, {"collect", "--text", name}, {"collect", "--hosts", hostile},
			{"lab", "up", "--fault", hostile}, {"lab", "up", "--hardware", name}, {"up", "--lab", "--fault", "mtu=" + hostile}, {"report", name}, {hostile}, {"plan", hostile},
			{"plan", "--" + hostile}, {"-o", hostile, "plan"}, {"predict", "--nodes", hostile}, {"bench", "--suite", hostile},
		} {
			unharmed(t, text, args...)
		}
	}
}

// The screen takes text in pieces of any size.
func TestScreen(t *testing.T) {
	const colored = "\x1b[1;31mred\x1b[0m"
	for _, tt := range []struct {
		name, text, want string
		color            bool
	}{
		{"plain", "a\tb\n", "a\tb\n", false},
		{"letters", "äß漢😀 \u00a0", "äß漢😀 \u00a0", false},
		{"escape", "a\x1b[2Jb", `a\u001b[2Jb`, false},
		{"a color that nobody may set", colored, `\u001b[1;31mred\u001b[0m`, false},
		{"a color", colored, colored, true},
		{"something else beside a color", "\x1b[2J" + colored + "\x1b]0;title\x07\x1b", `\u001b[2J` + colored + `\u001b]0;title\u0007\u001b`, true},
		{"CSI in one character", "\u009b31m", `\u009b31m`, true},
		{"not UTF-8", "\xff\xc3", `\xff\xc3`, false},
		{"direction", "\u202eabc", `\u202eabc`, false},
		{"beyond the first plane", "\U000e0001", `\udb40\udc01`, false},
		{"carriage return", "a\rb", `a\u000db`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.text); size++ {
				var got bytes.Buffer
				s := &screen{to: &got, color: tt.color}
				for at := 0; at < len(tt.text); at += size {
					part := tt.text[at:min(at+size, len(tt.text))]
					if n, err := s.Write([]byte(part)); err != nil || n != len(part) {
						t.Fatal(n, err)
					}
				}
				if err := s.flush(); err != nil || got.String() != tt.want {
					t.Errorf("in pieces of %d: %q, %v, want %q", size, &got, err, tt.want)
				}
			}
		})
	}
}

// In JSON the same text is read back.
func TestScreenKeepsJSON(t *testing.T) {
	var got bytes.Buffer
	s := &screen{to: &got}
	text := "\u0080\x7f\u202e\U000e0001ä\n"
	if err := json.NewEncoder(s).Encode(text); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(got.Bytes(), &back); err != nil || back != text || harmed(got.String()) != "" {
		t.Errorf("%q is read back as %q, %v", text, back, err)
	}
}

// fill makes a value in which every text is hostile, and every list and map has an entry.
func fill(v reflect.Value, depth int) {
	if depth > 12 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), depth+1)
		fill(v.Index(1), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

func filled[T any]() *T {
	v := new(T)
	fill(reflect.ValueOf(v).Elem(), 0)
	return v
}

// No printer of a command lets text through: neither control characters nor a line that it starts itself.
func TestHostileValues(t *testing.T) {
	applied := filled[apply.Applied]()
	failing := *filled[fabric.Findings]()
	for i := range failing.Findings {
		failing.Findings[i].Status = fabric.Fail
	}
	for _, tt := range []struct {
		name  string
		print func(a *app) error
	}{
		{"plan", func(a *app) error { return a.printPlan(filled[fabric.Plan]()) }},
		{"apply", func(a *app) error { return a.printApplied([]apply.Applied{*applied}, false) }},
		{"apply not applicable", func(a *app) error {
			return a.printApplied([]apply.Applied{{Node: hostile, Status: fabric.NotApplicable, Reason: hostile}}, true)
		}},
		{"diff", func(a *app) error { return filled[differences]().text(a.stdout) }},
		{"diff of nothing", func(a *app) error { return differences{A: hostile, B: hostile}.text(a.stdout) }},
		{"lab", func(a *app) error {
			l := filled[lab.Lab]()
			return a.printLab(l)
		}},
		{"up", func(a *app) error {
			r := filled[report.Run]()
			r.Findings = &failing
			return a.printRun(pipeline.Outcome{Run: *r, Report: hostile})
		}},
		{"explain", func(a *app) error {
			return report.Explanation(a.stdout, filled[fabric.Explanation](), a.textOptions())
		}},
		{"size", func(a *app) error { return report.Sizing(a.stdout, filled[fabric.Sizing](), a.textOptions()) }},
		{"size --derive", func(a *app) error { return report.Derivation(a.stdout, filled[fabric.Sizing](), a.textOptions()) }},
		{"predict", func(a *app) error {
			return report.Prediction(a.stdout, filled[fabric.Prediction](), a.textOptions())
		}},
		{"render", func(a *app) error { return a.printLeftOut(*filled[fabric.Index]()) }},
		{"progress", func(a *app) error { a.progress("%s: %v", hostile, errors.New(hostile)); return nil }},
		{"an error", func(a *app) error {
			a.exit(errors.Join(errors.New(hostile), &host.ExitError{Command: hostile, Stderr: hostile}))
			return nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, color := range []bool{false, true} {
				var out bytes.Buffer
				s := &screen{to: &out, color: color}
				a := &app{stdout: s, stderr: s, output: "text", verbose: true}
				if err := tt.print(a); err != nil {
					t.Error(err)
				}
				if where := harmed(out.String()); where != "" || out.Len() == 0 {
					t.Errorf("%d bytes; %s", out.Len(), where)
				}
			}
		})
	}
}

// Output that could not be written whole has no verdict, whoever printed it.
func TestLostOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device that is always full: %v", err)
	}
	defer full.Close()
	for _, args := range [][]string{{"version"}, {"plan", "-f", example(t, "roce-mi300x")}, {"catalog"}, {"diff", writeFacts(t, sample(t)), writeFacts(t, sample(t))}} {
		var stderr bytes.Buffer
		if status := Main("test", args, strings.NewReader(""), full, &stderr); status != exitUsage || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%s: exit status %d: %s", args[0], status, &stderr)
		}
	}
}
