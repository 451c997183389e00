package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// sliceOf is a slice; each device is "name root", more attributes and fields of the device after a semicolon.
func sliceOf(node, driver, pool string, generation, count int, devices ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: %s-%s-%s-%d}\nspec:\n  driver: %s\n", node, driver, strings.ReplaceAll(devices[0], " ", "-")[:2], generation, driver)
	if node != "" {
		fmt.Fprintf(&b, "  nodeName: %s\n", node)
	} else {
		b.WriteString("  nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: rack, operator: In, values: [r1]}]}]}\n")
	}
	fmt.Fprintf(&b, "  pool: {name: %s, generation: %d, resourceSliceCount: %d}\n  devices:\n", pool, generation, count)
	for _, d := range devices {
		fields, extra, _ := strings.Cut(d, ";")
		name, root, _ := strings.Cut(fields, " ")
		kind := "type: {string: gpu}"
		if driver == "dra.net" {
			kind = "rdma: {bool: true}"
		}
		fmt.Fprintf(&b, "  - name: %s\n    attributes: {%s, resource.kubernetes.io/pcieRoot: {string: %q}}\n", name, kind, root)
		if extra != "" {
			b.WriteString("    " + extra + "\n")
		}
	}
	return b.String()
}

func claimOf(name, requests, constraints string) string {
	return "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: " + name + "}\nspec: {spec: {devices: {requests: [" + requests + "], constraints: [" + constraints + "]}}}\n"
}

const (
	askGPU = "{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}"
	askNIC = "{name: nic, exactly: {deviceClassName: rdma}}"
	byRoot = "{matchAttribute: resource.kubernetes.io/pcieRoot}"
)

// counted2 is a GPU as a whole and as two halves: two pods get halves, a third nothing.
const counted2 = `---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: counters}
spec:
  driver: gpu.nvidia.com
  nodeName: node-a
  pool: {name: p, generation: 1, resourceSliceCount: 2}
  sharedCounters: [{name: gpu-0, counters: {memory: {value: 80Gi}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: devices}
spec:
  driver: gpu.nvidia.com
  nodeName: node-a
  pool: {name: p, generation: 1, resourceSliceCount: 2}
  devices:
  - {name: half-0, attributes: {type: {string: gpu}}, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 40Gi}}}]}
  - {name: half-1, attributes: {type: {string: gpu}}, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 40Gi}}}]}
  - {name: whole, attributes: {type: {string: gpu}}, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 80Gi}}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: t}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
`

// shared2 is a GPU that two claims of half its memory may have at once.
const shared2 = `---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: devices}
spec:
  driver: gpu.nvidia.com
  nodeName: node-a
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, allowMultipleAllocations: true, attributes: {type: {string: gpu}}, capacity: {memory: {value: 80Gi, requestPolicy: {default: 40Gi, validRange: {min: 1Gi}}}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: t}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, capacity: {requests: {memory: 40Gi}}}}]}}}
`

