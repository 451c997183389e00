package launch

import "railwright.dev/railwright/internal/fabric"

// form is a text that lines have, and what a line with it says.
type form struct {
	text   string // fragments in order, * for anything between them
	does   does
	stage  fabric.LaunchStage // the stage that it speaks of; of a failure: the one in which it is met, where that is certain
	gets   []field            // figures behind the text
	kind   string             // of a failure or a remark
	weight int                // of a failure: 1 says little, 2 names the cause, 3 names it better than lines with 2
	engine string             // that prints it
}

// does is what a line does to the state of a rank.
type does uint8

const (
	inside   does = iota // the stage goes on
	begins               // the stage begins
	ends                 // the stage ends
	restart              // a process starts
	isReady              // the server takes requests
	isServed             // a request was answered
	bar                  // progress of the stage
	beat                 // a process waits, and says so: no progress and no failure
	root                 // a failure that is a cause
	waits                // a failure of a rank that waited for others
	effect               // a failure that follows from another one
	hint                 // explains a failure or a stall; alone it is none
	remark               // not well, and the launch goes on
	facts                // only figures
	opens                // a traceback, at whose end stands the exception
	frame                // a frame of a traceback: what fails next fails in that stage
	aside                // the next exception is printed and ignored by Python
)

// field is a figure behind a text in a line.
type field struct {
	key  string // the number stands behind it; "" : the number before unit
	what string
	unit string
	last bool // the number before key, not behind it
}

// allForms is what is known, in one list: the automaton finds all of them at once.
func allForms() []form {
	var all []form
	for _, part := range [][]form{sglangForms(), vllmForms(), commonForms(), failureForms(), waitForms(), effectForms(), hintForms(), frameForms()} {
		all = append(all, part...)
	}
	return all
}
