package fabric

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	machines := []string{"a3-megagpu-8g", "hgx-a100", "hgx-b200", "hgx-h100", "hgx-h200"}
	for name, test := range map[string]struct {
		word  string
		known []string
		want  []string
	}{
		"one letter more":       {"hgx-h1000", machines, []string{"hgx-h100", "hgx-a100", "hgx-h200"}},
		"another case":          {"HGX-H100", machines, []string{"hgx-h100"}},
		"far":                   {"dgx-spark", machines, nil},
		"a part":                {"metal", []string{"vsphere", "baremetal"}, []string{"baremetal"}},
		"words of it":           {"llama-70b", []string{"meta-llama-3-1-8b", "meta-llama-3-1-70b"}, []string{"meta-llama-3-1-70b"}},
		"two letters":           {"zz", []string{"fuzzy"}, nil},
		"nothing":               {"", machines, nil},
		"a whole file":          {strings.Repeat("hgx-h100 ", 100), machines, nil},
		"nothing known":         {"hgx-h100", nil, nil},
		"the best is far above": {"mtuu", []string{"kind", "mtu", "pkey"}, []string{"mtu"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Nearest(test.word, test.known)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestUnknownName(t *testing.T) {
	for name, test := range map[string]struct {
		word, want string
		known      []string
	}{
		"near":     {"Fact", `kind "Fact": unknown; did you mean "Facts"? known: Facts, Plan`, []string{"Facts", "Plan"}},
		"two near": {"mtx", `kind "mtx": unknown; did you mean "mtu" or "mtv"? known: mtu, mtv`, []string{"mtu", "mtv"}},
		"far":      {"\x1b[31m", `kind "\x1b[31m": unknown; known: Facts, Plan`, []string{"Facts", "Plan"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := UnknownName("kind", test.word, test.known).Error(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
