// Package portable checks that the program builds on every system that `make build` makes it for. The commands
// that read files and the catalog run on a laptop; those that act on a host say that they need Linux.
package portable

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/host"
)

// system is one that the program is built for, by the names of GOOS and GOARCH.
type system struct{ os, arch string }

// Each package, and its tests, are checked from their sources as the compiler does before it makes machine code: for
// three systems that takes seconds, and machine code of the standard library for each of them takes minutes.
func TestEverySystemCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: some hundred packages are read for each of three systems")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the test starts go, which internal/host does on Linux only")
	}
	for _, s := range []system{{"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}} {
		t.Run(s.os+"/"+s.arch, func(t *testing.T) {
			listed, err := list(t.Context(), s, "railwright.dev/railwright/...")
			if err != nil {
				t.Fatal(err)
			}
			checked, problems := check(s, listed)
			for _, p := range problems {
				t.Error(p)
			}
			if checked < 50 {
				t.Errorf("only %d packages of this program are among the %d that were listed", checked, len(listed))
			}
		})
	}
}

// list names the packages that a pattern needs on a system, each after those that it imports.
func list(ctx context.Context, s system, pattern string) (listed []listedPackage, err error) {
	out, err := host.Output(ctx, host.Local{}, host.Command{
		Argv: []string{"go", "list", "-deps", "-test", "-json=ImportPath,ImportMap,Dir,GoFiles,Standard,Module", pattern},
		Env:  []string{"GOOS=" + s.os, "GOARCH=" + s.arch, "CGO_ENABLED=0"},
	})
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return listed, nil
		case err != nil:
			return nil, err
		}
		listed = append(listed, p)
	}
}
