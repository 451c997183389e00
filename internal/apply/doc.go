// Package apply brings rendered artifacts onto their targets, one file a kind of target: it says what would
// change, keeps what was there, writes, verifies, and puts back.
package apply
