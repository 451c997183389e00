package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/apply"
)

// dryRun is the value of a flag that is spelled as kubectl spells it: --dry-run and --dry-run=server are the same, since whoever knows
// what is there is asked; none is as without it. True and false are those of a switch.
type dryRun bool

// dryRunWords are the words of that flag.
func dryRunWords() []string { return []string{"server", "none"} }

// String returns the word.
func (d *dryRun) String() string {
	if *d {
		return "server"
	}
	return "none"
}

// Type returns how help names the value.
func (d *dryRun) Type() string { return "server|none" }

// Set reads it.
func (d *dryRun) Set(text string) error {
	if on, err := strconv.ParseBool(text); err == nil {
		*d = dryRun(on)
		return nil
	}
	switch text {
	case "server", "none":
		*d = text == "server"
		return nil
	case "client":
		return fmt.Errorf("%q: what would change is known to the server alone; railwright render writes the files without asking anybody", text)
	}
	return fmt.Errorf("%q: unknown; known: %s", text, strings.Join(dryRunWords(), ", "))
}

// checkDataNames refuses names of objects that have no data to lose, or are not written as KIND/NAMESPACE/NAME.
func checkDataNames(names []string) error {
	for _, name := range names {
		parts := strings.Split(name, "/")
		if len(parts) != 3 || slices.Contains(parts, "") || !slices.Contains(apply.DataKinds(), parts[0]) {
			return fmt.Errorf("flag --delete-data: %q: is not KIND/NAMESPACE/NAME; kinds: %s", name, strings.Join(apply.DataKinds(), ", "))
		}
	}
	return nil
}
