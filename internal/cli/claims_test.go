package cli

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

const pairSample = "../../docs/samples/gpu-nic-pair.yaml"

func TestClaimsOptions(t *testing.T) {
	a := &app{}
	o, err := parsedClaims(t, a, "--claims", "a", "--claims", "b", "--slices", "s", "--pods", "4", "--gpus", "2", "--budget", "2s", "--template", "t")
	if err != nil || len(o.claims) != 2 || o.pods != 4 || o.gpus != 2 || o.budget != 2*time.Second || o.template != "t" || o.collective != "all_gather" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range []string{"x", "--pods 0", "--nodes -1", "--gpus 0", "--budget x"} {
		if _, err := parsedClaims(t, a, strings.Fields(args)...); err == nil {
			t.Errorf("%s: accepted", args)
		}
	}
	for line, want := range map[string]string{
		"claims":                                                          "slices: unspecified",
		"claims --machine hgx-h100":                                       "claims: unspecified",
		"claims --claims " + pairSample:                                   "slices: none were read",
		"claims --slices a --snapshot b":                                  "flags --slices and --snapshot",
		"claims --slices a --kubeconfig b":                                "use only one",
		"claims --machine a --snapshot b":                                 "use only one",
		"claims -f a --claims b":                                          "use only one",
		"claims --machine hgx-h100 --claims none.yaml":                    "none.yaml",
		"claims --snapshot none --claims " + pairSample:                   "none",
		"claims --machine hgx-h100 --nodes 99999999 --print-slices":       "flag --nodes: 99999999: more than",
		"claims --machine hgx-h100 --print-slices --api v1alpha1":         "flag --api",
		"claims --machine hgx-h100 --collective x --claims " + pairSample: "flag --collective",
		"claims --machine hgx-h100 --api v1beta1 --claims " + pairSample:  "use it with --print-slices",
		"claims --machine hgx-h100 --kubernetes x --claims " + pairSample: "x",
	} {
		if r := call("", strings.Fields(line)...); r.status != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", line, r)
		}
	}
}

func parsedClaims(t *testing.T, a *app, args ...string) (claimsOptions, error) {
	return parsed(t, a.claimsCommand, args...)
}

// Slices of facts are made for the machine that was read.
func TestClaimsOfFacts(t *testing.T) {
	r := call("", "claims", "--snapshot", "../check/testdata/recordings/infiniband.txtar", "--print-slices")
	if r.status != exitPass || !strings.Contains(r.stdout, "kind: ResourceSlice") {
		t.Errorf("%+v", r)
	}
}

// cluster is an API server that has slices and nothing else; refuses names a resource that it does not list.
func kubeCluster(t *testing.T, slices, refuses string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		group := `{"name":"resource.k8s.io","versions":[{"groupVersion":"resource.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"resource.k8s.io/v1","version":"v1"}}`
		resource := func(name, kind string) string {
			return fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":false,"verbs":["list"]}`, name, kind)
		}
		_, name, _ := strings.Cut(r.URL.Path, "/v1/")
		switch {
		case r.URL.Path == "/apis":
			fmt.Fprintf(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[%s]}`, group)
		case r.URL.Path == "/apis/resource.k8s.io":
			fmt.Fprint(w, strings.Replace(group, "{", `{"kind":"APIGroup","apiVersion":"v1",`, 1))
		case r.URL.Path == "/apis/resource.k8s.io/v1":
			fmt.Fprintf(w, `{"kind":"APIResourceList","groupVersion":"resource.k8s.io/v1","resources":[%s,%s,%s,%s]}`, resource("resourceslices", "ResourceSlice"),
				resource("deviceclasses", "DeviceClass"), resource("resourceclaims", "ResourceClaim"), resource("resourceclaimtemplates", "ResourceClaimTemplate"))
		case r.URL.Path == "/api/v1":
			fmt.Fprintf(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[%s]}`, resource("pods", "Pod"))
		case name == refuses:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"%s is forbidden","reason":"Forbidden","code":403}`, name)
		case name == "resourceslices":
			fmt.Fprint(w, strings.Replace(slices, `"kind":"List"`, `"kind":"ResourceSliceList"`, 1))
		default:
			fmt.Fprint(w, `{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	folder := t.TempDir()
	ca := filepath.Join(folder, "ca.pem")
	kubeconfig = filepath.Join(folder, "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]\n", server.URL, ca)
	for path, content := range map[string][]byte{kubeconfig: []byte(text), ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return kubeconfig
}

// A cluster's slices answer as the same slices of a file; claims that it does not list make the answer unknown.
func TestClaimsOfCluster(t *testing.T) {
	slices := call("", "claims", "--machine", "hgx-h100", "--nodes", "2", "--print-slices", "-o", "json")
	if slices.status != exitPass {
		t.Fatalf("%+v", slices)
	}
	for refuses, want := range map[string]int{"": exitPass, "resourceclaims": exitUnknown, "resourceslices": exitUsage} {
		r := call("", "claims", "--claims", pairSample, "--kubeconfig", kubeCluster(t, slices.stdout, refuses), "-o", "json")
		if r.status != want {
			t.Errorf("without %q: %+v", refuses, r)
			continue
		}
		if want == exitUsage {
			if !strings.Contains(r.stderr, "forbidden") {
				t.Errorf("%+v", r)
			}
			continue
		}
		var a fabric.Allocation
		if err := json.Unmarshal([]byte(r.stdout), &a); err != nil {
			t.Fatal(err)
		}
		if a.AlignedPairs.Min != 16 || a.Nominal || !strings.HasPrefix(a.Source, "cluster ") || refuses != "" && len(a.Problems) == 0 {
			t.Errorf("without %q: %+v, %s, %v", refuses, a.AlignedPairs, a.Source, a.Problems)
		}
	}
}

// A file from which nothing can be read says what was not understood, and where.
func TestClaimsUnread(t *testing.T) {
	claim := "kind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {requests: [{name: a, exactly: {deviceClassName: x, cuont: 1}}]}}\n"
	rule := "apiVersion: resource.k8s.io/v1alpha3\nkind: DeviceTaintRule\nmetadata: {name: r}\nspec: {taint: {key: k, effect: NoSchedule}}\n"
	for text, want := range map[string]string{
		"apiVersion: resource.k8s.io/v1\n" + claim:         "line 1: ResourceClaim c: spec.devices.requests[0].exactly.cuont: unknown field",
		"---\n{{ if x }}\n" + claim:                        "line 2: is a template of Helm or of Go",
		strings.Repeat("---\nkind: Pod\n", mostProblems+2): "and 2 more",
		rule: "/a.yaml: line 1: DeviceTaintRule r: taints devices",
	} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := call("", "claims", "--machine", "hgx-h100", "--claims", path); r.status != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %+v, want %q", text, r, want)
		}
	}
}

// A file that holds slices instead of claims is named.
func TestSlicesForClaims(t *testing.T) {
	made := call("", "claims", "--machine", "hgx-h100", "--print-slices")
	path := filepath.Join(t.TempDir(), "slices.yaml")
	if err := os.WriteFile(path, []byte(made.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "claims: none beside the slices in " + path + ": use -f FILE or --claims FILE"
	if r := call("", "claims", "--claims", path, "--slices", path); r.status != exitUsage || !strings.Contains(r.stderr, want) {
		t.Errorf("%+v", r)
	}
}
