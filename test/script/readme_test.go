package script

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/host"
)

// block is a console block of the README: its commands, each with the output that is shown below it.
type block struct {
	line     int
	commands []command
}

type command struct {
	text string
	want []string
}

// consoleBlocks cuts a page into its console blocks.
func consoleBlocks(t *testing.T, page string) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "```console":
			inside = true
			blocks = append(blocks, block{line: i + 1})
		case line == "```":
			inside = false
		case !inside:
		default:
			b := &blocks[len(blocks)-1]
			if text, ok := strings.CutPrefix(line, "$ "); ok {
				b.commands = append(b.commands, command{text: text})
				continue
			}
			if len(b.commands) == 0 {
				t.Fatalf("%s:%d: output before a command", page, i+1)
			}
			c := &b.commands[len(b.commands)-1]
			c.want = append(c.want, line)
		}
	}
	return blocks
}

// notRun are the commands of the README that this test leaves out, and why.
var notRun = []struct {
	command *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`^make `), "make test runs this test, and make up is a command of its own"},
	{regexp.MustCompile(`^(pbpaste|wl-paste|xclip) `), "there is no clipboard"},
	{regexp.MustCompile(`^railwright (apply|check|bench) -f cluster.yaml`), "there are no hosts to reach"},
	{regexp.MustCompile(`^(kubectl logs|railwright apply -f vcf.yaml --dry-run=server)`), "there is no cluster of Kubernetes"},
	{regexp.MustCompile(`^railwright collect `), "the recording of the host that runs the test is nobody's business"},
}

func leftOut(c command) bool {
	for _, n := range notRun {
		if n.command.MatchString(c.text) {
			return true
		}
	}
	return false
}

// TestPages runs the commands of other pages, as TestReadme does.
func TestPages(t *testing.T) {
	for _, page := range []string{"docs/claims.md"} {
		folder := t.TempDir()
		if err := os.CopyFS(filepath.Join(folder, "docs", "samples"), os.DirFS("../../docs/samples")); err != nil {
			t.Fatal(err)
		}
		blocks := consoleBlocks(t, page)
		if len(blocks) == 0 {
			t.Errorf("%s: nothing was run", page)
		}
		for _, b := range blocks {
			for _, c := range b.commands {
				got := progress.ReplaceAllString(runIn(t, folder, filepath.Join(folder, "lab"), c.text), "")
				if at, ok := shows(got, c.want); !ok {
					t.Errorf("%s:%d: $ %s\nthe page shows, from line %d of its output on:\n%s\n\nit printed:\n%s", page, b.line, c.text, at+1, strings.Join(c.want[at:], "\n"), got)
				}
			}
		}
	}
}

// TestReadme runs the commands of the README in a copy of the files that it names, and holds their output against what the
// README shows: line by line, where "..." stands for any lines.
func TestReadme(t *testing.T) {
	used := make(map[int]bool)
	ran := 0
	for _, b := range consoleBlocks(t, "README.md") {
		t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) {
			folder := t.TempDir()
			if err := os.CopyFS(filepath.Join(folder, "docs", "samples"), os.DirFS("../../docs/samples")); err != nil {
				t.Fatal(err)
			}
			lab := filepath.Join(folder, "lab")
			for _, c := range b.commands {
				for i, n := range notRun {
					used[i] = used[i] || n.command.MatchString(c.text)
				}
				if leftOut(c) {
					continue
				}
				if needsLab(c) && os.Geteuid() != 0 {
					t.Skipf("%s: what the README shows is the lab of root", c.text)
				}
				ran++
				got := progress.ReplaceAllString(runIn(t, folder, lab, c.text), "")
				if at, ok := shows(got, c.want); !ok {
					t.Errorf("README.md:%d: $ %s\nthe README shows, from line %d of its output on:\n%s\n\nit printed:\n%s",
						b.line, c.text, at+1, strings.Join(c.want[at:], "\n"), got)
				}
			}
			if _, err := os.Stat(lab); err == nil {
				runIn(t, folder, lab, "railwright lab down")
			}
		})
	}
	for i, n := range notRun {
		if !used[i] {
			t.Errorf("no command of the README is %s", n.command)
		}
	}
	if ran == 0 {
		t.Error("nothing of the README was run")
	}
}

// progress finds the lines that a command shows on standard error while it is at work for more than a second.
var progress = regexp.MustCompile(`(?m)^railwright .*\(\d+ s so far\)\n`)

func needsLab(c command) bool {
	return strings.Contains(c.text, "--lab") || strings.Contains(c.text, "lab up")
}

// runIn runs a command line in a folder as a user's shell would, and returns what a terminal shows. A verdict may be any; wrong
// usage is an error.
func runIn(t *testing.T, folder, lab, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := host.Command{
		Argv: []string{"sh", "-c", "cd " + folder + " && { " + strings.TrimSuffix(line, " ") + "\n} 2>&1; status=$?; [ $status -lt 64 ] || exit $status"},
		Env:  []string{"RAILWRIGHT_LAB=" + lab},
	}
	out, err := host.Output(ctx, host.Local{}, c)
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// shows reports whether an output has the wanted lines, and otherwise from which wanted line on it has not. Between two
// "..." lines are consecutive.
func shows(output string, want []string) (int, bool) {
	if len(want) == 0 {
		return 0, true
	}
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	at, start, gap := 0, 0, false
	for start < len(want) {
		if want[start] == "..." {
			gap = true
			start++
			continue
		}
		end := start
		for end < len(want) && want[end] != "..." {
			end++
		}
		found := find(lines[at:], want[start:end], gap)
		if found < 0 {
			return start, false
		}
		at += found + end - start
		start, gap = end, false
	}
	return 0, gap || at == len(lines)
}

// find returns where some lines stand among others, or -1: at the start, or with a gap before them anywhere.
func find(lines, want []string, gap bool) int {
	for i := 0; i+len(want) <= len(lines) && (i == 0 || gap); i++ {
		same := true
		for k := range want {
			same = same && strings.TrimRight(lines[i+k], " ") == want[k]
		}
		if same {
			return i
		}
	}
	return -1
}

func TestShows(t *testing.T) {
	for _, tt := range []struct {
		name, output, want string
		ok                 bool
	}{
		{"whole", "a\nb\n", "a\nb", true},
		{"too short", "a\nb\nc\n", "a\nb", false},
		{"open end", "a\nb\nc\n", "a\n...", true},
		{"gap", "a\nb\nc\nd\n", "a\n...\nd", true},
		{"gap before consecutive lines", "a\nc\nb\nc\nd\n", "a\n...\nc\nd", true},
		{"wrong", "a\nb\n", "a\nc", false},
		{"not at the start", "x\na\n", "a", false},
		{"nothing", "", "a", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, ok := shows(tt.output, strings.Split(tt.want, "\n")); ok != tt.ok {
				t.Errorf("got %v, want %v", ok, tt.ok)
			}
		})
	}
}
