package nccllint

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"railwright.dev/railwright/internal/ncclxml"
)

// foreign is what a text seems to be that NCCL refuses and that has no element of a topology file; empty where it has one.
func foreign(r ncclxml.Recovered) string {
	isElement := func(t ncclxml.Tag) bool { return ncclxml.IsElement(t.Name) }
	isWritten := func(name string) bool { return bytes.Contains(r.Text, []byte("<"+name)) } // also in a part that was not read
	if slices.ContainsFunc(r.Tags, isElement) || slices.ContainsFunc(ncclxml.ElementNames(), isWritten) {
		return ""
	}
	text := bytes.TrimSpace(r.Text)
	begins := func(marks ...string) bool {
		return slices.ContainsFunc(marks, func(m string) bool {
			return len(text) >= len(m) && bytes.EqualFold(text[:len(m)], []byte(m))
		})
	}
	switch {
	case len(text) == 0:
		return "it has only blanks"
	case bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text[:min(len(text), 512)]) && r.Encoding == "":
		return "it is a binary file"
	case begins("{", "["):
		return "it is JSON; railwright topo show --snapshot reads saved facts"
	case bytes.Contains(text, []byte("GPU0")) && bytes.Contains(text, []byte("\t")) && bytes.Contains(text, []byte(" X ")):
		return "it is the output of nvidia-smi topo -m, which railwright topo show reads"
	case bytes.Contains(text, []byte("ROCm System Management Interface")):
		return "it is the output of rocm-smi, which railwright topo show reads"
	case begins("<!doctype html", "<html"):
		return "it is an HTML page"
	case begins("<"):
		return "it is XML of another kind, without any of its elements"
	}
	return "it is text without any of its elements"
}
