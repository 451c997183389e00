// Package pattern finds which of many regular expressions may match a text, in one pass over it: each expression is parsed
// for the literals of which every match has one, and is tried only on a text that has one of them. Nearly every line of
// nearly every log matches nothing, and a regular expression takes a hundred times as long to say so. What is left is told by
// automata, made of the expressions that are tried again and again: in one step for each byte, whether there is a match, and where
// each begins.
package pattern
