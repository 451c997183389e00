package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// mostSize bounds every size in a config.json: the largest known one is a vocabulary of 2^18.
const mostSize = 1 << 24

// fields are those of one object of a config.json. What is wrong with them is gathered, so that all of it is reported
// at once; a getter that found something wrong gives 1, so that what follows can go on.
type fields struct {
	prefix   string // "text_config.": before the name of a field in a message
	values   map[string]any
	defaults map[string]int64 // sizes that published files leave to transformers, by name
	problems *[]error
	assumed  *[]fabric.Assumption // defaults that were used
}

func newFields(values map[string]any) fields {
	return fields{values: values, problems: new([]error), assumed: new([]fabric.Assumption)}
}

func (f fields) problem(key, format string, args ...any) {
	*f.problems = append(*f.problems, fmt.Errorf("%s%s: %s", f.prefix, key, fmt.Sprintf(format, args...)))
}

func (f fields) err() error { return errors.Join(*f.problems...) }

// assume records once a default that the file does not state.
func (f fields) assume(key, value, source string) {
	if a := assumption(f.prefix+key, value, source); !slices.Contains(*f.assumed, a) {
		*f.assumed = append(*f.assumed, a)
	}
}

// value returns the first of the keys that is there and not null.
func (f fields) value(keys ...string) (key string, value any, ok bool) {
	for _, key := range keys {
		if value := f.values[key]; value != nil {
			return key, value, true
		}
	}
	return keys[0], nil, false
}

func (f fields) has(key string) bool { _, _, ok := f.value(key); return ok }

// size is a field that must be there and above 0. It may have several names.
func (f fields) size(keys ...string) int64 {
	key, value, ok := f.value(keys...)
	if !ok {
		for _, key := range keys {
			if n, known := f.defaults[key]; known {
				f.assume(key, fmt.Sprint(n), "not in the file: default of transformers 5.23 for "+f.text("", "model_type"))
				return n
			}
		}
		f.problem(strings.Join(keys, " or "), "is missing")
		return 1
	}
	return f.whole(key, value, 1, mostSize)
}

// sizeOr is a size that may be missing.
func (f fields) sizeOr(missing int64, keys ...string) int64 {
	if key, value, ok := f.value(keys...); ok {
		return f.whole(key, value, 1, mostSize)
	}
	for _, key := range keys {
		if _, known := f.defaults[key]; known {
			return f.size(key)
		}
	}
	return missing
}

// countOr is a size that may be 0 or missing.
func (f fields) countOr(missing int64, keys ...string) int64 {
	if key, value, ok := f.value(keys...); ok {
		return f.whole(key, value, 0, mostSize)
	}
	return missing
}

// whole checks a number; an invalid one, or one out of bounds, gives low or 1, whichever is more.
func (f fields) whole(key string, value any, low, most int64) int64 {
	bad := max(low, 1)
	number, ok := value.(json.Number)
	if !ok {
		f.problem(key, "%s is not a number", quoted(value))
		return bad
	}
	n, err := number.Int64()
	if err != nil {
		x, err := number.Float64()
		if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			f.problem(key, "%s is not a whole number", number)
			return bad
		}
		n = int64(x)
	}
	if n < low || n > most {
		f.problem(key, "%d is not between %d and %d", n, low, most)
		return bad
	}
	return n
}

// number is a field that need not be whole.
func (f fields) number(missing float64, key string) float64 {
	_, value, ok := f.value(key)
	if !ok {
		return missing
	}
	if n, isNumber := value.(json.Number); isNumber {
		if x, err := n.Float64(); err == nil && x > 0 && x < mostSize {
			return x
		}
	}
	f.problem(key, "%s is not a number above 0", quoted(value))
	return 1
}

func (f fields) flag(missing bool, keys ...string) bool {
	key, value, ok := f.value(keys...)
	if !ok {
		return missing
	}
	flag, isFlag := value.(bool)
	if !isFlag {
		f.problem(key, "%s is neither true nor false", quoted(value))
	}
	return flag
}

func (f fields) text(missing string, keys ...string) string {
	key, value, ok := f.value(keys...)
	if !ok {
		return missing
	}
	text, isText := value.(string)
	if !isText {
		f.problem(key, "%s is not a string", quoted(value))
	}
	return text
}

// texts is a list of strings.
func (f fields) texts(key string) (list []string) {
	for i, value := range f.list(key) {
		text, ok := value.(string)
		if !ok {
			f.problem(key, "element %d, %s, is not a string", i, quoted(value))
			return nil
		}
		list = append(list, text)
	}
	return list
}

// counts is a list of numbers that are not below 0; true and false count as 1 and 0.
func (f fields) counts(key string) (list []int64) {
	for _, value := range f.list(key) {
		switch flag, isFlag := value.(bool); {
		case !isFlag:
			list = append(list, f.whole(key, value, 0, mostSize))
		case flag:
			list = append(list, 1)
		default:
			list = append(list, 0)
		}
	}
	return list
}

func (f fields) list(key string) []any {
	_, value, ok := f.value(key)
	if !ok {
		return nil
	}
	list, isList := value.([]any)
	if !isList {
		f.problem(key, "%s is not a list", quoted(value))
	}
	return list
}

// isList reports whether a field that may be a number or a list is the latter.
func (f fields) isList(key string) bool { _, ok := f.values[key].([]any); return ok }

// object is an object inside; ok is false where there is none.
func (f fields) object(key string) (fields, bool) {
	_, value, ok := f.value(key)
	if !ok {
		return fields{}, false
	}
	values, isObject := value.(map[string]any)
	if !isObject {
		f.problem(key, "%s is not an object", quoted(value))
		return fields{}, false
	}
	inner := f
	inner.prefix, inner.values, inner.defaults = f.prefix+key+".", values, nil
	return inner, true
}

// divides checks that a number divides another and returns the quotient.
func (f fields) divides(key string, whole, part int64) int64 {
	if part < 1 || whole%part != 0 {
		f.problem(key, "%d does not divide %d", part, whole)
		return 1
	}
	return whole / part
}

// quoted shows a foreign value in a message, cut short.
func quoted(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%T", value)
	}
	if len(text) > 60 {
		return string(text[:57]) + "..."
	}
	return string(text)
}
