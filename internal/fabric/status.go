package fabric

import (
	"fmt"
	"slices"
	"strings"
)

// Status is a verdict. The zero value is Unknown, so that a missing verdict never reads as a pass.
type Status uint8

// The four verdicts. NotApplicable is only for a rule whose declared scope leaves the subject out.
const (
	Unknown Status = iota
	Pass
	Fail
	NotApplicable
)

var statusNames = []string{"unknown", "pass", "fail", "not_applicable"}

// String returns the word used in JSON and on the terminal.
func (s Status) String() string {
	if int(s) >= len(statusNames) {
		return statusNames[Unknown]
	}
	return statusNames[s]
}

// MarshalText writes the word.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word; another word is an error, never a verdict.
func (s *Status) UnmarshalText(text []byte) error {
	i, err := indexOf("status", string(text), statusNames)
	*s = Status(i)
	return err
}

// Severity is how serious a failing finding is. The zero value is SeverityError.
type Severity uint8

// The severities, worst first.
const (
	SeverityError Severity = iota
	SeverityWarning
	SeverityInfo
)

var severityNames = []string{"error", "warning", "info"}

// String returns the word used in JSON and on the terminal.
func (s Severity) String() string {
	if int(s) >= len(severityNames) {
		return severityNames[SeverityError]
	}
	return severityNames[s]
}

// MarshalText writes the word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *Severity) UnmarshalText(text []byte) error {
	i, err := indexOf("severity", string(text), severityNames)
	*s = Severity(i)
	return err
}

func indexOf(what, word string, known []string) (int, error) {
	i := slices.Index(known, word)
	if i < 0 {
		return 0, fmt.Errorf("%s %q: unknown; known: %s", what, word, strings.Join(known, ", "))
	}
	return i, nil
}
