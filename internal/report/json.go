package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes v as JSON, two blanks a level, with a final newline. The same value gives the same bytes
// (maps are sorted by key), and nothing is written if a value cannot be encoded.
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it is read by programs and people, not by a browser
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("%T as JSON: %w", v, err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
