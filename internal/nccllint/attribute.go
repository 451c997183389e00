package nccllint

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/agext/levenshtein"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/pattern"
)

// attributeRules check attributes of all elements.
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
			id: "topo-number", title: "NCCL reads numbers as written", expected: "only decimal digits, or 0x and hexadecimal digits", reference: "NVIDIA/nccl 2.30, src/graph/xml.h (strtol with base 0)",
			scope: scopeValue, check: checkNumbers, cost: "NCCL uses another number",
		},
		{
			id: "topo-entity", title: "Values contain no XML entities", expected: "the characters themselves", reference: parserSource, scope: scopeValue, check: checkEntities,
			cost: "NCCL reads another value: a name does not match its device",
		},
	}
}

// everyElement visits all elements that NCCL keeps.
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
				v.why += fmt.Sprintf(" It differs by one letter from %s, which is missing.", meant)
				v.cost, v.fix = lostAttribute(meant), r.fixCommand()
			} else {
				v.cost = "nothing: NCCL reads no attribute of this name here"
				v = v.remark()
			}
			out = append(out, v)
		}
		return out
	})
}

// misspelt returns the one known attribute that the element does not have and that differs by one letter from the
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

// lostAttribute returns the cost of an attribute that NCCL does not see.
func lostAttribute(name string) string {
	switch name {
	case "gdr":
		return "NCCL detects whether GPUDirect RDMA works, as if the file did not state it"
	case "guid":
		return "NCCL queries the network plugin; up to 2.27 ports without guid count as NICs of their own"
	case "speed":
		return "NCCL queries the network plugin; without an answer it assumes 10 Gb/s for the NIC"
	case "link_speed":
		return "read from /sys if the process's own GPU is below it, else 8 GT/s is assumed: 12 GB/s at x16"
	case "link_width":
		return "read from /sys if the process's own GPU is below it, else the job aborts"
	}
	return "the value is lost"
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
				v.cost, v.fix = "nothing: both have the same value", r.fixCommand()
				v = v.remark()
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
			return []string{"count"} // NCCL merges all switches, and a CPU is the GPU's own
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

// missing returns what happens to an element without a required attribute. NCCL fills in those of cpu and pci, but only
// on the path up from the GPU of the process, and from a NIC that it does not find by name: processes of the other
// GPUs keep the elements above NICs of the file without filling them in.
func (r *parsedFile) missing(e *ncclxml.Element, name string) verdict {
	v := verdict{status: fabric.Fail, element: e, line: e.Line, text: ncclxml.Excerpt(e.Tag()), expected: fmt.Sprintf("<%s> has %s", e.Name, name)}
	v.why = fmt.Sprintf("Attribute %s of node %s not found.", name, e.Name)
	v.cost = jobDies
	switch {
	case e.Name == "net":
		v.why = "NCCL finds a NIC of the file by its name. This element is dropped, and the real NIC is placed where /sys shows it."
		v.cost = "in a VM the NIC ends up at the first CPU: PHB, no GPUDirect RDMA by default"
		return v
	case e.Name == "pci" && name == "busid" && (len(e.ChildrenOf("gpu")) > 0 || e.DeviceClass() != ncclxml.ClassBridge):
		v.why = "NCCL finds the device by its bus id. This element is dropped, and the real device is placed where /sys shows it."
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
		v.why, v.cost = fmt.Sprintf("NCCL fills in %s from the CPU that it runs on.", name), "nothing on the machine itself; the file is incomplete for other machines and for predictions"
		v = v.remark()
	default:
		v.severity = fabric.SeverityWarning
		v.why = fmt.Sprintf("NCCL fills in %s from /sys, as far as the device is visible there: a VM does not show the host's switches.", name)
		v.cost = "nothing if /sys has it; otherwise the job aborts, or a link without speed counts as 8 GT/s, 12 GB/s at x16"
	}
	return v
}

// filled reports whether every process that keeps a cpu or pci element fills in its missing attributes.
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

// plainNumber is a number that C and people read alike; only to C a leading zero means octal.
var plainNumber = pattern.Plain(`^[+-]?(?:0|[1-9][0-9]*|0[xX][0-9A-Fa-f]+)$`)

// numberAttributes are those that NCCL reads with strtol, except those with a rule of their own.
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
			if !has || plainNumber().MatchString(value) {
				continue
			}
			v := attributeVerdict(e, name)
			v.why = fmt.Sprintf("NCCL reads %d.", int32(ncclxml.Strtol(value, 0)))
			if meant, ok := meantNumber(value); ok && meant == ncclxml.Strtol(value, 0) {
				v.cost = "nothing: that is the number as a person reads it"
				v = v.remark()
			}
			out = append(out, v)
		}
		return out
	})
}

// meantNumber is the number that a person reads in a text: blanks around it and leading zeros do not count.
func meantNumber(text string) (number int64, ok bool) {
	digits, _ := blankless(text)
	if plainNumber().MatchString(digits) {
		return ncclxml.Strtol(digits, 0), true
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil
}

var entity = pattern.Plain(`&(?:#[0-9]+|#x[0-9A-Fa-f]+|[A-Za-z][A-Za-z0-9]*);`)

func checkEntities(r *parsedFile) []verdict {
	return r.everyElement(func(e *ncclxml.Element) []verdict {
		var out []verdict
		for _, a := range e.Attributes {
			if found := entity().FindString(a.Value); found != "" && slices.Contains(ncclxml.KnownAttributes(e.Name), a.Name) {
				v := attributeVerdict(e, a.Name)
				v.why = fmt.Sprintf("NCCL does not decode entities: it reads %s as %d characters.", ncclxml.Excerpt(found), len(found))
				out = append(out, v)
			}
		}
		return out
	})
}
