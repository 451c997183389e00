package fabric

import (
	"strings"
	"testing"
)

// Only a document of the right kind and shape is believed.
func TestDecode(t *testing.T) {
	const head = `{"apiVersion":"railwright.dev/v1alpha1","kind":"Index"`
	for _, c := range []struct{ name, text, err string }{
		{"right", head + `,"artifacts":[]}`, ""},
		{"nothing", ``, "line 1: unexpected end of JSON input"},
		{"null", `null`, `is kind "" in version ""`},
		{"an empty object", `{}`, `is kind "" in version ""`},
		{"a list", `[]`, "is a JSON array, not an object"},
		{"a number", `7`, "is a JSON number, not an object"},
		{"another kind", `{"apiVersion":"railwright.dev/v1alpha1","kind":"Plan"}`, `is kind "Plan" in version "railwright.dev/v1alpha1", not "Index"`},
		{"another version", `{"apiVersion":"railwright.dev/v2","kind":"Index"}`, `in version "railwright.dev/v2"`},
		{"an unknown field", head + `,"colour":1}`, `unknown field "colour"`},
		{"a field of another type", head + `,"artifacts":7}`, "cannot unmarshal number"},
		{"two documents", head + `}` + head + `}`, "after top-level value"},
		{"cut", head + ",\n\"artif", "line 2: unexpected end of JSON input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var index Index
			err := Decode([]byte(c.text), "Index", &index)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}
