package plainjson

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// valueReader reads a value into one that is its type's zero, or a list with room. It is false where the text is not plain.
type valueReader func(in *input, v reflect.Value) bool

// readerOf is the reader of a type.
func readerOf(t reflect.Type) valueReader {
	to := reflect.PointerTo(t)
	switch {
	case to.Implements(reflect.TypeFor[json.Unmarshaler]()):
		panic(fmt.Errorf("%w: %s reads JSON itself", errType, t))
	case to.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return readText
	}
	switch t.Kind() {
	case reflect.String:
		return readString
	case reflect.Bool:
		return readBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return readInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return readUint
	case reflect.Float32, reflect.Float64:
		return readFloat
	case reflect.Pointer:
		return pointerReader(t)
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 { // which is base64
			return sliceReader(t)
		}
	case reflect.Map:
		return mapReader(t)
	case reflect.Struct:
		return structReader(t)
	}
	panic(fmt.Errorf("%w: %s", errType, t))
}

func readText(in *input, v reflect.Value) bool {
	text, ok := in.bytes()
	return ok && v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text) == nil
}

func readString(in *input, v reflect.Value) bool {
	text, ok := in.string()
	v.SetString(text)
	return ok
}

func readBool(in *input, v reflect.Value) bool {
	is := in.word("true")
	v.SetBool(is)
	return is || in.word("false")
}

func readInt(in *input, v reflect.Value) bool {
	text, whole, ok := in.number()
	n, err := strconv.ParseInt(string(text), 10, v.Type().Bits())
	v.SetInt(n)
	return ok && whole && err == nil
}

func readUint(in *input, v reflect.Value) bool {
	text, whole, ok := in.number()
	n, err := strconv.ParseUint(string(text), 10, v.Type().Bits())
	v.SetUint(n)
	return ok && whole && err == nil
}

func readFloat(in *input, v reflect.Value) bool {
	text, _, ok := in.number()
	n, err := strconv.ParseFloat(string(text), v.Type().Bits())
	v.SetFloat(n)
	return ok && err == nil
}

func pointerReader(t reflect.Type) valueReader {
	read, of := readerOf(t.Elem()), t.Elem()
	return func(in *input, v reflect.Value) bool {
		one := reflect.New(of)
		v.Set(one)
		return read(in, one.Elem())
	}
}

// items reads what stands between brackets, one after the other.
func (in *input) items(opens, closes byte, read func() bool) bool {
	if !in.take(opens) {
		return false
	}
	for first := true; !in.take(closes); first = false {
		if !first && !in.take(',') || !read() {
			return false
		}
	}
	return true
}

func sliceReader(t reflect.Type) valueReader {
	read := readerOf(t.Elem())
	return func(in *input, v reflect.Value) bool {
		n := 0
		ok := in.items('[', ']', func() bool {
			if n == v.Cap() {
				v.Grow(1)
			}
			n++
			v.SetLen(n)
			return read(in, v.Index(n-1))
		})
		if n == 0 {
			v.Set(reflect.MakeSlice(t, 0, 0)) // as encoding/json has it
		}
		return ok
	}
}

func mapReader(t reflect.Type) valueReader {
	if t.Key().Kind() != reflect.String || reflect.PointerTo(t.Key()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		panic(fmt.Errorf("%w: %s", errType, t))
	}
	read := readerOf(t.Elem())
	return func(in *input, v reflect.Value) bool {
		v.Set(reflect.MakeMap(t))
		return in.items('{', '}', func() bool {
			name, ok := in.string()
			if !ok || !in.take(':') {
				return false
			}
			key, one := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			key.SetString(name)
			ok = read(in, one)
			v.SetMapIndex(key, one)
			return ok
		})
	}
}
