package plainjson

import (
	"fmt"
	"reflect"
	"strings"
)

// field is a field of a struct, or of one that is a part of it.
type field struct {
	name string
	at   []int
	read valueReader
}

// mostFields are as many as the bits in which it is noted which were read.
const mostFields = 64

// fieldsOf lists the fields that JSON has, in their order.
func fieldsOf(t reflect.Type) (out []field) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && f.IsExported():
			for _, inner := range fieldsOf(f.Type) {
				inner.at = append([]int{f.Index[0]}, inner.at...)
				out = append(out, inner)
			}
			continue
		case name == "-" && options == "" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous, options != "" && options != "omitempty" && options != "omitzero":
			panic(fmt.Errorf("%w: field %s of %s", errType, f.Name, t))
		case name == "":
			name = f.Name
		}
		out = append(out, field{name: name, at: f.Index, read: readerOf(f.Type)})
	}
	return out
}

func structReader(t reflect.Type) valueReader {
	fields := fieldsOf(t)
	byName := make(map[string]int, len(fields))
	for i, f := range fields {
		byName[f.name] = i
	}
	if len(byName) < len(fields) || len(fields) > mostFields {
		panic(fmt.Errorf("%w: fields of %s", errType, t))
	}
	return func(in *input, v reflect.Value) bool {
		next, read := 0, uint64(0)
		return in.items('{', '}', func() bool {
			name, plain, ok := in.raw()
			if !ok || !plain || !in.take(':') {
				return false
			}
			i, known := following(fields, next, name)
			if !known {
				i, known = byName[string(name)]
			}
			if !known || read&(1<<i) != 0 {
				return false
			}
			next, read = i+1, read|1<<i
			return fields[i].read(in, v.FieldByIndex(fields[i].at))
		})
	}
}

// following is the field of a name that is the next or soon behind it: they are written in their order.
func following(fields []field, next int, name []byte) (int, bool) {
	const soon = 4
	for i := next; i < min(next+soon, len(fields)); i++ {
		if fields[i].name == string(name) {
			return i, true
		}
	}
	return 0, false
}
