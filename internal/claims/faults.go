package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"

	"railwright.dev/railwright/internal/fabric"
)

// fault is what a server would refuse in an object, or what cannot be used of it.
type fault struct {
	field, reason string
	refused       bool // the whole object is left out
	// Of an expression: where in it, from 1; and the path to it. 0: not of an expression.
	line, column int
	path         []any
}

func anyRefused(fs []fault) bool {
	return slices.ContainsFunc(fs, func(f fault) bool { return f.refused })
}

// faults reports the faults of an object, with the position of an expression in its file.
func (o *Objects) faults(s source, fs []fault) {
	for _, f := range fs {
		p := fabric.ObjectProblem{File: s.file, Line: s.line, Object: s.object, Field: f.field, Reason: f.reason, Refused: f.refused}
		if f.line > 0 {
			p.Line, p.Column = position(s, f)
		}
		o.problems = append(o.problems, p)
	}
}

func refuse(field, format string, args ...any) fault {
	return fault{field: field, reason: fmt.Sprintf(format, args...), refused: true}
}

// sliceFaults checks what the server checks of a slice, as far as devices depend on it.
func sliceFaults(s *resourceapi.ResourceSlice) (fs []fault) {
	if s.Spec.Driver == "" {
		fs = append(fs, refuse("spec.driver", "is missing: whose devices these are is unknown"))
	}
	if s.Spec.Pool.Name == "" {
		fs = append(fs, refuse("spec.pool.name", "is missing"))
	}
	if s.Spec.Pool.ResourceSliceCount < 1 {
		fs = append(fs, refuse("spec.pool.resourceSliceCount", "is missing, or below 1: whether the pool is complete is unknown"))
	}
	if s.Spec.Pool.Generation < 0 {
		fs = append(fs, refuse("spec.pool.generation", "is below 0"))
	}
	if len(s.Spec.SharedCounters) > 0 && len(s.Spec.Devices) > 0 {
		fs = append(fs, refuse("spec.sharedCounters", "stands beside devices: a slice has one of them, and the counters of a pool are in a slice of their own (Kubernetes 1.35 and newer)"))
	}
	fs = append(fs, nodeChoice(s)...)
	names := map[string]bool{}
	for i, d := range s.Spec.Devices {
		at := fmt.Sprintf("spec.devices[%d]", i)
		switch {
		case d.Name == "":
			fs = append(fs, refuse(at+".name", "is missing"))
		case names[d.Name]:
			fs = append(fs, refuse(at+".name", "%s is given twice in the slice", d.Name))
		}
		names[d.Name] = true
		fs = append(fs, deviceFaults(s.Spec.Driver, d, at)...)
	}
	return fs
}

// nodeChoice: exactly one way says which nodes reach the devices.
func nodeChoice(s *resourceapi.ResourceSlice) []fault {
	n := 0
	for _, given := range []bool{
		s.Spec.NodeName != nil && *s.Spec.NodeName != "", s.Spec.NodeSelector != nil,
		s.Spec.AllNodes != nil && *s.Spec.AllNodes, s.Spec.PerDeviceNodeSelection != nil && *s.Spec.PerDeviceNodeSelection,
	} {
		if given {
			n++
		}
	}
	switch {
	case n == 1 || n == 0 && len(s.Spec.SharedCounters) > 0:
		return nil
	case n == 0:
		return []fault{refuse("spec.nodeName", "is missing, and so are nodeSelector, allNodes and perDeviceNodeSelection: which node has the devices is unknown")}
	}
	return []fault{refuse("spec.nodeName", "only one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection may be given")}
}

func deviceFaults(driver string, d resourceapi.Device, at string) (fs []fault) {
	if n := len(d.Attributes) + len(d.Capacity); n > resourceapi.ResourceSliceMaxAttributesAndCapacitiesPerDevice {
		fs = append(fs, refuse(at, "has %d attributes and capacities, at most %d", n, resourceapi.ResourceSliceMaxAttributesAndCapacitiesPerDevice))
	}
	short := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		field := at + ".attributes[" + string(name) + "]"
		if why := badName(string(name)); why != "" {
			fs = append(fs, refuse(field, "%s", why))
		}
		full := qualified(string(name), driver)
		if other := short[full]; other != "" {
			fs = append(fs, fault{field: field, reason: "is also given as " + other + ": a name without domain belongs to the driver's domain"})
		}
		short[full] = string(name)
		a := d.Attributes[name]
		if n := valuesOf(a); n != 1 {
			fs = append(fs, refuse(field, "has %d values: one of int, bool, string, version, or a list of one of them, is wanted", n))
		}
		if id := plainID(string(name)); id == "pcieroot" {
			for _, root := range stringsOf(a) {
				if !isRoot(root) {
					fs = append(fs, fault{field: field, reason: fmt.Sprintf("%q is not a PCIe root complex (pciDDDD:BB): not compared", root)})
				}
			}
		}
	}
	return fs
}

func valuesOf(a resourceapi.DeviceAttribute) (n int) {
	for _, given := range []bool{
		a.IntValue != nil, a.BoolValue != nil, a.StringValue != nil, a.VersionValue != nil,
		a.IntValues != nil, a.BoolValues != nil, a.StringValues != nil, a.VersionValues != nil,
	} {
		if given {
			n++
		}
	}
	return n
}

// badName says why a name is not that of an attribute: a C identifier, after a domain and a slash or alone.
func badName(name string) string {
	domain, id, found := strings.Cut(name, "/")
	if !found {
		domain, id = "", name
	}
	switch {
	case found && domain == "":
		return "has a slash and no domain before it"
	case len(domain) > resourceapi.DeviceMaxDomainLength:
		return fmt.Sprintf("its domain is longer than %d characters", resourceapi.DeviceMaxDomainLength)
	case len(id) > resourceapi.DeviceMaxIDLength:
		return fmt.Sprintf("is longer than %d characters", resourceapi.DeviceMaxIDLength)
	case !isIdentifier(id):
		return "is not the name of an attribute: letters, digits and underscores, after a domain and one slash"
	case found && !isDomain(domain):
		return "its domain is not a DNS name in lower case"
	}
	return ""
}

// isIdentifier tells a C identifier. It and isDomain are asked for every attribute of 100,000 devices.
func isIdentifier(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func isDomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
				return false
			}
		}
	}
	return true
}

// qualified is a name with its domain: a plain one belongs to the domain of its driver.
func qualified(name, driver string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return driver + "/" + name
}

func (known verdicts) classFaults(c *resourceapi.DeviceClass) (fs []fault) {
	if c.Name == "" {
		fs = append(fs, refuse("metadata.name", "is missing"))
	}
	return append(fs, known.selectorFaults(c.Spec.Selectors, []any{"spec", "selectors"})...)
}
