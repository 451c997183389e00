package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/fabric"
)

// Values of the entry keys that have a closed set.
var (
	observedTests    = []string{"nccl", "perftest", "tcp"}
	observedOutcomes = []string{"hang", "error", "ok"}
	observedMemories = []string{"host", "gpu"}
)

const maxObserved = 4096 // entries of a file

// beginsObservations reports whether the first line with content is a key of YAML, or a brace, and the text
// has one of our keys at the left margin: "observed" anywhere, or "cluster" as the first.
func beginsObservations(head []byte) bool {
	first, ours := true, false
	for text := range bytes.Lines(head) {
		s := strings.TrimRight(string(text), " \t\r\n")
		if s == "" || s[0] == '#' || strings.HasPrefix(s, "---") || s[0] == '%' {
			continue
		}
		key, _, found := strings.Cut(s, ":")
		plain := found && key != "" && !strings.ContainsAny(key, " \t{}[],#<>()/\"'")
		if first && !plain {
			return false
		}
		ours = ours || plain && (key == "observed" || first && key == "cluster")
		first = false
	}
	return ours
}

// readObservations reads a file of observations: YAML, one result per document. A person wrote it, so an unknown
// key, a value outside its set, an invalid number and an empty entry are errors with their line.
func readObservations(text []byte) ([]fabric.Result, error) {
	var found []fabric.Result
	in := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var root yaml.Node
		err := in.Decode(&root)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
			continue
		}
		o, err := observations(root.Content[0])
		if err != nil {
			return nil, err
		}
		if len(found) >= maxResults {
			return nil, fmt.Errorf("the file has more than %d documents", maxResults)
		}
		found = append(found, fabric.Result{Kind: fabric.ObservationFile, Line: root.Content[0].Line, Content: o})
	}
}

// readObservationsJSON reads the same content as JSON, which is also YAML.
func readObservationsJSON(o jsonObject, b *budget) (fabric.Result, error) {
	if !o.whole || len(o.text) > maxWhole {
		return fabric.Result{}, fmt.Errorf("the observations that begin on line %d do not end within %d KiB", o.line, maxWhole>>10)
	}
	found, err := readObservations(append(bytes.Repeat([]byte("\n"), min(o.line-1, maxWhole)), o.text...))
	if err != nil {
		return fabric.Result{}, err
	}
	if o, ok := found[0].Content.(*fabric.Observations); ok {
		for range o.Observed {
			if !b.row() {
				return fabric.Result{}, fmt.Errorf("the file has more than %d observations and rows", maxRows)
			}
		}
	}
	return found[0], nil
}

