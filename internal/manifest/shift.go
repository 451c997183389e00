package manifest

import "reflect"

// shift moves every line of a file: it was a part of another text.
func (f *File) shift(by int) {
	if by != 0 {
		shiftLines(reflect.ValueOf(f).Elem(), by)
	}
}

func shiftLines(v reflect.Value, by int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "Line" && v.Field(i).Kind() == reflect.Int {
				if v.Field(i).Int() > 0 {
					v.Field(i).SetInt(v.Field(i).Int() + int64(by))
				}
				continue
			}
			shiftLines(v.Field(i), by)
		}
	case reflect.Slice:
		for i := range v.Len() {
			shiftLines(v.Index(i), by)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if v.Type().Elem().Kind() != reflect.Struct {
				return
			}
			moved := reflect.New(v.Type().Elem()).Elem()
			moved.Set(v.MapIndex(key))
			shiftLines(moved, by)
			v.SetMapIndex(key, moved)
		}
	}
}
