// Package results reads what benchmarks and communication libraries print: nccl-tests and rccl-tests tables,
// perftest, the OSU micro-benchmarks, debug logs of NCCL and RCCL, and the two small formats of this program,
// table files and observation files. [Read] detects what is in a text, any number of results, in one
// pass and in bounded memory.
//
// Reading does not judge. What could not be read is kept with its reason, and a number that was not read is
// nil, never zero.
package results
