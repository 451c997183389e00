package intent

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/invopop/jsonschema"

	"railwright.dev/railwright/internal/fabric"
)

// misfit is one thing in which a value does not fit its schema.
type misfit struct {
	path []string
	of   *jsonschema.Schema

	unknown []string // fields that an object has too many, sorted
	missing []string // fields that it lacks
	message string   // what is wrong with the value itself
}

// judge holds a value against the schema of the cluster file. It judges what the reflector writes: type, enum, pattern, format,
// bounds of numbers, texts and lists, fields and their names; a test holds it against a library that judges all of JSON Schema,
// which takes some 5 ms to start, of every command.
type judge struct {
	root    *jsonschema.Schema
	found   []misfit
	pattern map[string]*regexp.Regexp
}

func misfits(root *jsonschema.Schema, value any) []misfit {
	j := judge{root: root, pattern: map[string]*regexp.Regexp{}}
	j.value(root, value, nil)
	return j.found
}

// value judges a value and all in it. Of one value the first misfit counts.
func (j *judge) value(s *jsonschema.Schema, v any, path []string) {
	for s.Ref != "" {
		s = j.root.Definitions[strings.TrimPrefix(s.Ref, "#/$defs/")]
	}
	if message := j.message(s, v); message != "" {
		j.found = append(j.found, misfit{path: path, of: s, message: message})
	}
	switch v := v.(type) {
	case map[string]any:
		j.object(s, v, path)
	case []any:
		for i, item := range v {
			if s.Items != nil {
				j.value(s.Items, item, step(path, strconv.Itoa(i)))
			}
		}
	}
}

func (j *judge) object(s *jsonschema.Schema, object map[string]any, path []string) {
	var missing, unknown []string
	for _, name := range s.Required {
		if _, there := object[name]; !there {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		j.found = append(j.found, misfit{path: path, of: s, missing: missing})
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		field, known := j.field(s, name)
		switch {
		case !known && s.AdditionalProperties == jsonschema.FalseSchema:
			unknown = append(unknown, name)
		case known:
			j.value(field, object[name], step(path, name))
		case s.AdditionalProperties != nil:
			j.value(s.AdditionalProperties, object[name], step(path, name))
		}
	}
	if len(unknown) > 0 {
		j.found = append(j.found, misfit{path: path, of: s, unknown: unknown})
	}
}

func (j *judge) field(s *jsonschema.Schema, name string) (*jsonschema.Schema, bool) {
	if s.Properties == nil {
		return nil, false
	}
	return s.Properties.Get(name)
}

// message says what a value must be; empty: it is.
func (j *judge) message(s *jsonschema.Schema, v any) string {
	kind := kindOf(v)
	switch {
	case kind == "":
		return "does not fit the schema: " // a number that JSON does not have
	case s.Type != "" && kind != s.Type && (s.Type != "integer" || kind != "number" || !ratOf(v).IsInt()):
		return typeMessage(s.Type, kind)
	case s.Enum != nil && !slices.ContainsFunc(s.Enum, func(w any) bool { return isSame(v, w) }):
		known := make([]string, len(s.Enum))
		for i, w := range s.Enum {
			known[i] = fmt.Sprint(w)
		}
		return fabric.Quote(fmt.Sprint(v)) + unknown(fmt.Sprint(v), known)
	}
	switch v := v.(type) {
	case string:
		return j.textMessage(s, v)
	case []any:
		switch n := uint64(len(v)); {
		case s.MinItems != nil && n < *s.MinItems:
			return fmt.Sprintf("has %d entries: at least %d is required", n, *s.MinItems)
		case s.MaxItems != nil && n > *s.MaxItems:
			return "does not fit the schema: maxItems"
		}
	}
	if kind != "number" {
		return ""
	}
	if least, ok := new(big.Rat).SetString(string(s.Minimum)); ok && ratOf(v).Cmp(least) < 0 {
		return "is too small: the minimum is " + least.RatString()
	}
	if most, ok := new(big.Rat).SetString(string(s.Maximum)); ok && ratOf(v).Cmp(most) > 0 {
		return "is too large: the maximum is " + most.RatString()
	}
	return ""
}

func (j *judge) textMessage(s *jsonschema.Schema, v string) string {
	n := uint64(utf8.RuneCountInString(v))
	switch {
	case s.Format == "date" && !isDate(v):
		return fmt.Sprintf("invalid date %s: must be YYYY-MM-DD, such as 2026-12-31", fabric.Quote(v))
	case s.Format == networkFormat && ipv4Network(v) != nil:
		return fmt.Sprintf("%s is not an IPv4 network such as 10.64.0.0/16", fabric.Quote(v))
	case s.MinLength != nil && n < *s.MinLength && n > 0:
		return fmt.Sprintf("has %d characters: at least %d are needed", n, *s.MinLength)
	case s.MinLength != nil && n < *s.MinLength:
		return "must not be empty"
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Sprintf("has %d characters: at most %d are allowed", n, *s.MaxLength)
	case s.Pattern != "" && !j.matches(s.Pattern, v):
		return fmt.Sprintf("invalid value %s: must match %s", fabric.Quote(v), s.Pattern)
	}
	return ""
}

func (j *judge) matches(pattern, text string) bool {
	if j.pattern[pattern] == nil {
		j.pattern[pattern] = regexp.MustCompile(pattern) // of a tag in this package
	}
	return j.pattern[pattern].MatchString(text)
}

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// kindOf is the type of a value of newDocument as JSON Schema calls it; empty: JSON has no such value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ""
		}
	}
	return "number"
}

// isSame compares a text or a number with one of a closed set.
func isSame(v, want any) bool {
	if _, text := want.(string); text || kindOf(v) != "number" {
		return v == want
	}
	return ratOf(v).Cmp(ratOf(want)) == 0
}

// ratOf is a number exactly as it is written.
func ratOf(v any) *big.Rat {
	if r, ok := new(big.Rat).SetString(fmt.Sprint(v)); ok {
		return r
	}
	return new(big.Rat)
}

func typeMessage(want, have string) string {
	words := map[string]string{"object": "a mapping of fields", "array": "a list", "string": "text",
		"integer": "a whole number", "number": "a number", "boolean": "true or false", "null": "nothing"}
	message := "must be " + words[want] + ", got " + words[have]
	if want == "string" && (have == "number" || have == "boolean") {
		message += ": put it in quotes"
	}
	return message
}
