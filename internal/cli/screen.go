package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"reflect"
	"sync"
	"unicode"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// screen is standard output or standard error: whatever a command prints passes it. Text that this program did not write
// (names of files and machines, answers of hosts, messages of libraries) may hold sequences that a terminal obeys. Those
// who print such text use fabric.Printable, which also keeps it on its line; the screen lets through what they forgot
// neither as a control character nor as a formatting one. It writes them as \u001b, which in JSON is the same text.
type screen struct {
	to    io.Writer
	color bool // sequences that choose a color are this program's own

	mu  sync.Mutex
	cut []byte // the start of a character whose end was not written yet
	err error  // of the first write that failed
}

// allowColor lets sequences through that choose a color.
func (s *screen) allowColor(allow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.color = allow
}

// Write writes text, without control and formatting characters but line feeds and tabs.
func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := text
	if len(s.cut) > 0 {
		all = append(s.cut, text...)
	}
	whole := len(all) - s.unfinished(all)
	s.cut = bytes.Clone(all[whole:])
	if _, err := s.to.Write(s.shown(all[:whole])); err != nil {
		s.err = cmp.Or(s.err, err)
		return 0, err
	}
	return len(text), nil
}

// flush writes what was held back because its end was not written, and returns the first error of any write.
func (s *screen) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cut) > 0 {
		_, err := s.to.Write(s.shown(s.cut))
		s.cut, s.err = nil, cmp.Or(s.err, err)
	}
	return s.err
}

// unfinished counts the bytes at the end that are the start of a character, or of a color.
func (s *screen) unfinished(text []byte) int {
	const longest = 16 // bytes of a color: ESC [ 1;31 m has 7
	if at := bytes.LastIndexByte(text, 0x1b); s.color && at >= 0 && len(text)-at < longest && len(bytes.Trim(text[at+1:], "[0123456789;")) == 0 {
		return len(text) - at
	}
	for n := 1; n <= min(len(text), utf8.UTFMax-1); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

func (s *screen) shown(text []byte) []byte {
	var out []byte // nil as long as nothing had to be replaced
	kept := 0      // everything before it is in out
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if n := s.colorAt(text[i:]); n > 0 {
			size = n
		} else if !harmless(r, size) {
			out = append(out, text[kept:i]...)
			out = append(out, escaped(r, text[i:i+size])...)
			kept = i + size
		}
		i += size
	}
	if kept == 0 {
		return text
	}
	return append(out, text[kept:]...)
}

// printf writes as fmt.Fprintf does, with fabric.Printable for all texts among the arguments: of them none starts a line
// or a column of its own. The screen keeps an error of writing; what stands between, a table or a text, has none.
func printf(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, sprintf(format, args...))
}

// sprintf returns what printf writes.
func sprintf(format string, args ...any) string {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = arg
		switch text := arg.(type) {
		case error:
			shown[i] = fabric.Printable(text.Error())
		case fmt.Stringer:
			shown[i] = fabric.Printable(text.String())
		default:
			if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
				shown[i] = fabric.Printable(v.String())
			}
		}
	}
	return fmt.Sprintf(format, shown...)
}

func harmless(r rune, size int) bool {
	return r == '\n' || r == '\t' || unicode.IsGraphic(r) && (r != utf8.RuneError || size > 1)
}

// escaped writes a character as Go and JSON do; a byte that is not UTF-8 as Go does.
func escaped(r rune, bytes []byte) string {
	switch {
	case r == utf8.RuneError && len(bytes) == 1:
		return fmt.Sprintf(`\x%02x`, bytes[0])
	case r > 0xffff:
		high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00 // RFC 8259, section 7
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	default:
		return fmt.Sprintf(`\u%04x`, r)
	}
}

// colorAt returns the length of a color at the start of the text: ESC [ numbers m. 0: none, or not allowed.
func (s *screen) colorAt(text []byte) int {
	if !s.color || !bytes.HasPrefix(text, []byte("\x1b[")) {
		return 0
	}
	for i, c := range text[2:] {
		switch {
		case c == 'm':
			return i + 3
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}
