package render

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resource "k8s.io/api/resource/v1"
	resourcebeta1 "k8s.io/api/resource/v1beta1"
	resourcebeta2 "k8s.io/api/resource/v1beta2"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/fabric"
)

func numaNode(n int) *int { return &n }

// draShapes are the claims of every shape.
func draShapes() map[string]fabric.Claims {
	plugin := fabric.Claims{API: "v1", Namespace: "default", Pods: 2, PodsPerNode: 1, GPUs: 8, NICs: 8, Align: fabric.Unaligned, GPUResource: "nvidia.com/gpu", NICDriver: "dra.net"}
	all := plugin
	all.All = true
	blocks := plugin
	blocks.GPUs, blocks.NICs, blocks.Align, blocks.Pods, blocks.PodsPerNode = 4, 4, fabric.ByName, 4, 2
	blocks.Blocks = []fabric.DeviceBlock{
		{GPUs: []int{0, 1, 2, 3}, NICs: []string{"gpu0rdma0", "gpu1rdma0", "gpu2rdma0", "gpu3rdma0"}},
		{GPUs: []int{4, 5, 6, 7}, NICs: []string{"gpu4rdma0", "gpu5rdma0", "gpu6rdma0", "gpu7rdma0"}},
	}
	blocks.Notes = []string{"the device plugin chooses GPUs without looking at NICs"}
	pairs := fabric.Claims{API: "v1", Namespace: "train", Pods: 4, PodsPerNode: 2, GPUs: 4, NICs: 4, Align: fabric.ByPCIeRoot,
		GPUDriver: fabric.DriverNVIDIA, GPUResource: "nvidia.com/gpu", NICDriver: "dra.net", LinkLayer: "ether", FabricNICs: []string{"eth1", "eth2"}}
	two := pairs
	two.GPUs, two.NICs = 8, 4
	numa := fabric.Claims{API: "v1", Namespace: "default", Pods: 4, PodsPerNode: 2, GPUs: 4, NICs: 4, Align: fabric.ByNUMA,
		GPUDriver: fabric.DriverAMD, GPUResource: "amd.com/gpu", NICDriver: "dra.net", LinkLayer: "infiniband",
		Blocks: []fabric.DeviceBlock{{NUMA: numaNode(0)}, {NUMA: numaNode(1)}}}
	name := fabric.Claims{API: "v1", Namespace: "default", Pods: 2, PodsPerNode: 2, GPUs: 2, NICs: 2, Align: fabric.ByName,
		GPUDriver: fabric.DriverNVIDIA, GPUResource: "nvidia.com/gpu", NICDriver: "dra.net",
		Blocks: []fabric.DeviceBlock{
			{GPUs: []int{0, 1}, NICs: []string{"mlx5_0", "mlx5_1"}, GPUBuses: []string{"0008:06:00.0", "0009:06:00.0"}},
			{GPUs: []int{2, 3}, NICs: []string{"mlx5_2", "mlx5_3"}, GPUBuses: []string{"0018:06:00.0", "0019:06:00.0"}},
		}}
	address := name
	address.Blocks = []fabric.DeviceBlock{
		{GPUs: []int{0}, NICs: []string{"ib0"}, GPUBuses: []string{"0008:06:00.0"}, NICBuses: []string{"0101:00:00.0"}},
		{GPUs: []int{1}, NICs: []string{"ib1"}, GPUBuses: []string{"0009:06:00.0"}, NICBuses: []string{"0102:00:00.0"}},
	}
	return map[string]fabric.Claims{"address": address, "count": plugin, "all": all, "blocks": blocks, "pairs": pairs, "two-gpus-a-nic": two, "numa": numa, "name": name}
}

