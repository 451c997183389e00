package report

import (
	"encoding/json"
	"fmt"
	"io"

	"railwright.dev/railwright/internal/fabric"
)

// FindingsWriter writes a check as JSON finding by finding, so that those of 16,384 nodes are never in
// memory together. It writes a fabric.Findings with the summary last.
type FindingsWriter struct {
	w     io.Writer
	first bool
	err   error
}

// NewFindingsWriter begins the document.
func NewFindingsWriter(w io.Writer) *FindingsWriter {
	f := &FindingsWriter{w: w, first: true}
	f.print("{\n  \"apiVersion\": %q,\n  \"kind\": \"Findings\",\n  \"findings\": [", fabric.APIVersion)
	return f
}

// Write adds a finding, on a line of its own. Close returns the errors.
func (f *FindingsWriter) Write(one fabric.Finding) {
	text := f.encode(one)
	separator := ",\n    "
	if f.first {
		separator, f.first = "\n    ", false
	}
	f.print("%s%s", separator, text)
}

// Close ends the document, with what was read of switches where there were any, and returns the first error.
func (f *FindingsWriter) Close(s fabric.Summary, switches []fabric.SwitchSummary) error {
	f.print("\n  ],\n")
	if len(switches) > 0 {
		f.print("  \"switches\": %s,\n", f.encode(switches))
	}
	f.print("  \"summary\": %s\n}\n", f.encode(s))
	return f.err
}

func (f *FindingsWriter) encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil && f.err == nil {
		f.err = err
	}
	return text
}

func (f *FindingsWriter) print(format string, args ...any) {
	if f.err == nil {
		_, f.err = fmt.Fprintf(f.w, format, args...)
	}
}
