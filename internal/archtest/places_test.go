package archtest

import (
	"fmt"
	"regexp"
	"strings"
)

// places are what a file must not name, since it is true on one machine only: homes of
// developers and folders of a build. The patterns are written so that they do not match themselves.
var places = []*regexp.Regexp{
	regexp.MustCompile(`/home/[a-z][\w.-]*/`),
	regexp.MustCompile(`/Users/[A-Za-z][\w.-]*/`),
	regexp.MustCompile(`[A-Z]:\\Users\\`),
	regexp.MustCompile(`/root/(?:go|work|src)/`),
	regexp.MustCompile(`/tmp/[g]o-build`),
}

// everyGKENode is where Google Kubernetes Engine puts the programs of each of its machines.
const everyGKENode = "/home/kubernetes/"

// checkPlaces leaves out the bad examples of this package.
func checkPlaces(t *tree) (problems []string) {
	for name, text := range t.text {
		if strings.HasPrefix(name, "internal/archtest/testdata/") {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			for _, p := range places {
				if found := p.FindString(line); found != "" && found != everyGKENode {
					problems = append(problems, fmt.Sprintf("%s:%d: names %q, which is true on one machine only", name, i+1, strings.TrimSpace(found)))
				}
			}
		}
	}
	return problems
}
