package platform

import (
	"errors"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
)

// ClusterFormat is one kind of file that belongs to a cluster and to none of its machines: objects for the API server of Kubernetes,
// scripts for a person. Check says why it cannot be rendered; Render or Several, one of the two, is called where it can.
type ClusterFormat struct {
	ID      string
	Doc     string // what it is for, in one line
	Check   func(*fabric.Plan) error
	Skip    func(*fabric.Plan) bool // the plan does not ask for it; nil: it always does
	Render  func(*fabric.Plan) fabric.Artifact
	Several func(*fabric.Plan) []fabric.Artifact
}

// render returns false once the reader has stopped.
func (f ClusterFormat) render(p *fabric.Plan, yield func(fabric.Artifact) bool) bool {
	if f.Skip != nil && f.Skip(p) || f.Check(p) != nil {
		return true
	}
	if f.Render != nil {
		return yield(f.Render(p))
	}
	for _, a := range f.Several(p) {
		if !yield(a) {
			return false
		}
	}
	return true
}

// GKE lists the files of a cluster of Google Kubernetes Engine. Its machines get none: what they need, Google Cloud or a DaemonSet
// installs.
func GKE() []ClusterFormat {
	return append(Kubernetes(),
		ClusterFormat{
			ID: "nccl-test", Doc: "pods that wait for the test of collectives, with the claims of the plan", Check: testable,
			Render: func(p *fabric.Plan) fabric.Artifact { return render.NCCLTestPods(*p.Claims, *p.Cloud) },
		},
		ClusterFormat{
			ID: "gke-up", Doc: "makes networks, cluster and node pools in Google Cloud, and installs what their machines need", Check: made,
			Render: func(p *fabric.Plan) fabric.Artifact { return render.GKEUp(*p.Cloud) },
		},
		ClusterFormat{
			ID: "gke-down", Doc: "removes all that from Google Cloud, and nothing else", Check: made,
			Render: func(p *fabric.Plan) fabric.Artifact { return render.GKEDown(*p.Cloud) },
		},
		ClusterFormat{
			ID: "run-nccl-tests", Doc: "runs all_gather and all_reduce over those pods, and saves what they print", Check: testable,
			Render: func(p *fabric.Plan) fabric.Artifact { return render.RunNCCLTests(*p.Claims, *p.Cloud) },
		},
	)
}

func made(p *fabric.Plan) error {
	if p.Cloud == nil {
		return errors.New("the cluster file has no gke section: the cluster is taken to exist")
	}
	return nil
}

func testable(p *fabric.Plan) error { return errors.Join(claimed(p), made(p)) }
