package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/report"
)

// Each rendered file has a proof, whatever its target answered; those of which the same is known are one.
func TestProofs(t *testing.T) {
	const net, grub, sonic = "/etc/netplan/60-railwright.yaml", "/etc/default/grub.d/60-railwright.cfg", "/etc/sonic/railwright.json"
	index := &fabric.Index{}
	for _, target := range []string{"a", "b", "c", "d", "real"} {
		index.Artifacts = append(index.Artifacts, fabric.Artifact{Target: target, Path: grub}, fabric.Artifact{Target: target, Path: net})
	}
	index.Artifacts = append(index.Artifacts, fabric.Artifact{Target: "leaf1", Path: sonic}, fabric.Artifact{Target: "leaf2", Path: sonic})
	run := fabric.Proof{Path: net, Level: fabric.Run, By: []string{"netplan generate", "systemd-networkd"}}
	grubs := fabric.Proof{Path: grub, Level: fabric.Rendered, Reason: "nothing reads it"}
	activated := func(node string, proofs ...fabric.Proof) apply.Applied {
		return apply.Applied{Node: node, Status: fabric.Pass, Activation: &apply.Activation{Proofs: proofs}}
	}
	u := &up{Options: Options{Plan: &fabric.Plan{Switches: []fabric.Switch{{Name: "leaf1"}, {Name: "leaf2"}}}}, report: report.Run{Artifacts: index}, applied: []apply.Applied{
		activated("a", grubs, run), activated("b", grubs, run), activated("c", grubs),
		{Node: "d", Error: "refused"}, {Node: "real", Status: fabric.Pass},
		{Node: "leaf1", Status: fabric.NotApplicable, Reason: "a bridge"}, {Node: "leaf2", Error: "copy it"},
	}}
	of := func(p fabric.Proof, targets ...string) fabric.Proof { p.Targets = targets; return p }
	rendered := func(path, reason string, targets ...string) fabric.Proof {
		return fabric.Proof{Path: path, Level: fabric.Rendered, Reason: reason, Targets: targets}
	}
	const refused = "it was not applied; why not stands with the configuration of the hosts"
	written := func(path string) string {
		return "it was written; files " + apply.TakesEffect([]apply.Change{{Path: path, Kind: apply.Create}})
	}
	want := []fabric.Proof{
		of(grubs, "a", "b", "c"), of(run, "a", "b"), rendered(net, "the answer does not name it", "c"),
		rendered(grub, refused, "d"), rendered(net, refused, "d"),
		rendered(grub, written(grub), "real"), rendered(net, written(net), "real"), rendered(sonic, "a bridge", "leaf1"), rendered(sonic, "copy it", "leaf2"),
	}
	if diff := cmp.Diff(want, u.proofs()); diff != "" {
		t.Error(diff)
	}
	u.applied = nil
	const never = "the step apply did not come to it"
	all := []string{"a", "b", "c", "d", "real"}
	want = []fabric.Proof{rendered(grub, never, all...), rendered(net, never, all...), rendered(sonic, never, "leaf1", "leaf2")}
	if diff := cmp.Diff(want, u.proofs()); diff != "" {
		t.Error(diff)
	}
	u.report.Artifacts = nil
	if got := u.proofs(); got != nil {
		t.Errorf("nothing was rendered: %+v", got)
	}
}
