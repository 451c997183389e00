package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/intent"
)

// What an example says that it works with is what works: plan, and with it check and explain; predict; render, and
// with it apply and up.
func TestExamplesWorkAsListed(t *testing.T) {
	for _, name := range intent.Examples() {
		t.Run(name, func(t *testing.T) {
			var text, problems strings.Builder
			if status := Main("dev", []string{"init", "--example", name}, nil, &text, &problems); status != 0 {
				t.Fatal(problems.String())
			}
			file := filepath.Join(t.TempDir(), "cluster.yaml")
			if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			works, notYet, err := intent.ExampleSupport(name)
			if err != nil {
				t.Fatal(err)
			}
			all := true
			for command, proves := range map[string][]string{
				"plan": {"plan", "check"}, "predict": {"predict", "explain"}, "render": {"render", "apply", "up"},
			} {
				args := []string{command, "-f", file}
				if command == "render" {
					args = append(args, "-d", filepath.Join(t.TempDir(), "out"))
				}
				ok := Main("dev", args, nil, io.Discard, io.Discard) == exitPass
				all = all && ok
				for _, listed := range proves {
					if slices.Contains(works, listed) != (ok && !strings.HasPrefix(notYet, listed+":")) {
						t.Errorf("%s works: %v; listed are %v", command, ok, works)
					}
				}
			}
			plansPods := Main("dev", []string{"claims", "-f", file}, nil, io.Discard, io.Discard) == exitPass
			if slices.Contains(works, "claims") != plansPods {
				t.Errorf("claims works: %v; listed are %v", plansPods, works)
			}
			if !all && notYet == "" {
				t.Error("nothing says what does not work yet")
			}
			if want := "# Works today with " + strings.Join(works, ", ") + "."; len(works) > 0 && !strings.Contains(text.String(), want) || notYet != "" && !strings.Contains(text.String(), "# Not yet: "+strings.ReplaceAll(notYet, "; ", ";\n#   ")+".\n") {
				t.Errorf("the head of the file lacks %q or %q:\n%.600s", want, notYet, text.String())
			}
			var list strings.Builder
			if status := Main("dev", []string{"init", "--list"}, nil, &list, &problems); status != 0 || !strings.Contains(list.String(), name) {
				t.Errorf("init --list: status %d: %s", status, list.String())
			}
		})
	}
}
