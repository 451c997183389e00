// Package ncclgraph is what NCCL makes of a topology file: the graph of a host with the bandwidths that NCCL assumes,
// the paths in it, and the rings, trees and channels that its search finds. It says what NCCL will do, not what the
// hardware can do.
package ncclgraph
