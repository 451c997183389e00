package script

import (
	"context"

	"github.com/rogpeppe/go-internal/testscript"

	"railwright.dev/railwright/internal/host"
)

// esxhost is the script command "esxhost PROGRAM": the program that plays ESX hosts, at that place.
func esxhost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: esxhost PROGRAM")
	}
	_, err := host.Output(context.Background(), host.Local{}, host.Command{
		Argv: []string{"go", "build", "-buildvcs=false", "-o", ts.MkAbs(args[0]), "railwright.dev/railwright/test/esxi/shell"}, Env: []string{"CGO_ENABLED=0"}})
	ts.Check(err)
}
