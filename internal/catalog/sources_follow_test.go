package catalog

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Places that a source can name without the list of documents: an address, a thread or a file of a repository on github.com,
// and a file of a repository that everybody finds by its name.
var (
	address    = regexp.MustCompile(`https?://|\b(huggingface\.co|gist\.github\.com|build\.nvidia\.com)/[A-Za-z0-9]`)
	repository = regexp.MustCompile(`\b[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+( (issue|pull request) [0-9]+| (release|README)\b|, [A-Za-z0-9_.-]+[A-Za-z0-9_./-]*[/.][A-Za-z]|, requirements of|, check of|, inference_optimizer|, nccl-tests|, micro-benchmarks|, examples)`)
	named      = regexp.MustCompile(`\b(Linux|nccl,) [a-z]+/[a-z0-9_/.-]+\.[ch]\b|aws-ofi-nccl, [a-z]`)
	ourFile    = regexp.MustCompile(`\binternal/[A-Za-z0-9_./-]+\.[a-z]+`)
)

// followed says what a source can be followed to; empty: to nothing.
func followed(source string, documents []string) string {
	for _, place := range []*regexp.Regexp{address, repository, named} {
		if found := place.FindString(source); found != "" {
			return found
		}
	}
	if file := ourFile.FindString(source); file != "" {
		if _, err := os.Stat(filepath.Join("../..", file)); err == nil {
			return file
		}
	}
	for _, d := range documents {
		if strings.Contains(source, d) {
			return d
		}
	}
	return ""
}

// documents are the titles that docs/sources.md lists, and those among them that nobody can open again.
func documents(t *testing.T) (titles, without []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(string(page), -1) {
		switch {
		case row[1] == "document" || row[1] == "---":
		case row[2] == "no address":
			without = append(without, row[1])
		default:
			titles = append(titles, row[1])
		}
	}
	if len(titles) < 50 {
		t.Fatalf("docs/sources.md: %d documents: its tables were not read", len(titles))
	}
	return titles, without
}

// Figures that rest on a source which cannot be opened again. They are for their owners to measure or to find; a new one is
// left out of the catalog instead.
func unfollowed() []string {
	return []string{
		"gpu/a100-40-sxm ring direct", "gpu/a100-80-sxm ring direct", // Polaris
		"switch/z9664f buffer", "switch/qfx5240 buffer", // of the chip
	}
}

// Every number of the catalog comes from a place that others can open.
func TestEveryFigureCanBeFollowed(t *testing.T) {
	titles, _ := documents(t)
	number := regexp.MustCompile(`^[0-9]`)
	var left []string
	figures := 0
	for _, p := range embedded(t).Parts("") {
		for _, f := range p.Figures {
			if f.Source == "" || !number.MatchString(f.Value) {
				continue
			}
			figures++
			where := p.Kind + "/" + p.Name + " " + f.Name
			onlyPCI := !strings.Contains(f.Source, ";") && strings.HasPrefix(f.Source, "PCI ID database")
			if onlyPCI || followed(f.Source, titles) == "" {
				left = append(left, where)
				if !slices.Contains(unfollowed(), where) {
					t.Errorf("%s = %s %s: source cannot be followed: %q", where, f.Value, f.Unit, f.Source)
				}
			}
		}
	}
	for _, where := range unfollowed() {
		if !slices.Contains(left, where) {
			t.Errorf("%s: can be followed, and is still listed as one that cannot", where)
		}
	}
	if figures < 300 {
		t.Errorf("%d figures were looked at", figures)
	}
}

// Every document of the list is the source of something.
func TestListedDocumentsAreUsed(t *testing.T) {
	titles, without := documents(t)
	var all strings.Builder
	for _, source := range sources(embedded(t)) {
		all.WriteString(source + "\n")
	}
	for _, d := range append(titles, without...) {
		if !strings.Contains(all.String(), d) {
			t.Errorf("docs/sources.md: %q is the source of nothing", d)
		}
	}
}

func TestWhatCannotBeFollowed(t *testing.T) {
	titles := []string{"NVIDIA A100 data sheet"}
	for _, source := range []string{"", "a colleague", "nvidia-smi of an H200: 143771MiB", "PCI ID database (pci.ids): 10de 20f3", "400/800 GB/s", "internal/catalog/testdata/nothing.txt: 5"} {
		if got := followed(source, titles); got != "" {
			t.Errorf("%q: followed to %q", source, got)
		}
	}
	for _, source := range []string{"NVIDIA A100 data sheet: 80 GB", "NVIDIA/nccl issue 1264, nvidia-smi", "ROCm/rccl, tools/topo_expl/models/x.xml: 175", "internal/catalog/testdata/memory/h200-sxm.txt: 5", "https://example.com/x"} {
		if followed(source, titles) == "" {
			t.Errorf("%q: not followed", source)
		}
	}
}
