package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// However many nodes say the same, all are named and few are kept.
func TestGroups(t *testing.T) {
	const nodes = 3000
	k := NewGroups(TextOptions{})
	var s fabric.Summary
	for i := range nodes {
		node := fmt.Sprintf("host%04d", i+1)
		for _, f := range []fabric.Finding{
			{ID: "mtu", Title: "MTU of the NIC", Status: fabric.Fail, Subject: fabric.NICSubject(node, "eth1"), Why: node + ":eth1 has MTU 1500", Fix: "ip link set dev eth1 mtu 9000   # on " + node},
			{ID: "link-up", Title: "Link of the NIC", Status: fabric.Unknown, Subject: fabric.NICSubject(node, "eth2"), Why: "nothing was read of " + node + ":eth2"},
			{ID: "acs", Title: "ACS", Status: fabric.Pass, Subject: fabric.NodeSubject(node)},
		} {
			s.Count(f.Status)
			k.Add(f)
		}
	}
	var b bytes.Buffer
	if err := k.Text(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"host[0001-3000]:eth1", "host[0001-3000]:eth2", "nothing was read of it", "# and more similar", "3000 passed, 3000 failed, 3000 unknown"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
	if kept := len(k.failed.all[0].members); kept != membersKept {
		t.Errorf("%d members kept whole, want %d", kept, membersKept)
	}
	if p := k.passed.all[0]; p.count != nodes || p.nodes != nodes || len(p.subjects) > 0 {
		t.Errorf("of passes %d are counted on %d nodes, and %d subjects kept without -v", p.count, p.nodes, len(p.subjects))
	}
}
