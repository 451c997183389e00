package report

import (
	"bytes"
	"fmt"
	"slices"
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
	if p := k.passed.all[0]; p.count != nodes || p.nodes != nodes || len(p.spread.nodes) > 0 {
		t.Errorf("of passes %d are counted on %d nodes, and %d subjects kept without -v", p.count, p.nodes, len(p.spread.nodes))
	}
}

// TestTogether: unknown checks that lack the same answer on the same subjects are one block, with every title and every command.
func TestTogether(t *testing.T) {
	unknown := func(rule, node, why, fix string) fabric.Finding {
		return fabric.Finding{ID: rule, Title: "title of " + rule, Subject: fabric.NodeSubject(node), Why: why, Fix: fix}
	}
	all := groups([]fabric.Finding{
		unknown("a", "n1", "the log of n1 was not read: permission denied (dmesg)", "dmesg   # on n1"),
		unknown("b", "n1", "routes of n1 were not read: permission denied (netlink)", ""),
		unknown("c", "n1", "what n1 logged is unknown: permission denied (dmesg)", "journalctl -k   # on n1"),
		unknown("d", "n2", "the log of n2 was not read: permission denied (dmesg)", ""),
		unknown("e", "n1", "not evaluated while link-up fails on n1", ""),
		unknown("f", "n1", "nothing to compare", ""),
		unknown("g", "n1", "not evaluated while link-up fails on n1", ""),
		unknown("h", "n1", "nothing to compare", ""),
	}, fabric.Unknown)
	var have []string
	for _, block := range together(all) {
		ids := ""
		for _, g := range block {
			ids += g.first.ID
		}
		have = append(have, ids)
	}
	if want := []string{"ac", "b", "d", "eg", "f", "h"}; !slices.Equal(have, want) {
		t.Errorf("blocks %v, want %v", have, want)
	}
	p := newPrinter(TextOptions{})
	p.unknownBlock(together(all)[0])
	for _, want := range []string{"UNKNOWN  n1  2 checks for one reason", "permission denied (dmesg)", "title of a (a)", "title of c (c)", "dmesg   # on n1", "journalctl -k   # on n1"} {
		if !strings.Contains(p.b.String(), want) {
			t.Errorf("no %q in\n%s", want, p.b.String())
		}
	}
}

// TestOneToolOfAllNICs: NICs of which one tool was not found lack one thing, whatever the command calls them.
func TestOneToolOfAllNICs(t *testing.T) {
	unread := func(nic, command, reason string) fabric.Finding {
		return fabric.Finding{ID: "nic-pfc", Title: "PFC", Subject: fabric.NICSubject("host1", nic),
			Why: "on which priorities PFC is of host1:" + nic + " was not read: `" + command + "` tells it: " + reason}
	}
	absent := "executable file not found in $PATH (niccli)"
	all := groups([]fabric.Finding{
		unread("eth1", "niccli -i 13:00.0 qos --ets --show", absent),
		unread("eth2", "niccli -i 0000:23:00.1 qos --ets --show", absent),
		unread("eth3", "niccli -i 33:00.0 qos --ets --show", "exit status 5 (niccli)"),
		unread("eth4", "mlnx_qos -i eth4", absent),
		unread("eth5", "mlnx_qos -i eth5", absent),
	}, fabric.Unknown)
	var have []string
	for _, g := range all {
		have = append(have, fmt.Sprint(g.count, " ", g.reason()))
	}
	of := "on which priorities PFC is of "
	want := []string{
		"2 " + of + "it was not read: `niccli -i NIC qos --ets --show` tells it: " + absent,
		"1 " + of + "host1:eth3 was not read: `niccli -i 33:00.0 qos --ets --show` tells it: exit status 5 (niccli)",
		"2 " + of + "it was not read: `mlnx_qos -i NIC` tells it: " + absent,
	}
	if !slices.Equal(have, want) {
		t.Errorf("groups %q, want %q", have, want)
	}
}
