package claims

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// hasDevices is a claim that is allocated; each device is "driver/pool/device", with more fields after a semicolon.
func hasDevices(namespace, name string, devices ...string) string {
	var results []string
	for _, d := range devices {
		device, more, _ := strings.Cut(d, ";")
		part := strings.Split(device, "/")
		results = append(results, fmt.Sprintf("{request: r, driver: %s, pool: %s, device: %s%s}", part[0], part[1], part[2], more))
	}
	return fmt.Sprintf("---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: %s, namespace: %s}\n", name, namespace) +
		"spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com}}]}}\n" +
		"status: {allocation: {devices: {results: [" + strings.Join(results, ", ") + "]}}}\n"
}

// What is allocated already is judged by the same rules, and a state that no cluster is in is never a pass.
func TestAllocatedAlready(t *testing.T) {
	machine := func(node string) string {
		return sliceOf(node, "gpu.nvidia.com", node, 1, 1, "g0 pci0000:10", "g1 pci0000:20") + sliceOf(node, "dra.net", node, 1, 1, "n0 pci0000:10", "n1 pci0000:20")
	}
	both := machine("node-a") + machine("node-b")
	// A driver of which nothing says what its devices are.
	other := strings.Replace(sliceOf("node-a", "dev.example.com", "x", 1, 1, "d0 pci0000:20"), "type: {string: gpu}", "model: {string: a}", 1)
	ethernet := strings.Replace(sliceOf("node-a", "dra.net", "e", 1, 1, "eth0 pci0000:20"), "rdma: {bool: true}", "rdma: {bool: false}", 1)
	for _, tt := range []struct {
		name, text string
		status     fabric.Status
		pods       string // names
		says       string
	}{
		{name: "aligned", status: fabric.Pass, pods: "c", text: both + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n0")},
		{name: "not aligned", status: fabric.Fail, pods: "c", text: both + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n1")},
		{
			name: "a GPU of one node and a NIC of another, with one name of their roots", status: fabric.Unknown, pods: "c", says: "1 pod with devices of several nodes",
			text: both + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "dra.net/node-b/n0"),
		},
		{
			name: "one name in two namespaces is two pods", status: fabric.Pass, pods: "a/c b/c",
			text: both + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n0") + hasDevices("b", "c", "gpu.nvidia.com/node-b/g1", "dra.net/node-b/n1"),
		},
		{
			name: "they do not lend each other their NICs", status: fabric.Fail, pods: "a/c b/c",
			text: both + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n1") + hasDevices("b", "c", "gpu.nvidia.com/node-a/g1", "dra.net/node-a/n0"),
		},
		{
			name: "a device in two claims", status: fabric.Unknown, pods: "c d", says: "2 devices allocated more than once",
			text: both + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n0") + hasDevices("a", "d", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n0"),
		},
		{
			name: "a device twice in one claim", status: fabric.Unknown, pods: "c", says: "2 devices allocated more than once",
			text: both + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n0", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n0"),
		},
		{
			name: "the second time for administration", status: fabric.Pass, pods: "c d",
			text: both + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n0") + hasDevices("a", "d", "gpu.nvidia.com/node-a/g0;, adminAccess: true"),
		},
		{name: "a device that is gone", status: fabric.Unknown, pods: "c", says: "in no slice", text: both + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n7")},
		{
			name: "what may be a NIC", status: fabric.Unknown, pods: "c", says: "may be GPUs or NICs",
			text: both + other + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "gpu.nvidia.com/node-a/g1", "dra.net/node-a/n0", "dev.example.com/x/d0"),
		},
		{name: "nothing known of all devices", status: fabric.Unknown, pods: "c", says: "may be GPUs or NICs", text: both + other + hasDevices("a", "c", "dev.example.com/x/d0")},
		{
			name: "what is beside whole pairs", status: fabric.Pass, pods: "c",
			text: both + other + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "dra.net/node-a/n0", "dev.example.com/x/d0"),
		},
		{
			name: "a NIC without RDMA is none of a pair", status: fabric.Pass, pods: "c",
			text: both + ethernet + hasDevices("a", "c", "gpu.nvidia.com/node-a/g0", "gpu.nvidia.com/node-a/g1", "dra.net/node-a/n0", "dra.net/e/eth0"),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := allocate(t, with(t, &Objects{}, testClasses, tt.text), Request{})
			var pods []string
			for _, p := range a.Pods {
				pods = append(pods, p.Pod)
			}
			notes := strings.Join(a.Notes, "\n")
			if a.Status != tt.status || strings.Join(pods, " ") != tt.pods || !strings.Contains(notes, tt.says) {
				t.Errorf("have %s, pods %q, want %s, %q, saying %q\n%s\n%v", a.Status, pods, tt.status, tt.pods, tt.says, notes, a.Problems)
			}
		})
	}
}

