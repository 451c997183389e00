package nccllint

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/agext/levenshtein"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

// attributeRules check attributes whatever element they are on.
func attributeRules() []rule {
	return []rule{
		{
			id: "topo-duplicate-attribute", title: "No attribute is given twice", expected: "each name once per element", reference: "NVIDIA/nccl 2.30, src/graph/xml.h (xmlGetAttrIndex)",
			scope: scopeValue, check: checkDuplicateAttributes,
		},
		{
			id: "topo-missing-attribute", title: "Elements that NCCL keeps have the required attributes", reference: modelSource, scope: scopeValue, check: checkMissingAttributes,
			expected: "pci: busid, class, link_speed, link_width; cpu: numaid, arch, on x86_64 vendor, familyid, modelid; nvlink: count, target; net: name",
		},
		{
			id: "topo-number", title: "Numbers are read as they are written", expected: "decimal digits, or 0x and hexadecimal ones, and nothing else", reference: "NVIDIA/nccl 2.30, src/graph/xml.h (strtol with base 0)",
			scope: scopeValue, check: checkNumbers, cost: "NCCL uses another number",
		},
		{
			id: "topo-entity", title: "Values hold no XML entities", expected: "the characters themselves", reference: parserSource, scope: scopeValue, check: checkEntities,
			cost: "NCCL reads another value: a name does not match its device",
		},
	}
}

// everyElement goes through all elements that NCCL keeps.
func (r *parsedFile) everyElement(check func(*ncclxml.Element) []verdict) []verdict {
	var out []verdict
	for _, name := range ncclxml.ElementNames() {
		for _, e := range r.document.All(name) {
			out = append(out, check(e)...)
		}
	}
	slices.SortStableFunc(out, func(a, b verdict) int { return a.line - b.line })
	return out
}

// attributeVerdict is a failure of one attribute of an element.
func attributeVerdict(e *ncclxml.Element, name string) verdict {
	value, _ := e.Get(name)
	return verdict{status: fabric.Fail, element: e, line: e.AttributeLine(name), text: name + `="` + ncclxml.Excerpt(value) + `"`}
}

func checkAttributeNames(r *parsedFile) []verdict {
	return r.everyElement(func(e *ncclxml.Element) []verdict {
		var out []verdict
		for _, a := range e.Attributes {
			if slices.Contains(ncclxml.KnownAttributes(e.Name), a.Name) {
				continue
			}
			v := attributeVerdict(e, a.Name)
			v.why = fmt.Sprintf("NCCL silently ignores the attribute %s of <%s>.", fabric.Quote(a.Name), e.Name)
			if meant := misspelt(e, a.Name); meant != "" {
				v.why += fmt.Sprintf(" It is one letter from %s, which is missing.", meant)
				v.cost, v.fix = lostAttribute(meant), r.fixCommand()
			} else {
				v.severity, v.cost = fabric.SeverityWarning, "nothing if it is a remark; otherwise its content is lost"
			}
			out = append(out, v)
		}
		return out
	})
}

