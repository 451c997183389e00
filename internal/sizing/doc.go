// Package sizing finds the layouts of a language model on machines: which ones an engine takes, how many bytes each
// GPU then holds, how many tokens and requests fit, and why other layouts are refused. One file an engine.
package sizing
