package fabric

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Decode reads a saved document of a kind: one JSON object with the header of this kind in the current version, only
// fields that v has, and nothing after it. Anything else is an error, with its line where the text is not JSON.
func Decode(text []byte, kind string, v any) error {
	var meta Meta
	if err := json.Unmarshal(text, &meta); err != nil {
		if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field == "" {
			return fmt.Errorf("is a JSON %s, not an object", t.Value)
		}
		return located(text, err)
	}
	if meta != NewMeta(kind) {
		return fmt.Errorf("is kind %q in version %q, not %q in %q", meta.Kind, meta.APIVersion, kind, APIVersion)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return located(text, d.Decode(v))
}

// located adds the line of a syntax error.
func located(text []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	line := 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
	return fmt.Errorf("line %d: %w", line, err)
}
