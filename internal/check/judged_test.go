package check

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestJudgedAtOnce: nodes that are judged at once, in any order, and taken in theirs give what they give one after another; a
// node that comes twice and one with faults are among them.
func TestJudgedAtOnce(t *testing.T) {
	const hosts = 24
	p := testPlan(hosts)
	var nodes []*fabric.Facts
	for i := range hosts {
		f := labFacts(p, i)
		if i%5 == 0 {
			f.NICs[i%len(f.NICs)].MTU = 1500
		}
		nodes = append(nodes, f)
	}
	nodes = append(nodes, labFacts(p, 3))
	want, counted := run(p, nil, nodes...)
	if counted.Status() != fabric.Fail {
		t.Fatal("no host has a fault")
	}

	var got []fabric.Finding
	c := New(p, nil, today(), func(f fabric.Finding) { got = append(got, f) })
	for first := 0; first < len(nodes); first += 5 {
		batch := nodes[first:min(first+5, len(nodes))]
		judged := make([]*Judged, len(batch))
		var all sync.WaitGroup
		for i := len(batch) - 1; i >= 0; i-- {
			all.Go(func() { judged[i] = c.Judge(batch[i]) })
		}
		all.Wait()
		for _, j := range judged {
			c.Take(j)
		}
	}
	summary, err := c.Finish(t.Context())
	if err != nil || summary != counted {
		t.Errorf("%+v, %v, want %+v", summary, err, counted)
	}
	for i := range want {
		if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("finding %d of %d: %s", i, len(got), fmt.Sprintf("%+v, want %+v", got[min(i, len(got)-1)], want[i]))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d findings, want %d", len(got), len(want))
	}
}
