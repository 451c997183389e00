package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/intent"
)

// compiled returns the output of `schema KIND` as another program reads it.
func compiled(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	r := call("", "schema", kind)
	if r.status != 0 {
		t.Fatal(r)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(r.stdout))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("schema %s: %v", kind, err)
	}
	return s
}

// validates checks a document against the schema of its kind, and that the schema rejects it when it is
// incomplete.
func validates(t *testing.T, kind, text string) {
	t.Helper()
	s := compiled(t, kind)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v: %.300s", kind, err, text)
	}
	if err := s.Validate(document); err != nil {
		t.Errorf("%s: %v", kind, err)
	}
	object, ok := document.(map[string]any)
	if !ok {
		t.Fatalf("%s is not an object", kind)
	}
	if object["kind"] != kind {
		t.Errorf("%s has kind %v", kind, object["kind"])
	}
	object["bogus"] = 1
	if s.Validate(object) == nil {
		t.Errorf("%s: an unknown field is accepted", kind)
	}
	delete(object, "bogus")
	delete(object, "kind")
	if s.Validate(object) == nil {
		t.Errorf("%s: a document without a kind is accepted", kind)
	}
}

func TestSchemasAcceptCommandOutput(t *testing.T) {
	path, _ := saved(t)
	validates(t, "Facts", call("", "collect").stdout)
	validates(t, "Findings", call("", "check", "--snapshot", path, "-o", "json").stdout)
	for _, change := range []string{"p2p31 ", "rail24 ", "flat "} {
		file := example(t, "roce-mi300x")
		if change != "p2p31 " {
			file = example(t, "roce-mi300x", "scheme: p2p31 ", "scheme: "+change)
		}
		validates(t, "Plan", call("", "plan", "-f", file, "-o", "json").stdout)
		validates(t, "Index", call("", "render", "-f", file, "-d", filepath.Join(t.TempDir(), "out"), "-o", "json").stdout)
		validates(t, "Findings", call("", "check", "--snapshot", path, "-f", file, "-o", "json").stdout)
	}
	validates(t, "Plan", call("", "plan", "-f", example(t, "hgx-h100-ib"), "-o", "json").stdout)
}

func TestClusterSchemaAcceptsEveryExample(t *testing.T) {
	for _, name := range intent.Examples() {
		r := call("", "init", "--example", name)
		if r.status != 0 {
			t.Fatal(r)
		}
		var value any
		if err := yaml.Unmarshal([]byte(r.stdout), &value); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		validates(t, "Cluster", string(text))
	}
}

func TestSchemasRejectUnknownVerdicts(t *testing.T) {
	path, _ := saved(t)
	text := call("", "check", "--snapshot", path, "-o", "json").stdout
	for key, word := range map[string]string{"status": "healthy", "severity": "grave"} {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v: %.300s", err, text)
		}
		first := document.(map[string]any)["findings"].([]any)[0].(map[string]any)
		if first[key] == nil {
			t.Fatalf("a finding without %q", key)
		}
		first[key] = word
		if compiled(t, "Findings").Validate(document) == nil {
			t.Errorf("a finding whose %s is %q is accepted", key, word)
		}
	}
}

// The same schema each time, with a newline at the end, so that it can be kept under version control.
func TestSchemaIsStable(t *testing.T) {
	for _, kind := range []string{"Cluster", "Facts", "Plan", "Index", "Findings", "Mesh", "Causes"} {
		a, b := call("", "schema", kind).stdout, call("", "schema", kind, "-o", "json").stdout
		if a != b || !strings.HasSuffix(a, "}\n") || !bytes.Contains([]byte(a), []byte("additionalProperties")) {
			t.Errorf("schema %s is %d bytes, then %d", kind, len(a), len(b))
		}
	}
}
