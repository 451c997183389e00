package ncclenv

import (
	"fmt"
	"math"
)

// limit is what NCCL takes of a number. RCCL has other ones.
type limit struct {
	least, most int64
	step        int64 // it is to be a multiple of this; 0: of nothing
	unset       int64 // the number that stands for the default; where there are steps, so does what is below it
}

// limits of NCCL 2.30: getNthreads of src/graph/tuning.cc with NCCL_SIMPLE_MAX_NTHREADS, NCCL_LL128_MAX_NTHREADS and WARP_SIZE of
// src/include/device.h; ncclMinNchannels and ncclMaxNchannels of src/graph/connect.cc with MAXCHANNELS, where -2 is the default;
// MAX_THREADS of src/transport/net_socket.cc.
func limits() map[string]limit {
	const warp, block, lines, channels, threads = 32, 512, 640, 64, 16
	atLeast, atMost := limit{least: 1, most: math.MaxInt64, unset: -2}, limit{most: channels, unset: -2}
	return map[string]limit{
		"NCCL_NTHREADS":        {least: 2 * warp, most: block, step: warp},
		"NCCL_LL128_NTHREADS":  {least: lines / 4, most: lines, step: warp},
		"NCCL_MIN_NCHANNELS":   atMost,
		"NCCL_MIN_NRINGS":      atMost,
		"NCCL_MAX_NCHANNELS":   atLeast,
		"NCCL_MAX_NRINGS":      atLeast,
		"NCCL_SOCKET_NTHREADS": {most: threads, unset: -2},
	}
}

// Taken returns the number with which NCCL works where a variable is n, and why that is another one; why is empty where it is not.
func Taken(name string, n int64) (taken int64, why string) {
	l, limited := limits()[name]
	switch {
	case !limited || n == l.unset || l.step > 0 && n < l.unset:
		return n, ""
	case l.step > 0 && n%l.step != 0:
		return l.most, fmt.Sprintf("it takes a multiple of %d; NCCL works with %d", l.step, l.most)
	case n > l.most:
		return l.most, fmt.Sprintf("it takes at most %d; NCCL works with that", l.most)
	case n < l.least:
		return l.least, fmt.Sprintf("it takes at least %d; NCCL works with that", l.least)
	}
	return n, ""
}