// misspelt gives the one known attribute that the element does not have and that is one letter from the
// name; empty where there is none or more than one.
func misspelt(e *ncclxml.Element, name string) string {
	var found []string
	for _, known := range ncclxml.KnownAttributes(e.Name) {
		if _, has := e.Get(known); !has && known != "keep" && levenshtein.Distance(name, known, nil) == 1 {
			found = append(found, known)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// lostAttribute says what it costs that NCCL does not see an attribute.
func lostAttribute(name string) string {
	switch name {
	case "gdr":
		return "NCCL detects whether GPUDirect RDMA works, as if the file did not state it"
	case "guid":
		return "NCCL asks the network plugin; up to 2.27 ports without guid count as NICs of their own"
	case "speed":
		return "NCCL asks the network plugin; without an answer it assumes 10 Gb/s for the NIC"
	case "link_speed":
		return "read from /sys where this process's own GPU is below it, else 8 GT/s: x16 counts as 12 GB/s"
	case "link_width":
		return "read from /sys where this process's own GPU is below it, else the job dies"
	}
	return "its value is lost"
}

func checkDuplicateAttributes(r *parsedFile) []verdict {
	return r.everyElement(func(e *ncclxml.Element) []verdict {
		var out []verdict
		first := map[string]string{}
		for i, a := range e.Attributes {
			value, again := first[a.Name]
			if !again {
				first[a.Name] = a.Value
				continue
			}
			v := verdict{status: fabric.Fail, element: e, line: e.Line, text: a.Name + `="` + ncclxml.Excerpt(a.Value) + `"`, cost: "the value of the second is lost"}
			v.line = e.LineOf(i)
			v.why = fmt.Sprintf("NCCL reads the first, %q, and silently ignores the other.", ncclxml.Excerpt(fabric.Printable(value)))
			if value == a.Value {
				v.severity, v.cost, v.fix = fabric.SeverityWarning, "nothing: both have the same value", r.fixCommand()
			}
			out = append(out, v)
		}
		return out
	})
}

// required are the attributes without which ncclTopoAddCpu, ncclTopoAddPci, ncclTopoAddNvLinks and
// ncclTopoAddC2c give up: Attribute X of node Y not found.
func required(e *ncclxml.Element) []string {
	switch e.Name {
	case "cpu":
		need := []string{"numaid", "arch"}
		if arch, _ := e.Get("arch"); arch == "x86_64" {
			need = append(need, "vendor")
			switch vendor, _ := e.Get("vendor"); vendor {
			case "AuthenticAMD":
				need = append(need, "familyid")
			case "GenuineIntel", "CentaurHauls", "  Shanghai  ":
				need = append(need, "familyid", "modelid")
			}
		}
		return need
	case "pci":
		return []string{"busid", "class", "link_speed", "link_width"}
	case "nvlink", "xgmi":
		if class, has := e.Get("tclass"); has && !ncclxml.IsGPU(class) {
			return []string{"count"} // all switches are one to NCCL, and a CPU is the GPU's own
		}
		return []string{"count", "target"}
	case "c2c":
		return []string{"bw", "count"}
	case "pcilink":
		return []string{"target"}
	case "net":
		return []string{"name"}
	}
	return nil
}

func checkMissingAttributes(r *parsedFile) []verdict {
	return r.everyElement(func(e *ncclxml.Element) []verdict {
		var out []verdict
		for _, name := range required(e) {
			if _, has := e.Get(name); !has && !slices.ContainsFunc(e.Attributes, func(a ncclxml.Attribute) bool { return misspelt(e, a.Name) == name }) {
				out = append(out, r.missing(e, name))
			}
		}
		return out
	})
}

// missing says what becomes of an element without a required attribute. NCCL fills in those of cpu and pci, but only
// on the way up from the GPU of the process, and from a NIC that it does not find by name: what NICs of the file
// hang from is kept, unfilled, by the processes of the other GPUs.
func (r *parsedFile) missing(e *ncclxml.Element, name string) verdict {
	v := verdict{status: fabric.Fail, element: e, line: e.Line, text: ncclxml.Excerpt(e.Tag()), expected: fmt.Sprintf("<%s> has %s", e.Name, name)}
	v.why = fmt.Sprintf("Attribute %s of node %s not found.", name, e.Name)
	v.cost = jobDies
	switch {
	case e.Name == "net":
		v.why = "NCCL finds a NIC of the file by its name. This one is dropped, and the real one is placed where /sys shows it."
		v.cost = "in a VM the NIC is at the first CPU: PHB, no GPUDirect RDMA by default"
		return v
	case e.Name == "pci" && name == "busid" && (len(e.ChildrenOf("gpu")) > 0 || e.DeviceClass() != ncclxml.ClassBridge):
		v.why = "NCCL finds the device by its bus id. This one is dropped, and the real one is placed where /sys shows it."
		v.cost = "the device's place in the file is lost"
		return v
	case e.Name == "cpu" && name == "numaid":
		v.why = "GetXmlFromCpu : could not find CPU numa ID."
		if _, ok := e.Get("affinity"); ok {
			v.why = "Attribute numaid of node cpu not found."
		}
		v.fix = r.fixCommand()
		return v
	case name == "target" || name == "count" || name == "bw" || name == "busid":
		return v
	}
	_, hasFamily := e.Get("familyid")
	switch {
	case name == "modelid" && hasFamily:
		v.why += " NCCL fills in familyid and modelid together, and only where familyid is missing."
	case !r.filled(e):
	case e.Name == "cpu":
		v.severity = fabric.SeverityWarning
		v.why, v.cost = fmt.Sprintf("NCCL fills in %s from the CPU that it runs on.", name), "nothing on the machine itself; the file is not complete for others, nor for a prediction"
	default:
		v.severity = fabric.SeverityWarning
		v.why = fmt.Sprintf("NCCL fills in %s from /sys, as far as the machine shows the device: a VM does not show the host's switches.", name)
		v.cost = "nothing if /sys has it; otherwise the job dies, or a link without speed counts as 8 GT/s, 12 GB/s at x16"
	}
	return v
}

// filled holds for a cpu or pci element whose missing attributes every process fills in that keeps it.
func (r *parsedFile) filled(e *ncclxml.Element) bool {
	named, bare, gpus := len(e.Below("net")), 0, len(e.Below("gpu"))
	for _, pci := range e.Below("pci") {
		switch pci.DeviceClass() {
		case ncclxml.ClassNIC:
			bare++
		case ncclxml.ClassGPU:
			gpus++
		}
	}
	return bare > 0 || gpus > 0 && (named == 0 || gpus == len(r.devices.All("gpu")))
}

// plainNumber is a number that C and people read alike; a leading zero means octal to C alone.
var plainNumber = regexp.MustCompile(`^[+-]?(?:0|[1-9][0-9]*|0[xX][0-9A-Fa-f]+)$`)

// numberAttributes are those that NCCL reads with strtol, less those with a rule of their own.
func numberAttributes(element string) []string {
	switch element {
	case "cpu":
		return []string{"numaid", "familyid", "modelid"}
	case "gpu":
		return []string{"dev", "sm", "rank", "gdr"}
	case "nvlink", "xgmi":
		return []string{"count"}
	case "c2c":
		return []string{"bw", "count"}
	case "net":
		return []string{"dev", "port", "maxconn", "gdr", "coll"}
	case "pci":
		return []string{"vendor", "device", "subsystem_vendor", "subsystem_device"}
	}
	return nil
}

func checkNumbers(r *parsedFile) []verdict {
	return r.everyElement(func(e *ncclxml.Element) []verdict {
		var out []verdict
		for _, name := range numberAttributes(e.Name) {
			value, has := e.Get(name)
			if !has || plainNumber.MatchString(value) {
				continue
			}
			v := attributeVerdict(e, name)
			v.why = fmt.Sprintf("NCCL reads %d.", int32(ncclxml.Strtol(value, 0)))
			if digits, _ := blankless(value); plainNumber.MatchString(digits) && ncclxml.Strtol(digits, 0) == ncclxml.Strtol(value, 0) {
				v.severity, v.cost = fabric.SeverityWarning, "nothing: NCCL skips the blanks"
			}
			out = append(out, v)
		}
		return out
	})
}

var entity = regexp.MustCompile(`&(?:#[0-9]+|#x[0-9A-Fa-f]+|[A-Za-z][A-Za-z0-9]*);`)

func checkEntities(r *parsedFile) []verdict {
	return r.everyElement(func(e *ncclxml.Element) []verdict {
		var out []verdict
		for _, a := range e.Attributes {
			if found := entity.FindString(a.Value); found != "" && slices.Contains(ncclxml.KnownAttributes(e.Name), a.Name) {
				v := attributeVerdict(e, a.Name)
				v.why = fmt.Sprintf("NCCL knows no entities: %s is %d characters to it.", ncclxml.Excerpt(found), len(found))
				out = append(out, v)
			}
		}
		return out
	})
}
