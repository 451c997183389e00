// Package vsphere turns the parts of a plan that concern ESX hosts, vCenter and what they make into files: bodies of the vSphere
// API, Kubernetes objects of the Supervisor, the configuration of service virtual machines and of guests, and lists for people.
// One Go file per kind of file. It is pure, and the same part gives the same bytes.
package vsphere

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
	modePublic  = 0o644
	modePrivate = 0o600 // netplan warns of every file that others can read
)

func newArtifact(target, path string, mode uint32, content []byte) fabric.Artifact {
	sum := sha256.Sum256(content)
	return fabric.Artifact{Target: target, Path: path, Mode: mode, SHA256: hex.EncodeToString(sum[:]),
		File: target + "/" + strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "__"), Content: content}
}

// forPeople is a file for the machine of the person who works with vCenter.
func forPeople(path string, content []byte) fabric.Artifact {
	return newArtifact(fabric.OnWorkstation, path, modePublic, content)
}

// jsonText writes a body of the API.
func jsonText(body any) []byte {
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("body of the vSphere API: %v", err)) // plain structs of strings and numbers
	}
	return append(text, '\n')
}

// yamlText writes a document below its comment.
func yamlText(comment string, body any) []byte {
	text, err := yaml.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("YAML: %v", err)) // plain structs of strings and numbers
	}
	var b bytes.Buffer
	for line := range strings.SplitSeq(comment, "\n") {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	b.Write(text)
	return b.Bytes()
}
