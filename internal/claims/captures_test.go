package claims

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// captured are published slices and claims, which are not part of the repository.
const captured = "../../../shared/data/serving"

func capture(t *testing.T, names ...string) *Objects {
	t.Helper()
	var files []File
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(captured, name+".yaml"))
		if err != nil {
			t.Skipf("the published slices and claims are not here: %v", err)
		}
		files = append(files, File{Name: name + ".yaml", Text: text})
	}
	return Read(files)
}

const testClasses = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec:
  selectors:
  - cel: {expression: "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: rdma}
spec:
  selectors:
  - cel: {expression: "device.driver == 'dra.net' && device.attributes['dra.net'].rdma == true"}
`

const pairTemplate = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: pair}
spec:
  spec:
    devices:
      requests:
      - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}
      - {name: nic, exactly: {deviceClassName: rdma}}
      constraints:
      - {requests: [gpu, nic], matchAttribute: resource.kubernetes.io/pcieRoot}
`

func with(t *testing.T, o *Objects, texts ...string) *Objects {
	t.Helper()
	for _, text := range texts {
		more := Read([]File{{Name: "test.yaml", Text: []byte(text)}})
		if len(more.problems) > 0 {
			t.Fatalf("the test's own objects have problems: %+v", more.problems)
		}
		o.Merge(more)
	}
	return o
}

func allocate(t *testing.T, o *Objects, req Request) *fabric.Allocation {
	t.Helper()
	a, err := Allocate(context.Background(), o, req)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What each capture has, and what is said of it.
func TestCaptures(t *testing.T) {
	tests := []struct {
		name    string
		counts  Counts
		nodes   int
		problem []string // each in one problem, as "field: reason"
	}{
		{name: "60", counts: Counts{Slices: 1, Devices: 7}, nodes: 1},
		{name: "61", counts: Counts{Slices: 1, Devices: 8}, nodes: 1},
		{name: "62", counts: Counts{Slices: 1, Devices: 4}, nodes: 1},
		{name: "63", counts: Counts{Slices: 1, Devices: 4}, nodes: 1},
		{name: "64", counts: Counts{Slices: 1, Devices: 8}, nodes: 1},
		{name: "65", counts: Counts{Slices: 1, Devices: 8}, nodes: 1},
		{name: "66", counts: Counts{Slices: 1, Devices: 4}, nodes: 1},
		{name: "67", problem: []string{"spec.driver: is missing", "spec.pool.name: is missing", "spec.nodeName: is missing"}},
		{name: "68", problem: []string{"spec.devices[0].basic: is the level of v1beta1"}},
		{name: "69", counts: Counts{Slices: 4, Devices: 20}, nodes: 2},
		{name: "70", counts: Counts{Slices: 2, Devices: 20}},
		{name: "71", problem: []string{"spec.driver: is missing", "spec.nodeName: is missing"}},
		{name: "72", counts: Counts{Claims: 1}},
		{name: "73", counts: Counts{Claims: 1}},
		{name: "74", counts: Counts{Templates: 1}},
		{name: "75", counts: Counts{Claims: 1}},
		{name: "76", counts: Counts{Workloads: 1}, problem: []string{"no server serves since Kubernetes 1.32", "before Kubernetes 1.31"}},
		{name: "77", counts: Counts{Slices: 1, Devices: 1}, nodes: 1},
		{name: "78", counts: Counts{Slices: 1, Devices: 1}, nodes: 1},
		{name: "79", problem: []string{"inside of one device", "PCI 0000:61:00.0, root pci0000:5a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := capture(t, tt.name)
			if c := o.Counts(); c != tt.counts {
				t.Errorf("have %+v, want %+v", c, tt.counts)
			}
			if n := len(o.Nodes()); n != tt.nodes {
				t.Errorf("have %d nodes, want %d", n, tt.nodes)
			}
			var all []string
			for _, p := range o.Problems() {
				all = append(all, p.Field+": "+p.Reason)
			}
			text := strings.Join(all, "\n")
			for _, want := range tt.problem {
				if !strings.Contains(text, want) {
					t.Errorf("no problem says %q:\n%s", want, text)
				}
			}
			if len(tt.problem) == 0 && text != "" {
				t.Errorf("problems: %s", text)
			}
		})
	}
}

// A p4d has two GPUs and one RDMA NIC at each of four roots: four aligned pairs, and not one more.
func TestCapturedPairsOfAWS(t *testing.T) {
	a := allocate(t, with(t, capture(t, "60", "61"), testClasses, pairTemplate), Request{Pods: 5})
	if a.Status != fabric.Fail || a.AlignedPairs != (fabric.CountRange{Min: 4, Max: 4}) || a.TotalPairs != 4 || len(a.Unsatisfied) != 1 {
		t.Errorf("have %s, %+v of %d pairs, %+v", a.Status, a.AlignedPairs, a.TotalPairs, a.Unsatisfied)
	}
}

// A pair by pcieRoot can never be met where NICs publish none (Azure GB300) or other roots than GPUs (OCI GB200), and
// what would work is said.
func TestCapturedImpossible(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files []string
		wants []string
	}{
		{"Azure GB300", []string{"62", "63"}, []string{"nic has none (not published on 4)", "gpu has", "pci0008:00", "select them by name", "dra.net/rdmaDevice", "pciBusID"}},
		{"OCI GB200", []string{"65", "66"}, []string{`nic has "pci0000:00" on 2`, `gpu has "pci0008:00" on 1`, "select them by name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := allocate(t, with(t, capture(t, tt.files...), testClasses, pairTemplate), Request{Pods: 1})
			if a.Status != fabric.Fail || len(a.Unsatisfied) != 1 {
				t.Fatalf("have %s, %+v", a.Status, a.Unsatisfied)
			}
			u := a.Unsatisfied[0]
			t.Logf("%s\n%s\n%s", u.Reason, strings.Join(u.Steps, "\n"), u.Works)
			text := u.Reason + "\n" + strings.Join(u.Steps, "\n") + "\n" + u.Works
			for _, want := range tt.wants {
				if !strings.Contains(text, want) {
					t.Errorf("not said: %q in\n%s", want, text)
				}
			}
		})
	}
}

// An allocated claim is judged on its slices: 72 is aligned though nothing made it so; of 73 nothing can be known.
func TestCapturedAllocations(t *testing.T) {
	a := allocate(t, capture(t, "60", "61", "72"), Request{})
	if a.Status != fabric.Pass || a.AlignedPairs.Min != 1 || !a.Claims[0].Existing || a.Claims[0].Pod != "nccl-test-dra-worker-0" {
		t.Errorf("72: have %s, %+v, %+v", a.Status, a.AlignedPairs, a.Claims)
	}
	t.Log(a.Notes)
	a = allocate(t, capture(t, "62", "63", "73"), Request{})
	if a.Status != fabric.Unknown || a.AlignedPairs != (fabric.CountRange{Min: 0, Max: 1}) {
		t.Errorf("73: have %s, %+v", a.Status, a.AlignedPairs)
	}
	a = allocate(t, capture(t, "75"), Request{})
	if a.Status != fabric.Unknown || len(a.Notes) == 0 {
		t.Errorf("75: have %s, %v", a.Status, a.Notes)
	}
}

// The attribute that a newer driver no longer publishes ends every attempt: it is named.
func TestCapturedRuntimeError(t *testing.T) {
	a := allocate(t, with(t, capture(t, "66", "74"), testClasses), Request{})
	t.Logf("%+v", a.Unsatisfied)
	if a.Status != fabric.Fail || len(a.Unsatisfied) != 1 || !strings.Contains(a.Unsatisfied[0].Reason, "the attribute gpu.nvidia.com/index does not exist") {
		t.Errorf("have %s, %+v", a.Status, a.Unsatisfied)
	}
}

// 77 lost its RDMA link: the class selects nothing, and the attribute says why.
func TestCapturedNothingSelected(t *testing.T) {
	nic := `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: nic}
spec: {spec: {devices: {requests: [{name: nic, exactly: {deviceClassName: rdma}}]}}}
`
	a := allocate(t, with(t, capture(t, "77"), testClasses, nic), Request{})
	t.Logf("%+v", a.Unsatisfied)
	if a.Status != fabric.Fail || !strings.Contains(a.Unsatisfied[0].Reason, "0 of class rdma: dra.net/rdma is false on 1") {
		t.Errorf("have %s, %+v", a.Status, a.Unsatisfied)
	}
}

func TestCapturedPlaces(t *testing.T) {
	for _, tt := range []struct{ file, kind, pci, root string }{
		{"78", kindPartition, "", "pci0003:00"},
		{"61", kindGPU, "0000:10:1c.0", "pci0000:10"},
		{"60", kindNIC, "0000:10:1b.0", "pci0000:10"},
		{"62", kindNIC, "0101:00:00.0", ""},
		{"77", "", "0101:00:00.0", ""},
	} {
		s := capture(t, tt.file).slices[0]
		p := place(s.Spec.Driver, &s.Spec.Devices[0])
		if p.kind != tt.kind || p.pci != tt.pci || strings.Join(p.roots, " ") != tt.root {
			t.Errorf("%s: have %+v", tt.file, p)
		}
	}
}
