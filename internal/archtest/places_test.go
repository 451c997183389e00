package archtest

import (
	"fmt"
	"regexp"
	"strings"
)

// places are what a file must not name, since it is true on one machine only: homes of developers, and
// hosts that a build was served from. The patterns are written so that they do not match themselves.
var places = []*regexp.Regexp{
	regexp.MustCompile(`/home/[a-z][\w.-]*/`),
	regexp.MustCompile(`/Users/[A-Za-z][\w.-]*/`),
	regexp.MustCompile(`[A-Z]:\\Users\\`),
	regexp.MustCompile(`/root/(?:go|work|src)/`),
	regexp.MustCompile(`(?:^|[^\w./:-])[/]work/`),
	regexp.MustCompile(`/tmp/(?:go-build|bash)`),
	regexp.MustCompile(`\b(?:proxy|sum)\.golang\.org\b`),
	regexp.MustCompile(`\b(?:deb|security|ftp)\.debian\.org\b`),
	regexp.MustCompile(`\b(?:registry\.npmjs|rubygems)\.org\b`),
	regexp.MustCompile(`\b(?:pypi|files\.pythonhosted)\.org\b`),
	regexp.MustCompile(`\b(?:static\.|index\.)?crates\.io\b`),
	regexp.MustCompile(`\brepo1?\.maven\.(?:org|apache\.org)\b`),
}

// checkPlaces leaves out go.sum, which the go command writes, and the bad examples of this package.
func checkPlaces(t *tree) (problems []string) {
	for name, text := range t.text {
		if name == "go.sum" || strings.HasPrefix(name, "internal/archtest/testdata/") {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			for _, p := range places {
				if found := p.FindString(line); found != "" {
					problems = append(problems, fmt.Sprintf("%s:%d: names %q, which is true on one machine only", name, i+1, strings.TrimSpace(found)))
				}
			}
		}
	}
	return problems
}
