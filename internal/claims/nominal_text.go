package claims

import (
	"bytes"
	"encoding/json"
	"fmt"

	resource "k8s.io/api/resource/v1"
	resourcebeta1 "k8s.io/api/resource/v1beta1"
	resourcebeta2 "k8s.io/api/resource/v1beta2"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	toBeta1 "k8s.io/dynamic-resource-allocation/api/v1beta1"
	toBeta2 "k8s.io/dynamic-resource-allocation/api/v1beta2"
	"sigs.k8s.io/yaml"
)

// SliceText writes slices as YAML in a version of resource.k8s.io: v1, v1beta2 or v1beta1. Another version is an error.
func SliceText(s NominalSlices, api string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Nominal: what the drivers would publish, made from the catalog or from facts. Not to be applied to a cluster.\n")
	for i := range s.slices {
		o, err := sliceAs(api, &s.slices[i])
		if err != nil {
			return nil, err
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("slice %s: %w", s.slices[i].Name, err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}

// SliceJSON writes the same as a List in JSON, which is read many times faster: for thousands of nodes.
func SliceJSON(s NominalSlices, api string) ([]byte, error) {
	list := struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Items      []any  `json:"items"`
	}{APIVersion: "v1", Kind: "List", Items: []any{}}
	for i := range s.slices {
		o, err := sliceAs(api, &s.slices[i])
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, o)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("slices: %w", err)
	}
	return text, nil
}

// sliceAs converts a slice and gives it its apiVersion and kind. In v1beta1 attributes are a level further down, at basic.
func sliceAs(api string, s *resource.ResourceSlice) (any, error) {
	kind := meta.TypeMeta{APIVersion: "resource.k8s.io/" + api, Kind: "ResourceSlice"}
	switch api {
	case "v1":
		out := *s
		out.TypeMeta = kind
		return &out, nil
	case "v1beta2":
		out := &resourcebeta2.ResourceSlice{}
		err := toBeta2.Convert_v1_ResourceSlice_To_v1beta2_ResourceSlice(s, out, nil)
		out.TypeMeta = kind
		return out, err
	case "v1beta1":
		out := &resourcebeta1.ResourceSlice{}
		err := toBeta1.Convert_v1_ResourceSlice_To_v1beta1_ResourceSlice(s, out, nil)
		out.TypeMeta = kind
		return out, err
	}
	return nil, fmt.Errorf("resource.k8s.io/%s: not a version in which slices are written: v1, v1beta2, v1beta1", api)
}