func TestScenes(t *testing.T) {
	gpus := sliceOf("node-a", "gpu.nvidia.com", "p", 1, 1, "gpu-0 pci0000:10", "gpu-1 pci0000:20")
	nics := sliceOf("node-a", "dra.net", "p", 1, 1, "nic-0 pci0000:20", "nic-1 pci0000:10")
	pair := claimOf("t", askGPU+","+askNIC, byRoot)
	for _, tt := range []struct {
		name   string
		text   string
		req    Request
		status fabric.Status
		pods   int
		pairs  fabric.CountRange
		says   string // somewhere in reasons, steps, notes
	}{
		{name: "aligned", text: gpus + nics + pair, req: Request{Pods: 2}, status: fabric.Pass, pods: 2, pairs: fabric.CountRange{Min: 2, Max: 2}},
		{name: "one too many", text: gpus + nics + pair, req: Request{Pods: 3}, status: fabric.Fail, pods: 2, pairs: fabric.CountRange{Min: 2, Max: 2}, says: "0 free: 2 are taken by other claims"},
		{name: "no constraint", text: gpus + nics + claimOf("t", askGPU+","+askNIC, ""), req: Request{Pods: 2}, status: fabric.Fail, pods: 2, says: ""},
		{
			name: "two drivers with one device name", status: fabric.Pass, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1}, req: Request{Pods: 1},
			text: sliceOf("node-a", "gpu.nvidia.com", "p", 1, 1, "dev-0 pci0000:10") + sliceOf("node-a", "dra.net", "p", 1, 1, "dev-0 pci0000:10") + pair,
		},
		{
			name: "two GPUs and two NICs a root", status: fabric.Pass, pods: 2, pairs: fabric.CountRange{Min: 2, Max: 2}, req: Request{Pods: 2},
			text: sliceOf("node-a", "gpu.nvidia.com", "p", 1, 1, "g0 pci0000:10", "g1 pci0000:10") + sliceOf("node-a", "dra.net", "p", 1, 1, "n0 pci0000:10", "n1 pci0000:10") + pair,
		},
		{
			name: "incomplete pool", status: fabric.Unknown, req: Request{Pods: 1},
			says: "\nslices of pool p of driver dra.net are missing: 1 of 2 read. The scheduler itself takes no device of such a pool",
			text: gpus + sliceOf("node-a", "dra.net", "p", 1, 2, "nic-0 pci0000:20") + pair,
		},
		{
			name: "incomplete pool, which is not needed", status: fabric.Pass, req: Request{Pods: 1}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1},
			text: gpus + nics + sliceOf("node-b", "dra.net", "q", 1, 2, "nic-0 pci0000:20") + pair,
		},
		{
			name: "incomplete pool of an older generation", status: fabric.Fail, req: Request{Pods: 2}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1},
			text: gpus + sliceOf("node-a", "dra.net", "p", 1, 2, "nic-0 pci0000:20", "nic-1 pci0000:10") + sliceOf("node-a", "dra.net", "p", 2, 1, "nic-0 pci0000:20") + pair,
		},
		{
			name: "older generation does not count", status: fabric.Fail, req: Request{Pods: 2}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1},
			text: gpus + sliceOf("node-a", "dra.net", "p", 1, 1, "nic-0 pci0000:20", "nic-1 pci0000:10") + sliceOf("node-a", "dra.net", "p", 2, 1, "nic-0 pci0000:20") + pair,
		},
		{
			name: "in use", status: fabric.Fail, req: Request{Pods: 2, Template: "t"}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1}, says: "taken by other claims",
			text: gpus + nics + pair + "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: old}\nspec: {devices: {requests: [" + askGPU + "]}}\nstatus: {allocation: {devices: {results: [{request: gpu, driver: gpu.nvidia.com, pool: p, device: gpu-0}]}}}\n",
		},
		{
			name: "taint", status: fabric.Fail, req: Request{Pods: 1}, says: "0 without taints that the request does not tolerate",
			text: gpus + sliceOf("node-a", "dra.net", "p", 1, 1, "nic-0 pci0000:20;taints: [{key: broken, effect: NoSchedule}]") + pair,
		},
		{
			name: "taints are not in 1.34", status: fabric.Pass, req: Request{Pods: 1, Kubernetes: "1.34"}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1}, says: "DRADeviceTaints",
			text: gpus + sliceOf("node-a", "dra.net", "p", 1, 1, "nic-0 pci0000:20;taints: [{key: broken, effect: NoSchedule}]") + pair,
		},
		{
			name: "alternatives", status: fabric.Pass, req: Request{Pods: 1}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1},
			text: gpus + nics + claimOf("t", "{name: gpu, firstAvailable: [{name: four, deviceClassName: gpu.nvidia.com, count: 4}, {name: one, deviceClassName: gpu.nvidia.com}]},"+askNIC, byRoot),
		},
		{
			name: "all NICs", status: fabric.Pass, req: Request{Pods: 1}, pods: 1, pairs: fabric.CountRange{Min: 2, Max: 2},
			text: gpus + nics + claimOf("t", "{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}, {name: nic, exactly: {deviceClassName: rdma, allocationMode: All}}", ""),
		},
		{
			name: "all NICs on one root", status: fabric.Fail, req: Request{Pods: 1}, says: "no value is on enough devices of each",
			text: gpus + nics + claimOf("t", askGPU+", {name: nic, exactly: {deviceClassName: rdma, allocationMode: All}}", byRoot),
		},
		{
			name: "admin access leaves devices to others", status: fabric.Pass, req: Request{Pods: 3, Template: "t"}, pods: 3,
			text: gpus + claimOf("t", "{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, adminAccess: true}}", ""),
		},
		{
			name: "nodes by label, unknown", status: fabric.Fail, req: Request{Pods: 1}, says: "request nic wants 1 device",
			text: gpus + sliceOf("", "dra.net", "p", 1, 1, "nic-0 pci0000:20") + pair,
		},
		{
			name: "nodes by label", status: fabric.Pass, req: Request{Pods: 1}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1},
			text: gpus + sliceOf("", "dra.net", "p", 1, 1, "nic-0 pci0000:20") + pair + "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {rack: r1}}\n",
		},
		{
			name: "nodes by label, two of them", status: fabric.Unknown, req: Request{Pods: 1}, pods: 1, pairs: fabric.CountRange{Min: 0, Max: 1}, says: "published for several nodes",
			text: gpus + sliceOf("", "dra.net", "p", 1, 1, "nic-0 pci0000:20") + pair + "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {rack: r1}}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: node-b, labels: {rack: r1}}\n",
		},
		{
			name: "a NIC of all nodes", status: fabric.Unknown, req: Request{Pods: 1}, pods: 1, pairs: fabric.CountRange{Min: 0, Max: 1}, says: "published for several nodes",
			text: gpus + strings.Replace(nics, "nodeName: node-a", "allNodes: true", 1) + pair,
		},
		{
			name: "a NIC of all nodes by itself, beside one of this", status: fabric.Unknown, req: Request{Pods: 2}, pods: 2, pairs: fabric.CountRange{Min: 1, Max: 2}, says: "1 device published for several nodes",
			text: gpus + strings.Replace(sliceOf("node-a", "dra.net", "p", 1, 1, "nic-0 pci0000:20;nodeName: node-a", "nic-1 pci0000:10;allNodes: true"), "  nodeName: node-a\n", "  perDeviceNodeSelection: true\n", 1) + pair,
		},
		{
			name: "GPUs of a device plugin", status: fabric.Unknown, req: Request{Pods: 2, PluginGPUs: 1}, pods: 2, pairs: fabric.CountRange{Min: 0, Max: 2},
			text: gpus + nics + claimOf("t", askNIC, ""),
		},
		{
			name: "whole machine of a device plugin", status: fabric.Pass, req: Request{Pods: 1, PluginGPUs: 2}, pods: 1, pairs: fabric.CountRange{Min: 2, Max: 2},
			text: gpus + nics + claimOf("t", "{name: nic, exactly: {deviceClassName: rdma, count: 2}}", ""),
		},
		{
			name: "no GPUs left in the device plugin", status: fabric.Fail, req: Request{Pods: 2, PluginGPUs: 2}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1}, says: "has no 2 GPUs left",
			text: gpus + nics + claimOf("t", askNIC, ""),
		},
		{name: "NICs without GPUs", status: fabric.Unknown, req: Request{Pods: 1}, pods: 1, text: nics + claimOf("t", askNIC, ""), says: "where their GPUs come from"},
		{
			name: "claims are a beta", status: fabric.Pass, req: Request{Pods: 1, Kubernetes: "1.33"}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1},
			text: gpus + nics + pair, says: "1.33 serves claims only where",
		},
		{name: "no class", status: fabric.Unknown, req: Request{Pods: 1}, text: gpus + claimOf("t", "{name: x, exactly: {deviceClassName: other}}", ""), says: "DeviceClass other was not given"},
		{name: "no template", status: fabric.Unknown, req: Request{Pods: 1, Template: "x"}, text: gpus, says: "ResourceClaimTemplate x was not given"},
		{name: "no slices", status: fabric.Unknown, req: Request{Pods: 1}, text: pair, says: "no ResourceSlice was read"},
		{
			name: "StatefulSet", status: fabric.Pass, pods: 2, pairs: fabric.CountRange{Min: 2, Max: 2},
			text: gpus + nics + pair + "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: w}\nspec: {replicas: 2, template: {spec: {containers: [{name: c}], resourceClaims: [{name: x, resourceClaimTemplateName: t}]}}}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
			says: "left aside, since claims do not depend on them: 1 Service",
		},
		{
			name: "partitions share counters", status: fabric.Fail, req: Request{Pods: 3}, pods: 2, text: counted2, says: "but not all together",
		},
		{
			name: "a device shared by capacity", status: fabric.Fail, req: Request{Pods: 3}, pods: 2, text: shared2,
		},
		{
			name: "pools of one name on two nodes", status: fabric.Pass, req: Request{Pods: 1}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1},
			text: gpus + sliceOf("node-b", "gpu.nvidia.com", "p", 1, 1, "gpu-7 pci0000:70") + nics + pair,
		},
		{
			name: "device twice in a pool", status: fabric.Fail, req: Request{Pods: 1}, says: "has device nic-0 twice",
			text: gpus + sliceOf("node-a", "dra.net", "p", 1, 2, "nic-0 pci0000:20") + strings.Replace(sliceOf("node-a", "dra.net", "p", 1, 2, "nic-0 pci0000:20"), "name: node-a-", "name: second-", 1) + pair,
		},
		{
			name: "binding conditions", status: fabric.Pass, req: Request{Pods: 1}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1},
			text: gpus + sliceOf("node-a", "dra.net", "p", 1, 1, "nic-0 pci0000:20;bindsToNode: true\n    bindingConditions: [ready]\n    bindingFailureConditions: [failed]") + pair,
		},
		{
			name: "no time", status: fabric.Unknown, req: Request{Pods: 2, Total: 1}, text: gpus + nics + pair, says: "undecided after",
		},
		{
			name: "list of roots", status: fabric.Pass, req: Request{Pods: 1}, pods: 1, pairs: fabric.CountRange{Min: 1, Max: 1}, says: "DRAListTypeAttributes",
			text: gpus + strings.Replace(sliceOf("node-a", "dra.net", "p", 1, 1, "nic-0 pci0000:20"), `{string: "pci0000:20"}`, `{strings: ["pci0000:30", "pci0000:20"]}`, 1) + pair,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := allocate(t, with(t, &Objects{}, testClasses, tt.text), tt.req)
			said := strings.Join(a.Notes, "\n")
			for _, u := range a.Unsatisfied {
				said += "\n" + u.Reason + "\n" + strings.Join(u.Steps, "\n") + "\n" + u.Works
			}
			if a.Status != tt.status || len(a.Pods) != tt.pods || a.AlignedPairs != tt.pairs || !strings.Contains(said, tt.says) {
				t.Errorf("have %s, %d pods, %+v of %d, want %s, %d, %+v, saying %q\n%s", a.Status, len(a.Pods), a.AlignedPairs, a.TotalPairs, tt.status, tt.pods, tt.pairs, tt.says, said)
			}
		})
	}
}

