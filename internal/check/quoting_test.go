package check

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// rename changes every text of a value, map keys included.
func rename(v reflect.Value, to func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(to(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			rename(v.Elem(), to)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				rename(v.Field(i), to)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			rename(v.Index(i), to)
		}
	}
}

// Every command that a finding gives quotes the names that machines and cluster files choose: `e;$(id)` is a legal name
// of an interface, and whoever pastes the command must not run it.
func TestFixesQuoteNames(t *testing.T) {
	// Of the test's machines: interfaces and RDMA devices, alone or after a node.
	device := regexp.MustCompile(`\b(eth|ib|mlx5_|bnxt_re|ionic_|rdma)[0-9]+\b`)
	evil := func(text string) string { return device.ReplaceAllString(text, "e;$$(id)$0") }
	quoted := regexp.MustCompile(`'[^']*'`)
	rules := make(map[string]bool)
	for _, c := range cases() {
		if c.want != fabric.Fail {
			continue
		}
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			w := newWorld()
			c.change(w)
			for _, n := range w.nodes {
				rename(reflect.ValueOf(n), evil)
			}
			if w.plan != nil {
				rename(reflect.ValueOf(w.plan), evil)
			}
			findings, _ := run(w.plan, nil, w.nodes...)
			for _, f := range findings {
				command, _, _ := strings.Cut(f.Fix, "   # ") // a comment is not run
				if !strings.Contains(command, "$(id)") || strings.Contains(command, "move the cable") {
					continue
				}
				rules[f.ID] = true
				if bare := quoted.ReplaceAllString(command, ""); strings.Contains(bare, "$(id)") {
					t.Errorf("%s: not quoted: %s", f.ID, f.Fix)
				}
			}
		})
	}
	if len(rules) < 8 {
		t.Errorf("only the fixes of %s held a name: this test detects too little", fmt.Sprint(rules))
	}
}
