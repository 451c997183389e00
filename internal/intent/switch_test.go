package intent

import (
	"strings"
	"testing"
)

// Hosts that do not fit on the leaves that are asked for.
func TestTooFewLeaves(t *testing.T) {
	for count, want := range map[string]string{
		"1": `one leaf for everything: for 40 of the 40 hosts of 8 NICs a leaf needs 320 ports, and it has 64`,
		"3": `3 leaves, each for all rails of some hosts: for 14 of the 40 hosts of 8 NICs a leaf needs 112 ports, and it has 64`,
		"5": ``,
	} {
		text := strings.Replace(edit(t, `"host[1-2]"`, `"host[1-40]"`), "os: sonic}", "os: sonic, count: "+count+"}", 1)
		if want == "" {
			if _, err := Parse("c", []byte(text), load(t)); err != nil {
				t.Errorf("5 leaves with all ports in use: %v", err)
			}
			continue
		}
		wantProblems(t, text, []string{"c:10:43: fabric.leaf.count: " + want})
	}
}

// What cannot be arranged is refused where the file says it.
func TestSwitchesThatDoNotFit(t *testing.T) {
	leaf := "leaf: {model: z9664f, os: sonic}"
	for _, tt := range []struct{ name, old, replacement, want string }{
		{"no leaf at all", leaf, "leaf: {model: z9664f, os: sonic, count: 0}", `c:10:43: fabric.leaf.count: is too small: the minimum is 1`},
		{"one leaf for too many", `"host[1-2]"`, `"host[1-40]"`, ""}, // without a count there are more
		{"more leaves than hosts", leaf, "leaf: {model: z9664f, os: sonic, count: 3}", `c:10:43: fabric.leaf.count: 3 leaves, each for all rails of some hosts: with 2 hosts some have none`},
		{"more groups than hosts", leaf, "leaf: {model: z9664f, os: sonic, count: 24}", `c:10:43: fabric.leaf.count: 24 leaves, 3 groups with one for each of the 8 rails: with 2 hosts some have none`},
		{"a split that is unknown", leaf, "leaf: {model: z9664f, os: sonic, breakout: 3}", `c:10:46: fabric.leaf.breakout: a cage of z9664f is not split into 3 with sonic: use one of 1, 2, 4`},
		{"a split that no source names", leaf, "leaf: {model: crs812-ddq, breakout: 2}", `c:10:39: fabric.leaf.breakout: the catalog does not say how routeros names the ports of a split cage of crs812-ddq: remove the field`},
		{"a split without system", leaf, "leaf: {model: z9664f, breakout: 2}", `c:10:35: fabric.leaf.breakout: needs os, which says how the ports are named; known: dell-sonic, sonic`},
		{"a spine alone", leaf, "spine: {model: z9664f, os: sonic}", `c:10:10: fabric.spine: a spine joins leaves, and there is no fabric.leaf: name one, or remove the field`},
		{"spine model", leaf, leaf + "\n  spine: {model: z9664g, os: sonic}", `c:11:18: fabric.spine.model: switch "z9664g" is not in the catalog; did you mean "z9664f"? known: ` + switches(t) + ``},
		{"spine of the other kind", leaf, leaf + "\n  spine: {model: qm9700}", `c:11:18: fabric.spine.model: switch qm9700 is an infiniband switch, but fabric.kind is roce: use one of 7060dx4-32, crs520-4xs-16xq, crs804-4ddq, crs812-ddq, qfx5240, sse-t8032, z9664f`},
		{"spine system", leaf, leaf + "\n  spine: {model: z9664f, os: eos}", `c:11:30: fabric.spine.os: "eos": unknown on switch z9664f; known: dell-sonic, sonic`},
		{"spine without system", leaf, leaf + "\n  spine: {model: z9664f}", `c:11:10: fabric.spine.os: required field is missing: switch z9664f has several; known: dell-sonic, sonic`},
		{"spine without model", leaf, leaf + "\n  spine: {count: 2}", `c:11:10: fabric.spine.model: required field is missing: id of the switch in the catalog`},
		{"more spines than ports are left", leaf, "leaf: {model: z9664f, os: sonic, count: 2}\n  spine: {model: z9664f, os: sonic, count: 57}", `c:11:44: fabric.spine.count: each leaf has 56 ports left for spines, and needs one for each of the 57: use more leaves, or larger ones`},
		{"spines of one subnet", "p2p31, pool: 10.64.0.0/16}\n  " + leaf, "flat}\n  leaf: {model: z9664f, os: sonic, count: 8}\n  spine: {model: z9664f, os: sonic}", `c:11:10: fabric.spine: scheme flat is one subnet for all hosts, and between leaves and spines packets are routed: use p2p31 or rail24`},
		{"a pool without room for the cables", "10.64.0.0/16}\n  " + leaf, "10.64.0.0/27}\n  leaf: {model: z9664f, os: sonic, count: 8}\n  spine: {model: z9664f, os: sonic}", `c:9:37: fabric.addressing.pool: 10.64.0.0/27 is too small: 2 hosts of 8 NICs with scheme p2p31 and 16 cables between switches need 64 addresses: use a /26 or larger`},
		{"unknown field of a spine", leaf, leaf + "\n  spine: {model: z9664f, os: sonic, counts: 2}", `c:11:37: fabric.spine.counts: unknown field; did you mean "count"? known: model, os, count`},
		{"priority above 7", "priority: 3", "priority: 8", `c:11:40: fabric.traffic.roce.priority: is too large: the maximum is 7`},
		{"DSCP above 63", "dscp: 26", "dscp: 64", `c:11:26: fabric.traffic.roce.dscp: is too large: the maximum is 63`},
		{"spines of another model", leaf, "leaf: {model: z9664f, os: sonic, count: 8}\n  spine: {model: 7060dx4-32, count: 2}", ""},
		{"a spine that one leaf does not need", leaf, leaf + "\n  spine: {model: 7060dx4-32}", ""},
		{"whole cages", leaf, "leaf: {model: qfx5240, breakout: 1}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := edit(t, tt.old, tt.replacement)
			if tt.want != "" {
				wantProblems(t, text, strings.Split(tt.want, "\n"))
			} else if _, err := Parse("c", []byte(text), load(t)); err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}
