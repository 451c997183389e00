package intent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	validation "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// The judge and a library for all of JSON Schema find the same places wrong, in examples into which random values, fields and
// gaps were put.
func TestJudgeAgainstLibrary(t *testing.T) {
	schema, root := compiledSchema(t), reflectSchema()
	random := rand.New(rand.NewPCG(1, 2))
	wrong := 0
	for _, name := range Examples() {
		text, err := Example(name, 0, load(t))
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			node, problems := readSource(name, text)
			if node == nil {
				t.Fatal(problems)
			}
			value := newDocument(name, node).value
			for range 1 + random.IntN(4) {
				value = spoilt(random, value)
			}
			have, want := placesOfMisfits(misfits(root, value)), placesOfLibrary(t, schema.Validate(value))
			if !slices.Equal(have, want) {
				t.Fatalf("%v: have\n%s\nwant\n%s", value, strings.Join(have, "\n"), strings.Join(want, "\n"))
			}
			if len(want) > 0 {
				wrong++
			}
		}
	}
	if wrong < 200 {
		t.Errorf("only %d documents were wrong: this proves little", wrong)
	}
}

// Every keyword that the schema has is judged, or says nothing about a value.
func TestJudgeKnowsKeywords(t *testing.T) {
	known := strings.Fields("$ref properties additionalProperties type enum pattern format minimum maximum required minLength maxLength items minItems maxItems " +
		"$schema $id $defs title description default")
	var tree map[string]any
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	var walk func(at string, s map[string]any)
	walk = func(at string, s map[string]any) {
		for word, value := range s {
			if !slices.Contains(known, word) {
				t.Errorf("%s: keyword %s is not judged", at, word)
			}
			for name, inner := range asMap(value) {
				if word == "properties" || word == "$defs" {
					walk(at+"/"+name, asMap(inner))
				}
			}
			if word == "items" || word == "additionalProperties" {
				walk(at+"/"+word, asMap(value))
			}
			if word == "enum" {
				for _, one := range value.([]any) {
					if kind := kindOf(one); kind != "string" && kind != "number" {
						t.Errorf("%s: enum has %v, which is neither text nor number", at, one)
					}
				}
			}
			if format, ok := value.(string); word == "format" && (!ok || format != "date" && format != networkFormat) {
				t.Errorf("%s: format %v is not judged", at, value)
			}
		}
	}
	walk("", tree)
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func compiledSchema(t *testing.T) *validation.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	value, err := validation.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := validation.NewCompiler()
	c.AssertFormat()
	c.RegisterFormat(&validation.Format{Name: networkFormat, Validate: func(v any) error {
		if s, ok := v.(string); ok {
			return ipv4Network(s)
		}
		return nil
	}})
	if err := c.AddResource(schemaID, value); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// spoilt puts one random value, field or gap at a random place into a value.
func spoilt(random *rand.Rand, v any) any {
	odd := []any{nil, true, "", "x", "no/pe", "10.0.0.0/8", "2026-13-01", strings.Repeat("ü", 300), int64(-1), int64(1 << 40), int64(3), uint64(1), 1.0, 1.5, math.NaN(), []any{}, []any{"a", int64(1)}, map[string]any{}, map[string]any{"odd": "one"}}
	switch v := v.(type) {
	case map[string]any:
		names := sortedNames(v)
		switch n := random.IntN(8); {
		case n == 0:
			v["odd"+fmt.Sprint(random.IntN(3))] = odd[random.IntN(len(odd))]
		case n == 1 && len(names) > 0:
			delete(v, names[random.IntN(len(names))])
		case n > 2 && len(names) > 0:
			name := names[random.IntN(len(names))]
			v[name] = spoilt(random, v[name])
		}
		if random.IntN(12) > 0 {
			return v
		}
	case []any:
		if len(v) > 0 && random.IntN(4) > 0 {
			i := random.IntN(len(v))
			v[i] = spoilt(random, v[i])
			return v
		}
	}
	return odd[random.IntN(len(odd))]
}

func sortedNames(v map[string]any) []string {
	var names []string
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// placesOfMisfits are the places that are wrong, each with its fields, or once for its value.
func placesOfMisfits(all []misfit) []string {
	var out []string
	for _, m := range all {
		switch {
		case m.message != "":
			out = append(out, pathKey(m.path)+" value")
		default:
			out = append(out, withNames(pathKey(m.path)+" unknown", m.unknown)...)
			out = append(out, withNames(pathKey(m.path)+" missing", m.missing)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func placesOfLibrary(t *testing.T, err error) []string {
	t.Helper()
	var tree *validation.ValidationError
	if err != nil && !errors.As(err, &tree) {
		t.Fatal(err)
	}
	var out []string
	var walk func(v *validation.ValidationError)
	walk = func(v *validation.ValidationError) {
		for _, cause := range v.Causes {
			walk(cause)
		}
		if len(v.Causes) > 0 {
			return
		}
		at := pathKey(v.InstanceLocation)
		switch k := v.ErrorKind.(type) {
		case *kind.AdditionalProperties:
			out = append(out, withNames(at+" unknown", k.Properties)...)
		case *kind.Required:
			out = append(out, withNames(at+" missing", k.Missing)...)
		default:
			out = append(out, at+" value")
		}
	}
	if tree != nil {
		walk(tree)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func withNames(what string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = what + " " + name
	}
	return out
}
