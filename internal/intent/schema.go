package intent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"railwright.dev/railwright/internal/fabric"
)

// schemaID is the $id of the schema. Nothing is fetched from it.
const schemaID = "https://railwright.dev/schema/v1alpha1/cluster.json"

// Schema is the JSON Schema (draft 2020-12) of the cluster file, made from the Go types and indented.
// Parse judges by the same schema.
func Schema() ([]byte, error) {
	text, err := json.MarshalIndent(reflectSchema(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema of the cluster file: %w", err)
	}
	return append(text, '\n'), nil
}

// networkFormat is the format of an IPv4 network; JSON Schema has none for it.
const networkFormat = "ipv4-network"

func reflectSchema() *jsonschema.Schema {
	r := jsonschema.Reflector{
		ExpandedStruct: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[netip.Prefix]() {
				return &jsonschema.Schema{Type: "string", Format: networkFormat, Pattern: `^[0-9.]+/[0-9]+$`}
			}
			return nil
		},
	}
	s := r.Reflect(&Cluster{})
	s.ID = schemaID
	s.Title = "railwright cluster file"
	return s
}

// checkSchema adds what the schema finds wrong to the document's problems and returns the value without
// the parts that are wrong, so that the rest can still be judged.
func (d *document) checkSchema() any {
	drop := map[string]bool{}
	for _, m := range misfits(reflectSchema(), d.value) {
		d.explain(m, drop)
	}
	if drop[pathKey(nil)] {
		return map[string]any{}
	}
	return prune(d.value, nil, drop)
}

// ipv4Network checks the form only; host bits and ranges are the validation's.
func ipv4Network(text string) error {
	p, err := netip.ParsePrefix(text)
	if err == nil && !p.Addr().Is4() {
		err = errors.New("not IPv4")
	}
	return err
}

// explain turns one misfit into problems and marks what of the value cannot be used.
func (d *document) explain(m misfit, drop map[string]bool) {
	if m.message != "" {
		if !d.broken[pathKey(m.path)] { // else it was reported when the value was read
			d.add(m.path, m.message)
			drop[pathKey(m.path)] = true
		}
		return
	}
	known := fieldNames(m.of)
	for _, name := range m.unknown {
		at := d.places[pathKey(step(m.path, name))]
		message := "unknown field; " + fabric.DidYouMean(name, known) + "known: " + strings.Join(known, ", ")
		if len(known) == 0 {
			message = "unknown field; this section has no fields yet"
		}
		d.addNode(at.key, at.field, message)
		drop[pathKey(step(m.path, name))] = true
		d.breakAt(step(m.path, name))
	}
	for _, name := range m.missing {
		message := "required field is missing"
		if field, ok := m.of.Properties.Get(name); ok && field.Description != "" {
			message += ": " + field.Description
		}
		d.add(step(m.path, name), message)
	}
}

// fieldNames lists the fields of an object in their written order.
func fieldNames(s *jsonschema.Schema) []string {
	var names []string
	if s == nil || s.Properties == nil {
		return nil
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		names = append(names, p.Key)
	}
	return names
}

// prune copies a value without the paths in drop.
func prune(value any, path []string, drop map[string]bool) any {
	switch v := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, field := range v {
			if p := step(path, name); !drop[pathKey(p)] {
				object[name] = prune(field, p, drop)
			}
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if p := step(path, fmt.Sprint(i)); !drop[pathKey(p)] {
				list[i] = prune(item, p, drop)
			}
		}
		return list
	default:
		return v
	}
}
