package collective

import "math"

// launched adds the time in which one process launches the kernels of all its GPUs, one after the other: the last
// starts that much later than the first, and all wait for it. The time of the collective itself is hidden
// behind that until it is longer.
func (c *Cluster) launched(job Job, size int64, t float64) float64 {
	floor := c.launchFloor(job, size)
	if t > 4*floor {
		return t
	}
	a, b := t*t*t, floor*floor*floor // the sixth root of the sum of sixth powers: the larger of both, smoothed
	return math.Sqrt(math.Cbrt(a*a + b*b))
}

// eachLaunches is for how many GPUs one thread launches kernels: each thread of a process (-t) does for its own (-g).
func (c *Cluster) eachLaunches(job Job) float64 {
	processes := job.Processes * max(1, c.trays) // of NCCL's time for a node
	switch {
	case job.Each > 0:
		return float64(min(job.Each, c.local()))
	case processes < 1 || processes >= c.local():
		return 1
	default:
		return math.Ceil(float64(c.local()) / float64(processes))
	}
}

// launchFloor is the time in which the kernels of a collective are launched, us; 0 where none was measured.
func (c *Cluster) launchFloor(job Job, size int64) float64 {
	times := c.eachLaunches(job)
	if c.gpu.amd && times == 1 {
		return 0
	}
	each := 5.1 // us: 41 us of 8 GPUs, H100 of 000_f7cda94ca5761c8b
	if c.gpu.amd {
		each = 4.2
	}
	if !c.gpu.amd && c.gpu.sm < 90 && times > 1 {
		each += channelWork * c.channelsTaken(size)
	}
	floor := each * times
	if _, tuned := functionOf(job.Collective); !tuned && times > 1 {
		floor = max(floor, perPeer*times*c.patternOf(job.Collective).peers)
	}
	if !c.gpu.amd {
		floor = max(floor, oneLaunch)
	}
	return floor
}

// channelWork is how long a process takes to enqueue the work of one channel of one GPU, us: NCCL from before
// Hopper wrote each channel's work separately. On eight A100 of one process every collective up to 4 MiB takes 40 to
// 60 us more with all channels than with one (S. Bekman, network/README.md; microsoft/superbenchmark, tests of nccl-bw).
const channelWork = 0.25

// channelsTaken is how many channels a size uses (nccl, src/enqueue.cc: each has at least 512 threads of 8 bytes for
// every rank).
func (c *Cluster) channelsTaken(size int64) float64 {
	return min(float64(c.channels()), float64(size)/float64(oneChannel*c.Ranks()))
}

// perPeer is how long a process takes to enqueue a send and a receive to one peer, us: 187 us of 8 GPUs with 31 peers
// each, against 91 us with a process for each GPU (Broadcom 957608-AN209, 8.7.2.1.2).
const perPeer = 0.75

// oneLaunch is the minimum time of a collective: its kernel's launch on a stream. The fastest sizes of one
// node of 2 and of 8 Hopper GPUs take 11.7 and 12.8 us.
const oneLaunch = 11.5