func observations(root *yaml.Node) (*fabric.Observations, error) {
	var o fabric.Observations
	cluster, observed := (*yaml.Node)(nil), (*yaml.Node)(nil)
	err := eachKey(root, "the file", []string{"cluster", "observed"}, func(key string, value *yaml.Node) error {
		if key == "cluster" {
			cluster = value
		} else {
			observed = value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if cluster != nil {
		if err := fill(cluster, "cluster", reflect.ValueOf(&o.Hardware).Elem()); err != nil {
			return nil, err
		}
	}
	switch {
	case observed == nil:
		return nil, problem(root, "key \"observed\" is missing: want a list of observations")
	case observed.Kind != yaml.SequenceNode:
		return nil, problem(observed, "observed must be a list")
	case len(observed.Content) > maxObserved:
		return nil, problem(observed, "observed has more than %d entries", maxObserved)
	}
	for i, n := range observed.Content {
		e := fabric.Observation{Line: n.Line}
		where := fmt.Sprintf("observed[%d]", i)
		if err := fill(n, where, reflect.ValueOf(&e).Elem()); err != nil {
			return nil, err
		}
		if err := checkObservation(n, where, &e); err != nil {
			return nil, err
		}
		e.Messages, e.LogLevel = copiedLines(e.Log, e.Line, true)
		facts, level := copiedLines(e.Fact, e.Line, false)
		if strings.Contains(e.Fact, "NCCL WARN") && e.Log == "" { // a line of a log under another key
			e.LogLevel = level
		}
		e.Messages = append(e.Messages, facts...)
		o.Observed = append(o.Observed, e)
	}
	return &o, nil
}

// checkObservation checks an entry against the format.
func checkObservation(n *yaml.Node, where string, e *fabric.Observation) error {
	if e.Collective != "" {
		c, err := fabric.ParseCollective(string(e.Collective))
		if err != nil {
			return problem(n, "%s: %v", where, err)
		}
		e.Collective = c
	}
	for _, set := range []struct {
		key, value string
		known      []string
	}{{"test", e.Test, observedTests}, {"outcome", e.Outcome, observedOutcomes}, {"memory", e.Memory, observedMemories}} {
		if set.value != "" && !slices.Contains(set.known, set.value) {
			return problem(n, "%s: %s %q: unknown; %s", where, set.key, set.value, oneOf(set.known, set.value))
		}
	}
	switch {
	case len(e.Pair) != 0 && len(e.Pair) != 2:
		return problem(n, "%s: pair has %d hosts, want 2", where, len(e.Pair))
	case e.Value != "" && e.Setting == "":
		return problem(n, "%s: value without setting", where)
	case e.Test == "" && e.Fact == "" && e.Log == "" && e.Setting == "" && e.Changed == "" && e.Note == "" && e.Tool == "" && len(e.Pair) == 0 && e.Outcome == "":
		return problem(n, "%s is empty: want one of test, fact, log, setting, changed", where)
	}
	return nil
}

// eachKey walks a mapping; unknown or duplicate keys are errors.
func eachKey(n *yaml.Node, where string, known []string, take func(key string, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return problem(n, "%s must have keys; known: %s", where, strings.Join(known, ", "))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			return problem(key, "%s: key %q: unknown; %s", where, keep(key.Value), oneOf(known, key.Value))
		case seen[key.Value]:
			return problem(key, "%s: duplicate key %q", where, key.Value)
		case value.Kind == yaml.AliasNode:
			return problem(value, "%s.%s: aliases are not supported: write the value out", where, key.Value)
		}
		seen[key.Value] = true
		if err := take(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

// fill sets the fields of a struct from a mapping, by their yaml tags.
func fill(n *yaml.Node, where string, into reflect.Value) error {
	fields := map[string]reflect.Value{}
	for i := range into.NumField() {
		if name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("yaml"), ","); name != "" && name != "-" {
			fields[name] = into.Field(i)
		}
	}
	return eachKey(n, where, keysOf(into.Interface(), "yaml"), func(key string, value *yaml.Node) error {
		return setField(fields[key], value, where+"."+key)
	})
}

func setField(f reflect.Value, value *yaml.Node, where string) error {
	if value.ShortTag() == "!!null" {
		return problem(value, "%s has no value", where)
	}
	if f.Kind() == reflect.Pointer {
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	if f.Kind() == reflect.Slice {
		if value.Kind != yaml.SequenceNode {
			return problem(value, "%s must be a list", where)
		}
		for _, item := range value.Content {
			if item.Kind != yaml.ScalarNode || item.Value == "" {
				return problem(item, "%s must be a list of names", where)
			}
			f.Set(reflect.Append(f, reflect.ValueOf(item.Value)))
		}
		return nil
	}
	if value.Kind != yaml.ScalarNode {
		return problem(value, "%s must be one value", where)
	}
	return setScalar(f, value, where)
}

func setScalar(f reflect.Value, value *yaml.Node, where string) error {
	switch f.Kind() {
	case reflect.String: // a version such as 2.28 or a value such as 0 is still text
		f.SetString(value.Value)
	case reflect.Bool:
		b, err := strconv.ParseBool(value.Value)
		if err != nil || value.ShortTag() != "!!bool" {
			return problem(value, "%s %q: want true or false", where, keep(value.Value))
		}
		f.SetBool(b)
	case reflect.Int, reflect.Int64:
		v, err := size(value.Value)
		if err == nil && f.Kind() == reflect.Int && v > math.MaxInt32 {
			err = errors.New("too large")
		}
		if err != nil {
			return problem(value, "%s %q: %v; want a whole number", where, keep(value.Value), err)
		}
		f.SetInt(v)
	default:
		v, err := measured(value.Value)
		if err != nil {
			return problem(value, "%s %q: %v", where, keep(value.Value), err)
		}
		f.SetFloat(v)
	}
	return nil
}

func problem(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d, column %d: %s", n.Line, n.Column, fmt.Sprintf(format, args...))
}