func TestRequestRefused(t *testing.T) {
	for _, req := range []Request{{Pods: -1}, {PluginGPUs: -1}, {Pods: 1 << 40}, {Pods: math.MaxInt}, {Kubernetes: "1.31"}, {Kubernetes: "one"}, {Kubernetes: "2.0"}} {
		for _, o := range []*Objects{{}, with(t, &Objects{}, limitedPod("default", "w", ""))} { // sums must not overflow
			if _, err := Allocate(t.Context(), o, req); err == nil {
				t.Errorf("%+v is taken", req)
			}
		}
	}
}

// Pairs that a constraint keeps together are aligned in every order of the devices; others only in some.
func TestReordered(t *testing.T) {
	text := sliceOf("node-a", "gpu.nvidia.com", "p", 1, 1, "g0 pci0000:10", "g1 pci0000:20") + sliceOf("node-a", "dra.net", "p", 1, 1, "n0 pci0000:10", "n1 pci0000:20")
	for constraint, want := range map[string]fabric.CountRange{byRoot: {Min: 2, Max: 2}, "": {Min: 0, Max: 2}} {
		o := with(t, &Objects{}, testClasses, text, claimOf("t", askGPU+","+askNIC, constraint))
		have := allocate(t, o, Request{Pods: 2}).AlignedPairs
		for i := range 6 {
			a := allocate(t, o.On("node-a").Reordered(i), Request{Pods: 2})
			have.Min, have.Max = min(have.Min, a.AlignedPairs.Min), max(have.Max, a.AlignedPairs.Max)
		}
		if have != want {
			t.Errorf("%q: have %+v over all orders, want %+v", constraint, have, want)
		}
	}
	if a := allocate(t, with(t, &Objects{}, testClasses, text, claimOf("t", askGPU+","+askNIC, byRoot)).On("node-b"), Request{Pods: 1}); len(a.Pods) != 0 {
		t.Errorf("a node without slices has pods: %+v", a.Pods)
	}
}

