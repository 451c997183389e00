package cli

import (
	"context"
	"io"
	"testing"

	"github.com/spf13/cobra"
)

// parsed returns the options that a command reads from its arguments, without running it. Arguments that
// are refused are the error.
func parsed[O any](t *testing.T, command func(run func(context.Context, O) error) *cobra.Command, args ...string) (o O, err error) {
	t.Helper()
	ran := false
	c := command(func(_ context.Context, got O) error {
		o, ran = got, true
		return nil
	})
	c.SetArgs(args)
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	c.SilenceUsage, c.SilenceErrors = true, true
	if err = c.ExecuteContext(context.Background()); err == nil && !ran {
		t.Fatalf("%q: neither run nor rejected", args)
	}
	return o, err
}

func TestPlanOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.planCommand, "-f", "cluster.yaml")
	if err != nil || o.file != "cluster.yaml" || len(o.snapshots) > 0 {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := parsed(t, a.planCommand, "cluster.yaml"); err == nil {
		t.Error("an argument was accepted")
	}
}
