package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Fields is an object of Kubernetes, or a part of one, as maps, lists and numbers as they are written.
type Fields map[string]any

// FieldsOf reads the fields of an object.
func FieldsOf(text []byte) (f Fields, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return f, d.Decode(&f)
}

// Resolve completes an object for this cluster: one of a namespace that names none is of the namespace default.
func (c *Client) Resolve(ctx context.Context, o Object) (Object, error) {
	r, err := c.find(ctx, o.APIVersion, o.Kind)
	if err != nil || !r.namespaced || o.Namespace != "" {
		return o, err
	}
	return o.With("default", nil)
}

// With returns an object in a namespace, if one is given, and with these labels besides its own.
func (o Object) With(namespace string, labels map[string]string) (Object, error) {
	f, err := FieldsOf(o.JSON)
	if err != nil {
		return Object{}, err
	}
	meta, _ := f["metadata"].(map[string]any)
	if meta == nil {
		meta = make(map[string]any)
		f["metadata"] = meta
	}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	if len(labels) > 0 {
		all, _ := meta["labels"].(map[string]any)
		if all == nil {
			all = make(map[string]any)
		}
		for k, v := range labels {
			all[k] = v
		}
		meta["labels"] = all
	}
	text, err := json.Marshal(f)
	if err != nil {
		return Object{}, err
	}
	return Read(text)
}

// managedEntry is who owns fields of an object, as metadata.managedFields says it.
type managedEntry struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource"`
	FieldsV1    Fields `json:"fieldsV1"`
}

// OwnFields returns the tree of the fields of an object that this program owns by apply; nil: none. A list is one field: by its
// items they are known to the server alone.
func OwnFields(o Object) Fields {
	var meta struct {
		Metadata struct {
			ManagedFields []managedEntry `json:"managedFields"`
		} `json:"metadata"`
	}
	if json.Unmarshal(o.JSON, &meta) != nil {
		return nil
	}
	for _, m := range meta.Metadata.ManagedFields {
		if m.Manager == Manager && m.Operation == "Apply" && m.Subresource == "" {
			return ownTree(m.FieldsV1)
		}
	}
	return nil
}

// ownTree turns f:spec: {f:replicas: {}} into spec: {replicas: nil}. Keys of items (k:, v:, i:) end it.
func ownTree(set map[string]any) Fields {
	tree := Fields{}
	for key, below := range set {
		name, isField := strings.CutPrefix(key, "f:")
		if !isField {
			continue
		}
		children, _ := below.(map[string]any)
		if sub := ownTree(children); len(sub) > 0 {
			tree[name] = map[string]any(sub)
		} else {
			tree[name] = nil
		}
	}
	return tree
}

// Merged is the union of two trees of fields.
func Merged(a, b Fields) Fields {
	all := Fields{}
	maps.Copy(all, a)
	for k, v := range b {
		left, isMap := asMap(all[k])
		right, alsoMap := asMap(v)
		if isMap && alsoMap {
			all[k] = map[string]any(Merged(left, right))
		} else if _, there := all[k]; !there || alsoMap {
			all[k] = v
		}
	}
	return all
}

func asMap(v any) (map[string]any, bool) {
	if f, ok := v.(Fields); ok {
		return f, true
	}
	m, ok := v.(map[string]any)
	return m, ok
}

// Part returns of an object the fields that a tree has: maps are gone into, everything else is taken whole.
func Part(of, tree Fields) Fields {
	part := Fields{}
	for k, below := range tree {
		value, there := of[k]
		if !there {
			continue
		}
		sub, isTree := asMap(below)
		from, isMap := asMap(value)
		switch {
		case isTree && isMap && len(sub) > 0:
			if p := Part(from, sub); len(p) > 0 || len(from) == 0 {
				part[k] = map[string]any(p)
			}
		default:
			part[k] = value
		}
	}
	return part
}

// Identity returns the fields that say which object it is.
func (o Object) identity() Fields {
	meta := map[string]any{"name": o.Name}
	if o.Namespace != "" {
		meta["namespace"] = o.Namespace
	}
	return Fields{"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": meta}
}

// PartOf returns an object with the fields of a tree alone, and those that say which one it is.
func PartOf(o Object, tree Fields) (Object, error) {
	of, err := FieldsOf(o.JSON)
	if err != nil {
		return Object{}, err
	}
	text, err := json.Marshal(Merged(o.identity(), withoutServer(Part(of, tree))))
	if err != nil {
		return Object{}, err
	}
	return Read(text)
}

// Fresh returns an object without what its server gave it, so that it can be made again.
func Fresh(o Object) (Object, error) {
	f, err := FieldsOf(o.JSON)
	if err != nil {
		return Object{}, err
	}
	text, err := json.Marshal(withoutServer(f))
	if err != nil {
		return Object{}, err
	}
	return Read(text)
}

// withoutServer leaves out what only the server sets.
func withoutServer(f Fields) Fields {
	out := maps.Clone(f)
	delete(out, "status")
	if meta, ok := asMap(f["metadata"]); ok {
		meta = maps.Clone(meta)
		for _, name := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
			delete(meta, name)
		}
		out["metadata"] = meta
	}
	return out
}

// Differences returns the paths of the fields in which two objects differ, without what only the server sets: .spec.replicas.
func Differences(a, b Fields) []string {
	return differ("", withoutServer(a), withoutServer(b))
}

func differ(path string, a, b map[string]any) (paths []string) {
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		left, leftMap := asMap(a[k])
		right, rightMap := asMap(b[k])
		_, inA := a[k]
		_, inB := b[k]
		switch {
		case leftMap && rightMap:
			paths = append(paths, differ(path+"."+k, left, right)...)
		case inA != inB || !reflect.DeepEqual(a[k], b[k]):
			paths = append(paths, path+"."+k)
		}
	}
	return paths
}

// Managed returns metadata.managedFields of an object as it is.
func Managed(o Object) json.RawMessage {
	var meta struct {
		Metadata struct {
			ManagedFields json.RawMessage `json:"managedFields"`
		} `json:"metadata"`
	}
	if json.Unmarshal(o.JSON, &meta) != nil {
		return nil
	}
	return meta.Metadata.ManagedFields
}

// Disown gives the fields of an object back to who owned them before, unless it was changed since it was read.
func (c *Client) Disown(ctx context.Context, o Object, managed json.RawMessage) error {
	var meta struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(o.JSON, &meta); err != nil {
		return err
	}
	if len(managed) == 0 || bytes.Equal(managed, []byte("null")) || bytes.Equal(managed, []byte("[]")) {
		managed = json.RawMessage(`[{}]`) // how a list is emptied: an empty one means that nothing is said
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": meta.Metadata.ResourceVersion, "managedFields": managed}})
	if err != nil {
		return err
	}
	_, err = c.Merge(ctx, o, patch)
	return err
}
