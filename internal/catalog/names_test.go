package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	for expression, want := range map[string][]string{
		"eth0":              {"eth0"},
		"eth[1-3]":          {"eth1", "eth2", "eth3"},
		"ibs[65,67]":        {"ibs65", "ibs67"},
		"gpu[0-1]rdma0":     {"gpu0rdma0", "gpu1rdma0"},
		"n[08-10],m":        {"n08", "n09", "n10", "m"},
		"enp1s0f0np0,a[1]b": {"enp1s0f0np0", "a1b"},
		"a[1],":             nil,
		"a[]":               nil,
		"a[1-]":             nil,
		"a[1-99999]":        nil,
		"a[1][2]":           nil,
		"a b":               nil,
		"a]":                nil,
	} {
		got, err := expand(expression)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("%q: %v (-want +got)\n%s", expression, err, diff)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"eth[1-8]", "ibs[65,67]", "gpu[0-7]rdma0", "a,b[01-03]", "[", "a[1-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		names, err := expand(expression)
		if (err == nil) != (len(names) > 0) {
			t.Errorf("%d names with error %v", len(names), err)
		}
		for _, name := range names {
			if name == "" || strings.ContainsAny(name, "[], \n") {
				t.Errorf("%q is no name", name)
			}
		}
	})
}
