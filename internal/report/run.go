// Package report shows the results of a run: as text for a terminal, as JSON, as one self-contained HTML page.
// It computes no verdict of its own: it shows those that it is given, worst first. What is nil was not
// checked, and is shown as prominently as what failed.
package report

import (
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// Run is everything that a report can show. Every field may be its zero value, which reads as "not
// checked", never as a pass.
type Run struct {
	fabric.Meta
	ID        string                      `json:"id"`
	Started   time.Time                   `json:"started,omitzero"`
	Seconds   float64                     `json:"seconds,omitempty"` // wall time
	Command   string                      `json:"command,omitempty"` // as it was called
	Version   string                      `json:"version,omitempty"` // of railwright
	Page      string                      `json:"-"`                 // path of its HTML page; not saved
	Lab       string                      `json:"lab,omitempty"`     // what kind of lab the hosts were, as LabOf returns it; empty: machines
	Plan      *fabric.Plan                `json:"plan,omitempty"`
	Plugged   []fabric.Link               `json:"plugged,omitempty"` // cables of machines whose ports have twins, as found; nil: not known
	Steps     []Step                      `json:"steps,omitempty"`   // in the order in which they ran
	Applied   []Applied                   `json:"applied,omitempty"` // one a node of the plan
	Findings  *fabric.Findings            `json:"findings,omitempty"`
	Mesh      *fabric.Mesh                `json:"mesh,omitempty"`
	Bench     *fabric.Bench               `json:"bench,omitempty"`  // tests of bandwidth; nil: not part of the run
	Claims    *fabric.Allocation          `json:"claims,omitempty"` // what the claims of the planned pods would get; nil: no pods are planned
	Causes    *fabric.Causes              `json:"causes,omitempty"`
	Next      []NextStep                  `json:"next,omitempty"` // what a person does after the run
	Artifacts *fabric.Index               `json:"artifacts,omitempty"`
	Proofs    []fabric.Proof              `json:"proofs,omitempty"`  // how far each rendered file was proved; none: nothing was rendered, or that was not recorded
	Missing   map[string][]fabric.Missing `json:"missing,omitempty"` // Facts.Missing by node; nil: no facts were read
}

// Step is a part of the pipeline that ran or should have. Status is Fail where the tool could not do its
// work; what is wrong with the cluster is in the findings.
type Step struct {
	Name    string        `json:"name"`
	Seconds float64       `json:"seconds"` // wall time
	Status  fabric.Status `json:"status"`
	Note    string        `json:"note,omitempty"`  // what it did, or why it did not
	Where   string        `json:"where,omitempty"` // where it ran, such as "run in the lab"; empty: not recorded
}

// Applied records how a node was configured. Status is Unknown where nothing was applied, and
// Reason is then the cause; with Pass, Reason may be why it was not done another way.
type Applied struct {
	Node   string        `json:"node"`
	How    string        `json:"how,omitempty"` // such as "netplan + systemd-networkd"
	Reason string        `json:"reason,omitempty"`
	Status fabric.Status `json:"status"`
}

// Status is the verdict of the run: the worst of the findings, the mesh, the tests of bandwidth, the claims, and the steps. A run without
// findings or without a mesh never passes, nor does one from whose mesh a node was absent, or of which a step did not
// finish.
func (r Run) Status() fabric.Status {
	findings, mesh := fabric.Unknown, fabric.Unknown
	if r.Findings != nil {
		findings = r.Findings.Summary.Status()
	}
	if r.Mesh != nil {
		mesh = r.Mesh.Summary().Status()
	}
	if findings == fabric.Fail || mesh == fabric.Fail || r.Bench != nil && r.Bench.Summary.Fail > 0 || r.Claims != nil && r.Claims.Status == fabric.Fail {
		return fabric.Fail
	}
	if findings != fabric.Pass || mesh != fabric.Pass || len(r.Mesh.Absent) > 0 {
		return fabric.Unknown
	}
	for _, s := range r.Steps {
		if s.Status == fabric.Fail || s.Status == fabric.Unknown {
			return fabric.Unknown
		}
	}
	for _, a := range r.Applied {
		if a.Status == fabric.Fail || a.Status == fabric.Unknown {
			return fabric.Unknown
		}
	}
	return fabric.Pass
}

// marks are the verdicts of the findings by NIC and by node, the worst of each, for the drawing of the
// cables. A finding on a PCI function, a GPU or a port counts for its node.
func (r Run) marks() map[fabric.Endpoint]fabric.Status {
	if r.Findings == nil {
		return nil
	}
	marks := map[fabric.Endpoint]fabric.Status{}
	for _, f := range r.Findings.Findings {
		if f.Status == fabric.NotApplicable || f.Subject.Node == "" {
			continue
		}
		e := fabric.Endpoint{Node: f.Subject.Node, NIC: f.Subject.NIC}
		old, seen := marks[e]
		if !seen || old != fabric.Fail && f.Status != fabric.Pass {
			marks[e] = f.Status
		}
	}
	return marks
}

// exitNote is the exit status with its meaning as a sentence.
func exitNote(s fabric.Status) string {
	text := exitMeaning(s)
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// exitMeaning is the exit status of the commands that judge, with its meaning.
func exitMeaning(s fabric.Status) string {
	switch s {
	case fabric.Pass:
		return "exit status 0: everything that was checked passed"
	case fabric.Fail:
		return "exit status 1: something failed"
	default:
		return "exit status 2: nothing failed, but something is unknown"
	}
}
