package main

import (
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// Nothing that was measured of a table's fabric is left, and nothing else is gone.
func TestWithoutLeavesTheFabricOut(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	less := without(cat, fabric.Hardware{GPU: "h100-sxm", Nodes: 2, Net: "roce", NIC: "thor2"})
	if got, own := less.Fabrics["roce"].Payload.Value, cat.Fabrics["roce"].Payload.Value; got != 0 || own == 0 {
		t.Errorf("payload of RoCE: %v, its own is %v", got, own)
	}
	if less.NICs["thor2"].Payload.Value != 0 || cat.NICs["thor2"].Payload.Value == 0 {
		t.Errorf("payload of a NIC on it: %v, its own is %v", less.NICs["thor2"].Payload, cat.NICs["thor2"].Payload)
	}
	if less.GPUs["h100-sxm"].Ring != cat.GPUs["h100-sxm"].Ring || less.Fabrics["efa"].Step != cat.Fabrics["efa"].Step {
		t.Error("figures of other parts are gone")
	}
	inside := without(cat, fabric.Hardware{GPU: "h100-sxm", Nodes: 1})
	if g := inside.GPUs["h100-sxm"]; g.Ring.Value != 0 || g.Multicast.Value != 0 || g.ScaleUp.Value == 0 {
		t.Errorf("rates of one node: %+v", g)
	}
	if inside.GPUs["h200-sxm"].Ring.Value != 0 || inside.GPUs["b200"].Ring.Value == 0 {
		t.Error("a GPU with the same links has its rates, or one with others has none")
	}
}
