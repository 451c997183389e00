package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// NewIndex lists what was rendered, sorted by target and path, without the contents: the caller can write
// each artifact as it passes. Two artifacts for one path of a target are an error.
func NewIndex(artifacts iter.Seq[fabric.Artifact]) (fabric.Index, error) {
	index := fabric.Index{Meta: fabric.NewMeta("Index"), Artifacts: []fabric.Artifact{}}
	for a := range artifacts {
		a.Content = nil
		index.Artifacts = append(index.Artifacts, a)
	}
	slices.SortFunc(index.Artifacts, byPlace)
	for i := 1; i < len(index.Artifacts); i++ {
		if a := index.Artifacts[i]; byPlace(index.Artifacts[i-1], a) == 0 {
			return fabric.Index{}, fmt.Errorf("artifact %q of %q: rendered twice", a.Path, a.Target)
		}
	}
	files := make(map[string]bool, len(index.Artifacts))
	for _, a := range index.Artifacts {
		if files[a.File] {
			return fabric.Index{}, fmt.Errorf("artifact %q of %q: another one has the same file %q", a.Path, a.Target, a.File)
		}
		files[a.File] = true
	}
	return index, nil
}

func byPlace(a, b fabric.Artifact) int {
	return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path))
}

// EncodeIndex returns the text of an index file and its SHA-256 in hexadecimal, the name of all that was
// rendered: sha256sum of the file prints the same.
func EncodeIndex(index fabric.Index) (text []byte, sha256 string, err error) {
	listed := index.Artifacts
	index.Artifacts = []fabric.Artifact{}
	frame, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		return nil, "", fmt.Errorf("index: %w", err)
	}
	const none = `"artifacts": []`
	at := bytes.Index(frame, []byte(none)) // in the header, behind kind and version
	if text, err = appendArtifacts(frame[:at:at], listed); err != nil {
		return nil, "", fmt.Errorf("index: %w", err)
	}
	text = append(append(text, frame[at+len(none):]...), '\n')
	return text, sum(text), nil
}

// appendArtifacts appends the list of an index.
func appendArtifacts(text []byte, listed []fabric.Artifact) (_ []byte, err error) {
	const names = 128 // bytes around the texts of an entry
	room := names
	for _, a := range listed {
		room += names + len(a.Target) + len(a.Path) + len(a.SHA256) + len(a.File) + len(a.Doc) + 8*len(a.Omits)
		for _, o := range a.Omits {
			room += len(o)
		}
	}
	text = slices.Grow(text, room)
	text = append(text, `"artifacts": [`...)
	for i, a := range listed {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = appendArtifact(append(text, '\n'), a); err != nil {
			return nil, err
		}
	}
	if len(listed) > 0 {
		text = append(text, "\n "...)
	}
	return append(text, ']'), nil
}
