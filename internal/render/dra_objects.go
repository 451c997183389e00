package render

import (
	"bytes"
	"fmt"
	"strings"

	resource "k8s.io/api/resource/v1"
	resourcebeta1 "k8s.io/api/resource/v1beta1"
	resourcebeta2 "k8s.io/api/resource/v1beta2"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	toBeta1 "k8s.io/dynamic-resource-allocation/api/v1beta1"
	toBeta2 "k8s.io/dynamic-resource-allocation/api/v1beta2"
	"sigs.k8s.io/yaml"
)

// Versions of resource.k8s.io below v1, which Kubernetes serves from 1.34 on.
const (
	apiBeta1 = "v1beta1" // 1.32
	apiBeta2 = "v1beta2" // 1.33
)

// draObject is an object of resource.k8s.io/v1 with what a reader should know of it.
type draObject struct {
	comment string // a paragraph a line, wrapped by the writer
	object  any    // *resource.DeviceClass or *resource.ResourceClaimTemplate
}

// draText writes objects as YAML, each with its comment above it, in a version of resource.k8s.io. Requests have the level
// `exactly` in v1 and v1beta2 and have it not in v1beta1: the conversions are those of Kubernetes itself.
func draText(api string, objects []draObject) []byte {
	var b bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		b.WriteString(yamlComment(o.comment))
		served, err := servedAs(api, o.object)
		if err != nil {
			panic(fmt.Sprintf("DRA object: %v", err)) // every object and version here is one that this file names
		}
		text, err := yaml.Marshal(served)
		if err != nil {
			panic(fmt.Sprintf("DRA object: %v", err)) // plain structs of strings and numbers
		}
		b.Write(text)
	}
	return b.Bytes()
}

// servedAs converts an object of v1 and gives it its apiVersion and kind.
func servedAs(api string, object any) (any, error) {
	const group = "resource.k8s.io/"
	switch o := object.(type) {
	case *resource.DeviceClass:
		kind := meta.TypeMeta{APIVersion: group + api, Kind: "DeviceClass"}
		switch api {
		case apiBeta1:
			out := &resourcebeta1.DeviceClass{}
			err := toBeta1.Convert_v1_DeviceClass_To_v1beta1_DeviceClass(o, out, nil)
			out.TypeMeta = kind
			return out, err
		case apiBeta2:
			out := &resourcebeta2.DeviceClass{}
			err := toBeta2.Convert_v1_DeviceClass_To_v1beta2_DeviceClass(o, out, nil)
			out.TypeMeta = kind
			return out, err
		}
		out := o.DeepCopy()
		out.TypeMeta = kind
		return out, nil
	case *resource.ResourceClaimTemplate:
		kind := meta.TypeMeta{APIVersion: group + api, Kind: "ResourceClaimTemplate"}
		switch api {
		case apiBeta1:
			out := &resourcebeta1.ResourceClaimTemplate{}
			err := toBeta1.Convert_v1_ResourceClaimTemplate_To_v1beta1_ResourceClaimTemplate(o, out, nil)
			out.TypeMeta = kind
			return out, err
		case apiBeta2:
			out := &resourcebeta2.ResourceClaimTemplate{}
			err := toBeta2.Convert_v1_ResourceClaimTemplate_To_v1beta2_ResourceClaimTemplate(o, out, nil)
			out.TypeMeta = kind
			return out, err
		}
		out := o.DeepCopy()
		out.TypeMeta = kind
		return out, nil
	}
	return nil, fmt.Errorf("%T has no text", object)
}

// commentWidth is where comment lines of objects end, in characters.
const commentWidth = 118

// yamlComment writes each line of a text as comment lines.
func yamlComment(text string) string {
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
