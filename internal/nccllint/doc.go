// Package nccllint checks topology files by what NCCL does with them: what it refuses, what it silently misreads and
// what that costs; and fixes what can be fixed without guessing.
package nccllint
