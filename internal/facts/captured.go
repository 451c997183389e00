package facts

import (
	"errors"
	"maps"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// FromText gives the facts of a host of which only the output of tools is there: file name to text. What a
// text is, is told by its content. Texts are taken in the order of trust of the tools; one that no tool
// prints stands in Missing, as "text NAME", and so does all that none of them tells.
func FromText(name string, texts map[string][]byte) *fabric.Facts {
	f := &fabric.Facts{Meta: fabric.NewMeta("Facts"), Node: name, Source: "captured"}
	m := newMerger(f)
	left := maps.Clone(texts)
	told := make(map[string]bool)
	for _, t := range tools(f) {
		for _, file := range slices.Sorted(maps.Keys(left)) {
			text := string(left[file])
			if !t.knows(text) {
				continue
			}
			delete(left, file)
			parts, err := t.read(text, "")
			if err != nil {
				m.missTool(t, "", err)
				continue
			}
			m.merge(t, parts)
			for _, what := range t.tells {
				told[what] = true
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(left)) {
		miss(f, "text "+fabric.Printable(file), fabric.Printable(file), errors.New("not the output of a known tool in the C locale"))
	}
	f.Missing = append(f.Missing, untold(f, told)...)
	return f
}

// untold names what no text told: the lists of tools, and what is read from the kernel only.
func untold(f *fabric.Facts, told map[string]bool) []fabric.Missing {
	for _, h := range f.HCAs {
		told[fabric.FactHCAs] = true
		for _, p := range h.Ports {
			told[fabric.FactPortGIDs] = told[fabric.FactPortGIDs] || len(p.GIDs) > 0
		}
	}
	told[fabric.FactGPUs] = told[fabric.FactGPUs] || len(f.GPUs) > 0
	var out []fabric.Missing
	add := func(what, source, reason string) {
		if _, missing := f.MissingReason(what); !missing && !told[what] {
			told[what] = true
			out = append(out, fabric.Missing{What: what, Source: source, Reason: reason})
		}
	}
	for _, t := range tools(f) {
		for _, what := range t.tells {
			add(what, t.name, "not among the captured texts")
		}
	}
	for _, what := range []string{
		fabric.FactPlatform, fabric.FactKernel, fabric.FactModules, fabric.FactSysctls, fabric.FactMachine, fabric.FactNeighbours, fabric.FactLLDP,
		fabric.FactPortGIDs, fabric.FactPortPKeys, fabric.FactPortCounters,
	} {
		add(what, "captured text", "only the kernel tells")
	}
	return out
}
