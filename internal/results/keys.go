package results

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/agext/levenshtein"
)

// keysOf returns the keys of a struct, as named by the tag.
func keysOf(v any, tag string) (keys []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if name, _, _ := strings.Cut(f.Tag.Get(tag), ","); name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	return keys
}

// oneOf lists the known words, after the nearest one where there is one.
func oneOf(known []string, word string) string {
	const longest = 64 // bytes; longer words are not misspelled keys
	nearest, distance := "", len(word)/3+2
	for _, k := range known {
		if len(word) > longest {
			break
		}
		if d := levenshtein.Distance(strings.ToLower(word), k, nil); d < distance {
			nearest, distance = k, d
		}
	}
	all := "known: " + strings.Join(known, ", ")
	if nearest == "" {
		return all
	}
	return fmt.Sprintf("did you mean %q? %s", nearest, all)
}
