package fabric

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpandNames(t *testing.T) {
	for expr, want := range map[string]string{
		"host1":                 "host1",
		"host[1-3]":             "host1 host2 host3",
		"host[1-2,5]":           "host1 host2 host5",
		"host[5,1-2]":           "host5 host1 host2",
		"gpu[008-011]":          "gpu008 gpu009 gpu010 gpu011",
		"gpu[8-11]":             "gpu8 gpu9 gpu10 gpu11",
		"rack[1-2]n[09-10]":     "rack1n09 rack1n10 rack2n09 rack2n10",
		"a,b[1-2],c":            "a b1 b2 c",
		"gpu[0-1]rdma0":         "gpu0rdma0 gpu1rdma0",
		"[1-2]a":                "1a 2a",
		"enp1s0f0np0,enP2p1s0f": "enp1s0f0np0 enP2p1s0f",
	} {
		got, err := ExpandNames(expr)
		if d := cmp.Diff(strings.Fields(want), got); err != nil || d != "" {
			t.Errorf("%s: %v %s", expr, err, d)
		}
	}
	if got, err := ExpandNames("gpu[001-512]"); err != nil || len(got) != 512 || got[0] != "gpu001" || got[511] != "gpu512" {
		t.Errorf("gpu[001-512]: %d names, %v", len(got), err)
	}
}

func TestExpandNamesRefuses(t *testing.T) {
	for expr, want := range map[string]string{
		"":                             "has an empty name",
		"a,,b":                         "has an empty name",
		"a,":                           "has an empty name",
		"a[1-2":                        "has a '[' without its ']'",
		"a1-2]":                        "has a ']' without its '['",
		"a[1[2]]":                      "has a '[' inside brackets",
		"a[]":                          `"" is not a number`,
		"a[1-]":                        `"" is not a number`,
		"a[1-x]":                       `"x" is not a number`,
		"a[-1]":                        `"" is not a number`,
		"a[1-2-3]":                     `"2-3" is not a number`,
		"a[3-1]":                       `range "3-1" is reversed: want 1-3`,
		"a[01-100]":                    `range "01-100" mixes widths`,
		"a[1-08]":                      `range "1-08" mixes widths`,
		"a[1-100001]":                  "expands to more than 100000 names",
		"a[1-1000]b[1-1000]":           "expands to more than 100000 names",
		"a[1-60000],b[1-60000]":        "expands to more than 100000 names",
		"a[9999999999]":                "is not a number of 1 to 9 digits",
		strings.Repeat("a", 253) + "b": "gives names of 254 bytes: at most 253",
	} {
		if got, err := ExpandNames(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %d names, %v: want %s", expr, len(got), err, want)
		}
	}
}

// FuzzExpandNames: what is accepted has between 1 and 100,000 names without brackets or commas, and a
// written-out list expands to itself.
func FuzzExpandNames(f *testing.F) {
	for _, expr := range []string{"gpu[001-512]", "host[1-2,5]", "rack[1-2]n[01-16]", "a[", "a]b[", "a[9-1]", ",", "[0-0][0-0]"} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		names, err := ExpandNames(expr)
		if err != nil {
			return
		}
		if len(names) < 1 || len(names) > MaxNames {
			t.Fatalf("%d names", len(names))
		}
		list := strings.Join(names, ",")
		if strings.ContainsAny(list, "[]") {
			t.Fatalf("brackets are left in %q", names)
		}
		again, err := ExpandNames(list)
		if d := cmp.Diff(names, again); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
	})
}
