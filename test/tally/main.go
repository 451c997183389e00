// Tally reads the events of `go test -json` from standard input and says what a person wants to know:
// each failure with its output, each skip with its reason, and last "N passed, N failed, N skipped".
// It exits 1 when anything failed, when no test ran, and when the events end in the middle.
//
// A test with subtests is not counted itself, unless it failed and none of its subtests did.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if !tally(os.Stdin, os.Stdout) {
		os.Exit(1)
	}
}

// event is one line of the stream, as `go doc cmd/test2json` and `go help buildjson` define it.
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
	Elapsed                                                float64 // seconds
}

// test is one test of a package, or (with an empty name) what the package itself printed.
type test struct {
	name, result       string // pass, fail, skip; empty while it runs
	output             []string
	hasSub, hasFailSub bool
}

type summary struct {
	w                       io.Writer
	running                 map[string][]*test  // by package, in the order of their start
	build                   map[string][]string // what compiler and vet said, by import path
	failures, skips         []string
	passed, failed, skipped int
}

func tally(r io.Reader, w io.Writer) bool {
	s := &summary{w: w, running: map[string][]*test{}, build: map[string][]string{}}
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 && json.Unmarshal(line, &e) != nil {
			s.fail(fmt.Sprintf("line %d is not an event of go test -json", number), []string{string(line)})
		}
		s.add(e)
		if err != nil {
			return s.close(err)
		}
	}
}

func (s *summary) add(e event) {
	ended := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
	switch {
	case e.Action == "build-output":
		s.build[e.ImportPath] = append(s.build[e.ImportPath], e.Output)
	case e.Package == "":
	case e.Test == "" && ended:
		s.settle(e)
	default:
		t := find(s.running[e.Package], e.Test)
		if t == nil {
			t = &test{name: e.Test}
			s.running[e.Package] = append(s.running[e.Package], t)
		}
		if ended {
			t.result = e.Action
		}
		t.output = append(t.output, e.Output)
	}
}

func find(tests []*test, name string) *test {
	if i := slices.IndexFunc(tests, func(t *test) bool { return t.name == name }); i >= 0 {
		return tests[i]
	}
	return nil
}

// above is the nearest test above, or nil; the name of a subtest may itself hold slashes.
func above(tests []*test, name string) (parent *test) {
	for i := strings.LastIndexByte(name, '/'); i > 0 && parent == nil; i = strings.LastIndexByte(name[:i], '/') {
		parent = find(tests, name[:i])
	}
	return parent
}

// settle counts the tests of a package that has ended, once each knows whether it has subtests.
func (s *summary) settle(end event) {
	before, tests := s.failed, s.running[end.Package]
	delete(s.running, end.Package)
	for _, t := range slices.Backward(tests) {
		if parent := above(tests, t.name); parent != nil {
			parent.hasSub = true
			parent.hasFailSub = parent.hasFailSub || t.hasFailSub || t.result == "fail" || t.result == ""
		}
	}
	for _, t := range tests {
		if t.name != "" {
			s.count(end.Package+" "+t.name, t)
		}
	}
	if end.Action == "fail" && s.failed == before {
		printed := s.build[end.FailedBuild]
		if t := find(tests, ""); t != nil {
			printed = slices.Concat(printed, t.output)
		}
		s.fail(end.Package, printed)
	}
	if end.Action != "skip" { // a package without test files
		fmt.Fprintf(s.w, "%s %s %.1fs\n", end.Action, end.Package, end.Elapsed)
	}
}

func (s *summary) count(name string, t *test) {
	switch {
	case t.result == "pass" && !t.hasSub:
		s.passed++
	case t.result == "skip":
		s.skipped++
		s.skips = append(s.skips, "SKIP "+name+": "+reason(t.output))
	case t.result == "":
		s.fail(name+" (never ended)", t.output)
	case t.result == "fail" && !t.hasFailSub:
		s.fail(name, t.output)
	case t.result == "fail" && !allFrames(t.output):
		s.fail(name, t.output)
		s.failed-- // shown for what it printed; its subtest is the one that counts
	}
}

func (s *summary) fail(what string, output []string) {
	s.failed++
	s.failures = append(s.failures, "FAIL "+what+"\n"+strings.Join(slices.DeleteFunc(output, isFrame), ""))
}

func isFrame(line string) bool {
	return strings.HasPrefix(line, "=== ") || strings.HasPrefix(strings.TrimLeft(line, " "), "--- ")
}

func allFrames(output []string) bool {
	return !slices.ContainsFunc(output, func(line string) bool { return line != "" && !isFrame(line) })
}

// reason is what a test logged last, which is what it gave to Skip.
func reason(output []string) string {
	text := strings.Join(slices.DeleteFunc(output, isFrame), "")
	places := regexp.MustCompile(`(?m)^ +\S+\.go:\d+: `).FindAllStringIndex(text, -1)
	if len(places) == 0 {
		return "no reason given"
	}
	return strings.Join(strings.Fields(text[places[len(places)-1][1]:]), " ")
}

// close prints the summary and tells whether all is well. The cause is why the stream ended.
func (s *summary) close(cause error) bool {
	for name, tests := range s.running {
		var output []string
		for _, t := range tests {
			output = append(output, t.output...)
		}
		s.fail(fmt.Sprintf("%s: the events end in the middle (%v)", name, cause), output)
	}
	for _, line := range slices.Concat(s.failures, s.skips) {
		fmt.Fprintln(s.w, strings.TrimRight(line, "\n"))
	}
	if s.passed+s.failed == 0 {
		fmt.Fprintln(s.w, "no test ran")
	}
	fmt.Fprintf(s.w, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	return s.passed > 0 && s.failed == 0
}
