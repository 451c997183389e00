// Package apply brings rendered artifacts onto their targets, one file per kind of target: it says what would
// change, saves the previous files, writes, verifies, and restores.
package apply
