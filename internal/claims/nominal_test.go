package claims

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	resource "k8s.io/api/resource/v1"
	resourcebeta1 "k8s.io/api/resource/v1beta1"
	resourcebeta2 "k8s.io/api/resource/v1beta2"
	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

func loaded(t *testing.T) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// sameRoot is how many pairs of a GPU and a NIC below one PCIe root a node can have at most, and of how many GPUs.
func sameRoot(all []resource.ResourceSlice) (pairs, gpus int) {
	below := map[string][2]int{}
	for _, s := range all {
		for _, d := range s.Spec.Devices {
			nic := 0
			if s.Spec.Driver == fabric.DriverDraNet {
				if rdma := d.Attributes["dra.net/rdma"].BoolValue; rdma == nil || !*rdma {
					continue
				}
				nic = 1
			} else {
				gpus++
			}
			if root := d.Attributes["resource.kubernetes.io/pcieRoot"].StringValue; root != nil {
				n := below[*root]
				n[nic]++
				below[*root] = n
			}
		}
	}
	for _, n := range below {
		pairs += min(n[0], n[1])
	}
	return pairs, gpus
}

// What can be aligned on the slices is what the topology pairs: where roots are shared, and where they are not.
func TestNominalPairs(t *testing.T) {
	cat := loaded(t)
	for machine, want := range map[string]struct {
		gpu         string
		pairs, near int // by PCIe root; by distance, as topology has it
	}{
		"a4-highgpu-8g":       {fabric.DriverNVIDIA, 8, 8},
		"a3-ultragpu-8g":      {fabric.DriverNVIDIA, 8, 8},
		"xe9680-mi300x-thor2": {fabric.DriverAMD, 8, 8},
		"p4d-24xlarge":        {fabric.DriverNVIDIA, 4, 8}, // two GPUs share a NIC
		"azure-nd-h100-v5":    {fabric.DriverNVIDIA, 0, 8}, // near on the host, but the guest does not show it
		"azure-nd-mi300x-v5":  {fabric.DriverAMD, 0, 8},
		"azure-nd-gb300-v6":   {fabric.DriverNVIDIA, 0, 4},
		"oci-gb200-v3-4":      {fabric.DriverNVIDIA, 0, 8}, // two NICs a GPU, over NVLink-C2C
	} {
		s, err := Nominal(cat, machine, []string{"n1"}, Publishers{GPU: want.gpu, NIC: fabric.DriverDraNet})
		if err != nil {
			t.Fatal(err)
		}
		m, err := topology.Nominal(cat, machine)
		if err != nil {
			t.Fatal(err)
		}
		near := 0
		for _, p := range m.Pairing().Pairs {
			if p.NIC != nil && p.Near {
				near++
			}
		}
		if pairs, gpus := sameRoot(s.slices); pairs != want.pairs || near != want.near || gpus != len(m.GPUs) {
			t.Errorf("%s: %d pairs below one root, %d near, %d GPUs; want %d, %d, %d", machine, pairs, near, gpus, want.pairs, want.near, len(m.GPUs))
		}
	}
}

// A NIC that is moved below another root makes a pair less.
func TestNominalSwappedRoot(t *testing.T) {
	s, err := Nominal(loaded(t), "xe9680-mi300x-thor2", []string{"n1"}, Publishers{GPU: fabric.DriverAMD, NIC: fabric.DriverDraNet})
	if err != nil {
		t.Fatal(err)
	}
	nics := s.slices[1].Spec.Devices
	nics[0].Attributes["resource.kubernetes.io/pcieRoot"] = nics[1].Attributes["resource.kubernetes.io/pcieRoot"]
	if pairs, _ := sameRoot(s.slices); pairs != 7 {
		t.Errorf("%d pairs, want 7", pairs)
	}
	delete(nics[2].Attributes, "resource.kubernetes.io/pcieRoot")
	if pairs, _ := sameRoot(s.slices); pairs != 6 {
		t.Errorf("%d pairs without a root, want 6", pairs)
	}
}

