package claims

import (
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

// claimFaults checks what the server checks of a claim, as far as its allocation depends on it. At is the path of the
// spec: spec, or spec.spec in a template.
func (known verdicts) claimFaults(spec *resourceapi.ResourceClaimSpec, at, version string) (fs []fault) {
	path := []any{"devices", "requests"}
	for _, key := range slices.Backward(strings.Split(at, ".")) {
		path = append([]any{key}, path...)
	}
	names := map[string]bool{}
	if len(spec.Devices.Requests) == 0 {
		fs = append(fs, refuse(at+".devices.requests", "is empty: the claim asks for no device"))
	}
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		field := fmt.Sprintf("%s.devices.requests[%d]", at, i)
		if r.Name == "" {
			fs = append(fs, refuse(field+".name", "is missing"))
		} else if names[r.Name] {
			fs = append(fs, refuse(field+".name", "%s is given twice", r.Name))
		}
		names[r.Name] = true
		fs = append(fs, known.requestFaults(r, field, slices.Concat(path, []any{i}), version)...)
		for _, s := range r.FirstAvailable {
			names[r.Name+"/"+s.Name] = true
		}
	}
	for i, c := range spec.Devices.Constraints {
		fs = append(fs, constraintFaults(c, fmt.Sprintf("%s.devices.constraints[%d]", at, i), names)...)
	}
	return fs
}

func (known verdicts) requestFaults(r *resourceapi.DeviceRequest, field string, path []any, version string) (fs []fault) {
	switch {
	case r.Exactly == nil && len(r.FirstAvailable) == 0 && (version == "v1" || version == "v1beta2"):
		return []fault{refuse(field+".exactly", "is missing, and so is firstAvailable: in %s the request stands below one of them", version)}
	case r.Exactly == nil && len(r.FirstAvailable) == 0:
		return []fault{refuse(field+".deviceClassName", "is missing")}
	case r.Exactly != nil && len(r.FirstAvailable) > 0:
		return []fault{refuse(field, "has both one request and a list of alternatives (firstAvailable)")}
	}
	for j, a := range alternatives(r) {
		at, below := field, slices.Concat(path, []any{"selectors"})
		switch {
		case len(r.FirstAvailable) > 0:
			at = fmt.Sprintf("%s.firstAvailable[%d]", field, j)
			below = slices.Concat(path, []any{"firstAvailable", j, "selectors"})
		case version == "v1" || version == "v1beta2":
			at += ".exactly"
			below = slices.Concat(path, []any{"exactly", "selectors"})
		}
		if a.class == "" {
			fs = append(fs, refuse(at+".deviceClassName", "is missing"))
		}
		switch {
		case a.count < 0:
			fs = append(fs, refuse(at+".count", "is below 0"))
		case a.all && a.count != 0:
			fs = append(fs, refuse(at+".count", "must not be given with allocationMode All"))
		case !a.all && mode(r, j) != resourceapi.DeviceAllocationModeExactCount:
			fs = append(fs, refuse(at+".allocationMode", "%q is not ExactCount or All", mode(r, j)))
		}
		fs = append(fs, known.selectorFaults(a.selectors, below)...)
	}
	return fs
}

func mode(r *resourceapi.DeviceRequest, alternative int) resourceapi.DeviceAllocationMode {
	if r.Exactly != nil {
		return r.Exactly.AllocationMode
	}
	return r.FirstAvailable[alternative].AllocationMode
}

func constraintFaults(c resourceapi.DeviceConstraint, field string, names map[string]bool) (fs []fault) {
	switch {
	case c.MatchAttribute == nil && c.DistinctAttribute == nil:
		fs = append(fs, refuse(field, "has neither matchAttribute nor distinctAttribute"))
	case c.MatchAttribute != nil && c.DistinctAttribute != nil:
		fs = append(fs, refuse(field, "has both matchAttribute and distinctAttribute"))
	}
	for _, a := range []*resourceapi.FullyQualifiedName{c.MatchAttribute, c.DistinctAttribute} {
		if a == nil {
			continue
		}
		if !strings.Contains(string(*a), "/") {
			fs = append(fs, refuse(field, "%q has no domain: write the domain and a slash before it", *a))
		} else if why := badName(string(*a)); why != "" {
			fs = append(fs, refuse(field, "%q %s", *a, why))
		}
	}
	for _, r := range c.Requests {
		if !names[r] {
			fs = append(fs, refuse(field+".requests", "%s is no request of the claim", r))
		}
	}
	return fs
}
