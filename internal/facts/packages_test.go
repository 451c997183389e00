package facts

import (
	"context"
	"errors"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// TestNoPackages: a host on which none of the packages is installed was asked and answered.
func TestNoPackages(t *testing.T) {
	const none = "dpkg-query: no packages found matching "
	for name, c := range map[string]struct {
		text, stderr string
		status       int
		missing      bool
	}{
		"none of them":   {"", none + "bnxt*\n" + none + "rdma-core\n", 1, false},
		"some of them":   {"ii  rdma-core 50.0-2ubuntu0.2\n", none + "bnxt*\n", 1, false},
		"a locked file":  {"", none + "bnxt*\ndpkg-query: error: parsing file '/var/lib/dpkg/status'\n", 2, true},
		"another reason": {"", "dpkg-query: error: no database\n", 1, true},
		"no word":        {"", "", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := toolHost{fakeHost: fakeHost{files: map[string]string{dpkgFolder + "/status": ""}}, output: func(_ context.Context, argv []string) ([]byte, error) {
				if argv[0] != "dpkg-query" {
					return nil, errors.New("not here")
				}
				if c.status == 0 {
					return []byte(c.text), nil
				}
				return []byte(c.text), &host.ExitError{Command: "dpkg-query", Status: c.status, Stderr: c.stderr}
			}}
			f := &fabric.Facts{}
			readTools(context.Background(), h, f)
			if m, missing := f.MissingReason(fabric.FactPackages); missing != c.missing {
				t.Errorf("missing: %v, %+v", missing, m)
			}
			if (len(f.Packages) > 0) != (c.text != "") {
				t.Errorf("packages: %v", f.Packages)
			}
		})
	}
}