// Each shape in each version: as the golden file has it, and nothing in it that the version does not know.
func TestDRAObjects(t *testing.T) {
	for name, c := range draShapes() {
		for _, api := range []string{"v1", "v1beta2", "v1beta1"} {
			t.Run(name+"/"+api, func(t *testing.T) {
				c.API = api
				text := string(DeviceClasses(c).Content) + "---\n" + string(ClaimTemplates(c).Content)
				for i, document := range strings.Split(text, "\n---\n") {
					decodeStrict(t, api, document, i == 0)
				}
				golden(t, "dra-"+name+"-"+api+".yaml", []byte(text))
			})
		}
	}
}

func decodeStrict(t *testing.T, api, document string, class bool) {
	t.Helper()
	var into any
	switch {
	case api == "v1" && class:
		into = &resource.DeviceClass{}
	case api == "v1":
		into = &resource.ResourceClaimTemplate{}
	case api == "v1beta2" && class:
		into = &resourcebeta2.DeviceClass{}
	case api == "v1beta2":
		into = &resourcebeta2.ResourceClaimTemplate{}
	case class:
		into = &resourcebeta1.DeviceClass{}
	default:
		into = &resourcebeta1.ResourceClaimTemplate{}
	}
	if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
		t.Errorf("%v in\n%s", err, document)
	}
	for line := range strings.Lines(document) {
		if strings.HasPrefix(line, "#") && len(line) > commentWidth+1 {
			t.Errorf("comment of %d characters: %s", len(line), line)
		}
	}
}

