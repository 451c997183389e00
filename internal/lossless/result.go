package lossless

import "railwright.dev/railwright/internal/fabric"

// Result is what became of a proof: Pass is proved, Fail refuted, Unknown neither, NotApplicable where RoCE is to be lossy.
type Result struct {
	Verdict         fabric.Status    `json:"verdict"`
	Why             string           `json:"why,omitempty"`             // of Unknown without gaps, and of NotApplicable
	Walked          int              `json:"walked"`                    // DSCP values times pairs of NICs between which their packets were followed
	Classes         int              `json:"classes"`                   // of ports and of NICs that treat packets alike
	Islands         int              `json:"islands"`                   // parts of the network with no cable between them: nothing goes from one to another
	Counterexamples []Counterexample `json:"counterexamples,omitempty"` // shortest first, at most MaxCounterexamples
	Faults          int              `json:"faults"`                    // different ones, of which Counterexamples shows the first
	Unknown         []Gap            `json:"unknown,omitempty"`         // at most MaxGaps
	Gaps            int              `json:"gaps"`                      // different ones, of which Unknown shows the first
}

// Bounds of a result's lists.
const (
	MaxCounterexamples = 100
	MaxGaps            = 100
)

// Kind is what is wrong with a packet's way.
type Kind string

// Kinds of faults.
const (
	Lossy         Kind = "lossy"          // RoCE is in a class for which no pause is sent
	NotPaused     Kind = "not-paused"     // RoCE's class has a priority of pauses, PFC is not on for it or sends none
	OtherPriority Kind = "other-priority" // RoCE is paused in another priority than the plan has
	PauseIgnored  Kind = "pause-ignored"  // the sender does not obey the pause that the receiver sends for RoCE
	PauseOther    Kind = "pause-other"    // the pause stops another queue of the sender than the one with RoCE
	LinkPause     Kind = "link-pause"     // the NIC pauses its link as a whole (IEEE 802.3 Annex 31B), not priorities
	NoECN         Kind = "no-ecn"         // RoCE's queue does not mark
	DropsEarly    Kind = "drops-early"    // RoCE's queue drops before it is full
	Thresholds    Kind = "ecn-thresholds" // the minimum is not below the maximum
	NotStrict     Kind = "cnp-not-strict" // congestion notifications are in a queue that is not strict
	CNPLossless   Kind = "cnp-lossless"   // they are in a lossless class, or where a pause stops them
	OtherLossless Kind = "other-lossless" // other packets are in a lossless class, or where a pause stops them
	SmallMTU      Kind = "mtu"            // below that of the sending NIC, or below what RoCE's packets of 4096 bytes need
	CyclicPauses  Kind = "cyclic-pauses"  // pauses can wait for each other in a circle: nothing moves any more
)

// Packet is a packet that shows a fault.
type Packet struct {
	DSCP int             `json:"dscp"` // with which its NIC sends it
	PCP  int             `json:"pcp"`  // 802.1p priority in its tag; -1: it has none
	From fabric.Endpoint `json:"from"`
	To   fabric.Endpoint `json:"to"`
}

// Counterexample is a fault: a packet, the way that it goes up to the fault, and what is wrong there.
type Counterexample struct {
	Kind   Kind   `json:"kind"`
	Packet Packet `json:"packet"`
	Hops   []Hop  `json:"hops"` // the last one is where the fault is; of CyclicPauses the cables of the circle, in its order
	Why    string `json:"why"`  // one sentence

	DSCPs    []int    `json:"dscps"`    // with which NICs send the packets that meet this fault, ascending
	Places   int      `json:"places"`   // ports with this fault: those of other switches with the same line are among them
	Switches []string `json:"switches"` // and hosts that these ports are of, by name
}

// Hop is something that decided about a packet on its way.
type Hop struct {
	At   fabric.Endpoint `json:"at"`   // NIC, or port by which the packet comes in or leaves
	Line fabric.Line     `json:"line"` // of the switch's text; of a NIC, File names the tools that were read and Text what they said
	Does string          `json:"does"`
}

// Gap is something that is unknown, so that nothing is proved.
type Gap struct {
	At     fabric.Endpoint `json:"at"`
	What   string          `json:"what"`   // and why
	Places int             `json:"places"` // NICs or ports where it is unknown
}
