package check

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// clones feeds a checker with nodes made from one image: the same addresses and GUIDs on each.
func clones(nodes int, emit func(fabric.Finding)) *Checker {
	c := New(nil, nil, today(), emit)
	image := metalFacts(testPlan(1), 0)
	for h := range nodes {
		node := *image
		node.Node = hostName(h)
		c.Take(c.Judge(&node))
	}
	return c
}

// The findings about clones take memory and time in proportion to their number: with all holders of an address
// named by each holder, 5,000 nodes took 6 GiB.
func TestClonedNodes(t *testing.T) {
	const nodes, most = 5000, 512 << 20 // bytes that the cluster rules allocate
	longest, found := 0, 0
	c := clones(nodes, func(f fabric.Finding) {
		if f.ID != "duplicate-address" && f.ID != "duplicate-guid" {
			return
		}
		found++
		longest = max(longest, len(f.Why))
		for _, e := range f.Evidence {
			longest = max(longest, len(e.Value))
		}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started := time.Now()
	if _, err := c.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	took := time.Since(started)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > most {
		t.Errorf("%d MiB allocated, at most %d", used>>20, most>>20)
	}
	if took > 60*time.Second {
		t.Errorf("took %s", took)
	}
	if found < 2*nodes*railsOfTest || longest > 400 {
		t.Errorf("%d findings, the longest text has %d bytes", found, longest)
	}
}

func TestFinishIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	after := 0
	c := clones(1000, func(f fabric.Finding) {
		if ctx.Err() != nil {
			after++
		}
		if f.ID == "duplicate-address" {
			cancel()
		}
	})
	if _, err := c.Finish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if after > betweenChecks {
		t.Errorf("%d findings after the check was cancelled", after)
	}
}

// Values that differ on every node are counted, not all listed.
func TestTieOfManyValues(t *testing.T) {
	q := equality{what: "VBIOS", of: "nodes", source: "nvidia-smi", fix: func(fabric.Subject, string) string { return "fix" }}
	for h := range 100 {
		q.members = append(q.members, member{subject: fabric.NodeSubject(hostName(h)), trait: trait{value: "version of " + hostName(h)}})
	}
	got := q.judge()
	if len(got) != 1 || len(got[0].Evidence) != mostNamed || !strings.Contains(got[0].Why, "and 92 more; none is the most common") {
		t.Errorf("%d verdicts: %+v", len(got), got[0])
	}
}
