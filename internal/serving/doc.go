// Package serving computes how fast a layout of a model serves a workload: tokens per second, time per token and time
// to the first token, what limits them, and what the network between the nodes contributes.
package serving
