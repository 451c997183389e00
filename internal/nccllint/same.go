package nccllint

import (
	"cmp"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

// sameRule is the rule of compareFiles.
func sameRule() rule {
	return rule{
		id: "topo-same", title: "The file is the same on all nodes", expected: "the same devices in the same order; host_hash, guid and affinity may differ",
		reference: "NVIDIA/nccl 2.30, src/init.cc (ranks take the least of what their nodes found)", scope: scopeSystem,
		cost: "all nodes run at the rate of the slowest, and NCCL may choose a slower algorithm for all",
	}
}

// compareFiles compares files of several nodes with the first: a difference is reported by its first place.
func compareFiles(parsed []*parsedFile) []fabric.Finding {
	rule := sameRule()
	if len(parsed) < 2 {
		for _, r := range parsed {
			return []fabric.Finding{r.finding(rule, verdict{status: fabric.NotApplicable, why: "Only one file was given: there is nothing to compare it with."})}
		}
		return nil
	}
	var out []fabric.Finding
	for _, r := range parsed[1:] {
		v := verdict{status: fabric.Pass}
		if why := cmp.Or(parsed[0].unsure(scopeSystem), r.unsure(scopeSystem)); why != "" {
			v = verdict{status: fabric.Unknown, why: why}
		} else if a, b := difference(parsed[0], r); a != nil || b != nil {
			v = verdict{status: fabric.Fail, severity: fabric.SeverityWarning, why: parsed[0].file.Name + " ends here.", text: "more elements"}
			switch {
			case a != nil && b != nil:
				v.element, v.line, v.text = b, b.Line, ncclxml.Excerpt(b.Tag())
				v.why = fmt.Sprintf("%s:%d has %s.", parsed[0].file.Name, a.Line, ncclxml.Excerpt(fabric.Printable(a.Tag())))
			case a != nil:
				v.text, v.why = "fewer elements", fmt.Sprintf("%s:%d has %s, which is missing here.", parsed[0].file.Name, a.Line, ncclxml.Excerpt(fabric.Printable(a.Tag())))
			default:
				v.element, v.line, v.text = b, b.Line, ncclxml.Excerpt(b.Tag())
			}
		}
		out = append(out, r.finding(rule, v))
	}
	return out
}

// difference returns the first elements in which two files differ; nil on the side that has ended.
func difference(a, b *parsedFile) (left, right *ncclxml.Element) {
	as, bs := a.document.InOrder(), b.document.InOrder()
	for i := range max(len(as), len(bs)) {
		switch {
		case i >= len(as):
			return nil, bs[i]
		case i >= len(bs):
			return as[i], nil
		case shape(as[i]) != shape(bs[i]):
			return as[i], bs[i]
		}
	}
	return nil, nil
}

// shape writes an element without the values that differ between nodes.
func shape(e *ncclxml.Element) string {
	copied := ncclxml.Element{Name: e.Name}
	depth := 0
	for p := e.Parent; p != nil; p = p.Parent {
		depth++
	}
	for _, a := range e.Attributes {
		if a.Name != "host_hash" && a.Name != "guid" && a.Name != "affinity" && a.Name != "rank" {
			copied.Attributes = append(copied.Attributes, a)
		}
	}
	slices.SortStableFunc(copied.Attributes, func(a, b ncclxml.Attribute) int { return cmp.Compare(a.Name, b.Name) })
	return fmt.Sprint(depth, copied.Tag())
}