// templatesOf reads what was rendered back as v1.
func templatesOf(t *testing.T, c fabric.Claims) []resource.ResourceClaimTemplate {
	t.Helper()
	c.API = "v1"
	var all []resource.ResourceClaimTemplate
	for _, document := range strings.Split(string(ClaimTemplates(c).Content), "\n---\n") {
		var one resource.ResourceClaimTemplate
		if err := yaml.UnmarshalStrict([]byte(document), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// The names that others refer to are those of the objects, and all differ.
func TestClaimTemplateNames(t *testing.T) {
	for shape, c := range draShapes() {
		var have []string
		seen := map[string]bool{}
		for _, o := range templatesOf(t, c) {
			if o.Namespace != c.Namespace || seen[o.Name] {
				t.Errorf("%s: %s/%s: wrong namespace, or the name twice", shape, o.Namespace, o.Name)
			}
			seen[o.Name] = true
			have = append(have, o.Name)
		}
		if diff := cmp.Diff(ClaimTemplateNames(c), have); diff != "" {
			t.Errorf("%s: %s", shape, diff)
		}
	}
}

// A template cannot be changed, so one that asks for something else has another name; the version of the API, the notes and
// the number of pods change nothing that it asks for.
func TestClaimTemplateNamesChange(t *testing.T) {
	c := draShapes()["pairs"]
	same := c
	same.API, same.Notes, same.Pods = "v1beta1", []string{"a note"}, 100
	if diff := cmp.Diff(ClaimTemplateNames(c), ClaimTemplateNames(same)); diff != "" {
		t.Error(diff)
	}
	other := c
	other.FabricNICs = []string{"eth1", "eth3"}
	if have := ClaimTemplateNames(other)[0]; have == ClaimTemplateNames(c)[0] {
		t.Errorf("%s asks for other NICs and has the same name", have)
	}
}

// Every expression compiles as the API server compiles it, and none ends in an error on a device that publishes nothing.
func TestDRASelectors(t *testing.T) {
	for shape, c := range draShapes() {
		selectors := []resource.DeviceSelector{cel(rdmaOnly(c.NICDriver))}
		for _, o := range templatesOf(t, c) {
			for _, r := range o.Spec.Spec.Devices.Requests {
				selectors = append(selectors, r.Exactly.Selectors...)
			}
		}
		for _, s := range selectors {
			for _, driver := range []string{"dra.net", "gpu.nvidia.com", "gpu.amd.com", "other.example"} {
				if _, err := matches(s.CEL.Expression, driver, nil); err != nil {
					t.Errorf("%s: %s: on a device of %s without attributes: %v", shape, s.CEL.Expression, driver, err)
				}
			}
		}
	}
}

// The API server refuses an expression that is too long or could cost too much, so neither may grow with a large machine.
func TestDRASelectorsCost(t *testing.T) {
	c := draShapes()["pairs"]
	c.FabricNICs = nil
	for i := range 64 {
		c.FabricNICs = append(c.FabricNICs, fmt.Sprintf("enp%ds0f0np%d", i+100, i)) // 64 NICs, the most that a cluster file takes for a pod
	}
	block := draShapes()["name"]
	block.Blocks[0].NICs = c.FabricNICs
	for _, shape := range []fabric.Claims{c, block} {
		for _, r := range templatesOf(t, shape)[0].Spec.Spec.Devices.Requests {
			for _, s := range r.Exactly.Selectors {
				cost := dracel.GetCompiler(dracel.Features{}).CompileCELExpression(s.CEL.Expression, dracel.Options{}).MaxCost
				if cost > resource.CELSelectorExpressionMaxCost || len(s.CEL.Expression) > resource.CELSelectorExpressionMaxLength {
					t.Errorf("cost %d of %d, %d characters of %d: %s", cost, resource.CELSelectorExpressionMaxCost, len(s.CEL.Expression), resource.CELSelectorExpressionMaxLength, s.CEL.Expression)
				}
			}
		}
	}
}

func matches(expression, driver string, attributes map[resource.QualifiedName]resource.DeviceAttribute) (bool, error) {
	compiled := dracel.GetCompiler(dracel.Features{}).CompileCELExpression(expression, dracel.Options{})
	if compiled.Error != nil {
		return false, compiled.Error
	}
	ok, _, err := compiled.DeviceMatches(context.Background(), dracel.Device{Driver: driver, Attributes: attributes})
	return ok, err
}

func text(s string) resource.DeviceAttribute { return resource.DeviceAttribute{StringValue: &s} }
func yes(b bool) resource.DeviceAttribute    { return resource.DeviceAttribute{BoolValue: &b} }
func number(n int64) resource.DeviceAttribute {
	return resource.DeviceAttribute{IntValue: &n}
}

func TestDRASelectorsChoose(t *testing.T) {
	shapes := draShapes()
	type attributes = map[resource.QualifiedName]resource.DeviceAttribute
	gpu := func(c fabric.Claims, i int) string { return joined(templatesOf(t, c)[i], "gpu") }
	nic := func(c fabric.Claims, i int) string { return joined(templatesOf(t, c)[i], "nic") }
	for _, c := range []struct {
		what, expression, driver string
		attributes               attributes
		want                     bool
	}{
		{"rdma, the driver's name before it", rdmaOnly("dra.net"), "dra.net", attributes{"dra.net/rdma": yes(true)}, true},
		{"rdma, no name before it", rdmaOnly("dra.net"), "dra.net", attributes{"rdma": yes(true)}, true},
		{"no rdma", rdmaOnly("dra.net"), "dra.net", attributes{"dra.net/rdma": yes(false)}, false},
		{"another driver's rdma", rdmaOnly("dra.net"), "other.net", attributes{"dra.net/rdma": yes(true)}, false},
		{"a GPU", gpu(shapes["pairs"], 0), "gpu.nvidia.com", attributes{"type": text("gpu")}, true},
		{"MIG", gpu(shapes["pairs"], 0), "gpu.nvidia.com", attributes{"type": text("mig")}, false},
		{"a GPU of AMD on its NUMA node", gpu(shapes["numa"], 1), "gpu.amd.com", attributes{"type": text("amdgpu"), "numaNode": number(1)}, true},
		{"on another", gpu(shapes["numa"], 1), "gpu.amd.com", attributes{"type": text("amdgpu"), "numaNode": number(0)}, false},
		{"a partition", gpu(shapes["numa"], 1), "gpu.amd.com", attributes{"type": text("amdgpu-partition"), "numaNode": number(1)}, false},
		{"a NIC of the fabric", nic(shapes["pairs"], 0), "dra.net", attributes{"dra.net/ifName": text("eth2"), "dra.net/encapsulation": text("ether")}, true},
		{"a NIC beside the fabric", nic(shapes["pairs"], 0), "dra.net", attributes{"dra.net/ifName": text("storage0"), "dra.net/encapsulation": text("ether")}, false},
		{"InfiniBand without an interface", nic(shapes["numa"], 0), "dra.net", attributes{"dra.net/numaNode": number(0)}, true},
		{"Ethernet beside InfiniBand", nic(shapes["numa"], 0), "dra.net", attributes{"dra.net/numaNode": number(0), "dra.net/encapsulation": text("ether")}, false},
		{"a NIC of the block", nic(shapes["blocks"], 0), "dra.net", attributes{"dra.net/ifName": text("gpu3rdma0")}, true},
		{"of the other block", nic(shapes["blocks"], 0), "dra.net", attributes{"dra.net/ifName": text("gpu4rdma0")}, false},
		{"by its address", nic(shapes["address"], 1), "dra.net", attributes{"dra.net/pciAddress": text("0102:00:00.0")}, true},
		{"at another address", nic(shapes["address"], 1), "dra.net", attributes{"dra.net/pciAddress": text("0101:00:00.0"), "dra.net/ifName": text("ib1")}, false},
		{"by its RDMA device", nic(shapes["name"], 1), "dra.net", attributes{"dra.net/rdmaDevice": text("mlx5_2")}, true},
		{"a GPU by its address", gpu(shapes["name"], 1), "gpu.nvidia.com", attributes{"type": text("gpu"), "resource.kubernetes.io/pciBusID": text("0018:06:00.0")}, true},
		{"of the other block", gpu(shapes["name"], 1), "gpu.nvidia.com", attributes{"type": text("gpu"), "resource.kubernetes.io/pciBusID": text("0008:06:00.0")}, false},
	} {
		have, err := matches(c.expression, c.driver, c.attributes)
		if err != nil || have != c.want {
			t.Errorf("%s: %v, %v, want %v\n%s", c.what, have, err, c.want, c.expression)
		}
	}
}

// joined is what the first request of that kind demands, all selectors together.
func joined(o resource.ResourceClaimTemplate, kind string) string {
	for _, r := range o.Spec.Spec.Devices.Requests {
		if strings.HasPrefix(r.Name, kind) {
			var all []string
			for _, s := range r.Exactly.Selectors {
				all = append(all, "("+s.CEL.Expression+")")
			}
			return strings.Join(all, " && ")
		}
	}
	return fmt.Sprintf("no request of a %s", kind)
}

// Each pair is one constraint over one GPU request and one NIC request; together they have what the pod gets.
func TestPairs(t *testing.T) {
	for shape, want := range map[string]int{"pairs": 4, "two-gpus-a-nic": 4} {
		c := draShapes()[shape]
		d := templatesOf(t, c)[0].Spec.Spec.Devices
		if len(d.Constraints) != want || len(d.Requests) != 2*want {
			t.Errorf("%s: %d constraints, %d requests, want %d and %d", shape, len(d.Constraints), len(d.Requests), want, 2*want)
		}
		count := map[string]int64{}
		for i, x := range d.Constraints {
			if diff := cmp.Diff([]string{fmt.Sprintf("gpu-%d", i), fmt.Sprintf("nic-%d", i)}, x.Requests); diff != "" || *x.MatchAttribute != pcieRoot {
				t.Errorf("%s: constraint %d: %s %s", shape, i, diff, *x.MatchAttribute)
			}
		}
		for _, r := range d.Requests {
			count[r.Name[:3]] += r.Exactly.Count
		}
		if count["gpu"] != int64(c.GPUs) || count["nic"] != int64(c.NICs) {
			t.Errorf("%s: %v, want %d GPUs and %d NICs", shape, count, c.GPUs, c.NICs)
		}
	}
}
