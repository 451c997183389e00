package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

// capable keeps the devices that have the capacity that a request wants of each, under the name that it gives, and says
// what the others have. How much of it other claims use is not counted here.
func capable(devices []candidate, wanted *resourceapi.CapacityRequirements) (left []candidate, why string) {
	left = devices
	if wanted == nil {
		return left, ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(wanted.Requests)) {
		want := wanted.Requests[name]
		values := map[string]int{}
		left = slices.DeleteFunc(slices.Clone(left), func(c candidate) bool {
			has, ok := c.device.Capacity[name]
			switch {
			case !ok:
				values["not published"]++
			case has.Value.Cmp(want) < 0:
				values[has.Value.String()]++
			default:
				return false
			}
			return true
		})
		if len(values) > 0 {
			parts = append(parts, fmt.Sprintf("capacity %s of %s leaves %d: it is %s", name, want.String(), len(left), counted(values)))
		}
	}
	return left, strings.Join(parts, "; ")
}

// distinctTooFew: a distinctAttribute constraint over requests that want more devices than there are values.
func distinctTooFew(claim, index int, c resourceapi.DeviceConstraint, views [][]view) (*broken, []string) {
	if c.DistinctAttribute == nil {
		return nil, nil
	}
	name := string(*c.DistinctAttribute)
	values := map[string]int{}
	seen := map[string]bool{} // a device that several requests may get counts once
	var inside []view
	var want int64
	judged := true
	for _, ways := range views {
		if !concerns(c, ways) {
			continue
		}
		judged = judged && len(ways) == 1 && ways[0].err == nil && !ways[0].all
		inside = append(inside, ways[0])
		want += ways[0].count
		for _, d := range ways[0].found {
			id := d.driver + "\x00" + d.pool + "\x00" + d.device.Name
			a, ok := fullAttribute(d.driver, d.device, name)
			if seen[id] || !ok {
				continue
			}
			seen[id] = true
			values[strings.Join(attributeValues(a), ", ")]++
		}
	}
	text := "none"
	if len(values) > 0 {
		text = counted(values)
	}
	step := fmt.Sprintf("distinctAttribute %s over %s: %s, each with another value; the devices have %s", name, listed(requestNames(inside)), number(want, "device"), text)
	if !judged || int64(len(values)) >= want {
		return nil, []string{step}
	}
	return &broken{reason: step, claim: claim, constraint: -1, requests: inside}, []string{step}
}

// sharing names what requests that can each be met may take from each other: the capacity and the counters that devices
// share. Empty where there is neither.
func sharing(claims []*resourceapi.ResourceClaim, devices []candidate) string {
	var names, counters []string
	for _, c := range claims {
		for i := range c.Spec.Devices.Requests {
			for _, a := range alternatives(&c.Spec.Devices.Requests[i]) {
				if a.capacity == nil {
					continue
				}
				for _, name := range slices.Sorted(maps.Keys(a.capacity.Requests)) {
					want := a.capacity.Requests[name]
					names = append(names, fmt.Sprintf("%s of %s for %s", name, want.String(), a.request))
				}
			}
		}
	}
	for _, d := range devices {
		for _, use := range d.device.ConsumesCounters {
			counters = append(counters, use.CounterSet)
		}
	}
	var parts []string
	if len(names) > 0 && sharedDevices(devices) {
		parts = append(parts, "the devices are shared by capacity, of which too little is left together: "+listed(names))
	}
	if len(counters) > 0 {
		slices.Sort(counters)
		parts = append(parts, "devices are parts of one another, by their counters "+listed(slices.Compact(counters)))
	}
	return strings.Join(parts, "; ")
}
