package render

import (
	"encoding/json"
	"reflect"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// An index has every field of an artifact but its content, as encoding/json writes them.
func TestIndexText(t *testing.T) {
	const odd = "a \"<b>\" & \\ é\n\x00"
	var full fabric.Artifact
	for i := range reflect.TypeFor[fabric.Artifact]().NumField() {
		switch f := reflect.ValueOf(&full).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString(odd)
		case reflect.Uint32:
			f.SetUint(0o755)
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.String {
				f.Set(reflect.ValueOf([]string{odd, "b"}))
			}
		default:
			t.Fatalf("a field of kind %s", f.Kind())
		}
	}
	for name, listed := range map[string][]fabric.Artifact{"none": {}, "one": {full}, "several": {{Target: "a"}, full, {Omits: []string{}}}} {
		index := fabric.Index{Meta: fabric.NewMeta("Index"), Artifacts: listed, Missing: []fabric.Missing{{What: "a"}}}
		want, err := json.MarshalIndent(index, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := EncodeIndex(index)
		if err != nil || string(text) != string(want)+"\n" {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, text, want)
		}
	}
}
