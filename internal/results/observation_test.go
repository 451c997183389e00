package results

import (
	"strings"
	"testing"
)

func TestObservationErrors(t *testing.T) {
	cases := []struct{ text, want string }{
		{"observed:\n- {fcat: x}\n", `line 2, column 4: observed[0]: key "fcat": unknown; did you mean "fact"?`},
		{"clusters: {gpu: h100}\nobserved: []\n", `line 1, column 1: the file: key "clusters": unknown; did you mean "cluster"?`},
		{"cluster: {gpus: 8}\nobserved: []\n", `line 1, column 11: cluster: key "gpus": unknown; did you mean "gpu"?`},
		{"cluster: {gpu: h100}\n", `key "observed" is missing`},
		{"observed: {a: b}\n", `observed must be a list`},
		{"observed:\n- {test: ncl}\n", `test "ncl": unknown; did you mean "nccl"?`},
		{"observed:\n- {test: nccl, busbw_gbs: .nan}\n", `busbw_gbs ".nan": not a number`},
		{"observed:\n- {test: nccl, busbw_gbs: -3}\n", `"-3": negative`},
		{"observed:\n- {test: nccl, nodes: two}\n", `observed[0].nodes "two": not a number`},
		{"observed:\n- {test: nccl, nodes: 1.5}\n", `want a whole number`},
		{"observed:\n- {test: nccl, collective: allreduct}\n", `collective "allreduct": unknown`},
		{"observed:\n- {test: nccl, test: nccl}\n", `duplicate key`},
		{"observed:\n- {pair: [a]}\n", `pair has 1 hosts`},
		{"observed:\n- {pair: a}\n", `must be a list`},
		{"observed:\n- {value: 3}\n", `value without setting`},
		{"observed:\n- {gbps: 3}\n", `is empty: want one of`},
		{"observed:\n- {fact: }\n", `has no value`},
		{"observed:\n- just text\n", `must have keys`},
		{"observed: &a\n- {fact: x}\ncluster: *a\n", `aliases are not supported`},
		{"observed:\n- {fact: [\n", `line 2`},
		{"cluster: {vm: maybe}\nobserved: []\n", `want true or false`},
		{"observed:\n- {fact: " + strings.Repeat("x", maxWhole) + "}\n", `larger than 256 KiB`},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			_, err := Read("o.yaml", strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.60q: error is\n %v\nwant\n %s", c.text, err, c.want)
			}
		})
	}
}

// TestObservationsInJSON: the same in the other spelling, and after other results.
func TestObservationsInJSON(t *testing.T) {
	found, err := Read("x", strings.NewReader("NCCL version 2.28.9\n{\"observed\": [\n {\"test\": \"nccl\", \"busbw_gbs\": 155}]}\n"))
	if err != nil || len(found) != 1 || observationsOf(found[0]) == nil {
		t.Fatalf("%v, %+v", err, found)
	}
	if o := observationsOf(found[0]).Observed[0]; found[0].Line != 2 || o.Line != 3 || *o.BusBWGBs != 155 {
		t.Errorf("line %d, observation %+v", found[0].Line, o)
	}
}

func TestManyDocuments(t *testing.T) {
	found, err := Read("x", strings.NewReader("observed:\n- {fact: a}\n---\nobserved:\n- {fact: b}\n"))
	if err != nil || len(found) != 2 || found[1].Line != 4 {
		t.Errorf("%v, %+v", err, found)
	}
}
