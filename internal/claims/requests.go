package claims

import (
	resourceapi "k8s.io/api/resource/v1"
)

// alternative is one way to meet a request: the request itself, or one of its list of alternatives (firstAvailable).
type alternative struct {
	request   string // name; request/subrequest for one of a list
	class     string
	selectors []resourceapi.DeviceSelector
	path      string // of the selectors, below the request
	all       bool   // allocationMode All
	count     int64
	admin     bool
	tolerates []resourceapi.DeviceToleration
	capacity  *resourceapi.CapacityRequirements
}

// mostCounted bounds a count, so that sums of counts stay numbers: an allocation has 32 devices at most.
const mostCounted = 1 << 20

// alternatives are the ways to meet a request, preferred first.
func alternatives(r *resourceapi.DeviceRequest) (as []alternative) {
	if e := r.Exactly; e != nil {
		as = append(as, alternative{
			request: r.Name, class: e.DeviceClassName, selectors: e.Selectors, path: "exactly",
			all: e.AllocationMode == resourceapi.DeviceAllocationModeAll, count: min(e.Count, mostCounted),
			admin: e.AdminAccess != nil && *e.AdminAccess, tolerates: e.Tolerations, capacity: e.Capacity,
		})
	}
	for _, s := range r.FirstAvailable {
		as = append(as, alternative{
			request: r.Name + "/" + s.Name, class: s.DeviceClassName, selectors: s.Selectors, path: "firstAvailable",
			all: s.AllocationMode == resourceapi.DeviceAllocationModeAll, count: min(s.Count, mostCounted),
			tolerates: s.Tolerations, capacity: s.Capacity,
		})
	}
	return as
}

// defaults sets what the API server sets in a claim: one device per request, and equality of tolerations.
func defaults(spec *resourceapi.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if e := r.Exactly; e != nil {
			defaultCount(&e.AllocationMode, &e.Count)
			defaultTolerations(e.Tolerations)
		}
		for j := range r.FirstAvailable {
			s := &r.FirstAvailable[j]
			defaultCount(&s.AllocationMode, &s.Count)
			defaultTolerations(s.Tolerations)
		}
	}
}

func defaultCount(mode *resourceapi.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourceapi.DeviceAllocationModeExactCount
	}
	if *mode == resourceapi.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

func defaultTolerations(ts []resourceapi.DeviceToleration) {
	for i := range ts {
		if ts[i].Operator == "" {
			ts[i].Operator = resourceapi.DeviceTolerationOpEqual
		}
	}
}
