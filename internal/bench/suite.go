package bench

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// suite is a group of tests that a person can ask for.
type suite struct {
	name  string
	doc   string
	tests func(*fabric.Plan, Limits) ([]fabric.BenchTest, error)
}

// suites are all that run on machines whose ports have twins.
func suites() []suite {
	return []suite{
		{"perftest", "ib_write_bw and ib_write_lat of each twin, and of all twins of a port at once", perftestTests},
		{"nccl", "the NCCL that is loaded, and all_gather_perf over all machines", ncclTests},
	}
}

// Suites are the names of all suites.
func Suites() (names []string) {
	for _, s := range suites() {
		names = append(names, s.name)
	}
	return names
}

// Limits keep a test from taking a machine down.
type Limits struct {
	GatherMost int64 // bytes of the largest all-gather; 0: defaultGather
}

// Tests are the tests of suites by name, in the order of the list. It is pure, and the same plan gives the same tests.
func Tests(p *fabric.Plan, names []string, l Limits) ([]fabric.BenchTest, error) {
	for _, n := range names {
		if !slices.Contains(Suites(), n) {
			return nil, fabric.UnknownName("suite", n, Suites())
		}
	}
	if len(p.Ports) == 0 {
		return nil, fmt.Errorf("plan %q: suites %s are for machines whose ports have twins (platform spark) in this version", p.Name, strings.Join(Suites(), " and "))
	}
	var all []fabric.BenchTest
	for _, s := range suites() {
		if !slices.Contains(names, s.name) {
			continue
		}
		tests, err := s.tests(p, l)
		if err != nil {
			return nil, err
		}
		for _, t := range tests {
			t.Suite = s.name
			all = append(all, t)
		}
	}
	return all, nil
}
