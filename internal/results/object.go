package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/envtext"
	"railwright.dev/railwright/internal/fabric"
)

// jsonObject is an object of a file, with its keys not yet read.
type jsonObject struct {
	line int // where it begins
	keys map[string]json.RawMessage
	text []byte
	// whole is false where the file ends in the middle of the object, which was closed to keep what was read.
	whole bool
}

// objectReader collects JSON objects out of a file, each from a line that begins with "{" to its end, and
// passes those that it recognises to their formats. Objects of other programs are ignored.
type objectReader struct {
	budget  *budget
	found   []fabric.Result
	held    []line       // of the open object, that speak of a fault: of no account if the object is ours
	foreign []line       // of objects of other programs
	set     []line       // of these, all of each that names a setting of the libraries
	classes []jsonObject // of virtual machines, which the reader of their manifests takes
	lines   int          // of the open object that are not blank
	// unclaimed are the lines of objects of other programs, since they were last taken.
	unclaimed int
	begun     bool // a line that is not blank was read
	list      bool // the file is a list of objects
	open      bool
	start     int
	text      []byte
	depth     int
	quoted    bool
	escape    bool
}

// beginsObject reports whether a line begins a JSON object. "{ a }" in source code does not.
func beginsObject(text string) bool {
	text = strings.TrimLeft(text, " \t")
	if !strings.HasPrefix(text, "{") {
		return false
	}
	rest := strings.TrimLeft(text[1:], " \t\r")
	return rest == "" || rest[0] == '"' || rest[0] == '}' || rest[0] == '\n'
}

func (r *objectReader) read(l line) (taken bool, err error) {
	text := strings.TrimSpace(l.raw)
	first := !r.begun && text != ""
	r.begun = r.begun || text != ""
	switch {
	case r.open && (!continuesJSON(text) || l.log != nil && strings.IndexByte(`"{}[],`, text[0]) < 0):
		r.abandon() // not JSON after all; what was collected is other text
		return false, nil
	case r.open:
	case first && (text == "[" || strings.HasPrefix(text, "[{")):
		r.list = true
		l.raw = strings.TrimPrefix(text, "[")
		if strings.TrimSpace(l.raw) == "" {
			return true, nil
		}
		r.begin(l.number)
	case r.list && (text == "]" || text == "," || text == "],"):
		return true, nil
	case l.log == nil && beginsObject(text):
		r.begin(l.number)
	default:
		return false, nil
	}
	if len(r.held) < maxHeld && faultLevel(text) != "" {
		l.raw, l.text, l.log, l.seen = strings.Clone(l.raw), strings.Clone(l.raw), nil, nil
		r.held = append(r.held, l)
	}
	if text != "" {
		r.lines++
	}
	if err := r.collect(l); err != nil {
		r.abandon()
		return true, err
	}
	return true, nil
}

// maxHeld bounds the lines of an object that are kept until it is known whose it is.
const maxHeld = 64

// abandon leaves what was collected to other formats: it is no object, or one of another program.
func (r *objectReader) abandon() {
	r.open = false
	r.foreign, r.held = append(r.foreign, r.held...), nil
	r.set = append(r.set, settingLines(r.text, r.start)...)
	r.unclaimed, r.lines = r.unclaimed+r.lines, 0
}

// others returns the lines of objects of other programs that speak of a fault, each once.
func (r *objectReader) others() []line {
	out := r.foreign
	r.foreign = nil
	return out
}

// settingLines are the lines of an object that names a setting of the libraries; nil: it names none.
func settingLines(text []byte, number int) (out []line) {
	if len(text) > maxSettingObject || !slices.ContainsFunc(envtext.Signs(), func(sign string) bool { return bytes.Contains(text, []byte(sign)) }) {
		return nil
	}
	for raw := range strings.Lines(string(text)) {
		out = append(out, line{number: number, raw: raw, text: raw})
		number++
	}
	return out
}

// maxSettingObject is the largest object that is searched for settings, bytes: a pod of Kubernetes has some 10 KiB.
const maxSettingObject = 1 << 20

func (r *objectReader) begin(number int) {
	r.open, r.start, r.text, r.depth, r.quoted, r.escape = true, number, r.text[:0], 0, false, false
}

// continuesJSON reports whether a line can be part of a JSON object that is printed on many lines.
func continuesJSON(text string) bool {
	if text == "" || strings.IndexByte(`{}[],:"-0123456789`, text[0]) >= 0 {
		return true
	}
	return strings.HasPrefix(text, "true") || strings.HasPrefix(text, "false") || strings.HasPrefix(text, "null")
}

// collect adds a line, and reads the object when it is closed. More objects may follow on the same line.
func (r *objectReader) collect(l line) error {
	text := l.raw
	for text != "" {
		end := r.scan(text)
		if end < 0 {
			break
		}
		r.text = append(r.text, text[:end]...)
		if err := r.close(true); err != nil {
			return err
		}
		text = strings.TrimLeft(text[end:], " \t,]")
		if !beginsObject(text) {
			return nil
		}
		r.begin(l.number)
	}
	if len(r.text)+len(text) > maxObject || l.cut {
		return fmt.Errorf("the JSON object that begins on line %d is larger than %d MiB", r.start, maxObject>>20)
	}
	r.text = append(append(r.text, text...), '\n')
	return nil
}

