package cli

import (
	"context"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/topology"
)

// document is a kind of JSON that commands print or a run folder keeps.
type document struct {
	kind  string
	value any
}

func documents() []document {
	return []document{
		{"Facts", &fabric.Facts{}}, {"Plan", &fabric.Plan{}}, {"Index", &fabric.Index{}},
		{"Findings", &fabric.Findings{}}, {"Mesh", &fabric.Mesh{}}, {"Causes", &fabric.Causes{}}, {"Bench", &fabric.Bench{}}, {"Topology", &topology.View{}}, {"PCIe", &topology.PCIeReport{}}, {"Prediction", &fabric.Prediction{}}, {"Upgrade", &fabric.Upgrade{}}, {"Explanation", &fabric.Explanation{}}, {"Sizing", &fabric.Sizing{}}, {"Allocation", &fabric.Allocation{}}, {"Launches", &fabric.Launches{}}, {"CauseList", &fabric.CauseList{}}, {"Catalog", &fabric.CatalogList{}},
		{"LoadReport", &fabric.LoadReport{}}, {"SmokeReport", &smokeReport{}},
		{"Run", &report.Run{}}, {"Rules", &rules{}}, {"Differences", &differences{}}, {"Applied", &applyResults{}}, {"Version", &versionDocument{}},
	}
}

// schemaKinds are all kinds of documents that have a schema.
func schemaKinds() []string {
	kinds := []string{"Cluster"}
	for _, d := range documents() {
		kinds = append(kinds, d.kind)
	}
	return kinds
}

// schemaOptions are the arguments of schema.
type schemaOptions struct {
	kind string
}

func (a *app) schemaCommand(run func(context.Context, schemaOptions) error) *cobra.Command {
	return &cobra.Command{
		Use:       "schema KIND",
		Short:     "Print the JSON Schema of a kind: " + strings.Join(schemaKinds(), ", "),
		Args:      takes("KIND"),
		ValidArgs: schemaKinds(),
		RunE: func(c *cobra.Command, args []string) error {
			return run(c.Context(), schemaOptions{kind: args[0]})
		},
	}
}

func (a *app) schema(_ context.Context, o schemaOptions) error {
	if o.kind == "Cluster" {
		text, err := intent.Schema()
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(text)
		return err
	}
	i := slices.IndexFunc(documents(), func(d document) bool { return d.kind == o.kind })
	if i < 0 {
		return fabric.UnknownName("kind", o.kind, schemaKinds())
	}
	r := jsonschema.Reflector{Mapper: textForms, DoNotReference: o.kind != "Topology"} // recursive: devices contain devices
	return report.JSON(a.stdout, r.Reflect(documents()[i].value))
}

// textForms describes the values that JSON shows as text.
func textForms(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[fabric.Status]():
		return words(fabric.Unknown, fabric.Pass, fabric.Fail, fabric.NotApplicable)
	case reflect.TypeFor[fabric.Severity]():
		return words(fabric.SeverityError, fabric.SeverityWarning, fabric.SeverityInfo)
	case reflect.TypeFor[topology.Kind]():
		return &jsonschema.Schema{Type: "string", Enum: []any{"gpu", "nic", "other"}}
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

func words[T fmt.Stringer](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, v.String())
	}
	return s
}
