// Package archtest holds the architecture of the program as tests: who imports whom, what names and
// sizes are allowed, where processes start, and that each noun is one struct. It has no code of its own.
package archtest
