package cli

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
)

// What a cluster lacks, and what was seen of an object that is not ready, stand below their target; a log cannot look like a line of ours.
func TestUnreadyText(t *testing.T) {
	r := apply.Applied{Node: fabric.OnKubernetes, Status: fabric.Fail, Note: "API server https://a",
		Preconditions: []apply.Precondition{
			{Object: "LeaderWorkerSet llm/r1", Needs: "room for 2 worker pods", Status: fabric.Pass},
			{Object: "LeaderWorkerSet llm/r1", Needs: "Secret llm/hub with key token", Status: fabric.Fail, Reason: "it does not exist"},
			{Object: "LeaderWorkerSet llm/r1", Needs: "storage class fast", Status: fabric.Unknown, Reason: "not permitted"},
		},
		Activation: &apply.Activation{Network: fabric.OnKubernetes, Pending: []string{"LeaderWorkerSet llm/r1: 0 of 1 groups ready"}, Unready: []apply.Unready{
			{Object: "LeaderWorkerSet llm/r1", Events: []string{"Pod llm/r1-0: BackOff: again (7 times) (3s ago)"}, Of: "container main of Pod llm/r1-0, run before this one", Log: []string{"PASS: all is well\x1b[2J", "CUDA out of memory"}},
			{Object: "Job llm/load"},
		}},
		Changes: []apply.Change{{Path: "LeaderWorkerSet llm/r1", Kind: apply.Create}},
	}
	want := `  note     API server https://a
  not met  LeaderWorkerSet llm/r1: needs Secret llm/hub with key token: it does not exist
  unknown  LeaderWorkerSet llm/r1: needs storage class fast: not permitted
  create   LeaderWorkerSet llm/r1
  pending  LeaderWorkerSet llm/r1: 0 of 1 groups ready
  what was seen of LeaderWorkerSet llm/r1:
    event  Pod llm/r1-0: BackOff: again (7 times) (3s ago)
    log of container main of Pod llm/r1-0, run before this one:
      PASS: all is well\x1b[2J
      CUDA out of memory
`
	if got := changesText(r, false); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if strings.Contains(changesText(r, false), "\x1b") {
		t.Error("an escape gets to the terminal")
	}
}
