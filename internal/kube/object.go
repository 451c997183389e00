package kube

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Object is any object of Kubernetes.
type Object struct {
	APIVersion string `json:"api_version"` // resource.k8s.io/v1
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"` // empty: of the cluster, or not said
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"` // empty: it is not one that a server has

	JSON []byte `json:"-"`
}

// String is its kind and name: ResourceClaimTemplate default/pair.
func (o Object) String() string {
	if o.Namespace != "" {
		return o.Kind + " " + o.Namespace + "/" + o.Name
	}
	return o.Kind + " " + o.Name
}

// header is the part of an object that says which one it is.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		UID       string `json:"uid"`
	} `json:"metadata"`
}

// Read reads an object in JSON.
func Read(text []byte) (Object, error) {
	var h header
	if err := json.Unmarshal(text, &h); err != nil {
		return Object{}, err
	}
	switch {
	case h.Kind == "":
		return Object{}, errors.New("kind: is missing")
	case h.APIVersion == "":
		return Object{}, fmt.Errorf("%s: apiVersion: is missing", h.Kind)
	case h.Metadata.Name == "":
		return Object{}, fmt.Errorf("%s: metadata.name: is missing", h.Kind)
	}
	return Object{APIVersion: h.APIVersion, Kind: h.Kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name, UID: h.Metadata.UID, JSON: text}, nil
}

// Parse reads the objects of a file in YAML or JSON: documents one after another, and lists of objects. A key that is there
// twice is an error.
func Parse(text []byte) (objects []Object, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		asJSON, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if bytes.Equal(asJSON, []byte("null")) {
			continue // comments alone
		}
		of, err := readAll(asJSON)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		objects = append(objects, of...)
	}
}

// readAll reads an object, or the objects of a list.
func readAll(text []byte) ([]Object, error) {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	if list.Kind != "List" {
		o, err := Read(text)
		return []Object{o}, err
	}
	var objects []Object
	for i, item := range list.Items {
		o, err := Read(item)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// AsList is objects as one object of kind List, as kubectl get -o json prints them.
func AsList(objects []Object) []byte {
	var b bytes.Buffer
	b.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	for i, o := range objects {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(o.JSON)
	}
	b.WriteString("]}")
	return b.Bytes()
}
