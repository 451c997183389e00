package intent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
	validation "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"railwright.dev/railwright/internal/fabric"
)

// schemaID is the $id of the schema. Nothing is fetched from it.
const schemaID = "https://railwright.dev/schema/v1alpha1/cluster.json"

// Schema is the JSON Schema (draft 2020-12) of the cluster file, made from the Go types and indented.
// Parse judges by the same bytes.
func Schema() ([]byte, error) {
	text, err := json.MarshalIndent(reflectSchema(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema of the cluster file: %w", err)
	}
	return append(text, '\n'), nil
}

func reflectSchema() *jsonschema.Schema {
	r := jsonschema.Reflector{
		ExpandedStruct: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[netip.Prefix]() {
				return &jsonschema.Schema{Type: "string", Format: "ipv4-network", Pattern: `^[0-9.]+/[0-9]+$`}
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
func (d *document) checkSchema() (any, error) {
	schema := reflectSchema()
	compiled, err := compile()
	if err != nil {
		return nil, err
	}
	failure := compiled.Validate(d.value)
	if failure == nil {
		return d.value, nil
	}
	var tree *validation.ValidationError
	if !errors.As(failure, &tree) {
		return nil, fmt.Errorf("schema of the cluster file: %w", failure)
	}
	leaves := map[string]*validation.ValidationError{}
	var order []string
	collect(tree, func(v *validation.ValidationError) {
		// One value gets one verdict: a number where text is required is not also "not in the list".
		key := pathKey(v.InstanceLocation) + "\x01" + class(v.ErrorKind)
		if old, ok := leaves[key]; !ok {
			order = append(order, key)
			leaves[key] = v
		} else if rank(v.ErrorKind) < rank(old.ErrorKind) {
			leaves[key] = v
		}
	})
	drop := map[string]bool{}
	for _, key := range order {
		d.explain(schema, leaves[key], drop)
	}
	if drop[pathKey(nil)] {
		return map[string]any{}, nil
	}
	return prune(d.value, nil, drop), nil
}

func compile() (*validation.Schema, error) {
	text, err := Schema()
	if err != nil {
		return nil, err
	}
	value, err := validation.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("schema of the cluster file: %w", err)
	}
	c := validation.NewCompiler()
	c.AssertFormat()
	c.RegisterFormat(&validation.Format{Name: "ipv4-network", Validate: ipv4Network})
	if err := c.AddResource(schemaID, value); err != nil {
		return nil, fmt.Errorf("schema of the cluster file: %w", err)
	}
	return c.Compile(schemaID)
}

// ipv4Network checks the form only; host bits and ranges are the validation's.
func ipv4Network(v any) error {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	p, err := netip.ParsePrefix(s)
	if err == nil && !p.Addr().Is4() {
		err = errors.New("not IPv4")
	}
	return err
}

func collect(v *validation.ValidationError, each func(*validation.ValidationError)) {
	if len(v.Causes) == 0 {
		each(v)
		return
	}
	for _, cause := range v.Causes {
		collect(cause, each)
	}
}

// class separates the problems of a value itself from those of the fields in it.
func class(k validation.ErrorKind) string {
	switch k.(type) {
	case *kind.AdditionalProperties:
		return "unknown"
	case *kind.Required:
		return "required"
	default:
		return "value"
	}
}

// rank puts the problem first that explains the others.
func rank(k validation.ErrorKind) int {
	switch k.(type) {
	case *kind.Type:
		return 0
	case *kind.Enum, *kind.MinLength:
		return 1
	case *kind.Format, *kind.MaxLength:
		return 2
	default:
		return 3
	}
}

// explain turns one failure of the schema into problems and marks what of the value cannot be used.
func (d *document) explain(schema *jsonschema.Schema, v *validation.ValidationError, drop map[string]bool) {
	path := v.InstanceLocation
	if d.broken[pathKey(path)] && class(v.ErrorKind) == "value" {
		return // already reported when the value was read
	}
	switch k := v.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		known := fieldNames(schemaAt(schema, v.SchemaURL))
		for _, name := range k.Properties {
			at := d.places[pathKey(step(path, name))]
			message := "unknown field; " + fabric.DidYouMean(name, known) + "known: " + strings.Join(known, ", ")
			if len(known) == 0 {
				message = "unknown field; this section has no fields yet"
			}
			d.addNode(at.key, at.field, message)
			drop[pathKey(step(path, name))] = true
			d.breakAt(step(path, name))
		}
	case *kind.Required:
		for _, name := range k.Missing {
			message := "required field is missing"
			if about := description(schema, v.SchemaURL, name); about != "" {
				message += ": " + about
			}
			d.add(step(path, name), message)
		}
	default:
		d.add(path, valueMessage(v.ErrorKind))
		drop[pathKey(path)] = true
	}
}

// valueMessage says what a value must be.
func valueMessage(k validation.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return typeMessage(k)
	case *kind.Enum:
		known := make([]string, len(k.Want))
		for i, w := range k.Want {
			known[i] = fmt.Sprint(w)
		}
		return fabric.Quote(fmt.Sprint(k.Got)) + unknown(fmt.Sprint(k.Got), known)
	case *kind.Format:
		if k.Want == "date" {
			return fmt.Sprintf("invalid date %s: must be YYYY-MM-DD, such as 2026-12-31", fabric.Quote(fmt.Sprint(k.Got)))
		}
		return fmt.Sprintf("%s is not an IPv4 network such as 10.64.0.0/16", fabric.Quote(fmt.Sprint(k.Got)))
	case *kind.Pattern:
		return fmt.Sprintf("invalid value %s: must match %s", fabric.Quote(k.Got), k.Want)
	case *kind.MinLength:
		if k.Got > 0 {
			return fmt.Sprintf("has %d characters: at least %d are needed", k.Got, k.Want)
		}
		return "must not be empty"
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters: at most %d are allowed", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d entries: at least %d is required", k.Got, k.Want)
	case *kind.Minimum:
		return fmt.Sprintf("is too small: the minimum is %s", k.Want.RatString())
	case *kind.Maximum:
		return fmt.Sprintf("is too large: the maximum is %s", k.Want.RatString())
	default:
		return "does not fit the schema: " + strings.Join(k.KeywordPath(), "/")
	}
}

