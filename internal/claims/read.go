package claims

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"railwright.dev/railwright/internal/fabric"
)

const resourceGroup = "resource.k8s.io"

// Read reads all objects of files. What is not understood is a problem of the result; nothing is dropped without one.
func Read(files []File) *Objects {
	o := &Objects{}
	compiled, lists := verdicts{}, map[string][]resourceapi.Device{}
	for _, f := range files {
		one := &Objects{compiled: compiled, lists: lists}
		docs, err := documents(f)
		for _, d := range docs {
			one.readDocument(source{document: d})
		}
		if err != nil {
			one.problem(source{document: document{file: f.Name}}, "", "", err.Error(), true)
		}
		if len(docs) == 0 && err == nil {
			one.problem(source{document: document{file: f.Name}}, "", "", "contains no object", true)
		}
		o.Merge(one)
	}
	return o
}

// source is where an object stands: a document, and the path to the object inside it.
type source struct {
	document
	path   []any  // keys and indexes; empty for an object that is the document
	object string // kind and name, for messages
}

// header is what says which object a document is.
type header struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Items      []json.RawMessage `json:"items"`
}

func (o *Objects) problem(s source, object, field, reason string, refused bool) {
	o.problems = append(o.problems, fabric.ObjectProblem{
		File: s.file, Line: s.line, Object: object, Field: field, Reason: reason, Refused: refused,
	})
}

func (o *Objects) readDocument(s source) {
	var h header
	if err := json.Unmarshal(s.json, &h); err != nil {
		o.problem(s, "", "", "is not a Kubernetes object: "+plainJSONError(err), true)
		return
	}
	if h.Items != nil {
		o.readList(s, h)
		return
	}
	o.readObject(s, h)
}

// readList reads the items of a List, or of a list of one kind, whose items may lack kind and version.
func (o *Objects) readList(s source, h header) {
	kind, isList := strings.CutSuffix(h.Kind, "List")
	if h.Kind == "" || h.APIVersion == "" {
		o.problem(s, "", "", "has items, but no "+missing(h)+": the end or the beginning of the list may be missing", true)
	} else if !isList {
		o.problem(s, h.Kind, "items", "has items, but is not a List", true)
		return
	}
	for i, raw := range h.Items {
		item := source{document: s.document, path: append(append([]any{}, s.path...), "items", i)}
		item.json = raw
		var ih header
		if err := json.Unmarshal(raw, &ih); err != nil {
			o.problem(s, "", fmt.Sprintf("items[%d]", i), "is not a Kubernetes object: "+plainJSONError(err), true)
			continue
		}
		if ih.Kind == "" && kind != "" {
			ih.Kind = kind
		}
		if ih.APIVersion == "" && kind != "" {
			ih.APIVersion = h.APIVersion
		}
		o.readObject(item, ih)
	}
}

func missing(h header) string {
	var words []string
	if h.APIVersion == "" {
		words = append(words, "apiVersion")
	}
	if h.Kind == "" {
		words = append(words, "kind")
	}
	return strings.Join(words, " and no ")
}

func (o *Objects) readObject(s source, h header) {
	s.object = strings.TrimSpace(h.Kind + " " + nameOf(h.Metadata))
	if h.APIVersion == "" || h.Kind == "" {
		o.readNameless(s, h)
		return
	}
	version, err := schema.ParseGroupVersion(h.APIVersion)
	if err != nil {
		o.problem(s, s.object, "apiVersion", err.Error(), true)
		return
	}
	switch {
	case version.Group == resourceGroup:
		o.readResource(s, h, version.Version)
	case h.APIVersion == "v1" && h.Kind == "Pod":
		o.readPod(s)
	case h.APIVersion == "v1" && h.Kind == "Node":
		o.readNode(s)
	case version.Group == "scheduling.k8s.io" && h.Kind == "PodGroup":
		o.readGroup(s)
	case workloadKinds(version.Group, h.Kind):
		o.readWorkload(s, h.Kind)
	case strings.Contains(string(s.json), "resourceClaimTemplateName"):
		o.problem(s, s.object, "", "makes pods with claims, but how many is unknown of this kind: give the number of pods and the template", false)
	default:
		o.leave(h.Kind, 1)
	}
}

// nameOf is the name of an object, or what the server would begin it with.
func nameOf(m metav1.ObjectMeta) string {
	if m.Name == "" && m.GenerateName != "" {
		return m.GenerateName + "*"
	}
	return m.Name
}

func (o *Objects) readNode(s source) {
	var n corev1.Node
	if err := json.Unmarshal(s.json, &n); err != nil {
		o.problem(s, s.object, "", plainJSONError(err), true)
		return
	}
	// Only what decides whether slices and pods fit is kept.
	kept := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	kept.Spec.Unschedulable = n.Spec.Unschedulable
	o.nodes = append(o.nodes, kept)
}

// plainJSONError is a message about a JSON value without Go's words for types.
func plainJSONError(err error) string {
	text := strings.TrimPrefix(err.Error(), "json: ")
	if before, after, found := strings.Cut(text, " of type "); found && strings.HasPrefix(before, "cannot unmarshal ") {
		what := strings.TrimPrefix(before, "cannot unmarshal ")
		value, field, _ := strings.Cut(what, " into Go struct field ")
		if field == "" {
			value, field, _ = strings.Cut(what, " into Go value")
		}
		if _, path, ok := strings.Cut(field, "."); ok {
			field = path
		}
		text = article(value) + " stands where " + goType(after) + " is wanted"
		if field != "" && field != " " {
			text = field + ": " + text
		}
		return text
	}
	return text
}

func article(noun string) string {
	if strings.ContainsAny(noun[:min(1, len(noun))], "aeio") {
		return "an " + noun
	}
	return "a " + noun
}

// goType is a Go type in words of JSON.
func goType(name string) string {
	name = strings.TrimLeft(name, "*")
	switch {
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "int"):
		return "a number"
	case strings.HasPrefix(name, "bool"):
		return "true or false"
	case strings.HasPrefix(name, "string"), strings.HasSuffix(name, "QualifiedName"):
		return "a string"
	}
	return "an object"
}