// In each version the text is one that the version's own structs take whole, and says the same.
func TestNominalText(t *testing.T) {
	s, err := Nominal(loaded(t), "a4-highgpu-8g", []string{"node-1", "node-2"}, Publishers{GPU: fabric.DriverNVIDIA, NIC: fabric.DriverDraNet})
	if err != nil {
		t.Fatal(err)
	}
	for api, check := range map[string]func(text []byte) (devices int, err error){
		"v1": func(text []byte) (int, error) {
			var o resource.ResourceSlice
			err := yaml.UnmarshalStrict(text, &o)
			return withAttributes(o.Spec.Devices, func(d resource.Device) int { return len(d.Attributes) }), err
		},
		"v1beta2": func(text []byte) (int, error) {
			var o resourcebeta2.ResourceSlice
			err := yaml.UnmarshalStrict(text, &o)
			return withAttributes(o.Spec.Devices, func(d resourcebeta2.Device) int { return len(d.Attributes) }), err
		},
		"v1beta1": func(text []byte) (int, error) {
			var o resourcebeta1.ResourceSlice
			err := yaml.UnmarshalStrict(text, &o)
			return withAttributes(o.Spec.Devices, func(d resourcebeta1.Device) int {
				if d.Basic == nil {
					return 0
				}
				return len(d.Basic.Attributes)
			}), err
		},
	} {
		text, err := SliceText(s, api)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, document := range strings.Split(string(text), "\n---\n") {
			n, err := check([]byte(document))
			if err != nil || !strings.Contains(document, annotation) || !strings.Contains(document, "resource.k8s.io/"+api+"\n") {
				t.Errorf("%s: %v, or not marked as nominal, or another version:\n%s", api, err, document)
			}
			total += n
		}
		list, err := SliceJSON(s, api)
		if err != nil {
			t.Fatal(err)
		}
		var items struct{ Items []json.RawMessage }
		if err := json.Unmarshal(list, &items); err != nil || len(items.Items) != 4 {
			t.Errorf("%s: %d items, %v", api, len(items.Items), err)
		}
		for _, item := range items.Items {
			n, err := check(item)
			if err != nil {
				t.Error(err)
			}
			total -= n
		}
		if total != 0 {
			t.Errorf("%s: YAML and JSON differ by %d devices with attributes", api, total)
		}
	}
	if _, err := SliceText(s, "v1alpha3"); err == nil {
		t.Error("v1alpha3 was written")
	}
}

func withAttributes[D any](devices []D, count func(D) int) (n int) {
	for _, d := range devices {
		if count(d) > 3 {
			n++
		}
	}
	return n
}

func TestNominalScale(t *testing.T) {
	nodes, err := fabric.ExpandNames("n[0001-1000]")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s, err := Nominal(loaded(t), "a4-highgpu-8g", nodes, Publishers{GPU: fabric.DriverNVIDIA, NIC: fabric.DriverDraNet})
	if err != nil {
		t.Fatal(err)
	}
	text, err := SliceJSON(s, "v1")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d slices, %d bytes in %v", len(s.slices), len(text), time.Since(began))
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("1,000 nodes took %v", took)
	}
}

// What the drivers have published, and what is made from the catalog for the same machine: the same devices, addresses, roots
// and NUMA nodes, by the names that the drivers give them.
func TestNominalAgainstPublished(t *testing.T) {
	cat := loaded(t)
	for _, c := range []struct{ file, machine, driver string }{
		{"60.yaml", "p4d-24xlarge", fabric.DriverDraNet},
		{"61.yaml", "p4d-24xlarge", fabric.DriverNVIDIA},
		{"62.yaml", "azure-nd-gb300-v6", fabric.DriverDraNet},
		{"63.yaml", "azure-nd-gb300-v6", fabric.DriverNVIDIA},
		{"64.yaml", "azure-nd-mi300x-v5", fabric.DriverDraNet},
		{"65.yaml", "oci-gb200-v3-4", fabric.DriverDraNet},
		{"66.yaml", "oci-gb200-v3-4", fabric.DriverNVIDIA},
	} {
		published := readPublished(t, c.file)
		p := Publishers{NIC: c.driver}
		if c.driver != fabric.DriverDraNet {
			p = Publishers{GPU: c.driver}
		}
		s, err := Nominal(cat, c.machine, []string{"n1"}, p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(facts(published), facts(s.slices)); diff != "" {
			t.Errorf("%s and %s (-published +nominal):\n%s", c.file, c.machine, diff)
		}
	}
}

func readPublished(t *testing.T, file string) []resource.ResourceSlice {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "serving", file))
	if err != nil {
		t.Skipf("the published slices are not here: %v", err)
	}
	var list resource.ResourceSliceList
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		var one resource.ResourceSlice
		if err := yaml.Unmarshal(text, &one); err != nil {
			t.Fatal(err)
		}
		list.Items = append(list.Items, one)
	}
	return list.Items
}

// facts are what alignment depends on, of GPUs and RDMA NICs.
func facts(all []resource.ResourceSlice) (lines []string) {
	for _, s := range all {
		for _, d := range s.Spec.Devices {
			if rdma := d.Attributes["dra.net/rdma"].BoolValue; rdma != nil && !*rdma {
				continue
			}
			line := d.Name
			for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
				switch name {
				case "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/pciBusID", "dra.net/pciAddress", "dra.net/numaNode", "dra.net/rdma", "dra.net/ifName",
					"architecture", "brand", "type", "cudaComputeCapability", "dra.net/pciVendor":
					a := d.Attributes[name]
					line += fmt.Sprintf(" %s=%s", name, valueOf(a))
				}
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func valueOf(a resource.DeviceAttribute) string {
	switch {
	case a.StringValue != nil:
		return *a.StringValue
	case a.IntValue != nil:
		return fmt.Sprint(*a.IntValue)
	case a.BoolValue != nil:
		return fmt.Sprint(*a.BoolValue)
	case a.VersionValue != nil:
		return *a.VersionValue
	}
	return "?"
}
