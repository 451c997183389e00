// Package ncclenv knows which environment variables NCCL and RCCL read, since which version, and what kind of value each takes.
// NCCL reads what it knows and says nothing of the rest: a misspelled name, or a word where it wants a number, has no effect
// or another one than was meant. [Known] tells names apart, [Nearest] proposes, [Variable.Problem] judges a
// value, and [Taken] says with which number NCCL works instead of one that it does not take.
//
// The names are data (data/*.tsv, which say where they come from): those of NCCL were read out of its library, release by
// release, from 2.16 to 2.32.
package ncclenv
