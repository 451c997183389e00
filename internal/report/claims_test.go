package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

func allocationText(t *testing.T, a *fabric.Allocation, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Allocation(&b, a, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func allocationPage(t *testing.T, a *fabric.Allocation) string {
	t.Helper()
	var b bytes.Buffer
	if err := AllocationHTML(&b, a, PageInfo{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAllocationGolden(t *testing.T) {
	for name, a := range map[string]*fabric.Allocation{
		"claims-one": sampleAllocation(1, 0, 0), "claims-sick": sampleAllocation(5, 2, 3), "claims-plugin": pluginAllocation(),
		"claims-many": sampleAllocation(20000, 40, 9), "claims-none": {Meta: fabric.NewMeta("Allocation")},
	} {
		golden(t, name+".80.txt", []byte(allocationText(t, a, TextOptions{Width: 80})))
	}
	golden(t, "claims-sick.120.txt", []byte(allocationText(t, sampleAllocation(5, 2, 3), TextOptions{Width: 120})))
	golden(t, "claims-sick.verbose.txt", []byte(allocationText(t, sampleAllocation(5, 2, 3), TextOptions{Width: 100, Verbose: true, Color: true})))
	golden(t, "claims-sick.html", []byte(allocationPage(t, sampleAllocation(5, 2, 3))))
	golden(t, "claims-plugin.html", []byte(allocationPage(t, pluginAllocation())))
}

// The worst comes first, equal pods are one block, and the text stays short whatever the number of pods.
func TestAllocationIsShort(t *testing.T) {
	for _, n := range []int{1, 10, 400, 20000} {
		start := time.Now()
		text := allocationText(t, sampleAllocation(n, n/10, n/20), TextOptions{Width: 100})
		if lines := strings.Count(text, "\n"); lines > 60 {
			t.Errorf("%d pods: %d lines", n, lines)
		}
		if took := time.Since(start); took > 15*time.Second { // half a second; six times as much on a busy machine
			t.Errorf("%d pods: %v", n, took)
		}
		if n >= 400 && !strings.Contains(text, fmt.Sprintf("%d pods: 4 of 4 GPU-NIC pairs aligned", n)) {
			t.Errorf("%d pods: not grouped:\n%s", n, text)
		}
		lacks, far, near := strings.Index(text, "no node satisfies"), strings.Index(text, "1 of 4"), strings.Index(text, "4 of 4")
		if n >= 400 && (lacks < 0 || lacks > far || far > near) {
			t.Errorf("%d pods: not the worst first:\n%s", n, text)
		}
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 101 {
				t.Errorf("%d pods: a line of %d characters: %s", n, utf8.RuneCountInString(line), line)
			}
		}
	}
	if page := allocationPage(t, sampleAllocation(20000, 2000, 1000)); len(page) > 1<<20 {
		t.Errorf("page of %d bytes", len(page))
	}
}

// Foreign names are written so that they are safe on a terminal and in a page.
func TestAllocationHostile(t *testing.T) {
	a := sampleAllocation(0, 2, 1)
	const evil = "x\x1b[2J<script>\u202e"
	a.Pods[0].Pod, a.Pods[0].Node, a.Pods[0].Pairs[0].GPU.Device, a.Source = evil, evil, evil, evil
	a.Unsatisfied[0].Reason, a.Unsatisfied[0].Steps, a.Unsatisfied[0].Works, a.Orders.Example, a.Collective.Slowest = evil, []string{evil}, evil, evil, evil
	a.Problems, a.Notes = []fabric.ObjectProblem{{File: evil, Reason: evil}}, []string{evil}
	for name, text := range map[string]string{"text": allocationText(t, a, TextOptions{}), "page": allocationPage(t, a)} {
		if strings.ContainsAny(text, "\x1b\u202e") || name == "page" && strings.Contains(text, "<script>") {
			t.Errorf("%s is not safe", name)
		}
	}
}

// A change of what a pod got changes the text.
func TestAllocationSays(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fabric.Allocation)
		want   string
	}{
		{"by chance", func(a *fabric.Allocation) { a.Status, a.Orders.Worse = fabric.Unknown, 3 }, "by chance"},
		{"kept", func(*fabric.Allocation) {}, "the claims keep what they give"},
		{"unknown rate", func(a *fabric.Allocation) { a.Pods[0].NICGBs = fabric.RateRange{} }, "4 NICs, of an unknown rate"},
		{"mixture", func(a *fabric.Allocation) { a.Pods[0].NUMAs = []int{0, 1} }, "of 2 NUMA nodes"},
		{"no root", func(a *fabric.Allocation) {
			a.Pods[0].Pairs[0].Distance = fabric.SomeDistance
			a.Pods[0].Pairs[0].NIC.PCIeRoot = ""
		}, "unknown: no root is published"},
		{"of several nodes", func(a *fabric.Allocation) {
			a.Pods[0].Pairs[0].Distance = fabric.SomeDistance
			a.Pods[0].Pairs[0].NIC.PCIeRoot, a.Pods[0].Pairs[0].NIC.Roams = "", true
		}, "unknown: published for several nodes"},
		{"list of roots", func(a *fabric.Allocation) {
			a.Pods[0].Pairs[0].NIC.PCIeRoot, a.Pods[0].Pairs[0].NIC.PCIeRoots = "", []string{"pci0000:00", "pci0001:00"}
		}, "pci0000:00,pci0001:00"},
		{"GPU over", func(a *fabric.Allocation) {
			a.Pods[0].Pairs[0].NIC, a.Pods[0].Pairs[0].Distance = nil, fabric.NoPartner
		}, "no NIC of the pod is left for it"},
		{"NIC over", func(a *fabric.Allocation) {
			a.Pods[0].Pairs[0].GPU, a.Pods[0].Pairs[0].Distance = nil, fabric.NoPartner
		}, "no GPU of the pod is left for it"},
		{"same NUMA node", func(a *fabric.Allocation) { a.Pods[0].Pairs[0].Distance = fabric.SameNUMA }, "other root, same NUMA node"},
		{"other root", func(a *fabric.Allocation) { a.Pods[0].Pairs[0].Distance = fabric.OtherRoot }, "other root"},
		{"no pair", func(a *fabric.Allocation) { a.Pods[0].Total, a.Pods[0].GPUs = 0, 0 }, "4 NICs, no GPU: what gives the GPUs is not said"},
		{"no NIC", func(a *fabric.Allocation) { a.Pods[0].Total, a.Pods[0].NICs = 0, 0 }, "no pair to align: 4 GPUs, 0 NICs"},
		{"undecided", func(a *fabric.Allocation) {
			a.Status, a.Unsatisfied = fabric.Unknown, []fabric.Unsatisfied{{Name: "c", Pod: "x", Unsure: true, Reason: "the search took longer than 5 s"}}
		}, "UNKNOWN  x  it is not decided whether a node satisfies claim c"},
		{"no collective", func(a *fabric.Allocation) { a.Collective = nil }, "4 of 4 pairs aligned; 1 pod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := sampleAllocation(1, 0, 0)
			c.change(a)
			if text := allocationText(t, a, TextOptions{Width: 140}); !strings.Contains(text, c.want) {
				t.Errorf("no %q in:\n%s", c.want, text)
			}
		})
	}
}
