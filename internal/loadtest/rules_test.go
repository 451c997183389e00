package loadtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every id that stands in the code of a finding is described, each once, and nothing else is.
func TestRulesAreThoseOfTheFindings(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "rules.go" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:const id(?:, \w+)? = |\b(?:finding|remark|refused)\()"([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			used = append(used, m[1])
		}
	}
	slices.Sort(used)
	var described []string
	for _, r := range Rules() {
		if r.Title == "" || r.Doc == "" {
			t.Errorf("%s: without title or doc", r.ID)
		}
		described = append(described, r.ID)
	}
	slices.Sort(described)
	if used = slices.Compact(used); !slices.Equal(used, described) {
		t.Errorf("findings have %v, described are %v", used, described)
	}
}
