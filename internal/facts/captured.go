package facts

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// LoadText returns the facts of a host from a folder that holds the output of tools, each in a file of its own. The
// folder's name is the host's.
func LoadText(folder string) (*fabric.Facts, error) {
	whole, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("folder %q: %s", folder, reason(err))
	}
	texts := make(map[string][]byte)
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if texts[e.Name()], err = readText(filepath.Join(folder, e.Name())); err != nil {
			return nil, err
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("folder %q: no files in it: want the output of tools, such as lspci -vvv and ibstat", folder)
	}
	return FromText(filepath.Base(whole), texts), nil
}

// readText reads as much of a file as a tool may print, and one byte more.
func readText(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxToolText+1))
}

// FromText returns the facts of a host of which only the output of tools is there: file name to text. Each text is
// recognized by its content. Texts are used in the order of trust of the tools; one that no known tool prints is in
// Missing, as "text NAME", and so is everything that none of them gives.
func FromText(name string, texts map[string][]byte) *fabric.Facts {
	f := &fabric.Facts{Meta: fabric.NewMeta("Facts"), Node: name, Source: "captured"}
	m := newMerger(f)
	left := maps.Clone(texts)
	given := make(map[string]bool)
	ofESX := esxTexts(texts, left)
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
			for _, what := range t.gives {
				given[what] = true
			}
		}
	}
	mergeESX(m, ofESX)
	if f.ESX != nil {
		unreadESX(f, ofESX, texts)
		f.Missing = append(f.Missing, esxNotGiven(f)...)
	}
	for _, file := range slices.Sorted(maps.Keys(left)) {
		miss(f, "text "+fabric.Printable(file), fabric.Printable(file), errors.New("not the output of a known tool in the C locale"))
	}
	f.Missing = append(f.Missing, notGiven(f, given)...)
	return f
}

// What Missing says of facts that no text was given for, and who gives the others.
const (
	notCaptured  = "not among the captured texts"
	capturedText = "captured text"
	notOnESX     = "the host runs ESX, whose tools do not give it"
)

// unread lists the texts that were recognized and not, or not wholly, read: each reason once.
func unread(f *fabric.Facts) []fabric.Missing {
	var out []fabric.Missing
	for _, m := range f.Missing {
		same := func(o fabric.Missing) bool { return o.Source == m.Source && o.Reason == m.Reason }
		if m.Reason != notCaptured && m.Reason != notOnESX && m.Source != capturedText && !slices.ContainsFunc(out, same) {
			out = append(out, m)
		}
	}
	return out
}

// notGiven names what no text gave: the lists of tools, and what is read from the kernel only.
func notGiven(f *fabric.Facts, given map[string]bool) []fabric.Missing {
	for _, h := range f.HCAs {
		given[fabric.FactHCAs] = true
		for _, p := range h.Ports {
			given[fabric.FactPortGIDs] = given[fabric.FactPortGIDs] || len(p.GIDs) > 0
		}
	}
	given[fabric.FactGPUs] = given[fabric.FactGPUs] || len(f.GPUs) > 0
	var out []fabric.Missing
	add := func(what, source, reason string) {
		if _, missing := f.MissingReason(what); !missing && !given[what] {
			given[what] = true
			out = append(out, fabric.Missing{What: what, Source: source, Reason: reason})
		}
	}
	reason := notCaptured
	if f.ESX != nil {
		reason = notOnESX
	}
	for _, t := range tools(f) {
		for _, what := range t.gives {
			add(what, t.name, reason)
		}
	}
	for _, what := range []string{
		fabric.FactPlatform, fabric.FactKernel, fabric.FactModules, fabric.FactSysctls, fabric.FactMachine, fabric.FactNeighbours, fabric.FactLLDP,
		fabric.FactPortGIDs, fabric.FactPortPKeys, fabric.FactPortCounters,
	} {
		add(what, capturedText, "only the kernel reports it")
	}
	return out
}
