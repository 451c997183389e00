// Package portable checks that the program builds on every system that `make build` makes it for. The commands
// that read files and the catalog run on a laptop; those that act on a host say that they need Linux.
package portable

import (
	"context"
	"runtime"
	"testing"

	"railwright.dev/railwright/internal/host"
)

func TestEverySystemCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiling for other systems takes a minute with an empty cache")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the test starts go, which internal/host does on Linux only")
	}
	for _, system := range []struct{ os, arch string }{{"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}} {
		t.Run(system.os+"/"+system.arch, func(t *testing.T) {
			vet := host.Command{
				Argv: []string{"go", "vet", "railwright.dev/railwright/..."},
				Env:  []string{"GOOS=" + system.os, "GOARCH=" + system.arch, "CGO_ENABLED=0"},
			}
			if _, err := host.Output(context.Background(), host.Local{}, vet); err != nil {
				t.Error(err)
			}
		})
	}
}
