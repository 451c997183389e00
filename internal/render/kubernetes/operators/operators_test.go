package operators

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/fabric"
)

// documentNICs are those of "Deploy Distributed LLM Inference with GPUDirect RDMA over InfiniBand in VMware Private AI", E.6.
func documentNICs() (nics []fabric.SharedNIC) {
	for i := range 8 {
		nics = append(nics, fabric.SharedNIC{Resource: "rdma_shared_devices_" + string(rune('a'+i)), Interfaces: []string{fmt.Sprint("ibs", 65+2*i)},
			Vendors: []string{"15b3"}, Devices: []string{"1021"}, Drivers: []string{"mlx5_core"}, LinkType: "infiniband"})
	}
	return nics
}

// checkConfig reads a configuration of the shared device plugin by its own rules (Mellanox/k8s-rdma-shared-dev-plugin,
// pkg/resources/resources_manager.go: ReadConfig, ValidateConfigs) and compares it with the NICs.
func checkConfig(t *testing.T, text string, nics []fabric.SharedNIC) {
	t.Helper()
	var config struct {
		List []struct {
			Name      string              `json:"resourceName"`
			Max       int                 `json:"rdmaHcaMax"`
			Selectors map[string][]string `json:"selectors"`
		} `json:"configList"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&config); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(config.List) != len(nics) {
		t.Fatalf("%d resources, want %d", len(config.List), len(nics))
	}
	for i, c := range config.List {
		n := nics[i]
		got := fmt.Sprint(c.Name, c.Max, c.Selectors["vendors"], c.Selectors["deviceIDs"], c.Selectors["drivers"], c.Selectors["ifNames"], c.Selectors["linkTypes"])
		if want := fmt.Sprint(n.Resource, 63, n.Vendors, n.Devices, n.Drivers, n.Interfaces, []string{n.LinkType}); got != want || len(c.Selectors) != 5 {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestNICPolicyOfDocument(t *testing.T) {
	driver := fabric.ImageTag{Repository: "nvcr.io/nvidia/mellanox", Name: "doca-driver", Tag: "25.04-0.6.1.0-2"}
	plugin := fabric.ImageTag{Repository: "ghcr.io/mellanox", Name: "k8s-rdma-shared-dev-plugin", Tag: "v1.5.3"}
	a := NICPolicy(fabric.NICPolicy{Driver: &driver, Plugin: &plugin}, documentNICs())
	var got map[string]any
	if err := yaml.UnmarshalStrict(a.Content, &got); err != nil {
		t.Fatal(err)
	}
	spec := got["spec"].(map[string]any)
	config := spec["rdmaSharedDevicePlugin"].(map[string]any)["config"].(string)
	checkConfig(t, config, documentNICs())
	delete(spec["rdmaSharedDevicePlugin"].(map[string]any), "config")
	const want = `{apiVersion: mellanox.com/v1alpha1, kind: NicClusterPolicy, metadata: {name: nic-cluster-policy, labels: {app.kubernetes.io/managed-by: railwright}}, spec: {
ofedDriver: {image: doca-driver, repository: nvcr.io/nvidia/mellanox, version: 25.04-0.6.1.0-2,
  upgradePolicy: {autoUpgrade: true, drain: {deleteEmptyDir: true, enable: true, force: true, timeoutSeconds: 300}, maxParallelUpgrades: 1},
  startupProbe: {initialDelaySeconds: 10, periodSeconds: 20}, livenessProbe: {initialDelaySeconds: 30, periodSeconds: 30}, readinessProbe: {initialDelaySeconds: 10, periodSeconds: 30}},
rdmaSharedDevicePlugin: {image: k8s-rdma-shared-dev-plugin, repository: ghcr.io/mellanox, version: v1.5.3}}}`
	var wanted map[string]any
	if err := yaml.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		t.Errorf("%v\nwant\n%v", got, wanted)
	}
	if b := NICPolicy(fabric.NICPolicy{Driver: &driver}, documentNICs()); strings.Contains(string(b.Content), "rdma") {
		t.Errorf("a plugin that the plan does not have:\n%s", b.Content)
	}
	if b := NICPolicy(fabric.NICPolicy{Plugin: &plugin}, documentNICs()); strings.Contains(string(b.Content), "ofed") {
		t.Errorf("a driver that the plan does not have:\n%s", b.Content)
	}
}

// The plugin's own DaemonSet mounts its configuration where the plugin reads it, and is made anew when that changes.
func TestNICPlugin(t *testing.T) {
	nics := documentNICs()
	nics[0].Interfaces = []string{`eth"1`, "eth\n2"}
	p := fabric.NICPlugin{Namespace: "rdma", Image: fabric.ImageTag{Repository: "r", Name: "n", Tag: "t"}, Why: "a test."}
	a := NICPlugin(p, nics)
	parts := strings.Split(string(a.Content), "---\n")
	if len(parts) != 2 {
		t.Fatalf("%s", a.Content)
	}
	var config core.ConfigMap
	var set apps.DaemonSet
	for i, into := range []any{&config, &set} {
		if err := yaml.UnmarshalStrict([]byte(parts[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	checkConfig(t, config.Data[pluginConfigFile], nics)
	pod := set.Spec.Template.Spec
	if !pod.HostNetwork || pod.Containers[0].Image != "r/n:t" || set.Spec.Template.Labels["app.kubernetes.io/name"] != set.Spec.Selector.MatchLabels["app.kubernetes.io/name"] {
		t.Errorf("%+v", pod)
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil && v.ConfigMap.Name != config.Name {
			t.Errorf("mounts %s, the configuration is %s", v.ConfigMap.Name, config.Name)
		}
	}
	before := set.Spec.Template.Annotations[pluginDigest]
	nics[7].Devices = []string{"1023"}
	if b := string(NICPlugin(p, nics).Content); before == "" || strings.Contains(b, before) {
		t.Error("a plugin that reads another configuration would keep its pods")
	}
}

// Each value stands at its path, whatever it is, with its reason as a comment; a release without values has a file too, which helm reads.
func TestValues(t *testing.T) {
	all := Values(fabric.Operators{Releases: []fabric.HelmRelease{
		{Name: "a", Chart: "c", Version: "1.0.0", Title: "A", Values: []fabric.HelmValue{
			{Key: "driver.rdma.enabled", Value: true, Why: "first."}, {Key: "driver.enabled", Value: false, Why: "second\nline."},
			{Key: "kubeletPlugin.nodeSelector", Value: map[string]string{"nvidia.com/x": "true"}, Why: "third."},
			{Key: "driver.manager.env", Value: []map[string]string{{"name": "N", "value": "v: #"}}, Why: "fourth."}}},
		{Name: "b", Chart: "oci://x/b", Version: "v2.0.0", Title: "B"},
	}})
	if len(all) != 2 || all[0].File != "workstation/values-a.yaml" {
		t.Fatalf("%+v", all)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict(all[0].Content, &got); err != nil {
		t.Fatal(err)
	}
	const want = `map[driver:map[enabled:false manager:map[env:[map[name:N value:v: #]]] rdma:map[enabled:true]] kubeletPlugin:map[nodeSelector:map[nvidia.com/x:true]]]`
	if fmt.Sprint(got) != want {
		t.Errorf("%v\nwant %s", got, want)
	}
	if _, isText := got["kubeletPlugin"].(map[string]any)["nodeSelector"].(map[string]any)["nvidia.com/x"].(string); !isText {
		t.Error("a label that is no text: the API server refuses it")
	}
	for _, why := range []string{"# driver.rdma.enabled: first.", "# line."} {
		if !strings.Contains(string(all[0].Content), why) {
			t.Errorf("no %q in\n%s", why, all[0].Content)
		}
	}
	var empty map[string]any
	if err := yaml.Unmarshal(all[1].Content, &empty); err != nil || empty == nil || len(empty) != 0 {
		t.Errorf("%v %v\n%s", err, empty, all[1].Content)
	}
}

// A script of 10,000 machines is as long as their names.
func TestOperatorsUpOfMany(t *testing.T) {
	var nodes []string
	for i := range 10000 {
		nodes = append(nodes, fmt.Sprintf("rack%03dn%02d", i/32, i%32))
	}
	few, many := Up("demo", demoOperators(), nodes[:1]), Up("demo", demoOperators(), nodes)
	if grown := len(many.Content) - len(few.Content); grown != 9999*len("rack000n00\n") {
		t.Errorf("grows by %d bytes", grown)
	}
}
