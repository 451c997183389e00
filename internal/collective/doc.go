// Package collective predicts collectives: the time of one on healthy machines, the bandwidth that
// physics allows and the element that limits it. The algorithm and protocol are chosen by NCCL's own tuning
// model, or RCCL's, from the same graphs; the time is this package's own.
//
// Sizes are bytes as nccl-tests counts them, times us, bandwidths GB/s of 1e9 bytes, one way.
package collective
