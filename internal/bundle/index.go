package bundle

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// IndexKind is the kind of the document that says what is in a bundle.
const IndexKind = "BundleIndex"

// Status is how an entry of a bundle ended.
type Status string

// What may become of a command or a file.
const (
	Whole   Status = "whole"    // all of it is there, exit status 0
	Failed  Status = "failed"   // the command ended with another exit status, or the file could not be read
	Cut     Status = "cut"      // it printed more than is kept
	Late    Status = "late"     // it did not end in time: what it had printed is there
	Absent  Status = "absent"   // there is no such program or file
	NotSeen Status = "left-out" // it was not asked, or redaction could not vouch for it
)

// Entry is a command or a file of a bundle.
type Entry struct {
	File    string  `json:"file,omitempty"`    // in the bundle; empty: there is none
	Command string  `json:"command,omitempty"` // as it was run
	Path    string  `json:"path,omitempty"`    // of a file on the host
	Status  Status  `json:"status"`
	Exit    *int    `json:"exit,omitempty"` // status of the command, where it ended by itself
	Seconds float64 `json:"seconds"`
	Bytes   int     `json:"bytes"`
	Reason  string  `json:"reason,omitempty"` // why it is not whole
}

// Index says what is in a bundle, and what is not, with the reason.
type Index struct {
	fabric.Meta
	Node      string           `json:"node"`
	Collected string           `json:"collected"` // RFC 3339, UTC
	Tool      string           `json:"tool"`      // version of railwright
	Redacted  bool             `json:"redacted"`
	Recording string           `json:"recording"` // for check --snapshot and explain --snapshot
	Entries   []Entry          `json:"entries"`
	NotRead   []fabric.Missing `json:"not_read"` // of the facts in the recording
	NotRun    []NotRun         `json:"not_run"`
}

// Lacks counts the entries that are not whole although the program or the file is there.
func (x *Index) Lacks() int {
	n := 0
	for _, e := range x.Entries {
		if e.Status != Whole && e.Status != Absent {
			n++
		}
	}
	return n
}

// text writes the index for people, what is missing first.
func (x *Index) text() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "railwright bundle of %s, collected %s by version %s\n", x.Node, x.Collected, x.Tool)
	if x.Redacted {
		b.WriteString("Names, serial numbers, GUIDs and addresses are replaced: the same one by the same everywhere in this bundle.\n" +
			"A name that stands only in free text, such as a server that a log speaks of, is not recognized and stays.\n")
	} else {
		b.WriteString("Names, serial numbers and addresses are in it: --redact replaces them.\n")
	}
	fmt.Fprintf(&b, "The recording %s gives the verdict of railwright check --snapshot, on this file or on the whole bundle.\n", x.Recording)
	for _, s := range []struct {
		status Status
		title  string
	}{{Late, "Did not end in time"}, {Cut, "Cut"}, {NotSeen, "Left out"}, {Failed, "Failed"}, {Absent, "Not on this host"}, {Whole, "Whole"}} {
		x.section(&b, s.status, s.title)
	}
	if len(x.NotRead) > 0 {
		fmt.Fprintf(&b, "\nNot read for the recording (%d)\n", len(x.NotRead))
		for _, m := range x.NotRead {
			fmt.Fprintf(&b, "  %s: %s (%s)\n", fabric.Printable(m.What), fabric.Printable(m.Reason), fabric.Printable(m.Source))
		}
	}
	b.WriteString("\nNot run: collectors of vendors, for when their support asks\n")
	for _, n := range x.NotRun {
		fmt.Fprintf(&b, "  %s: %s (%s)\n", n.Command, n.Why, n.Source)
	}
	return []byte(b.String())
}

func (x *Index) section(b *strings.Builder, status Status, title string) {
	n := 0
	for _, e := range x.Entries {
		if e.Status != status {
			continue
		}
		if n++; n == 1 {
			fmt.Fprintf(b, "\n%s\n", title)
		}
		name := e.Command
		if name == "" {
			name = e.Path
		}
		fmt.Fprintf(b, "  %s", fabric.Printable(name))
		if e.Reason != "" {
			fmt.Fprintf(b, ": %s", fabric.Printable(e.Reason))
		}
		if e.File != "" {
			fmt.Fprintf(b, " -> %s, %d bytes, %.1f s", fabric.Printable(e.File), e.Bytes, e.Seconds)
		}
		b.WriteString("\n")
	}
}
