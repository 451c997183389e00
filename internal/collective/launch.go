package collective

import "math"

// launched adds what one process takes to launch the kernels of all its GPUs, one after the other: the last
// starts that much later than the first, and all wait for it. What the collective itself takes is hidden
// behind that until it is longer.
func (c *Cluster) launched(job Job, t float64) float64 {
	if c.gpu.amd && (job.Processes < 1 || job.Processes >= c.local()) {
		return t
	}
	processes := job.Processes
	if processes < 1 {
		processes = c.local()
	}
	each := 5.1 // us: 41 us of 8 GPUs, H100 of 000_f7cda94ca5761c8b
	if c.gpu.amd {
		each = 4.2
	}
	floor := each * math.Ceil(float64(c.local())/float64(processes))
	if _, tuned := functionOf(job.Collective); !tuned && processes < c.local() {
		floor = max(floor, perPeer*float64(c.local()/processes)*c.patternOf(job.Collective).peers)
	}
	if !c.gpu.amd {
		floor = max(floor, oneLaunch)
	}
	if t > 4*floor {
		return t
	}
	a, b := t*t*t, floor*floor*floor // the sixth root of the sum of sixth powers: the larger of both, rounded off
	return math.Sqrt(math.Cbrt(a*a + b*b))
}

// perPeer is what a process takes to enqueue a send and a receive to one peer, us: 187 us of 8 GPUs with 31 peers
// each, against 91 us with a process for each GPU (Broadcom 957608-AN209, 8.7.2.1.2).
const perPeer = 0.75

// oneLaunch is what a collective takes at least: its kernel's launch on a stream. The fastest sizes of one
// node of 2 and of 8 Hopper GPUs take 11.7 and 12.8 us.
const oneLaunch = 11.5