// An attribute that devices of a node behind the first lack ends the pod on the real scheduler: it is not a pass.
func TestErrorOnLaterNode(t *testing.T) {
	text := strings.Replace(sliceOf("node-a", "gpu.nvidia.com", "p", 1, 1, "g0 pci0000:10"), "attributes: {", "attributes: {index: {int: 0}, ", 1) +
		sliceOf("node-b", "gpu.nvidia.com", "q", 1, 1, "g0 pci0000:10") +
		claimOf("t", `{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, selectors: [{cel: {expression: "device.attributes['gpu.nvidia.com'].index == 0"}}]}}`, "")
	a := allocate(t, with(t, &Objects{}, testClasses, text), Request{Pods: 1})
	if a.Status != fabric.Unknown || len(a.Pods) != 1 || !strings.Contains(strings.Join(a.Notes, "\n"), "on node node-b") {
		t.Errorf("have %s, %+v, %v", a.Status, a.Pods, a.Notes)
	}
}

func TestNICRate(t *testing.T) {
	o := with(t, &Objects{}, testClasses, sliceOf("node-a", "gpu.nvidia.com", "p", 1, 1, "g0 pci0000:10"), sliceOf("node-a", "dra.net", "p", 1, 1, "n0 pci0000:10"), claimOf("t", askGPU+","+askNIC, byRoot))
	a := allocate(t, o, Request{Pods: 1, NICGbps: func(string, fabric.AllocatedDevice) float64 { return 400 }})
	if len(a.NICGBs) != 1 || a.NICGBs[0] != (fabric.RateRange{Min: 50, Max: 50}) {
		t.Errorf("have %+v", a.NICGBs)
	}
	a = allocate(t, o, Request{Pods: 1})
	if want := "1 NIC without a known rate, so that the bandwidth of the pod is unknown"; !slices.Contains(a.Notes, want) {
		t.Errorf("have %q, want %q", a.Notes, want)
	}
}
