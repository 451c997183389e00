package claims

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func problems(o *Objects) string {
	var b strings.Builder
	for _, p := range o.Problems() {
		fmt.Fprintf(&b, "%s:%d:%d %s %s: %s refused=%t\n", p.File, p.Line, p.Column, p.Object, p.Field, p.Reason, p.Refused)
	}
	return b.String()
}

// One slice and one claim in each version: the same devices, the same request.
func TestVersions(t *testing.T) {
	slice := func(version, open, level, capacity string) string {
		return fmt.Sprintf(`{"apiVersion":"resource.k8s.io/%s","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"gpu.nvidia.com","nodeName":"node-a",
		"pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-0"%s"attributes":{"type":{"string":"gpu"},"resource.kubernetes.io/pcieRoot":{"string":"pci0000:10"}},"capacity":{"memory":%s}%s}]}}`,
			version, open, capacity, level)
	}
	claim := func(version, exactly, end string) string {
		return fmt.Sprintf(`{"apiVersion":"resource.k8s.io/%s","kind":"ResourceClaimTemplate","metadata":{"name":"one"},"spec":{"spec":{"devices":{"requests":[{"name":"gpu"%s"deviceClassName":"gpu.nvidia.com"%s}]}}}}`, version, exactly, end)
	}
	basic, exactly := `,"basic":{`, `,"exactly":{`
	for _, tt := range []struct{ version, slice, claim string }{
		{"v1", slice("v1", ",", "", `{"value":"40Gi"}`), claim("v1", exactly, "}")},
		{"v1beta2", slice("v1beta2", ",", "", `{"value":"40Gi"}`), claim("v1beta2", exactly, "}")},
		{"v1beta1", slice("v1beta1", basic, "}", `{"value":"40Gi"}`), claim("v1beta1", ",", "")},
		{"v1alpha3", slice("v1alpha3", basic, "}", `"40Gi"`), claim("v1alpha3", ",", "")},
	} {
		t.Run(tt.version, func(t *testing.T) {
			o := with(t, Read([]File{{Name: "a.json", Text: []byte(tt.slice + "\n" + tt.claim)}}), testClasses)
			if text := problems(o); text != "" {
				t.Fatal(text)
			}
			a := allocate(t, o, Request{Pods: 1})
			if a.Status != fabric.Pass || a.Claims[0].Devices[0].PCIeRoot != "pci0000:10" || a.Claims[0].Devices[0].Kind != kindGPU {
				t.Errorf("have %s, %+v, %+v", a.Status, a.Claims, a.Unsatisfied)
			}
			memory := o.slices[0].Spec.Devices[0].Capacity["memory"]
			if memory.Value.String() != "40Gi" {
				t.Errorf("memory %s", memory.Value.String())
			}
		})
	}
	for _, tt := range []struct{ name, text, want string }{
		{"v1 slice at the level of v1beta1", slice("v1", basic, "}", `{"value":"40Gi"}`), "spec.devices[0].basic: is the level of v1beta1"},
		{"v1beta2 slice at the level of v1beta1", slice("v1beta2", basic, "}", `{"value":"40Gi"}`), "spec.devices[0].basic: is the level of v1beta1"},
		{"v1beta1 slice at the level of v1", slice("v1beta1", ",", "", `{"value":"40Gi"}`), "is the level of v1: in v1beta1 it stands below basic"},
		{"v1 claim at the level of v1beta1", claim("v1", ",", ""), "requests[0].deviceClassName: is the level of v1beta1: in v1 it stands below exactly"},
		{"v1beta1 claim at the level of v1", claim("v1beta1", exactly, "}"), "requests[0].exactly: is the level of v1"},
		{"a version that is unknown", claim("v2", exactly, "}"), "resource.k8s.io/v2 is unknown"},
		{"classic", claim("v1alpha2", ",", ""), "no server serves since Kubernetes 1.32"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Read([]File{{Name: "a.json", Text: []byte(tt.text)}})
			if text := problems(o); !strings.Contains(text, tt.want) || !strings.Contains(text, "refused=true") || o.Counts() != (Counts{}) {
				t.Errorf("have %+v\n%s", o.Counts(), text)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	claim := func(body string) string {
		return "# a comment\n---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec:\n  devices:\n" + body
	}
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "contains no object"},
		{"comments only", "# nothing\n---\n", "contains no object"},
		{"not YAML", "a: [\n", "is not YAML"},
		{"JSON cut", `{"apiVersion":"v1","ki`, "the file is cut"},
		{"a word", "hello", "is not a Kubernetes object"},
		{"an array", "- a: 1\n", "object: an array stands where an object is wanted"},
		{"a template of Helm", "{{- if .Values.gpu }}\nkind: ResourceClaim\n{{- end }}\n", "line 1: is a template of Helm or of Go"},
		{"a template below a comment", "# {{ no }}\nkind: ResourceSlice\nmetadata:\n  name: {{.Name}}\n", "line 4: is a template of Helm or of Go"},
		{"counters beside devices", strings.Replace(sliceOf("node-a", "gpu.nvidia.com", "p", 1, 1, "gpu-0 pci0000:10"), "  devices:", "  sharedCounters: [{name: c, counters: {m: {value: 1Gi}}}]\n  devices:", 1), "stands beside devices"},
		{"key twice", "kind: Pod\nkind: Pod\n", `key "kind" already set`},
		{"no kind", "apiVersion: resource.k8s.io/v1\nspec: {devices: []}\n", "has no kind"},
		{"another kind of the group", "apiVersion: resource.k8s.io/v1\nkind: DeviceClas\n", "is no kind of resource.k8s.io"},
		{"unknown field of a claim", claim("    requests:\n    - {name: g, exactly: {deviceClassName: c}}\n    constraints:\n    - {matchAttribut: a.b/c}\n"), "constraints[0].matchAttribut: unknown field"},
		{"no exactly", claim("    requests:\n    - {name: g}\n"), "requests[0].exactly: is missing"},
		{"type", claim("    requests:\n    - {name: g, exactly: {deviceClassName: c, count: two}}\n"), "a string stands where a number is wanted"},
		{"count below 0", claim("    requests:\n    - {name: g, exactly: {deviceClassName: c, count: -1}}\n"), "count: is below 0"},
		{"mode", claim("    requests:\n    - {name: g, exactly: {deviceClassName: c, allocationMode: Some}}\n"), `"Some" is not ExactCount or All`},
		{"name twice", claim("    requests:\n    - {name: g, exactly: {deviceClassName: c}}\n    - {name: g, exactly: {deviceClassName: c}}\n"), "g is given twice"},
		{"constraint of no request", claim("    requests:\n    - {name: g, exactly: {deviceClassName: c}}\n    constraints:\n    - {requests: [h], matchAttribute: a.b/c}\n"), "h is no request"},
		{"attribute without domain", claim("    requests:\n    - {name: g, exactly: {deviceClassName: c}}\n    constraints:\n    - {matchAttribute: pcieRoot}\n"), "has no domain"},
		{"CEL in a block", claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n        selectors:\n        - cel:\n            expression: |\n              device.driver == 'a' &&\n              device.attribute['x'].y\n"), "a.yaml:16:21 "},
		{"CEL in quotes", claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n        selectors:\n        - cel: {expression: \"device.driver = 'a'\"}\n"), "a.yaml:13:44 "},
		{"CEL that is no condition", claim("    requests:\n    - name: g\n      exactly:\n        deviceClassName: c\n        selectors:\n        - cel: {expression: \"1 + 1\"}\n"), "must evaluate to bool"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Read([]File{{Name: "a.yaml", Text: []byte(tt.text)}})
			if text := problems(o); !strings.Contains(text, tt.want) || o.Counts().Claims > 0 {
				t.Errorf("want %q, have\n%s", tt.want, text)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	o := with(t, &Objects{}, testClasses, sampleSlices)
	o.Merge(with(t, &Objects{}, sampleSlices))
	if len(o.slices) != 2 || len(o.problems) != 0 || len(o.twice) != 2 {
		t.Errorf("the same twice: %d slices, %+v, %v", len(o.slices), o.problems, o.twice)
	}
	o.Merge(with(t, &Objects{}, strings.Replace(sampleSlices, "pci0000:20", "pci0000:10", 1)))
	if len(o.slices) != 2 || len(o.problems) != 1 {
		t.Errorf("another of the same name: %d slices, %+v", len(o.slices), o.problems)
	}
	if a := allocate(t, with(t, o, pairTemplate), Request{}); a.Status == fabric.Pass {
		t.Error("passes, although one slice has two contents")
	}
}

func TestNaturalOrder(t *testing.T) {
	for _, tt := range [][2]string{{"node-2", "node-10"}, {"a", "b"}, {"node-2", "node-2a"}, {"n01", "n2"}, {"", "a"}} {
		if natural(tt[0], tt[1]) >= 0 || natural(tt[1], tt[0]) <= 0 || natural(tt[0], tt[0]) != 0 {
			t.Errorf("%q is not before %q", tt[0], tt[1])
		}
	}
}
