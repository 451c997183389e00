package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// The bill has every end of every cable once: a cage that is split, or that has two ports, takes one transceiver.
func TestBill(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		leaf, spine string
		want        []fabric.CableLot
	}{
		{"{model: z9664f, os: sonic}", "", []fabric.CableLot{{From: "thor2", To: "z9664f", RateGbps: 400, Split: 1, Cables: 16, FromEnds: 16, ToEnds: 16, LengthM: 5}}},
		{"{model: z9664f, os: sonic, breakout: 2}", "", []fabric.CableLot{{From: "thor2", To: "z9664f", RateGbps: 200, Split: 2, Cables: 8, FromEnds: 16, ToEnds: 8, LengthM: 5}}},
		{"{model: qfx5240, os: junos}", "", []fabric.CableLot{{From: "thor2", To: "qfx5240", RateGbps: 400, Split: 2, Cables: 8, FromEnds: 16, ToEnds: 8, LengthM: 5}}},
		{"{model: z9664f, os: sonic, count: 2}", "{model: z9664f, os: sonic, count: 1}", []fabric.CableLot{
			{From: "thor2", To: "z9664f", RateGbps: 400, Split: 1, Cables: 16, FromEnds: 16, ToEnds: 16, LengthM: 5},
			{From: "z9664f", To: "z9664f", RateGbps: 400, Split: 1, Cables: 16, FromEnds: 16, ToEnds: 16, LengthM: 5}}},
		{"{model: qfx5240, os: junos, count: 2}", "{model: qfx5240, os: junos, count: 1}", []fabric.CableLot{
			{From: "thor2", To: "qfx5240", RateGbps: 400, Split: 2, Cables: 8, FromEnds: 16, ToEnds: 8, LengthM: 5},
			{From: "qfx5240", To: "qfx5240", RateGbps: 400, Split: 2, Cables: 8, FromEnds: 8, ToEnds: 8, LengthM: 5}}},
	} {
		t.Run(c.leaf, func(t *testing.T) {
			spine := ""
			if c.spine != "" {
				spine = "  spine: " + c.spine + "\n"
			}
			cluster, err := intent.Parse("c", fmt.Appendf(nil, `apiVersion: railwright.dev/v1alpha1
kind: Cluster
metadata: {name: a}
platform: baremetal
nodes: [{names: "host[1-2]", machine: xe9680-mi300x-thor2, nics: "eth[1-8]"}]
fabric:
  kind: roce
  leaf: %s
%s  traffic: {}
`, c.leaf, spine), cat)
			if err != nil {
				t.Fatal(err)
			}
			p, err := New(cluster, cat)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, p.Cabling.Bill); diff != "" {
				t.Error(diff)
			}
		})
	}
}
