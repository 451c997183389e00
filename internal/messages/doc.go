// Package messages knows what programs print: for each message its meaning, how bad it is, which feature it concerns and
// which causes it speaks for, as data in files named after the programs. [Catalogue.Find] says which message a line is.
//
// A message is the fixed parts of what its program prints, in order. Which of several messages a line is decides the
// number of its fixed characters: the most specific one. A line that is none of them is unknown, never healthy.
package messages
