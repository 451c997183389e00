// Package launch reads what engines print while a group of pods starts to serve a model: which stage each rank is in, the
// figures of each stage, what failed first, and whether waiting longer can help. It is pure: lines come with the name of
// their pod and, where it is known, the time at which they came; what is silent or stalled follows from the time that the
// caller gives.
package launch
