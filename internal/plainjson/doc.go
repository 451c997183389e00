// Package plainjson decodes JSON that a program has written from the same type, several times as fast as encoding/json: known names in
// their own case, each once, no null, values of their own kind. It gives what encoding/json gives, or leaves the text to it:
// whatever is unusual, and whatever is wrong, is for that package to read and to name.
package plainjson