// scan follows braces and strings; it returns the offset after the closing brace of the object, or -1.
func (r *objectReader) scan(text string) int {
	for i := range len(text) {
		c := text[i]
		switch {
		case r.escape:
			r.escape = false
		case r.quoted:
			r.escape = c == '\\'
			r.quoted = c != '"'
		case c == '"':
			r.quoted = true
		case c == '{', c == '[':
			r.depth++
		case c == '}', c == ']':
			if r.depth--; r.depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// close reads the object that was collected, if a format knows its keys.
func (r *objectReader) close(whole bool) error {
	r.open = false
	o := jsonObject{line: r.start, text: bytes.Clone(r.text), whole: whole}
	if err := json.Unmarshal(o.text, &o.keys); err != nil {
		if !mentionsKeys(o.text) {
			r.abandon()
			return nil // of another program
		}
		return jsonError(o, err)
	}
	for _, f := range formats() {
		if f.object == nil || !hasKeys(o.keys, f.keys) {
			continue
		}
		if !r.budget.result() {
			return nil
		}
		if r.budget.objects -= len(o.text); r.budget.objects < 0 {
			return fmt.Errorf("line %d: the JSON objects of the file are larger than %d MiB together", o.line, maxObjects>>20)
		}
		found, err := f.object(o, r.budget)
		if err != nil {
			return err
		}
		found.Line = o.line
		r.found, r.held, r.lines = append(r.found, found), nil, 0
		return nil
	}
	if isClass(o.text) && r.budget.objects >= len(o.text) {
		r.budget.objects -= len(o.text)
		r.classes, r.held, r.lines = append(r.classes, o), nil, 0
		return nil
	}
	r.abandon()
	return nil
}

// isClass knows a class of virtual machines as JSON: that of VM Operator, or the body of vCenter's API.
func isClass(text []byte) bool {
	return slices.ContainsFunc([]string{`"VirtualMachineClass"`, `"config_spec"`, `"VirtualPCIPassthrough`}, func(sign string) bool { return bytes.Contains(text, []byte(sign)) })
}

// end handles an object that the end of the file cut off: the results of nccl-tests up to there are kept.
func (r *objectReader) end() error {
	if !r.open {
		return nil
	}
	text := bytes.TrimSpace(r.text)
	if !mentionsKeys(text) {
		r.abandon()
		return nil
	}
	for range 3 {
		last := bytes.LastIndexByte(text, '}')
		if last < 0 {
			break
		}
		for _, tail := range []string{"]}", "}]}", "}"} {
			closed := append(bytes.Clone(text[:last+1]), tail...)
			if json.Valid(closed) {
				r.text = closed
				return r.close(false)
			}
		}
		text = text[:last]
	}
	o := jsonObject{line: r.start, text: bytes.TrimSpace(r.text)}
	var v any
	if err := json.Unmarshal(o.text, &v); err != nil && !strings.Contains(err.Error(), "unexpected end") {
		return jsonError(o, err)
	}
	return fmt.Errorf("the JSON object that begins on line %d does not end", r.start)
}

// mentionsKeys reports whether a text looks like one of our objects although it is not valid JSON.
func mentionsKeys(text []byte) bool {
	for _, f := range formats() {
		all := len(f.keys) > 0
		for _, k := range f.keys {
			all = all && bytes.Contains(text, []byte(`"`+k+`"`))
		}
		if all {
			return true
		}
	}
	return false
}

func hasKeys(keys map[string]json.RawMessage, wanted []string) bool {
	for _, k := range wanted {
		if _, ok := keys[k]; !ok {
			return false
		}
	}
	return len(wanted) > 0
}

// jsonError returns where in the file an object is wrong. known are the keys that it may have.
func jsonError(o jsonObject, err error, known ...string) error {
	offset := int64(-1)
	switch e := err.(type) { //nolint:errorlint // json returns these two unwrapped
	case *json.SyntaxError:
		offset = e.Offset
	case *json.UnmarshalTypeError:
		offset = e.Offset
	}
	number := o.line
	if _, key, ok := strings.Cut(err.Error(), "unknown field "); ok {
		key = strings.Trim(key, `"`)
		number += bytes.Count(o.text[:max(0, bytes.Index(o.text, []byte(`"`+key+`"`)))], []byte("\n"))
		return fmt.Errorf("line %d: key %q: unknown; %s", number, keep(key), oneOf(known, key))
	}
	if offset >= 0 && offset <= int64(len(o.text)) {
		number += bytes.Count(o.text[:offset], []byte("\n"))
	}
	return fmt.Errorf("line %d: %s", number, strings.TrimPrefix(err.Error(), "json: "))
}
