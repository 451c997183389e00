package claims

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// podOf is a pod whose claim x comes from a template.
func podOf(name, template, more string) string {
	return "---\napiVersion: v1\nkind: Pod\nmetadata: {" + name + "}\nspec: {" + more + "containers: [{name: c}], resourceClaims: [{name: x, resourceClaimTemplateName: " + template + "}]}\n"
}

// What requests want of a device beside its class and selectors, and what pods have together.
func TestSharing(t *testing.T) {
	gpus := sliceOf("node-a", "gpu.nvidia.com", "p", 1, 1, "gpu-0 pci0000:10", "gpu-1 pci0000:20")
	sized := sliceOf("node-a", "gpu.nvidia.com", "p", 1, 1, "gpu-0 pci0000:10;capacity: {memory: {value: 40Gi}}", "gpu-1 pci0000:20;capacity: {memory: {value: 80Gi}}")
	wants := func(capacity string) string {
		return claimOf("t", "{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, capacity: {requests: {"+capacity+"}}}}", "")
	}
	two := func(attribute string) string {
		return claimOf("t", "{name: a, exactly: {deviceClassName: gpu.nvidia.com}}, {name: b, exactly: {deviceClassName: gpu.nvidia.com}}", "{distinctAttribute: "+attribute+"}")
	}
	group := "---\napiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: g}\nspec: {resourceClaims: [{name: x, resourceClaimTemplateName: t}]}\n"
	of := "schedulingGroup: {podGroupName: g}, "
	one := claimOf("t", askGPU, "")
	for _, tt := range []struct {
		name, text string
		status     fabric.Status
		pods       int
		devices    string // of all claims of pods, in order
		says       string
	}{
		{"capacity of the second", sized + wants("memory: 50Gi"), fabric.Pass, 1, "gpu-1", ""},
		{"capacity of none", sized + wants("memory: 90Gi"), fabric.Fail, 0, "", "capacity memory of 90Gi leaves 0: it is 40Gi on 1, 80Gi on 1"},
		{"capacity that is not published", sized + wants("cores: 1"), fabric.Fail, 0, "", "capacity cores of 1 leaves 0: it is not published on 2"},
		{"capacity in another domain", sized + wants("other.com/memory: 1Gi"), fabric.Fail, 0, "", "other.com/memory of 1Gi leaves 0"},
		{"capacity used up together", shared2 + podOf("name: a", "t", "") + podOf("name: b", "t", "") + podOf("name: c", "t", ""), fabric.Fail, 2, "gpu-0 gpu-0", "shared by capacity, of which too little is left together: memory of 40Gi for gpu"},
		{"counters used up together", counted2 + podOf("name: a", "t", "") + podOf("name: b", "t", "") + podOf("name: c", "t", ""), fabric.Fail, 2, "half-0 half-1", "by their counters gpu-0"},
		{"distinct values", gpus + two("resource.kubernetes.io/pcieRoot"), fabric.Pass, 1, "gpu-0 gpu-1", ""},
		{"too few distinct values", gpus + two("gpu.nvidia.com/type"), fabric.Fail, 0, "", `2 devices, each with another value; the devices have "gpu" on 2`},
		{"pods of a group share", gpus + one + group + podOf("name: a", "t", of) + podOf("name: b", "t", of) + podOf("name: c", "t", ""), fabric.Pass, 3, "gpu-0 gpu-0 gpu-1", ""},
		{"a group of another claim", gpus + one + strings.Replace(group, "name: x", "name: other", 1) + podOf("name: a", "t", of) + podOf("name: b", "t", of), fabric.Pass, 2, "gpu-0 gpu-1", ""},
		{"a group that was not given", gpus + one + podOf("name: a", "t", of), fabric.Unknown, 0, "", "its PodGroup g was not given"},
		{"a name of the server", gpus + one + podOf("generateName: w-", "t", "") + podOf("generateName: w-", "t", ""), fabric.Pass, 2, "gpu-0 gpu-1", ""},
		{"one name in two namespaces", gpus + one + strings.Replace(one, "name: t", "name: t, namespace: second", 1) + podOf("name: a", "t", "") + podOf("name: a, namespace: second", "t", ""), fabric.Pass, 2, "gpu-0 gpu-1", ""},
		{"templates that are alternatives", gpus + claimOf("t", "{name: a, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}", "") + claimOf("u", askGPU, ""), fabric.Unknown, 1, "gpu-0 gpu-1", "alone it gets its devices"},
		{"a template that cannot be met alone either", gpus + one + claimOf("u", "{name: a, exactly: {deviceClassName: gpu.nvidia.com, count: 3}}", ""), fabric.Fail, 1, "gpu-0", "wants 3 devices"},
		{"an extended resource", gpus + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, resources: {limits: {cpu: 1, example.com/gpu: 2}}}]}\n", fabric.Unknown, 0, "", "asks for 2 example.com/gpu: a device plugin gives it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := allocate(t, with(t, &Objects{}, testClasses, tt.text), Request{})
			said, devices := strings.Join(a.Notes, "\n"), []string{}
			for _, u := range a.Unsatisfied {
				said += "\n" + u.Reason
			}
			for _, c := range a.Claims {
				for _, d := range c.Devices {
					devices = append(devices, d.Device)
				}
			}
			if have := strings.Join(devices, " "); a.Status != tt.status || len(a.Pods) != tt.pods || have != tt.devices || !strings.Contains(said, tt.says) {
				t.Errorf("have %s, %d pods with %q, want %s, %d with %q, saying %q\n%s", a.Status, len(a.Pods), have, tt.status, tt.pods, tt.devices, tt.says, said)
			}
		})
	}
}

// A driver of SR-IOV says with rdmaCapable what DraNet says with rdma.
func TestVirtualFunctions(t *testing.T) {
	vf := sliceOf("node-a", "vf.example.com", "p", 1, 1, "vf-0 pci0000:10")
	for value, want := range map[string]int{"true": 1, "false": 0} {
		text := strings.Replace(vf, "type: {string: gpu}", "rdmaCapable: {bool: "+value+"}", 1) +
			"---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: vf}\nspec: {selectors: [{cel: {expression: \"device.driver == 'vf.example.com'\"}}]}\n" +
			claimOf("t", "{name: nic, exactly: {deviceClassName: vf}}", "")
		if a := allocate(t, with(t, &Objects{}, text), Request{}); len(a.Pods) != 1 || a.Pods[0].NICs != want {
			t.Errorf("rdmaCapable %s: %+v", value, a.Pods)
		}
	}
}
