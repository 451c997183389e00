package intent

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s: run the test with -update if the change is meant\n%s", file, d)
	}
}

func TestSchemaGolden(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "cluster.schema.json", text)
}

// Every field that a person may write says what it is, and every object is closed.
func TestSchemaDescribesEveryField(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	fields := 0
	var walk func(path string, v any)
	walk = func(path string, v any) {
		object, ok := v.(map[string]any)
		if !ok {
			return
		}
		if object["type"] == "object" && object["additionalProperties"] != false {
			t.Errorf("%s takes unknown fields", path)
		}
		properties, _ := object["properties"].(map[string]any)
		for name, p := range properties {
			fields++
			if p, _ := p.(map[string]any); p["description"] == nil {
				t.Errorf("%s/%s has no description", path, name)
			}
			walk(path+"/"+name, p)
		}
		definitions, _ := object["$defs"].(map[string]any)
		for name, d := range definitions {
			walk(path+"/$defs/"+name, d)
		}
	}
	walk("", root)
	if fields < 30 {
		t.Errorf("only %d fields were looked at", fields)
	}
}

func TestExampleGolden(t *testing.T) {
	for _, nodes := range []int{2, 16384} {
		text, err := Example("roce-mi300x", nodes, load(t))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("roce-mi300x-%d.yaml", nodes), text)
	}
}

// Every example at every size is accepted by Parse, holds that many hosts, and its own size is 0.
func TestEveryExampleParses(t *testing.T) {
	cat := load(t)
	for _, e := range examples() {
		for _, nodes := range []int{0, 1, 2, 3, 8, 16, 1024, fabric.MaxNames} {
			t.Run(fmt.Sprintf("%s-%d", e.name, nodes), func(t *testing.T) {
				text, err := Example(e.name, nodes, cat)
				if nodes != 0 && (nodes < e.least || nodes > e.most) {
					if err == nil || !strings.Contains(err.Error(), "must be "+e.legal()) {
						t.Errorf("got %v: want an error with %s", err, e.legal())
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				c, err := Parse(e.name+".yaml", text, cat)
				if err != nil {
					t.Fatal(err)
				}
				hosts, err := fabric.ExpandNames(c.Nodes[0].Names)
				want := nodes
				if nodes == 0 {
					want = e.size
				}
				if err != nil || len(hosts) != want {
					t.Errorf("%d hosts, %v: want %d", len(hosts), err, want)
				}
				nics, _ := fabric.ExpandNames(c.Nodes[0].NICs)
				if e.nics != 0 && len(nics) != e.nics || c.Fabric.Addressing.Scheme != e.scheme {
					t.Errorf("%d NICs, scheme %s: the list says %d, %s", len(nics), c.Fabric.Addressing.Scheme, e.nics, e.scheme)
				}
			})
		}
	}
}

// No line of an example is longer than what a terminal shows, and none ends in white space.
func TestExamplesReadWell(t *testing.T) {
	for _, name := range Examples() {
		text, err := Example(name, 0, load(t))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if len(line) > 120 || len(bytes.TrimRight(line, " ")) != len(line) {
				t.Errorf("%s:%d: %q", name, i+1, line)
			}
		}
	}
}

func TestExampleNames(t *testing.T) {
	for n, want := range map[int]string{1: "host1", 2: "host[1-2]", 9: "host[1-9]", 16: "host[01-16]", 16384: "host[00001-16384]"} {
		if got, _ := numberedNames("host", n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if _, err := Example("roce-mi300", 0, load(t)); err == nil || !strings.Contains(err.Error(), `did you mean "roce-mi300x"? known: roce-mi300x, hgx-h100-ib`) {
		t.Errorf("got %v", err)
	}
	for _, name := range Examples() {
		if doc, err := ExampleDoc(name); err != nil || doc == "" {
			t.Errorf("%s: %q, %v", name, doc, err)
		}
	}
}

func TestFittingPool(t *testing.T) {
	for _, tt := range []struct {
		hosts, nics int
		want        string
	}{
		{2, 8, "10.64.0.0/16"},
		{4096, 8, "10.64.0.0/16"},
		{4097, 8, "10.64.0.0/15"},
		{16384, 8, "10.64.0.0/14"},
		{1 << 18, 8, "10.64.0.0/10"},
		{1<<18 + 1, 8, "10.0.0.0/9"},
		{1 << 20, 8, "10.0.0.0/8"},
		{1<<20 + 1, 8, "need a /7, and 10.0.0.0/8 is the largest private network"},
	} {
		pool, err := fittingPool(fabric.P2P31, tt.hosts, tt.nics, 0)
		if err == nil && pool.String() != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d hosts: %s %v, want %s", tt.hosts, pool, err, tt.want)
		}
	}
}
