package plainjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Decoder decodes values of one type, one text after the other. It is for one goroutine.
type Decoder[T any] struct {
	read valueReader
	in   input
}

// Type is how values of a type are decoded.
type Type[T any] struct{ read valueReader }

// TypeOf prepares to decode a type. It panics where the type has parts that this package does not decode.
func TypeOf[T any]() Type[T] { return Type[T]{readerOf(reflect.TypeFor[T]())} }

// NewDecoder makes a decoder.
func (t Type[T]) NewDecoder() *Decoder[T] { return &Decoder[T]{read: t.read} }

// Decode decodes a text of one value into v, whose lists keep their room. It is false where the text is not plain: v then has
// anything, and encoding/json decodes the text or says what is wrong with it. Equal short strings of several texts are one in
// memory.
func (d *Decoder[T]) Decode(text []byte, v *T) bool {
	d.in.text, d.in.at = text, 0
	d.in.space()
	ok := d.read(&d.in, reflect.ValueOf(v).Elem())
	d.in.space()
	ok = ok && d.in.at == len(text)
	d.in.text = nil
	return ok
}

// input is a text and how much of it was read.
type input struct {
	text  []byte
	at    int
	known [knownStrings]string
}

// Strings that are kept, so that those which come again are not copied: names, states, versions.
const (
	knownStrings  = 2048
	longestString = 48 // bytes
)

// space goes on to what is not white space.
func (in *input) space() {
	for in.at < len(in.text) {
		switch in.text[in.at] {
		case ' ', '\t', '\n', '\r':
			in.at++
		default:
			return
		}
	}
}

// take goes on behind a character and the white space around it, where it is the next.
func (in *input) take(c byte) bool {
	in.space()
	if in.at >= len(in.text) || in.text[in.at] != c {
		return false
	}
	in.at++
	in.space()
	return true
}

// raw reads a string without its quotes. plain is false where it is not as it stands there: it has escapes, or bytes that are not UTF-8.
func (in *input) raw() (text []byte, plain, ok bool) {
	if in.at >= len(in.text) || in.text[in.at] != '"' {
		return nil, false, false
	}
	from, ascii, escaped := in.at+1, true, false
	for i := from; i < len(in.text); i++ {
		switch c := in.text[i]; {
		case c == '"':
			in.at = i + 1
			text = in.text[from:i]
			return text, !escaped && (ascii || utf8.Valid(text)), true
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return nil, false, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false, false
}

// bytes reads a string that is valid until the next text.
func (in *input) bytes() ([]byte, bool) {
	from := in.at
	text, plain, ok := in.raw()
	if !ok || plain {
		return text, ok
	}
	var s string
	if json.Unmarshal(in.text[from:in.at], &s) != nil {
		return nil, false
	}
	return []byte(s), true
}

// string reads a string.
func (in *input) string() (string, bool) {
	text, ok := in.bytes()
	if !ok || len(text) > longestString {
		return string(text), ok
	}
	at := uint32(len(text))
	for _, c := range text {
		at = at*31 + uint32(c)
	}
	known := &in.known[at%knownStrings]
	if *known != string(text) {
		*known = string(text)
	}
	return *known, true
}

// number reads a number of JSON; whole: it has neither fraction nor exponent.
func (in *input) number() (text []byte, whole, ok bool) {
	from := in.at
	in.one("-")
	switch digits := in.digits(); {
	case digits == 0, digits > 1 && in.text[in.at-digits] == '0':
		return nil, false, false
	}
	whole = true
	if in.one(".") {
		if whole = false; in.digits() == 0 {
			return nil, false, false
		}
	}
	if in.one("eE") {
		in.one("+-")
		if whole = false; in.digits() == 0 {
			return nil, false, false
		}
	}
	return in.text[from:in.at], whole, true
}

// one goes on behind one of some characters.
func (in *input) one(of string) bool {
	if in.at >= len(in.text) || strings.IndexByte(of, in.text[in.at]) < 0 {
		return false
	}
	in.at++
	return true
}

func (in *input) digits() int {
	from := in.at
	for in.at < len(in.text) && '0' <= in.text[in.at] && in.text[in.at] <= '9' {
		in.at++
	}
	return in.at - from
}

// word goes on behind a word.
func (in *input) word(w string) bool {
	if !strings.HasPrefix(string(in.text[in.at:min(len(in.text), in.at+len(w))]), w) {
		return false
	}
	in.at += len(w)
	return true
}

// errType is what a type cannot be decoded for.
var errType = errors.New("plainjson: a type that is not decoded here")
