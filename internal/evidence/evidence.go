package evidence

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Seen is where a piece of evidence was seen, and what was seen there.
type Seen struct {
	Source string // "log, line 12"; "observation, line 3"; "check pcie-width"
	Text   string // as it was read, for people
	Host   string // empty: unknown, or the whole job
	Rank   *int   // nil: unknown
	Own    bool   // it belongs to the result that is judged, not to another one of the same call
}

// Evidence is one thing that was seen. Its sign is what the likelihoods know it by. What has the same origin is seen for
// one reason and counts once.
type Evidence interface {
	Sign() string
	Origin() string
	Where() Seen
}

// Where returns where the evidence was seen.
func (s Seen) Where() Seen { return s }

// Message is a message of a program that the catalogue knows.
type Message struct {
	Seen
	ID      string // nccl/ib-completion-retry
	Feature string // of the catalogue: network, gdr, bootstrap, ...
	Quoted  bool   // a person tells of it in a sentence
}

// Setting is an environment variable or option of the job.
type Setting struct {
	Seen
	Name, Value string
}

// Measure is what a measured number, or several of them, show beside what is expected.
type Measure struct {
	Seen
	Shows string // "half-of-the-bound", "one-row-of-pairs-low"
	From  string // its origin, where messages or other measures show the same; empty: its own
	About fabric.Subject
}

// Found is a rule of railwright check that failed or passed.
type Found struct {
	Seen
	Rule   string
	Cause  fabric.CauseID
	About  fabric.Subject
	Failed bool // else it passed
	Error  bool // its severity, where it failed
}

// Predicted is how well what is predicted with a cause in force fits what was measured.
type Predicted struct {
	Seen
	Cause fabric.CauseID
	Ratio float64 // how many times likelier the measurement is where the cause takes all of the loss than where something else does
	Share float64 // of the loss that the cause is answerable for by its prediction, 0 to 1; it is in force. 0: it is not, or not known to be
}

// Outcome is how a run ended.
type Outcome struct {
	Seen
	How     How
	Printed bool // a program's message says it, which may be of a try that was repeated otherwise; else a person or a number
}

// How a run ended. The zero value is unknown.
type How string

// The ways in which a run ends.
const (
	Hang    How = "hang"    // it never ended
	Crash   How = "crash"   // it ended with an error
	Refused How = "refused" // it did not get to its first collective
	Slow    How = "slow"    // it ended and took too long
	Fine    How = "fine"
)

// Contrast is what one change does to the outcome, all else the same.
type Contrast struct {
	Seen
	What   string // the state that was tried: p2p-off, other-interface, one-node; of the words
	Effect Effect
	Said   bool // a sentence tells of it; else it is an entry of its own, or numbers show it
}

// Effect is what a change did.
type Effect string

// The effects of a change.
const (
	Better Effect = "better"
	Worse  Effect = "worse"
	Same   Effect = "same"
)

// Asymmetry is what some hosts of a run have and others do not.
type Asymmetry struct {
	Seen
	What          string // plugin, version, gdr, hcas, env
	With, Without []string
}

// Statement is a thing that a person mentions beside a fault. It is weak.
type Statement struct {
	Seen
	Topic   string // of the words
	Differs bool   // it is said to differ between machines
}

// Sign implements Evidence.
func (m Message) Sign() string { return "message " + m.ID }

// Origin is the part of the program that printed it: a failure there prints several messages.
func (m Message) Origin() string { return "messages of " + m.Feature }

// Sign implements Evidence.
func (s Setting) Sign() string { return "setting " + s.Name }

// Origin implements Evidence.
func (s Setting) Origin() string { return s.Sign() }

// Sign implements Evidence.
func (m Measure) Sign() string { return "measure " + m.Shows }

// Origin implements Evidence.
func (m Measure) Origin() string {
	if m.From != "" {
		return m.From
	}
	return m.Sign()
}

// Sign implements Evidence.
func (p Predicted) Sign() string { return "predicted " + string(p.Cause) }

// Origin implements Evidence.
func (p Predicted) Origin() string { return p.Sign() }

// Sign implements Evidence.
func (f Found) Sign() string {
	switch {
	case !f.Failed:
		return "finding passed"
	case f.Error:
		return "finding error"
	default:
		return "finding warning"
	}
}

// Origin implements Evidence.
func (f Found) Origin() string { return "finding " + string(f.Cause) }

// Sign implements Evidence.
func (o Outcome) Sign() string { return "outcome " + string(o.How) }

// Origin implements Evidence.
func (o Outcome) Origin() string { return "outcome" }

// Sign implements Evidence.
func (c Contrast) Sign() string { return "contrast " + c.What + " " + string(c.Effect) }

// Origin implements Evidence.
func (c Contrast) Origin() string { return "contrast " + c.What }

// Sign implements Evidence.
func (a Asymmetry) Sign() string { return "asymmetry " + a.What }

// Origin implements Evidence.
func (a Asymmetry) Origin() string { return a.Sign() }

// Sign implements Evidence.
func (s Statement) Sign() string { return "topic " + s.Topic }

// Origin of a statement is its text: what one sentence mentions was written for one reason.
func (s Statement) Origin() string { return "text " + strings.TrimSpace(s.Text) }

// Foreign returns the evidence as one that another result of the same call gave.
func Foreign(e Evidence) Evidence {
	switch e := e.(type) {
	case Message:
		e.Own = false
		return e
	case Setting:
		e.Own = false
		return e
	case Measure:
		e.Own = false
		return e
	case Predicted:
		e.Own = false
		return e
	case Found:
		e.Own = false
		return e
	case Outcome:
		e.Own = false
		return e
	case Contrast:
		e.Own = false
		return e
	case Asymmetry:
		e.Own = false
		return e
	case Statement:
		e.Own = false
		return e
	}
	return e
}
