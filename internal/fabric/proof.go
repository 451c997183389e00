package fabric

import (
	"fmt"
	"slices"
)

// Proof is how far a rendered file was proved in one run: what really read it there, and what has it in effect. A file that
// nothing read is Rendered: that it is right is then known from tests only.
type Proof struct {
	Path    string     `json:"path"`              // absolute, on its targets
	Targets []string   `json:"targets,omitempty"` // nodes or switches; none where the document is about one
	Level   ProofLevel `json:"level"`
	By      []string   `json:"by,omitempty"`     // what read it, or has it in effect; of Parsed and Run only
	Reason  string     `json:"reason,omitempty"` // why it was not proved further, or not in all its parts
}

// ProofLevel is how far a file was proved.
type ProofLevel string

// The levels of proof, each of which has those before it.
const (
	Rendered ProofLevel = "rendered" // nothing read it
	Parsed   ProofLevel = "parsed"   // the program that it is for, or its own checker, read it without an error
	Run      ProofLevel = "run"      // it is in effect: the kernel was asked
)

// UnmarshalText reads a level; another word is an error, never a level.
func (l *ProofLevel) UnmarshalText(text []byte) error {
	*l = ProofLevel(text)
	if known := []ProofLevel{Rendered, Parsed, Run}; !slices.Contains(known, *l) {
		return fmt.Errorf("level of proof %q: unknown; known: %q", text, known)
	}
	return nil
}

// Valid reports whether a proof says what it must: a level with what proved it, or with why nothing did.
func (p Proof) Valid() bool {
	if p.Level == Rendered {
		return len(p.By) == 0 && p.Reason != ""
	}
	return (p.Level == Parsed || p.Level == Run) && len(p.By) > 0 && !slices.Contains(p.By, "")
}
