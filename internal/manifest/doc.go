// Package manifest reads what starts containers that serve a model or run collectives: objects of Kubernetes that hold pods,
// whatever their kind, compose files, docker run lines, and what they run: the commands of shell scripts and of argument lists.
// It is pure and judges nothing. Each value knows its line; a value that a template or a variable fills in later is open, never
// a guess. What was not understood is counted, with its place.
package manifest
