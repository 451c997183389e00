// Package kubernetes writes objects for the API server of Kubernetes as files, each with what a reader should know of it; its rooms
// render what a cluster needs: operators, pods that serve, pods that test. It is pure, and the same part of a plan gives the same bytes.
package kubernetes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/fabric"
)

// Permission bits of what is rendered.
const (
	ModePublic  = 0o644
	ModeProgram = 0o755
)

// NewArtifact is a file for a target, with its permission bits.
func NewArtifact(target, path string, mode uint32, content []byte) fabric.Artifact {
	sum := sha256.Sum256(content)
	return fabric.Artifact{Target: target, Path: path, Mode: mode, SHA256: hex.EncodeToString(sum[:]),
		File: target + "/" + strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "__"), Content: content}
}

// Object is an object of the API server with what a reader should know of it.
type Object struct {
	Comment string // a paragraph a line, wrapped by the writer
	Body    any    // a struct with the names of the API in its JSON tags: typed ones of k8s.io/api, or those of a file here
}

// File is a file of objects. Its number orders it among the others: namespaces begin with 0, what is installed with 1 and 2, what
// runs with 3 and higher.
func File(path string, objects ...Object) fabric.Artifact {
	var b bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		if o.Comment != "" {
			b.WriteString(Comment(o.Comment))
		}
		b.Write(Text(o.Body))
	}
	return NewArtifact(fabric.OnKubernetes, path, ModePublic, b.Bytes())
}

// Text writes an object as YAML, without what only the server writes and typed structs have all the same: the status, and a time of
// creation that is null.
func Text(body any) []byte {
	plain, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("object of Kubernetes: %v", err)) // plain structs of strings and numbers
	}
	var fields any
	if err := json.Unmarshal(plain, &fields); err != nil {
		panic(fmt.Sprintf("object of Kubernetes: %v", err))
	}
	if top, ok := fields.(map[string]any); ok {
		delete(top, "status")
	}
	out, err := yaml.Marshal(withoutNull(fields))
	if err != nil {
		panic(fmt.Sprintf("object of Kubernetes: %v", err))
	}
	return out
}

func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inside := range v {
			if inside == nil {
				delete(v, k)
				continue
			}
			v[k] = withoutNull(inside)
		}
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i])
		}
	}
	return v
}

// commentWidth is where comment lines end, in characters.
const commentWidth = 118

// Comment writes each line of a text as comment lines.
func Comment(text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := "#"
		for word := range strings.FieldsSeq(paragraph) {
			if len(line)+1+len(word) > commentWidth {
				b.WriteString(line + "\n")
				line = "#"
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
