package nccllint

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

// sharing gives the elements whose key another before has; an empty key has nobody.
func sharing(elements []*ncclxml.Element, key func(*ncclxml.Element) string) (again, first []*ncclxml.Element) {
	seen := map[string]*ncclxml.Element{}
	for _, e := range elements {
		k := key(e)
		if k == "" {
			continue
		}
		if before, ok := seen[k]; ok {
			again, first = append(again, e), append(first, before)
			continue
		}
		seen[k] = e
	}
	return again, first
}

func attributeOf(name string) func(*ncclxml.Element) string {
	return func(e *ncclxml.Element) string {
		value, _ := e.Get(name)
		return value
	}
}

// repeated tells elements that share a key with one before.
func repeated(elements []*ncclxml.Element, attribute string, key func(*ncclxml.Element) string, severity fabric.Severity, why, cost string) []verdict {
	var out []verdict
	again, first := sharing(elements, key)
	for i, e := range again {
		v := attributeVerdict(e, attribute)
		value, _ := first[i].Get(attribute)
		v.severity, v.cost = severity, cost
		v.why = fmt.Sprintf("Line %d has %s=%q already. %s", first[i].Line, attribute, ncclxml.Excerpt(fabric.Printable(value)), why)
		out = append(out, v)
	}
	return out
}

func judgeUniqueBus(r *parsedFile) []verdict {
	number := func(e *ncclxml.Element) string {
		bus, ok := e.Get("busid")
		if !ok {
			return ""
		}
		return fmt.Sprintf("%x", ncclxml.BusNumber(bus))
	}
	return repeated(r.devices.All("pci"), "busid", number, fabric.SeverityError,
		"NCCL finds the first of a text, and makes one device of two with one number.", "the second device is not where the file says")
}

func judgeUniqueGPU(r *parsedFile) []verdict {
	gpus := r.devices.All("gpu")
	out := repeated(gpus, "dev", attributeOf("dev"), fabric.SeverityWarning,
		"NCCL takes the number that the file gives for NVML's, and finds the first.", "checks of NVLink and P2P ask the wrong GPU")
	return append(out, repeated(gpus, "rank", attributeOf("rank"), fabric.SeverityWarning,
		"The process that owns a GPU overwrites the rank.", "nothing for GPUs that the job uses")...)
}

func judgeUniqueNet(r *parsedFile) []verdict {
	nets := r.devices.All("net")
	out := repeated(nets, "name", attributeOf("name"), fabric.SeverityError,
		"NCCL finds the first and drops the other.", "the second NIC is lost, and the real one that it stands for put where /sys says")
	out = append(out, repeated(nets, "dev", attributeOf("dev"), fabric.SeverityWarning,
		"NCCL numbers NICs as the plugin does, whatever the file says.", "nothing")...)
	port := func(e *ncclxml.Element) string {
		text, _ := e.Get("guid")
		number, _ := e.Get("port")
		if ncclxml.Strtoull(text) == 0 { // a socket has none
			return ""
		}
		return fmt.Sprintf("%x/%d", ncclxml.Strtoull(text), ncclxml.Strtol(number, 0))
	}
	return append(out, repeated(nets, "guid", port, fabric.SeverityWarning,
		"NCCL takes ports with one guid for one NIC, and these have one port number too. 2.28 and later ask the plugin.", "NCCL uses fewer NICs than there are")...)
}
