package claims

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// fleet is the slices of nodes with n GPUs and n NICs each, one pair a root, the roots of NICs in another order.
func fleet(nodes, n int) string {
	var b strings.Builder
	b.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	for i := range nodes {
		for _, driver := range []string{"gpu.nvidia.com", "dra.net"} {
			if i > 0 || driver == "dra.net" {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"node-%d-%s"},"spec":{"driver":%q,"nodeName":"node-%d","pool":{"name":"node-%d","generation":1,"resourceSliceCount":1},"devices":[`, i, driver, driver, i, i)
			for d := range n {
				if d > 0 {
					b.WriteByte(',')
				}
				kind, root := `"type":{"string":"gpu"}`, d
				if driver == "dra.net" {
					kind, root = `"dra.net/rdma":{"bool":true}`, (d*3+1)%n
				}
				fmt.Fprintf(&b, `{"name":"d%d","attributes":{%s,"resource.kubernetes.io/pcieRoot":{"string":"pci0000:%02x"}}}`, d, kind, root)
			}
			b.WriteString("]}}")
		}
	}
	b.WriteString("]}")
	return b.String()
}

// 1,000 nodes of 16 devices and nine claims for each: eight get an aligned pair, the ninth nothing. The bound is that
// of the requirement, stretched for a machine that does other work.
func TestThousandNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	begin := time.Now()
	o := Read([]File{{Name: "fleet.json", Text: []byte(fleet(1000, 8))}})
	read := time.Since(begin)
	with(t, o, testClasses, pairTemplate)
	begin = time.Now()
	a := allocate(t, o, Request{Pods: 9000})
	took := time.Since(begin)
	t.Logf("read in %s, allocated in %s", read, took)
	if len(a.Pods) != 8000 || len(a.Unsatisfied) != 1000 || a.AlignedPairs.Min != 8000 {
		t.Errorf("have %d pods, %d misses, %+v", len(a.Pods), len(a.Unsatisfied), a.AlignedPairs)
	}
	if read+took > 30*time.Second {
		t.Errorf("took %s", read+took)
	}
}

// 100,000 devices are read and answered.
func TestHundredThousandDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	begin := time.Now()
	o := with(t, Read([]File{{Name: "fleet.json", Text: []byte(fleet(6250, 8))}}), testClasses, pairTemplate)
	read := time.Since(begin)
	begin = time.Now()
	a := allocate(t, o, Request{Pods: 100})
	t.Logf("%d devices read in %s, 100 pods in %s", a.Slices.Devices, read, time.Since(begin))
	if a.Slices.Devices != 100000 || a.AlignedPairs.Min != 100 || a.Status != fabric.Pass {
		t.Errorf("have %+v, %+v, %s", a.Slices, a.AlignedPairs, a.Status)
	}
}

// pairsClaim is one claim of n pairs. With pins, each GPU is another request, so that the conditions which are looked
// at without a search do not see that one pair is too many.
func pairsClaim(n int, pins bool) string {
	var b strings.Builder
	b.WriteString("apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: pairs}\nspec:\n  spec:\n    devices:\n      requests:\n")
	for i := range n {
		selector := ""
		if pins {
			selector = fmt.Sprintf(", selectors: [{cel: {expression: \"device.driver != 'x%d'\"}}]", i)
		}
		fmt.Fprintf(&b, "      - {name: g%d, exactly: {deviceClassName: gpu.nvidia.com%s}}\n      - {name: n%d, exactly: {deviceClassName: rdma%s}}\n", i, selector, i, selector)
	}
	b.WriteString("      constraints:\n")
	for i := range n {
		fmt.Fprintf(&b, "      - {requests: [g%d, n%d], matchAttribute: resource.kubernetes.io/pcieRoot}\n", i, i)
	}
	return b.String()
}

// A claim of eight pairs, of which one cannot be met: refused without a search where the requests are alike, undecided
// in time where they are not, and never hanging.
func TestExplodingSearch(t *testing.T) {
	slices := strings.Replace(fleet(1, 8), `"dra.net/rdma":{"bool":true},"resource.kubernetes.io/pcieRoot":{"string":"pci0000:00"}`,
		`"dra.net/rdma":{"bool":true},"resource.kubernetes.io/pcieRoot":{"string":"pci0000:ff"}`, 1)
	world := func(claim string) *Objects {
		return with(t, Read([]File{{Name: "s.json", Text: []byte(slices)}}), testClasses, claim)
	}
	a := allocate(t, world(pairsClaim(7, false)), Request{})
	if a.Status != fabric.Pass || a.AlignedPairs.Min != 7 {
		t.Errorf("7 pairs: have %s, %+v, %+v", a.Status, a.AlignedPairs, a.Unsatisfied)
	}
	a = allocate(t, world(pairsClaim(8, false)), Request{})
	if a.Status != fabric.Fail || !strings.Contains(a.Unsatisfied[0].Reason, "the devices suffice for 7") {
		t.Errorf("8 pairs: have %s, %+v", a.Status, a.Unsatisfied)
	}
	begin := time.Now()
	a = allocate(t, world(pairsClaim(8, true)), Request{Budget: 150 * time.Millisecond})
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	if a.Status == fabric.Pass || a.AlignedPairs.Min > 0 {
		t.Errorf("8 pinned pairs: have %s, %+v", a.Status, a.Unsatisfied)
	}
	t.Logf("%+v", a.Unsatisfied)
}

// 5,000 claims with one expression: it is compiled once.
func TestManyClaims(t *testing.T) {
	text := strings.Repeat(strings.TrimSpace(strings.Replace(pairsClaim(1, true), "ResourceClaimTemplate\nmetadata: {name: pairs}", "ResourceClaimTemplate\nmetadata: {generateName: pairs-}", 1))+"\n---\n", 5000)
	begin := time.Now()
	o := Read([]File{{Name: "claims.yaml", Text: []byte(text)}})
	took := time.Since(begin)
	t.Logf("read in %s", took)
	if c := o.Counts(); c.Templates != 5000 || len(o.problems) > 0 || took > 30*time.Second {
		t.Errorf("have %+v, %d problems in %s", c, len(o.problems), took)
	}
}
