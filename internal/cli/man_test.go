package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every command that the help shows has a page, with its flags and examples; the same program writes the same page; and
// groff, where it is installed, reads all of them without a warning.
func TestManPages(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man")
	if r := call("", "man", "-d", folder); r.status != 0 || r.stdout != "" {
		t.Fatal(r)
	}
	pages, err := os.ReadDir(folder)
	if err != nil || len(pages) != len(manual(tree(t))) {
		t.Fatalf("%d pages of %d commands, %v", len(pages), len(manual(tree(t))), err)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("groff is not installed: the pages are not read by it")
	}
	for _, p := range pages {
		t.Run(p.Name(), func(t *testing.T) {
			path := filepath.Join(folder, p.Name())
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Split(strings.TrimSuffix(p.Name(), ".1"), "-")
			if again := call("", append([]string{"man"}, words[1:]...)...); again.status != 0 || again.stdout != string(text) {
				t.Errorf("the page and standard output differ: %.300s", again)
			}
			for _, want := range []string{".TH RAILWRIGHT", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH EXAMPLES", ".SH EXIT STATUS"} {
				if !strings.Contains(string(text), want) {
					t.Errorf("no %s", want)
				}
			}
			if groff == "" {
				return
			}
			out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", path).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("groff: %v: %s", err, out)
			}
		})
	}
	page, err := os.ReadFile(filepath.Join(folder, "railwright-topo-lint.1"))
	if err != nil || !strings.Contains(string(page), `\-\-fix`) || !strings.Contains(string(page), "railwright topo lint") {
		t.Errorf("%v: %s", err, page)
	}
}

func TestManRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"man bogus":        `command "railwright bogus": unknown`,
		"man topo bogus":   `command "railwright topo bogus": unknown`,
		"man node":         `command "railwright node": unknown`, // hidden
		"man size -d x":    "name none",
		"man -d /dev/null": "flag -d",
		"man -o json":      "flag --output",
	} {
		t.Run(line, func(t *testing.T) {
			if r := call("", strings.Fields(line)...); r.status != 64 || !strings.Contains(r.stderr, want) {
				t.Error(r)
			}
		})
	}
}

// No line of a text is a request to the formatter, or an escape.
func TestRoff(t *testing.T) {
	for in, want := range map[string]string{".so /etc/passwd": `\&.so /etc/passwd`, "'ta": `\&'ta`, `a\fB`: `a\efB`, "--x": `\-\-x`, "a\n.b": "a .b"} {
		t.Run(in, func(t *testing.T) {
			if got := roff(in); got != want {
				t.Errorf("%q", got)
			}
		})
	}
}
