package claims

import (
	"fmt"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

// gates are the feature gates of a cluster on which an allocation depends.
type gates struct {
	adminAccess, consumable, binding, taints, lists, partitionable, prioritized bool
}

// newestMinor is the minor version of Kubernetes whose allocator this is.
const newestMinor = 36

// The minor versions from which on resource.k8s.io is served as a beta, and by default: DynamicResourceAllocation in
// pkg/features/kube_features.go.
const (
	firstMinor   = 32
	defaultMinor = 34
)

// defaultGates are those of a minor version of Kubernetes 1 as it is installed: pkg/features/kube_features.go of
// kubernetes v1.36.3. DRAListTypeAttributes is off in all of them.
func defaultGates(minor int) gates {
	return gates{
		adminAccess:   minor >= 34,
		prioritized:   minor >= 34,
		taints:        minor >= 36,
		consumable:    minor >= 36,
		binding:       minor >= 36,
		partitionable: minor >= 36,
	}
}

// minorOf reads 1.34, v1.34.2 or 1.34.1-gke.1; an empty version is the newest.
func minorOf(version string) (int, error) {
	if version == "" {
		return newestMinor, nil
	}
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 || parts[0] != "1" {
		return 0, fmt.Errorf("%q is not a version of Kubernetes: 1.34 is one", version)
	}
	minor, err := strconv.Atoi(strings.TrimRight(parts[1], "+"))
	if err != nil || minor < 0 {
		return 0, fmt.Errorf("%q is not a version of Kubernetes: 1.34 is one", version)
	}
	if minor < firstMinor {
		return 0, fmt.Errorf("version %s of Kubernetes: has no ResourceSlices as they are read here: 1.%d is the first that has", version, firstMinor)
	}
	return minor, nil
}

// used are the gates without which parts of the objects mean nothing.
func (o *Objects) used() (g gates) {
	for _, s := range o.slices {
		g.partitionable = g.partitionable || len(s.Spec.SharedCounters) > 0 || s.Spec.PerDeviceNodeSelection != nil
		for i := range s.Spec.Devices {
			g.addDevice(&s.Spec.Devices[i])
		}
	}
	for _, spec := range o.claimSpecs() {
		for i := range spec.Devices.Requests {
			r := &spec.Devices.Requests[i]
			g.prioritized = g.prioritized || len(r.FirstAvailable) > 0
			for _, a := range alternatives(r) {
				g.adminAccess = g.adminAccess || a.admin
				g.consumable = g.consumable || a.capacity != nil
				g.taints = g.taints || len(a.tolerates) > 0
			}
		}
		for _, c := range spec.Devices.Constraints {
			g.consumable = g.consumable || c.DistinctAttribute != nil
		}
	}
	return g
}

func (g *gates) addDevice(d *resourceapi.Device) {
	g.taints = g.taints || len(d.Taints) > 0
	g.binding = g.binding || len(d.BindingConditions) > 0 || d.BindsToNode != nil
	g.partitionable = g.partitionable || len(d.ConsumesCounters) > 0
	g.consumable = g.consumable || d.AllowMultipleAllocations != nil
	for _, a := range d.Attributes {
		g.lists = g.lists || a.StringValues != nil || a.IntValues != nil || a.BoolValues != nil || a.VersionValues != nil
	}
}

// choose are the gates to allocate with, and what the objects use that the cluster does not have by default. Lists of
// attributes are taken as on where a slice has them: a server without the gate would have dropped them.
func choose(o *Objects, minor int) (g gates, notes []string) {
	g, used := defaultGates(min(minor, newestMinor)), o.used()
	lacks := func(on, wants bool, what, gate string) {
		if wants && !on {
			notes = append(notes, fmt.Sprintf("%s: Kubernetes 1.%d does not have it by default (feature gate %s); allocated without it", what, minor, gate))
		}
	}
	lacks(g.adminAccess, used.adminAccess, "a request has adminAccess", "DRAAdminAccess")
	lacks(g.prioritized, used.prioritized, "a request has alternatives (firstAvailable)", "DRAPrioritizedList")
	lacks(g.taints, used.taints, "devices have taints, or requests tolerate them", "DRADeviceTaints")
	lacks(g.consumable, used.consumable, "devices are shared by capacity, or a claim uses distinctAttribute", "DRAConsumableCapacity")
	lacks(g.binding, used.binding, "devices have binding conditions", "DRADeviceBindingConditions")
	lacks(g.partitionable, used.partitionable, "devices share counters, or name their own nodes", "DRAPartitionableDevices")
	if used.lists {
		g.lists = true
		notes = append(notes, "attributes are lists: the cluster needs the feature gate DRAListTypeAttributes, which is off by default up to Kubernetes 1.36")
	}
	if minor < defaultMinor {
		notes = append(notes, fmt.Sprintf("Kubernetes 1.%d serves claims only where the feature gate DynamicResourceAllocation and the beta of resource.k8s.io are switched on", minor))
	}
	if minor > newestMinor {
		notes = append(notes, fmt.Sprintf("allocated as Kubernetes 1.%d does: the allocator of 1.%d is unknown", newestMinor, minor))
	}
	return g, notes
}
