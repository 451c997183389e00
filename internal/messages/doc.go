// Package messages knows what programs print: for each message its meaning, how bad it is, which feature it concerns and
// which causes it speaks for, as data in files named after the programs. [Catalogue.Find] says which message a line is.
//
// An entry of data/PROGRAM.yaml has
//
//	id: ib-completion-retry                        unique in the file, says what happened
//	match: ["Got completion * with status=12"]     one or more: fragments in order, * for any text between them
//	level: fatal                                   a Level
//	feature: network                               a Feature
//	means: A NIC used up its retries.              for people
//	signs: {roce-lossy: supports}                  causes, and the Strength with which it speaks for each
//	why: no answer at all is loss                  the reason of the signs
//	source: src/transport/net_ib                   where the program prints it
//
// A pattern is the shortest that is distinctive: at least two words, or the name of a function, and no variable part. It
// is found anywhere in a line. Of several messages that a line has, the one with the most fixed characters is meant, so a
// general entry must have fewer than those of its special cases. What a program prints because another rank or layer
// failed has no signs. A line that is no message and has the form of a fault is unknown, never healthy.
package messages