func typeMessage(k *kind.Type) string {
	words := map[string]string{"object": "a mapping of fields", "array": "a list", "string": "text",
		"integer": "a whole number", "number": "a number", "boolean": "true or false", "null": "nothing"}
	want := make([]string, len(k.Want))
	for i, w := range k.Want {
		want[i] = words[w]
	}
	message := "must be " + strings.Join(want, " or ") + ", got " + words[k.Got]
	if strings.Join(k.Want, "") == "string" && (k.Got == "number" || k.Got == "boolean") {
		message += ": put it in quotes"
	}
	return message
}

// schemaAt finds the part of the schema that a failure names: its location is a JSON pointer of
// "$defs", "properties" and "items" steps.
func schemaAt(s *jsonschema.Schema, url string) *jsonschema.Schema {
	_, pointer, _ := strings.Cut(url, "#")
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := 0; s != nil && i < len(steps); i++ {
		switch {
		case steps[i] == "$defs" && i+1 < len(steps):
			i++
			s = s.Definitions[steps[i]]
		case steps[i] == "properties" && i+1 < len(steps):
			i++
			s, _ = s.Properties.Get(steps[i])
		case steps[i] == "items":
			s = s.Items
		}
	}
	return s
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

func description(schema *jsonschema.Schema, url, field string) string {
	s := schemaAt(schema, url)
	if s == nil || s.Properties == nil {
		return ""
	}
	p, ok := s.Properties.Get(field)
	if !ok {
		return ""
	}
	return p.Description
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
