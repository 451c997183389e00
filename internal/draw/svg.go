package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// svg collects the text of a picture. Names come from machines and files, so every string that goes
// through add is escaped; only its constant format is trusted.
type svg struct{ b bytes.Buffer }

// add appends format, in which every verb is %s: strings are escaped, numbers are cut to a tenth of a pixel.
func (s *svg) add(format string, args ...any) {
	safe := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case string:
			safe[i] = escape(v)
		case float64:
			safe[i] = tenth(v)
		default:
			safe[i] = escape(fmt.Sprint(v))
		}
	}
	fmt.Fprintf(&s.b, format, safe...)
	s.b.WriteByte('\n')
}

// tenth writes a number cut to a tenth of a pixel.
func tenth(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func (s *svg) writeTo(w io.Writer) error {
	_, err := w.Write(s.b.Bytes())
	return err
}

// escape makes text safe as XML character data and inside a quoted attribute. Characters that XML
// forbids become U+FFFD.
func escape(text string) string {
	var b bytes.Buffer
	// A bytes.Buffer does not fail.
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// fit cuts text to a width in pixels at a width in pixels a character.
func fit(text string, width, char float64) string {
	most := max(int(width/char), 1)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
