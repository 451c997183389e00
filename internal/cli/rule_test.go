package cli

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// findingID finds in a golden text the id that stands in the field of the rule: "rule  mtu, cause mtu-mismatch".
var findingID = regexp.MustCompile(`(?m)^ +rule {2,}([a-z0-9-]+)(?:,|$)`)

// codeID finds in the code an id that a finding, a finding of a load test or a remark of a launch is made with.
var codeID = regexp.MustCompile(`(?s)(?:fabric\.(?:Load)?Finding\{\s*ID: |fabric\.LaunchRemark\{\s*Kind: |\bkind: )"([a-z0-9-]+)"`)

// Every id that a finding carries, in a golden text, in the code or in what a command answers, is explained by rule.
func TestEveryIDOfAFindingIsExplained(t *testing.T) {
	at := map[string]string{} // where each id stands
	collect := func(folder, suffix string, form *regexp.Regexp) {
		found := 0
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, suffix) || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range form.FindAllSubmatch(text, -1) {
				at[string(m[1])] = path
				found++
			}
			return err
		})
		if err != nil || found == 0 {
			t.Fatalf("%s: %d ids: %v", folder, found, err)
		}
	}
	collect("../report/testdata", ".txt", findingID)
	for _, room := range []string{"pipeline", "launch"} {
		collect("../"+room, ".go", codeID)
	}
	lws := filepath.Join(t.TempDir(), "lws.yaml")
	if err := os.WriteFile(lws, []byte(call("", "serve", "qwen3-0-6b", "-f", example(t, "gke-a4-dranet")).stdout), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"check --snapshot " + testRecording, "topo lint ../ncclxml/testdata/cloud-bare.xml ../ncclxml/testdata/mi300x.xml", "serve lint " + lws,
		"serve load ../loadtest/testdata/aiperf ../loadtest/testdata/vllm_failed.txt", "serve smoke http://127.0.0.1:1",
		"serve watch ../launch/testdata/sglang-two-nodes.log ../launch/testdata/vllm-one-node.log",
	} {
		var document any
		if err := json.Unmarshal([]byte(call("", append(strings.Fields(command), "-o", "json")...).stdout), &document); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		idsIn(document, func(id string) { at[id] = command })
	}
	known := ruleIDs()
	explained := map[string]bool{"effect": true} // of launch: what follows from another failure, never shown
	for _, id := range known {
		explained[id] = true
	}
	for id, where := range at {
		if !explained[id] {
			t.Errorf("%s carries the id %s, which rule does not explain", where, id)
		}
	}
	if len(at) < 100 {
		t.Errorf("only %d ids were seen", len(at))
	}
}

// idsIn calls seen with each id of a finding and each kind of a remark or failure in a document.
func idsIn(value any, seen func(string)) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			idsIn(one, seen)
		}
	case map[string]any:
		for key, inner := range v {
			list, _ := inner.([]any)
			if field := map[string]string{"findings": "id", "remarks": "kind", "failures": "kind"}[key]; field != "" {
				for _, one := range list {
					if o, ok := one.(map[string]any); ok {
						if id, ok := o[field].(string); ok {
							seen(id)
						}
					}
				}
			}
			idsIn(inner, seen)
		}
	}
}

// Each rule says what it is.
func TestEveryRuleIsDescribed(t *testing.T) {
	for _, r := range allRules() {
		if r.Title == "" || r.Doc == "" || r.Of == "" {
			t.Errorf("%+v", r)
		}
	}
}
