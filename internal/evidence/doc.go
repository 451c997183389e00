// Package evidence turns what was read into typed evidence: messages of programs, settings, outcomes, contrasts
// between two states of a system, asymmetries between hosts, and statements of people. It is pure, and it weighs nothing:
// what evidence says of a cause is data of package diagnose.
package evidence
