package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
		err  string
	}{
		"two and a comment": {text: "# of the plan\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n# nothing\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\n", want: []string{"Namespace a", "Pod a/p"}},
		"a list":            {text: `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}]}`, want: []string{"Pod x"}},
		"nothing":           {text: ""},
		"key twice":         {text: "apiVersion: v1\nkind: Pod\nkind: Service\n", err: `key "kind" already set in map`},
		"no kind":           {text: "apiVersion: v1\nmetadata: {name: a}\n", err: "document 1: kind: is missing"},
		"no name":           {text: "apiVersion: v1\nkind: Pod\n", err: "document 1: Pod: metadata.name: is missing"},
		"no version":        {text: "kind: Pod\nmetadata: {name: a}\n", err: "document 1: Pod: apiVersion: is missing"},
		"in a list":         {text: `{"kind":"List","items":[{"kind":"Pod"}]}`, err: "document 1: items[0]: Pod: apiVersion: is missing"},
		"text":              {text: "hello", err: "cannot unmarshal string"},
		"cut":               {text: "apiVersion: v1\nkind: \"Po", err: "document 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := Parse([]byte(test.text))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%v", err)
				}
				return
			}
			var got []string
			for _, o := range objects {
				got = append(got, o.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}
