package render

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// appendArtifact appends an entry of an index as json.MarshalIndent writes it, which takes four times as long: 16,384 hosts have a
// quarter of a million of them.
func appendArtifact(b []byte, a fabric.Artifact) ([]byte, error) {
	w := entryWriter{b: append(b, "  {"...)}
	w.text("target", a.Target)
	w.text("path", a.Path)
	w.name("mode")
	w.b = strconv.AppendUint(w.b, uint64(a.Mode), 10)
	w.text("sha256", a.SHA256)
	w.text("file", a.File)
	if a.Doc != "" {
		w.text("doc", a.Doc)
	}
	if len(a.Omits) > 0 {
		w.name("omits")
		w.list(a.Omits)
	}
	return append(w.b, "\n  }"...), w.err
}

// entryWriter writes an object at the depth of an entry. It keeps the first error.
type entryWriter struct {
	b      []byte
	fields int
	err    error
}

func (w *entryWriter) name(name string) {
	if w.fields > 0 {
		w.b = append(w.b, ',')
	}
	w.fields++
	w.b = append(append(append(w.b, "\n   \""...), name...), `": `...)
}

func (w *entryWriter) text(name, value string) {
	w.name(name)
	w.string(value)
}

func (w *entryWriter) list(values []string) {
	w.b = append(w.b, '[')
	for i, v := range values {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, "\n    "...)
		w.string(v)
	}
	w.b = append(w.b, "\n   ]"...)
}

func (w *entryWriter) string(s string) {
	if isPlain(s) {
		w.b = append(append(append(w.b, '"'), s...), '"')
		return
	}
	text, err := json.Marshal(s)
	if w.err == nil {
		w.err = err
	}
	w.b = append(w.b, text...)
}

// isPlain reports whether JSON has a text as it stands.
func isPlain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= utf8.RuneSelf, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
