// Package ncclgraph models what NCCL does with a topology file: the graph of a host with the bandwidths that NCCL
// assumes, its paths, and the rings, trees and channels that the search finds. It describes what NCCL will do, not
// hardware can do.
package ncclgraph