// limitedPod is a pod of a template, or of GPUs of a device plugin beside it.
func limitedPod(namespace, name, gpus string) string {
	limits := ""
	if gpus != "" {
		limits = fmt.Sprintf(", resources: {limits: {nvidia.com/gpu: %q}}", gpus)
	}
	return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s}\nspec: {containers: [{name: c%s}], resourceClaims: [{name: x, resourceClaimTemplateName: t}]}\n", name, namespace, limits)
}

func TestPodsOfTwoFiles(t *testing.T) {
	scene := sliceOf("node-a", "gpu.nvidia.com", "p", 1, 1, "g0 pci0000:10", "g1 pci0000:20") + sliceOf("node-a", "dra.net", "p", 1, 1, "n0 pci0000:10", "n1 pci0000:20")
	template := func(namespace string) string {
		return strings.Replace(claimOf("t", askGPU+","+askNIC, byRoot), "{name: t}", "{name: t, namespace: "+namespace+"}", 1)
	}
	o := with(t, &Objects{}, testClasses, scene, template("a"), template("b"))
	once := with(t, o, limitedPod("a", "w", ""), limitedPod("b", "w", ""))
	a := allocate(t, once, Request{})
	if len(a.Pods) != 2 || a.Pods[0].Pod != "a/w" || a.Pods[1].Pod != "b/w" || a.Status != fabric.Pass {
		t.Errorf("one name in two namespaces: %s, %+v", a.Status, a.Pods)
	}
	for _, c := range a.Claims {
		if c.Pod != "a/w" && c.Pod != "b/w" {
			t.Errorf("the claim is of pod %q", c.Pod)
		}
	}
	// A second copy of a file does not double the pods; another object of that name is a problem.
	if a := allocate(t, with(t, once, limitedPod("a", "w", "")), Request{}); len(a.Pods) != 2 || a.Status != fabric.Pass || !strings.Contains(strings.Join(a.Notes, "\n"), "given twice with the same contents, read once: pods of Pod a/w") {
		t.Errorf("a copy: %s, %+v, %v", a.Status, a.Pods, a.Notes)
	}
	if a := allocate(t, with(t, once, limitedPod("a", "w", "1")), Request{}); len(a.Pods) != 2 || a.Status != fabric.Unknown || len(a.Problems) != 1 {
		t.Errorf("another: %s, %+v, %v", a.Status, a.Pods, a.Problems)
	}
}

// Limits that no pod can have neither count backwards nor overflow.
func TestStrangeLimits(t *testing.T) {
	for limit, want := range map[string]int{"-5": 0, "2": 2, "9223372036854775807": mostGPUs, "9e18": mostGPUs} {
		o := Read([]File{{Name: "a.yaml", Text: []byte(limitedPod("default", "w", limit))}})
		pods, _, err := o.podsOf(Request{})
		if err != nil || len(pods) != 1 || pods[0].plugin != want {
			t.Errorf("%s: %+v, %v", limit, pods, err)
		}
		if said := strings.Contains(problems(o), "is below 0: read as 0"); said != (want == 0) {
			t.Errorf("%s: %s", limit, problems(o))
		}
	}
	two := strings.Replace(limitedPod("default", "w", "9223372036854775807"), "containers: [", "containers: [{name: d, resources: {limits: {nvidia.com/gpu: 9223372036854775807, amd.com/gpu: 9223372036854775807}}}, ", 1)
	if pods, _, _ := with(t, &Objects{}, two).podsOf(Request{}); len(pods) != 1 || pods[0].plugin != mostGPUs {
		t.Errorf("two containers: %+v", pods)
	}
}

// A device that several nodes reach says that this is why its root is not given.
func TestRoams(t *testing.T) {
	gpus := sliceOf("node-a", "gpu.nvidia.com", "g", 1, 1, "g0 pci0000:10")
	nics := strings.Replace(sliceOf("node-a", "dra.net", "p", 1, 1, "n0 pci0000:10"), "nodeName: node-a", "allNodes: true", 1)
	a := allocate(t, with(t, &Objects{}, testClasses, gpus, nics, claimOf("t", askGPU+","+askNIC, byRoot)), Request{Pods: 1})
	for _, c := range a.Claims {
		for _, d := range c.Devices {
			if d.Roams != (d.Driver == "dra.net") || (d.PCIeRoot == "") != d.Roams {
				t.Errorf("have %+v", d)
			}
		}
	}
	if len(a.Claims) != 1 {
		t.Errorf("have %+v, %+v", a.Claims, a.Unsatisfied)
	}
}
