package mcp

import (
	"fmt"
	"reflect"
	"strings"
)

// commandLine is a command with what stands in for standard input and for files.
type commandLine struct {
	args  []string
	stdin string
	texts map[string]string // by the name that the arguments use
}

// inlineName names an inline text where a command takes only the names of files.
const inlineName = "inline text"

// The input of a tool is a struct. A field is the flag of its JSON name, with dashes for underscores, unless its tag names
// another flag or one of these.
const (
	kindTag = "call"
	operand = "(operand)" // stands after the flags
	text    = "(text)"    // stands where textAs of the tool says
)

// line returns the command line of an input. Values never become flags: each is written as --flag=value, and operands
// stand behind "--".
func (t tool) line(in any) commandLine {
	var flags, operands []string
	line := commandLine{texts: map[string]string{}}
	fields(reflect.ValueOf(in), func(name, kind string, v reflect.Value) {
		switch {
		case v.IsZero():
		case kind == text:
			t.textAs.add(&line, &flags, &operands, v.String())
		case kind == operand:
			operands = append(operands, values(v)...)
		case v.Kind() == reflect.Bool:
			flags = append(flags, "--"+flagOf(name, kind))
		default:
			for _, value := range values(v) {
				flags = append(flags, "--"+flagOf(name, kind)+"="+value)
			}
		}
	})
	line.args = append(strings.Fields(t.command), "--output=json")
	line.args = append(append(append(line.args, flags...), "--"), operands...)
	return line
}

// textPlace is how a command gets an inline text.
type textPlace int

const (
	asOperand  textPlace = iota // standard input, as the operand -
	asFile                      // standard input, as --file=-
	asSnapshot                  // a file that is not there, as --snapshot
	asClaims                    // standard input, as --claims=-
)

func (p textPlace) add(line *commandLine, flags, operands *[]string, content string) {
	switch p {
	case asOperand:
		line.stdin = content
		*operands = append(*operands, "-")
	case asFile:
		line.stdin = content
		*flags = append(*flags, "--file=-")
	case asClaims:
		line.stdin = content
		*flags = append(*flags, "--claims=-")
	case asSnapshot:
		line.texts[inlineName] = content
		*flags = append(*flags, "--snapshot="+inlineName)
	}
}

// fields visits the fields of an input, and those of the structs that it embeds, in order.
func fields(in reflect.Value, visit func(name, kind string, v reflect.Value)) {
	for i := range in.NumField() {
		f := in.Type().Field(i)
		if f.Anonymous {
			fields(in.Field(i), visit)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		visit(name, f.Tag.Get(kindTag), in.Field(i))
	}
}

// values are the texts of a field: one, or those of a list.
func values(v reflect.Value) (all []string) {
	if v.Kind() != reflect.Slice {
		return []string{fmt.Sprint(v.Interface())}
	}
	for i := range v.Len() {
		all = append(all, values(v.Index(i))...)
	}
	return all
}

// flagOf is the flag of an argument.
func flagOf(name, kind string) string {
	if kind != "" {
		return kind
	}
	return strings.ReplaceAll(name, "_", "-")
}
