package cli

import (
	"strings"
	"testing"
)

// What the help of rule and cause shows as an example is a rule and a cause that this program has.
func TestExamplesOfNamesRun(t *testing.T) {
	for _, command := range []string{"railwright rule", "railwright cause"} {
		for _, line := range strings.Split(examples(command), "\n") {
			words := strings.Fields(line)
			if len(words) == 0 {
				continue
			}
			if r := call("", words[1:]...); r.status != 0 {
				t.Errorf("%s: %+v", line, r)
			}
		}
	}
}
